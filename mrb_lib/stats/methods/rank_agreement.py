"""Ranks with honest intervals, and how far two rankings of the same responders agree. Arrays in, arrays out.

Ranks are not smooth: where two strengths are nearly equal, the percentile interval of bootstrapped ranks, and still
more that of a bootstrapped rank correlation, misses the truth far more often than it says, because every resample adds
noise that pulls ranks towards the middle. Intervals of ranks are instead read off the comparisons of strengths pair by
pair (Mogstad, Romano, Shaikh and Wilhelm 2024, Review of Economic Studies 91, 476, doi:10.1093/restud/rdad006): a pair
is *told apart* where its difference exceeds a multiple of its standard error that allows for the number of comparisons
(Bonferroni). They hold the truth with at least 95%, near ties included. Intervals of rank correlations are quantiles
of their posterior, from which the noise of both rankings is taken off: responders are a sample of a population in which
the true log strengths of the two sources are jointly normal, with unknown spreads and correlation.
`tests/simulation/test_ranking.py` checks both.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.linalg import helmert
from scipy.special import stdtrit
from scipy.stats import rankdata

from mrb_lib.stats.estimation import divide
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray

CONFIDENCE = 0.95
LEAST_ERROR = 1e-9
FEWEST_RANKED = 3
DRAWS = 1000
_DIGITS, _ROUNDING = 9, 5e-13
_SPREADS = 5
_GRID = np.geomspace(1e-3, 30.0, 200)
_CORRELATIONS = np.tanh(np.linspace(-4.0, 4.0, 81))


@dataclass(frozen=True, eq=False)
class Strengths:
    """Estimated log strengths of one source.

    Attributes
    ----------
    value : shape (r,); NaN where undefined
    covariance : shape (r, r); NaN where unknown
    df : degrees of freedom of the standard errors
    errors : shape (r, r), the standard errors of all differences; NaN where clusters that do not differ give none
    """

    value: FloatArray
    covariance: FloatArray
    df: float

    def of(self, kept: BoolArray) -> Strengths:
        """Return the strengths of some responders."""
        return Strengths(self.value[kept], self.covariance[np.ix_(kept, kept)], self.df)

    @cached_property
    def errors(self) -> FloatArray:
        variance = self.covariance.diagonal()
        squared = variance[:, None] + variance[None, :] - 2 * self.covariance
        return np.sqrt(np.where(squared > LEAST_ERROR**2, squared, np.nan))


class RankAgreement(NamedTuple):
    """Agreement of two rankings; NaN where a side ranks fewer than two responders, or all on one place.

    Attributes
    ----------
    n : responders ranked by both
    kendall : tau-b of the estimated strengths, with `low` and `high` for that of the true ones; the same of
    spearman : Pearson's correlation of mid-ranks
    pearson_of_ranks : of competition ranks (1, 2, 2, 4), which differs from Spearman's where strengths are equal
    """

    n: int
    kendall: tuple[float, float, float]
    spearman: tuple[float, float, float]
    pearson_of_ranks: float


def ranks(strength: FloatArray) -> FloatArray:
    """Return competition ranks, 1 for the strongest, of strengths of shape (..., r); NaN where there is no strength."""
    return rankdata(-strength.round(_DIGITS), method="min", nan_policy="omit", axis=-1)


def rank_interval(strengths: Strengths) -> tuple[IntArray, IntArray]:
    """Return the best and the worst rank that each responder may have, 1 the strongest, shape (r,).

    The comparisons that one responder is in are right together, so that each interval alone holds its responder's rank
    with at least 95%. A difference without a standard error, because all clusters say the same, is unknown.
    """
    r = len(strengths.value)
    level = 1 - (1 - CONFIDENCE) / (2 * max(r - 1, 1))
    stronger = strengths.value[:, None] - strengths.value > stdtrit(strengths.df, level) * strengths.errors
    return 1 + stronger.sum(axis=0), r - stronger.sum(axis=1)


def agreement(first: Strengths, second: Strengths, shared: FloatArray, *, seed: int = 0) -> RankAgreement:
    """Compare two rankings of the same responders.

    Parameters
    ----------
    first, second : strengths of the same r responders; those that either lacks are left out
    shared : shape (r, r), the covariance of the errors of `first` (rows) with those of `second` (columns)
    seed : of the draws behind the intervals

    Notes
    -----
    An interval is of the correlation of the *true* strengths: the central 95% of its posterior, extended to the
    estimate where that lies outside. It is NaN with fewer than three responders, and where a standard error is unknown.
    Kendall (1938), Biometrika 30, 81, tau-b.
    """
    both = np.isfinite(first.value) & np.isfinite(second.value)
    x, y, r = first.of(both), second.of(both), int(both.sum())
    one, other = (side.value.round(_DIGITS) for side in (x, y))
    of_ranks = pd.Series(ranks(x.value)).corr(pd.Series(ranks(y.value)), min_periods=2)
    of_mid_ranks = pd.Series(one).rank().corr(pd.Series(other).rank(), min_periods=2)
    estimates = [float(kendall(one, other)), of_mid_ranks]
    low = high = np.full(2, np.nan)
    if r >= FEWEST_RANKED and np.isfinite((x.errors + y.errors)[np.triu_indices(r, 1)]).all():
        own = shared[np.ix_(both, both)]
        covariance = np.block([[x.covariance, own], [own.T, y.covariance]])
        drawn = _correlations(*posterior_draws(x.value, y.value, covariance, seed=seed))
        low, high = np.quantile(drawn, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=1, method="inverted_cdf")
    ends = np.minimum(low, estimates).tolist(), np.maximum(high, estimates).tolist()
    tau, rho = zip(estimates, *ends, strict=True)
    return RankAgreement(r, tau, rho, of_ranks)


def kendall(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return Kendall's tau-b between columns of values, shape (r, ...) both, as shape (...).

    Values that only rounding could tell apart are equal. NaN where a value is NaN, and where all of one side are equal.
    """
    i, j = np.triu_indices(len(first), 1)
    apart = [side[i] - side[j] for side in (first, second)]
    one, two = (np.sign(np.where(np.abs(difference) < _ROUNDING, 0.0, difference)) for difference in apart)
    return divide((one * two).sum(axis=0), np.sqrt((one**2).sum(axis=0) * (two**2).sum(axis=0)))


