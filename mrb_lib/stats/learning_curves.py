"""Learning curves: accuracy of judges by the number of cases that they were trained on."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from mrb_lib.stats.estimation import FloatArray, Sampling, divide
from mrb_lib.stats.recipes import SizeSeries

SIZE, CURVE, FIT = "size", "curve", "fit"
FEW_SIZES: Final = "no curve: it has three unknowns and takes {} different numbers of training cases; there are {}"
NO_COMMON: Final = "no case is scored for all judges of the series that none of them was trained on"
NO_GROWTH: Final = "accuracy does not grow with the number of training cases, so that the curve has no exponent"
FEWEST_SIZES: Final = 4
EXPONENTS: Final = (0.05, 2.0)
FARTHEST: Final = 10.0
"""A curve is read up to this multiple of the largest training set."""
_GRID: Final = 196
_TINY: Final = 1e-9
BEYOND: Final = "no number of cases gives the wanted accuracy: the curve's limit is {:.3f}"
TOO_FAR: Final = (
    f"the wanted accuracy takes more than {FARTHEST:g} times the largest training set, where no curve can be read"
)
OPEN_END: Final = f"cases_needed may be more than {FARTHEST:g} times the largest training set, or not be reached at all"
ONE_TRAINING: Final = "intervals are over test cases: they do not hold what another training would change"
TWICE: Final = 2.0
_POINTS: Final = 25
_ENDS: Final = ("limit", "exponent", "cases_needed")


def series_rows(
    series: SizeSeries, values: FloatArray, sampling: Sampling, target: float | None
) -> list[dict[str, Any]]:
    """Return the rows `size` (of a judge), `curve` (of the law) and `fit` (of its points) of a series of judges.

    Parameters
    ----------
    values : shape (cases, judges), scores in the order of the series; NaN where a case does not count
    target : a wanted accuracy; None for none

    Notes
    -----
    The curve is an inverse power law with an asymptote, fitted to the accuracies on the cases that are scored for all
    judges of the series. Intervals are percentiles of the cluster bootstrap over cases; coverage over test cases is
    simulated in tests/simulation/test_learning.py.
    """
    sizes = np.array(series.sizes, dtype=np.float64)
    common = np.asarray(np.isfinite(values).all(axis=1), dtype=bool)
    own, k, n_sizes = sampling.take(common), len(sizes), len(np.unique(sizes))
    n, n_clusters = int(common.sum()), len(np.unique(own.codes))
    shared = {"recipe": series.recipe, "n": n, "n_excluded": len(common) - n, "n_clusters": n_clusters}
    shared |= {"n_sizes": n_sizes}
    judges = list(zip(series.judges, series.sizes, strict=True))
    if not n:
        none: list[dict[str, Any]] = [{"part": SIZE, "tuned": judge, "n_training": size} for judge, size in judges]
        return [{**shared, **row, "reason": NO_COMMON} for row in [*none, {"part": CURVE, "target": target}]]
    grid = np.geomspace(sizes.min(), TWICE * sizes.max(), _POINTS)
    is_fitted = n_sizes >= FEWEST_SIZES

    def estimates(sums: FloatArray) -> FloatArray:
        """Return accuracies of the judges, and of the curve its limit, exponent, cases needed, residual and values."""
        accuracy = sums[:, :-1] / sums[:, -1:]
        if not is_fitted:
            return np.asarray(accuracy)
        law = fit_power_law(sizes, 1 - accuracy)
        needed = np.full(len(accuracy), np.nan) if target is None else law.cases_needed(1 - target)
        return np.column_stack([accuracy, 1 - law.asymptote, law.exponent, needed, law.residual, 1 - law.error(grid)])

    sums = own.sums(np.column_stack([values[common], np.ones(n)]))
    found = estimates(sums.sum(axis=0)[None])[0]
    drawn = own.draws @ sums
    low, high = _percentiles(estimates(drawn[drawn[:, -1] > 0]), len(found), n_clusters)

    def row_of(part: str, i: int, **more: object) -> dict[str, Any]:
        ends = {"value_tuned": found[i], "value_tuned_low": low[i], "value_tuned_high": high[i]}
        return {**shared, "part": part, **ends, **more}

    rows = [row_of(SIZE, i, tuned=judge, n_training=size) for i, (judge, size) in enumerate(judges)]
    if not is_fitted:
        few = FEW_SIZES.format(FEWEST_SIZES, n_sizes)
        return [*rows, {**shared, "part": CURVE, "target": target, "reason": few}]
    last = len(found) - 1
    law = row_of(CURVE, last, n_training=round(TWICE * sizes.max()), target=target, residual=found[k + 3])
    for i, name in enumerate(_ENDS, start=k):
        law |= {name: found[i], f"{name}_low": low[i], f"{name}_high": high[i]}
    rows.append(_readable(law, FARTHEST * sizes.max()))
    return rows + [row_of(FIT, k + 4 + i, n_training=round(size)) for i, size in enumerate(grid)]


def _percentiles(replicates: FloatArray, m: int, n_clusters: int) -> tuple[FloatArray, FloatArray]:
    """Return the percentile interval of each estimate; NaN where most replicates are undefined."""
    ends = np.full((2, m), np.nan)
    if len(replicates) and n_clusters > 1:
        usable = (~np.isnan(replicates)).mean(axis=0) >= 0.5
        finite = np.where(np.isinf(replicates), np.finfo(np.float64).max, replicates)
        ends[:, usable] = np.nanquantile(finite[:, usable], [0.025, 0.975], axis=0)
    return ends[0], ends[1]


def _readable(law: dict[str, Any], farthest: float) -> dict[str, Any]:
    """Return the row of the curve without what it cannot tell, and why."""
    needed, high, limit = (float(law[name]) for name in ("cases_needed", "cases_needed_high", "limit"))
    reasons = [ONE_TRAINING]
    unknown: tuple[str, ...] = ()
    if np.isnan(law["exponent"]):
        reasons.append(NO_GROWTH)
        unknown = ("exponent", "cases_needed")
    elif law["target"] is not None and needed > farthest:
        reasons.append(BEYOND.format(limit) if np.isinf(needed) else TOO_FAR)
        unknown = ("cases_needed",)
    elif law["target"] is not None and high > farthest:
        reasons.append(OPEN_END)
        law["cases_needed_high"] = np.nan
    law |= {f"{name}{end}": np.nan for name in unknown for end in ("", "_low", "_high")}
    return {**law, "reason": "; ".join(reasons)}


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
