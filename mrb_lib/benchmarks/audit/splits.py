"""Audit of a split: could a case of validation or test be known from a training case?"""

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.case_digests import ITEM
from mrb_lib.benchmarks.images.pictures import Progress
from mrb_lib.benchmarks.splits import FOLD, SPLIT, SplitUnits, is_split, split_digest, split_units
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import SPLITS, TEST, TRAIN, VALIDATION
from mrb_lib.tables.validation import CASES_FILE, Finding, case_finding, counted

_AGAIN: Final = "run `mrb split BENCH --overwrite`"


def check_split(benchmark: Benchmark) -> None:
    """Refuse to train where a case of validation or test could be known from a training case.

    Raises
    ------
    InputError
        The cases are not split, or `split_findings` reports an error or an unknown name of a split; names the first of
        these and counts the others.

    Notes
    -----
    Validated by tests/benchmarks/audit/test_audit_splits.py.
    """
    where = benchmark.path or f"benchmark {benchmark.meta.name}"
    if not is_split(benchmark):
        raise InputError(f"{where}: the cases are not split; run `mrb split {benchmark.path or 'BENCH'}` first.")
    faults = [one for one in split_findings(benchmark) if one.severity == "error" or one.row is not None]
    if faults:
        more = f", one of {len(faults):,} such cases" if len(faults) > 1 else ""
        again = _AGAIN.replace("BENCH", str(benchmark.path or "BENCH"))
        raise InputError(f"{where}: {faults[0].problem}{more}; {again}.")


def split_findings(benchmark: Benchmark, progress: Progress | None = None) -> list[Finding]:
    """Audit the split of a benchmark, given or made by `mrb split`; nothing where the cases are not split.

    Parameters
    ----------
    progress : called with "images", how many are compared, and of how many

    Returns
    -------
    list of Finding
        Errors, for nothing may be trained on such a split: a digest in `benchmark.toml` that is not the cases', and
        each case of validation or test that shares a unit, a cluster or an image with a training case (or with a
        case of another fold). Nearly the same texts about different images are one warning; names other than train,
        validation and test are others.

    Notes
    -----
    Tested by tests/benchmarks/audit/test_audit_splits.py.
    """
    if not is_split(benchmark):
        return []
    cases, stated = benchmark.cases, benchmark.meta.extra.get(SPLIT)
    rule = stated if isinstance(stated, Mapping) else {}
    findings = []
    for row in np.flatnonzero(cases[SPLIT].notna() & ~cases[SPLIT].isin(list(SPLITS))):
        problem = f"case {cases['case_id'].iloc[row]} is in split {cases[SPLIT].iloc[row]!r}, which is not known"
        findings.append(case_finding(cases, row, SPLIT, problem, f"write {', '.join(SPLITS)}, or {_AGAIN}"))
    if isinstance(stated, Mapping) and rule.get("digest") != split_digest(cases):
        problem = "the cases are split otherwise than benchmark.toml says (its digest)"
        findings.append(Finding("error", "benchmark.toml", None, SPLIT, problem, f"restore cases.parquet, or {_AGAIN}"))
    by = rule.get("by")
    values = by if isinstance(by, str) and (by in cases or by == ITEM) else None
    units = split_units(benchmark, values, progress, join_texts=bool(rule.get("join_texts")))
    one, other = (cases[SPLIT].iloc[units.alike[name]].to_numpy() for name in ("row_1", "row_2"))
    problem = "pairs of cases about different images have nearly the same texts and stand on two sides of the split"
    cure = "look at some; `mrb split BENCH --join-texts --overwrite` keeps them together"
    findings += counted(int((one != other).sum()), "warning", CASES_FILE, problem, cure, SPLIT)
    is_train = (cases[SPLIT] == TRAIN).to_numpy(dtype=bool)
    is_unseen = cases[SPLIT].isin([VALIDATION, TEST]).to_numpy(dtype=bool)
    findings += _crossings(cases, units, SPLIT, is_train, is_unseen)
    if FOLD in cases:
        is_first = np.isin(np.arange(len(cases)), np.unique(units.codes, return_index=True)[1])
        findings += _crossings(cases, units, FOLD, is_first, ~is_first)
    return findings


def _crossings(
    cases: pd.DataFrame, units: SplitUnits, column: str, known: NDArray[np.bool_], unseen: NDArray[np.bool_]
) -> Iterator[Finding]:
    """For each unseen case the first known one of its unit on another side; one that it is paired with goes before."""
    sides = cases[column].astype("str").fillna("").to_numpy(dtype=object)
    near = units.near
    ends = pd.concat([near, near.rename(columns={"row_1": "row_2", "row_2": "row_1"})])
    ends = ends[known[ends["row_1"]] & unseen[ends["row_2"]]].sort_values("row_1")
    paired = {row_2: (row_1, kind) for row_1, row_2, kind in ends.iloc[::-1].itertuples(index=False)}
    rows = np.flatnonzero(known)
    first = dict(zip(units.codes[rows[::-1]].tolist(), rows[::-1].tolist(), strict=True))
    shared = f"its {units.by.replace('_', ' ')}, or a near-duplicate of it,"
    what = "" if column == SPLIT else f"{column} "
    for row in np.flatnonzero(unseen).tolist():
        other, kind = paired.get(row, (first.get(int(units.codes[row])), shared))
        if other is not None and sides[row] != sides[other]:
            case, known_case = (f"case {cases['case_id'].iloc[i]} ({what}{sides[i]})" for i in (row, other))
            problem = f"{case} shares {kind} with {known_case}"
            cure = f"put both on one side, or {_AGAIN}"
            yield case_finding(cases, row, column, problem, cure, severity="error")
