"""95% intervals of estimates: one rule each for shares, differences and coefficients."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtr, ndtri, stdtrit

from mrb_lib.stats.estimation import BoolArray, Estimate, FloatArray, design_effect, divide

ENOUGH_DF = 49
"""From so many degrees of freedom on, percentiles of the bootstrap cover what they should."""
_UPPER, _Z = 0.975, float(ndtri(0.975))
_FEW_OUTCOMES, _NO_SPREAD = 10, 1e-9


class Interval(NamedTuple):
    """Both ends, and the method: percentile (of the bootstrap), t, deff, wilson or score; each of shape (m,)."""

    low: FloatArray
    high: FloatArray
    method: NDArray[np.str_]


def share(e: Estimate) -> Interval:
    """Return the interval of a share or mean score: percentiles; t where clusters are few; Wilson's where it is rare.

    Rare is where the right or the wrong answers are worth fewer than 10 independent cases. Simulated in
    tests/simulation/test_coverage.py.
    """
    few, size = _few(e), effective_size(e)
    value = np.nan_to_num(e.value)
    rare = ~(np.minimum(value, 1 - value) * size >= _FEW_OUTCOMES - _NO_SPREAD) | (_lacks_df(e) & ~few)
    rare |= ~(e.variance > 1e-12)
    by_t, drawn, rarely = t(e, 0.0), percentiles(e, wanted=~(rare | few)), wilson(e.value, size)
    low, high = (np.where(rare, rarely[i], np.where(few, by_t[i], drawn[i])) for i in (0, 1))
    return Interval(low, high, np.select([rare, few], ["deff", "t"], "percentile"))


def rare_share(e: Estimate) -> Interval:
    """Return Wilson's interval of a share, with the design effect."""
    low, high = wilson(e.value, effective_size(e))
    return Interval(low, high, _named("deff", low))


def difference(e: Estimate) -> Interval:
    """Return the interval of a difference of shares: percentiles; Student's t where clusters are few."""
    few, by_t = _few(e), t(e)
    drawn = percentiles(e, wanted=~few)
    low, high = (np.where(few, by_t[i], drawn[i]) for i in (0, 1))
    return Interval(low, high, np.where(few, "t", "percentile"))


def varying_difference(e: Estimate) -> Interval:
    """Return the interval of a difference; NaN where cases do not vary."""
    made, varies = difference(e), e.error > _NO_SPREAD
    return made._replace(low=np.where(varies, made.low, np.nan), high=np.where(varies, made.high, np.nan))


def t(e: Estimate, least: float = -1.0, most: float = 1.0) -> Interval:
    """Return Student's t interval within what the quantity can be; NaN where cases do not vary."""
    half = stdtrit(e.df, _UPPER) * np.where(e.error > _NO_SPREAD, e.error, np.nan)
    return Interval(np.maximum(e.value - half, least), np.minimum(e.value + half, most), _named("t", half))


def coefficient(e: Estimate) -> Interval:
    """Return the interval of a coefficient of agreement: percentiles, widened where clusters are few.

    They are as far out as Student's t is beyond 1.96 (Hesterberg 2015, doi:10.1080/00031305.2015.1089789); a resample
    of n varies less than a sample, by n - 1 over n. Where clusters cross, t. NaN where cases do not differ.
    """
    free = np.where(np.isnan(e.df), 1.0, e.df)
    reach = np.asarray(stdtrit(free, _UPPER) * np.sqrt((free + 1) / free), dtype=np.float64)
    if e.sampling.crossed is not None:
        return t(e)
    drawn = percentiles(e, reach)
    varies = (e.error > _NO_SPREAD) & (drawn[1] - drawn[0] > _NO_SPREAD)
    low, high = (np.where(varies, end, np.nan) for end in drawn)
    return Interval(low, high, _named("percentile", low))


def share_of_pairs(e: Estimate) -> Interval:
    """Return the interval of a mean over cases of shares of pairs: as of a coefficient, and Wilson's at 0 and 1."""
    certain, drawn, rarely = ~(e.error > _NO_SPREAD), coefficient(e), proportion(e)
    low, high = (np.where(certain, rarely[i], drawn[i]) for i in (0, 1))
    return Interval(np.maximum(low, 0.0), high, np.where(certain, "wilson", "percentile"))


def proportion(e: Estimate) -> Interval:
    """Return Wilson's interval of a share that may be 0 or 1, for as many independent cases as would have the error.

    Korn and Graubard (1998), Survey Methodology 24:193.
    """
    low, high = wilson(e.value, *_independent(e, e.value * (1 - e.value)))
    return Interval(np.minimum(low, e.value), np.maximum(high, e.value), _named("wilson", low))


def on_log(e: Estimate) -> Interval:
    """Return the t interval of a value above 0, such as a log loss, on the scale of its logarithm.

    Of a value that is hardly known it reaches from 0 to infinity.
    """
    half = stdtrit(e.df, _UPPER) * np.where(e.error > _NO_SPREAD, e.error, np.nan) / e.value
    with np.errstate(over="ignore"):
        return Interval(e.value * np.exp(-half), e.value * np.exp(half), _named("t", half))


