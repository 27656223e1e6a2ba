"""Ranks with honest intervals, and how far two rankings of the same responders agree. Arrays in, arrays out.

Ranks are not smooth: where two strengths are nearly equal, the percentile interval of bootstrapped ranks, and still
more that of a bootstrapped rank correlation, misses the truth far more often than it says, because every resample adds
noise that pulls ranks towards the middle. Intervals of ranks are instead read off the comparisons of strengths pair by
pair (Mogstad, Romano, Shaikh and Wilhelm 2024, Review of Economic Studies 91, 476, doi:10.1093/restud/rdad006): a pair
is *told apart* where its difference exceeds a multiple of its standard error that allows for the number of comparisons
(Bonferroni). They hold the truth with at least 95%, near ties included. Intervals of rank correlations are quantiles
of their posterior, from which the noise of both rankings is taken off, see `rank_posterior`.
`tests/simulation/test_ranking.py` checks both.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from scipy import special

from mrb_lib.stats.options import BoolArray, FloatArray, IntArray
from mrb_lib.stats.rank_posterior import posterior_draws

CONFIDENCE = 0.95
LEAST_ERROR = 1e-9
FEWEST_RANKED = 3
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
    kendall : tau-b of the estimated strengths, with `low` and `high` for that of the true ones; the same of
    spearman : Pearson's correlation of mid-ranks
    overlap : share of the `k` first of one that are among the `k` first of the other
    pearson_of_ranks : of competition ranks (1, 2, 2, 4), which differs from Spearman's where strengths are equal
    n_told_apart : pairs of responders told apart by both, of `n_pairs`; None where a standard error is unknown
    """

    n: int
    kendall: tuple[float, float, float]
    spearman: tuple[float, float, float]
    pearson_of_ranks: float
    overlap: tuple[float, float, float]
    k: int
    n_pairs: int
    n_told_apart: int | None


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


def agreement(first: Strengths, second: Strengths, shared: FloatArray, top: int, *, seed: int = 0) -> RankAgreement:
    """Compare two rankings of the same responders.

    Parameters
    ----------
    first, second : strengths of the same r responders; those that either lacks are left out
    shared : shape (r, r), the covariance of the errors of `first` (rows) with those of `second` (columns)
    top : k of the overlap; at most the number of responders less one
    seed : of the draws behind the intervals

    Returns
    -------
    RankAgreement; NaN with fewer than two responders, or where a source has all strengths equal; intervals are NaN with
        fewer than three, and where a standard error is unknown, as `n_told_apart` is

    Notes
    -----
    An interval is of the correlation (or overlap) of the *true* strengths: the central 95% of its posterior, extended
    to the estimate where that lies outside. Kendall (1938), Biometrika 30, 81, tau-b as in scipy.
    """
    both = np.isfinite(first.value) & np.isfinite(second.value)
    x, y, shared = first.of(both), second.of(both), shared[np.ix_(both, both)]
    r = int(both.sum())
    n_pairs, k = r * (r - 1) // 2, max(min(top, r - 1), 0)
    if r < 2:
        nothing = (np.nan, np.nan, np.nan)
        return RankAgreement(r, nothing, nothing, np.nan, nothing, k, n_pairs, 0)
    in_x, in_y = x.rank <= k, y.rank <= k
    estimates = (
        _cosine(x.order, y.order),
        _cosine(x.mid - x.mid.mean(), y.mid - y.mid.mean()),
        float((in_x & in_y).sum() / max(in_x.sum(), in_y.sum())),
    )
    known = np.isfinite(x.covariance).all() and np.isfinite(y.covariance).all()
    has_errors = bool(known and not (x.lacks_errors or y.lacks_errors))
    bounds = np.full((2, 3), np.nan)
    if has_errors and r >= FEWEST_RANKED:
        covariance = np.block([[x.covariance, shared], [shared.T, y.covariance]])
        drawn = _correlations(*posterior_draws(x.value, y.value, covariance, seed=seed), k)
        bounds = np.quantile(drawn, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=1, method="inverted_cdf")
        bounds[0], bounds[1] = np.fmin(bounds[0], estimates), np.fmax(bounds[1], estimates)
    kendall, spearman, overlap = (
        (value, float(low), float(high)) for value, low, high in zip(estimates, *bounds, strict=True)
    )
    return RankAgreement(
        n=r,
        kendall=kendall,
        spearman=spearman,
        pearson_of_ranks=_cosine(x.rank - x.rank.mean(), y.rank - y.rank.mean()),
        overlap=overlap,
        k=k,
        n_pairs=n_pairs,
        n_told_apart=int((x.apart * y.apart)[_pairs(r)].astype(bool).sum()) if has_errors else None,
    )


def _correlations(first: FloatArray, second: FloatArray, k: int) -> FloatArray:
    """Kendall's, Spearman's and the overlap of the k first of draws without ties, from (n, r) twice to (3, n)."""
    r = first.shape[1]
    i, j = _pairs(r)
    tau = (((first[:, i] > first[:, j]) == (second[:, i] > second[:, j])).mean(axis=1)) * 2 - 1
    rank = [np.argsort(np.argsort(-drawn, axis=1), axis=1) for drawn in (first, second)]
    rho = 1 - 6 * ((rank[0] - rank[1]) ** 2).sum(axis=1) / (r**3 - r)
    return np.stack([tau, rho, ((rank[0] < k) & (rank[1] < k)).sum(axis=1) / k])


@lru_cache(maxsize=64)
def _pairs(r: int) -> tuple[IntArray, IntArray]:
    """The first and the second of each two of r responders."""
    first, second = np.triu_indices(r, 1)
    return first, second


def _cosine(x: FloatArray, y: FloatArray) -> float:
    scale = float(np.sqrt((x @ x) * (y @ y)))
    return float(x @ y) / scale if scale > 0 else np.nan
