"""The one estimator: a quantity is a function of sums over cases.

A table says what each case adds to a few sums, and what the sums make: a mean is score over count, kappa is made of the
cells of a confusion matrix. Everything else follows, for all cells of a table (judge x dimension, or pair of judges) at
once: the estimate, how far each case moves it, its standard error over clusters, its degrees of freedom, its bootstrap.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from mrb_lib.stats.clusters import MOST_OF_ONE, n_clusters, resampling_unit
from mrb_lib.stats.options import BoolArray as BoolArray
from mrb_lib.stats.options import FloatArray as FloatArray
from mrb_lib.stats.options import IntArray as IntArray
from mrb_lib.tables.errors import InputError

Statistic = Callable[[NDArray[Any]], NDArray[Any]]
"""From sums of shape (..., k) to values of shape (...), by arithmetic only, so that complex steps differentiate it."""
_TINY, _STEP = 1e-12, 1e-30


def divide(numerator: NDArray[Any], denominator: NDArray[Any]) -> NDArray[Any]:
    """Return the ratio, NaN where nothing is counted."""
    defined = np.real(denominator) > _TINY
    if np.all(defined):
        return np.asarray(numerator / denominator)
    return np.where(defined, numerator / np.where(defined, denominator, 1.0), np.nan)


def ratio(sums: NDArray[Any]) -> NDArray[Any]:
    """Return the first sum over the second: a mean, where the second counts cases."""
    return divide(sums[..., 0], sums[..., 1])


def average(values: FloatArray, axis: int = 0) -> FloatArray:
    """Return the mean of what is known along an axis, NaN where nothing is."""
    return divide(np.nansum(values, axis=axis), np.isfinite(values).sum(axis=axis))


@dataclass(frozen=True)
class Sampling:
    """Clusters of cases that vary together, and how often each resample draws each cluster.

    Attributes
    ----------
    codes : shape (n,), the cluster of each case, 0 to the number of clusters - 1
    draws : shape (resamples, clusters), the same for every table of an analysis, so that differences are paired
    crossed : shape (n,), the cluster of each case by a second column that crosses the first; None without one
    """

    codes: IntArray
    draws: FloatArray
    crossed: IntArray | None = None

    @classmethod
    def of(cls, cases: pd.DataFrame, cluster: str | None, resamples: int, seed: int) -> Sampling:
        """Draw the clusters of all cases with replacement; see `mrb_lib.stats.clusters.resampling_unit`."""
        unit = resampling_unit(cases, cluster)
        return cls(unit.codes, drawn(n_clusters(unit.codes), resamples, seed), unit.crossed)

    @property
    def is_independent(self) -> bool:
        """True if every case is a cluster of its own."""
        return self.crossed is None and len(np.unique(self.codes)) == len(self.codes)

    def take(self, cases: IntArray | BoolArray) -> Sampling:
        """Return the sampling of some cases, under the same draws."""
        clusters, codes = np.unique(self.codes[cases], return_inverse=True)
        crossed = None if self.crossed is None else np.unique(self.crossed[cases], return_inverse=True)[1]
        own = self.draws.T  # its rows are taken in a tenth of the time; of all clusters they need no copy
        return Sampling(codes, (own if len(clusters) == len(own) else own[clusters]).T, crossed)

    def sums(self, values: NDArray[Any]) -> FloatArray:
        """Sum over the cases of each cluster, from (n, ...) to (clusters, ...)."""
        return sums_by(self.codes, values)


def drawn(m: int, resamples: int, seed: int) -> FloatArray:
    """Return how often each resample draws each of m clusters, shape (resamples, m).

    Raises
    ------
    InputError
        `resamples` is negative.
    """
    if resamples < 0:
        raise InputError(f"resamples {resamples}: must not be negative; 2000 is the default, 0 gives no intervals.")
    generator, times = np.random.default_rng(seed), np.empty((m, resamples))
    for i in range(resamples):
        times[:, i] = np.bincount(generator.integers(0, max(m, 1), m, dtype=np.uint32), minlength=m)
    return times.T


def sums_by(codes: IntArray, values: NDArray[Any]) -> FloatArray:
    """Sum over the cases of each code, from (n, ...) to (codes, ...)."""
    n, m = len(codes), int(codes.max(initial=-1)) + 1
    member = sparse.csr_array((np.ones(n), (codes, np.arange(n))), shape=(m, n))
    shape = values.shape[1:]
    return np.asarray(member @ values.reshape(n, prod(shape))).reshape(m, *shape)


@dataclass(frozen=True)
class Quantity:
    """A function of sums: what each of n cases adds to the k sums of each of m cells, and what the sums make.

    Attributes
    ----------
    adds : shape (n, m, k)
    statistic : see `Statistic`
    weight : shape (n, m), how much a case counts in a cell; None counts each case that adds something as one
    """

    adds: FloatArray
    statistic: Statistic = ratio
    weight: FloatArray | None = None

    def take(self, cases: IntArray | BoolArray) -> Quantity:
        """Return the quantity of some cases."""
        return Quantity(self.adds[cases], self.statistic, None if self.weight is None else self.weight[cases])


def mean(values: FloatArray) -> Quantity:
    """Return the mean over cases of values of shape (n, m); a case whose value is NaN does not count."""
    return Quantity(np.stack([np.nan_to_num(values), np.isfinite(values)], axis=2))


def weighted_mean(values: FloatArray, weight: FloatArray) -> Quantity:
    """Return a mean of values of shape (n, m) in which cases count by their weight, NaN and 0 not at all."""
    weight = np.where(np.isfinite(values), np.nan_to_num(weight), 0.0)
    return Quantity(np.stack([np.nan_to_num(values) * weight, weight], axis=2), weight=weight)


def by_influence(value: FloatArray, moves: FloatArray, counted: FloatArray) -> Quantity:
    """Return a quantity that is no function of sums, such as an area, as the mean of its pseudo-values.

    Parameters
    ----------
    value : shape (m,), the estimate
    moves : shape (n, m), how far each case moves it
    counted : shape (n, m), 1 where a case counts
    """
    return Quantity(np.stack([np.nan_to_num(value) * counted + moves * counted.sum(axis=0), counted], axis=2))


def averaged(quantity: Quantity, groups: IntArray) -> Quantity:
    """Return the unweighted mean of a quantity over several of its cells.

    Parameters
    ----------
    groups : shape (g, d), the positions of the d cells that each of g means is over
    """
    adds, (g, d) = quantity.adds[:, groups], groups.shape
    n, k = len(adds), adds.shape[-1]
    counted = adds.any(axis=3) if quantity.weight is None else quantity.weight[:, groups]
    of_cell = counted.sum(axis=0)
    weight = (counted * np.nan_to_num(divide(of_cell.mean(axis=1, keepdims=True) / d, of_cell))).sum(axis=2)

    def statistic(sums: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(quantity.statistic(sums.reshape(*sums.shape[:-1], d, k)).mean(axis=-1))

    return Quantity(adds.reshape(n, g, d * k), statistic, weight)


@dataclass(frozen=True)
class Estimate:
    """A quantity in m cells; arrays have shape (m,), NaN where undefined.

    Attributes
    ----------
    value : the estimate
    n : cases that count, or the sum of their weights
    clusters : clusters with a case that counts
    error : standard error over clusters, by the delta method; NaN with fewer than two, or where one of them holds more
        than `MOST_OF_ONE` of the cases
    df : degrees of freedom of `error`
    variance : of one case's linearised value about the estimate
    sizes : shape (clusters, m), the cases of each cluster that count
    """

    value: FloatArray
    n: FloatArray
    clusters: IntArray
    error: FloatArray
    df: FloatArray
    variance: FloatArray
    sizes: FloatArray
    sampling: Sampling
    quantity: Quantity

    @property
    def largest(self) -> FloatArray:
        """The share of the cases that are in the largest cluster."""
        return divide(self.sizes.max(axis=0, initial=0.0), self.n)

    @cached_property
    def replicates(self) -> FloatArray:
        """The estimates of the cluster bootstrap, shape (resamples, m)."""
        adds = self.sampling.sums(self.quantity.adds)
        rows = np.ascontiguousarray(adds.reshape(len(adds), prod(adds.shape[1:])).T)
        # Rows that are equal are multiplied once: judges that judged the same cases share their counts.
        place = pd.factorize(np.array([row.tobytes() for row in rows], dtype=object))[0]
        first = np.unique(place, return_index=True)[1]
        sums = (rows[first] @ self.sampling.draws.T)[place]
        return np.asarray(self.quantity.statistic(np.moveaxis(sums.reshape(*adds.shape[1:], sums.shape[1]), 2, 0)))


def estimate(quantity: Quantity, sampling: Sampling) -> Estimate:
    """Estimate a quantity in all its cells, with the standard error of the delta method over clusters.

    Notes
    -----
    The variance is CR2 (Bell and McCaffrey 2002): the sum of cluster g counts 1 / (1 - n_g / n) times, which is
    m / (m - 1) for m clusters of equal size. Where two columns cross, it is that by the one and that by the other less
    that by both (Cameron, Gelbach and Miller 2011, doi:10.1198/jbes.2010.07136), and no less than the larger of them.
    """
    total = quantity.adds.sum(axis=0)
    value = np.asarray(quantity.statistic(total), dtype=np.float64)
    counted = np.asarray(quantity.adds.any(axis=2), dtype=np.float64)
    weight = counted if quantity.weight is None else quantity.weight
    moves = np.einsum("nmk,mk->nm", quantity.adds, np.nan_to_num(gradient(quantity.statistic, total)))
    n = np.asarray(weight.sum(axis=0))
    variance = np.asarray(n * np.nan_to_num(divide(moves**2, weight)).sum(axis=0))
    sizes = sampling.sums(weight)
    squared, df = _over_clusters(sampling.sums(moves), sizes, n, variance)
    if sampling.crossed is not None:
        both = np.unique(np.stack([sampling.codes, sampling.crossed]), axis=1, return_inverse=True)[1].ravel()
        crossed = sampling.crossed
        second, its_df = _over_clusters(sums_by(crossed, moves), sums_by(crossed, weight), n, variance)
        shared, _ = _over_clusters(sums_by(both, moves), sums_by(both, weight), n, variance)
        larger = np.maximum(squared, second)
        squared = np.maximum(squared + second - np.nan_to_num(shared), larger)
        df = np.minimum(df, its_df)
    error = np.sqrt(squared)
    undefined = np.isnan(value)
    error[undefined], variance[undefined] = np.nan, np.nan
    return Estimate(value, n, (sizes > 0).sum(axis=0), error, df, variance, sizes, sampling, quantity)


def _over_clusters(
    sums: FloatArray, sizes: FloatArray, n: FloatArray, variance: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the squared standard error and its degrees of freedom, from what the cases of each cluster move."""
    share = divide(sizes, n)
    usable = ((sizes > 0).sum(axis=0) >= 2) & (share.max(axis=0, initial=0.0) <= MOST_OF_ONE)
    squared = np.where(usable, (sums**2 / np.where(share < 1, 1 - share, 1.0)).sum(axis=0), np.nan)
    return squared, satterthwaite(sizes, design_effect(np.sqrt(squared), n, variance))


