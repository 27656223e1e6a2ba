"""What is wrong with a split: names nobody knows, a digest of another one, cases known from training cases."""

from __future__ import annotations

import numpy as np

from mrb_lib.benchmarks.audit.report import CASES_FILE, case_finding
from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.near_duplicates import ProgressCallback
from mrb_lib.benchmarks.splits.leaks import is_tampered, split_leaks, units_of_split, unknown_splits
from mrb_lib.benchmarks.splits.stored import SPLIT, is_split
from mrb_lib.tables.schema import SPLITS
from mrb_lib.tables.validation import Finding, counted

_AGAIN = "run `mrb split BENCH --overwrite`"


def split_findings(benchmark: Benchmark, progress: ProgressCallback | None = None) -> list[Finding]:
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
    cases = benchmark.cases
    findings = []
    for row in np.flatnonzero(unknown_splits(cases)):
        problem = f"{cases[SPLIT].iloc[row]!r} is not a known split"
        findings.append(case_finding(cases, row, SPLIT, problem, f"write {', '.join(SPLITS)}, or {_AGAIN}"))
    if is_tampered(benchmark):
        problem = "the digest is of another split than that of cases.parquet, which was changed since"
        findings.append(Finding("error", "benchmark.toml", None, SPLIT, problem, f"restore cases.parquet, or {_AGAIN}"))
    units = units_of_split(benchmark, progress)
    one, other = (cases[SPLIT].iloc[units.alike[name]].to_numpy() for name in ("row_1", "row_2"))
    problem = "pairs of cases about different images have nearly the same texts and stand on two sides of the split"
    cure = "look at some; `mrb split BENCH --join-texts --overwrite` keeps them together"
    findings += counted(int((one != other).sum()), "warning", CASES_FILE, problem, cure, SPLIT)
    for leak in split_leaks(cases, units):
        cure = f"put both on one side, or {_AGAIN}"
        findings.append(case_finding(cases, leak.row, leak.column, leak.problem(cases), cure, severity="error"))
    return findings
