"""Which cases are not independent of each other, and so are drawn together: decided here and nowhere else."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import pandas as pd

from mrb_lib.errors import InputError
from mrb_lib.stats.core.options import IntArray

CLUSTER: Final = "cluster"
CASE: Final = "case_id"
SHARED: Final = {"item": "items", "question": "questions", "images": "images", "dataset": "sources"}
FEWEST: Final = 10
INSTEAD: Final = "--cluster case_id resamples cases"


class ResamplingUnit(NamedTuple):
    """What is drawn with replacement.

    Attributes
    ----------
    name : the column of the cases table whose values are the units; "case_id" where cases are
    codes : shape (n_cases,), the unit of each case, 0 to the number of units - 1
    statement : which unit, why and how many, as the end of a sentence
    """

    name: str
    codes: IntArray
    statement: str


def resampling_unit(cases: pd.DataFrame, cluster: str | None = None) -> ResamplingUnit:
    """What cases are resampled by, and why.

    Parameters
    ----------
    cases : the cases table
    cluster : a column of it, "case_id" for the cases themselves. None takes the column `cluster` where a case has a
        value in it; else, of the columns `SHARED` (item, question text, file names of the images, source), the coarsest
        one that repeats: the one with the fewest different values among those with fewer values than there are
        cases and with `FEWEST` at least, since fewer units show nothing of how they vary; else the cases

    Returns
    -------
    ResamplingUnit
        A case without a value is a unit of its own. Texts are compared as they are, without the space around them.

    Raises
    ------
    InputError
        The column is absent or entirely empty.

    Notes
    -----
    Answers to one question are alike, and an interval that takes them as independent is too narrow: LLMFAO's 2,139
    cases ask 13 questions, see `tests/published/test_llmfao.py`. The size of tests is simulated in
    `tests/simulation/test_dependence.py`.
    """
    n = len(cases)
    if cluster is not None:
        if cluster not in cases.columns:
            names = ", ".join(cases.columns)
            raise InputError(f"cluster {cluster!r}: the cases have no such column; use one of {names}.")
        if n and cases[cluster].isna().all():
            raise InputError(f"cluster {cluster!r}: the column is empty in every case; fill it in, or choose another.")
        codes = _codes(cases, cluster)
        over = f"{n_clusters(codes):,} values over {n:,} cases" if cluster != CASE else f"{n:,} cases"
        return ResamplingUnit(cluster, codes, f"resampled by {cluster}: {over}")
    if CLUSTER in cases.columns and cases[CLUSTER].notna().any():
        codes = _codes(cases, CLUSTER)
        stated = f"{n_clusters(codes):,} clusters are stated for {n:,} cases"
        return ResamplingUnit(CLUSTER, codes, f"resampled by cluster: {stated}; {INSTEAD}")
    shared = {name: _codes(cases, name) for name in SHARED if name in cases.columns}
    repeated = {name: codes for name, codes in shared.items() if 1 < n_clusters(codes) < n}
    enough = {name: codes for name, codes in repeated.items() if n_clusters(codes) >= FEWEST}
    few = [f"{n_clusters(repeated[name])} {SHARED[name]}" for name in repeated if name not in enough]
    also = f"; {' and '.join(few)} repeat, too few to resample by" if few else ""
    if not enough:
        return ResamplingUnit(CASE, np.arange(n, dtype=np.int64), f"resampled by case_id: {n:,} cases{also}")
    name = min(enough, key=lambda each: n_clusters(enough[each]))
    why = f"{n_clusters(enough[name]):,} {SHARED[name]} repeat over {n:,} cases; {INSTEAD}"
    return ResamplingUnit(name, enough[name], f"resampled by {name}: {why}{also}")


def cluster_codes(cases: pd.DataFrame, cluster: str | None = None) -> IntArray:
    """The unit that each case is resampled with, shape (n_cases,); see `resampling_unit`."""
    return resampling_unit(cases, cluster).codes


def n_clusters(codes: IntArray) -> int:
    """The number of clusters in the whole benchmark, from the codes of all its cases."""
    return int(codes.max()) + 1 if len(codes) else 0


def _codes(cases: pd.DataFrame, column: str) -> IntArray:
    """Numbers for the values of a column; a case without one has a number of its own."""
    values = cases[column]
    if column == "images":
        values = values.map(lambda names: "\n".join(names), na_action="ignore")
    text = values.astype("str").str.strip()
    codes, names = pd.factorize(text.mask(text == ""))
    codes = codes.astype(np.int64)
    alone = codes < 0
    codes[alone] = len(names) + np.arange(alone.sum())
    return codes
