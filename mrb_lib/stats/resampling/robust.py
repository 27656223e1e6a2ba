"""Intervals of ratios of sums that need no resampling: clusters are the units, residuals the measure.

A ratio of sums over clusters has, to first order, the variance of the sum of its
residuals by cluster: what a bootstrap of clusters estimates as well, here in closed
form, with Student's t for few clusters. It serves where thousands of columns are asked for
and where a share of 0 or 1 must not get an interval without width: where all clusters are alike, there is no
error to go by, and the interval is null.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import special

from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, divide
from mrb_lib.stats.resampling.quantiles import CONFIDENCE
from mrb_lib.stats.subfields import Group

ENOUGH_CLUSTERS = 50
"""From so many clusters on the percentiles of the bootstrap cover what they should; see `few_clusters`."""
FEW_CLUSTERS = "no interval: fewer than two clusters count"
_NO_SPREAD = 1e-9
_WIDEST = 100.0


class Layout(NamedTuple):
    """Disjoint groups of cases and the clusters in them; a cluster in two groups is a unit in each.

    Attributes
    ----------
    group : shape (n_cases,), the group of each case; -1 where it is in none
    unit : shape (n_cases,), the unit (cluster within group) of each case; -1 where it is in none
    of_unit : shape (P,), the group of each unit, ascending
    starts : shape (G,), the first unit of each group
    """

    group: IntArray
    unit: IntArray
    of_unit: IntArray
    starts: IntArray

    @property
    def shape(self) -> tuple[int, int]:
        """Groups, units."""
        return len(self.starts), len(self.of_unit)


def layout(parts: Sequence[Group], codes: IntArray) -> Layout:
    """Lay out disjoint groups of cases.

    Parameters
    ----------
    parts : groups without a case in common
    codes : shape (n_cases,), the cluster of each case, see `mrb_lib.stats.clusters.cluster_codes`
    """
    group = np.full(len(codes), -1, dtype=np.int64)
    for number, part in enumerate(parts):
        group[part.cases] = number
    width = int(codes.max()) + 1 if len(codes) else 1
    keys, unit = np.unique(np.where(group < 0, -1, group * width + codes), return_inverse=True)
    outside = int(len(keys) > 0 and keys[0] < 0)
    of_unit = keys[outside:] // width
    return Layout(group, unit - outside, of_unit, np.searchsorted(of_unit, np.arange(len(parts))))


class Estimate(NamedTuple):
    """Ratios of sums, shape (..., G) with G groups.

    Attributes
    ----------
    value : the ratio; NaN where nothing is counted
    error : its cluster-robust standard error; NaN with fewer than two clusters
    clusters : the clusters that count
    influence : shape (..., P), what each unit adds to the error of the value, where it is kept
    """

    value: FloatArray
    error: FloatArray
    clusters: FloatArray
    influence: FloatArray | None = None


def by_group(values: FloatArray | BoolArray, grouping: Layout) -> FloatArray:
    """Sum over the units of each group, shape (..., P) to (..., G)."""
    if grouping.shape[0] == 1:
        return np.asarray(values.sum(axis=-1, keepdims=True), dtype=np.float64)
    out: FloatArray = np.add.reduceat(values, grouping.starts, axis=-1, dtype=np.float64)
    return out


def ratio_of_sums(numerator: FloatArray, denominator: FloatArray, grouping: Layout) -> Estimate:
    """The ratio of two sums in each group, from the sums of each unit.

    Parameters
    ----------
    numerator, denominator : shape (..., P), broadcast against one another; a unit whose denominator is 0 does not
        count

    Notes
    -----
    The linearised variance of a ratio over clusters drawn with replacement, with the
    factor m / (m - 1) for m clusters (Cochran, Sampling Techniques, 1977, section 6.3;
    Binder 1983, doi:10.2307/1402588). Compared with the cluster bootstrap in
    `tests/stats/tables/test_calibration.py`; coverage in `tests/simulation/test_calibration.py`.
    """
    total = by_group(denominator, grouping)
    value = divide(by_group(numerator, grouping), total)
    counted = total > 0
    influence = numerator - of_units(np.where(counted, value, 0.0), grouping) * denominator
    clusters = by_group(denominator > 0, grouping)
    error = standard_error(influence, clusters, grouping)
    return Estimate(value, np.divide(error, total, out=np.full_like(error, np.nan), where=counted), clusters)


def of_units(values: FloatArray, grouping: Layout) -> FloatArray:
    """To each unit the value of its group, shape (..., G) to (..., P), or to (..., 1) where there is one group."""
    return values if grouping.shape[0] == 1 else values[..., grouping.of_unit]


def standard_error(influence: FloatArray, clusters: FloatArray, grouping: Layout) -> FloatArray:
    """The standard error of what has these influences; NaN with fewer than two clusters."""
    correction = np.where(clusters >= 2, divide(clusters, clusters - 1), np.nan)
    out: FloatArray = np.sqrt(correction * by_group(influence**2, grouping))
    return out


def t_quantile(clusters: FloatArray) -> FloatArray:
    """The quantile of Student's t that bounds a 95% interval over that many clusters; NaN below two."""
    number, position = np.unique(clusters, return_inverse=True)
    quantile = special.stdtrit(np.maximum(number - 1, 1.0), (1 + CONFIDENCE) / 2)
    out: FloatArray = np.where(number >= 2, quantile, np.nan)[position].reshape(clusters.shape)
    return out


