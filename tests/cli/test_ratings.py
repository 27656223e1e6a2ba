"""A benchmark that rates one response a case, through the commands, and what is refused in one line."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import load
from mrb_lib.verdicts.store import load_verdicts
from tests.cli.conftest import Result

Run = Callable[..., Result]
TOML = """name = "risk"
kind = "general"
task = "rating"
dimensions = ["harm"]
categories = ["no risk", "low risk", "high risk"]
level = "ordinal"
acceptable = ["no risk"]

[definitions]
"high risk" = "a patient may be <b>hurt</b>"
"""
CASES = "case_id,question,response_a\n1,What is seen?,A lesion.\n2,Which side?,Left.\n3,Why?,Because.\n"
ANNOTATIONS = "case_id,annotator,dimension,choice\n" + "".join(
    f"{case},r{who},harm,{('no risk', 'low risk', 'high risk')[(case + who) % 3 if who < 3 else case % 3]}\n"
    for case in (1, 2, 3)
    for who in (1, 2, 3)
)
VERDICTS = "judge,case_id,dimension,order,choice\nj,1,harm,AB,no risk\nj,2,harm,AB,high risk\nj,3,harm,AB,low risk\n"


def write_ratings(folder: Path) -> None:
    """Write tables in which one response a case is rated."""
    folder.mkdir()
    texts = {"benchmark.toml": TOML, "cases.csv": CASES, "annotations.csv": ANNOTATIONS, "verdicts.csv": VERDICTS}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")


@pytest.fixture
def ratings(tmp_path: Path) -> Path:
    write_ratings(tmp_path / "ratings")
    return tmp_path / "ratings"


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


def _edit(name: str, old: str, new: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        text = (folder / name).read_text(encoding="utf-8")
        assert old in text
        (folder / name).write_text(text.replace(old, new), encoding="utf-8")

    return change


BAD = {
    "a verdict outside the list": (
        _edit("verdicts.csv", "3,harm,AB,low risk", "3,harm,AB,some risk"), ["verdicts.csv, row 3", "no risk, low risk"]
    ),
    "an annotation outside the list": (
        _edit("annotations.csv", "3,r1,harm,low risk", "3,r1,harm,A"), ["annotations.csv, row 7", "'A'"]
    ),
    "an order that a rating has not": (_edit("verdicts.csv", "1,harm,AB", "1,harm,BA"), ["row 1", "order"]),
    "a second response": (
        _edit("cases.csv", CASES, CASES.replace("response_a", "response_a,response_b").replace("lesion.", "lesion.,B")
              .replace("Left.", "Left.,").replace("Because.", "Because.,")),
        ["cases.csv, row 1, column response_b", "one response is rated"],
    ),
    "no second response and no word of a rating": (
        lambda folder: (folder / "benchmark.toml").unlink(), ["response_b", 'task = "rating"']
    ),
    "an unknown task": (_edit("benchmark.toml", '"rating"', '"grading"'), ["key task", "preference, rating"]),
    "an acceptable one that is no category": (
        _edit("benchmark.toml", '["no risk"]', '["safe"]'), ["key acceptable", "'safe'"]
    ),
    "all of them acceptable": (
        _edit("benchmark.toml", '["no risk"]', '["no risk", "low risk", "high risk"]'), ["key acceptable"]
    ),
    "numbers that do not rise": (
        _edit("benchmark.toml", '"no risk", "low risk", "high risk"]', '"3", "1", "2"]'), ["key categories", "rise"]
    ),
    "a category of two lines": (_edit("benchmark.toml", '"no risk", "low', '"no\\nrisk", "low'), ["one line"]),
    "definitions that are no table": (
        _edit("benchmark.toml", TOML[TOML.index("\n[definitions]"):], 'definitions = "high"\n'), ["key definitions"]
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_what_does_not_fit_is_refused_in_one_line(what: str, ratings: Path, mrb: Run, tmp_path: Path) -> None:
    change, said = BAD[what]
    change(ratings)
    result = mrb("import", "table", ratings, tmp_path / "out")
    assert result.code == 2
    assert result.out == ""
    assert len(result.err.strip().splitlines()) == 1, result.err
    assert all(words in result.err for words in said), result.err
    assert not (tmp_path / "out").exists()


def test_ratings_and_preferences_are_not_merged(ratings: Path, tables: Path, mrb: Run, tmp_path: Path) -> None:
    for name, folder in (("one", ratings), ("two", tables)):
        assert mrb("import", "table", folder, tmp_path / name).code == 0
    assert "are not of one kind" in mrb("merge", tmp_path / "one", tmp_path / "two", tmp_path / "both").refusal
    assert not (tmp_path / "both").exists()
