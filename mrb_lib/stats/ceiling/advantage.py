"""Who is more in line with the other annotators, case by case: the judge or the annotator left out?

The arithmetic of the Alternative Annotator Test; see `mrb_lib.stats.ceiling.alttest` for the source.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from mrb_lib.stats.annotators import Annotations, votes_by_case
from mrb_lib.stats.multiplicity import adjust
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, divide, mean_of_defined
from mrb_lib.stats.resampling.resample import (
    block,
    interval,
    n_clusters,
    ratio,
    resampled,
)

ALPHA = 0.05
LEAST_WINNING_RATE = 0.5
_EQUAL = 1e-9
_STEPS = 100


def alignment(votes: FloatArray, values: FloatArray | None) -> FloatArray:
    """How well each label would be aligned with the votes of a case, shape (n, K); NaN without votes.

    Parameters
    ----------
    votes : shape (n, K), how many of the others gave each label
    values : shape (K,), the labels as numbers, for minus the root mean squared distance to the
        votes; None for the share of them that are the same
    """
    total = votes.sum(axis=1, keepdims=True)
    if values is None:
        return divide(votes, total)
    distance = divide(votes @ (values[:, None] - values[None, :]) ** 2, total)
    out: FloatArray = -np.sqrt(distance)
    return out


class Compared(NamedTuple):
    """One annotator beside every judge.

    Attributes
    ----------
    cases : shape (n,), positions of the annotator's cases that somebody else annotated
    judge, annotator : shape (judges, n), the share of the judge's verdicts on the case in which the one
        is aligned with the others at least as well as the other; NaN where no verdict counts
    """

    cases: IntArray
    judge: FloatArray
    annotator: FloatArray

    @property
    def used(self) -> BoolArray:
        """Which cases have a verdict that counts, shape (judges, n)."""
        return np.asarray(np.isfinite(self.judge), dtype=bool)


def compare(
    coded: Annotations,
    dimension: int,
    labels: NDArray[np.int64],
    present: BoolArray,
    values: FloatArray | None,
) -> list[Compared]:
    """Compare every annotator with every judge on one dimension.

    Parameters
    ----------
    labels, present : shape (judges, cases, verdicts), the judges' labels, -1 for null, and which of them count
    values : see `alignment`
    """
    case, annotator, choice = coded.of(dimension)
    n_labels = int(max(labels.max(initial=-1), choice.max(initial=-1))) + 1 if values is None else len(values)
    votes = votes_by_case(case, choice, labels.shape[1], n_labels)
    out = []
    for who in range(len(coded.annotators)):
        mine = annotator == who
        cases, own = case[mine], choice[mine]
        others = votes[cases]
        others[np.arange(len(cases)), own] -= 1
        kept = others.sum(axis=1) > 0
        cases, own, others = cases[kept], own[kept], others[kept]
        table = np.hstack([alignment(others, values), np.full((len(cases), 1), -np.inf)])
        row = np.arange(len(cases))
        theirs = table[row, own][None, :, None]
        judged = table[row[None, :, None], labels[:, cases]]
        counts = present[:, cases]
        total = counts.sum(axis=2)
        out.append(
            Compared(
                cases,
                divide(((judged >= theirs - _EQUAL) & counts).sum(axis=2).astype(np.float64), total),
                divide(((theirs >= judged - _EQUAL) & counts).sum(axis=2).astype(np.float64), total),
            )
        )
    return out


class Moments(NamedTuple):
    """Means of differences, their errors robust to clusters, and the clusters; NaN below two clusters."""

    mean: FloatArray
    error: FloatArray
    units: IntArray


def moments(difference: FloatArray, codes: IntArray) -> Moments:
    """The mean of each row and its standard error.

    Parameters
    ----------
    difference : shape (rows, n), between -1 and 1; NaN where there is none
    codes : shape (n,), the cluster of each column
    """
    used = np.isfinite(difference)
    n = used.sum(axis=1)
    mean = divide(np.where(used, difference, 0.0).sum(axis=1), n)
    residual = np.where(used, difference - mean[:, None], 0.0)
    clusters, cluster = np.unique(codes, return_inverse=True)
    units = n
    if len(clusters) < len(codes):
        member = (cluster[:, None] == np.arange(len(clusters))).astype(np.float64)
        residual = residual @ member
        units = (used.astype(np.float64) @ member > 0).sum(axis=1)
    variance = divide((residual**2).sum(axis=1) * units, (units - 1) * n.astype(np.float64) ** 2)
    return Moments(mean, np.sqrt(variance), units)


def lower_tail_p(differences: Moments, epsilon: FloatArray | float) -> FloatArray:
    """The p-value of a mean being epsilon or more, against less: the one-sample t-test, robust to clusters.

    NaN with fewer than two clusters. Where each case is its own cluster this is
    `scipy.stats.ttest_1samp(row, epsilon, alternative="less")`. Where a row's numbers do not differ there is no t, and
    the p-value is the largest probability of such a row under the null hypothesis.
    """
    mean, error, units = differences
    constant = error < _EQUAL
    p: FloatArray = stdtr(np.maximum(units - 1, 1), divide(mean - epsilon, np.where(constant, np.nan, error)))
    bound = np.where(mean < epsilon, (1 - epsilon) / np.where(mean < epsilon, 1 - mean, 1.0), 1.0) ** units
    return np.where(constant & (units >= 2), bound, p)


class Outcome(NamedTuple):
    """The tests of one dimension at one epsilon; each array has shape (judges, annotators), NaN where not tested.

    Attributes
    ----------
    rejected : the judge beats the annotator
    """

    p_value: FloatArray
    p_adjusted: FloatArray
    rejected: BoolArray

    @property
    def winning_rate(self) -> FloatArray:
        """The share of the tested annotators whom each judge beats, shape (judges,); NaN where none is tested."""
        return divide(self.rejected.sum(axis=1).astype(np.float64), np.isfinite(self.p_value).sum(axis=1))


class Comparisons(NamedTuple):
    """Every judge beside every annotator on one dimension; each array has shape (judges, annotators).

    Attributes
    ----------
    items, units : cases compared, and their clusters
    judge, annotator : the advantage probabilities
    mean, error : of the annotator's advantage over the judge, see `Moments`
    tested : whether there are clusters enough to test
    """

    items: IntArray
    units: IntArray
    judge: FloatArray
    annotator: FloatArray
    mean: FloatArray
    error: FloatArray
    tested: BoolArray

    def at(self, epsilon: FloatArray | float, correction: str) -> Outcome:
        """Test at an epsilon, one for all or one a judge of shape (judges, 1), the tests of each judge corrected."""
        p_value = np.where(self.tested, lower_tail_p(Moments(self.mean, self.error, self.units), epsilon), np.nan)
        p_adjusted = np.array([adjust(row, correction) for row in p_value]).reshape(p_value.shape)
        return Outcome(p_value, p_adjusted, p_adjusted <= ALPHA)


def least_epsilon(comparisons: Comparisons, correction: str) -> FloatArray:
    """The smallest hundredth from which on each judge passes, shape (judges,); NaN where it passes at none.

    The p-values fall with epsilon, and so the verdict changes once.
    """
    low = np.zeros(len(comparisons.items), dtype=np.int64)
    high = np.full_like(low, _STEPS)
    while (low < high).any():
        middle = (low + high) // 2
        passes = comparisons.at(middle[:, None] / _STEPS, correction).winning_rate >= LEAST_WINNING_RATE
        searching = low < high
        low = np.where(searching & ~passes, middle + 1, low)
        high = np.where(searching & passes, middle, high)
    return np.where(high < _STEPS, high / _STEPS, np.nan)


def compare_all(compared: Sequence[Compared], n_judges: int, codes: IntArray, least: int) -> Comparisons:
    """Compare every judge with every annotator.

    Parameters
    ----------
    codes : shape (cases,), the cluster of each case
    least : the fewest clusters to test with
    """
    shape = (n_judges, len(compared))
    items, units = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    judge, annotator, mean, error = (np.full(shape, np.nan) for _ in range(4))
    for who, item in enumerate(compared):
        used = item.used
        items[:, who] = used.sum(axis=1)
        judge[:, who] = divide(np.where(used, item.judge, 0.0).sum(axis=1), items[:, who])
        annotator[:, who] = divide(np.where(used, item.annotator, 0.0).sum(axis=1), items[:, who])
        own = moments(item.annotator - item.judge, codes[item.cases])
        mean[:, who], error[:, who], units[:, who] = own
    return Comparisons(items, units, judge, annotator, mean, error, (units >= max(least, 2)))


def advantage_bounds(
    every: Sequence[Sequence[Compared]], tests: Sequence[Comparisons], codes: IntArray, *, resamples: int, seed: int
) -> tuple[FloatArray, FloatArray]:
    """The intervals of the advantage probabilities, means over the annotators tested; shape (dimensions, judges)."""
    tables = [_advantages(compared, test, len(codes)) for compared, test in zip(every, tests, strict=True)]
    n_judges = len(tests[0].items) if tests else 0
    edges = np.cumsum([0, *(table.shape[1] for table in tables)])

    def statistic(sums: FloatArray) -> FloatArray:
        means = []
        for start, stop in pairwise(edges):
            rates = ratio(sums[:, start:stop]).reshape(len(sums) * n_judges, -1)
            means.append(mean_of_defined(rates).reshape(len(sums), n_judges))
        return np.hstack(means)

    blocks = [block(codes, np.hstack([np.zeros((len(codes), 0)), *tables]), statistic)] if tests else []
    low, high = np.full((2, len(tests), n_judges), np.nan)
    for drawn in resampled(blocks, n_clusters(codes), resamples=resamples, seed=seed):
        low, high = (end.reshape(len(tests), n_judges) for end in interval(drawn.replicates))
    return low, high


def _advantages(compared: Sequence[Compared], test: Comparisons, n_cases: int) -> FloatArray:
    """The advantages of the judges by case, then whether they count, shape (cases, 2 x judges x annotators)."""
    won = np.zeros((n_cases, *test.items.shape))
    counted = np.zeros_like(won)
    for who, item in enumerate(compared):
        used = item.used & test.tested[:, who][:, None]
        won[item.cases, :, who] = np.where(used, item.judge, 0.0).T
        counted[item.cases, :, who] = used.T
    return np.hstack([won.reshape(n_cases, -1), counted.reshape(n_cases, -1)])
