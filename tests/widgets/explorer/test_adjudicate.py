"""What the form of adjudication stores, and what it shows of what was said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mrb_lib.data.benchmark import Benchmark
from mrb_lib.errors import InputError
from mrb_lib.reviews.marks import REASONS
from mrb_lib.reviews.store import open_store
from mrb_lib.widgets.explorer.adjudicate import Reviews, adjudication_from, reviewed_by
from mrb_lib.widgets.explorer.answers import ExplorerAnswers
from mrb_lib.widgets.explorer.data import explorer_data

GIVEN = {
    "reviewer": " Ann ",
    "verdict": "gold_wrong",
    "choice": "B",
    "dimension": "overall",
    "judge": "",
    "id": "0" * 32,
}


@pytest.fixture
def answers(pictured: Benchmark, tmp_path: Path) -> ExplorerAnswers:
    return ExplorerAnswers(explorer_data(pictured), Reviews(pictured.meta.name, tmp_path / "r.sqlite"))


def _save(answers: ExplorerAnswers, number: int, **given: Any) -> list[dict[str, Any]]:
    said = {**GIVEN, "position": 3, "id": f"{number:032d}", **given}
    return answers.save(said)["entries"]


def test_what_is_saved_is_in_the_store_and_in_the_history(answers: ExplorerAnswers, pictured: Benchmark) -> None:
    entries = _save(answers, 1, reasons=["missed finding"], note="seen <b>twice</b>")
    assert [(one["reviewer"], one["label"], one["choice"], one["counts"]) for one in entries] == [
        ("Ann", "Gold is wrong", "B", True)
    ]
    assert entries[0]["note"] == "seen <b>twice</b>"
    with open_store(answers.reviews.where, create=False) as store:
        kept = store.adjudications(pictured.meta.name)
    assert kept[["case_id", "reviewer", "verdict", "choice", "dimension"]].to_numpy().tolist() == [
        [pictured.cases["case_id"].iloc[3], "Ann", "gold_wrong", "B", "overall"]
    ]


def test_texts_are_kept_as_they_are_and_seen_with_their_direction_closed(answers: ExplorerAnswers) -> None:
    turning = "\u2067never closed"
    entry = _save(answers, 1, reviewer=turning, judge=turning, note=turning, reasons=[turning])[0]
    assert (entry["reviewer"], entry["judge"], entry["note"], entry["reasons"]) == (turning,) * 3 + ([turning],)
    closed = turning + "\u2069"
    expected = {"reviewer": closed, "dimension": "overall", "judge": closed, "note": closed, "reasons": [closed]}
    assert entry["seen"] == expected


def test_a_store_that_could_not_be_opened_is_opened_when_it_can(pictured: Benchmark, tmp_path: Path) -> None:
    answers = ExplorerAnswers(explorer_data(pictured), Reviews(pictured.meta.name, tmp_path / "gone" / "r.sqlite"))
    first = answers.initial_state({})
    assert "folder does not exist" in first["store"]
    assert first["again"]
    (tmp_path / "gone").mkdir()
    assert answers.store({})["store"] == ""
    assert len(_save(answers, 1)) == 1


def test_where_nothing_is_stored_there_is_nothing_to_try_again(pictured: Benchmark) -> None:
    found = ExplorerAnswers(explorer_data(pictured), Reviews("b", None)).store({})
    assert found["store"]
    assert not found["again"]


def test_a_correction_supersedes_and_overwrites_nothing(answers: ExplorerAnswers) -> None:
    first = _save(answers, 1)[0]["id"]
    entries = _save(answers, 2, verdict="ambiguous", choice="", supersedes=first)
    assert [(one["verdict"], one["counts"]) for one in entries] == [("ambiguous", True), ("gold_wrong", False)]
    assert entries[0]["supersedes"] == first


def test_a_withdrawal_leaves_the_history(answers: ExplorerAnswers) -> None:
    _save(answers, 1)
    entries = _save(answers, 2, verdict="withdrawn", choice="")
    assert [one["counts"] for one in entries] == [False, False]
    assert answers.marks() == {}


def test_the_same_click_sent_twice_is_one_adjudication(answers: ExplorerAnswers) -> None:
    _save(answers, 1)
    assert len(_save(answers, 1)) == 1


def test_reviewers_see_each_other(answers: ExplorerAnswers, pictured: Benchmark) -> None:
    other = ExplorerAnswers(explorer_data(pictured), Reviews(pictured.meta.name, answers.reviews.where))
    _save(answers, 1)
    _save(other, 2, reviewer="Bo")
    entries = answers.history({"position": 3})["entries"]
    assert {one["reviewer"] for one in entries} == {"Ann", "Bo"}
    row = next(row for row in answers.rows({"query": {}})["rows"] if row["position"] == 3)
    assert row["by"] == ["Ann", "Bo"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"reviewer": "  "}, "nobody is signed in"),
        ({"verdict": ""}, "no verdict is chosen"),
        ({"choice": ""}, "choose the right label"),
        ({"verdict": "odd"}, "unknown"),
        ({"choice": "C"}, "unknown"),
        ({"id": ""}, "load it again"),
        ({"id": "'; drop"}, "load it again"),
        ({"note": "x" * 100_001}, "100,001 characters"),
        ({"reasons": "missed finding"}, "not a list"),
        ({"dimension": "colour"}, "colour"),
    ],
)
def test_what_the_form_does_not_offer_is_refused(answers: ExplorerAnswers, given: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        _save(answers, 1, **given)
    assert answers.history({"position": 3})["entries"] == []


def test_the_list_of_reasons_is_everybodys_and_its_past_is_kept(answers: ExplorerAnswers, pictured: Benchmark) -> None:
    assert answers.reviews.reasons() == list(REASONS)
    assert answers.reasons({"names": ["artefact", "other"]}) == {"reasons": ["artefact", "other"]}
    assert Reviews(pictured.meta.name, answers.reviews.where).reasons() == ["artefact", "other"]
    with pytest.raises(InputError, match="reasons"):
        answers.reasons({"names": []})
    with pytest.raises(InputError, match="not a list"):
        answers.reasons({"names": "artefact"})


def test_a_store_that_cannot_be_used_is_said_and_tried_again(answers: ExplorerAnswers, tmp_path: Path) -> None:
    missing = tmp_path / "not" / "there"
    reviews = Reviews(answers.reviews.benchmark, missing / "r.sqlite")
    broken = ExplorerAnswers(answers.data, reviews)
    assert "folder does not exist" in broken.initial_state({"fragment": ""})["store"]
    assert broken.marks() == {}
    with pytest.raises(InputError, match="folder does not exist"):
        _save(broken, 1)
    missing.mkdir(parents=True)
    assert broken.reviews.trouble() == ""
    assert len(_save(broken, 1)) == 1


def test_a_file_that_is_no_store_is_said(answers: ExplorerAnswers, tmp_path: Path) -> None:
    (tmp_path / "text.sqlite").write_text("not a database" * 100, encoding="utf-8")
    assert "store of reviews" in Reviews("b", tmp_path / "text.sqlite").trouble()


def test_a_case_that_changed_since_is_said(answers: ExplorerAnswers, pictured: Benchmark) -> None:
    case = pictured.cases.iloc[3]
    answers.reviews.save(adjudication_from(GIVEN, pictured.meta.name, case.replace(case["question"], "another")))
    assert [one["changed"] for one in answers.history({"position": 3})["entries"]] == [True]


def test_who_has_reviewed_counts_what_counts(answers: ExplorerAnswers) -> None:
    _save(answers, 1)
    _save(answers, 2, judge="j")
    said = answers.reviews.history()
    assert list(reviewed_by(said).values()) == [["Ann"]]
    assert reviewed_by(said.iloc[:0]) == {}
