"""Many small logistic regressions at once, with standard errors that are robust to clusters."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import expit

from mrb_lib.stats.options import TINY, BoolArray, FloatArray, IntArray
from mrb_lib.stats.resampling.resample import indicator
from mrb_lib.stats.resampling.robust import t_quantile

NO_CASES = "no case can be used"
ONE_CHOICE = "undefined: the same on every case"
NO_VARIATION = "no interval: the cases do not differ"
COLLINEAR = "undefined: a predictor does not vary, or repeats the others"
SEPARATED = "undefined: a predictor decides the choice without exception, so that its log-odds are infinite"
FEW_CLUSTERS = "no interval: fewer clusters than ten for each predictor"
NO_INTERVAL = (NO_VARIATION, FEW_CLUSTERS)
CLUSTERS_A_PREDICTOR = 10

_ITERATIONS = 30
_CONVERGED = 1e-7
_LARGEST_STEP = 4.0
_SINGULAR = 1e-9


class LogisticFits(NamedTuple):
    """Logistic regressions with k coefficients; everything is NaN where `reason` says that a fit is undefined.

    Attributes
    ----------
    n : shape (m,), cases in each regression
    clusters : shape (m,), clusters they come from
    coefficient, error : shape (m, k), the estimates and their cluster-robust standard errors
    reason : shape (m,), why there is no estimate or no interval; empty where there is both
    """

    n: IntArray
    clusters: IntArray
    coefficient: FloatArray
    error: FloatArray
    reason: list[str]

    def interval(self, which: int) -> tuple[FloatArray, FloatArray]:
        """The 95% interval of one coefficient by Student's t with clusters - 1 degrees of freedom."""
        reach = self.error[:, which] * t_quantile(self.clusters.astype(np.float64))
        return self.coefficient[:, which] - reach, self.coefficient[:, which] + reach


def fit(x: FloatArray, y: FloatArray, codes: IntArray) -> LogisticFits:
    """Fit logistic regressions of a share on predictors, one a row of `y`.

    Parameters
    ----------
    x : the predictors with the constant among them, shape (1 or m, n, k), finite where `y` is
    y : shape (m, n), between 0 and 1 (a half is a tie or a judge that said both); NaN where a
        case is not in that regression
    codes : shape (n,), the cluster of each case, from 0

    Returns
    -------
    Fits

    Notes
    -----
    Maximum quasi-likelihood by Newton's method for a mean that is a share (Papke and Wooldridge,
    Journal of Applied Econometrics 1996, 11:619). Standard errors are the sandwich over clusters
    with the factor G/(G-1) (N-1)/(N-k), as in statsmodels, with which
    `tests/stats/bias/test_logistic.py` compares them.
    """
    member = members(codes)
    used = np.isfinite(y)
    n = used.sum(axis=1).astype(np.int64)
    clusters = ((used @ member) > 0).sum(axis=1).astype(np.int64)
    x = np.where(used[:, :, None], x, 0.0)
    y = np.where(used, y, 0.0)
    varies = (y.sum(axis=1) > 0) & (y.sum(axis=1) < n)
    identified = _identified(x)
    open_rows = np.flatnonzero(varies & identified)
    shape = (len(y), x.shape[2])
    coefficient, error = np.full(shape, np.nan), np.full(shape, np.nan)
    estimates, converged = _newton(x[open_rows], y[open_rows], used[open_rows])
    done = open_rows[converged]
    coefficient[done] = estimates[converged]
    error[done] = _sandwich(x[done], y[done], coefficient[done], member, clusters[done], n[done])
    separated = np.zeros(len(y), dtype=bool)
    separated[open_rows[~converged]] = True
    few = clusters < CLUSTERS_A_PREDICTOR * shape[1]
    error[few] = np.nan
    still: BoolArray = np.asarray((error < TINY).any(axis=1))
    error[still] = np.nan
    reason = [_reason(*row) for row in zip(n, varies, identified, separated, few, still, strict=True)]
    return LogisticFits(n, clusters, coefficient, error, reason)


