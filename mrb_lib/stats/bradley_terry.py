"""Strengths of responders from paired comparisons, by Bradley and Terry's model; a tie is half a win of either."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from scipy.sparse.csgraph import connected_components
from scipy.special import expit, stdtrit

from mrb_lib.stats.comparisons import A, Responders, tally
from mrb_lib.stats.estimation import BoolArray, FloatArray, IntArray, Sampling, sums_by
from mrb_lib.stats.panel import TIE
from mrb_lib.stats.rank_agreement import LEAST_ERROR, Strengths

NO_COMPARISON: Final = "no comparison of two responders"
APART: Final = "no finite strengths: {} were never compared with the others"
ONE_SIDED: Final = "no finite strengths: {} {} every comparison with the others"
_NAMED = 4


def absence(wins: FloatArray, ties: FloatArray, names: Sequence[str]) -> str:
    """Say why a set of comparisons has no finite strengths, naming the responders; empty if it has.

    Parameters
    ----------
    wins : shape (r, r), how often the responder of the row beat that of the column
    ties : shape (r, r), symmetric, how often they tied

    Notes
    -----
    Of any two groups of the responders, some member of each must beat some member of the other, a tie being a win of
    both (Ford 1957, Am. Math. Monthly 64(8), 28).
    """
    met = _compared(wins, ties).nonzero()[0]
    if not len(met):
        return NO_COMPARISON
    beats = (wins + ties)[np.ix_(met, met)]
    parts, of_part = connected_components(beats > 0, directed=True, connection="weak")
    if parts > 1:
        return APART.format(_list(met[of_part == np.bincount(of_part).argmin()], names))
    groups, of_group = connected_components(beats > 0, directed=True, connection="strong")
    reasons = []
    for group in range(groups if groups > 1 else 0):
        inside, outside = of_group == group, of_group != group
        won, lost = beats[np.ix_(inside, outside)].sum(), beats[np.ix_(outside, inside)].sum()
        if won == 0 or lost == 0:
            how = "lost" if won == 0 else "won"
            reasons.append((inside.sum(), ONE_SIDED.format(_list(met[inside], names), how)))
    return min(reasons)[1] if reasons else ""


def _compared(wins: FloatArray, ties: FloatArray) -> BoolArray:
    return np.asarray((wins + wins.T + ties).sum(axis=1) > 0)


def _list(positions: IntArray, names: Sequence[str]) -> str:
    shown = ", ".join(names[i] for i in positions[:_NAMED])
    return shown + (f" and {len(positions) - _NAMED} more" if len(positions) > _NAMED else "")


def bradley_terry(wins: FloatArray, ties: FloatArray) -> FloatArray:
    """Return the log strengths of maximum likelihood, a binomial regression on who met whom.

    Parameters
    ----------
    wins, ties : as in `absence`; need not be whole

    Returns
    -------
    Shape (r,), of mean 0 over the responders compared; NaN for one that never is, and throughout where there is no
    finite maximum.

    Notes
    -----
    Bradley and Terry (1952), Biometrika 39, 324, doi:10.2307/2334029.
    """
    import statsmodels.api as sm  # slow to load

    out = np.full(len(wins), np.nan)
    met = _compared(wins, ties).nonzero()[0]
    if absence(wins, ties, [""] * len(wins)):
        return out
    scored = (wins + ties / 2)[np.ix_(met, met)]
    i, j = np.nonzero(scored)
    rows = np.zeros((len(i), len(met)))  # a win is a success of the winner against the loser
    rows[np.arange(len(i)), i], rows[np.arange(len(i)), j] = 1.0, -1.0
    model = sm.GLM(np.ones(len(i)), rows[:, 1:], family=sm.families.Binomial(), freq_weights=scored[i, j])
    strength = np.append(0.0, model.fit(tol=1e-12, maxiter=200).params)
    out[met] = strength - strength.mean()
    return out


class Fitted(NamedTuple):
    """Strengths of m sources of comparisons among r responders.

    Attributes
    ----------
    wins, ties : shape (m, r, r), wins of the row over the column; symmetric ties
    log_strength : shape (m, r), of mean 0; NaN where there is none
    covariance : shape (m, r, r), of the log strengths, robust to clusters; NaN where there are too few clusters
    shared : shape (references, m, r, r), covariance of the log strengths of each of the first sources (rows) with those
        of every source (columns): they are errors on the same cases
    clusters, df : shape (m,), clusters that compare anything, and the degrees of freedom that the strengths leave
    """

    wins: FloatArray
    ties: FloatArray
    log_strength: FloatArray
    covariance: FloatArray
    shared: FloatArray
    clusters: IntArray
    df: IntArray

    def of(self, source: int) -> Strengths:
        """Return the log strengths of one source."""
        return Strengths(self.log_strength[source], self.covariance[source], float(self.df[source]))

    @property
    def strength(self) -> FloatArray:
        """Strengths that sum to 1 in each source, shape (m, r); NaN where there is none."""
        odds = np.exp(self.log_strength)
        return np.asarray(odds / np.nansum(odds, axis=1, keepdims=True))

    @property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Both ends of the 95% intervals of `strength`, each of shape (m, r): Student's t on the log odds."""
        share = np.nan_to_num(self.strength)
        # d logit(share_i) / d log_strength_j is 1 for i = j and -share_j / (1 - share_i) for others
        slopes = -share[:, None, :] / np.maximum(1 - share, LEAST_ERROR)[:, :, None]
        slopes[:, np.arange(share.shape[1]), np.arange(share.shape[1])] = 1.0
        known = np.isfinite(self.covariance)
        variance = np.einsum("mij,mjk,mik->mi", slopes, np.where(known, self.covariance, 0.0), slopes)
        known_error = known.all(axis=2) & (variance > LEAST_ERROR**2) & np.isfinite(self.log_strength)
        half = np.where(known_error, stdtrit(self.df, 0.975)[:, None] * np.sqrt(np.maximum(variance, 0.0)), np.nan)
        odds = np.log(self.strength) - np.log1p(-self.strength)
        return expit(odds - half), expit(odds + half)


