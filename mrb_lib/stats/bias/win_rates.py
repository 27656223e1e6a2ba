"""Win rates of responders as if both responses were of one length."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.special import expit

from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, divide
from mrb_lib.stats.resampling.resample import indicator
from mrb_lib.stats.resampling.robust import t_quantile

FEW_CASES = "no interval: fewer than ten cases or clusters"
ALWAYS_ONE = "length_controlled is undefined: one responder always won"
NOT_FITTED = "length_controlled is undefined: length and responder cannot be told apart"
_FEWEST = 10
_ITERATIONS = 30
_CONVERGED = 1e-6  # the step: the error left is of the order of its square
_LARGEST_STEP = 4.0


class ResponderPairs(NamedTuple):
    """The pairs of responders of a benchmark.

    Attributes
    ----------
    names : the two responders of each pair, by name
    cases : shape (n,), positions of the cases of two named, different responders
    pair : shape (n,), the pair of each
    sign : shape (n,), 1 where response A is the first named's, -1 where B is
    """

    names: list[tuple[str, str]]
    cases: IntArray
    pair: IntArray
    sign: FloatArray


class WinRates(NamedTuple):
    """How often the first responder of each pair won, each array of shape (rows, pairs); NaN where undefined.

    Attributes
    ----------
    n, clusters : cases with a choice, and the clusters they are from
    raw : the share won, ties half
    value, low, high : the share that would be won at equal length, and its 95% interval
    separated : the coefficients of that row have no finite estimate
    """

    n: IntArray
    clusters: IntArray
    raw: FloatArray
    value: FloatArray
    low: FloatArray
    high: FloatArray
    separated: BoolArray

    def reason(self, row: int, pair: int) -> str | None:
        """Why something is null."""
        if 0 < self.raw[row, pair] < 1:
            if self.separated[row]:
                return NOT_FITTED
            return FEW_CASES if np.isnan(self.low[row, pair]) else None
        return ALWAYS_ONE


def responder_pairs(cases: pd.DataFrame) -> ResponderPairs:
    """Find who met whom; nobody where the cases do not name their responders."""
    none = np.zeros(0, dtype=np.int64)
    if not {"model_a", "model_b"} <= set(cases.columns):
        return ResponderPairs([], none, none, none.astype(np.float64))
    models = cases[["model_a", "model_b"]].astype(object)
    kept = np.flatnonzero(models.notna().all(axis=1).to_numpy() & (models["model_a"] != models["model_b"]).to_numpy())
    a, b = (models[name].iloc[kept].map(str).to_numpy(dtype=object) for name in models)
    forward = np.array([first < second for first, second in zip(a, b, strict=True)], dtype=bool)
    ordered = pd.MultiIndex.from_arrays([np.where(forward, a, b), np.where(forward, b, a)])
    pair, names = pd.factorize(ordered, sort=True)
    return ResponderPairs(
        [(str(x), str(y)) for x, y in names], kept, pair.astype(np.int64), np.where(forward, 1.0, -1.0)
    )


def win_rates(won: FloatArray, longer: FloatArray, pair: IntArray, codes: IntArray, n_pairs: int) -> WinRates:
    """Estimate win rates at equal length.

    Parameters
    ----------
    won : shape (rows, n), the share of the verdicts on a case that the pair's first responder won; NaN for no choice
    longer : shape (n,), by how much its response is the longer, any increasing measure that is 0 at equal length
    pair : shape (n,), the pair of each case
    codes : shape (n,), the cluster of each case

    Notes
    -----
    logit P(first wins) = strength of the pair + slope x longer, the slope shared by all pairs of a row, evaluated
    at longer = 0: the length term of AlpacaEval 2 (Dubois, Galambosi, Liang, Hashimoto, arXiv 2404.04475), without
    its instruction difficulty and penalty, which need their own data. Intervals are on the logit scale, by
    the sandwich over clusters. Compared with statsmodels in `tests/stats/bias/test_bias.py`.
    """
    member = indicator(pair, n_pairs)
    used = np.isfinite(won)
    y = np.where(used, won, 0.0)
    n = np.asarray(used @ member)
    raw = divide(np.asarray(y @ member), n)
    open_pairs = (raw > 0) & (raw < 1)
    used &= open_pairs[:, pair]
    strength, slope, converged = _newton(y, used, longer, pair, member)
    error, clusters = _errors(y, used, longer, pair, member, codes, (strength, slope))
    defined = open_pairs & converged[:, None]
    strength = np.where(defined, strength, np.nan)
    bounded = defined & (n >= _FEWEST) & (clusters >= _FEWEST)
    reach = np.where(bounded, error, np.nan) * t_quantile(np.where(bounded, clusters, 0.0))
    value, low, high = expit(strength), expit(strength - reach), expit(strength + reach)
    return WinRates(n.astype(np.int64), clusters, raw, value, low, high, ~converged)


def _weights(
    used: BoolArray,
    longer: FloatArray,
    pair: IntArray,
    member: sparse.csr_array,
    strength: FloatArray,
    slope: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """The mean of each case, and the information: of the pairs, shared with the slope, of the slope beyond that."""
    mean = expit(strength[:, pair] + slope[:, None] * longer)
    weight = mean * (1 - mean) * used
    own = np.maximum(np.asarray(weight @ member), 1e-200)
    cross = np.asarray((weight * longer) @ member) / own
    rest = (weight * longer**2).sum(axis=1) - (cross**2 * own).sum(axis=1)
    return mean, own, cross, rest


def _newton(
    y: FloatArray, used: BoolArray, longer: FloatArray, pair: IntArray, member: sparse.csr_array
) -> tuple[FloatArray, FloatArray, BoolArray]:
    strength, slope = np.zeros((len(y), member.shape[1])), np.zeros(len(y))
    converged = np.zeros(len(y), dtype=bool)
    for _ in range(_ITERATIONS):
        mean, own, cross, rest = _weights(used, longer, pair, member, strength, slope)
        residual = (y - mean) * used
        score = np.asarray(residual @ member)
        identified = rest > 1e-9
        step = ((residual * longer).sum(axis=1) - (cross * score).sum(axis=1)) / np.where(identified, rest, np.inf)
        steps = np.where(own > 1e-150, score / own - cross * step[:, None], 0.0)
        largest = np.maximum(np.abs(step), np.abs(steps).max(axis=1, initial=0.0))
        shrink = np.minimum(1.0, _LARGEST_STEP / np.maximum(largest, _LARGEST_STEP))
        slope = slope + step * shrink
        strength = strength + steps * shrink[:, None]
        converged = identified & (largest < _CONVERGED)
        if (converged | ~identified).all():
            break
    return strength, slope, converged


def _errors(
    y: FloatArray,
    used: BoolArray,
    longer: FloatArray,
    pair: IntArray,
    member: sparse.csr_array,
    codes: IntArray,
    coefficients: tuple[FloatArray, FloatArray],
) -> tuple[FloatArray, IntArray]:
    """The standard errors of the strengths, shape (rows, pairs), and the clusters that each pair's cases are from."""
    mean, own, cross, rest = _weights(used, longer, pair, member, *coefficients)
    residual = (y - mean) * used
    defined = rest > 1e-9
    slope_part = residual * (longer - cross[:, pair]) / np.where(defined, rest, np.inf)[:, None]
    own_part = residual / own[:, pair]
    _, cluster = np.unique(codes, return_inverse=True)
    cells, cell = np.unique(cluster * member.shape[1] + pair, return_inverse=True)
    by_cell = indicator(cell, len(cells))
    of_pair = indicator(cells % member.shape[1], member.shape[1])
    total = np.asarray(slope_part @ indicator(cluster, int(cluster.max(initial=-1)) + 1))
    inside = np.asarray(own_part @ by_cell)
    variance = np.asarray(inside**2 @ of_pair)
    variance -= 2 * cross * np.asarray((inside * total[:, cells // member.shape[1]]) @ of_pair)
    variance += cross**2 * (total**2).sum(axis=1)[:, None]
    clusters = np.asarray(((used @ by_cell) > 0) @ of_pair).astype(np.int64)
    everyone = ((used @ indicator(cluster, total.shape[1])) > 0).sum(axis=1)
    n, k = used.sum(axis=1), (np.asarray(used @ member) > 0).sum(axis=1) + 1
    factor = divide(everyone * (n - 1.0), (everyone - 1.0) * (n - k))
    return np.sqrt(np.maximum(variance, 0.0) * factor[:, None]), clusters
