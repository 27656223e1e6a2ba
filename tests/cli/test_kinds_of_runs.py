"""A run of several parts is opened as one of one part, whoever wrote the parts and however often it was resumed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import load
from mrb_lib.judges.settings import Settings
from mrb_lib.report import execute
from mrb_lib.runs.execute import judge
from mrb_lib.verdicts.parts import part_paths
from mrb_lib.verdicts.store import load_verdicts, run_folders
from tests.report.conftest import PUBLISH, Lab, run_in_this_process
from tests.runs.scripted import comparable
from tests.several_parts import JUDGES, KINDS, write_kinds

from .conftest import Mrb

OPENS_THE_RUNS = """
import mrb_lib

counts = mrb_lib.open(benchmark).verdicts["judge"].value_counts()
publish_table("judges", "judge,n\\n" + "".join(f"{judge},{n}\\n" for judge, n in counts.items()))
"""


@pytest.fixture(scope="module")
def written(written_once: Callable[..., Path]) -> Path:
    return written_once("kinds", write_kinds)


@pytest.fixture(scope="module")
def in_one_go(written: Path, tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    runs = tmp_path_factory.mktemp("whole")
    judge(load(written / "bench"), runs, JUDGES, settings=Settings(batch_size=1000))
    assert [len(part_paths(folder)) for folder in run_folders(runs)] == [1, 1]
    return comparable(load_verdicts(runs, replies=True))


@pytest.mark.parametrize("kind", KINDS)
def test_verdicts_review_and_report_are_those_of_one_part(
    kind: str, mrb: Mrb, written: Path, in_one_go: pd.DataFrame, served: dict[str, Any], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    bench, runs = written / "bench", written / kind
    verdicts = load_verdicts(runs, load(bench).cases, replies=True)
    pd.testing.assert_frame_equal(comparable(verdicts), in_one_go)
    monkeypatch.setenv("MRB_HOME", str(tmp_path))
    monkeypatch.setenv("MRB_STORE", str(tmp_path / "reviews.sqlite"))
    assert mrb("review", bench, runs, "--no-browser").ok
    app = served["app"]
    assert app.answer("initial_state", {"fragment": ""})["judges"] == list(JUDGES)
    assert all(name in app.answer("case", {"position": 17})["html"] for name in JUDGES)
    lab = Lab(tmp_path)
    lab.notebook("00_start", PUBLISH + OPENS_THE_RUNS)
    monkeypatch.setattr(execute, "run_notebooks", run_in_this_process)
    assert mrb("report", bench, runs, "--out", lab.out, "--notebooks", lab.notebooks, "--cases", 2).ok
    table = (lab.out / "tables" / "judges.csv").read_text(encoding="utf-8")
    assert set(table.split()) == {"judge,n", *(f"{name},216" for name in JUDGES)}
    assert len(list((lab.out / "cases").glob("*.html"))) >= 2
