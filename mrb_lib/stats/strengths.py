"""Strengths of responders with intervals: Bradley-Terry fitted once, and bootstrapped by its influence function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from mrb_lib.stats import bradley_terry as models
from mrb_lib.stats.comparisons import Responders, tally
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, join_reasons
from mrb_lib.stats.panel import TIE
from mrb_lib.stats.rank_agreement import Strengths
from mrb_lib.stats.resample import Block, Statistic, block, interval, interval_reason, n_clusters, replicates

NO_COMPARISON = "no comparison of two responders"
APART = "no finite strengths: {} were never compared with the others"
ONE_SIDED = "no finite strengths: {} {} every comparison with the others"
NO_MAXIMUM = "no finite strengths: the likelihood has no maximum"
FEW_CLUSTERS = "no interval: not more clusters than responders"
_NAMED = 4
_ABSENT = -1e3


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
    """Everything but the bootstrap; `item` holds the influence of every cluster on the sources that are `fitted`."""

    wins: FloatArray
    ties: FloatArray
    fit: models.Fit
    n_cases: IntArray
    clusters: IntArray
    fitted: BoolArray
    item: Block


def fit(outcomes: Sequence[FloatArray], who: Responders, codes: IntArray, *, resamples: int, seed: int) -> list[Fitted]:
    """Fit every source of several dimensions, from draws that all share.

    Parameters
    ----------
    outcomes : one array a dimension, shape (sources, cases, 3), see `mrb_lib.stats.comparisons`
    codes : shape (cases,), the cluster of each case

    Notes
    -----
    A resample is not fitted anew. It moves the log strengths by the sum of the influences of the clusters drawn,
    which is one Newton step of the weighted likelihood, widened by sqrt(C / (C - p)) for C clusters and p free
    strengths, and is then put on the scale of the strengths. Unlike a refit it is defined in every resample. Compared
    with refits in `tests/stats/test_strengths.py`; coverage in `tests/simulation/test_ranking.py`.
    """
    points = [_point(table, who, codes) for table in outcomes]
    drawn = replicates([point.item for point in points], n_clusters(codes), resamples=resamples, seed=seed)
    return [_fitted(point, found, who, resamples) for point, found in zip(points, drawn, strict=True)]


def _point(outcomes: FloatArray, who: Responders, codes: IntArray) -> _Point:
    wins, ties = tally(outcomes, who)
    found = models.bradley_terry(wins, ties)
    weight = np.where(who.paired, outcomes.sum(axis=2), 0.0)
    compares = weight > 0
    clusters = np.array([len(np.unique(codes[row])) for row in compares], dtype=np.int64)
    known = np.isfinite(found.log_strength)
    fitted: BoolArray = np.asarray(known.any(axis=1))
    free = known.sum(axis=1) - 1
    scale = np.sqrt(clusters / np.maximum(clusters - free, 1))
    shift = influence(wins[fitted], ties[fitted], found.log_strength[fitted], outcomes[fitted], who)
    shift *= scale[fitted, None]
    item = block(codes, shift.reshape(len(codes), -1), _to_strengths(found.log_strength[fitted]))
    return _Point(wins, ties, found, compares.sum(axis=1).astype(np.int64), clusters, fitted, item)


def influence(
    wins: FloatArray, ties: FloatArray, log_strength: FloatArray, outcomes: FloatArray, who: Responders
) -> FloatArray:
    """What each case's being counted once more adds to the log strengths, to first order; shape (cases, m, r).

    Parameters
    ----------
    log_strength : shape (m, r), the maximum; NaN for a responder never compared
    outcomes : shape (m, cases, 3)
    """
    known = np.isfinite(log_strength)
    matrix = models.information(wins, ties, log_strength) + (known[:, :, None] & known[:, None, :])
    r = matrix.shape[1]
    matrix[:, np.arange(r), np.arange(r)] += ~known
    inverse = np.linalg.inv(matrix)
    x = np.nan_to_num(log_strength)
    n = outcomes.sum(axis=2)
    score = outcomes[:, :, 0] + outcomes[:, :, TIE] / 2 - n * expit(x[:, who.a] - x[:, who.b])
    score *= who.paired
    return np.asarray((inverse[:, who.a] - inverse[:, who.b]).swapaxes(0, 1) * score.T[:, :, None], dtype=np.float64)


def _to_strengths(log_strength: FloatArray) -> Statistic:
    centre = np.where(np.isfinite(log_strength), log_strength, _ABSENT)

    def statistic(shifts: FloatArray) -> FloatArray:
        x = shifts.reshape(-1, *centre.shape) + centre
        x -= x.max(axis=2, keepdims=True)
        np.exp(x, out=x)
        x /= x.sum(axis=2, keepdims=True)
        return x.reshape(len(shifts), -1)

    return statistic


def _fitted(point: _Point, drawn: FloatArray, who: Responders, resamples: int) -> Fitted:
    m, r = point.fit.log_strength.shape
    df = point.clusters - np.isfinite(point.fit.log_strength).sum(axis=1) + 1
    covariance, low, high = np.full((m, r, r), np.nan), np.full((m, r), np.nan), np.full((m, r), np.nan)
    influences = np.asarray(point.item.sums).reshape(len(point.item.clusters), -1, r).transpose(1, 2, 0)
    covariance[point.fitted] = influences @ influences.swapaxes(1, 2)
    low[point.fitted], high[point.fitted] = (side.reshape(-1, r) for side in interval(drawn))
    unknown = (df < 1) | (point.clusters < 2)
    covariance[unknown], low[unknown], high[unknown] = np.nan, np.nan, np.nan
    low[np.isnan(point.fit.log_strength)] = high[np.isnan(point.fit.log_strength)] = np.nan
    reasons = [_reason(point, i, who, resamples, int(df[i]), low[i], high[i]) for i in range(m)]
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
        reasons=reasons,
    )


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
