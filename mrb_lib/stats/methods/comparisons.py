"""Who beat whom: every label, annotation and verdict on a case as a comparison of its two responders.

Comparisons have the shape (..., cases, 3): how much of each case is a choice of A, of B, and a tie. The strengths of
responders are those of Bradley and Terry's model, in which a tie is half a win of either.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse.csgraph import connected_components
from scipy.special import expit, logit, stdtrit

from mrb_lib.stats.estimation import BoolArray, FloatArray, IntArray, Sampling, divide, sums_by
from mrb_lib.stats.methods.rank_agreement import LEAST_ERROR, Strengths
from mrb_lib.stats.options import check_choice
from mrb_lib.stats.scoring import BOTH_ORDERS, read_by
from mrb_lib.stats.verdicts import TIE, Verdicts
from mrb_lib.tables.schema import CHOICES, POLICIES

NO_RESPONDERS = "the cases do not name two responders (columns model_a and model_b)"
A, B = CHOICES.index("A"), CHOICES.index("B")


class Responders(NamedTuple):
    """Who wrote the two responses of each case.

    Attributes
    ----------
    names : the responders, by name
    a, b : shape (cases,), positions among the names; 0 where `paired` is False
    paired : shape (cases,), both are known and they differ
    """

    names: list[str]
    a: IntArray
    b: IntArray
    paired: BoolArray


def responders(cases: pd.DataFrame) -> Responders:
    """Return who wrote the responses; nobody, where the cases lack the columns `model_a` and `model_b`."""
    both = cases.reindex(columns=["model_a", "model_b"]).astype("str")
    codes, names = pd.factorize(pd.concat([both["model_a"], both["model_b"]]), sort=True)
    a, b = codes.astype(np.int64).reshape(2, -1)
    paired = (a >= 0) & (b >= 0) & (a != b)
    return Responders([str(name) for name in names], np.where(paired, a, 0), np.where(paired, b, 0), paired)


def from_labels(labels: IntArray) -> FloatArray:
    """Return labels, which are -1 where there is none, as comparisons, from shape (...) to (..., 3)."""
    return np.asarray(labels[..., None] == np.arange(len(CHOICES)), dtype=np.float64)


def from_verdicts(verdicts: Verdicts, policy: str) -> FloatArray:
    """Return every case that a judge answered as one comparison, shape (cells, cases, 3).

    `balanced`, `answered`: it is shared evenly by the verdicts with a choice, whatever their order. `official`:
    by the verdict in order AB, repeat 0. `strict`: the choice that all verdicts share, else a tie. `net`: the
    response with more verdicts, else a tie. The last two need both orders. Verdicts without a choice compare nothing.
    """
    check_choice("policy", policy, POLICIES)
    read = read_by(verdicts, policy)
    votes = np.stack([read.total(read.choice == choice).T for choice in range(len(CHOICES))], axis=2)
    if policy not in BOTH_ORDERS:
        return np.asarray(np.nan_to_num(divide(votes, votes.sum(axis=2, keepdims=True))))
    if policy == "strict":
        winner = np.where(votes.max(axis=2) == read.total().T, votes.argmax(axis=2), TIE)
    else:
        winner = np.select([votes[..., A] > votes[..., B], votes[..., A] < votes[..., B]], [A, B], TIE)
    in_both = (read.total(read.order == 0) > 0) & (read.total(read.order == 1) > 0)
    return from_labels(np.where(in_both.T & votes.any(axis=2), winner, -1))


def shares(outcomes: FloatArray) -> FloatArray:
    """Return what A and B of each case win, a tie being half a win: shape (..., cases, 2), NaN where undecided."""
    won = outcomes[..., [A, B]] + outcomes[..., [TIE]] / 2
    return divide(won, outcomes.sum(axis=-1, keepdims=True))


def tally(outcomes: FloatArray, who: Responders) -> tuple[FloatArray, FloatArray]:
    """Return how often each responder beat and tied with each other one.

    Parameters
    ----------
    outcomes : shape (m, cases, 3), comparisons of m sources

    Returns
    -------
    tuple
        Wins of the row over the column, and ties, which are symmetric; each of shape (m, responders, responders).
    """
    wins, ties = np.zeros((2, len(who.names), len(who.names), len(outcomes)))
    chosen = outcomes[:, who.paired].T
    for one, other, choice in ((who.a, who.b, A), (who.b, who.a, B)):
        pair = one[who.paired], other[who.paired]
        np.add.at(wins, pair, chosen[choice])
        np.add.at(ties, pair, chosen[TIE])
    return np.moveaxis(wins, 2, 0), np.moveaxis(ties, 2, 0)


def bradley_terry(wins: FloatArray, ties: FloatArray) -> FloatArray:
    """Return the log strengths of maximum likelihood, a binomial regression on who met whom.

    Parameters
    ----------
    wins : shape (r, r), how often the responder of the row beat that of the column; need not be whole
    ties : shape (r, r), symmetric, how often they tied

    Returns
    -------
    Shape (r,), of mean 0 over the responders compared; NaN for one that never is, and throughout where there is no
    finite maximum: of any two groups of the responders, some member of each must beat some member of the other, a tie
    being a win of both (Ford 1957, Am. Math. Monthly 64(8), 28).

    Notes
    -----
    Bradley and Terry (1952), Biometrika 39, 324, doi:10.2307/2334029.
    """
    import statsmodels.api as sm  # slow to load

    out = np.full(len(wins), np.nan)
    scored = wins + ties / 2
    met = np.flatnonzero((scored + scored.T).any(axis=1))
    scored = scored[np.ix_(met, met)]
    if not len(met) or connected_components(scored > 0, connection="strong")[0] > 1:
        return out
    i, j = np.nonzero(scored)
    signs = np.eye(len(met))[i] - np.eye(len(met))[j]  # a win is a success of the winner against the loser
    model = sm.GLM(np.ones(len(i)), signs[:, 1:], family=sm.families.Binomial(), freq_weights=scored[i, j])
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
        variance = np.einsum("mij,mjk,mik->mi", slopes, self.covariance, slopes)
        error = np.sqrt(np.where(variance > LEAST_ERROR**2, variance, np.nan))
        half = stdtrit(self.df, 0.975)[:, None] * error
        return expit(logit(self.strength) - half), expit(logit(self.strength) + half)


def fit(outcomes: FloatArray, who: Responders, sampling: Sampling, references: int = 0) -> Fitted:
    """Fit every source, with the covariance of its strengths over clusters.

    Parameters
    ----------
    outcomes : shape (sources, cases, 3), comparisons
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
    chosen = outcomes * who.paired[:, None]
    count = chosen.sum(axis=2)
    signs = np.eye(r)[who.a] - np.eye(r)[who.b]
    residual = chosen[..., A] + chosen[..., TIE] / 2 - count * expit(x @ signs.T)
    p = expit(x[:, :, None] - x[:, None, :])
    weight = (wins + wins.swapaxes(1, 2) + ties) * p * (1 - p)
    information = weight.sum(axis=2)[:, :, None] * np.eye(r) - weight + 1  # with the mean held
    score = residual.T[:, :, None] * signs[:, None]
    moves = np.einsum("mij,nmj->nmi", np.linalg.pinv(information, rtol=1e-12, hermitian=True), score)
    free = np.isfinite(log_strength).sum(axis=1) - 1
    covariance, shared = np.zeros((m, r, r)), np.zeros((references, m, r, r))
    clusters = df = np.full(m, np.iinfo(np.int64).max)
    for codes in [sampling.codes] if sampling.crossed is None else [sampling.codes, sampling.crossed]:
        own = sums_by(codes, count.T > 0).astype(bool).sum(axis=0)
        by_cluster = sums_by(codes, moves) * np.sqrt(own / np.maximum(own - free, 1))[:, None]
        covariance += np.einsum("cmi,cmj->mij", by_cluster, by_cluster)
        shared += np.einsum("csi,cmj->smij", by_cluster[:, :references], by_cluster, optimize=True)
        clusters, df = np.minimum(clusters, own), np.minimum(df, own - free)
    covariance[(df < 1) | (clusters < 2) | np.isnan(log_strength).all(axis=1)] = np.nan
    return Fitted(wins, ties, log_strength, covariance, shared, clusters, np.maximum(df, 1))