def _reason(n: int, varies: bool, identified: bool, separated: bool, few: bool, still: bool) -> str:
    if n == 0:
        return NO_CASES
    if not varies:
        return ONE_CHOICE
    if not identified:
        return COLLINEAR
    if separated:
        return SEPARATED
    if few:
        return FEW_CLUSTERS
    return NO_VARIATION if still else ""


def members(codes: IntArray) -> sparse.csr_array:
    """Which case belongs to which cluster, shape (cases, clusters)."""
    _, position = np.unique(codes, return_inverse=True)
    return indicator(position.astype(np.int64), int(position.max(initial=-1)) + 1)


def _identified(x: FloatArray) -> BoolArray:
    """Whether the predictors of each regression are not collinear."""
    if not x.size:
        return np.zeros(len(x), dtype=bool)
    values = np.linalg.eigvalsh(np.swapaxes(x, 1, 2) @ x)
    return np.asarray(values[:, 0] > _SINGULAR * np.maximum(values[:, -1], 1e-300), dtype=np.bool_)


def _newton(x: FloatArray, y: FloatArray, used: BoolArray) -> tuple[FloatArray, BoolArray]:
    """The coefficients, shape (m, k), and whether they were reached: with separation they grow for ever."""
    coefficient = np.zeros((len(x), x.shape[2]))
    converged = np.zeros(len(x), dtype=bool)
    for _ in range(_ITERATIONS):
        rows = np.flatnonzero(~converged)
        if not len(rows):
            break
        of_rows = x if len(rows) == len(x) else x[rows]
        mean = expit((of_rows @ coefficient[rows][:, :, None])[:, :, 0])
        score = (np.swapaxes(of_rows, 1, 2) @ ((y[rows] - mean) * used[rows])[:, :, None])[:, :, 0]
        information = np.swapaxes(of_rows, 1, 2) @ (of_rows * (mean * (1 - mean))[:, :, None])
        scale = np.trace(information, axis1=1, axis2=2)[:, None, None]
        information += scale * 1e-13 * np.eye(x.shape[2]) + 1e-200 * np.eye(x.shape[2])
        step = np.linalg.solve(information, score[:, :, None])[:, :, 0]
        largest = np.abs(step).max(axis=1)
        step *= np.minimum(1.0, _LARGEST_STEP / np.maximum(largest, _LARGEST_STEP))[:, None]
        coefficient[rows] += step
        converged[rows[largest < _CONVERGED]] = True
    return coefficient, converged


def influence(x: FloatArray, y: FloatArray, coefficient: FloatArray) -> FloatArray:
    """What each case adds to the error of the coefficients, shape (m, n, k); cases that are not used have x = 0."""
    mean = expit((x @ coefficient[:, :, None])[:, :, 0])
    bread = np.linalg.inv(np.swapaxes(x, 1, 2) @ (x * (mean * (1 - mean))[:, :, None]))
    out: FloatArray = (x * (y - mean)[:, :, None]) @ bread
    return out


def cluster_sums(values: FloatArray, member: sparse.csr_array) -> FloatArray:
    """Sums over the cases of each cluster, from (m, n, k) to (m, clusters, k)."""
    m, n, k = values.shape
    if member.shape[1] == n:
        return values
    flat = np.asarray(np.swapaxes(values, 1, 2).reshape(m * k, n) @ member)
    return np.swapaxes(flat.reshape(m, k, -1), 1, 2)


def _sandwich(
    x: FloatArray,
    y: FloatArray,
    coefficient: FloatArray,
    member: sparse.csr_array,
    clusters: IntArray,
    n: IntArray,
) -> FloatArray:
    m, _, k = x.shape
    if not m:
        return np.empty((0, k))
    variance = (cluster_sums(influence(x, y, coefficient), member) ** 2).sum(axis=1)
    defined = (clusters > 1) & (n > k)
    factor = np.full(m, np.nan)
    factor[defined] = clusters[defined] / (clusters[defined] - 1) * (n[defined] - 1) / (n[defined] - k)
    out: FloatArray = np.sqrt(variance * factor[:, None])
    return out
