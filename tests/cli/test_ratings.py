"""A benchmark that rates one response a case, through the commands, and what is refused in one line."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from mrb_lib.benchmarks.benchmark import load
from mrb_lib.verdicts.store import load_verdicts
from tests.cli.conftest import Result

Run = Callable[..., Result]


def test_a_rating_goes_through_import_check_export_and_back(ratings: Path, mrb: Run, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert mrb("import", "table", ratings, out).code == 0
    benchmark = load(out)
    assert (benchmark.meta.is_rating, benchmark.meta.acceptable) == (True, ("no risk",))
    assert benchmark.cases["response_b"].eq("").all()
    assert mrb("check", out).code == 0
    assert load_verdicts(out / "runs", benchmark.cases)["choice"].tolist() == ["no risk", "high risk", "low risk"]
    assert mrb("export", "table", out, out / "runs", tmp_path / "back").code == 0
    assert mrb("import", "table", tmp_path / "back", tmp_path / "again").code == 0
    again = load(tmp_path / "again")
    pd.testing.assert_frame_equal(again.cases, benchmark.cases)
    assert again.meta == benchmark.meta


def test_ratings_and_preferences_are_not_merged(ratings: Path, tables: Path, mrb: Run, tmp_path: Path) -> None:
    for name, folder in (("one", ratings), ("two", tables)):
        assert mrb("import", "table", folder, tmp_path / name).code == 0
    assert "are not of one kind" in mrb("merge", tmp_path / "one", tmp_path / "two", tmp_path / "both").refusal
    assert not (tmp_path / "both").exists()
