"""The engines that read weights on this machine; see `mrb_lib.judges.local`."""

from __future__ import annotations

from functools import partial

from mrb_lib.judges.roster.engines import JudgeRequest, engine
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
    "batch",
    about="a written ranking of all responses to an item, read as verdicts of its pairs",
    samples=True,
    reads_any_model=True,
    served="served-batch",
    takes="item",
)
def build_batch(request: JudgeRequest) -> Judge:
    """Choosing by a ranking that the model writes."""
    from mrb_lib.judges.local.generative import BatchJudge

    return BatchJudge(request)


@_local_engine(
    "rubric",
    about="points by the probability of each criterion of a rubric; every criterion of a case in one pass",
    reads_any_model=True,
    served="served-rubric",
    takes="rubric",
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
