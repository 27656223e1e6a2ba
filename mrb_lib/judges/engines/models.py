"""The engines that read weights, ask a server, start one for the weights, or count the votes of other judges."""

from __future__ import annotations

from functools import partial

from mrb_lib.judges.jury import Jury
from mrb_lib.judges.roster.engines import JudgeRequest, asks_for_criteria, engine
from mrb_lib.verdicts.protocol import Judge

_local_engine = partial(
    engine,
    model="weights",
    packages=("torch", "transformers", "safetensors", "jinja2"),
    install="mrb-workbench[judges]",
)


@_local_engine(
    "generative",
    about="a written reply, which is parsed; greedy or sampled",
    samples=True,
    reads_any_model=True,
)
def build_generative(request: JudgeRequest) -> Judge:
    """Choosing by what the model writes."""
    from mrb_lib.judges.local.generative import GenerativeJudge

    return GenerativeJudge(request)


@_local_engine(
    "packed",
    about="the more probable of the letters A and B; every question about a case in one pass",
    reads_any_model=True,
)
def build_packed(request: JudgeRequest) -> Judge:
    """Choosing by the probabilities of two letters, or of the categories of a rating."""
    from mrb_lib.judges.local.categories import CategoriesJudge
    from mrb_lib.judges.local.packed import PackedJudge

    return CategoriesJudge(request) if request.settings.is_rating else PackedJudge(request)


@_local_engine(
    "rating",
    about="a rating of each response alone, as an expectation over the rating's tokens",
    reads_any_model=True,
)
def build_rating(request: JudgeRequest) -> Judge:
    """Choosing by ratings of each response alone."""
    from mrb_lib.judges.local.pointwise import RatingJudge

    return RatingJudge(request)


@_local_engine(
    "rubric",
    about="points by the probability of each criterion of a rubric; every criterion of a case in one pass",
    reads_any_model=True,
    served="served-rubric",
)
def build_rubric(request: JudgeRequest) -> Judge:
    """Choosing by the points of a rubric."""
    from mrb_lib.judges.local.pointwise import RubricJudge

    return RubricJudge(request)


@_local_engine("reward", about="the scalar reward of each response, from a model with a reward head")
def build_reward(request: JudgeRequest) -> Judge:
    """Choosing by the scores of a scalar reward model."""
    from mrb_lib.judges.local.reward import RewardJudge

    return RewardJudge(request)


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
    from mrb_lib.judges.endpoint.judge import LettersJudge

    return LettersJudge(request)


@_server_engine("served-rubric", about="what rubric does, by replies of such a server", samples=True, is_internal=True)
def build_served_rubric(request: JudgeRequest) -> Judge:
    """Choosing by the points of a rubric, whose criteria the model decides in its reply."""
    from mrb_lib.judges.endpoint.judge import ServedRubricJudge

    return ServedRubricJudge(request)


_started = partial(engine, model="weights", packages=("httpx",), install="mrb-workbench[endpoint,hub]", samples=True)


@_started("sglang", about="the same as vllm, from an SGLang server", program="sglang")
@_started("vllm", about="letters or replies from a vLLM server, started for the weights and stopped", program="vllm")
def build_started(request: JudgeRequest) -> Judge:
    """Judging through a server of its own."""
    from mrb_lib.judges.server import ServerJudge

    return ServerJudge(request)


@engine("jury", about="the votes of other judges, as consensus-of:NAME,NAME", is_internal=True)
def build_jury(request: JudgeRequest) -> Judge:
    """A jury without its members, whose runs `mrb_lib.runs.juries` finds."""
    return Jury(request.entry.name)
