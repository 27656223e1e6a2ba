"""The engine `reward`: choosing by the scores of a scalar reward model."""

from __future__ import annotations

from mrb_lib.judges.roster.engines import JudgeRequest, engine
from mrb_lib.verdicts.protocol import Judge


@engine(
    "reward",
    about="the scalar reward of each response, from a model with a reward head",
    model="weights",
    packages=("torch", "transformers", "safetensors", "jinja2"),
    install="mrb-workbench[judges]",
)
def build_reward(request: JudgeRequest) -> Judge:
    """See `mrb_lib.judges.local.reward`."""
    from mrb_lib.judges.local.reward import RewardJudge

    return RewardJudge(request.entry.name, request.entry, request.weights, request.settings, request.images)
