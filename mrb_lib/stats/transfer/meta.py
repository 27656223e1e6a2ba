"""Random-effects meta-analysis of many sets of estimates at once: arrays in, arrays out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special

from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, divide
from mrb_lib.tables.errors import InputError

_TAIL = 0.975
_ITERATIONS = 200
_CLOSE = 1e-13
_LEAST = 1e-300
_NODES = 24
_STEPS = 60
_LAST_STEP = 1e-8  # of Newton, over what it moves in: it leaves an error of the order of its square


class Pooled(NamedTuple):
    """The meta-analysis of each of `m` sets; every array has shape (m,) but `weight`, (m, k).

    Attributes
    ----------
    k : estimates in the set
    q, p_value : Cochran's Q and its chi-squared tail with k - 1 degrees of freedom
    i2, i2_low, i2_high : share of the variation that is between, by `tau2`, and its Q-profile interval
    tau2, tau2_low, tau2_high : variance between by restricted maximum likelihood, and its Q-profile interval
    tau2_dl : variance between by DerSimonian and Laird, beside it
    estimate : the mean of the random-effects distribution
    low, high : its interval by Hartung and Knapp, t with k - 1 degrees of freedom, where estimates that happen to lie
        closer together than their sampling errors let them narrow nothing
    weight : the share of each estimate in `estimate`
    """

    k: IntArray
    q: FloatArray
    p_value: FloatArray
    i2: FloatArray
    i2_low: FloatArray
    i2_high: FloatArray
    tau2: FloatArray
    tau2_low: FloatArray
    tau2_high: FloatArray
    tau2_dl: FloatArray
    estimate: FloatArray
    low: FloatArray
    high: FloatArray
    weight: FloatArray


class _Sets(NamedTuple):
    """Estimates and variances with what is missing set to 0 and 1; `used` says which are not missing."""

    effect: FloatArray
    variance: FloatArray
    used: BoolArray
    k: IntArray

    def weights(self, tau2: FloatArray) -> FloatArray:
        return np.where(self.used, 1.0 / (self.variance + tau2[:, None]), 0.0)

    def mean(self, weight: FloatArray) -> FloatArray:
        return divide((weight * self.effect).sum(axis=1), weight.sum(axis=1))

    def residuals(self, weight: FloatArray) -> FloatArray:
        return np.where(self.used, self.effect - self.mean(weight)[:, None], 0.0)


def pool(effect: FloatArray, variance: FloatArray) -> Pooled:
    """Summarise sets of estimates that vary between the members of a population of domains.

    Parameters
    ----------
    effect : shape (m, k), the estimates of each set; NaN where a set has none
    variance : shape (m, k), their sampling variances, above 0

    Returns
    -------
    Pooled
        NaN where undefined: with one estimate everything but `k`.

    Raises
    ------
    InputError
        A variance is not above 0.

    Notes
    -----
    DerSimonian and Laird (1986), doi:10.1016/0197-2456(86)90046-2; Hartung and Knapp (2001), doi:10.1002/sim.791, with
    the scale kept at 1 or more as Knapp and Hartung (2003), doi:10.1002/sim.1482, do, so that the interval is never
    narrower than that of a fixed effect; I2 of Higgins and Thompson (2002), doi:10.1002/sim.1186, from the REML
    estimate of tau2; intervals of tau2 by the Q-profile of Viechtbauer (2007), doi:10.1002/sim.2514. REML is found by
    Fisher scoring. Published values: `tests/published/test_meta.py`; coverage and size:
    `tests/simulation/test_transfer.py`.
    """
    sets = _sets(effect, variance)
    df = np.maximum(sets.k - 1, 0)
    enough = df > 0
    none = np.zeros(len(sets.k))
    q = _q(sets, none)[0]
    typical = _typical(sets, df)
    by_moments = np.where(enough, np.maximum(divide(q - df, df / typical), 0.0), np.nan)
    tau2 = np.where(enough, _reml(sets, by_moments), np.nan)
    low, high = (np.where(enough, _profile(sets, _chi2(df, tail)), np.nan) for tail in (1 - _TAIL, _TAIL))
    weight = sets.weights(np.where(enough, tau2, 0.0))
    total = weight.sum(axis=1)
    estimate = np.where(enough, sets.mean(weight), np.nan)
    spread = divide((weight * sets.residuals(weight) ** 2).sum(axis=1), df)
    reach = _t(df) * np.sqrt(divide(np.maximum(spread, 1.0), total))
    return Pooled(
        k=sets.k,
        q=np.where(enough, q, np.nan),
        p_value=np.where(enough, np.asarray(special.chdtrc(np.fmax(df, 1), q)), np.nan),
        i2=divide(tau2, tau2 + typical),
        i2_low=divide(low, low + typical),
        i2_high=divide(high, high + typical),
        tau2=tau2,
        tau2_low=low,
        tau2_high=high,
        tau2_dl=by_moments,
        estimate=estimate,
        low=estimate - reach,
        high=estimate + reach,
        weight=np.where(sets.used & enough[:, None], divide(weight, total[:, None]), np.nan),
    )


class Predictive(NamedTuple):
    """What to expect of a new member of each of `m` populations: a mixture of normal distributions, each array (m, b).

    `share` has shape (b,), and is the weight of each component.
    """

    mean: FloatArray
    variance: FloatArray
    share: FloatArray

    def below(self, value: FloatArray, variance: FloatArray) -> FloatArray:
        """The probability of an estimate below `value`, both of shape (m,), if its sampling variance is `variance`."""
        spread = np.sqrt(self.variance + variance[:, None])
        out: FloatArray = np.asarray(special.ndtr((value[:, None] - self.mean) / spread)) @ self.share
        return out

    def interval(self) -> tuple[FloatArray, FloatArray]:
        """The central 95% of a new member's true value."""
        return self._quantile(1 - _TAIL), self._quantile(_TAIL)

    def _quantile(self, tail: float) -> FloatArray:
        """The quantile of each mixture, which lies among those of its components: by Newton's steps, or halving."""
        spread = np.sqrt(self.variance)
        ends = self.mean + special.ndtri(tail) * spread
        low, high = ends.min(axis=1, initial=np.inf), ends.max(axis=1, initial=-np.inf)
        quantile: FloatArray = (low + high) / 2
        width = high - low
        for _ in range(_STEPS):
            z = (quantile[:, None] - self.mean) / spread
            excess = np.asarray(special.ndtr(z)) @ self.share - tail
            moved = quantile - divide(excess, (np.exp(-(z**2) / 2) / spread) @ self.share / np.sqrt(2 * np.pi))
            low, high = np.where(excess < 0, quantile, low), np.where(excess < 0, high, quantile)
            inside = (moved >= low) & (moved <= high)
            before, quantile = quantile, np.where(inside, moved, (low + high) / 2)
            if not (np.abs(quantile - before) > _LAST_STEP * width).any():
                break
        return quantile


