"""`mrb annotate`: cases dealt out, answers exported, agreement shown; the page itself is tried in tests/browser."""

from pathlib import Path
from shutil import copytree
from typing import Any

import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import load
from mrb_lib.demo.build import write_demo
from mrb_lib.review.annotate.coordination import Coordination
from mrb_lib.review.records.marks import AnnotatorAnswer, Comment
from mrb_lib.review.records.store import REVIEW, open_store
from mrb_lib.tables.files import REVIEWS

from .conftest import Mrb


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("written") / "bench"
    write_demo(folder, cases=12, seed=3)
    return folder


@pytest.fixture
def bench(written: Path, tmp_path: Path) -> Path:
    """Twelve simulated cases without a store."""
    return Path(copytree(written, tmp_path / "bench"))


@pytest.fixture
def annotated(bench: Path) -> None:
    """Three annotators: they agree on accuracy, and on `overall` all differ on two cases."""
    made = load(bench)
    with open_store(bench / REVIEWS) as store:
        for number, case in enumerate(made.cases["case_id"]):
            for who, odd in (("Dr A", "A"), ("Dr B", "B"), ("Dr C", "tie")):
                for dimension in ("accuracy", "overall"):
                    choice = odd if dimension == "overall" and number < 2 else "AB"[number % 2]
                    store.add(AnnotatorAnswer(made.meta.name, case, who, dimension, choice, "AB"))


def _answer_all(bench: Path, who: str, choices: str) -> None:
    meta = load(bench).meta
    with open_store(bench / REVIEWS) as store:
        mine = store.assignments(meta.name, who)
        for case, choice in zip(sorted(mine["case_id"]), choices, strict=True):
            for dimension in meta.dimensions:
                store.add(AnnotatorAnswer(meta.name, case, who, dimension, choice, "AB"))


def test_cases_are_dealt_out_once_and_then_more(mrb: Mrb, bench: Path) -> None:
    deal = ("annotate", bench, "--assign-only", "--annotators")
    assert "overlap of 3" in mrb(*deal, "a", "--overlap", 3).refusal
    done = mrb(*deal, "Dr A, Dr B", "--cases", 8)
    assert (done.code, done.err) == (0, "Dr A: 8 cases\nDr B: 8 cases\n")
    full = mrb(*deal, "Dr C", "--cases", 8, "--overlap", 2).err
    assert "Dr C: 0 cases\nEvery case has its 2 annotators already" in full
    assert mrb(*deal, "Dr C", "--cases", 8).err == "Dr C: 8 cases\n", "to all, unless --overlap says less"
    with open_store(bench / REVIEWS) as store:
        assert len(store.assignments(load(bench).meta.name)) == 24
    told = mrb(*deal, "Dr C", "--overlap", 3).err
    assert "Dr C: 12 cases" in told
    assert "4 cases have fewer than 3 annotators" in told


def test_everybody_begins_with_the_same_cases_whenever_they_come(mrb: Mrb, bench: Path) -> None:
    deal = ("annotate", bench, "--assign-only", "--shared", 3, "--annotators")
    assert mrb(*deal, "Dr A,Dr B", "--overlap", 1).code == 0
    assert mrb(*deal, "Dr C", "--overlap", 1).code == 0
    with open_store(bench / REVIEWS) as store:
        dealt = store.assignments(load(bench).meta.name)
    firsts = [set(rows.sort_values("position")["case_id"].head(3)) for _, rows in dealt.groupby("annotator")]
    assert firsts == [firsts[0]] * 3
    later = dealt[~dealt["case_id"].isin(firsts[0])]
    assert sorted(later["case_id"]) == sorted(set(load(bench).cases["case_id"]) - firsts[0]), "the others once each"


def test_answers_come_out_as_annotations_and_in_full(mrb: Mrb, bench: Path, tmp_path: Path) -> None:
    mrb("annotate", bench, "--annotators", "Dr A,Dr B", "--cases", 4, "--assign-only")
    _answer_all(bench, "Dr A", "ABBA")
    out, log = tmp_path / "annotations.csv", tmp_path / "log.csv"
    done = mrb("annotate", bench, "--export", out)
    assert (done.code, done.out) == (0, f"{out}: 24 annotations of 4 cases by 1 annotator (SIMULATED data)\n")
    assert list(pd.read_csv(out).columns) == ["case_id", "annotator", "dimension", "choice"]
    benchmark = load(bench)
    name, case = benchmark.meta.name, benchmark.cases["case_id"].iloc[0]
    with open_store(bench / REVIEWS) as store:
        store.add(AnnotatorAnswer(name, case, "Dr B", "overall", None, "BA", "=1+1", 60.0))
        store.add(AnnotatorAnswer(name, case, "Dr B", "overall", "A", "BA", "", 2.5))
        store.add(AnnotatorAnswer(name, "gone", "Dr B", "overall", "A", "BA"))
        store.add(Comment(name, case, "Dr B", "@blurred"))
    done = mrb("annotate", bench, "--export", log, "--full")
    said = "25 choices, 1 skip, 1 comment, 1 of them replaced by later answers (SIMULATED data)"
    assert (done.code, done.out) == (0, f"{log}: {said}\n")
    assert "1 row about cases, dimensions or choices that are not in the benchmark left out" in done.err
    last = pd.read_csv(log).tail(3).set_index("kind")
    assert last.loc["skip", ["skipped_reason", "seconds", "counts"]].tolist() == ["'=1+1", 60.0, False]
    assert last.loc["choice", ["choice", "order", "shown_as", "seconds"]].tolist() == ["A", "BA", "second", 2.5]
    assert last.loc["comment", "comment"] == "'@blurred"
    assert mrb("annotate", bench, "--export", tmp_path / "log.parquet", "--full").code == 0
    assert mrb("annotate", bench, "--export", tmp_path / "log.txt").code == 2


