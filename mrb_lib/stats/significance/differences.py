"""Differences of mean scores between all pairs of judges, made from the judges' own sums.

Where two judges are scored on the same cases, their difference in a resample is the
difference of their means in it, so that the matrix products are over judges and not over
pairs. Only a pair that is scored on different cases needs a column of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, divide
from mrb_lib.stats.resampling.distinct import distinct_rows
from mrb_lib.stats.resampling.quantiles import TAILS, interval, selected
from mrb_lib.stats.resampling.resample import cluster_sums, n_clusters, resampled_sums
from mrb_lib.stats.resampling.robust import Estimate, effective_clusters, few_clusters, t_interval, t_test
from mrb_lib.stats.significance.permutation import p_values, units
from mrb_lib.stats.subfields import Group

Values = TypeVar("Values", FloatArray, NDArray[np.int32])
WholeArray = NDArray[np.int32]

_CELLS_AT_ONCE, _REPLICATES_AT_ONCE = 2**22, 2**18
_NO_VARIANCE = 1e-9
_ONE, _ROUNDING, _FARTHEST = 2.0**30, 1e-8, 1.5


class PairPlan(NamedTuple):
    """What is summed over cases, and which columns make the difference of which of p pairs of judges.

    Attributes
    ----------
    scores : shape (k, cases), what each case adds; 0 where it does not count. First the judges of each dimension,
        then the differences of the pairs that have a column of their own
    counted : shape (q, cases), 1 where a case counts, one row for every set of cases that occurs
    which : shape (k,), the row of `counted` of each row of `scores`
    dimension, first, second : shape (p,), the pairs of judges
    plus, minus : shape (p,), the rows of `scores` whose means differ by the pair's difference; `minus` is -1
        where `plus` holds the pair's own differences
    """

    scores: FloatArray
    counted: FloatArray
    which: IntArray
    dimension: IntArray
    first: IntArray
    second: IntArray
    plus: IntArray
    minus: IntArray

    def chunks(self, width: int, cells: int = _CELLS_AT_ONCE) -> list[IntArray]:
        """The pairs in parts whose arrays of that width have at most so many cells."""
        pairs = np.arange(len(self.plus))
        return np.split(pairs, pairs[:: max(1, cells // max(1, width))][1:])

    def difference(self, values: Values, pairs: IntArray) -> Values:
        """The differences of some pairs, from values of the rows of `scores`, shape (k, m) to (pairs, m)."""
        out = values[self.plus[pairs]]
        minus = self.minus[pairs]
        out[minus >= 0] -= values[minus[minus >= 0]]
        return out


class PairedDifferences(NamedTuple):
    """The differences of all pairs over one group of cases; every array has shape (p,).

    Attributes
    ----------
    n : cases scored for both
    only_1, only_2 : cases on which the first, the second judge has the higher score
    clusters : clusters with cases scored for both
    value, low, high : the mean difference and its 95% interval
    error, df : its cluster-robust standard error, 0 where no cluster departs from the mean, and degrees of freedom, see
        `mrb_lib.stats.resampling.robust.effective_clusters`
    few : whether the interval and `bootstrap_p` are by t, see `mrb_lib.stats.resampling.robust.few_clusters`; else they
        are of the bootstrap
    bootstrap_p, t_p, permutation_p : two-sided
    alone : whether each cluster of the group holds one case, so that cases are independent
    """

    n: IntArray
    only_1: IntArray
    only_2: IntArray
    clusters: IntArray
    value: FloatArray
    low: FloatArray
    high: FloatArray
    error: FloatArray
    df: FloatArray
    few: BoolArray
    bootstrap_p: FloatArray
    t_p: FloatArray
    permutation_p: FloatArray
    alone: bool


def plan_pairs(score: FloatArray, judged: BoolArray, only: Sequence[tuple[int, int]] | None = None) -> PairPlan:
    """Plan the pairs for scores of shape (judges, dimensions, cases).

    Parameters
    ----------
    judged : shape (judges, dimensions), who takes part where
    only : the pairs to compare, as positions of judges, the smaller first; None for all
    """
    dimension, judge = np.nonzero(judged.T)
    value = score[judge, dimension]
    mask = np.isfinite(value)
    same_cases = distinct_rows(mask.astype(np.int64))[1]
    start = np.searchsorted(dimension, np.arange(judged.shape[1] + 1))
    places = [begin + np.array(np.triu_indices(end - begin, k=1)) for begin, end in pairwise(start.tolist())]
    first, second = np.concatenate(places, axis=1) if places else np.zeros((2, 0), dtype=np.int64)
    if only is not None:
        wanted = np.zeros((len(score), len(score)), dtype=bool)
        wanted[tuple(np.array(only, dtype=np.int64).reshape(-1, 2).T)] = True
        kept = wanted[judge[first], judge[second]]
        first, second = first[kept], second[kept]
    apart = same_cases[first] != same_cases[second]
    value = np.vstack([value, value[first[apart]] - value[second[apart]]])
    mask = np.isfinite(value)
    rows, which = distinct_rows(mask.astype(np.int64))
    return PairPlan(
        np.where(mask, value, 0.0),
        mask[rows].astype(np.float64),
        which,
        dimension[first],
        judge[first],
        judge[second],
        plus=np.where(apart, len(dimension) + np.cumsum(apart) - 1, first),
        minus=np.where(apart, -1, second),
    )


def paired_differences(
    plan: PairPlan, groups: Sequence[Group], codes: IntArray, *, resamples: int, seed: int
) -> Iterator[PairedDifferences]:
    """The differences of all pairs of `plan`, for each group of cases.

    Parameters
    ----------
    codes : the cluster of every case of the benchmark

    Notes
    -----
    The p of the bootstrap is the share of resampled differences that lie at least as far
    from the observed one as zero does, the bootstrap's distribution standing for the
    one under no difference: Efron and Tibshirani (1993), An Introduction to the Bootstrap,
    section 16.4, and Hall and Wilson (1991), doi:10.2307/2532163. The standard error is that of
    a ratio of sums over clusters, by linearisation.
    """
    both = np.vstack([plan.scores, plan.counted]).T
    sums = [cluster_sums(codes[group.cases], both[group.cases]) for group in groups]
    resampled = resampled_sums(sums, n_clusters(codes), resamples=resamples, seed=seed)
    unit, k = units(plan.scores), len(plan.which)
    for group, (clusters, cluster_values), drawn in zip(groups, sums, resampled, strict=True):
        values = np.asarray(cluster_values)
        value, error, n_seen = _analytic(values, plan)
        n, only_1, only_2 = _counts(plan, group.cases)
        alone = len(clusters) == len(group.cases)
        over_cases = error if alone else _analytic(both[group.cases], plan)[1]
        effective = effective_clusters(values[:, k:], divide(error, over_cases) ** 2, plan.which[plan.plus])
        estimate = Estimate(value, error, effective)
        few, t_p = few_clusters(estimate), t_test(estimate)
        low, high, bootstrap_p = np.where(few, [*t_interval(estimate, -1, 1), t_p], _resampled(plan, value, drawn))
        permutation_p = np.full(len(n), np.nan)
        by_cluster = np.rint(values[:, :k].T * unit).astype(np.int32)
        for pairs in plan.chunks(len(clusters)):
            permutation_p[pairs] = p_values(plan.difference(by_cluster, pairs))
        for estimates in (low, high, error, bootstrap_p, permutation_p):
            estimates[(n < 2) | (n_seen < 2)] = np.nan
        yield PairedDifferences(
            n,
            only_1,
            only_2,
            n_seen,
            value,
            low,
            high,
            error,
            effective - 1,
            few,
            bootstrap_p,
            t_p,
            permutation_p,
            alone,
        )


def _counts(plan: PairPlan, cases: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Of each pair the cases scored for both judges, and those that either judge wins."""
    n = plan.counted[:, cases].sum(axis=1).astype(np.int64)[plan.which[plan.plus]]
    wins = np.zeros((2, len(n)), dtype=np.int64)
    scores = plan.scores[:, cases]
    for pairs in plan.chunks(len(cases)):
        gain = plan.difference(scores, pairs)
        wins[:, pairs] = np.count_nonzero(gain > 0, axis=1), np.count_nonzero(gain < 0, axis=1)
    return n, wins[0], wins[1]