def design_effect(error: FloatArray, n: FloatArray, variance: FloatArray) -> FloatArray:
    """Return how many times clusters enlarge the variance of an estimate (Kish 1965); NaN where cases do not vary."""
    return divide(error**2 * (n - 1), np.where(variance > _TINY, variance, 0.0))


def gradient(statistic: Statistic, total: FloatArray) -> FloatArray:
    """Return the derivatives of a statistic by each of its sums, shape (m, k), by complex steps.

    They have no rounding error (Squire and Trapp 1998, doi:10.1137/S003614459631241X).
    """
    slope = np.empty(total.shape)
    for i in range(total.shape[-1]):
        moved = total.astype(np.complex128)
        moved[..., i] += 1j * _STEP
        slope[..., i] = np.imag(statistic(moved)) / _STEP
    return slope


def satterthwaite(sizes: FloatArray, design_effect: FloatArray) -> FloatArray:
    """Return the degrees of freedom of a CR2 variance over clusters, shape (m,); NaN with fewer than two clusters.

    Cluster g of n_g cases has a sum of variance v_g = n_g + rho n_g (n_g - 1), and from each the mean is taken, so that
    the residuals have the covariance C = (I - p 1') diag(v) (I - 1 p'), p_g = n_g / n. With the weights
    a_g = 1 / (1 - p_g) of the variance, the degrees of freedom are (sum a_g C_gg)^2 / sum a_g a_h C_gh^2 (Bell and
    McCaffrey 2002), at the intraclass correlation rho that the design effect 1 + rho (sum n_g^2 / n - 1) tells (Imbens
    and Kolesar 2016, doi:10.1162/REST_a_00552). They are m - 1 for m clusters of equal size.
    """
    n, several = sizes.sum(axis=0), (sizes > 0).sum(axis=0) >= 2
    p = np.nan_to_num(divide(sizes, n))
    a = 1 / np.where(p < 1, 1 - p, 1.0)
    excess = np.nan_to_num(design_effect, nan=1.0) - 1
    rho = np.clip(np.nan_to_num(divide(excess, (p * sizes).sum(axis=0) - 1)), 0.0, 1.0)
    v = sizes + rho * sizes * (sizes - 1)
    total = v.sum(axis=0)
    pp, vv, pv = ((a * each).sum(axis=0) for each in (p**2, v**2, p * v))
    trace = (a * (v - 2 * p * v + p**2 * total)).sum(axis=0)
    square = (a**2 * v * (v + 2 * (p**2 * total - 2 * p * v))).sum(axis=0)
    square += 2 * vv * pp + (total * pp) ** 2 + 2 * pv**2 - 4 * total * pv * pp
    return np.where(several, np.round(np.maximum(divide(trace**2, square), 1.0), 6), np.nan)
