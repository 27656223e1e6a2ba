"""The inverse power law by which error falls with the number of training cases."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from mrb_lib.stats.estimation import FloatArray, divide

FEWEST_SIZES: Final = 4
EXPONENTS: Final = (0.05, 2.0)
FARTHEST: Final = 10.0
"""How many times the largest training set a curve may be read at."""
_GRID: Final = 196
_TINY: Final = 1e-9


class PowerLaw(NamedTuple):
    """The law error = asymptote + amplitude * (n / unit)^-exponent, each array of shape (m,).

    Attributes
    ----------
    asymptote : the error that no number of cases goes below, 0 to 1
    amplitude : what is left above it at `unit` cases; 0 where the error does not fall, and the exponent is then NaN
    exponent : within `EXPONENTS`
    unit : the number of cases at which amplitudes are stated, the smallest training set
    residual : root mean square of what the curve leaves over, as a fraction of cases
    """

    asymptote: FloatArray
    amplitude: FloatArray
    exponent: FloatArray
    unit: float
    residual: FloatArray

    def error(self, n: FloatArray) -> FloatArray:
        """The error at each of these numbers of cases, shape (m, len(n))."""
        falls = self.amplitude > _TINY
        power = np.where(falls, self.exponent, 1.0)[:, None]
        return np.asarray(self.asymptote[:, None] + self.amplitude[:, None] * (n / self.unit) ** -power)

    def cases_needed(self, error: float) -> FloatArray:
        """The number of cases at which the error is as low, shape (m,); infinite where it never is."""
        above = error - self.asymptote
        reached = (above > _TINY) & (self.amplitude > _TINY)
        ratio = divide(self.amplitude, np.where(reached, above, 0.0))
        with np.errstate(over="ignore"):
            out = self.unit * ratio ** (1 / np.where(reached, self.exponent, 1.0))
        # A curve that does not fall, and is below the error everywhere, has it from the first case on.
        return np.where(reached, out, np.where((above >= 0) & (self.amplitude <= _TINY), 0.0, np.inf))


def fit_power_law(n: FloatArray, error: FloatArray) -> PowerLaw:
    """Fit the law to many curves at the same numbers of cases by least squares.

    Parameters
    ----------
    n : shape (k,), numbers of training cases, of which at least `FEWEST_SIZES` differ
    error : shape (m, k), the error at each

    Notes
    -----
    Given the exponent the law is linear in the other two, so that it is enough to search over exponents (variable
    projection: Golub and Pereyra 1973, doi:10.1137/0710036). The asymptote is kept within 0 and 1 and the amplitude at
    0 or above. The law: Hestness et al. 2017, arXiv 1712.00409; with an asymptote, Cortes et al. 1993, Learning
    Curves, NIPS 6. Compared with `scipy.optimize.curve_fit` in tests/stats/tables/test_learning.py.
    """
    unit = float(n.min())
    grid = np.geomspace(*EXPONENTS, _GRID)
    shape = (n / unit) ** -grid[:, None]  # (exponents, k)
    asymptote, amplitude = _linear(shape, error)
    left = error[:, None] - asymptote[..., None] - amplitude[..., None] * shape
    square = (left**2).mean(axis=2)
    best = square.argmin(axis=1)
    rows = np.arange(len(error))
    falls = amplitude[rows, best] > _TINY
    return PowerLaw(
        np.where(falls, asymptote[rows, best], error.mean(axis=1)),
        np.where(falls, amplitude[rows, best], 0.0),
        np.where(falls, grid[best], np.nan),
        unit,
        np.sqrt(np.where(falls, square[rows, best], error.var(axis=1))),
    )


def _linear(shape: FloatArray, error: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Asymptote and amplitude of every curve for every exponent, shape (m, exponents), within their bounds."""
    centred = shape - shape.mean(axis=1, keepdims=True)
    spread = (centred**2).sum(axis=1)
    amplitude = np.maximum(error @ centred.T / spread, 0.0)
    asymptote = error.mean(axis=1)[:, None] - amplitude * shape.mean(axis=1)
    through_zero = np.maximum(error @ shape.T / (shape**2).sum(axis=1), 0.0)
    below = asymptote < 0
    return np.where(below, 0.0, np.minimum(asymptote, 1.0)), np.where(below, through_zero, amplitude)
