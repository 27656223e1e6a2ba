"""Controls draw what is chosen and publish nothing; where no page answers, the plain table is all there is."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from mrb_lib import NotApplicable, Study, analyze
from mrb_lib.figures.style import Paper
from mrb_lib.report.defaults import Options
from mrb_lib.report.publish import PublishedTable
from mrb_lib.review.records.marks import CaseTag
from mrb_lib.review.records.store import open_store
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import REVIEWS
from tests.review.judged import judged

RESAMPLES = 60
CLEARED = "\x1b[2K\r"
"""What IPython writes to clear an output that is no notebook's."""


class Notebook:
    """What a cell showed, one after another: objects and lines."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.shown: list[Any] = []
        self._capsys = capsys
        monkeypatch.delenv("MRB_STATIC", raising=False)
        monkeypatch.setattr("mrb_lib.review.controls.display", self.shown.append)

    def lines(self) -> list[str]:
        return self._capsys.readouterr().out.replace(CLEARED, "").splitlines()


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Notebook:
    return Notebook(monkeypatch, capsys)


def study_of(**options: object) -> Study:
    benchmark, verdicts = judged()
    groups = pd.DataFrame({"judge": sorted(verdicts["judge"].unique()), "group": "open", "how": "stated"})
    return Study(benchmark, verdicts, [], Options(resamples=RESAMPLES, **options), groups)


def controls_of(view: Any) -> dict[str, Any]:
    row, _ = view.children
    return {control.description: control for control in row.children if hasattr(control, "description")}


def n_of(shown: PublishedTable) -> dict[str, str]:
    """The column `n` of a table, by judge."""
    rows = pd.DataFrame(shown.text.rows, columns=shown.text.columns)
    return dict(zip(rows["judge"], rows["n"], strict=True))


def test_each_change_draws_what_the_study_shows_for_that_choice(notebook: Notebook) -> None:
    study = study_of()
    offered = controls_of(study.controls("accuracy", references=0))
    assert list(offered) == ["policy", "dimension", "by", "where", "view"]
    assert [value for _, value in offered["by"].options] == ["", "organ"]
    offered["view"].value = "table"
    offered["dimension"].value = "accuracy"
    offered["by"].value = "organ"
    offered["policy"].value = "strict"
    first, *tables = notebook.shown
    assert isinstance(first, Paper)
    strict, options = study.with_(policy="strict"), {"dimension": "accuracy", "by": "organ", "references": 0}
    whole = [study.table("accuracy", references=0), study.table("accuracy", dimension="accuracy", references=0)]
    assert tables[:2] == [table.show() for table in whole]
    columns = ["judge", "dimension", "subfield", "n", *whole[0].spec.headline]
    assert tables[2:] == [each.table("accuracy", **options).show(*columns) for each in (study, strict)]
    assert notebook.lines() == []


@pytest.mark.parametrize("own", ["", "organ != 'foot'"])
def test_a_filter_leaves_the_cases_that_it_leaves_anywhere(notebook: Notebook, own: str) -> None:
    study, where = study_of(), "outcome['j0'] == 'wrong'"
    if own:
        study = study._part(own, "balanced")
    offered = controls_of(study.controls("accuracy", dimension="overall", view="table", references=0))
    offered["where"].value = f" {where} "
    both = f"({own}) and ({where})" if own else where
    benchmark, verdicts = judged()
    rows = analyze(benchmark, verdicts, "accuracy", where=both, dimension="overall", resamples=0, references=0)
    assert n_of(notebook.shown[-1]) == dict(zip(rows["judge"], rows["n"].astype(str), strict=True))
    assert f"where {both}" in notebook.shown[-1].caption


def test_what_cannot_be_drawn_is_one_line_until_the_next_choice(notebook: Notebook) -> None:
    offered = controls_of(study_of().controls("accuracy", dimension="overall", view="table"))
    for where in ("organn == 'eye'", "organ == 'heart'", "__import__('os')", "tagged['x']", "<script>1</script>"):
        before = len(notebook.shown)
        offered["where"].value = where
        (line,) = notebook.lines()
        assert line.startswith("where") and len(notebook.shown) == before
    offered["where"].value = "organ == 'eye'"
    assert set(n_of(notebook.shown[-1])) >= {"j0", "j1"}, "j2 judged no eye"
    empty = replace(study_of(), verdicts=study_of().verdicts.head(0), _made={})
    controls_of(empty.controls("accuracy"))
    (line,) = notebook.lines()
    assert "verdicts" in line


def test_reviewers_tags_are_read_when_a_filter_asks_for_them(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("MRB_STORE", raising=False)
    study = study_of()
    study = replace(study, benchmark=replace(study.benchmark, path=tmp_path), _made={})
    offered = controls_of(study.controls("composition", view="table"))["where"]
    for n, case in enumerate(("c00", "c03"), 1):
        with open_store(tmp_path / REVIEWS) as store:
            store.add(CaseTag("b", case, "artefact", "Dr A"))
        offered.value = "tagged['artefact']"
        assert f"n = {n} cases" in notebook.shown[-1].caption
        offered.value = ""


def test_a_table_has_the_controls_that_change_it(notebook: Notebook) -> None:
    assert list(controls_of(study_of().controls("composition"))) == ["by", "where", "view"]
    drawn = controls_of(study_of().controls("criteria"))["view"]
    assert [value for _, value in drawn.options] == ["table"], "it has no figure"


@pytest.mark.parametrize(
    "wrong", [{"dimension": "odd"}, {"policy": "odd"}, {"by": "odd"}, {"view": "odd"}, {"where": "odd == 1"}]
)
def test_a_choice_to_begin_with_that_there_is_not_is_refused(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch, wrong: dict[str, Any]
) -> None:
    monkeypatch.setenv("MRB_STATIC", "1")
    with pytest.raises(InputError, match="odd"):
        study_of().controls("accuracy", **wrong)
    with pytest.raises(InputError, match="Did you mean accuracy"):
        study_of().controls("acuracy")
    assert notebook.shown == []


def test_without_a_page_it_is_the_plain_table_once_and_nothing_is_published(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    report = replace(study_of(), out=str(tmp_path), _made={})
    controls_of(report.controls("accuracy"))["view"].value = "table"
    monkeypatch.setenv("MRB_STATIC", "1")
    notebook.shown.clear()
    shown = report.controls("accuracy", dimension="overall", policy="strict")
    assert shown == study_of(policy="strict").table("accuracy", dimension="overall").show()
    assert notebook.shown == [] and list(tmp_path.iterdir()) == []
    with pytest.raises(NotApplicable, match="verdicts"):
        replace(report, verdicts=report.verdicts.head(0), _made={}).controls("accuracy")