def predict(effect: FloatArray, variance: FloatArray) -> Predictive:
    """The confidence distribution of a new member's true value, for sets of estimates as `pool` takes.

    Returns
    -------
    Predictive
        NaN for a set of fewer than three estimates.

    Notes
    -----
    The variance between is not put in as if it were known, which makes the usual interval cover too little
    (Nagashima, Noma and Furukawa 2019, doi:10.1177/0962280218773520, whose confidence distribution this follows). Here
    it is that of the Q-profile: the generalised Q at the true variance is chi-squared, so that each quantile of
    chi-squared gives a variance between, and a normal distribution given that; 24 quantiles, weighted by Gauss and
    Legendre's rule, make the mixture. With equal and small sampling variances it is Student's prediction from a normal
    sample (`tests/stats/transfer/test_meta.py`). Coverage: `tests/simulation/test_transfer.py`.
    """
    sets = _sets(effect, variance)
    df = sets.k - 1
    node, share = np.polynomial.legendre.leggauss(_NODES)
    tau2 = np.zeros(len(df))
    mean, spread = np.full((2, len(df), _NODES), np.nan)
    for i, upper in enumerate((node + 1) / 2):
        tau2 = _profile(sets, _chi2(df, upper), tau2)
        weight = sets.weights(tau2)
        mean[:, i] = sets.mean(weight)
        spread[:, i] = tau2 + divide(np.ones_like(tau2), weight.sum(axis=1))
    mean[df < 2] = np.nan
    return Predictive(mean, spread, share / 2)


