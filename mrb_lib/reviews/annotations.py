"""Answers as an annotations table: what of a store belongs to a benchmark, and files that its readers read."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import pandas as pd

from mrb_lib.data.benchmark import Benchmark
from mrb_lib.errors import InputError
from mrb_lib.files import write_atomic
from mrb_lib.reviews.store import Store
from mrb_lib.validation import conform

FORMATS = (".parquet", ".csv")


def annotations_of(benchmark: Benchmark, store: Store) -> tuple[pd.DataFrame, int]:
    """The annotations table of a benchmark from the answers in a store.

    Returns
    -------
    frame : `case_id, annotator, dimension, choice`, in the order of the cases, dimensions and names; choices in the
        cases' own frame
    left_out : answers that are not in it, since the benchmark has no such case, dimension or category (any more);
        skipped dimensions are no answers
    """
    meta = benchmark.meta
    found = store.annotations(meta.name)
    case = pd.Index(benchmark.cases["case_id"]).get_indexer(pd.Index(found["case_id"]))
    dimension = pd.Index(meta.dimensions).get_indexer(pd.Index(found["dimension"]))
    known = (case >= 0) & (dimension >= 0) & found["choice"].isin(meta.categories).to_numpy(dtype=bool)
    rows = found.assign(_case=case, _dimension=dimension)[known]
    rows = rows.sort_values(["_case", "annotator", "_dimension"], ignore_index=True)
    return rows.drop(columns=["_case", "_dimension"]), int((~known).sum())


def write_annotations(frame: pd.DataFrame, path: Path) -> None:
    """Write an annotations table as parquet, for a benchmark folder, or as CSV, for `mrb import table`.

    Raises
    ------
    InputError
        The file's name ends with neither.
    """
    rows = conform(frame, "annotations", str(path))
    if path.suffix == ".parquet":
        content = BytesIO()
        rows.to_parquet(content, index=False)
        write_atomic(path, content.getvalue())
    elif path.suffix == ".csv":
        write_atomic(path, rows.to_csv(index=False, lineterminator="\n"))
    else:
        raise InputError(f"{path}: the name must end with {' or '.join(FORMATS)}; it says how to write.")
