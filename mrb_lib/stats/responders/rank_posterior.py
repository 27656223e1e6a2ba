"""True rankings that two estimated ones leave possible: draws of both sets of strengths. Arrays in, arrays out.

Estimated strengths hold noise, so that their rank correlation is nearer to 0 than that of the true strengths, and no
resampling, which adds noise, comes back. Here noise is taken off: responders are a sample of a population in which the
true log strengths of the two sources are jointly normal, with unknown spreads and correlation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import helmert

from mrb_lib.stats.core.options import FloatArray

DRAWS = 1000
_SPREADS = 5
_GRID = 200
_LEAST, _MOST = 1e-3, 30.0
_CORRELATIONS = np.tanh(np.linspace(-4.0, 4.0, 161))


class _Spread(NamedTuple):
    """Equally probable values of one source's spread, and the log likelihood of its strengths at each."""

    value: FloatArray
    log_likelihood: FloatArray


def posterior_draws(
    first: FloatArray, second: FloatArray, covariance: FloatArray, *, seed: int = 0
) -> tuple[FloatArray, FloatArray]:
    """Draws of the true log strengths of two sources from their posterior, each of shape (DRAWS, r).

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
    r = len(first)
    contrast = helmert(r)
    k = r - 1
    both = np.kron(np.eye(2), contrast)
    y = both @ np.concatenate([first, second])
    noise = both @ covariance @ both.T
    noise = (noise + noise.T) / 2
    sides = _spread(y[:k], noise[:k, :k]), _spread(y[k:], noise[k:, k:])
    generator = np.random.default_rng([seed, r])
    value, vectors = np.linalg.eigh(noise)
    root = vectors * np.sqrt(np.maximum(value, 0.0))
    cells = [(i, j) for i in range(_SPREADS) for j in range(_SPREADS)]
    made, weight = [], np.empty((len(cells), len(_CORRELATIONS)))
    swapped = np.kron(np.array([[0.0, 1.0], [1.0, 0.0]]), np.eye(k))
    for cell, (i, j) in enumerate(cells):
        spread = np.repeat([sides[0].value[i], sides[1].value[j]], k)
        triangle = np.linalg.cholesky(noise + np.diag(spread**2))
        inverse = np.linalg.inv(triangle)
        across = inverse @ (spread[:, None] * swapped * spread) @ inverse.T
        shift, vectors = np.linalg.eigh((across + across.T) / 2)
        turned = vectors.T @ inverse
        scale = 1 + _CORRELATIONS[:, None] * shift
        weight[cell] = (
            -0.5 * (np.log(scale) + (turned @ y) ** 2 / scale).sum(axis=1)
            - np.log(np.diag(triangle)).sum()
            - sides[0].log_likelihood[i]
            - sides[1].log_likelihood[j]
        )
        made.append((spread, turned, scale))
    # The arcsine density, where correlations are evenly spaced on Fisher's scale.
    share = np.exp(weight - weight.max()) * np.sqrt(1 - _CORRELATIONS**2)
    position = np.searchsorted(share.cumsum() / share.sum(), (np.arange(DRAWS) + 0.5) / DRAWS)
    cell_of, rho_of = np.divmod(np.minimum(position, share.size - 1), len(_CORRELATIONS))
    normal = generator.standard_normal((2, DRAWS, 2 * k))
    error = normal[0] @ root.T
    drawn = np.empty((DRAWS, 2 * k))
    for cell in np.unique(cell_of):
        (spread, turned, scale), here = made[cell], np.flatnonzero(cell_of == cell)
        rho = _CORRELATIONS[rho_of[here], None]
        true = normal[1, here]
        true[:, k:] = rho * true[:, :k] + np.sqrt(1 - rho**2) * true[:, k:]
        true *= spread
        back = ((y - true - error[here]) @ turned.T / scale[rho_of[here]]) @ turned
        back *= spread
        drawn[here] = true + spread * (back + rho * (back @ swapped))
    return drawn[:, :k] @ contrast, drawn[:, k:] @ contrast


def _spread(y: FloatArray, noise: FloatArray) -> _Spread:
    """Quantiles of the posterior of the spread of true values, of which `y` are estimates with that covariance."""
    value, vectors = np.linalg.eigh(noise)
    value, z = np.maximum(value, 0.0), vectors.T @ y
    scale = np.sqrt(max(float(y @ y) / len(y), float(value.mean())))
    grid = scale * np.geomspace(_LEAST, _MOST, _GRID)
    total = value + grid[:, None] ** 2
    log_likelihood = -0.5 * (np.log(total) + z**2 / total).sum(axis=1)
    share = np.exp(log_likelihood - log_likelihood.max()) * grid
    below = (np.cumsum(share) - share / 2) / share.sum()
    spread = np.exp(np.interp((np.arange(_SPREADS) + 0.5) / _SPREADS, below, np.log(grid)))
    return _Spread(spread, np.interp(np.log(spread), np.log(grid), log_likelihood))