def _sets(effect: FloatArray, variance: FloatArray) -> _Sets:
    used = np.isfinite(effect) & np.isfinite(variance)
    if (variance[used] <= 0).any():
        raise InputError("variance: an estimate has a sampling variance of 0; give one above 0, or leave it out.")
    return _Sets(np.where(used, effect, 0.0), np.where(used, variance, 1.0), used, used.sum(axis=1).astype(np.int64))


def _chi2(df: IntArray, tail: float) -> FloatArray:
    """The value that chi-squared exceeds with that probability."""
    by_df = np.asarray(special.chdtri(np.arange(1, df.max(initial=1) + 1), tail))
    out: FloatArray = by_df[np.fmax(df, 1) - 1]
    return out


def _t(df: IntArray) -> FloatArray:
    """The 97.5% quantile of t; NaN without degrees of freedom."""
    return np.where(df > 0, special.stdtrit(np.fmax(df, 1), _TAIL), np.nan)


def _typical(sets: _Sets, df: IntArray) -> FloatArray:
    """The sampling variance of a typical estimate (Higgins and Thompson 2002, equation 9)."""
    weight = sets.weights(np.zeros(len(sets.k)))
    return divide(df * weight.sum(axis=1), weight.sum(axis=1) ** 2 - (weight**2).sum(axis=1))


def _q(sets: _Sets, tau2: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The generalised Q at a variance between, and minus its slope."""
    weight = sets.weights(tau2)
    residuals = sets.residuals(weight)
    pull = weight * residuals
    return (pull * residuals).sum(axis=1), (pull**2).sum(axis=1)


def _profile(sets: _Sets, target: FloatArray | IntArray, start: FloatArray | None = None) -> FloatArray:
    """The variance between at which the generalised Q is the target; 0 where it is below it throughout.

    The generalised Q falls and is convex, so that Newton's steps from 0, or a start below the root, never pass it.
    """
    tau2 = np.zeros(len(sets.k)) if start is None else start
    for _ in range(_ITERATIONS):
        q, slope = _q(sets, tau2)
        step = np.nan_to_num(np.maximum(divide(q - target, slope), 0.0))
        tau2 = tau2 + step
        if not (step > _LAST_STEP * (tau2 - step)).any():
            break
    return tau2


def _reml(sets: _Sets, start: FloatArray) -> FloatArray:
    """Fisher scoring of the restricted likelihood, kept between the points where it is known to rise and to fall."""
    tau2 = np.nan_to_num(start)
    rising, falling = np.zeros(len(tau2)), np.full(len(tau2), np.inf)
    falls_from_zero = _score(sets, rising)[0] <= 0
    active = np.ones(len(tau2), dtype=bool)
    for _ in range(_ITERATIONS):
        slope, information = _score(sets, tau2)
        rising, falling = np.where(slope > 0, tau2, rising), np.where(slope > 0, falling, tau2)
        moved = tau2 + np.nan_to_num(divide(slope, information))
        below = moved <= 0
        halfway = (rising + np.where(np.isinf(falling), 2 * tau2, falling)) / 2
        moved = np.where((moved <= rising) & (tau2 > 0) | (moved >= falling), halfway, moved)
        moved = np.where(falls_from_zero & below, 0.0, np.maximum(moved, 0.0))
        before, tau2 = tau2, np.where(active, moved, tau2)
        active &= np.abs(tau2 - before) > _CLOSE + 1e-10 * tau2
        if not active.any():
            break
    return tau2


def _score(sets: _Sets, tau2: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Twice the slope of the restricted log likelihood, and twice its expected information."""
    weight = sets.weights(tau2)
    one, two, three = (np.fmax((weight**power).sum(axis=1), _LEAST) for power in (1, 2, 3))
    slope = ((weight * sets.residuals(weight)) ** 2).sum(axis=1) - (one - two / one)
    return slope, two - 2 * three / one + (two / one) ** 2
