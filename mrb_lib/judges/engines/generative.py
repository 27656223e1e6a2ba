"""The engine `generative`: choosing by what the model writes."""

from __future__ import annotations

from mrb_lib.judges.roster.engines import JudgeRequest, engine
from mrb_lib.verdicts.protocol import Judge


@engine(
    "generative",
    about="a written reply, which is parsed; greedy or sampled",
    model="weights",
    packages=("torch", "transformers", "safetensors", "jinja2"),
    install="mrb-workbench[judges]",
    samples=True,
    reads_any_model=True,
)
def build_generative(request: JudgeRequest) -> Judge:
    """See `mrb_lib.judges.local.generative`."""
    from mrb_lib.judges.local.generative import GenerativeJudge

    return GenerativeJudge(request.entry.name, request.entry, request.weights, request.settings, request.images)
