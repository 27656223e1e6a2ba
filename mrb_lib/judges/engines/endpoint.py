"""The engine `endpoint`: choosing by the replies of a server."""

from __future__ import annotations

from mrb_lib.judges.roster.engines import JudgeRequest, engine
from mrb_lib.verdicts.protocol import Judge


@engine(
    "endpoint",
    about="the reply of a model behind an OpenAI-compatible server",
    model="server",
    packages=("httpx", "jinja2"),
    install="mrb-workbench[judges]",
    samples=True,
)
def build_endpoint(request: JudgeRequest) -> Judge:
    """See `mrb_lib.judges.endpoint.judge`."""
    from mrb_lib.judges.endpoint.judge import EndpointJudge

    return EndpointJudge(request.entry.name, request.entry, request.settings, request.images)
