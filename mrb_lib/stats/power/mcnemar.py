"""Power of McNemar's exact test, and the cases it takes: arrays in, arrays out.

The number of discordant cases is binomial; given it, the test is of a coin. Its power is the mean over that number.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy import special

from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, divide

_SPREAD = 6.0
_CLOSE = 1e-6
_SMOOTH = 3.0


def connors_cases(discordance: FloatArray, difference: FloatArray, level: float, power: float) -> FloatArray:
    """The cases that McNemar's test without correction takes for a difference, by its normal approximation.

    NaN where the difference is larger than the discordance, which cannot be.

    Notes
    -----
    Connor (1987), Biometrics 43(1), 207-211, doi:10.2307/2531961, after Miettinen (1968). Published examples:
    `tests/published/test_power.py`. The exact test takes some more; from here the search for them starts.
    """
    rest = discordance - difference**2
    spread = np.sqrt(np.where((rest > 0) & (difference <= discordance), rest, np.nan))
    z = float(special.ndtri(1 - level / 2))
    root: FloatArray = divide(z * np.sqrt(discordance) + special.ndtri(power) * spread, difference)
    return np.asarray(root**2)


def exact_power(n: IntArray, discordance: FloatArray, difference: FloatArray, level: float) -> FloatArray:
    """The power of McNemar's exact test at a two-sided level; NaN where the difference exceeds the discordance.

    Parameters
    ----------
    n : shape (m,), cases
    discordance : shape (m,), the share of cases that one of the two judges has right
    difference : shape (m,), the true difference of the shares that the one and the other have right

    Notes
    -----
    Compared with the sum over all tables of small benchmarks in `tests/stats/power/test_power.py`.
    """
    middle, spread = n * discordance, np.sqrt(n * discordance * (1 - discordance))
    low = np.floor(np.fmax(middle - _SPREAD * spread, 0.0)).astype(np.int64)
    width = int(np.ceil(2 * _SPREAD * spread.max(initial=0.0))) + 2
    number = low[:, None] + np.arange(width)
    weight = _binomial(number, n[:, None], discordance[:, None])
    share = (1 + divide(difference, discordance)) / 2
    most = _most_losses(number, level)
    found = np.zeros(number.shape)
    for chance in (share, 1 - share):
        found += np.where(most >= 0, special.bdtr(np.fmax(most, 0.0), number, np.clip(chance, 0.0, 1.0)[:, None]), 0.0)
    return np.where(difference <= discordance, (weight * found).sum(axis=1) / weight.sum(axis=1), np.nan)


def _binomial(k: IntArray, n: IntArray, p: FloatArray) -> FloatArray:
    ways = special.gammaln(n + 1.0) - special.gammaln(k + 1.0) - special.gammaln(np.fmax(n - k, 0.0) + 1.0)
    return np.where(k <= n, np.exp(ways + special.xlogy(k, p) + special.xlog1py(np.fmax(n - k, 0.0), -p)), 0.0)


def _most_losses(number: IntArray, level: float) -> FloatArray:
    """The most of the rarer kind of so many discordant cases whose exact p is at most the level; -1 if none is."""
    unique, position = np.unique(number, return_inverse=True)
    guess = np.floor(unique / 2 + special.ndtri(level / 2) * np.sqrt(unique) / 2) + 2
    most = np.full(len(unique), -1.0)
    for count in range(6):  # the normal approximation errs by less
        k = guess - count
        fits = (most < 0) & (k >= 0) & (2 * special.bdtr(np.fmax(k, 0.0), unique, 0.5) <= level) & (k < unique / 2)
        most = np.where(fits, k, most)
    return np.asarray(most[position].reshape(number.shape))


def exact_detectable(n: IntArray, discordance: FloatArray, level: float, power: float) -> FloatArray:
    """The smallest difference that McNemar's exact test finds with that power; NaN where there is none."""
    from scipy.optimize.elementwise import find_root  # slow to load

    kinds, position = np.unique(np.stack([n.astype(np.float64), discordance]), axis=1, return_inverse=True)
    cases, shares = kinds
    out = np.full(len(cases), np.nan)
    usable = np.flatnonzero((shares > 0) & (cases > 0))
    all_one_way = exact_power(cases[usable].astype(np.int64), shares[usable], shares[usable], level)
    usable = usable[all_one_way >= power]
    if len(usable):
        surplus = partial(_surplus, level=level, power=power)
        ends = np.zeros(len(usable)), shares[usable]
        out[usable] = find_root(surplus, ends, args=(cases[usable], shares[usable]), tolerances={"xatol": _CLOSE}).x
    return np.asarray(out[position.reshape(-1)])


def _surplus(
    difference: FloatArray, cases: FloatArray, shares: FloatArray, *, level: float, power: float
) -> FloatArray:
    return exact_power(cases.astype(np.int64), shares, np.minimum(difference, shares), level) - power


def exact_cases(discordance: FloatArray, difference: FloatArray, level: float, power: float) -> FloatArray:
    """The fewest cases from which on McNemar's exact test finds a difference; NaN where none can be as large.

    The power rises with the cases in saw teeth, since the losses that the test allows are whole numbers: with nearly
    all cases discordant an additional one may cost .07. Where the discordant cases vary by more than `_SMOOTH` the
    teeth are smoothed out and halving finds the fewest; elsewhere the last number of cases that falls short is sought.
    """
    start = connors_cases(discordance, difference, level, power)
    usable = np.flatnonzero(np.isfinite(start))
    out = np.full(len(start), np.nan)
    few, most = np.zeros(len(usable)), 2 * np.ceil(start[usable]) + 2 / difference[usable] + 20
    share, wanted = discordance[usable], difference[usable]
    while (most - few > 1).any():
        half: FloatArray = np.where(most - few > 1, np.floor((few + most) / 2), most)
        reached: BoolArray = exact_power(half.astype(np.int64), share, wanted, level) >= power
        few, most = np.where(reached, few, half), np.where(reached, half, most)
    varies = np.sqrt(most * share * (1 - share)) > _SMOOTH
    for i in np.flatnonzero(~varies):
        n = np.arange(most[i], 1.5 * most[i] + 30).astype(np.int64)
        short = n[exact_power(n, np.full(len(n), share[i]), np.full(len(n), wanted[i]), level) < power]
        most[i] = short.max(initial=int(most[i]) - 1) + 1
    out[usable] = most
    return out
