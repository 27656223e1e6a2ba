"""The engines that ask a server; see `mrb_lib.judges.endpoint`."""

from __future__ import annotations

from functools import partial

from mrb_lib.judges.roster.engines import JudgeRequest, asks_for_criteria, engine
from mrb_lib.verdicts.protocol import Judge

_server_engine = partial(engine, model="server", packages=("httpx",), install="mrb-workbench[endpoint]")


@_server_engine("endpoint", about="the reply of a model behind an OpenAI-compatible server", samples=True)
def build_endpoint(request: JudgeRequest) -> Judge:
    """Choosing by what the model replies."""
    if asks_for_criteria(request):
        return build_served_rubric(request)
    from mrb_lib.judges.endpoint.judge import EndpointJudge

    return EndpointJudge(request)


@_server_engine("letters", about="the more probable of the letters A and B, one token a question, from such a server")
def build_letters(request: JudgeRequest) -> Judge:
    """Choosing by the probabilities of two letters."""
    from mrb_lib.judges.endpoint.letters import LettersJudge

    return LettersJudge(request)


@_server_engine("served-batch", about="what batch does, from such a server", samples=True, is_internal=True)
def build_served_batch(request: JudgeRequest) -> Judge:
    """Choosing by a ranking that the model replies with."""
    from mrb_lib.judges.endpoint.judge import ServedBatchJudge

    return ServedBatchJudge(request)


@_server_engine("served-rubric", about="what rubric does, by replies of such a server", samples=True, is_internal=True)
def build_served_rubric(request: JudgeRequest) -> Judge:
    """Choosing by the points of a rubric, whose criteria the model decides in its reply."""
    from mrb_lib.judges.endpoint.judge import ServedRubricJudge

    return ServedRubricJudge(request)
