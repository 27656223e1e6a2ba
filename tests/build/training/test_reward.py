"""A reward head learns Bradley and Terry's likelihood, and the judge that reads it scores as it was trained."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pandas as pd
import pytest
import torch

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.build.training.reward import give_head, reward_cases, reward_loss
from mrb_lib.judges.local.base import LocalJudge
from mrb_lib.judges.local.reward import RewardHead, RewardJudge
from mrb_lib.judges.roster.engines import JudgeRequest
from mrb_lib.judges.roster.entry import Entry
from mrb_lib.judges.roster.source import WeightsSource
from mrb_lib.judges.settings import Settings

pytestmark = pytest.mark.slow

DIMENSIONS = ("accuracy", "overall")


def _judge(folder: Path, images: object) -> RewardJudge:
    settings = Settings(device="cpu", dimensions=DIMENSIONS, without_images=True)
    judge = RewardJudge(
        JudgeRequest(Entry("t", "reward", path=folder), settings, images, source=WeightsSource(folder, "sha256:0"))
    )
    judge.dimensions = DIMENSIONS
    LocalJudge.load(judge)
    head = give_head(judge.weights, 2, seed=1)
    with torch.no_grad():
        head.weight *= 30  # values that differ
    judge.head = RewardHead(judge.weights, head.weight, torch.zeros(2), DIMENSIONS)
    return judge


@pytest.mark.parametrize("architecture", ["llama", "llava", "qwen2_5_vl"])
def test_the_loss_is_the_likelihood_of_the_labels_under_the_judge_s_own_scores(
    architecture: str,
    tiny: Callable[[str], Path],
    labelled: Callable[..., pd.DataFrame],
    pictured: Benchmark,
) -> None:
    judge = _judge(tiny(architecture), pictured.images)
    shown = labelled(pictured.cases.head(4), ("AB",))
    cases, failures = reward_cases(judge, shown)
    assert not failures
    judge.weights.model.eval()
    loss = reward_loss(judge.weights, judge.weights.model, cases)
    scored = judge.judge(shown.drop(columns=["p_first", "weight"]))
    assert scored["p_first"].std() > 0.05
    terms = [
        -weight * (wanted * math.log(p) + (1 - wanted) * math.log(1 - p))
        for weight, wanted, p in zip(shown["weight"], shown["p_first"], scored["p_first"], strict=True)
    ]
    assert loss.item() == pytest.approx(sum(terms) / len(terms), abs=1e-5)


def test_a_tie_asks_for_equal_values(
    tiny: Callable[[str], Path], labelled: Callable[..., pd.DataFrame], pictured: Benchmark
) -> None:
    judge = _judge(tiny("llama"), pictured.images)
    [case], _ = reward_cases(judge, labelled(pictured.cases.head(1), ("AB",)))
    loss = partial(reward_loss, judge.weights)
    tie = replace(case, p_first=torch.full((2,), 0.5), weight=torch.ones(2))
    swapped = replace(tie, conversations=replace(tie.conversations, inputs=tie.conversations.inputs[::-1]))
    model = judge.weights.model
    assert loss(model, [tie]).item() == pytest.approx(loss(model, [swapped]).item(), abs=1e-6)
    same = replace(tie, conversations=replace(tie.conversations, inputs=(tie.conversations.inputs[0],) * 2))
    assert loss(model, [same]).item() == pytest.approx(math.log(2), abs=1e-6)
