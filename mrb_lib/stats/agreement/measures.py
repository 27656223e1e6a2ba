"""What is estimated of the annotations of one dimension on one group of cases, and with which intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

import numpy as np
import pandas as pd

from mrb_lib.errors import InputError
from mrb_lib.schema import CONSENSUS, LEVELS, Level
from mrb_lib.stats.agreement import icc
from mrb_lib.stats.agreement.coefficients import COEFFICIENTS, Kernel, scaled
from mrb_lib.stats.agreement.intervals import Influence, bootstrap_bounds, gradient, kappa_interval, t_interval
from mrb_lib.stats.agreement.labels import Part
from mrb_lib.stats.agreement.pair_coefficients import PairKernel, adjusted
from mrb_lib.stats.agreement.pairwise import Pairs
from mrb_lib.stats.core.options import BoolArray, FloatArray, IntArray, mean_of_defined
from mrb_lib.stats.resampling.multi_resample import Measure, Resampled, Sums

ENOUGH_SHARED = 20
"""How many cases two annotators must share for their kappa to have an interval."""
MANY_SHARED = 50
"""How many they must share for it not to be called approximate."""
INCOMPLETE = "no analytic interval for the ICC: not every annotator labelled every case"
CLUSTERED = "no analytic interval for the ICC: cases are in clusters"
NO_ERROR = "no analytic interval for the ICC: the annotators agree perfectly, so that there is no error variance"
NO_BCA = "no BCa interval where replicates do not vary or all lie on one side of the estimate"
COARSE = "few labels: the ICC's F and generalized intervals need normal scores, and cover less than 95% of these"
_CONTINUOUS = 7
VOTES = (*COEFFICIENTS, "pabak")


class Interval(NamedTuple):
    """An estimate and its intervals, NaN where there is none: cluster bootstrap by percentiles and BCa, analytic."""

    value: float = np.nan
    low: float = np.nan
    high: float = np.nan
    bca_low: float = np.nan
    bca_high: float = np.nan
    analytic_low: float = np.nan
    analytic_high: float = np.nan

    def columns(self, name: str) -> dict[str, float]:
        """As columns of a table."""
        return {name: self.value} | {f"{name}_{end}": getattr(self, end) for end in BOUNDS}

    def without_bounds(self) -> Interval:
        """The estimate alone."""
        return Interval(self.value)


BOUNDS = Interval._fields[1:]


def kernels(annotations: pd.DataFrame, categories: Sequence[str], level: str) -> tuple[Kernel, PairKernel]:
    """The kernels of many annotators and of pairs for a level of measurement.

    Raises
    ------
    InputError
        The level is unknown.
    """
    if level not in LEVELS:
        raise InputError(f"level {level!r} is unknown; use one of {', '.join(LEVELS)}.")
    known = cast(Level, level)
    given = set(annotations.loc[annotations["annotator"] != CONSENSUS, "choice"].unique())
    used = np.array([name in given for name in categories], dtype=bool)
    values = scaled(categories, known)
    return Kernel(known, values, used), PairKernel(known, values, used)


def of_votes(part: Part, kernel: Kernel) -> Measure:
    """The coefficients that need no pairs of annotators."""
    return Measure(part.cases, kernel.case_statistics(part.votes), kernel.coefficients)


def of_pairs(part: Part, pairs: Pairs, kernel: PairKernel, *, mean: bool) -> Measure:
    """The coefficients of pairs of annotators, or the means of their kappas."""
    return Measure(part.cases, pairs.sums, kernel.mean_kappas if mean else kernel.coefficients)


def of_scores(part: Part, kernel: Kernel) -> Measure:
    """The intraclass correlations."""
    sums = icc.case_sums(part.position, part.annotator, kernel.values[part.choice], len(part.cases))
    return Measure(part.cases, sums, icc.coefficients)


def votes_intervals(found: Sequence[Resampled], kernel: Kernel) -> list[list[Interval]]:
    """Of percent agreement, Fleiss' kappa, alpha, AC1, AC2 and PABAK, for each measure; see `VOTES`."""
    if not found:
        return []
    total = np.concatenate([item.measure.total() for item in found])
    sums = [np.asarray(item.sums, dtype=np.float64) for item in found]
    k = len(kernel.values)
    paired = [(table[:, 0] > 0).sum() for table in sums]
    annotated = [(table[:, 3 : 3 + k].sum(axis=1) > 0).sum() for table in sums]
    clusters = np.array([paired, annotated, paired, annotated, annotated]).T
    value = kernel.coefficients(total)
    influence = Influence.of_each(sums, gradient(kernel._replace(finite=False).coefficients, total))
    least = np.array([0.0, -1.0, -1.0, -1.0, -1.0])
    rows = _rows(found, value, influence, t_interval(value, influence.square, clusters, least), clusters)
    q = kernel.n_categories
    return [[*row, Interval(*adjusted(np.array(row[0]), q).tolist())] for row in rows]


