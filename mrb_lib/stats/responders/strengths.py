"""Strengths of responders with intervals: Bradley-Terry fitted once, and bootstrapped by its influence function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from scipy.special import softmax

from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, join_reasons
from mrb_lib.stats.resampling.resample import (
    cluster_sums,
    clusters_counted,
    interval,
    interval_reason,
    n_clusters,
    resampled_sums,
)
from mrb_lib.stats.responders import bradley_terry as models
from mrb_lib.stats.responders.bradley_terry import absence
from mrb_lib.stats.responders.comparisons import Responders, tally
from mrb_lib.stats.responders.influence import Influence, influence
from mrb_lib.stats.responders.rank_agreement import Strengths

MODELS: Final[dict[models.Model, models.Fitter]] = {
    "bradley_terry": models.bradley_terry,
    "davidson": models.davidson,
    "rao_kupper": models.rao_kupper,
}
NO_MAXIMUM = "no finite strengths: the likelihood has no maximum"
FEW_CLUSTERS = "no interval: not more clusters than responders"
_ABSENT = -1e3
_NO_WIDTH = 1e-9


class Bounds(NamedTuple):
    """The 95% intervals of one model: of the strengths, shape (m, r), and of the parameter of ties, shape (m,)."""

    low: FloatArray
    high: FloatArray
    tie_low: FloatArray
    tie_high: FloatArray


class Model(NamedTuple):
    """One model of `m` sources, with its intervals."""

    fit: models.Fit
    bounds: Bounds


class Fitted(NamedTuple):
    """The strengths of `m` sources on one dimension, among `r` responders.

    Attributes
    ----------
    wins, ties : shape (m, r, r), wins of the row over the column; symmetric ties
    models : those asked for, by name; Bradley and Terry's is always there
    covariance : shape (m, r, r), cluster-robust, of Bradley and Terry's log strengths; NaN where unknown
    shared : shape (references, m, r, r), covariance of the log strengths of each of the first sources (rows) with those
        of every source (columns): they are errors on the same cases
    df : shape (m,), clusters that compare anything less the strengths fitted
    reasons : shape (m,), why strengths or intervals are missing
    """

    wins: FloatArray
    ties: FloatArray
    models: dict[models.Model, Model]
    covariance: FloatArray
    shared: FloatArray
    df: IntArray
    reasons: list[str | None]

    def of(self, source: int) -> Strengths:
        """The log strengths of one source, by Bradley and Terry's model."""
        fit = self.models["bradley_terry"].fit
        return Strengths(fit.log_strength[source], self.covariance[source], float(self.df[source]))


def fit(
    outcomes: FloatArray,
    who: Responders,
    codes: IntArray,
    *,
    names: Sequence[models.Model] = tuple(MODELS),
    references: int = 0,
    resamples: int,
    seed: int,
) -> Fitted:
    """Fit every source on one dimension.

    Parameters
    ----------
    outcomes : shape (sources, cases, 3), see `mrb_lib.stats.responders.comparisons`
    codes : shape (cases,), the cluster of each case
    names : the models to fit, the first of them Bradley and Terry's
    references : how many of the first sources the others are compared with, see `Fitted.shared`

    Notes
    -----
    A resample is not fitted anew. It moves the logs of strengths and of the parameter of ties by the influence of the
    clusters drawn, which is one Newton step of the weighted likelihood, widened by sqrt(C / (C - p)) for C clusters
    and p free parameters, and is then put on the scale of the strengths. Unlike a refit it is defined in every
    resample. Compared with refits in `tests/stats/responders/test_strengths.py`; coverage, of all three models, in
    `tests/simulation/test_ranking.py`.
    """
    wins, ties = tally(outcomes, who)
    compares = (outcomes.sum(axis=2) > 0) & who.paired
    clusters = clusters_counted(codes, compares.T)
    fits = {name: MODELS[name](wins, ties) for name in names}
    moved = {
        name: _widened(influence(name, made, outcomes, (wins, ties), who), clusters) for name, made in fits.items()
    }
    plain = fits["bradley_terry"]
    fitted = np.isfinite(plain.log_strength)
    df = clusters - fitted.sum(axis=1) + 1
    drawn = _gradients(list(moved.values()), who, codes, resamples=resamples, seed=seed)
    bounds = {
        name: _bounds(made, moved[name], each, df) for (name, made), each in zip(fits.items(), drawn, strict=True)
    }
    without_ties = np.asarray(ties.sum(axis=(1, 2)) == 0)
    for other in bounds.values():
        other.low[without_ties] = bounds["bradley_terry"].low[without_ties]
        other.high[without_ties] = bounds["bradley_terry"].high[without_ties]
    covariance, shared = _covariance(moved["bradley_terry"], fitted, who, codes, references)
    covariance[(df < 1) | (clusters < 2)] = np.nan
    n_cases = compares.sum(axis=1)
    reasons: list[str | None] = []
    for i in range(len(wins)):
        if i not in moved["bradley_terry"].sources:
            reasons.append(absence(wins[i], ties[i], who.names) or NO_MAXIMUM)
        elif clusters[i] >= 2 and df[i] < 1:
            reasons.append(FEW_CLUSTERS)
        else:
            low, high = (float(side[i, fitted[i]].mean()) for side in bounds["bradley_terry"][:2])
            reasons.append(join_reasons(interval_reason(int(n_cases[i]), int(clusters[i]), resamples, low, high)))
    return Fitted(
        wins=wins,
        ties=ties,
        models={name: Model(made, bounds[name]) for name, made in fits.items()},
        covariance=covariance,
        shared=shared,
        df=np.maximum(df, 1).astype(np.int64),
        reasons=reasons,
    )