def _correlations(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return tau and rho of draws without ties, from (n, r) twice to (2, n)."""
    r = first.shape[1]
    one, other = (rankdata(drawn, axis=1) for drawn in (first, second))
    return np.stack([kendall(first.T, second.T), 1 - 6 * ((one - other) ** 2).sum(axis=1) / (r**3 - r)])


def posterior_draws(
    first: FloatArray, second: FloatArray, covariance: FloatArray, *, seed: int = 0
) -> tuple[FloatArray, FloatArray]:
    """Draw the true log strengths of two sources from their posterior, each of shape (DRAWS, r).

    Parameters
    ----------
    first, second : shape (r,), estimated log strengths of the same responders, r at least 3
    covariance : shape (2r, 2r), of the estimates of `first`, then `second`; errors may be shared, as by cases

    Notes
    -----
    A priori the two spreads are uniform (Gelman 2006, doi:10.1214/06-BA117A) and the arc sine of the correlation is,
    which unlike the correlation itself gives agreement of nearly 1 its due (`tests/simulation/test_ranking.py`). The
    posterior of the three is summed over a grid: spreads at quantiles of what each source alone says, correlations
    finely; strengths are drawn given them by Matheron's rule. Only differences within a source are used.
    """
    r, k = len(first), len(first) - 1
    contrast = helmert(r)
    both = np.kron(np.eye(2), contrast)
    y, noise = both @ np.concatenate([first, second]), both @ covariance @ both.T
    noise = (noise + noise.T) / 2
    swapped = np.roll(np.arange(2 * k), k)
    swap = np.eye(2 * k)[swapped]
    (one, of_one), (other, of_other) = (_spreads(y[at], noise[at, at]) for at in (slice(k), slice(k, None)))
    cell = np.indices((_SPREADS, _SPREADS)).reshape(2, -1)
    spread = np.repeat([one[cell[0]], other[cell[1]]], k, axis=0).T
    # In this basis noise and truth together are diagonal whatever the correlation, of which there are many.
    white = np.linalg.inv(np.linalg.cholesky(noise + spread[:, :, None] ** 2 * np.eye(2 * k)))
    shift, turned = np.linalg.eigh(white @ (swap * spread[:, :, None] * spread[:, None]) @ white.mT)
    basis = white.mT @ turned
    scale = 1 + _CORRELATIONS[:, None] * shift[:, None]
    misfit = (np.log(scale) + (y @ basis)[:, None] ** 2 / scale).sum(axis=2) / 2
    known = np.log(np.diagonal(white, axis1=1, axis2=2)).sum(axis=1) - of_one[cell[0]] - of_other[cell[1]]
    weights = known[:, None] - misfit
    # The arcsine density, where correlations are evenly spaced on Fisher's scale.
    share = np.exp(weights - weights.max()) * np.sqrt(1 - _CORRELATIONS**2)
    position = np.searchsorted(share.cumsum() / share.sum(), (np.arange(DRAWS) + 0.5) / DRAWS)
    cell_of, rho_of = np.divmod(np.minimum(position, share.size - 1), len(_CORRELATIONS))
    normal, truth = np.random.default_rng([seed, r]).standard_normal((2, DRAWS, 2 * k))
    value, vectors = np.linalg.eigh(noise)
    error = normal @ (vectors * np.sqrt(np.maximum(value, 0.0))).T
    for i in np.unique(cell_of):
        here = cell_of == i
        rho = _CORRELATIONS[rho_of[here], None]
        true = truth[here]
        true[:, k:] = rho * true[:, :k] + np.sqrt(1 - rho**2) * true[:, k:]
        true *= spread[i]
        back = spread[i] * ((y - true - error[here]) @ basis[i] / scale[i, rho_of[here]] @ basis[i].T)
        truth[here] = true + spread[i] * (back + rho * back[:, swapped])
    return truth[:, :k] @ contrast, truth[:, k:] @ contrast


def _spreads(y: FloatArray, noise: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return equally probable spreads of the true values that `y` estimates, with the log likelihood of `y` at each."""
    value, vectors = np.linalg.eigh(noise)
    value, z = np.maximum(value, 0.0), vectors.T @ y
    grid = _GRID * np.sqrt(max(float(y @ y) / len(y), float(value.mean())))
    total = value + grid[:, None] ** 2
    log_likelihood = -0.5 * (np.log(total) + z**2 / total).sum(axis=1)
    share = np.exp(log_likelihood - log_likelihood.max()) * grid
    below = (np.cumsum(share) - share / 2) / share.sum()
    spread = np.interp((np.arange(_SPREADS) + 0.5) / _SPREADS, below, np.log(grid))
    return np.exp(spread), np.interp(spread, np.log(grid), log_likelihood)
