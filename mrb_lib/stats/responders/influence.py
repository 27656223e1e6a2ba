"""How far each comparison moves the strengths of a fitted model. Arrays in, arrays out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from mrb_lib.stats.core.panel import TIE
from mrb_lib.stats.options import FloatArray, IntArray
from mrb_lib.stats.responders import bradley_terry as models
from mrb_lib.stats.responders.comparisons import A, B, Responders


class Influence(NamedTuple):
    """Scores of cases, and what turns them into shifts of the parameters, of the `f` sources that have a fit.

    Attributes
    ----------
    sources : shape (f,), their positions among all sources
    log_strength : shape (f, r); NaN for a responder that is never compared
    log_tie : shape (f,), the log of the parameter of ties; 0 in Bradley and Terry's model
    inverse : shape (f, p, p), of the information where the mean of the log strengths is held: p is r, or r + 1 with a
        parameter of ties, the last
    residual : shape (cases, f), the derivative of the log likelihood of each case by the log strength of the responder
        of its response A, which is minus that by the other's; widened for small samples
    tie_score : shape (cases, f), the derivative by `log_tie`, as wide; None without such a parameter
    """

    sources: IntArray
    log_strength: FloatArray
    log_tie: FloatArray
    inverse: FloatArray
    residual: FloatArray
    tie_score: FloatArray | None


def influence(
    model: models.Model, fit: models.Fit, outcomes: FloatArray, tallies: tuple[FloatArray, FloatArray], who: Responders
) -> Influence:
    """The influence of every case on the fits of a model.

    Parameters
    ----------
    fit : of `m` sources
    outcomes : shape (m, cases, 3), see `mrb_lib.stats.responders.comparisons`
    tallies : wins and ties, each of shape (m, r, r)

    Returns
    -------
    Influence
        Of the sources that are fitted; in models of ties, of those with ties: without, they are Bradley and Terry's.
    """
    plain = model == "bradley_terry"
    wins, ties = tallies
    usable = np.isfinite(fit.log_strength).any(axis=1)
    if not plain:
        usable &= np.isfinite(fit.tie) & (ties.sum(axis=(1, 2)) > 0)
    sources = np.flatnonzero(usable)
    kept = models.Fit(fit.log_strength[sources], fit.tie[sources])
    log_tie = np.zeros(len(sources)) if plain else np.log(kept.tie)
    x = np.nan_to_num(kept.log_strength)
    gap = x[:, who.a] - x[:, who.b]
    chosen = outcomes[sources] * who.paired[:, None]
    if plain:
        scored = chosen[..., A] + chosen[..., TIE] / 2
        residual, tie_score = scored - chosen.sum(axis=2) * expit(gap), None
    elif model == "davidson":
        residual, tie_score = _davidson(chosen, gap, log_tie[:, None])
    else:
        residual, tie_score = _rao_kupper(chosen, gap, log_tie[:, None])
    return Influence(
        sources=sources,
        log_strength=kept.log_strength,
        log_tie=log_tie,
        inverse=_inverse(models.information(model, wins[sources], ties[sources], kept), kept.log_strength),
        residual=residual.T,
        tie_score=None if tie_score is None else tie_score.T,
    )


def _davidson(chosen: FloatArray, gap: FloatArray, log_tie: FloatArray) -> tuple[FloatArray, FloatArray]:
    half = gap / 2
    total = np.logaddexp(np.logaddexp(half, -half), log_tie)
    n, win, tie = chosen.sum(axis=2), np.exp(half - total), np.exp(log_tie - total)
    return chosen[..., A] + chosen[..., TIE] / 2 - n * (win + tie / 2), chosen[..., TIE] - n * tie


def _rao_kupper(chosen: FloatArray, gap: FloatArray, log_tie: FloatArray) -> tuple[FloatArray, FloatArray]:
    ahead = (chosen[..., A] + chosen[..., TIE]) * expit(log_tie - gap)
    behind = (chosen[..., B] + chosen[..., TIE]) * expit(log_tie + gap)
    return ahead - behind, 2 * chosen[..., TIE] / -np.expm1(-2 * log_tie) - ahead - behind


def _inverse(information: FloatArray, log_strength: FloatArray) -> FloatArray:
    """The inverse where the mean of the log strengths is held, and responders that are not compared stay put."""
    compared = np.isfinite(log_strength)
    matrix = information.copy()
    r = compared.shape[1]
    matrix[:, :r, :r] += compared[:, :, None] & compared[:, None, :]
    matrix[:, np.arange(r), np.arange(r)] += ~compared
    return np.asarray(np.linalg.inv(matrix), dtype=np.float64)
