"""Clinicians rate items on a scale, blinded, by the page that annotators use; the coordinator sees the same tables."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.build.construct.screen import CRITERIA, screening_benchmark, screening_form
from mrb_lib.build.construct.work import Work, begin, create_work
from mrb_lib.review.annotate.answers import Annotation
from mrb_lib.review.annotate.coordination import Coordination
from mrb_lib.review.annotate.forms import PREFERENCE, SCREENING
from mrb_lib.review.records.marks import AnnotatorAnswer
from mrb_lib.review.records.store import Store
from mrb_lib.tables.errors import InputError
from tests.review.annotate.paging import ME, ask


@pytest.fixture
def work(tmp_path: Path, pictured: Benchmark) -> Work:
    made = create_work(tmp_path / "work", "mine", "simulated")
    name = pictured.cases["images"].iloc[0][0]
    (made.images / "secret-diagnosis.png").write_bytes(pictured.images[name])
    items = pd.DataFrame({"item_id": ["secret-1", "secret-2"], "reference": ["**A nodule.**", None]}).assign(
        question="What is <it>?", dataset="secret-set", source="secret", organ="lung", choices=None,
        images=[["secret-diagnosis.png"], []],
    )  # fmt: skip
    with begin(made, "start", {}, seed=0) as step:
        step.write("items", items)
    return made


@pytest.fixture
def screening(work: Work) -> Benchmark:
    return screening_benchmark(work, screening_form(work))


@pytest.fixture
def page(screening: Benchmark, store: Store) -> Annotation:
    rows = [(f"secret-{i + 1}", who, i, "AB") for who in (ME, "Dr B") for i in (0, 1)]
    store.assign(screening.meta.name, pd.DataFrame(rows, columns=["case_id", "annotator", "position", "order"]))
    return Annotation(screening, store, SCREENING)


def test_the_page_is_told_what_to_ask_and_nothing_that_could_sway(page: Annotation) -> None:
    about = page.initial_state({})
    assert about["title"] == "Screening"
    assert [one["key"] for one in about["picks"]] == ["1", "2", "3", "4", "5"]
    assert [one["name"] for one in about["dimensions"]] == list(CRITERIA)
    assert "the reference answer is right" in about["dimensions"][1]["hint"]
    first = page.open({"annotator": ME, "after": 0})
    assert "Reference answer" in first["html"] and "A nodule." in first["html"]
    assert "What is &lt;it&gt;?" in first["html"]
    second = page.open({"annotator": ME, "number": 2})
    assert "Reference answer" not in second["html"], "it has none"
    assert "secret" not in json.dumps([about, first, second])


def test_the_coordinator_sees_progress_and_agreement(page: Annotation, store: Store, screening: Benchmark) -> None:
    for criterion in CRITERIA:
        ask(page, "choose", 1, dimension=criterion, pick="4")
        store.add(AnnotatorAnswer(screening.meta.name, "secret-1", "Dr B", criterion, "5", "AB"))
    assert store.answers("mine").empty, "kept apart from annotations"
    with pytest.raises(InputError, match="'6': is not a choice"):
        ask(page, "choose", 1, dimension="accuracy", pick="6")
    html = Coordination(screening, store, SCREENING).html()
    assert "SIMULATED" in html
    assert "image_quality" in html
    assert "Readings finished: 2 of 4" in html
    assert "Agreement of pairs" in html
    assert "Drift" not in html, "there is no first answer to lean to"
    assert "ordinal labels" not in html


def test_each_form_refuses_the_labels_of_the_other(screening: Benchmark, pictured: Benchmark) -> None:
    with pytest.raises(InputError, match="only preferences"):
        PREFERENCE.check(screening.meta)
    with pytest.raises(InputError, match="2 to 9 labels"):
        SCREENING.check(pictured.meta)
