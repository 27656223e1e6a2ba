"""Tests that flip signs: what differences would look like if the judges compared could be exchanged."""

import numpy as np
from scipy.fft import irfft, next_fast_len

from mrb_lib.stats.estimation import FloatArray, IntArray, Sampling

NO_FLIPS = "no p: the test draws its flips of signs, and no resamples were asked for"
ONE_JUDGE, FEW_CASES = "there is one judge only", "fewer than two cases are scored for every judge"
ALIKE = "the judges do not differ on any case"
SAME_EVERYWHERE = "the differences between judges are the same in every cluster"
FEWEST_MID_P, _SMALLEST, _ROUNDING = 8, 1e-12, 1e-9


def whole_units(score: FloatArray) -> int:
    """The number of which all scores are whole multiples of its inverse; 240, to which others are rounded."""
    known = score[np.isfinite(score)]
    units = (1, 2, 4, 6, 8, 12, 16, 20, 24, 28, 32, 40, 48, 60, 80, 120)
    fitting = (unit for unit in units if np.abs(known * unit - np.rint(known * unit)).max(initial=0) < _ROUNDING)
    return next(fitting, 240)


def flip_p(gains: IntArray) -> FloatArray:
    """The two-sided p of each column's sum among all flips of the signs of its entries, exactly.

    Parameters
    ----------
    gains : shape (clusters, m), differences in whole units

    Notes
    -----
    A flipped sum has the characteristic function prod cos(t |gain|), whose Fourier transform are the probabilities of
    all sums (Pagano and Tritchler 1983, doi:10.1080/01621459.1983.10477990). Sums as far from 0 as the one observed
    count half (mid-p), with fewer than eight clusters in full.
    """
    tied = 1.0 if len(gains) < FEWEST_MID_P else 0.5
    sizes = np.unique(np.abs(gains[gains != 0]))
    times = np.array([(np.abs(gains) == size).sum(axis=0) for size in sizes]).reshape(len(sizes), gains.shape[1]).T
    reach = int((times @ sizes).max(initial=0.0))
    points = next_fast_len(2 * reach + 1, real=True)
    wave = np.cos(2 * np.pi / points * np.outer(sizes, np.arange(points // 2 + 1)))
    logs, is_negative = np.log(np.maximum(np.abs(wave), 1e-300)), (wave < 0).astype(np.float64)
    observed, out = np.abs(gains.sum(axis=0)), np.ones(gains.shape[1])
    for i in np.flatnonzero(observed):
        spectrum = np.exp(times[i] @ logs) * (1 - 2 * ((times[i] @ is_negative) % 2))
        chance = irfft(spectrum, points)  # of each sum; negative ones from the end
        out[i] = 2 * (chance[observed[i] + 1 : reach + 1].sum() + tied * chance[observed[i]])
    return np.clip(out, _SMALLEST, 1.0)


def flip_f(scores: FloatArray, sampling: Sampling, binary: bool, resamples: int, seed: int) -> list[dict[str, object]]:
    """Tests of all judges on complete scores, shape (cases, judges): the F of a repeated-measures analysis of variance
    of the clusters' sums, with its p over drawn flips of their signs; and Cochran's Q where scores are 0 or 1."""
    n, k = scores.shape
    names = ["cochran_q", "permutation_f"] if binary else ["permutation_f"]
    if k < 2 or n < 2 or (scores == scores[:, :1]).all():
        why = ONE_JUDGE if k < 2 else FEW_CASES if n < 2 else ALIKE
        return [{"test": name, "reason": why} for name in names]
    tests = []
    if binary:
        from statsmodels.stats.contingency_tables import cochrans_q

        q = cochrans_q(scores)
        tests = [{"test": "cochran_q", "statistic": q.statistic, "df": k - 1.0, "p_value": q.pvalue}]
    sums = sampling.sums(scores - scores.mean(axis=1, keepdims=True))
    m, observed = len(sums), float((sums.sum(axis=0) ** 2).sum())
    error = float((sums**2).sum()) - observed / m
    if m < 2 or error <= _ROUNDING * max(1.0, observed / m):
        return [*tests, {"test": "permutation_f", "reason": SAME_EVERYWHERE}]
    f = observed / m / (k - 1) / (error / ((k - 1) * (m - 1)))
    row = {"test": "permutation_f", "statistic": f, "df": k - 1.0, "df_error": (k - 1.0) * (m - 1)}
    if not resamples:
        row["reason"] = NO_FLIPS
    else:
        some = sums[(np.abs(sums) > _ROUNDING).any(axis=1)]
        flips = np.array_split(np.random.default_rng(seed).integers(0, 2, (resamples, len(some)), dtype=np.int8), 20)
        lengths = np.concatenate([(((2.0 * each - 1) @ some) ** 2).sum(axis=1) for each in flips])
        slack = _ROUNDING * max(1.0, observed)
        farther, as_far = (lengths > observed + slack).sum(), (np.abs(lengths - observed) <= slack).sum()
        row["p_value"] = (1 + farther + (1.0 if m < FEWEST_MID_P else 0.5) * as_far) / (1 + resamples)
    return [*tests, row]
