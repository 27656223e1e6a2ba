"""What a reviewer says is stored as it was said, about the case in sight; what the form does not offer is refused."""

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Barrier, BrokenBarrierError
from typing import Any

import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.review.explorer.adjudicate import Reviews, adjudication_from
from mrb_lib.review.explorer.answers import ExplorerAnswers
from mrb_lib.review.explorer.data import ExplorerData, explorer_data
from mrb_lib.review.records.marks import Adjudication
from mrb_lib.review.records.questions import REASONS
from mrb_lib.review.records.store import REVIEW
from mrb_lib.tables.errors import InputError
from tests.review.explorer.asking import exported, sight
from tests.review.records.earlier import write_version_4

TURNING = "\u2067never closed"
JUDGES = ["hasty", TURNING]
GIVEN = {"reviewer": " Ann ", "verdict": "gold_wrong", "choice": "B", "dimension": "overall", "judge": ""}


@pytest.fixture(scope="module")
def data(pictured: Benchmark) -> ExplorerData:
    verdicts = pd.DataFrame({"judge": JUDGES, "case_id": pictured.cases["case_id"].iloc[3], "dimension": "overall",
                             "order": "AB", "repeat": 0, "probe": "none", "choice": "A", "status": "ok"})  # fmt: skip
    return explorer_data(pictured, verdicts)


@pytest.fixture
def answers(data: ExplorerData, tmp_path: Path) -> ExplorerAnswers:
    return ExplorerAnswers(data, Reviews(data.benchmark.meta.name, tmp_path / "r.sqlite"))


def _save(answers: ExplorerAnswers, number: int, /, **given: Any) -> list[dict[str, Any]]:
    said = {**GIVEN, **sight(answers, 3), "adjudication_id": f"{number:032d}", **given}
    return list(answers.save(said)["entries"])


def test_texts_are_kept_as_they_are_and_seen_with_their_direction_closed(answers: ExplorerAnswers) -> None:
    given = {"reviewer": TURNING, "judge": TURNING, "note": TURNING}
    entry = _save(answers, 1, **given, answers={"reasons": [TURNING]})[0]
    assert {name: entry[name] for name in given} == given
    assert entry["answers"]["reasons"] == [TURNING]
    html = answers.history({"position": 3})["html"]
    assert html.count(TURNING) == html.count(TURNING + "\u2069") == 4


