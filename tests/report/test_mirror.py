"""The copy of the figures under version control holds what a report put there; all else is left alone."""

from typing import Any

import pytest

from mrb_lib.tables.errors import InputError
from tests.report.conftest import index_of


def test_the_mirror_keeps_what_it_did_not_write(two: Any) -> None:
    mirror = two.folder / "mirror"
    (mirror / "tables").mkdir(parents=True)
    (mirror / "mine.txt").write_text("mine")
    two.report(figures=mirror)
    assert (mirror / "mine.txt").read_text() == "mine"
    assert set(two.states(mirror)) == {
        "mine.txt", "index.json", "tables/scores.csv", "tables/scores.tex",
        *(f"{name}.{kind}" for name in ("first", "second") for kind in ("png", "svg", "csv")),
    }  # fmt: skip
    for entry in [*index_of(mirror)["figures"], *index_of(mirror)["tables"]]:
        assert all((mirror / name).is_file() for name in entry["files"].values())
    (two.notebooks / "one.ipynb").unlink()
    two.report(figures=mirror)
    assert set(two.states(mirror)) == {"mine.txt", "index.json", "second.png", "second.svg", "second.csv"}


def test_the_mirror_refuses_to_write_over_a_file_of_yours(lab: Any, publish: str, quickly: None) -> None:
    lab.notebook("one", publish + 'publish_figure("first")')
    mirror = lab.folder / "mirror"
    mirror.mkdir()
    (mirror / "first.csv").write_text("my own notes")
    with pytest.raises(InputError, match=r"first\.csv"):
        lab.report(figures=mirror)
    assert [path.name for path in mirror.iterdir()] == ["first.csv"]


def test_the_mirror_does_not_change_when_the_same_report_is_made_again(two: Any) -> None:
    mirror = two.folder / "mirror"
    two.report(figures=mirror)
    before = two.states(mirror)
    assert two.report(figures=mirror, force=True).executed == ("one", "two")
    assert two.states(mirror) == before
    assert "created" not in (mirror / "index.json").read_text()