def _analytic(sums: FloatArray, plan: PairPlan) -> tuple[FloatArray, FloatArray, IntArray]:
    """The mean difference of each pair, its standard error, and its clusters."""
    k = len(plan.which)
    numerator, denominator = sums[:, :k], sums[:, k:]
    total = denominator.sum(axis=0)[plan.which]
    mean = divide(numerator.sum(axis=0), total)
    residual = numerator - np.nan_to_num(mean) * denominator[:, plan.which]
    square = (residual**2).sum(axis=0)
    own = plan.minus < 0
    value = np.where(own, mean[plan.plus], mean[plan.plus] - mean[plan.minus])
    spread = np.where(own, square[plan.plus], square[plan.plus] + square[plan.minus])
    shared = np.flatnonzero(~own)
    for pairs in np.split(shared, np.flatnonzero(np.diff(plan.dimension[shared])) + 1) if len(shared) else []:
        begin, end = plan.plus[pairs].min(), plan.minus[pairs].max() + 1  # the judges of one dimension
        cross = residual[:, begin:end].T @ residual[:, begin:end]
        spread[pairs] -= 2 * cross[plan.plus[pairs] - begin, plan.minus[pairs] - begin]
    spread[spread < _NO_VARIANCE * np.maximum(1.0, square[plan.plus])] = 0.0
    clusters = (denominator > 0).sum(axis=0)[plan.which[plan.plus]]
    error = np.sqrt(divide(spread, total[plan.plus] ** 2) * divide(clusters.astype(np.float64), clusters - 1))
    return value, error, clusters.astype(np.int64)