def t_interval(estimate: Estimate, least: float = -np.inf, most: float = np.inf) -> tuple[FloatArray, FloatArray]:
    """The 95% interval of a mean or a difference that lies between `least` and `most`; NaN where there is no error."""
    half = t_quantile(estimate.clusters) * _some_error(estimate)
    return np.maximum(estimate.value - half, least), np.minimum(estimate.value + half, most)


def few_clusters(estimate: Estimate) -> BoolArray:
    """Where an interval is by Student's t and not by percentiles: with fewer than `ENOUGH_CLUSTERS` effective clusters.

    Where all clusters are alike there is no error for t to go by; percentiles then have no width, and say so.

    Parameters
    ----------
    estimate : whose `clusters` are those of `effective_clusters`

    Notes
    -----
    The rule of accuracies, of their differences and of `mrb_lib.bootstrap`. Percentiles take the variance over m
    clusters to be (m - 1) / m of what it is, and as known: with 8 clusters they cover 86% to 88% of the time.
    `tests/simulation/test_dependence.py` has the coverage of either with 8 to 100 clusters of unequal size; Cameron and
    Miller (2015), doi:10.3368/jhr.50.2.317, review what few clusters do.
    """
    return np.asarray((estimate.clusters < ENOUGH_CLUSTERS) & (estimate.error > _NO_SPREAD))


def effective_clusters(
    counted: FloatArray, deff: FloatArray | float = 1.0, which: IntArray | slice = slice(None)
) -> FloatArray:
    """How many clusters of equal size tell as much about the error of a mean; degrees of freedom are one less.

    Parameters
    ----------
    counted : shape (clusters, q), the cases of each cluster that count
    deff : shape (m,), the design effect, which tells how alike the cases of a cluster are; NaN where it is unknown, as
        where the scores do not vary, is read as 1
    which : shape (m,), the column of `counted` of each estimate; each its own if not given

    Returns
    -------
    float array, shape (m,): the number of clusters where they are of equal size, fewer where they are not; NaN where
        fewer than two count

    Notes
    -----
    Satterthwaite's degrees of freedom of the cluster-robust variance (Bell and McCaffrey 2002, Survey Methodology
    28:169), at the intraclass correlation rho of the data (Imbens and Kolesar 2016, doi:10.1162/REST_a_00552), by
    moments from deff = 1 + rho (sum n_g^2 / n - 1): the residual of cluster g is S_g - n_g / n sum(S), with S_g of
    variance n_g + rho n_g (n_g - 1). Plain clusters - 1 cover 88% to 90% with 8 clusters of 2 to 30 cases, these 93% to
    95%: `tests/simulation/test_dependence.py`.
    """
    n = counted.sum(axis=0)
    if np.array_equal(counted, counted > 0):  # no cluster holds several cases
        return np.where(n >= 2, n, np.nan)[which]
    share = divide(counted, n)
    alike = share * (counted - 1)
    squares = (share**2).sum(axis=0)
    by_size = 1 + 2 * squares - 4 * share
    moments = (
        n * squares - 1,
        squares,
        alike.sum(axis=0),
        (share * alike).sum(axis=0),
        (share**3).sum(axis=0),
        (share**2 * alike).sum(axis=0),
        (share**2 * by_size).sum(axis=0),
        (share * alike * by_size).sum(axis=0),
        (alike**2 * by_size).sum(axis=0),
        (counted > 0).sum(axis=0) >= 2,
    )
    excess, squares, a, sa, sss, ssa, ss, sab, aa, several = (each[which] for each in moments)
    rho = np.nan_to_num(np.clip(divide(np.nan_to_num(np.asarray(deff), nan=1.0) - 1, excess), 0.0, 1.0))
    total, cross = 1 + rho * a, squares + rho * sa
    trace = total - 2 * cross + squares * total
    of_square = ss + 2 * rho * sab + rho**2 * aa + 2 * cross**2 + (total * squares) ** 2
    of_square += 2 * total * (sss + rho * ssa) - 4 * total * squares * cross
    freedom = np.divide(trace**2, of_square, out=np.full(len(several), np.nan), where=several)
    return np.asarray(np.round(np.maximum(freedom, 1.0) + 1.0, 6))


def t_test(estimate: Estimate) -> FloatArray:
    """The two-sided p of the value being 0, by Student's t with clusters - 1 degrees of freedom; NaN without error."""
    statistic = np.abs(estimate.value) / _some_error(estimate)
    return np.asarray(np.minimum(1.0, 2 * special.stdtr(estimate.clusters - 1, -statistic)))


def _some_error(estimate: Estimate) -> FloatArray:
    """The error; NaN where it is none, which is not certainty."""
    return np.where(estimate.error > _NO_SPREAD, estimate.error, np.nan)
