"""True rankings that two estimated ones leave possible: draws of both sets of strengths. Arrays in, arrays out.

Estimated strengths hold noise, so that their rank correlation is nearer to 0 than that of the true strengths, and no
resampling, which adds noise, comes back. Here noise is taken off: responders are a sample of a population in which the
true log strengths of the two sources are jointly normal, with unknown spreads and correlation.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.linalg import helmert

from mrb_lib.stats.options import FloatArray

DRAWS = 1000
_SPREADS = 5
_GRID = 200
_LEAST, _MOST = 1e-3, 30.0
_CORRELATIONS = np.tanh(np.linspace(-4.0, 4.0, 81))


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
    value, vectors = np.linalg.eigh(noise)
    root = vectors * np.sqrt(np.maximum(value, 0.0))
    i, j = np.divmod(np.arange(_SPREADS**2), _SPREADS)
    spread = np.repeat(np.stack([sides[0].value[i], sides[1].value[j]], axis=1), k, axis=1)
    triangle = np.linalg.cholesky(noise + spread[:, :, None] ** 2 * np.eye(2 * k))
    inverse = np.linalg.inv(triangle)
    swapped = np.roll(np.arange(2 * k), k)
    across = inverse @ (spread[:, :, None] * spread[:, swapped, None] * inverse.swapaxes(1, 2)[:, swapped])
    shift, vectors = np.linalg.eigh((across + across.swapaxes(1, 2)) / 2)
    turned = vectors.swapaxes(1, 2) @ inverse
    scale = 1 + _CORRELATIONS[:, None] * shift[:, None]
    weight = -0.5 * (np.log(scale).sum(axis=2) + (1 / scale @ ((turned @ y) ** 2)[:, :, None])[:, :, 0])
    weight -= np.log(np.diagonal(triangle, axis1=1, axis2=2)).sum(axis=1)[:, None]
    weight -= (sides[0].log_likelihood[i] + sides[1].log_likelihood[j])[:, None]
    # The arcsine density, where correlations are evenly spaced on Fisher's scale.
    share = np.exp(weight - weight.max()) * np.sqrt(1 - _CORRELATIONS**2)
    position = np.searchsorted(share.cumsum() / share.sum(), (np.arange(DRAWS) + 0.5) / DRAWS)
    cell_of, rho_of = np.divmod(np.minimum(position, share.size - 1), len(_CORRELATIONS))
    normal = _normal(seed, r)
    error = normal[0] @ root.T
    rho = _CORRELATIONS[rho_of, None]
    true = normal[1].copy()
    true[:, k:] = rho * true[:, :k] + np.sqrt(1 - rho**2) * true[:, k:]
    true *= spread[cell_of]
    rest, back = y - true - error, np.empty_like(true)
    for cell in np.unique(cell_of):
        here = cell_of == cell
        back[here] = (rest[here] @ turned[cell].T / scale[cell, rho_of[here]]) @ turned[cell]
    back *= spread[cell_of]
    drawn = true + spread[cell_of] * (back + rho * back[:, swapped])
    return drawn[:, :k] @ contrast, drawn[:, k:] @ contrast


@lru_cache(maxsize=4)
def _normal(seed: int, r: int) -> FloatArray:
    """Standard normal draws for two sources of r strengths, the same for every two of them; not to be written to."""
    drawn = np.random.default_rng([seed, r]).standard_normal((2, DRAWS, 2 * (r - 1)))
    drawn.flags.writeable = False
    return drawn


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
