"""Logistic regression of being right on a group, given difficulty, for many judges and groups at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special

from mrb_lib.stats.difficulty.mantel_haenszel import MatchedCases, TwoGroups
from mrb_lib.stats.options import BoolArray, FloatArray, divide
from mrb_lib.stats.resampling.resample import CONFIDENCE

_STEPS, _CLOSE, _FAR = 30, 1e-8, 30.0
_MOST_LOG_ODDS = 12.0


class _Fit(NamedTuple):
    beta: FloatArray
    mean: FloatArray
    covariance: FloatArray
    deviance: FloatArray
    dispersion: FloatArray
    converged: FloatArray


def matched_logistic(
    data: TwoGroups, level: FloatArray, most: int, *, binary: bool, cases: MatchedCases | None = None
) -> dict[str, FloatArray]:
    """The effect of the first group on the log odds of being right, given difficulty, and its likelihood ratio test.

    Parameters
    ----------
    data : T comparisons; the group of interest is the first
    level : shape (K,), the number of judges that are right; none is above `most`
    most : the number of judges
    binary : scores are 0 or 1; otherwise the test and the interval are divided by the dispersion
    cases : the cases, where they come in clusters: the test is then Wald's with a covariance that sums over clusters

    Returns
    -------
    `logistic_effect`, `logistic_low`, `logistic_high`, `logistic_chi2` and `logistic_p`, each of shape (T,); NaN
    where an estimate is infinite or a group is empty

    Notes
    -----
    Statistics are referred to F and Student's t with as many degrees of freedom as there are cases less
    covariates: the chi square rejects 6.4% at 5% with 100 cases. Levels at which the judge is always right,
    or always wrong, say nothing about a difference and are left out, as in the Mantel-Haenszel test.
    Compared with statsmodels in `tests/stats/difficulty/test_dif.py`.
    """
    n, sums = data.n.sum(axis=1), data.sums.sum(axis=1)
    varies = (sums > 0) & (sums < n)
    data = TwoGroups(*(np.where(varies[:, None], values, 0.0) for values in data))
    share = np.minimum((level + 0.5) / (most + 1), 1 - 0.5 / (most + 1))
    columns = [np.ones(len(share)), np.log(share / (1 - share)), 2 * share - 1]
    if most < 3:
        columns = columns[:2]
    covariates = np.stack([np.stack([*columns, np.full(len(share), g)], axis=1) for g in (1.0, 0.0)])
    full, null = _fit(data, covariates), _fit(data, covariates[:, :, :-1])
    n = data.n.sum(axis=(1, 2))
    df = np.maximum(n - covariates.shape[2], 1)
    effect = full.beta[:, -1]
    if cases is None:
        dispersion = np.ones(len(n)) if binary else full.dispersion / df
        statistic = divide(np.maximum(null.deviance - full.deviance, 0.0), dispersion)
        se = np.sqrt(np.maximum(full.covariance[:, -1, -1] * dispersion, 0.0))
    else:
        df = cases.df()
        se = np.sqrt(_robust(full, covariates, varies, cases))
        statistic = divide(effect**2, se**2)
    p_value = special.fdtrc(1.0, df, statistic)
    reach = special.stdtrit(df, (1 + CONFIDENCE) / 2) * se
    sound = (full.converged > 0) & (null.converged > 0) & (np.abs(effect) < _MOST_LOG_ODDS)
    sound &= (data.n.sum(axis=2) > 0).all(axis=1) & np.isfinite(df)
    estimates = {
        "logistic_effect": effect,
        "logistic_low": effect - reach,
        "logistic_high": effect + reach,
        "logistic_chi2": statistic,
        "logistic_p": p_value,
    }
    return {name: np.where(sound, values, np.nan) for name, values in estimates.items()}


def _fit(data: TwoGroups, covariates: FloatArray) -> _Fit:
    """Newton's method on T regressions whose observations share their covariates, shape (2, K, p)."""
    flat = covariates.reshape(-1, covariates.shape[2])
    n, sums, squares = (values.reshape(len(values), -1) for values in data)
    p = flat.shape[1]
    products = (flat[:, :, None] * flat[:, None, :]).reshape(-1, p * p)
    beta, step = np.zeros((len(n), p)), np.full(len(n), np.inf)
    unit = 1e-9 * np.eye(p)
    information = np.broadcast_to(np.eye(p), (len(n), p, p))
    for _ in range(_STEPS):
        mean = special.expit(np.clip(beta @ flat.T, -_FAR, _FAR))
        information = ((n * mean * (1 - mean)) @ products).reshape(-1, p, p) + unit
        change = np.linalg.solve(information, ((sums - n * mean) @ flat)[:, :, None])[:, :, 0]
        step = np.abs(change).max(axis=1, initial=0.0)
        beta = beta + change * np.minimum(1.0, 3.0 / np.maximum(step, 1e-300))[:, None]
        if (step < _CLOSE).all():
            break
    mean = special.expit(np.clip(beta @ flat.T, -_FAR, _FAR))
    deviance = -2 * (sums * np.log(mean) + (n - sums) * np.log1p(-mean)).sum(axis=1)
    pearson = ((squares - 2 * mean * sums + n * mean**2) / (mean * (1 - mean))).sum(axis=1)
    inverse = np.linalg.inv(information).astype(np.float64, copy=False)
    return _Fit(beta, mean, inverse, deviance, pearson, (step < 1e-4).astype(np.float64))


def _robust(fit: _Fit, covariates: FloatArray, varies: BoolArray, cases: MatchedCases) -> FloatArray:
    """The variance of the last coefficient that sums over clusters, shape (T,); `varies` are the levels that count."""
    row = np.arange(len(varies))[:, None]
    used = (cases.level >= 0) & varies[row, np.maximum(cases.level, 0)]
    flat = np.where(used, cases.side * covariates.shape[1] + cases.level, 0)
    leverage = fit.covariance[:, -1] @ covariates.reshape(-1, covariates.shape[2]).T
    sums = cases.sums(np.where(used, leverage[row, flat] * (cases.value - fit.mean[row, flat]), 0.0))
    n_clusters = ((cases.sums(used) > 0).sum(axis=1)).astype(np.float64)
    out: FloatArray = (sums**2).sum(axis=1) * divide(n_clusters, n_clusters - 1)
    return out