def _widened(item: Influence, clusters: IntArray) -> Influence:
    """The influence as a small sample of clusters has it."""
    own = clusters[item.sources]
    free = np.isfinite(item.log_strength).sum(axis=1) - 1 + (item.tie_score is not None)
    scale = np.sqrt(own / np.maximum(own - free, 1))
    tie_score = None if item.tie_score is None else item.tie_score * scale
    return item._replace(residual=item.residual * scale, tie_score=tie_score)


class _Drawn(NamedTuple):
    """Gradients in every resample: by log strength, shape (r, f, resamples), and by the log of the parameter of ties,
    shape (f, resamples), without rows in a model that has none; for the f sources of one model.
    """

    strength: FloatArray
    tie: FloatArray


def _gradients(
    moved: Sequence[Influence], who: Responders, codes: IntArray, *, resamples: int, seed: int
) -> list[_Drawn]:
    """The gradients of the sources of each model.

    A case is in the gradient of its own two responders only, so that each has its own, smaller product.
    """
    residual = np.hstack([item.residual for item in moved])
    tie_scores = [np.zeros((len(codes), 0)) if item.tie_score is None else item.tie_score for item in moved]
    groups = []
    for responder in range(len(who.names)):
        sign = ((who.a == responder) * 1.0 - (who.b == responder)) * who.paired
        cases = np.flatnonzero(sign)
        groups.append(cluster_sums(codes[cases], sign[cases, None] * residual[cases]))
    groups.append(cluster_sums(codes, np.hstack(tie_scores)))
    *by_responder, by_tie = resampled_sums(groups, n_clusters(codes), resamples=resamples, seed=seed)
    edges = np.cumsum([item.residual.shape[1] for item in moved])[:-1]
    tie_edges = np.cumsum([item.shape[1] for item in tie_scores])[:-1]
    strengths = np.split(np.stack(by_responder), edges, axis=1)
    return [_Drawn(*each) for each in zip(strengths, np.split(by_tie, tie_edges), strict=True)]


def _covariance(
    item: Influence, fitted: BoolArray, who: Responders, codes: IntArray, references: int
) -> tuple[FloatArray, FloatArray]:
    """The cluster-robust covariance of the log strengths, shape (m, r, r), and what the references share with all.

    NaN for a source without a fit.
    """
    m, r = fitted.shape
    gradient = np.zeros((n_clusters(codes), r, len(item.sources)))
    np.add.at(gradient, (codes, who.a), item.residual)
    np.subtract.at(gradient, (codes, who.b), item.residual)
    moves = item.inverse @ gradient.transpose(2, 1, 0)
    out, shared = np.full((m, r, r), np.nan), np.full((references, m, r, r), np.nan)
    out[item.sources] = moves @ moves.swapaxes(1, 2)
    for i, source in enumerate(item.sources[item.sources < references]):
        shared[source, item.sources] = moves[i] @ moves.swapaxes(1, 2)
    return out, shared


def _bounds(made: models.Fit, item: Influence, drawn: _Drawn, df: IntArray) -> Bounds:
    """The intervals of one model: NaN where there is no fit, or there are not more clusters than parameters."""
    m, r = made.log_strength.shape
    has_ties = len(drawn.tie) > 0
    ends = np.full((2, m, r + 1), np.nan)
    for i, source in enumerate(item.sources):
        shift = item.inverse[i][:, :r] @ drawn.strength[:, i]
        if has_ties:
            shift += item.inverse[i][:, r:] * drawn.tie[i]
            shift[r] = np.exp(shift[r] + item.log_tie[i])
        log_strength = np.where(np.isfinite(item.log_strength[i]), item.log_strength[i], _ABSENT)
        shift[:r] = softmax(shift[:r] + log_strength[:, None], axis=0)
        ends[:, source, : len(shift)] = interval(shift.T)
    value = np.column_stack([made.strength, made.tie])
    low, high = np.fmin(ends[0], value), np.fmax(ends[1], value)
    same = high - low < _NO_WIDTH * np.abs(value)
    low, high = np.where(same, value, low), np.where(same, value, high)
    unknown = np.isnan(ends[0]) | np.isnan(value) | ((df - has_ties < 1) | (df < 1))[:, None]
    low[unknown], high[unknown] = np.nan, np.nan
    return Bounds(low[:, :r], high[:, :r], low[:, r], high[:, r])
