"""Clusters of cases that depend on each other and are drawn together: decided here and nowhere else."""

from typing import Final, NamedTuple

import numpy as np
import pandas as pd

from mrb_lib.stats.options import IntArray
from mrb_lib.tables.errors import InputError, nearest

CLUSTER: Final = "cluster"
CASE: Final = "case_id"
SHARED: Final = {
    "item": "hold {} different items", "question": "ask {} different questions",
    "images": "show {} different images or sets of them",
}  # fmt: skip
FEWEST: Final = 10
MOST_OF_ONE: Final = 0.75
"""A column of which one value holds a larger share of the cases is not clustered by unless it is named."""


class ResamplingUnit(NamedTuple):
    """The units taken as independent: drawn with replacement, and summed over where a formula gives the interval.

    Attributes
    ----------
    name : the column of the cases table whose values are the units; "case_id" where cases are
    codes : shape (n_cases,), the unit of each case, 0 to the number of units - 1
    statement : which unit and how many, as "clustered by question: 200 cases ask 197 different questions"
    crossed : shape (n_cases,), the unit of each case by a second column that crosses the first; None without one
    """

    name: str
    codes: IntArray
    statement: str
    crossed: IntArray | None = None


def resampling_unit(cases: pd.DataFrame, cluster: str | None = None) -> ResamplingUnit:
    """Return the units by which cases are resampled, and why.

    Parameters
    ----------
    cases : the cases table
    cluster : a column of it, "case_id" for the cases themselves. None takes the column `cluster` where a case has a
        value in it; else the coarsest of the columns `SHARED` (item, question text, images) that repeats: the one with
        the fewest different values, at least `FEWEST` and fewer than there are cases, of which none holds more than
        `MOST_OF_ONE` of the cases; else the cases, or the items where cases are steps of items. A second of these
        columns that crosses the first is clustered by as well, where an average case shares its value with another

    Returns
    -------
    ResamplingUnit
        A case without a value is a unit of its own. Texts are compared as they are, without the space around them;
        images by their names, which `Benchmark.cases_by_image` makes one for copies of a file.

    Raises
    ------
    InputError
        The column is absent or entirely empty.

    Notes
    -----
    Answers to one question are alike, and an interval that takes them as independent is too narrow: LLMFAO's 2,139
    cases ask 13 questions, see `tests/published/test_llmfao.py`. The size of tests is simulated in
    `tests/simulation/test_coverage.py`.
    """
    n = len(cases)
    if cluster is not None and cluster not in cases.columns:
        names = ", ".join(cases.columns)
        near = nearest(cluster, cases.columns)
        raise InputError(f"cluster {cluster!r}: the cases have no such column; use one of {names}.{near}")
    if cluster is not None and len(cases) and cases[cluster].isna().all():
        raise InputError(f"cluster {cluster!r}: the column is empty in every case; fill it in, or choose another.")
    if cluster is not None:
        return _unit(cases, cluster)
    if CLUSTER in cases.columns and cases[CLUSTER].notna().any():
        return _unit(cases, CLUSTER)
    shared = {name: _codes(cases, name) for name in SHARED if name in cases.columns}
    repeated = {name: codes for name, codes in shared.items() if 1 < n_clusters(codes) < n}
    uneven = {name: np.bincount(codes).max() / n for name, codes in repeated.items()}
    even = {name: codes for name, codes in repeated.items() if uneven[name] <= MOST_OF_ONE}
    enough = {name: codes for name, codes in even.items() if n_clusters(codes) >= FEWEST}
    chosen, *others = [*sorted(enough, key=lambda each: n_clusters(enough[each])), CASE]
    unit = _unit(cases, chosen, shared.get(chosen))
    for name in others:
        if name in enough and _cross(unit.codes, enough[name]):
            what = SHARED[name].format(f"{n_clusters(enough[name]):,}")
            statement = f"{unit.statement}, and by {name}: they {what}"
            unit = ResamplingUnit(f"{chosen} x {name}", unit.codes, statement, enough[name])
            break
    notes = [
        f"the column {name} has only {n_clusters(codes)} values, too few to cluster by"
        if n_clusters(codes) < FEWEST
        else f"one value of the column {name} holds {uneven[name]:.0%} of the cases, too many to cluster by"
        for name, codes in repeated.items()
        if name not in enough and name != unit.name
    ]
    return unit._replace(statement="; ".join([unit.statement, *notes]))


def _cross(first: IntArray, second: IntArray) -> bool:
    """Tell if clusters of the one hold cases of several clusters of the other, and the second are not nearly cases."""
    pairs = len(np.unique(np.stack([first, second]), axis=1).T)
    return pairs > max(n_clusters(first), n_clusters(second)) and (np.bincount(second) ** 2).sum() >= 2 * len(second)


def _unit(cases: pd.DataFrame, name: str, codes: IntArray | None = None) -> ResamplingUnit:
    """The values of a column, whose numbers may be known, as units; of cases without ids, each its own."""
    if codes is None:
        codes = _codes(cases, name) if name in cases.columns else np.arange(len(cases), dtype=np.int64)
    if name == CASE:
        return ResamplingUnit(name, codes, f"not clustered: {len(cases):,} cases")
    what = SHARED.get(name, f"have {{}} different values of {name}").format(f"{n_clusters(codes):,}")
    return ResamplingUnit(name, codes, f"clustered by {name}: {len(cases):,} cases {what}")


def clusters_of(group: IntArray, codes: IntArray) -> IntArray:
    """The cluster of each group of cases; clusters that share a group are one.

    Parameters
    ----------
    group : shape (n_cases,), the group of each case, 0 to the number of groups - 1
    codes : shape (n_cases,), the cluster of each case

    Returns
    -------
    int array, shape (groups,), from 0 without gaps unless each case is a group of its own
    """
    n, count = len(group), int(group.max(initial=-1)) + 1
    clusters = np.zeros(count, dtype=np.int64)
    if count == n:
        clusters[group] = codes
    elif n:
        from scipy import sparse  # slow to load, and seldom asked for
        from scipy.sparse.csgraph import connected_components

        size = count + n_clusters(codes)
        links = sparse.csr_array((np.ones(n), (group, count + codes)), shape=(size, size))
        clusters = pd.factorize(connected_components(links, directed=False)[1][:count])[0].astype(np.int64)
    return clusters


def n_clusters(codes: IntArray) -> int:
    """The number of clusters in the whole benchmark, from the codes of all its cases."""
    return int(codes.max()) + 1 if len(codes) else 0


def _codes(cases: pd.DataFrame, column: str) -> IntArray:
    """Numbers for the values of a column; a case without one has a number of its own."""
    values = cases[column]
    if column == "images":
        values = values.map(lambda names: "\n".join(names), na_action="ignore")
    codes, names = pd.factorize(values.astype("str").str.strip())
    has_value = np.append(names != "", False)  # the last for -1, a missing value
    codes = np.where(has_value, np.cumsum(has_value) - 1, -1)[codes].astype(np.int64)
    alone = codes < 0
    codes[alone] = has_value.sum() + np.arange(alone.sum())
    return codes