class SharedClusters(NamedTuple):
    """Of each of P pairs.

    Attributes
    ----------
    number : shape (P,), how many clusters hold cases that both annotators labelled
    independent : shape (P,), whether each of them holds one such case only
    """

    number: IntArray
    independent: BoolArray

    @classmethod
    def of(cls, drawn: Resampled, kernel: PairKernel, n_pairs: int) -> SharedClusters:
        """From the sums of `of_pairs`."""
        if not n_pairs:
            return cls(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=bool))
        k, skipped = len(kernel.values), kernel.n_distances
        width = skipped + 2 * k
        if isinstance(drawn.sums, np.ndarray):
            cases = drawn.sums.reshape(-1, n_pairs, width)[:, :, skipped : skipped + k].sum(axis=2)
            number = (cases > 0).sum(axis=0)
            return cls(number, number == cases.sum(axis=0))
        first = np.arange(n_pairs)[:, None] * width + skipped + np.arange(k)
        cluster, column = drawn.sums[:, first.ravel()].nonzero()
        keys = np.unique(cluster.astype(np.int64) * n_pairs + column // k)
        number = np.bincount(keys % n_pairs, minlength=n_pairs).astype(np.int64)
        return cls(number, number == drawn.measure.total()[0][first].sum(axis=1))


def mean_kappa_intervals(
    found: Sequence[Resampled], pairs: Sequence[int], clusters: Sequence[int], kernel: PairKernel
) -> list[list[Interval]]:
    """Of the means over pairs of annotators of Cohen's kappa and its weighted forms, for each measure.

    Parameters
    ----------
    pairs : how many pairs each measure is of
    clusters : how many clusters hold cases of each measure
    """
    if not found:
        return []
    total = np.concatenate([item.measure.total() for item in found], axis=1)
    kappas, slopes = kernel.each_kappa(total), kernel.kappa_gradients(total)
    w, defined = len(kappas), np.isfinite(kappas)
    slopes = np.where(defined[:, :, None], slopes, 0.0)
    means: list[FloatArray] = []
    each, first, shared = [], 0, []
    for item, number in zip(found, pairs, strict=True):
        last = first + number
        share = defined[:, first:last] / np.maximum(defined[:, first:last].sum(axis=1, keepdims=True), 1)
        means.append(mean_of_defined(kappas[:, first:last])[:, 0])
        each.append((slopes[:, first:last] * share[:, :, None]).reshape(w, -1).T)
        shared.append(np.median(SharedClusters.of(item, kernel, number).number))
        first = last
    value = np.stack(means)
    influence = Influence.of_each([item.sums for item in found], each)
    few = np.where(np.array(clusters) >= 2, np.array(shared), 0.0)[:, None] + np.zeros_like(value)
    return _rows(found, value, influence, kappa_interval(value, influence.square, few), few)


def is_coarse(used: BoolArray) -> bool:
    """Whether the labels in use are too few for scores to be taken for normal."""
    return int(used.sum()) < _CONTINUOUS


def no_bca(item: Interval) -> str:
    """Why there is no BCa interval beside that by percentiles; empty if there is."""
    return NO_BCA if np.isfinite(item.low) and np.isnan(item.bca_low) else ""


class Scores(NamedTuple):
    """The intraclass correlations of a measure.

    Attributes
    ----------
    intervals : in the order of `icc.COEFFICIENTS`
    generalized : columns with the ends of the generalized intervals
    reason : why there is no analytic interval; empty if there is
    """

    intervals: list[Interval]
    generalized: dict[str, float]
    reason: str


def icc_intervals(found: Sequence[Resampled], independent: Sequence[bool], seed: int) -> list[Scores]:
    """Of ICC(2,1) and ICC(2,k), for each measure."""
    totals = [item.measure.total() for item in found]
    if not found:
        return []
    if len({total.shape for total in totals}) > 1:
        each = zip(found, independent, strict=True)
        return [one for item, alone in each for one in icc_intervals([item], [alone], seed)]
    total = np.concatenate(totals)
    squares = icc.Squares.of(total)
    alone, value = np.array(independent, dtype=bool), icc.coefficients(total)
    low, high = (
        np.stack([bound, icc.stepped_up(bound, squares.per_case)], axis=1)
        for bound in (np.where(alone, bound, np.nan) for bound in icc.f_intervals(squares))
    )
    influence = Influence.of_each([item.sums for item in found], gradient(icc.coefficients, total))
    clusters = np.array([_occupied(item.sums) for item in found])[:, None] + np.zeros_like(value)
    intervals = _rows(found, value, influence, (low, high), clusters)
    known = np.isfinite(low[:, 0])
    ends = np.full((4, len(found)), np.nan)
    single = icc.generalized_intervals(icc.Squares(*(field[known] for field in squares)), seed)
    ends[:, known] = np.stack([*single, *(icc.stepped_up(bound, squares.per_case[known]) for bound in single)])
    names = [f"{name}_generalized_{end}" for name in icc.COEFFICIENTS for end in ("low", "high")]
    out = []
    for i, (row, complete) in enumerate(zip(intervals, squares.complete.tolist(), strict=True)):
        reason = no_f_interval(row[0].value, bool(alone[i]), complete, bool(known[i]))
        out.append(Scores(row, dict(zip(names, ends[:, i].tolist(), strict=True)) if known[i] else {}, reason))
    return out


def _occupied(sums: Sums) -> int:
    """How many clusters add to sums by cluster."""
    if isinstance(sums, np.ndarray):
        return int(sums.any(axis=1).sum())
    return int((np.diff(sums.indptr) > 0).sum())


def no_f_interval(value: float, independent: bool, complete: bool, known: bool) -> str:
    """Why an ICC has no interval by the F distribution; empty if it has, or if the ICC is undefined itself."""
    if known or np.isnan(value):
        return ""
    return (
        "; ".join(text for text, holds in ((INCOMPLETE, not complete), (CLUSTERED, not independent)) if holds)
        or NO_ERROR
    )


def _rows(
    found: Sequence[Resampled],
    value: FloatArray,
    influence: Influence,
    analytic: tuple[FloatArray, FloatArray],
    clusters: FloatArray | IntArray,
) -> list[list[Interval]]:
    """Of g measures with m estimates each, and the clusters that these rest on."""
    g, m = value.shape
    replicates = np.concatenate([item.replicates.T for item in found]).T
    number = clusters.astype(np.float64).ravel()
    drawn = bootstrap_bounds(replicates, value.ravel(), influence.acceleration.ravel(), number)
    table = np.stack([value, *drawn.reshape(4, g, m), *analytic])
    table[:, np.isnan(value)] = np.nan
    return [[Interval(*column) for column in row] for row in table.transpose(1, 2, 0).tolist()]
