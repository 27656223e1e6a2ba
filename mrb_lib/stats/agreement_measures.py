"""What is estimated of the annotations of one dimension on one group of cases, and with which intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

import numpy as np
import pandas as pd

from mrb_lib.errors import InputError
from mrb_lib.schema import CONSENSUS, LEVELS, Level
from mrb_lib.stats import icc
from mrb_lib.stats.agreement_intervals import Influence, bootstrap_bounds, gradient, normal_interval, t_interval
from mrb_lib.stats.agreement_kernel import Kernel, scaled
from mrb_lib.stats.labels import Part
from mrb_lib.stats.measures import Measure, Resampled
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray
from mrb_lib.stats.pairwise import Pairs
from mrb_lib.stats.weighted import PairKernel

ENOUGH_SHARED = 10


class Interval(NamedTuple):
    """An estimate and its intervals, NaN where there is none: cluster bootstrap by percentiles and BCa, analytic."""

    value: float = np.nan
    low: float = np.nan
    high: float = np.nan
    bca_low: float = np.nan
    bca_high: float = np.nan
    analytic_low: float = np.nan
    analytic_high: float = np.nan

    def columns(self, name: str) -> dict[str, float]:
        """As columns of a table."""
        return {name: self.value} | {f"{name}_{end}": getattr(self, end) for end in BOUNDS}

    def without_bounds(self) -> Interval:
        """The estimate alone."""
        return Interval(self.value)


BOUNDS = Interval._fields[1:]


def kernels(annotations: pd.DataFrame, categories: Sequence[str], level: str) -> tuple[Kernel, PairKernel]:
    """The kernels of many annotators and of pairs for a level of measurement.

    Raises
    ------
    InputError
        The level is unknown.
    """
    if level not in LEVELS:
        raise InputError(f"level {level!r} is unknown; use one of {', '.join(LEVELS)}.")
    known = cast(Level, level)
    given = set(annotations.loc[annotations["annotator"] != CONSENSUS, "choice"].unique())
    used = np.array([name in given for name in categories], dtype=bool)
    values = scaled(categories, known)
    return Kernel(known, values, used), PairKernel(known, values, used)


def of_votes(part: Part, kernel: Kernel) -> Measure:
    """The coefficients that need no pairs of annotators."""
    return Measure(part.cases, kernel.case_statistics(part.votes), kernel.coefficients)


def of_pairs(part: Part, pairs: Pairs, kernel: PairKernel, *, mean: bool) -> Measure:
    """The coefficients of pairs of annotators, or the means of their kappas."""
    return Measure(part.cases, pairs.sums, kernel.mean_kappas if mean else kernel.coefficients)


def of_scores(part: Part, kernel: Kernel) -> Measure:
    """The intraclass correlations."""
    sums = icc.case_sums(part.position, part.annotator, kernel.values[part.choice], len(part.cases))
    return Measure(part.cases, sums, icc.coefficients)


def votes_intervals(found: Resampled, kernel: Kernel) -> list[Interval]:
    """Of percent agreement, Fleiss' kappa, alpha, AC1 and AC2, in the order of `agreement_kernel.COEFFICIENTS`."""
    total = found.measure.total()
    sums = np.asarray(found.sums, dtype=np.float64)
    slope = gradient(kernel._replace(finite=False).coefficients, total[0])
    paired = int((sums[:, 0] > 0).sum())
    annotated = int((sums[:, 3 : 3 + len(kernel.values)].sum(axis=1) > 0).sum())
    value, influence = kernel.coefficients(total)[0], Influence.of(sums, slope)
    clusters = np.array([paired, annotated, paired, annotated, annotated])
    return _rows(found, value, influence, t_interval(value, influence.square, clusters))


def mean_kappa_intervals(found: Resampled, kernel: PairKernel, clusters: int, independent: bool) -> list[Interval]:
    """Of the means over pairs of annotators of Cohen's kappa and its weighted forms."""
    total = found.measure.total()
    value = kernel.mean_kappas(total)[0]
    slopes = kernel.gradients(total)[1 : 1 + len(value)]
    defined = np.isfinite(slopes).all(axis=2, keepdims=True)
    slope = np.where(defined, slopes, 0.0) * (defined / np.maximum(defined.sum(axis=1, keepdims=True), 1))
    influence = Influence.of(found.sums, slope.reshape(len(slope), -1).T)
    analytic = kappa_interval(value, influence.square, np.full(len(value), clusters), independent)
    return _rows(found, value, influence, analytic)


def icc_intervals(found: Resampled, independent: bool, seed: int) -> tuple[list[Interval], dict[str, float], bool]:
    """Of ICC(2,1) and ICC(2,k); the generalized intervals as columns; and whether every annotator scored every case."""
    total = found.measure.total()
    squares = icc.Squares.of(total)
    value = icc.coefficients(total)[0]
    k = squares.per_case
    by_f = icc.f_intervals(squares) if independent else (np.full(1, np.nan), np.full(1, np.nan))
    low, high = (np.hstack([bound, icc.stepped_up(bound, k)]) for bound in by_f)
    columns = {}
    if np.isfinite(low[0]):
        for end, bound in zip(("low", "high"), icc.generalized_interval(squares, seed), strict=True):
            columns[f"icc_2_1_generalized_{end}"] = bound
            columns[f"icc_2_k_generalized_{end}"] = float(icc.stepped_up(np.array([bound]), k)[0])
    influence = Influence.of(found.sums, gradient(icc.coefficients, total[0]))
    return _rows(found, value, influence, (low, high)), columns, bool(squares.complete[0])


def kappa_interval(
    value: FloatArray, variance: FloatArray, clusters: IntArray, independent: bool | BoolArray
) -> tuple[FloatArray, FloatArray]:
    """Of kappas: the large-sample interval where each case is a cluster of its own, else Student's t of clusters."""
    customary = normal_interval(value, variance, clusters)
    clustered = t_interval(value, variance, clusters)
    return (
        np.where(independent, customary[0], clustered[0]),
        np.where(independent, customary[1], clustered[1]),
    )


def _rows(
    found: Resampled, value: FloatArray, influence: Influence, analytic: tuple[FloatArray, FloatArray]
) -> list[Interval]:
    drawn = bootstrap_bounds(found.replicates, value, influence.acceleration)
    table = np.stack([value, *drawn, *analytic])
    table[:, np.isnan(value)] = np.nan
    return [Interval(*column) for column in table.T.tolist()]
