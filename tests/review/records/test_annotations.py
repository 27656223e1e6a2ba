"""Answers become an annotations table that the readers of a benchmark read."""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark, load
from mrb_lib.benchmarks.formats.table import read
from mrb_lib.review.records.exchange import annotations_of, write_annotations
from mrb_lib.review.records.marks import AnnotatorAnswer
from mrb_lib.review.records.store import Store
from mrb_lib.tables.errors import InputError


@pytest.fixture
def answered(pictured: Benchmark, store: Store) -> Benchmark:
    cases = pictured.cases["case_id"]
    for who, choice in (("Dr Z", "A"), ("Dr B", "tie")):
        for case in reversed(cases[:4]):
            for dimension in ("overall", "accuracy"):
                store.add(AnnotatorAnswer(pictured.meta.name, case, who, dimension, choice, "BA"))
    store.add(AnnotatorAnswer(pictured.meta.name, cases[0], "Dr Z", "relevance", None, "BA", "outside my field"))
    store.add(AnnotatorAnswer(pictured.meta.name, cases[0], "Dr Z", "overall", "B", "BA"))
    return pictured


def test_they_are_sorted_and_the_last_word_counts(answered: Benchmark, store: Store) -> None:
    frame, left_out = annotations_of(answered, store)
    assert left_out == 0
    assert list(frame.columns) == ["case_id", "annotator", "dimension", "choice"]
    assert len(frame) == 16
    assert frame["case_id"].unique().tolist() == answered.cases["case_id"].head(4).tolist()
    assert frame.head(4).drop(columns="case_id").to_numpy().tolist() == [
        ["Dr B", "accuracy", "tie"], ["Dr B", "overall", "tie"], ["Dr Z", "accuracy", "A"], ["Dr Z", "overall", "B"],
    ]  # fmt: skip


def test_the_parquet_is_the_table_of_a_benchmark(answered: Benchmark, store: Store, tmp_path: Path) -> None:
    assert answered.path is not None
    bench = tmp_path / "bench"
    shutil.copytree(answered.path, bench)
    frame, _ = annotations_of(answered, store)
    write_annotations(frame, bench / "annotations.parquet")
    pd.testing.assert_frame_equal(load(bench).annotations, frame)


def test_the_csv_is_the_table_that_import_reads(answered: Benchmark, store: Store, tmp_path: Path) -> None:
    frame, _ = annotations_of(answered, store)
    write_annotations(frame, tmp_path / "annotations.csv")
    answered.cases.assign(images=[[]] * len(answered.cases)).to_parquet(tmp_path / "cases.parquet")
    found = read(tmp_path).benchmark.annotations
    pd.testing.assert_frame_equal(found[list(frame.columns)].reset_index(drop=True), frame)


def test_nothing_answered_is_a_table_without_rows(pictured: Benchmark, store: Store, tmp_path: Path) -> None:
    frame, left_out = annotations_of(pictured, store)
    assert (len(frame), left_out) == (0, 0)
    write_annotations(frame, tmp_path / "annotations.parquet")
    assert pd.read_parquet(tmp_path / "annotations.parquet").empty


def test_another_ending_is_refused(answered: Benchmark, store: Store, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"must end with \.parquet or \.csv"):
        write_annotations(annotations_of(answered, store)[0], tmp_path / "out.xlsx")
    assert not (tmp_path / "out.xlsx").exists()
