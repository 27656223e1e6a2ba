"""A run of several parts is opened as one of one part, whoever wrote the parts and however often it was resumed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import load
from mrb_lib.judges.settings import Settings
from mrb_lib.runs.execute import judge
from mrb_lib.verdicts.parts import part_paths
from mrb_lib.verdicts.store import load_verdicts, run_folders
from tests.runs.scripted import comparable
from tests.several_parts import JUDGES, KINDS, write_kinds


@pytest.fixture(scope="module")
def written(written_once: Callable[..., Path]) -> Path:
    return written_once("kinds", write_kinds)


@pytest.fixture(scope="module")
def bench(written: Path) -> Path:
    return written / "bench"


@pytest.fixture(params=KINDS)
def runs(request: pytest.FixtureRequest, written: Path) -> Path:
    return written / str(request.param)


@pytest.fixture(scope="module")
def in_one_go(bench: Path, tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    runs = tmp_path_factory.mktemp("whole")
    judge(load(bench), runs, JUDGES, settings=Settings(batch_size=1000))
    assert [len(part_paths(folder)) for folder in run_folders(runs)] == [1, 1]
    return comparable(load_verdicts(runs, replies=True))


def test_the_verdicts_are_those_of_one_part(runs: Path, bench: Path, in_one_go: pd.DataFrame) -> None:
    verdicts = load_verdicts(runs, load(bench).cases, replies=True)
    pd.testing.assert_frame_equal(comparable(verdicts), in_one_go)


def test_the_review_opens_on_a_case(
    mrb: Callable[..., Any], runs: Path, bench: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, served: Any
) -> None:
    monkeypatch.setenv("MRB_HOME", str(tmp_path))
    monkeypatch.setenv("MRB_STORE", str(tmp_path / "reviews.sqlite"))
    assert mrb("review", bench, runs, "--no-browser").ok
    app = served["app"]
    assert app.answer("initial_state", {"fragment": ""})["judges"] == list(JUDGES)
    assert all(name in app.answer("case", {"position": 17})["html"] for name in JUDGES)
