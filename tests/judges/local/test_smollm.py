"""A real model's weights, SmolLM2-135M-Instruct, through the engines that read weights."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.judges.local.packed import PackedJudge
from tests.judges.conftest import ASKED
from tests.judges.local.by_hand import ByHand


@pytest.fixture(scope="module")
def asked(pictured: Benchmark, ask_for: Callable[..., pd.DataFrame]) -> pd.DataFrame:
    """A case in both orders on two dimensions, its texts cut to a length that a CPU reads in a moment."""
    cases = pictured.cases.head(1).copy()
    for name, length in (("question", 60), ("response_a", 60), ("response_b", 40)):
        cases[name] = cases[name].str.slice(0, length)
    return ask_for(cases, ASKED)


@pytest.mark.slow
def test_packed_verdicts_of_a_real_model_are_those_of_asking_each_question_alone(
    smollm: Path, smollm_packed: PackedJudge, asked: pd.DataFrame
) -> None:
    assert not [notice for notice in smollm_packed.notices if "share" in notice]
    verdicts = smollm_packed.judge(asked)
    some = [0, 3]  # both orders, and both dimensions
    hand = ByHand(smollm)
    truth = [hand.p_first({**row, "images": []}, {}, ASKED) for row in asked.iloc[some].to_dict("records")]
    assert np.abs(verdicts["p_first"][some] - truth).max() < 1e-4
    assert verdicts["status"].eq("ok").all()
    assert verdicts["p_first"].nunique() > len(verdicts) / 2
