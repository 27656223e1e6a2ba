"""`mrb review`: what it prepares before it serves."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mrb_lib.benchmarks.benchmark import load
from mrb_lib.benchmarks.votes import gold
from mrb_lib.review.app import File
from mrb_lib.review.records.store import REVIEW, open_store
from mrb_lib.stats.scoring import correctness
from mrb_lib.verdicts.store import load_verdicts


def _answer(served: dict[str, Any], what: str = "initial_state", **question: object) -> dict[str, Any]:
    answer = served["app"].answer(what, question)
    assert not isinstance(answer, File)
    return answer


def test_the_app_opens_on_what_was_prepared(mrb: Callable[..., Any], bench: Path, served: dict[str, Any]) -> None:
    done = mrb("review", bench, "--no-browser", "--port", 8123).ok
    assert done.out == ""
    assert str(bench / "reviews.sqlite") in done.err
    assert (served["address"].port, served["browse"], served["address"].host) == (8123, False, "127.0.0.1")
    assert served["app"].title == f"Failures: {load(bench).meta.name}"
    first = _answer(served)
    assert (first["n"], first["judges"], first["store"]) == (18, [], "")


def test_the_judges_of_the_runs_are_there_and_the_index_is_made_once(
    mrb: Callable[..., Any], bench: Path, served: dict[str, Any]
) -> None:
    assert mrb("judge", bench, bench / "runs", "--judge", "longer", "--judge", "shorter").code == 0
    assert mrb("review", bench, "--store", bench / "other.sqlite").code == 0
    made = {path: path.stat().st_mtime_ns for path in (bench.parent / "home" / "review").rglob("*.npy")}
    first = _answer(served)
    assert first["judges"] == ["longer", "shorter"]
    assert "Did you mean longer?" in mrb("review", bench, "--query", "judge=longr").err
    assert (bench / "other.sqlite").is_file()
    assert mrb("review", bench, bench / "runs").code == 0
    assert {path: path.stat().st_mtime_ns for path in (bench.parent / "home" / "review").rglob("*.npy")} == made != {}


def test_failures_are_dealt_out_and_earlier_ones_stay(
    mrb: Callable[..., Any], bench: Path, served: dict[str, Any]
) -> None:
    assert mrb("judge", bench, bench / "runs", "--judge", "longer").code == 0
    wrong = "judge=longer&dimension=overall&kind=wrong"
    done = mrb("review", bench, "--assign", "Dr A, Dr B", "--query", wrong, "--open").ok
    assert served["fragment"] == f"{wrong}&review=queue", "the page opens at what was dealt, with the judge chosen"
    with open_store(bench / "reviews.sqlite", create=False) as store:
        name = load(bench).meta.name
        dealt = store.assignments(name, task=REVIEW)
        assert store.assignments(name).empty, "nothing was dealt to annotators"
    verdicts = load_verdicts(bench / "runs", load(bench).cases)
    table = correctness(verdicts, gold(load(bench)))
    missed = table[(table["dimension"] == "overall") & (table["score"] < 0.5)]
    assert sorted(dealt["case_id"]) == sorted(missed["case_id"])
    assert dealt.groupby("annotator").size().max() - dealt.groupby("annotator").size().min() <= 1
    assert f"Dr A: {(dealt['annotator'] == 'Dr A').sum()} cases to review" in done.err
    assert mrb("review", bench, "--assign", "Dr C", "--query", wrong, "--overlap", 2).code == 0
    with open_store(bench / "reviews.sqlite", create=False) as store:
        more = store.assignments(name, task=REVIEW)
    assert sorted(more.loc[more["annotator"] == "Dr C", "case_id"]) == sorted(dealt["case_id"])
    assert len(more) == 2 * len(dealt)
    for query, message in (("review=mine", "leave review out"), ("text=xyzzy", "leaves no case")):
        assert message in mrb("review", bench, "--assign", "Dr A", "--query", query).refusal


def test_a_query_without_anybody_to_deal_to_is_where_the_page_opens(
    mrb: Callable[..., Any], bench: Path, served: dict[str, Any]
) -> None:
    assert mrb("judge", bench, bench / "runs", "--judge", "longer").code == 0
    query = "judge=longer&dimension=overall&outcome=wrong&where=organ%20is%20not%20None"
    assert mrb("review", bench, "--query", query).code == 0
    assert served["fragment"] == query
    assert not (bench / "reviews.sqlite").exists(), "nothing was dealt"
    assert mrb("review", bench).code == 0
    assert served["fragment"] == ""


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("where=organ ==", "where 'organ ==': cannot be read"),
        ("where=organ == 'eyee'", "leaves none of 18 cases"),
        ("organ=eyee", "Did you mean eye?"),
        ("judge=nobody", "judge 'nobody' is unknown"),
        ("case=none", "no case 'none'"),
    ],
)
def test_a_query_that_asks_for_what_is_not_here_is_refused_before_anything_is_served(
    mrb: Callable[..., Any], bench: Path, served: dict[str, Any], query: str, message: str
) -> None:
    assert message in mrb("review", bench, "--query", query).refusal
    assert served == {}


@pytest.mark.parametrize("query", ["review=mine", "where=tag == 'artefact'", "where=reviewed_by['Dr A']"])
def test_a_query_that_reviewers_may_fill_yet_is_served(
    mrb: Callable[..., Any], bench: Path, served: dict[str, Any], query: str
) -> None:
    assert mrb("review", bench, "--query", query).code == 0
    assert served["fragment"] != ""


def test_a_password_is_not_printed(mrb: Callable[..., Any], bench: Path, served: dict[str, Any]) -> None:
    done = mrb("review", bench, "--store", "postgresql://me:secret@host/name").ok
    assert "secret" not in done.out + done.err
    trouble = _answer(served)["store"]
    assert "host" in trouble and "secret" not in trouble
