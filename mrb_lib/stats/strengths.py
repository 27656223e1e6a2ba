"""Strengths of responders with intervals: Bradley-Terry fitted once, and bootstrapped by its influence function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from mrb_lib.stats import bradley_terry as models
from mrb_lib.stats.comparisons import A, Responders, tally
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, join_reasons
from mrb_lib.stats.panel import TIE
from mrb_lib.stats.rank_agreement import Strengths
from mrb_lib.stats.resample import block, interval, interval_reason, n_clusters, replicates

NO_COMPARISON = "no comparison of two responders"
APART = "no finite strengths: {} were never compared with the others"
ONE_SIDED = "no finite strengths: {} {} every comparison with the others"
NO_MAXIMUM = "no finite strengths: the likelihood has no maximum"
FEW_CLUSTERS = "no interval: not more clusters than responders"
_NAMED = 4
_ABSENT = -1e3
_HELD = 2**26


class Fitted(NamedTuple):
    """The strengths of `m` sources on one dimension, among `r` responders.

    Attributes
    ----------
    wins, ties : shape (m, r, r), wins of the row over the column; symmetric ties
    fit, davidson, rao_kupper : the three models
    covariance : shape (m, r, r), cluster-robust, of log strengths; NaN where unknown
    df : shape (m,), clusters that compare anything less the strengths fitted
    low, high : shape (m, r), the 95% interval of the strengths
    reasons : shape (m,), why strengths or intervals are missing
    """

    wins: FloatArray
    ties: FloatArray
    fit: models.Fit
    davidson: models.Fit
    rao_kupper: models.Fit
    covariance: FloatArray
    df: IntArray
    low: FloatArray
    high: FloatArray
    reasons: list[str | None]

    def of(self, source: int) -> Strengths:
        """The log strengths of one source."""
        return Strengths(self.fit.log_strength[source], self.covariance[source], float(self.df[source]))


class _Point(NamedTuple):
    """What is known of one dimension before the bootstrap.

    Attributes
    ----------
    n_cases, clusters : shape (m,), the cases and clusters that compare anything
    fitted : shape (m,), whether there are strengths
    inverse : shape (f, r, r), of the information of the f sources that are fitted
    residual : shape (cases, f), what response A scored beyond what was expected, widened for small samples
    """

    wins: FloatArray
    ties: FloatArray
    fit: models.Fit
    n_cases: IntArray
    clusters: IntArray
    fitted: BoolArray
    inverse: FloatArray
    residual: FloatArray


def fit(outcomes: Sequence[FloatArray], who: Responders, codes: IntArray, *, resamples: int, seed: int) -> list[Fitted]:
    """Fit every source of several dimensions, from draws that all share.

    Parameters
    ----------
    outcomes : one array a dimension, shape (sources, cases, 3), see `mrb_lib.stats.comparisons`
    codes : shape (cases,), the cluster of each case

    Notes
    -----
    A resample is not fitted anew. It moves the log strengths by the influence of the clusters drawn, which is one
    Newton step of the weighted likelihood, widened by sqrt(C / (C - p)) for C clusters and p free strengths, and
    is then put on the scale of the strengths. Unlike a refit it is defined in every resample. Compared with refits
    in `tests/stats/test_strengths.py`; coverage in `tests/simulation/test_ranking.py`.
    """
    points = [_point(table, who, codes) for table in outcomes]
    found: list[Fitted] = []
    room = max(1, _HELD // max(1, resamples * len(who.names)))
    start = 0
    while start < len(points):
        stop, width = start + 1, points[start].residual.shape[1]
        while stop < len(points) and width + points[stop].residual.shape[1] <= room:
            width += points[stop].residual.shape[1]
            stop += 1
        part = points[start:stop]
        drawn = _scores(part, who, codes, resamples=resamples, seed=seed)
        edges = np.cumsum([0, *(point.residual.shape[1] for point in part)])
        found += [_fitted(point, drawn[edges[i] : edges[i + 1]], who, codes, resamples) for i, point in enumerate(part)]
        start = stop
    return found


def _point(outcomes: FloatArray, who: Responders, codes: IntArray) -> _Point:
    wins, ties = tally(outcomes, who)
    found = models.bradley_terry(wins, ties)
    compares = (outcomes.sum(axis=2) > 0) & who.paired
    clusters = np.array([len(np.unique(codes[row])) for row in compares], dtype=np.int64)
    known = np.isfinite(found.log_strength)
    fitted: BoolArray = np.asarray(known.any(axis=1))
    free = known.sum(axis=1) - 1
    scale = np.sqrt(clusters / np.maximum(clusters - free, 1))[fitted]
    strengths = found.log_strength[fitted]
    return _Point(
        wins=wins,
        ties=ties,
        fit=found,
        n_cases=compares.sum(axis=1).astype(np.int64),
        clusters=clusters,
        fitted=fitted,
        inverse=_inverse(wins[fitted], ties[fitted], strengths),
        residual=_residual(outcomes[fitted], strengths, who) * scale,
    )


def _inverse(wins: FloatArray, ties: FloatArray, log_strength: FloatArray) -> FloatArray:
    """The inverse of the information where the mean of the log strengths is held, shape (m, r, r)."""
    known = np.isfinite(log_strength)
    matrix = models.information(wins, ties, log_strength) + (known[:, :, None] & known[:, None, :])
    r = matrix.shape[1]
    matrix[:, np.arange(r), np.arange(r)] += ~known
    return np.asarray(np.linalg.inv(matrix), dtype=np.float64)


def _residual(outcomes: FloatArray, log_strength: FloatArray, who: Responders) -> FloatArray:
    """What response A scored on each case beyond what the strengths expect, shape (cases, m)."""
    x = np.nan_to_num(log_strength)
    expected = outcomes.sum(axis=2) * expit(x[:, who.a] - x[:, who.b])
    scored = outcomes[:, :, A] + outcomes[:, :, TIE] / 2
    return np.asarray(((scored - expected) * who.paired).T, dtype=np.float64)


def _scores(points: Sequence[_Point], who: Responders, codes: IntArray, *, resamples: int, seed: int) -> FloatArray:
    """The gradient of the log likelihood in every resample, shape (sources of all points, r, resamples).

    A case is in the gradient of its own two responders only, so that each has its own, smaller product.
    """
    residual = np.hstack([point.residual for point in points])
    blocks = []
    for responder in range(len(who.names)):
        sign = ((who.a == responder) * 1.0 - (who.b == responder)) * who.paired
        cases = np.flatnonzero(sign)
        blocks.append(block(codes[cases], sign[cases, None] * residual[cases], _itself))
    drawn = replicates(blocks, n_clusters(codes), resamples=resamples, seed=seed)
    out = np.empty((residual.shape[1], len(blocks), len(drawn[0])))
    for responder, found in enumerate(drawn):
        out[:, responder] = found.T
    return out


def _itself(sums: FloatArray) -> FloatArray:
    return sums


def _fitted(point: _Point, drawn: FloatArray, who: Responders, codes: IntArray, resamples: int) -> Fitted:
    known = np.isfinite(point.fit.log_strength)
    m, r = known.shape
    covariance, low, high = np.full((m, r, r), np.nan), np.full((m, r), np.nan), np.full((m, r), np.nan)
    covariance[point.fitted] = point.inverse @ _spread(point.residual, who, codes) @ point.inverse
    for i, source in enumerate(np.flatnonzero(point.fitted)):
        drawn[i] = _on_their_scale(point.inverse[i] @ drawn[i], point.fit.log_strength[source])
    bounds = interval(drawn.reshape(len(drawn) * r, drawn.shape[2]).T)
    low[point.fitted], high[point.fitted] = (side.reshape(-1, r) for side in bounds)
    df = point.clusters - known.sum(axis=1) + 1
    unknown = (df < 1) | (point.clusters < 2)
    covariance[unknown] = np.nan
    for side in (low, high):
        side[unknown[:, None] | ~known] = np.nan
    return Fitted(
        wins=point.wins,
        ties=point.ties,
        fit=point.fit,
        davidson=models.davidson(point.wins, point.ties),
        rao_kupper=models.rao_kupper(point.wins, point.ties),
        covariance=covariance,
        df=np.maximum(df, 1).astype(np.int64),
        low=low,
        high=high,
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


def _on_their_scale(shift: FloatArray, log_strength: FloatArray) -> FloatArray:
    """Shifted log strengths, shape (r, resamples), as strengths that sum to 1."""
    x = shift + np.where(np.isfinite(log_strength), log_strength, _ABSENT)[:, None]
    x -= x.max(axis=0)
    np.exp(x, out=x)
    x /= x.sum(axis=0)
    return x


def _reason(
    point: _Point, source: int, who: Responders, resamples: int, df: int, low: FloatArray, high: FloatArray
) -> str | None:
    if not point.fitted[source]:
        return absence(point.wins[source], point.ties[source], who.names) or NO_MAXIMUM
    clusters = int(point.clusters[source])
    if clusters >= 2 and df < 1:
        return FEW_CLUSTERS
    known = np.isfinite(point.fit.log_strength[source])
    ends = (float(side[known].mean()) for side in (low, high))
    return join_reasons(interval_reason(int(point.n_cases[source]), clusters, resamples, *ends))


def absence(wins: FloatArray, ties: FloatArray, names: Sequence[str]) -> str:
    """Why one set of comparisons, shape (r, r), has no finite strengths, naming the responders; empty if it has.

    Ford's condition: of any two groups of the responders, some member of each beat some member of the other.
    """
    met = np.flatnonzero((wins + wins.T + ties).sum(axis=1) > 0)
    if not len(met):
        return NO_COMPARISON
    weak, strong = (part[met] for part in models.components(wins, ties))
    if len(np.unique(weak)) > 1:
        return APART.format(_list(met[weak == _smallest(weak)], names))
    reasons = []
    for part in np.unique(strong):
        inside, outside = met[strong == part], met[strong != part]
        won, lost = (wins + ties)[np.ix_(inside, outside)].sum(), (wins + ties)[np.ix_(outside, inside)].sum()
        if len(outside) and (won == 0 or lost == 0):
            reasons.append((len(inside), ONE_SIDED.format(_list(inside, names), "lost" if won == 0 else "won")))
    return min(reasons)[1] if reasons else ""


def _smallest(part: IntArray) -> int:
    values, counts = np.unique(part, return_counts=True)
    return int(values[counts.argmin()])


def _list(places: IntArray, names: Sequence[str]) -> str:
    shown = ", ".join(names[i] for i in places[:_NAMED])
    return shown + (f" and {len(places) - _NAMED} more" if len(places) > _NAMED else "")
