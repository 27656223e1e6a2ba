"""Which cases were public before a training cut-off, and how two unpaired means differ."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from mrb_lib.stats.options import TINY, BoolArray, FloatArray, IntArray, divide
from mrb_lib.stats.resampling.resample import cluster_sums, mean_over_clusters
from mrb_lib.stats.resampling.robust import Estimate
from mrb_lib.tables.dates import day_span


class Sides(NamedTuple):
    """The cases by a cut-off, each of shape (cases,).

    Attributes
    ----------
    before, after : public by the cut-off at the latest; after it at the earliest
    imprecise : dated, but not precisely enough to tell
    """

    before: BoolArray
    after: BoolArray
    imprecise: BoolArray


def sides(cases: pd.DataFrame, cutoff: str | None) -> Sides:
    """Divide the cases; those without a date are on no side, all of them where there is no cut-off.

    Parameters
    ----------
    cases : with `date`, see `mrb_lib.tables.dates.day_span`, or without
    cutoff : a month or a day. A month may end on any of its days: a case is before where its last possible day is not
        after the month's first, after where its first possible day is after the month's last
    """
    none = np.zeros(len(cases), dtype=bool)
    end = None if cutoff is None else day_span(cutoff)
    if "date" not in cases or end is None:
        return Sides(none, none, none)
    spans = {text: day_span(str(text)) for text in cases["date"].dropna().unique()}
    before = {text: span is not None and span[1] <= end[0] for text, span in spans.items()}
    after = {text: span is not None and span[0] > end[1] for text, span in spans.items()}
    earlier, later = (np.asarray(cases["date"].map(side).eq(True), dtype=bool) for side in (before, after))
    return Sides(earlier, later, np.asarray(cases["date"].notna()) & ~earlier & ~later)


class Gap(NamedTuple):
    """Two means and their difference, each of shape (m,); `clusters` of `difference` are its df and one more."""

    first: Estimate
    second: Estimate
    difference: Estimate


def gap(value: FloatArray, first: BoolArray, second: BoolArray, codes: IntArray) -> Gap:
    """The mean over some cases less that over others.

    Parameters
    ----------
    value : shape (m, cases); NaN where a case does not count
    first, second : shape (m, cases), disjoint
    codes : shape (cases,), the cluster of each case; a cluster may have cases on both sides

    Notes
    -----
    The variance is that of the difference of two linearised ratios, clusters on both sides included, each side with its
    own m / (m - 1); degrees of freedom are Welch's (1947, doi:10.1093/biomet/34.1-2.28) over effective clusters. Where
    a side has fewer than two clusters or does not vary, the error is unknown: NaN.
    """
    means, moved = [], np.zeros(value.T.shape)
    for side, sign in ((first, 1.0), (second, -1.0)):
        counts = side & np.isfinite(value)
        estimate = mean_over_clusters(np.where(counts, value, 0.0).T, counts.T.astype(np.float64), codes)
        n, clusters = counts.sum(axis=1), np.array([len(np.unique(codes[each])) for each in counts], dtype=np.float64)
        residual = np.where(counts, value - estimate.value[:, None], 0.0).T
        moved += residual * (sign * np.sqrt(clusters / np.maximum(clusters - 1, 1)) / np.maximum(n, 1))
        means.append(estimate)
    square = (np.asarray(cluster_sums(codes, moved).values) ** 2).sum(axis=0)
    varies = (means[0].error > TINY) & (means[1].error > TINY)
    one, other = means
    welch = (one.error**2 + other.error**2) ** 2
    welch = divide(welch, one.error**4 / (one.clusters - 1) + other.error**4 / (other.clusters - 1))
    difference = Estimate(one.value - other.value, np.where(varies, np.sqrt(square), np.nan), welch + 1)
    return Gap(one, other, difference)
