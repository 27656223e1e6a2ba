"""`mrb annotate` on who annotates, on whether more of them would help, and on what they disagree about."""

from collections.abc import Callable
from pathlib import Path
from shutil import copytree

import pytest

from mrb_lib.benchmarks.benchmark import load
from mrb_lib.demo.build import write_demo
from mrb_lib.review.annotate.coordination import Coordination
from mrb_lib.review.records.marks import AnnotatorAnswer
from mrb_lib.review.records.store import REVIEW, open_store

from .conftest import Result

Command = Callable[..., Result]


@pytest.fixture(scope="module")
def annotated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve cases with three annotators: they agree on accuracy, and on `overall` all differ on two cases."""
    folder = tmp_path_factory.mktemp("annotated") / "bench"
    write_demo(folder, cases=12, seed=3)
    made = load(folder)
    with open_store(folder / "reviews.sqlite") as store:
        for number, case in enumerate(made.cases["case_id"]):
            for who, odd in (("Dr A", "A"), ("Dr B", "B"), ("Dr C", "tie")):
                for dimension in ("accuracy", "overall"):
                    choice = odd if dimension == "overall" and number < 2 else "AB"[number % 2]
                    store.add(AnnotatorAnswer(made.meta.name, case, who, dimension, choice, "AB"))
    return folder


@pytest.fixture
def bench(annotated: Path, tmp_path: Path) -> Path:
    return Path(copytree(annotated, tmp_path / "bench"))


def test_until_says_whether_more_would_help(mrb: Command, bench: Path) -> None:
    told = mrb("annotate", bench, "--until", "alpha>=0.6").ok
    assert "SIMULATED data" in told.out
    assert "accuracy: stop: more annotators change nothing" in told.out or "accuracy: not yet" in told.out
    rows = mrb("annotate", bench, "--until", "ac1>=0.9", "--json").rows
    states = {row["dimension"]: row["state"] for row in rows}
    assert states["relevance"] == "unknown"
    assert states["overall"] in ("open", "out of reach")
    for wrong in (("--until", "alpha"), ("--json",), ("--until", "alpha>=0.6", "--agreement")):
        done = mrb("annotate", bench, *wrong)
        assert (done.code, done.err.count("\n")) == (2, 1)


def test_cases_without_a_majority_go_to_reviewers(mrb: Command, bench: Path) -> None:
    done = mrb("annotate", bench, "--adjudicate", "Dr X,Dr Y").ok
    assert done.out == "2 cases without a majority (overall 2)\n"
    assert "Dr X: 1 case to review\nDr Y: 1 case to review" in done.err
    made = load(bench)
    with open_store(bench / "reviews.sqlite") as store:
        dealt = store.assignments(made.meta.name, task=REVIEW)
        assert set(dealt["case_id"]) == set(made.cases["case_id"].head(2))
        assert store.assignments(made.meta.name).empty, "annotators have no more to do by it"
    assert "Dr X: 1 case to review" in mrb("annotate", bench, "--adjudicate", "Dr X,Dr Y").err, "nothing is dealt twice"


def test_what_qualifies_annotators_is_kept_apart(mrb: Command, bench: Path, tmp_path: Path) -> None:
    people = tmp_path / "people.csv"
    people.write_text("annotator,qualification,years,consent\nDr A,radiologist,12,written 2026-01-02\n")
    done = mrb("annotate", bench, "--annotators", "Dr A,Dr B", "--assign-only", "--people", people)
    assert (done.code, "annotators.csv: 1 annotator" in done.err) == (0, True)
    assert "radiologist" not in mrb("annotate", bench, "--export", tmp_path / "out.csv").out
    assert "radiologist" not in (tmp_path / "out.csv").read_text()
    with open_store(bench / "reviews.sqlite") as store:
        html = Coordination(load(bench), store).html()
    assert "radiologist" in html and "written 2026-01-02" in html and "not said" in html
    people.write_text("annotator\nDr A\n")
    assert mrb("annotate", bench, "--assign-only", "--people", people).code == 2
