"""A judge with weights gives the same rows however its run went; for Ray see test_scaleout."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark, load
from mrb_lib.demo import write_demo
from mrb_lib.judges.settings import Settings
from mrb_lib.runs.execute import judge
from mrb_lib.tables.schema import KEYS

from .scripted import rows_held

KEY = list(KEYS["verdicts"])
EXACT = [*KEY, "choice", "status", "prompt_id"]


@pytest.fixture(scope="module")
def sixty(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    """Sixty simulated cases with an image each."""
    folder = tmp_path_factory.mktemp("sixty")
    write_demo(folder, cases=60, seed=3)
    return load(folder)


@pytest.fixture(scope="module")
def one_go(sixty: Benchmark, tiny: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    """All verdicts of the tiny LLaVA, made at once."""
    return judged(sixty, tiny("llava"), tmp_path_factory.mktemp("whole"))


def judged(benchmark: Benchmark, model: Path, runs: Path, limit: int | None = None, **settings: int) -> pd.DataFrame:
    judge(benchmark, runs, [f"path:{model}"], limit=limit, settings=Settings(**settings))
    return rows_held(runs)


def of_first(cases: int, benchmark: Benchmark, one_go: pd.DataFrame) -> pd.DataFrame:
    """The verdicts on the first so many cases."""
    held = one_go[one_go["case_id"].isin(benchmark.cases["case_id"].head(cases))].reset_index(drop=True)
    assert len(held) == cases * 2 * 6
    return held


def assert_same(found: pd.DataFrame, expected: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(found[EXACT], expected[EXACT])
    assert (found["p_a"] - expected["p_a"]).abs().max() < 1e-5


def test_one_go_holds_every_verdict_and_its_probability(one_go: pd.DataFrame) -> None:
    assert len(one_go) == 60 * 2 * 6
    assert not one_go.duplicated(KEY).any()
    assert one_go["status"].eq("ok").all()
    assert one_go["p_a"].between(0, 1).all()
    assert one_go["p_a"].std() > 0.01, "the verdicts differ by far more than what is tolerated here"


@pytest.mark.parametrize(("batch_size", "cases"), [(1, 5), (7, 16), (32, 34)])
def test_the_batch_size_changes_no_row(
    sixty: Benchmark, tiny: Callable[[str], Path], one_go: pd.DataFrame, tmp_path: Path, batch_size: int, cases: int
) -> None:
    """Each size makes several batches, and all but that of one case a last one that is not full."""
    assert_same(judged(sixty, tiny("llava"), tmp_path, cases, batch_size=batch_size), of_first(cases, sixty, one_go))


def test_shuffling_the_cases_changes_no_row(
    sixty: Benchmark, tiny: Callable[[str], Path], one_go: pd.DataFrame, tmp_path: Path
) -> None:
    shuffled = replace(sixty, cases=sixty.cases.sample(frac=1, random_state=5).reset_index(drop=True))
    assert_same(judged(shuffled, tiny("llava"), tmp_path, 12), of_first(12, shuffled, one_go))