def fit(outcomes: FloatArray, who: Responders, sampling: Sampling, references: int = 0) -> Fitted:
    """Fit every source, with the covariance of its strengths over clusters.

    Parameters
    ----------
    outcomes : shape (sources, cases, 3), see `mrb_lib.stats.comparisons`
    references : how many of the first sources the others are compared with, see `Fitted.shared`

    Notes
    -----
    The sandwich of the binomial regression, times C / (C - p) for C clusters and p free strengths. Where two columns
    cross, the covariances by the one and by the other are added, which is at least that of both. Coverage in
    tests/simulation/test_ranking.py.
    """
    wins, ties = tally(outcomes, who)
    m, r = wins.shape[:2]
    log_strength = np.stack([bradley_terry(*each) for each in zip(wins, ties, strict=True)])
    x = np.nan_to_num(log_strength)
    chance = expit(x[:, who.a] - x[:, who.b])
    chosen = outcomes * who.paired[:, None]
    count = chosen.sum(axis=2)
    residual = chosen[..., A] + chosen[..., TIE] / 2 - count * chance
    score = np.zeros((len(who.a), m, r))
    case = np.arange(len(who.a))
    score[case, :, who.a] = residual.T
    score[case, :, who.b] -= residual.T
    moves = np.einsum("mij,nmj->nmi", _inverses(wins + ties / 2, x), score)
    present, free = (count > 0).T, np.isfinite(log_strength).sum(axis=1) - 1
    covariance, shared = np.zeros((m, r, r)), np.zeros((references, m, r, r))
    clusters = df = np.full(m, np.iinfo(np.int64).max)
    for codes in (sampling.codes, sampling.crossed):
        if codes is None:
            continue
        own = (sums_by(codes, present * 1.0) > 0).sum(axis=0)
        scale = np.sqrt(own / np.maximum(own - free, 1))
        by_cluster = sums_by(codes, moves) * scale[:, None]
        covariance += np.einsum("cmi,cmj->mij", by_cluster, by_cluster)
        shared += np.einsum("csi,cmj->smij", by_cluster[:, :references], by_cluster, optimize=True)
        clusters, df = np.minimum(clusters, own), np.minimum(df, own - free)
    covariance[(df < 1) | (clusters < 2) | np.isnan(log_strength).all(axis=1)] = np.nan
    return Fitted(wins, ties, log_strength, covariance, shared, clusters, np.maximum(df, 1))


def _inverses(scored: FloatArray, x: FloatArray) -> FloatArray:
    """The inverse information of each source where the mean of the log strengths is held, shape (m, r, r)."""
    n = scored + scored.swapaxes(1, 2)
    p = expit(x[:, :, None] - x[:, None, :])
    weight = n * p * (1 - p)
    r = weight.shape[1]
    compared = weight.sum(axis=2) > 0
    matrix = -weight + (compared[:, :, None] & compared[:, None, :])
    matrix[:, np.arange(r), np.arange(r)] += weight.sum(axis=2) + ~compared
    return np.asarray(np.linalg.pinv(matrix, hermitian=True))
