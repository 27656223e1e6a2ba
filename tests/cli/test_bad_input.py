"""Bad input ends with one message that names file, row and column, exit code 2, and nothing written."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import RATED_CASES, RATINGS_TOML


def _edit(name: str, old: str, new: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        text = (folder / name).read_text(encoding="utf-8")
        assert old in text
        (folder / name).write_text(text.replace(old, new, 1), encoding="utf-8")

    return change


def _spoil_image(folder: Path) -> None:
    whole = (folder / "images" / "1.png").read_bytes()
    (folder / "images" / "1.png").write_bytes(whole[:30])


BAD = {
    "a missing column": (_edit("cases.csv", "response_b", "response_c"), ["cases.csv", "response_b"]),
    "an unknown choice": (_edit("verdicts.csv", "2,overall,AB,A", "2,overall,AB,C"), ["verdicts.csv", "row 3"]),
    "an unreadable image": (_spoil_image, ["1.png", "row 1", "images"]),
}


BAD_RATINGS = {
    "a verdict outside the list": (
        _edit("verdicts.csv", "3,harm,AB,low risk", "3,harm,AB,some risk"), ["verdicts.csv, row 3", "no risk, low risk"]
    ),
    "an annotation outside the list": (
        _edit("annotations.csv", "3,r1,harm,low risk", "3,r1,harm,A"), ["annotations.csv, row 7", "'A'"]
    ),
    "an order that a rating has not": (_edit("verdicts.csv", "1,harm,AB", "1,harm,BA"), ["row 1", "order"]),
    "a second response": (
        _edit("cases.csv", RATED_CASES, RATED_CASES.replace("response_a", "response_a,response_b")
              .replace("lesion.", "lesion.,B").replace("Left.", "Left.,").replace("Because.", "Because.,")),
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
        _edit("benchmark.toml", RATINGS_TOML[RATINGS_TOML.index("\n[definitions]"):], 'definitions = "high"\n'),
        ["key definitions"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", [*BAD, *BAD_RATINGS])
def test_import_refuses(mrb: Callable, tables: Path, ratings: Path, tmp_path: Path, name: str) -> None:
    spoil, parts = (BAD | BAD_RATINGS)[name]
    source = ratings if name in BAD_RATINGS else tables
    spoil(source)
    before = sorted(tmp_path.rglob("*"))
    said = mrb("import", "table", source, tmp_path / "out").refusal
    assert said.count("\n") == 1 and all(part in said for part in parts)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (KeyboardInterrupt(), "interrupted"),
        (OSError(28, "No space left on device", "/disk/part"), "/disk/part: cannot be read or written (No space left"),
    ],
)
def test_an_interruption_and_a_full_disk_end_with_one_message(
    mrb: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, raised: BaseException, said: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise raised

    monkeypatch.setattr("mrb_lib.cli.demo.write_demo", fail)
    result = mrb("demo", tmp_path / "out")
    assert (result.code, result.out) == (1, "")
    assert len(result.err.splitlines()) == 1
    assert said in result.err
    assert list(tmp_path.iterdir()) == []


def test_a_finding_quotes_the_data_without_letting_it_steer_the_terminal(mrb: Callable, tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    names = ["\x1b[2Jerror\nerror: 7\r", "\u202ereversed", "\x9b31m", "\u60a3\U0001f9e0"]
    rows = [{"case_id": name, "question": "", "response_a": "same", "response_b": "same"} for name in names]
    (tmp_path / "t" / "cases.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert mrb("import", "table", tmp_path / "t", tmp_path / "b").code == 0
    said = mrb("check", tmp_path / "b", "--all").err
    assert not set(said) & {"\x1b", "\r", "\u202e", "\x9b"}
    assert "error: 7" not in said.splitlines()
    for shown in (r"\x1b[2Jerror\nerror: 7\r", r"\u202ereversed", r"\x9b31m", names[-1]):
        assert shown in said
