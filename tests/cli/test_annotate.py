"""`mrb annotate`: cases dealt out, answers exported, agreement shown; the page itself is tried in tests/browser."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark, load
from mrb_lib.demo.build import write_demo
from mrb_lib.review.records.marks import AnnotatorAnswer, Comment
from mrb_lib.review.records.store import open_store
from mrb_lib.tables.files import REVIEWS

from .conftest import Result

Command = Callable[..., Result]


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    write_demo(tmp_path / "bench", cases=12, seed=3)
    return tmp_path / "bench"


def _answer_all(benchmark: Benchmark, who: str, choices: str) -> None:
    assert benchmark.path is not None
    with open_store(benchmark.path / REVIEWS) as store:
        mine = store.assignments(benchmark.meta.name, who)
        for case, choice in zip(sorted(mine["case_id"]), choices, strict=True):
            for dimension in benchmark.meta.dimensions:
                store.add(AnnotatorAnswer(benchmark.meta.name, case, who, dimension, choice, "AB"))


def test_cases_are_dealt_out_once_and_then_more(mrb: Command, bench: Path) -> None:
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


def test_everybody_begins_with_the_same_cases_whenever_they_come(mrb: Command, bench: Path) -> None:
    deal = ("annotate", bench, "--assign-only", "--shared", 3, "--annotators")
    assert mrb(*deal, "Dr A,Dr B", "--overlap", 1).code == 0
    assert mrb(*deal, "Dr C", "--overlap", 1).code == 0
    with open_store(bench / REVIEWS) as store:
        dealt = store.assignments(load(bench).meta.name)
    firsts = [set(rows.sort_values("position")["case_id"].head(3)) for _, rows in dealt.groupby("annotator")]
    assert firsts == [firsts[0]] * 3
    later = dealt[~dealt["case_id"].isin(firsts[0])]
    assert sorted(later["case_id"]) == sorted(set(load(bench).cases["case_id"]) - firsts[0]), "the others once each"


def test_answers_come_out_as_annotations(mrb: Command, bench: Path, tmp_path: Path) -> None:
    mrb("annotate", bench, "--annotators", "Dr A,Dr B", "--cases", 4, "--assign-only")
    _answer_all(load(bench), "Dr A", "ABBA")
    out = tmp_path / "annotations.csv"
    done = mrb("annotate", bench, "--export", out)
    assert (done.code, done.out) == (0, f"{out}: 24 annotations of 4 cases by 1 annotator (SIMULATED data)\n")
    frame = pd.read_csv(out)
    assert list(frame.columns) == ["case_id", "annotator", "dimension", "choice"]
    assert mrb("annotate", bench, "--export", tmp_path / "out.txt").code == 2


def test_everything_comes_out_in_full(mrb: Command, bench: Path, tmp_path: Path) -> None:
    mrb("annotate", bench, "--annotators", "Dr A,Dr B", "--cases", 4, "--assign-only")
    benchmark = load(bench)
    _answer_all(benchmark, "Dr A", "ABBA")
    name, case = benchmark.meta.name, benchmark.cases["case_id"].iloc[0]
    with open_store(bench / REVIEWS) as store:
        store.add(AnnotatorAnswer(name, case, "Dr B", "overall", None, "BA", "=1+1", 60.0))
        store.add(AnnotatorAnswer(name, case, "Dr B", "overall", "A", "BA", "", 2.5))
        store.add(AnnotatorAnswer(name, "gone", "Dr B", "overall", "A", "BA"))
        store.add(Comment(name, case, "Dr B", "@blurred"))
    out = tmp_path / "log.csv"
    done = mrb("annotate", bench, "--export", out, "--full")
    said = "25 choices, 1 skip, 1 comment, 1 of them replaced by later answers (SIMULATED data)"
    assert (done.code, done.out) == (0, f"{out}: {said}\n")
    assert "1 row about cases, dimensions or choices that are not in the benchmark left out" in done.err
    frame = pd.read_csv(out)
    last = frame.tail(3).set_index("kind")
    assert last.loc["skip", ["skipped_reason", "seconds", "counts"]].tolist() == ["'=1+1", 60.0, False]
    assert last.loc["choice", ["choice", "order", "shown_as", "seconds"]].tolist() == ["A", "BA", "second", 2.5]
    assert last.loc["comment", "comment"] == "'@blurred"
    assert mrb("annotate", bench, "--export", tmp_path / "log.parquet", "--full").code == 0
    assert mrb("annotate", bench, "--export", tmp_path / "log.txt", "--full").code == 2


def test_agreement_is_shown_as_far_as_it_is_defined(mrb: Command, bench: Path) -> None:
    mrb("annotate", bench, "--annotators", "Dr A,Dr B", "--cases", 6, "--assign-only")
    _answer_all(load(bench), "Dr A", "ABABAB")
    first = mrb("annotate", bench, "--agreement").ok
    assert "SIMULATED" in first.out
    assert "not yet" in first.out
    assert "no case has two annotators" in first.out
    _answer_all(load(bench), "Dr B", "ABABAA")
    second = mrb("annotate", bench, "--agreement").out
    assert "0.83 (" in second
    assert "Dr B" in second


def test_the_page_is_served(mrb: Command, bench: Path, served: dict[str, Any]) -> None:
    assert "nothing is assigned yet" in mrb("annotate", bench).refusal
    mrb("annotate", bench, "--annotators", "Dr A", "--assign-only")
    assert served == {}
    assert mrb("annotate", bench, "--port", 8123, "--no-browser").code == 0
    assert (served["address"].host, served["address"].port) == ("127.0.0.1", 8123)
    people = served["app"].answer("initial_state", {})["annotators"]
    assert [each["name"] for each in people] == ["Dr A"]
    mrb("annotate", bench, "--coordinator")
    assert set(served["app"].answers) == {"overview", "export"}