def test_agreement_is_shown_as_far_as_it_is_defined(mrb: Mrb, bench: Path) -> None:
    mrb("annotate", bench, "--annotators", "Dr A,Dr B", "--cases", 6, "--assign-only")
    _answer_all(bench, "Dr A", "ABABAB")
    first = mrb("annotate", bench, "--agreement").ok.out
    assert all(words in first for words in ("SIMULATED", "not yet", "no case has two annotators"))
    _answer_all(bench, "Dr B", "ABABAA")
    second = mrb("annotate", bench, "--agreement").out
    assert "0.83 (" in second and "Dr B" in second


def test_the_page_is_served(mrb: Mrb, bench: Path, served: dict[str, Any]) -> None:
    assert "nothing is assigned yet" in mrb("annotate", bench).refusal
    mrb("annotate", bench, "--annotators", "Dr A", "--assign-only")
    assert served == {}
    assert mrb("annotate", bench, "--port", 8123, "--no-browser").code == 0
    assert (served["address"].host, served["address"].port) == ("127.0.0.1", 8123)
    people = served["app"].answer("initial_state", {})["annotators"]
    assert [each["name"] for each in people] == ["Dr A"]
    mrb("annotate", bench, "--coordinator")
    assert set(served["app"].answers) == {"overview", "export"}


@pytest.mark.usefixtures("annotated")
def test_until_says_whether_more_would_help(mrb: Mrb, bench: Path) -> None:
    told = mrb("annotate", bench, "--until", "alpha>=0.6").ok.out
    assert "SIMULATED data" in told
    assert "accuracy: stop: more annotators change nothing" in told or "accuracy: not yet" in told
    rows = mrb("annotate", bench, "--until", "ac1>=0.9", "--json").rows
    states = {row["dimension"]: row["state"] for row in rows}
    assert states["relevance"] == "unknown"
    assert states["overall"] in ("open", "out of reach")
    for wrong in (("--until", "alpha"), ("--json",), ("--until", "alpha>=0.6", "--agreement")):
        assert mrb("annotate", bench, *wrong).refusal


@pytest.mark.usefixtures("annotated")
def test_cases_without_a_majority_go_to_reviewers(mrb: Mrb, bench: Path) -> None:
    done = mrb("annotate", bench, "--adjudicate", "Dr X,Dr Y").ok
    assert done.out == "2 cases without a majority (overall 2)\n"
    assert "Dr X: 1 case to review\nDr Y: 1 case to review" in done.err
    made = load(bench)
    with open_store(bench / REVIEWS) as store:
        dealt = store.assignments(made.meta.name, task=REVIEW)
        assert set(dealt["case_id"]) == set(made.cases["case_id"].head(2))
        assert store.assignments(made.meta.name).empty, "annotators have no more to do by it"
    assert "Dr X: 1 case to review" in mrb("annotate", bench, "--adjudicate", "Dr X,Dr Y").err, "nothing is dealt twice"


@pytest.mark.usefixtures("annotated")
def test_what_qualifies_annotators_is_kept_apart(mrb: Mrb, bench: Path, tmp_path: Path) -> None:
    people = tmp_path / "people.csv"
    people.write_text("annotator,qualification,years,consent\nDr A,radiologist,12,written 2026-01-02\n")
    done = mrb("annotate", bench, "--annotators", "Dr A,Dr B", "--assign-only", "--people", people)
    assert (done.code, "annotators.csv: 1 annotator" in done.err) == (0, True)
    assert "radiologist" not in mrb("annotate", bench, "--export", tmp_path / "out.csv").out
    assert "radiologist" not in (tmp_path / "out.csv").read_text()
    with open_store(bench / REVIEWS) as store:
        html = Coordination(load(bench), store).html()
    assert "radiologist" in html and "written 2026-01-02" in html and "not said" in html
    people.write_text("annotator\nDr A\n")
    assert mrb("annotate", bench, "--assign-only", "--people", people).code == 2
