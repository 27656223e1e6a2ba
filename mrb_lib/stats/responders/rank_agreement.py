"""Ranks with honest intervals, and how far two rankings of the same responders agree. Arrays in, arrays out.

Ranks are not smooth: where two strengths are nearly equal, the percentile interval of bootstrapped ranks, and
still more that of a bootstrapped rank correlation, misses the truth far more often than it says, because every
resample adds noise that pulls ranks towards the middle. Intervals here are instead read off the comparisons of
strengths pair by pair (Mogstad, Romano, Shaikh and Wilhelm 2024, Review of Economic Studies 91, 476,
doi:10.1093/restud/rdad006): a pair is *told apart* where its difference exceeds a multiple of its standard error
that allows for the number of comparisons (Bonferroni). They hold the truth with at least 95%, near ties included;
`tests/simulation/test_ranking.py` checks that.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from scipy import special

from mrb_lib.stats.core.options import BoolArray, FloatArray, IntArray
from mrb_lib.stats.resampling.resample import CONFIDENCE

LEAST_ERROR = 1e-9
_DIGITS = 9


@dataclass(frozen=True, eq=False)
class Strengths:
    """Estimated log strengths of one source, and what comparing them with several others takes, made once.

    Attributes
    ----------
    value : shape (r,); NaN where undefined
    covariance : shape (r, r); NaN where unknown
    df : degrees of freedom of the standard errors
    errors : shape (r, r), the standard errors of all differences; NaN where clusters that do not differ give none
    lacks_errors : whether some difference between two responders with a strength has no standard error
    order : shape (pairs,), the sign of the difference of each two
    place, mid : shape (r,), see `ranks` and `mid_ranks`
    apart : shape (r, r), see `told_apart`, where all pairs of two sources are compared
    """

    value: FloatArray
    covariance: FloatArray
    df: float

    def of(self, kept: BoolArray) -> Strengths:
        """The strengths of some responders."""
        return self if kept.all() else Strengths(self.value[kept], self.covariance[np.ix_(kept, kept)], self.df)

    @cached_property
    def errors(self) -> FloatArray:
        variance = self.covariance.diagonal()
        squared = variance[:, None] + variance[None, :] - 2 * self.covariance
        return np.sqrt(np.where(squared > LEAST_ERROR**2, squared, np.nan))

    @cached_property
    def lacks_errors(self) -> bool:
        has_error = np.isfinite(self.value) & np.isfinite(self.covariance.diagonal())
        pairs = has_error[:, None] & has_error[None, :] & ~np.eye(len(has_error), dtype=bool)
        return bool(np.isnan(self.errors[pairs]).any())

    @cached_property
    def order(self) -> FloatArray:
        first, second = _pairs(len(self.value))
        rounded = self.value.round(_DIGITS)
        return np.sign(rounded[first] - rounded[second])

    @cached_property
    def rank(self) -> FloatArray:
        return ranks(self.value)

    @cached_property
    def mid(self) -> FloatArray:
        return mid_ranks(self.value)

    @cached_property
    def apart(self) -> IntArray:
        return told_apart(self, len(self.value) * (len(self.value) - 1))


class RankAgreement(NamedTuple):
    """How far two rankings agree; the intervals are NaN where a standard error is unknown.

    Attributes
    ----------
    n : responders ranked by both
    kendall : tau-b, with `low` and `high`
    spearman : Pearson's correlation of mid-ranks
    pearson_of_ranks : of competition ranks (1, 2, 2, 4), which differs from Spearman's where strengths are equal
    overlap : share of the `k` first of one that are among the `k` first of the other
    n_told_apart : pairs of responders told apart by both, of `n_pairs`
    """

    n: int
    kendall: tuple[float, float, float]
    spearman: tuple[float, float, float]
    pearson_of_ranks: float
    overlap: tuple[float, float, float]
    k: int
    n_pairs: int
    n_told_apart: int


def ranks(log_strength: FloatArray) -> FloatArray:
    """Competition ranks along the last axis, 1 for the strongest; NaN where there is no strength."""
    return np.where(np.isfinite(log_strength), 1 + _beaten_by(log_strength)[0], np.nan)


def mid_ranks(log_strength: FloatArray) -> FloatArray:
    """As `ranks`, where equals share the mean of their ranks."""
    above, level = _beaten_by(log_strength)
    return np.where(np.isfinite(log_strength), above + (1 + level) / 2, np.nan)


def _beaten_by(log_strength: FloatArray) -> tuple[IntArray, IntArray]:
    """How many are stronger than each, and how many are as strong, itself included."""
    x = np.where(np.isfinite(log_strength), log_strength.round(_DIGITS), -np.inf)
    other, own = x[..., None, :], x[..., :, None]
    return (other > own).sum(axis=-1), (other == own).sum(axis=-1)


def rank_interval(strengths: Strengths) -> tuple[IntArray, IntArray]:
    """The best and the worst rank that each responder may have, 1 the strongest, shape (r,).

    The comparisons that one responder is in are right together, so that each interval alone holds its responder's rank
    with at least 95%.
    """
    return _rank_interval(told_apart(strengths, max(len(strengths.value) - 1, 1)))


def _rank_interval(apart: IntArray) -> tuple[IntArray, IntArray]:
    stronger = apart > 0
    return (1 + stronger.sum(axis=0)).astype(np.int64), (len(apart) - stronger.sum(axis=1)).astype(np.int64)


def told_apart(strengths: Strengths, comparisons: int) -> IntArray:
    """1 where the row is stronger than the column, -1 where weaker, 0 where they are not told apart, shape (r, r).

    A difference whose standard error is 0, because all clusters say the same, is not certain: it is unknown.
    """
    gap = strengths.value[:, None] - strengths.value[None, :]
    far = np.abs(gap) > _critical(comparisons, strengths.df) * strengths.errors
    return np.where(far, np.sign(gap), 0.0).astype(np.int64)


@lru_cache(maxsize=1024)
def _critical(comparisons: int, df: float) -> float:
    """Student's quantile that so many two-sided comparisons pass together by chance with at most 5% (Bonferroni)."""
    return float(special.stdtrit(df, 1 - (1 - CONFIDENCE) / (2 * comparisons)))