def on_log_odds(e: Estimate) -> Interval:
    """Return the t interval of a value from 0 to 1, such as an area, on the scale of log odds; NaN at 0 and 1."""
    spread = np.where(e.value * (1 - e.value) > _NO_SPREAD, e.value * (1 - e.value), np.nan)
    half = stdtrit(e.df, _UPPER) * np.where(e.error > _NO_SPREAD, e.error, np.nan) / spread
    low, high = (expit(logit(np.where(np.isnan(spread), np.nan, e.value)) + side * half) for side in (-1, 1))
    return Interval(low, high, _named("t", half))


def lean(e: Estimate) -> Interval:
    """Return the interval of a mean of values from -1 to 1, such as a preference for one side, that a score test keeps.

    Tango (1998), doi:10.1002/(SICI)1097-0258(19980430)17:8<891::AID-SIM780>3.0.CO;2-B, found by halving.
    """
    forward = divide(np.maximum(e.quantity.adds[..., 0], 0.0).sum(axis=0), e.n)
    backward = forward - e.value
    size, z2 = _independent(e, forward + backward - e.value**2)
    ends = []
    for end in (-1.0, 1.0):
        kept, lost = e.value, np.full(e.value.shape, end)
        for _ in range(45):
            middle = (kept + lost) / 2
            linear = (2 - forward + backward) * middle - forward - backward
            root = np.sqrt(np.maximum(linear**2 + 8 * backward * middle * (1 - middle), 0.0))
            variance = np.maximum((root - linear) / 2 + middle * (1 - middle), 0.0)
            inside = (e.value - middle) ** 2 <= z2 / size * variance
            kept, lost = np.where(inside, middle, kept), np.where(inside, lost, middle)
        ends.append(np.where(np.isnan(size), np.nan, kept))
    return Interval(ends[0], ends[1], _named("score", ends[0]))


def wilson(value: FloatArray, size: FloatArray, z2: FloatArray | float = _Z**2) -> tuple[FloatArray, FloatArray]:
    """Return Wilson's interval (1927) of shares of so many cases, which need not be whole."""
    share = divide(np.broadcast_to(z2, np.shape(size)), size)
    centre, half = value + share / 2, np.sqrt(share * value * (1 - value) + share**2 / 4)
    return np.clip((centre - half) / (1 + share), 0.0, 1.0), np.clip((centre + half) / (1 + share), 0.0, 1.0)


def percentiles(e: Estimate, reach: FloatArray | float = _Z, wanted: BoolArray | bool = True) -> FloatArray:
    """Return percentiles of the bootstrap that many standard deviations out, of the cells wanted, shape (2, m).

    NaN where the bootstrap is mostly undefined, and where clusters cross, which that of one of them does not show.
    """
    out, wanted = np.full((2, len(e.value)), np.nan), np.broadcast_to(wanted, e.value.shape)
    if e.sampling.crossed is None and len(e.sampling.draws) and wanted.any():
        drawn = e.replicates
        known = np.isfinite(drawn).mean(axis=0)
        levels = np.broadcast_to(ndtr(-np.asarray(reach)), known.shape)
        for quantile, usable in ((np.quantile, known == 1), (np.nanquantile, (known >= 0.5) & (known < 1))):
            for level in np.unique(levels[usable & wanted]):
                columns = usable & wanted & (levels == level)
                own = drawn.T if columns.all() else drawn.T[columns]
                out[:, columns] = quantile(own, [level, 1 - level], axis=1)
    return out


def equivalent_size(value: FloatArray, variance: FloatArray, n: FloatArray) -> FloatArray:
    """Return how many right-or-wrong cases tell as much about a mean score as its n cases; n where they do not vary."""
    varies = variance > 1e-12
    return np.where(varies, divide(n * value * (1 - value), np.where(varies, variance, 1.0)), n)


def effective_size(e: Estimate) -> FloatArray:
    """Return how many independent right-or-wrong cases tell as much about a mean score, few clusters allowed for."""
    size = equivalent_size(e.value, e.variance, e.n)
    deff = design_effect(e.error, e.n, e.variance)
    deff = np.where(np.isfinite(deff), deff, divide((e.sizes**2).sum(axis=0), e.n))
    student = stdtrit(np.maximum(e.n - 1, 1.0), _UPPER) / stdtrit(e.df, _UPPER)
    found = divide(size, deff) * student**2
    known = (e.clusters >= 2) & ~np.isnan(e.error)
    return np.where(known, np.where(np.isnan(found), size, np.minimum(found, size)), np.nan)


def _independent(e: Estimate, spread: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return how many independent cases would have the error, and the squared quantile; clusters without an error."""
    certain = (spread < _NO_SPREAD) | (e.error < _NO_SPREAD)
    z2 = np.where(certain, _Z, stdtrit(e.df, _UPPER)) ** 2
    size = np.where(certain, e.clusters, divide(spread, np.where(certain, 1.0, e.error**2)))
    return np.where((e.clusters >= 2) & ~np.isnan(e.error), size, np.nan), z2


def _lacks_df(e: Estimate) -> BoolArray:
    return np.asarray((e.df < ENOUGH_DF) | (e.sampling.crossed is not None))


def _few(e: Estimate) -> BoolArray:
    """Where percentiles cover too little for want of clusters, and there is an error for t to go by."""
    return np.asarray(_lacks_df(e) & (e.error > _NO_SPREAD))


def _named(method: str, like: NDArray[np.floating]) -> NDArray[np.str_]:
    return np.full(np.shape(like), method)
