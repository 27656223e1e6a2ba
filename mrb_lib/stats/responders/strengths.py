"""Strengths of responders with intervals: Bradley-Terry fitted once, and bootstrapped by its influence function."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

import numpy as np

from mrb_lib.stats.core.options import FloatArray, IntArray, SingleArray, join_reasons
from mrb_lib.stats.resampling.ahead import ahead
from mrb_lib.stats.resampling.distinct import clusters_counted
from mrb_lib.stats.resampling.draws import draws
from mrb_lib.stats.resampling.resample import interval, interval_reason, n_clusters
from mrb_lib.stats.resampling.weighted_sums import cluster_sums
from mrb_lib.stats.responders import bradley_terry as models
from mrb_lib.stats.responders.bradley_terry import absence
from mrb_lib.stats.responders.comparisons import Responders, tally
from mrb_lib.stats.responders.influence import Influence, influence
from mrb_lib.stats.responders.rank_agreement import Strengths

MODELS: Final[tuple[models.Model, ...]] = ("bradley_terry", "davidson", "rao_kupper")
NO_MAXIMUM = "no finite strengths: the likelihood has no maximum"
FEW_CLUSTERS = "no interval: not more clusters than responders"
_ABSENT = -1e3
_HELD = 2**26
_AT_ONCE = 2**21
_NO_WIDTH = 1e-6

Tallies = tuple[FloatArray, FloatArray]


class Bounds(NamedTuple):
    """The 95% intervals of one model: of the strengths, shape (m, r), and of the parameter of ties, shape (m,)."""

    low: FloatArray
    high: FloatArray
    tie_low: FloatArray
    tie_high: FloatArray


class Fitted(NamedTuple):
    """The strengths of `m` sources on one dimension, among `r` responders.

    Attributes
    ----------
    wins, ties : shape (m, r, r), wins of the row over the column; symmetric ties
    fit, davidson, rao_kupper : the three models
    covariance : shape (m, r, r), cluster-robust, of log strengths; NaN where unknown
    df : shape (m,), clusters that compare anything less the strengths fitted
    bounds, davidson_bounds, rao_kupper_bounds : their intervals
    reasons : shape (m,), why strengths or intervals are missing
    """

    wins: FloatArray
    ties: FloatArray
    fit: models.Fit
    davidson: models.Fit
    rao_kupper: models.Fit
    covariance: FloatArray
    df: IntArray
    bounds: Bounds
    davidson_bounds: Bounds
    rao_kupper_bounds: Bounds
    reasons: list[str | None]

    def of(self, source: int) -> Strengths:
        """The log strengths of one source."""
        return Strengths(self.fit.log_strength[source], self.covariance[source], float(self.df[source]))


class _Point(NamedTuple):
    """What is known of one dimension before the bootstrap.

    Attributes
    ----------
    fits, moved : of the three models, in the order of `MODELS`
    n_cases, clusters : shape (m,), the cases and clusters that compare anything
    """

    wins: FloatArray
    ties: FloatArray
    fits: list[models.Fit]
    moved: list[Influence]
    n_cases: IntArray
    clusters: IntArray

    @property
    def width(self) -> int:
        """How many fits are bootstrapped."""
        return sum(len(item.sources) for item in self.moved)


def fit(outcomes: Sequence[FloatArray], who: Responders, codes: IntArray, *, resamples: int, seed: int) -> list[Fitted]:
    """Fit every source of several dimensions, from draws that all share.

    Parameters
    ----------
    outcomes : one array a dimension, shape (sources, cases, 3), see `mrb_lib.stats.responders.comparisons`
    codes : shape (cases,), the cluster of each case

    Notes
    -----
    A resample is not fitted anew. It moves the logs of strengths and of the parameter of ties by the influence of the
    clusters drawn, which is one Newton step of the weighted likelihood, widened by sqrt(C / (C - p)) for C clusters
    and p free parameters, and is then put on the scale of the strengths. Unlike a refit it is defined in every
    resample. Shifts are in single precision, far finer than their Monte-Carlo error; an interval without width is
    the estimate. Compared with refits in `tests/stats/responders/test_strengths.py`; coverage, of all three models, in
    `tests/simulation/test_ranking.py`.
    """
    points = _points(outcomes, who, codes)
    found: list[Fitted] = []
    room = max(1, _HELD // max(1, resamples * (len(who.names) + 1)))
    start = 0
    while start < len(points):
        stop, width = start + 1, points[start].width
        while stop < len(points) and width + points[stop].width <= room:
            width += points[stop].width
            stop += 1
        part = points[start:stop]
        moved = [item for point in part for item in point.moved]
        drawn = _gradients(moved, who, codes, resamples=resamples, seed=seed)
        found += [_fitted(point, [next(drawn) for _ in point.moved], who, codes, resamples) for point in part]
        start = stop
    return found


def _points(outcomes: Sequence[FloatArray], who: Responders, codes: IntArray) -> list[_Point]:
    """One a dimension; the sources of all dimensions are fitted together, in the same few steps."""
    if not outcomes:
        return []
    wins, ties = (np.concatenate(each) for each in zip(*(tally(table, who) for table in outcomes), strict=True))
    fits = [models.bradley_terry(wins, ties), models.davidson(wins, ties), models.rao_kupper(wins, ties)]
    edges = np.cumsum([0, *(len(table) for table in outcomes)])
    return [
        _point(table, (wins[i:j], ties[i:j]), [models.Fit(*(each[i:j] for each in made)) for made in fits], who, codes)
        for table, i, j in zip(outcomes, edges, edges[1:], strict=False)
    ]


def _point(outcomes: FloatArray, tallies: Tallies, fits: list[models.Fit], who: Responders, codes: IntArray) -> _Point:
    compares = (outcomes.sum(axis=2) > 0) & who.paired
    clusters = clusters_counted(codes, compares.T)
    moved = [
        _widened(influence(name, made, outcomes, tallies, who), clusters)
        for name, made in zip(MODELS, fits, strict=True)
    ]
    return _Point(*tallies, fits, moved, compares.sum(axis=1).astype(np.int64), clusters)


def _widened(item: Influence, clusters: IntArray) -> Influence:
    """The influence as a small sample of clusters has it."""
    own = clusters[item.sources]
    free = np.isfinite(item.log_strength).sum(axis=1) - 1 + (item.tie_score is not None)
    scale = np.sqrt(own / np.maximum(own - free, 1))
    tie_score = None if item.tie_score is None else item.tie_score * scale
    return item._replace(residual=item.residual * scale, tie_score=tie_score)


class _Drawn(NamedTuple):
    """Gradients in every resample: by log strength, shape (r, f, resamples), and by the log of the parameter of ties,
    shape (f, resamples), for the sources of one model.
    """

    strength: SingleArray
    tie: SingleArray


def _gradients(
    moved: Sequence[Influence], who: Responders, codes: IntArray, *, resamples: int, seed: int
) -> Iterator[_Drawn]:
    """The gradients of each item's sources; of models without a parameter of ties `tie` has no rows.

    A case is in the gradient of its own two responders only, so that each has its own, smaller product.
    """
    residual = np.hstack([item.residual for item in moved])
    tie_scores = [np.zeros((len(codes), 0)) if item.tie_score is None else item.tie_score for item in moved]
    blocks = []
    for responder in range(len(who.names)):
        sign = ((who.a == responder) * 1.0 - (who.b == responder)) * who.paired
        cases = np.flatnonzero(sign)
        blocks.append(_sums(codes[cases], sign[cases, None] * residual[cases]))
    blocks.append(_sums(codes, np.hstack(tie_scores)))
    by_strength = np.empty((len(who.names), residual.shape[1], resamples), dtype=np.float32)
    by_tie = np.empty((len(blocks[-1][1]), resamples), dtype=np.float32)
    start = 0
    for counts in draws(n_clusters(codes), resamples, seed):
        columns = slice(start, start + counts.shape[1])
        outs = [out[:, columns] for out in (*by_strength, by_tie)]
        for _ in ahead(partial(_multiply, counts), zip(blocks, outs, strict=True)):
            pass  # written in place
        start = columns.stop
    edges = np.cumsum([0, *(item.residual.shape[1] for item in moved)])
    tie_edges = np.cumsum([0, *(item.shape[1] for item in tie_scores)])
    for i in range(len(moved)):
        yield _Drawn(by_strength[:, edges[i] : edges[i + 1]], by_tie[tie_edges[i] : tie_edges[i + 1]])


def _multiply(counts: SingleArray, job: tuple[tuple[IntArray, SingleArray], SingleArray]) -> None:
    (clusters, sums), out = job
    np.matmul(sums, counts if len(clusters) == len(counts) else counts[clusters], out=out)


def _sums(codes: IntArray, values: FloatArray) -> tuple[IntArray, SingleArray]:
    """The clusters, and the sums of the values over each, shape (columns, clusters)."""
    made = cluster_sums(codes, values)
    return made.clusters, np.ascontiguousarray(made.values.T, dtype=np.float32)


def _fitted(point: _Point, drawn: Sequence[_Drawn], who: Responders, codes: IntArray, resamples: int) -> Fitted:
    plain = point.moved[0]
    known = np.isfinite(point.fits[0].log_strength)
    m, r = known.shape
    covariance = np.full((m, r, r), np.nan)
    covariance[plain.sources] = plain.inverse @ _spread(plain.residual, who, codes) @ plain.inverse
    df = point.clusters - known.sum(axis=1) + 1
    covariance[(df < 1) | (point.clusters < 2)] = np.nan
    bounds = [_bounds(*item, df) for item in zip(point.fits, point.moved, drawn, strict=True)]
    without_ties = point.ties.sum(axis=(1, 2)) == 0
    for other in bounds[1:]:
        for own, same in zip(other[:2], bounds[0][:2], strict=True):
            own[without_ties] = same[without_ties]
    low, high = bounds[0][:2]
    found, davidson, rao_kupper = point.fits
    return Fitted(
        wins=point.wins,
        ties=point.ties,
        fit=found,
        davidson=davidson,
        rao_kupper=rao_kupper,
        covariance=covariance,
        df=np.maximum(df, 1).astype(np.int64),
        bounds=bounds[0],
        davidson_bounds=bounds[1],
        rao_kupper_bounds=bounds[2],
        reasons=[_reason(point, i, who, resamples, int(df[i]), low[i], high[i]) for i in range(m)],
    )


def _spread(residual: FloatArray, who: Responders, codes: IntArray) -> FloatArray:
    """The sum over clusters of the outer product of their gradients, shape (m, r, r)."""
    m = residual.shape[1]
    gradient = np.zeros((n_clusters(codes), len(who.names), m))
    np.add.at(gradient, (codes, who.a), residual)
    np.subtract.at(gradient, (codes, who.b), residual)
    by_source = gradient.transpose(2, 1, 0)
    return np.asarray(by_source @ by_source.swapaxes(1, 2), dtype=np.float64)


def _bounds(made: models.Fit, item: Influence, drawn: _Drawn, df: IntArray) -> Bounds:
    """The intervals of one model: NaN where there is no fit, or there are not more clusters than parameters."""
    m, r = made.log_strength.shape
    f, resamples = drawn.strength.shape[1:]
    ties = len(drawn.tie) > 0
    out = np.full((2, m, r + 1), np.nan)
    step = max(1, _AT_ONCE // max(1, (r + 1) * resamples))
    shares = np.empty((min(step, f), r + ties, resamples), dtype=np.float32)
    for start in range(0, f, step):
        part = shares[: min(step, f - start)]
        for i, own in enumerate(part, start):
            inverse = item.inverse[i].astype(np.float32)
            np.matmul(inverse[:, :r], drawn.strength[:, i], out=own)
            if ties:
                own += inverse[:, r:] * drawn.tie[i]
                own[r] += item.log_tie[i]
                np.exp(own[r], out=own[r])
            _on_their_scale(own[:r], item.log_strength[i])
        # in single precision, which the quantiles keep
        ends = interval(part.reshape(len(part) * (r + ties), resamples).T)
        out[:, item.sources[start : start + len(part)], : r + ties] = np.stack(ends).reshape(2, len(part), r + ties)
    value = np.column_stack([made.strength, made.tie])
    low, high = np.fmin(out[0], value), np.fmax(out[1], value)
    same = high - low < _NO_WIDTH * np.abs(value)
    low, high = np.where(same, value, low), np.where(same, value, high)
    unknown = np.isnan(out[0]) | np.isnan(value) | ((df - ties < 1) | (df < 1))[:, None]
    low[unknown], high[unknown] = np.nan, np.nan
    return Bounds(low[:, :r], high[:, :r], low[:, r], high[:, r])


def _on_their_scale(shift: SingleArray, log_strength: FloatArray) -> None:
    """Turn shifts of log strengths, shape (r, resamples), into strengths that sum to 1."""
    shift += np.where(np.isfinite(log_strength), log_strength, _ABSENT).astype(np.float32)[:, None]
    shift -= shift.max(axis=0)
    np.exp(shift, out=shift)
    shift /= shift.sum(axis=0)


def _reason(
    point: _Point, source: int, who: Responders, resamples: int, df: int, low: FloatArray, high: FloatArray
) -> str | None:
    if source not in point.moved[0].sources:
        return absence(point.wins[source], point.ties[source], who.names) or NO_MAXIMUM
    clusters = int(point.clusters[source])
    if clusters >= 2 and df < 1:
        return FEW_CLUSTERS
    known = np.isfinite(point.fits[0].log_strength[source])
    ends = (float(side[known].mean()) for side in (low, high))
    return join_reasons(interval_reason(int(point.n_cases[source]), clusters, resamples, *ends))