def agreement(first: Strengths, second: Strengths, top: int) -> RankAgreement:
    """Compare two rankings of the same responders.

    Parameters
    ----------
    first, second : strengths of the same r responders; those that either lacks are left out
    top : k of the overlap; at most the number of responders less one

    Returns
    -------
    RankAgreement; NaN with fewer than two responders, or where a source has all strengths equal

    Notes
    -----
    An interval leaves open every pair that either source does not tell apart: it reaches from "all of those
    disagree" to "all of those agree". Kendall (1938), Biometrika 30, 81, tau-b as in scipy.
    """
    both = np.isfinite(first.value) & np.isfinite(second.value)
    x, y = first.of(both), second.of(both)
    r = int(both.sum())
    n_pairs, k = r * (r - 1) // 2, max(min(top, r - 1), 0)
    if r < 2:
        nothing = (np.nan, np.nan, np.nan)
        return RankAgreement(r, nothing, nothing, np.nan, nothing, k, n_pairs, 0)
    has_errors = bool(np.isfinite(x.covariance).all() and np.isfinite(y.covariance).all())
    in_x, in_y = x.rank <= k, y.rank <= k
    tau = _cosine(x.order, y.order)
    overlap = float((in_x & in_y).sum() / max(in_x.sum(), in_y.sum()))
    bounds, told = _bounds(x, y, k, n_pairs) if has_errors else (np.full((3, 2), np.nan), 0)
    tau_low, tau_high, rho_low, rho_high, overlap_low, overlap_high = map(float, bounds.ravel())
    return RankAgreement(
        n=r,
        kendall=(tau, tau_low, tau_high),
        spearman=(_cosine(x.mid - x.mid.mean(), y.mid - y.mid.mean()), rho_low, rho_high),
        pearson_of_ranks=_cosine(x.rank - x.rank.mean(), y.rank - y.rank.mean()),
        overlap=(overlap, overlap_low, overlap_high),
        k=k,
        n_pairs=n_pairs,
        n_told_apart=told,
    )


def _bounds(x: Strengths, y: Strengths, k: int, n_pairs: int) -> tuple[FloatArray, int]:
    """Kendall's, Spearman's and the overlap's bounds, shape (3, 2), and how many pairs both tell apart."""
    r = len(x.value)
    product = (x.apart * y.apart)[_pairs(r)]
    told = int((product != 0).sum())
    tau = (product.sum() + np.array([-1, 1]) * (n_pairs - told)) / n_pairs
    (low_x, high_x), (low_y, high_y) = (_rank_interval(item.apart) for item in (x, y))
    far = np.maximum(high_x - low_y, high_y - low_x)
    near = np.maximum(np.maximum(low_x - high_y, low_y - high_x), 0)
    rho = np.maximum(1 - 6 * np.array([(far**2).sum(), (near**2).sum()]) / (r**3 - r), -1.0)
    certain = max(int(((high_x <= k) & (high_y <= k)).sum()), 2 * k - r)
    possible = min(int(((low_x <= k) & (low_y <= k)).sum()), k)
    return np.array([tau, rho, [certain / k, possible / k]]), told


@lru_cache(maxsize=64)
def _pairs(r: int) -> tuple[IntArray, IntArray]:
    """The first and the second of each two of r responders."""
    first, second = np.triu_indices(r, 1)
    return first, second


def _cosine(x: FloatArray, y: FloatArray) -> float:
    scale = float(np.sqrt((x @ x) * (y @ y)))
    return float(x @ y) / scale if scale > 0 else np.nan