def test_a_verdict_on_another_case_or_version_than_that_in_sight_is_refused(
    answers: ExplorerAnswers, pictured: Benchmark
) -> None:
    other, here = sight(answers, 4), sight(answers, 3)
    edited = replace(pictured, cases=pictured.cases.assign(question="Another question?"))
    changed = ExplorerAnswers(explorer_data(edited), answers.reviews)
    for served, given in (
        (answers, {"case_id": other["case_id"]}),
        (answers, {"version": other["version"]}),
        (answers, {"case_id": other["case_id"], "version": other["version"]}),
        (changed, {"version": here["version"]}),
    ):
        with pytest.raises(InputError, match="not the one that is stored here now"):
            _save(served, 1, **given)
    assert answers.history({"position": 3})["entries"] == []
    case = pictured.cases.iloc[3]
    of_another = adjudication_from(
        GIVEN | {"adjudication_id": "x"}, pictured.meta.name, case.replace(case["question"], "?")
    )
    answers.reviews.store().add(of_another)
    assert [one["changed"] for one in answers.history({"position": 3})["entries"]] == [True]


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


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"reviewer": "  "}, "reviewer is empty"),
        ({"verdict": ""}, "verdict is empty|verdict '' is unknown"),
        ({"choice": ""}, "choose the right label"),
        ({"choice": "C"}, "choose the right label"),
        ({"adjudication_id": ""}, "adjudication_id is empty"),
        ({"note": "x" * 100_001}, "100,001 characters"),
        ({"answers": {"severity": "odd"}}, "severity 'odd' is unknown; use one of none, mild"),
        ({"answers": {"reasoning": "wrong"}}, "reasoning is about a judge; name the judge"),
        ({"answers": {"reasons": ["other"]}}, "reasons is about a judge; name the judge"),
        ({"answers": "none"}, "answers are not given by question"),
        ({"regions": [{"image": 9, "x": 1, "y": 1}]}, "in no image of the case"),
        ({"regions": [{"image": -1, "x": 1, "y": 1}]}, "in no image of the case"),
        ({"regions": "none"}, "in no image of the case"),
        ({"dimension": "colour"}, "colour"),
        ({"judge_in_view": "hasty"}, "no judge is named; choose the judge"),
        ({"judge_in_view": "hasty", "verdict": "withdrawn", "choice": ""}, "no judge is named; choose the judge"),
        ({"judge": "nobody"}, "judge 'nobody' has no verdict in these runs"),
    ],
)
def test_what_the_form_does_not_offer_is_refused(answers: ExplorerAnswers, given: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        _save(answers, 1, **given)
    assert answers.history({"position": 3})["entries"] == []


def test_the_form_offers_the_reasons_of_the_store(answers: ExplorerAnswers, tmp_path: Path) -> None:
    assert answers.initial_state({"fragment": ""})["reasons"] == list(REASONS)
    write_version_4(tmp_path / "old.sqlite")
    migrated = ExplorerAnswers(answers.data, Reviews(answers.reviews.benchmark, tmp_path / "old.sqlite"))
    assert migrated.initial_state({"fragment": ""})["reasons"] == ["artefact", "other"]


def test_what_others_say_is_hidden_until_ones_own_is_stored(data: ExplorerData, tmp_path: Path) -> None:
    reviews = Reviews(data.benchmark.meta.name, tmp_path / "r.sqlite")
    blind = ExplorerAnswers(data, reviews, blind=True)
    other = {"reviewer": "Dr B"}
    _save(blind, 1, reviewer="Dr A")
    seen = blind.history({"position": 3, **other})
    assert (seen["entries"], seen["hidden"]) == ([], 1)
    assert blind.history({"position": 3})["hidden"] == 1
    blind.tag({**sight(blind, 3), "tag": "odd label", "reviewer": "Dr A"})
    assert (blind.tags({"position": 3, **other})["hidden"], "odd label" in exported(blind, {}, **other)) == (1, False)
    told = blind.tags({"position": 3, **other}), blind.rows({"query": {}, "start": 0, **other})
    assert "odd label" not in json.dumps(told), "neither on the case, nor among tags to choose, nor in the list"
    assert blind.select({"query": {"where": "tagged['odd label']"}, **other})["n"] == 0
    assert blind.select({"query": {"review": "disagree"}, **other})["n"] == 0
    assert "Dr A" in exported(blind, {}, reviewer="Dr A")
    assert "Dr A" not in exported(blind, {}, **other), "a file tells no opinion that the page hides"
    both = _save(blind, 2, **other, verdict="ambiguous", choice="")
    assert {one["reviewer"] for one in both} == {"Dr A", "Dr B"}
    assert blind.select({"query": {"review": "disagree"}, **other})["n"] == 1
    assert "Dr A" in exported(blind, {}, **other) and "odd label" in exported(blind, {}, **other)
    _save(blind, 3, **other, verdict="withdrawn", choice="", supersedes=both[0]["id"])
    assert blind.history({"position": 3, **other})["hidden"] == 1
    seeing = ExplorerAnswers(data, reviews)
    assert len(seeing.history({"position": 3, **other})["entries"]) == 3


def test_a_queue_ends_and_nothing_leaves_the_list_meanwhile(answers: ExplorerAnswers, pictured: Benchmark) -> None:
    ids = pictured.cases["case_id"].tolist()
    deal = pd.DataFrame({"case_id": [ids[3], ids[5]], "annotator": "Dr A", "position": range(2), "order": "AB"})
    answers.reviews.store().assign(pictured.meta.name, deal, task=REVIEW)
    me: dict[str, Any] = {"reviewer": "Dr A"}
    queue = answers.select({"query": {"review": "queue"}, **me})
    assert (queue["n"], queue["done"]) == (2, 0)
    assert dict(queue["facets"]["review"]) == {
        "queue": 2, "unreviewed": len(ids), "mine": 0, "disagree": 0,
    }  # fmt: skip
    left = answers.select({"query": {"review": "unreviewed"}, **me})
    _save(answers, 1, **me)
    scope = {"query": {"review": "unreviewed"}, **me, "as_of": left["as_of"]}
    assert ids[3] in [row["id"] for row in answers.rows({**scope, "start": 0})["rows"]]
    later = {"query": {"review": "mine"}, **me, "as_of": [2, 0]}
    assert [row["id"] for row in answers.rows({**later, "start": 0})["rows"]] == [ids[3]]
    assert answers.select({"query": {}, **me})["done"] == 1
    again = answers.select({"query": {"review": "unreviewed"}, **me})
    assert again["n"] == left["n"] - 1
    assert answers.select({"query": {"review": "mine"}, **me})["rows"][0]["id"] == ids[3]
    assert answers.select({"query": {"review": "queue"}, "reviewer": "Dr B"})["n"] == 0
    assert "review" not in answers.select({"query": {}})["facets"], "nobody is signed in"
    with pytest.raises(InputError, match="review 'ours' is unknown"):
        answers.select({"query": {"review": "ours"}, **me})
