"""Whether a split can be trusted: its names, its digest, and cases that could be known from training cases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.near_duplicates import ProgressCallback
from mrb_lib.benchmarks.splits.stored import FOLD, SPLIT, is_split, split_digest
from mrb_lib.benchmarks.splits.units import ITEM, MODEL_PAIR, SplitUnits, split_units
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import SPLITS, TEST, TRAIN, VALIDATION


def check_split(benchmark: Benchmark) -> None:
    """Refuse to train where a case of validation or test could be known from a training case.

    Raises
    ------
    InputError
        The cases are not split, a split is unknown, the digest in `benchmark.toml` is of another split, or a unit, a
        cluster or near-duplicates stand on two sides; names the first two cases and counts the others.

    Notes
    -----
    Validated by tests/benchmarks/audit/test_audit_splits.py.
    """
    where = benchmark.path or f"benchmark {benchmark.meta.name}"
    if not is_split(benchmark):
        raise InputError(f"{where}: the cases are not split; run `mrb split {benchmark.path or 'BENCH'}` first.")
    again = f"run `mrb split {benchmark.path or 'BENCH'} --overwrite`"
    unknown = unknown_splits(benchmark.cases)
    if unknown.any():
        row = int(np.flatnonzero(unknown)[0])
        name, case = benchmark.cases[SPLIT].iloc[row], benchmark.cases["case_id"].iloc[row]
        raise InputError(f"{where}: case {case} is in split {name!r}; write {', '.join(SPLITS)}, or {again}.")
    if is_tampered(benchmark):
        raise InputError(f"{where}: the cases are split otherwise than benchmark.toml says (its digest); {again}.")
    leaks = split_leaks(benchmark.cases, units_of_split(benchmark))
    if len(leaks):
        raise InputError(f"{where}: {leaks[0].problem(benchmark.cases)}, one of {len(leaks):,} such cases; {again}.")


def unknown_splits(cases: pd.DataFrame) -> NDArray[np.bool_]:
    """Which cases are in a split that has none of the three names."""
    return (cases[SPLIT].notna() & ~cases[SPLIT].isin(list(SPLITS))).to_numpy(dtype=bool)


def is_tampered(benchmark: Benchmark) -> bool:
    """Whether `benchmark.toml` has the digest of a split that is not the cases'."""
    rule = benchmark.meta.extra.get(SPLIT)
    return isinstance(rule, Mapping) and rule.get("digest") != split_digest(benchmark.cases)


@dataclass(frozen=True)
class Leak:
    """A case that could be known from one that is trained on.

    Attributes
    ----------
    row, other : of the two in the cases table, from 0; the case and the one it could be known from
    column : `split` or `fold`, in which the two differ
    shared : what they share
    """

    row: int
    other: int
    column: str
    shared: str

    def problem(self, cases: pd.DataFrame) -> str:
        """The leak in words: the two cases, where they stand, and what they share."""
        ids, sides = cases["case_id"], cases[self.column]
        what = "" if self.column == SPLIT else f"{self.column} "
        case, other = (f"case {ids.iloc[row]} ({what}{sides.iloc[row]})" for row in (self.row, self.other))
        return f"{case} shares {self.shared} with {other}"


def units_of_split(benchmark: Benchmark, progress: ProgressCallback | None = None) -> SplitUnits:
    """Return the units by the rule of the split, where there is one; see `split_units`."""
    stated = benchmark.meta.extra.get(SPLIT)
    rule = stated if isinstance(stated, Mapping) else {}
    by = rule.get("by")
    values = by if isinstance(by, str) and (by in benchmark.cases or by in (ITEM, MODEL_PAIR)) else None
    return split_units(benchmark, values, progress, join_texts=bool(rule.get("join_texts")))


def split_leaks(cases: pd.DataFrame, units: SplitUnits) -> list[Leak]:
    """Return the cases of validation and test whose unit is trained on, and those whose unit is in two folds."""
    is_train = (cases[SPLIT] == TRAIN).to_numpy(dtype=bool)
    leaks = list(_crossings(units, cases[SPLIT], is_train, cases[SPLIT].isin([VALIDATION, TEST]).to_numpy(dtype=bool)))
    if FOLD in cases:
        first = np.unique(units.codes, return_index=True)[1]
        is_first = np.isin(np.arange(len(cases)), first)
        leaks += _crossings(units, cases[FOLD], is_first, ~is_first)
    return leaks


def _crossings(
    units: SplitUnits, side: pd.Series, known: NDArray[np.bool_], unseen: NDArray[np.bool_]
) -> Iterator[Leak]:
    """For each unseen case the first known one of its unit on another side; one that it is paired with goes before."""
    sides = side.astype("str").fillna("").to_numpy(dtype=object)
    near = units.near
    ends = pd.concat([near, near.rename(columns={"row_1": "row_2", "row_2": "row_1"})])
    ends = ends[known[ends["row_1"]] & unseen[ends["row_2"]]].sort_values("row_1")
    paired = {row_2: (row_1, kind) for row_1, row_2, kind in ends.iloc[::-1].itertuples(index=False)}
    rows = np.flatnonzero(known)
    first = dict(zip(units.codes[rows[::-1]].tolist(), rows[::-1].tolist(), strict=True))
    shared = f"its {units.by.replace('_', ' ')}, or a near-duplicate of it,"
    for row in np.flatnonzero(unseen).tolist():
        other, kind = paired.get(row, (first.get(int(units.codes[row])), shared))
        if other is not None and sides[row] != sides[other]:
            yield Leak(row, int(other), str(side.name), kind)
