"""What the form of adjudication stores, and what it shows of what was said."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Barrier, BrokenBarrierError
from typing import Any

import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.review.explorer.adjudicate import Reviews, adjudication_from, reviewed_by
from mrb_lib.review.explorer.answers import ExplorerAnswers
from mrb_lib.review.explorer.data import ExplorerData, explorer_data
from mrb_lib.review.records.marks import Adjudication
from mrb_lib.review.records.store import REVIEW, open_store
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.questions import REASONS

TURNING = "\u2067never closed"
JUDGES = ["hasty", TURNING]
GIVEN = {
    "reviewer": " Ann ",
    "verdict": "gold_wrong",
    "choice": "B",
    "dimension": "overall",
    "judge": "",
    "adjudication_id": "0" * 32,
}


@pytest.fixture(scope="module")
def data(pictured: Benchmark) -> ExplorerData:
    verdicts = pd.DataFrame({"judge": JUDGES, "case_id": pictured.cases["case_id"].iloc[3], "dimension": "overall",
                             "order": "AB", "repeat": 0, "probe": "none", "choice": "A", "status": "ok"})  # fmt: skip
    return explorer_data(pictured, verdicts)


@pytest.fixture
def answers(data: ExplorerData, tmp_path: Path) -> ExplorerAnswers:
    return ExplorerAnswers(data, Reviews(data.benchmark.meta.name, tmp_path / "r.sqlite"))


def _save(answers: ExplorerAnswers, number: int, /, **given: Any) -> list[dict[str, Any]]:
    seen = answers.case({"position": 3})
    sight = {name: seen[name] for name in ("position", "case_id", "version")}
    return answers.save({**GIVEN, **sight, "adjudication_id": f"{number:032d}", **given})["entries"]


def test_what_is_saved_is_in_the_store_and_in_the_history(answers: ExplorerAnswers, pictured: Benchmark) -> None:
    told = {"judge": "hasty", "answers": {"reasons": ["missed finding"]}, "note": "seen <b>twice</b>"}
    entries = _save(answers, 1, **told)
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
    given = {"reviewer": TURNING, "judge": TURNING, "note": TURNING}
    entry = _save(answers, 1, **given, answers={"reasons": [TURNING]})[0]
    assert {name: entry[name] for name in given} == given
    assert entry["answers"]["reasons"] == [TURNING]
    assert answers.history({"position": 3})["html"].count(TURNING) == 4
    assert answers.history({"position": 3})["html"].count(TURNING + "\u2069") == 4


def test_a_store_that_could_not_be_opened_is_opened_when_it_can(data: ExplorerData, tmp_path: Path) -> None:
    answers = ExplorerAnswers(data, Reviews(data.benchmark.meta.name, tmp_path / "gone" / "r.sqlite"))
    first = answers.initial_state({})
    assert "folder does not exist" in first["store"]
    (tmp_path / "gone").mkdir()
    assert answers.store({})["store"] == ""
    assert len(_save(answers, 1)) == 1


def test_a_correction_supersedes_and_overwrites_nothing(answers: ExplorerAnswers) -> None:
    first = _save(answers, 1)[0]["id"]
    entries = _save(answers, 2, verdict="ambiguous", choice="", supersedes=first)
    assert [(one["verdict"], one["counts"]) for one in entries] == [("ambiguous", True), ("gold_wrong", False)]
    assert entries[0]["supersedes"] == first


def test_a_withdrawal_leaves_the_history(answers: ExplorerAnswers) -> None:
    first = _save(answers, 1)[0]["id"]
    entries = _save(answers, 2, verdict="withdrawn", choice="", supersedes=first)
    assert [one["counts"] for one in entries] == [False, False]
    assert answers.selections.marks() == {}


def test_a_verdict_on_another_case_or_version_than_that_in_sight_is_refused(
    answers: ExplorerAnswers, pictured: Benchmark
) -> None:
    other = answers.case({"position": 4})
    edited = replace(pictured, cases=pictured.cases.assign(question="Another question?"))
    changed = ExplorerAnswers(explorer_data(edited), answers.reviews)
    for served, given in (
        (answers, {"case_id": other["case_id"]}),
        (answers, {"version": other["version"]}),
        (answers, {"case_id": other["case_id"], "version": other["version"]}),
        (changed, {"version": answers.case({"position": 3})["version"]}),
    ):
        with pytest.raises(InputError, match="not the one that is stored here now"):
            _save(served, 1, **given)
    assert answers.history({"position": 3})["entries"] == []


def test_what_was_said_in_another_window_is_shown_before_it_is_replaced(
    answers: ExplorerAnswers, data: ExplorerData
) -> None:
    other = ExplorerAnswers(data, Reviews(data.benchmark.meta.name, answers.reviews.where))
    first = _save(answers, 1)[0]["id"]
    seen = other.case({"position": 3})
    said = {**GIVEN, "position": 3, "case_id": seen["case_id"], "version": seen["version"], "adjudication_id": "9" * 32}
    said |= {"verdict": "ambiguous", "choice": ""}
    told = other.save(said)
    assert told["replaces"]["id"] == first
    assert [one["id"] for one in told["entries"]] == [first]
    assert [one["counts"] for one in other.save({**said, "supersedes": first})["entries"]] == [True, False]
    assert [one["counts"] for one in _save(answers, 3, judge="hasty")] == [True, True, False], "about a judge, nothing"


def test_the_same_click_sent_twice_is_one_adjudication(answers: ExplorerAnswers) -> None:
    _save(answers, 1)
    assert len(_save(answers, 1)) == 1


def test_two_answers_to_one_entry_that_come_at_once_do_not_both_replace_it(answers: ExplorerAnswers) -> None:
    """A correction and a late withdrawal of the same entry: one is stored, and the other is shown what it missed."""
    [first] = _save(answers, 1)
    both = Barrier(2)
    unseen_by = answers.reviews.unseen_by

    def slowly(adjudication: Adjudication) -> str | None:
        unseen = unseen_by(adjudication)
        with suppress(BrokenBarrierError):
            both.wait(timeout=0.3)  # whoever is let in beside another has looked before that one stored anything
        return unseen

    answers.reviews.unseen_by = slowly  # type: ignore[method-assign]
    given = [{"note": "corrected"}, {"verdict": "withdrawn", "choice": ""}]
    with ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(_save, answers, 2 + i, supersedes=first["id"], **one) for i, one in enumerate(given)]
        entries = [future.result() for future in futures][-1]
    assert len({one["id"] for one in entries}) == 2


def test_reviewers_see_each_other(answers: ExplorerAnswers, data: ExplorerData) -> None:
    other = ExplorerAnswers(data, Reviews(data.benchmark.meta.name, answers.reviews.where))
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
        ({"choice": "C"}, "choose the right label"),
        ({"adjudication_id": ""}, "load it again"),
        ({"adjudication_id": "'; drop"}, "load it again"),
        ({"note": "x" * 100_001}, "100,001 characters"),
        ({"answers": {"reasons": "missed finding"}}, "not a list"),
        ({"answers": {"severity": "odd"}}, "severity 'odd' is unknown; use one of none, mild"),
        ({"answers": {"odd": "none"}}, "question 'odd' is unknown"),
        ({"answers": {"reasoning": "wrong"}}, "reasoning is about a judge; name the judge"),
        ({"answers": {"severity": "mild"}}, "severity is about a judge; name the judge"),
        ({"answers": {"reasons": ["other"]}}, "reasons is about a judge; name the judge"),
        ({"answers": "none"}, "sent no answers"),
        ({"dimension": "colour"}, "colour"),
        ({"judge_in_view": "hasty"}, "a judge is in view; choose the judge"),
        ({"judge_in_view": "hasty", "verdict": "withdrawn", "choice": ""}, "a judge is in view; choose the judge"),
        ({"judge": "nobody"}, "judge 'nobody' has no verdict in these runs"),
        ({"judge": "nobody", "verdict": "withdrawn", "choice": ""}, "judge 'nobody' has no verdict in these runs"),
    ],
)
def test_what_the_form_does_not_offer_is_refused(answers: ExplorerAnswers, given: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        _save(answers, 1, **given)
    assert answers.history({"position": 3})["entries"] == []


def test_the_form_offers_the_reasons_of_the_store(answers: ExplorerAnswers) -> None:
    assert answers.store({})["reasons"] == list(REASONS)
    answers.reviews.store().set_reasons(["artefact", "other"])
    assert answers.store({})["reasons"] == ["artefact", "other"]


def test_a_store_that_cannot_be_used_is_said_and_tried_again(answers: ExplorerAnswers, tmp_path: Path) -> None:
    missing = tmp_path / "not" / "there"
    reviews = Reviews(answers.reviews.benchmark, missing / "r.sqlite")
    broken = ExplorerAnswers(answers.data, reviews)
    assert "folder does not exist" in broken.initial_state({"fragment": ""})["store"]
    assert broken.selections.marks() == {}
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
    answers.reviews.store().add(adjudication_from(GIVEN, pictured.meta.name, case.replace(case["question"], "another")))
    assert [one["changed"] for one in answers.history({"position": 3})["entries"]] == [True]


def test_who_has_reviewed_counts_what_counts(answers: ExplorerAnswers) -> None:
    _save(answers, 1)
    _save(answers, 2, judge="hasty")
    said = answers.reviews.history()
    assert list(reviewed_by(said).values()) == [["Ann"]]
    assert reviewed_by(said.iloc[:0]) == {}


def test_harm_and_what_the_reasons_are_worth_are_kept(answers: ExplorerAnswers) -> None:
    given = {"severity": "severe", "reasoning": "not_about_image"}
    entry = _save(answers, 1, judge="hasty", answers=given)[0]
    assert entry["answers"] == given | {"reasons": []}
    assert entry["said"] == [("harm", ["severe"]), ("its reasons", ["not about image"])]


def test_what_others_say_is_hidden_until_ones_own_is_stored(data: ExplorerData, tmp_path: Path) -> None:
    reviews = Reviews(data.benchmark.meta.name, tmp_path / "r.sqlite")
    blind = ExplorerAnswers(data, reviews, blind=True)
    _save(blind, 1, reviewer="Dr A")
    seen = blind.history({"position": 3, "reviewer": "Dr B"})
    assert (seen["entries"], seen["hidden"]) == ([], 1)
    assert blind.history({"position": 3})["hidden"] == 1
    assert blind.select({"query": {"review": "disagree"}, "reviewer": "Dr B"})["n"] == 0
    both = _save(blind, 2, reviewer="Dr B", verdict="ambiguous", choice="")
    assert {one["reviewer"] for one in both} == {"Dr A", "Dr B"}
    assert blind.select({"query": {"review": "disagree"}, "reviewer": "Dr B"})["n"] == 1
    _save(blind, 3, reviewer="Dr B", verdict="withdrawn", choice="", supersedes=both[0]["id"])
    assert blind.history({"position": 3, "reviewer": "Dr B"})["hidden"] == 1
    seeing = ExplorerAnswers(data, reviews)
    assert len(seeing.history({"position": 3, "reviewer": "Dr B"})["entries"]) == 3


def test_a_queue_ends_and_nothing_leaves_the_list_meanwhile(answers: ExplorerAnswers, pictured: Benchmark) -> None:
    ids = pictured.cases["case_id"].tolist()
    deal = pd.DataFrame({"case_id": [ids[3], ids[5]], "annotator": "Dr A", "position": range(2), "order": "AB"})
    answers.reviews.store().assign(pictured.meta.name, deal, task=REVIEW)
    me: dict[str, Any] = {"reviewer": "Dr A"}
    queue = answers.select({"query": {"review": "queue"}, **me})
    assert (queue["n"], queue["done"]) == (2, 0)
    assert dict(queue["facets"]["review"]["values"]) == {
        "queue": 2, "unreviewed": len(ids), "mine": 0, "disagree": 0,
    }  # fmt: skip
    left = answers.select({"query": {"review": "unreviewed"}, **me})
    _save(answers, 1, **me)
    scope = {"query": {"review": "unreviewed"}, **me, "as_of": left["as_of"]}
    assert ids[3] in [row["id"] for row in answers.rows({**scope, "start": 0})["rows"]]
    assert answers.select({"query": {}, **me})["done"] == 1
    again = answers.select({"query": {"review": "unreviewed"}, **me})
    assert again["n"] == left["n"] - 1
    assert answers.select({"query": {"review": "mine"}, **me})["rows"][0]["id"] == ids[3]
    assert answers.select({"query": {"review": "queue"}, "reviewer": "Dr B"})["n"] == 0
    assert "review" not in answers.select({"query": {}})["facets"], "nobody is signed in"
    with pytest.raises(InputError, match="review 'ours' is unknown"):
        answers.select({"query": {"review": "ours"}, **me})


def test_a_file_tells_no_opinion_that_the_page_hides(data: ExplorerData, tmp_path: Path) -> None:
    blind = ExplorerAnswers(data, Reviews(data.benchmark.meta.name, tmp_path / "r.sqlite"), blind=True)

    def written(reviewer: str) -> str:
        return blind.export({"query": {}, "format": "csv", "reviewer": reviewer}).content.decode()

    _save(blind, 1, reviewer="Dr A")
    assert "Dr A" in written("Dr A")
    assert "Dr A" not in written("Dr B")
    _save(blind, 2, reviewer="Dr B")
    assert "Dr A" in written("Dr B")