def _resampled(plan: PairPlan, value: FloatArray, sums: FloatArray) -> FloatArray:
    """The ends of the interval and the p of the bootstrap of each pair, shape (3, p), from the resampled sums, shape
    (k + q, resamples)."""
    out = np.full((3, len(value)), np.nan)
    k, resamples = len(plan.which), sums.shape[1]
    if not resamples:
        return out
    means = divide(sums[:k], sums[k:][plan.which])
    whole = None if np.isnan(means).any() else np.rint(means * _ONE).astype(np.int32)
    for pairs in plan.chunks(resamples, _REPLICATES_AT_ONCE):
        replicates = plan.difference(means, pairs) if whole is None else plan.difference(whole, pairs)
        out[:, pairs] = of_replicates(replicates, value[pairs])
    return out


def of_replicates(replicates: FloatArray | WholeArray, value: FloatArray) -> FloatArray:
    """The ends of the 95% percentile interval and the two-sided p of each difference, shape (3, p).

    Parameters
    ----------
    replicates : shape (p, resamples), NaN where undefined; or, where all are defined, whole numbers in units of 2^-30,
        among which selecting takes a third of the time of the table `significance`. They are left in another order
    value : shape (p,), the observed differences

    Notes
    -----
    p is (1 + resamples at least as far from the difference as zero is) / (1 + resamples); NaN where more than half of a
    row are.
    """
    resamples, whole = replicates.shape[1], replicates.dtype == np.int32
    one = _ONE if whole else 1.0
    lower = np.clip(np.minimum(0.0, 2 * value) + _ROUNDING, -_FARTHEST, _FARTHEST) * one
    upper = np.clip(np.maximum(0.0, 2 * value) - _ROUNDING, -_FARTHEST, _FARTHEST) * one
    if whole:
        lower, upper = np.floor(lower).astype(np.int32), np.ceil(upper).astype(np.int32)
    beyond = np.count_nonzero((replicates <= lower[:, None]) | (replicates >= upper[:, None]), axis=1)
    if not whole:
        n_defined = np.isfinite(replicates).sum(axis=1)
        p_value = np.where(2 * n_defined < resamples, np.nan, (1.0 + beyond) / (1.0 + n_defined))
        return np.stack([*interval(np.asarray(replicates.T, dtype=np.float64)), p_value])
    low, high = (selected(replicates, level) / _ONE for level in TAILS.tolist())
    return np.stack([low, high, (1.0 + beyond) / (1.0 + resamples)])
