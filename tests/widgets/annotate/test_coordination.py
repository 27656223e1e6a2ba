"""The coordinator sees how far everyone is and how far they agree, and what cannot be said yet is not said."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from mrb_lib.data.benchmark import Benchmark
from mrb_lib.errors import InputError
from mrb_lib.reviews.exchange import annotations_of
from mrb_lib.reviews.marks import AnnotatorAnswer
from mrb_lib.reviews.store import Store, open_store
from mrb_lib.stats.agreement import agreement
from mrb_lib.widgets.annotate import coordinate
from mrb_lib.widgets.annotate.coordination import NOT_YET, Coordination, agreement_so_far

PEOPLE = ("Dr A", "Dr <b>B</b>")


@pytest.fixture
def store(tmp_path: Path, pictured: Benchmark) -> Iterator[Store]:
    with open_store(tmp_path / "reviews.sqlite") as opened:
        rows = [
            (case, who, place, "AB") for who in PEOPLE for place, case in enumerate(pictured.cases["case_id"].head(8))
        ]
        opened.assign(pictured.meta.name, pd.DataFrame(rows, columns=["case_id", "annotator", "position", "order"]))
        yield opened


def _answer(store: Store, benchmark: Benchmark, who: str, row: int, dimension: str, choice: str) -> None:
    case = benchmark.cases["case_id"].iloc[row]
    store.answer(AnnotatorAnswer(benchmark.meta.name, case, who, dimension, choice, "AB"))


def test_before_two_have_answered_nothing_is_said_of_agreement(pictured: Benchmark, store: Store) -> None:
    empty, _ = annotations_of(pictured, store)
    found = agreement_so_far(pictured, empty)
    assert found["dimension"].tolist() == list(pictured.meta.dimensions)
    assert (found["Krippendorff's alpha"] == NOT_YET).all()
    assert found["reason"].str.len().gt(0).all()
    _answer(store, pictured, PEOPLE[0], 0, "accuracy", "A")
    found = agreement_so_far(pictured, annotations_of(pictured, store)[0]).set_index("dimension")
    assert found.loc["accuracy", "reason"] == "no case has two annotators"
    assert (found.loc["accuracy", "cases"], found.loc["accuracy", "alone"]) == (0, 1)


def test_agreement_is_that_of_the_statistics(pictured: Benchmark, store: Store) -> None:
    for who, choices in zip(PEOPLE, ("AABBABtA", "AABBBBAA"), strict=True):
        for row, choice in enumerate(choices):
            _answer(store, pictured, who, row, "overall", "tie" if choice == "t" else choice)
    known, left_out = annotations_of(pictured, store)
    assert left_out == 0
    shown = agreement_so_far(pictured, known).set_index("dimension").loc["overall"]
    truth = agreement(known, pictured.cases, dimensions=pictured.meta.dimensions).set_index("dimension").loc["overall"]
    assert shown["agreement"].startswith("0.75 (")
    alpha = [truth[f"krippendorff_alpha{end}"] for end in ("", "_low", "_high")]
    assert shown["Krippendorff's alpha"] == "{:.2f} ({:.2f} to {:.2f})".format(*alpha)


def test_the_page_shows_progress_and_skipped_cases_escaped(pictured: Benchmark, store: Store) -> None:
    name, case = pictured.meta.name, pictured.cases["case_id"].iloc[0]
    for dimension in pictured.meta.dimensions:
        store.answer(
            AnnotatorAnswer(name, case, PEOPLE[1], dimension, None, "AB", skipped_reason="<script>blurred</script>")
        )
    _answer(store, pictured, PEOPLE[0], 0, "accuracy", "A")
    page = Coordination(pictured, store).html()
    assert "SIMULATED" in page
    assert "&lt;script&gt;blurred" in page
    assert "<script" not in page
    assert "<b>B</b>" not in page
    assert ", ".join(pictured.meta.dimensions) in page
    assert 'max="8" value="1"' in page
    assert "Readings finished: 1 of 16" in page


def test_only_what_has_changed_is_sent_again(pictured: Benchmark, store: Store) -> None:
    page = Coordination(pictured, store)
    first = page.overview({"change": -1})
    assert "html" in first
    assert page.overview({"change": first["change"]}) == {"change": first["change"]}
    _answer(store, pictured, PEOPLE[0], 0, "accuracy", "A")
    again = page.overview({"change": first["change"]})
    assert again["change"] > first["change"]
    assert "annotations: 1" in again["html"]


def test_answers_about_what_is_gone_do_not_count(pictured: Benchmark, store: Store) -> None:
    store.answer(AnnotatorAnswer(pictured.meta.name, "gone", PEOPLE[0], "accuracy", "A", "AB"))
    store.answer(AnnotatorAnswer(pictured.meta.name, pictured.cases["case_id"].iloc[0], PEOPLE[0], "charm", "A", "AB"))
    frame, left_out = annotations_of(pictured, store)
    assert frame.empty
    assert left_out == 2
    assert (
        "2 answers are about cases or dimensions that are not in the benchmark" in Coordination(pictured, store).html()
    )


def test_ratings_are_refused_and_the_plain_view_is_whole(
    pictured: Benchmark, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match="not ratings"):
        coordinate(replace(pictured, meta=replace(pictured.meta, categories=("1", "2"))), store)
    monkeypatch.setenv("MRB_STATIC", "1")
    shown = coordinate(pictured, store)._repr_mimebundle_()
    assert "Agreement so far" in shown["text/html"]
