"""Strengths from paired comparisons: Bradley-Terry, and Davidson and Rao-Kupper for ties. Arrays in, arrays out.

Many sets of comparisons are fitted at once, each by Newton's method on log strengths, where all three log
likelihoods are concave. The same responders are compared in every set; some may be absent from some.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np
from scipy.sparse.csgraph import connected_components
from scipy.special import expit, log_expit

from mrb_lib.stats.options import BoolArray, FloatArray, IntArray

NO_COMPARISON = "no comparison of two responders"
APART = "no finite strengths: {} were never compared with the others"
ONE_SIDED = "no finite strengths: {} {} every comparison with the others"
_NAMED = 4


def compared_at_all(wins: FloatArray, ties: FloatArray) -> BoolArray:
    """The responders of each set that are compared at all, shape (m, r)."""
    return np.asarray((wins + wins.swapaxes(1, 2) + ties).sum(axis=2) > 0)


def connected(wins: FloatArray, ties: FloatArray) -> BoolArray:
    """Whether all responders of each set that are compared are in one strong component, and there are two or more."""
    compared = compared_at_all(wins, ties)
    edge = ((wins + ties) > 0).astype(np.float32)
    # From any one of them all others are reached, and it from all others: of all sets at once.
    reached = np.zeros((2, *compared.shape), dtype=bool)
    reached[:, np.arange(len(compared)), compared.argmax(axis=1)] = True
    for seen, step in zip(reached, (edge, edge.transpose(0, 2, 1)), strict=True):
        more = seen
        while more.any():
            more = np.asarray(np.einsum("si,sij->sj", seen, step) > 0) & ~seen
            seen |= more
    return np.asarray((reached.all(axis=0) | ~compared).all(axis=1) & compared.any(axis=1))


def components(wins: FloatArray, ties: FloatArray) -> tuple[IntArray, IntArray]:
    """The parts of one set of comparisons, shape (r, r): weak and strong components of the graph of wins.

    A tie is a win of both. Bradley-Terry strengths exist if and only if all responders that are compared
    are in one strong component (Ford 1957).

    Returns
    -------
    tuple of int arrays, shape (r,): the weak and the strong component of each responder
    """
    edge = (wins + ties) > 0
    _, weak = connected_components(edge, directed=True, connection="weak")
    _, strong = connected_components(edge, directed=True, connection="strong")
    return weak.astype(np.int64), strong.astype(np.int64)


def absence(wins: FloatArray, ties: FloatArray, names: Sequence[str]) -> str:
    """Why one set of comparisons, shape (r, r), has no finite strengths, naming the responders; empty if it has.

    Ford's condition: of any two groups of the responders, some member of each beat some member of the other.
    """
    met = np.flatnonzero((wins + wins.T + ties).sum(axis=1) > 0)
    if not len(met):
        return NO_COMPARISON
    weak, strong = (component[met] for component in components(wins, ties))
    groups, sizes = np.unique(weak, return_counts=True)
    if len(groups) > 1:
        return APART.format(_list(met[weak == groups[sizes.argmin()]], names))
    reasons = []
    for component in np.unique(strong):
        inside, outside = met[strong == component], met[strong != component]
        won, lost = (wins + ties)[np.ix_(inside, outside)].sum(), (wins + ties)[np.ix_(outside, inside)].sum()
        if len(outside) and (won == 0 or lost == 0):
            reasons.append((len(inside), ONE_SIDED.format(_list(inside, names), "lost" if won == 0 else "won")))
    return min(reasons)[1] if reasons else ""


def _list(positions: IntArray, names: Sequence[str]) -> str:
    shown = ", ".join(names[i] for i in positions[:_NAMED])
    return shown + (f" and {len(positions) - _NAMED} more" if len(positions) > _NAMED else "")


_STEPS, _HALVINGS = 60, 30
_SMALL_STEP, _LARGE_STEP, _NO_MAXIMUM = 1e-9, 4.0, 30.0
_RIDGE = 1e-11
_HUGE = 1e300


class Fit(NamedTuple):
    """Fitted strengths of `m` sets of comparisons among `r` responders.

    Attributes
    ----------
    log_strength : shape (m, r), of mean 0 over the responders compared; NaN for one that never is,
        and throughout a set without a finite maximum
    tie : shape (m,), the parameter of ties: Davidson's nu (0 without ties), Rao and Kupper's theta (1 without ties);
        NaN in Bradley-Terry, which has none
    """

    log_strength: FloatArray
    tie: FloatArray

    @property
    def strength(self) -> FloatArray:
        """The strengths, which sum to 1 in every set, shape (m, r)."""
        return to_strength(self.log_strength)


class _Slope(NamedTuple):
    """A log likelihood of each set, its gradient, and the negative of its second derivatives."""

    value: FloatArray
    gradient: FloatArray
    information: FloatArray


Likelihood = Callable[[FloatArray], _Slope]
Model = Literal["bradley_terry", "davidson", "rao_kupper"]
Fitter = Callable[[FloatArray, FloatArray], Fit]


def to_strength(log_strength: FloatArray) -> FloatArray:
    """Log strengths on the scale on which they sum to 1 over the last axis, NaN left out."""
    finite = np.isfinite(log_strength)
    top = np.where(finite, log_strength, -np.inf).max(axis=-1, keepdims=True, initial=-_HUGE)
    raw = np.exp(np.where(finite, log_strength - top, 0.0))
    total = np.where(finite, raw, 0.0).sum(axis=-1, keepdims=True)
    return np.where(finite, raw / np.where(total > 0, total, 1.0), np.nan)


def bradley_terry(wins: FloatArray, ties: FloatArray) -> Fit:
    """Maximum likelihood strengths; a tie is half a win of either.

    Parameters
    ----------
    wins : shape (m, r, r), how often the responder of the row beat that of the column; need not be whole
    ties : shape (m, r, r), symmetric, how often they tied

    Returns
    -------
    Fit; a set whose graph of wins is not strongly connected has no finite maximum

    Notes
    -----
    Bradley and Terry (1952), Biometrika 39, 324; Ford (1957), Am. Math. Monthly 64(8), 28. Validated in
    `tests/stats/responders/test_bradley_terry.py` and `tests/published/test_bradley_terry.py`.
    """
    compared = compared_at_all(wins, ties)
    start = np.zeros(compared.shape)
    log_strength, exists = _maximum(_bradley_terry(wins, ties), start, compared, connected(wins, ties))
    return Fit(_centred(log_strength, compared & exists[:, None]), np.full(len(wins), np.nan))


def _bradley_terry(wins: FloatArray, ties: FloatArray) -> Likelihood:
    scored = wins + ties / 2
    n = scored + scored.swapaxes(1, 2)

    def likelihood(x: FloatArray) -> _Slope:
        gap = x[:, :, None] - x[:, None, :]
        p = expit(gap)
        value = (scored * log_expit(gap)).sum(axis=(1, 2))
        return _Slope(value, (scored - n * p).sum(axis=2), _laplacian(n * p * (1 - p)))

    return likelihood


def davidson(wins: FloatArray, ties: FloatArray) -> Fit:
    """Maximum likelihood strengths and nu, where a tie has a probability of its own.

    Against each other, i wins, j wins and they tie with probabilities proportional to p_i, p_j and
    nu * sqrt(p_i p_j).

    Parameters
    ----------
    wins, ties : as in `bradley_terry`

    Notes
    -----
    Davidson (1970), JASA 65, 317, doi:10.1080/01621459.1970.10481082. Validated in
    `tests/stats/responders/test_bradley_terry.py` and, with the paper's own example, in
    `tests/published/test_bradley_terry.py`.
    """
    return _with_ties(_davidson(wins, ties), wins, ties, start=0.0, without=0.0)


def _davidson(wins: FloatArray, ties: FloatArray) -> Likelihood:
    n = wins + wins.swapaxes(1, 2) + ties
    scored = wins + ties / 2
    n_ties = ties.sum(axis=(1, 2)) / 2

    def likelihood(x: FloatArray) -> _Slope:
        gap = (x[:, :-1, None] - x[:, None, :-1]) / 2
        nu = x[:, -1, None, None]
        total = np.logaddexp(np.logaddexp(gap, -gap), nu)
        win, tie = np.exp(gap - total), np.exp(nu - total)
        lead = (win - win.swapaxes(1, 2)) / 2
        value = (wins * (gap - total)).sum(axis=(1, 2)) + (ties * (nu - total)).sum(axis=(1, 2)) / 2
        gradient = np.hstack(
            [(scored - n * (win + tie / 2)).sum(axis=2), (n_ties - (n * tie).sum(axis=(1, 2)) / 2)[:, None]]
        )
        spread = n * ((1 - tie) / 4 - lead**2)
        across, last = -(n * tie * lead).sum(axis=2), (n * tie * (1 - tie)).sum(axis=(1, 2)) / 2
        return _Slope(value, gradient, _bordered(_laplacian(spread), across, last))

    return likelihood


def rao_kupper(wins: FloatArray, ties: FloatArray) -> Fit:
    """Maximum likelihood strengths and theta, a threshold that a difference must pass to be noticed.

    Responder i beats j with probability p_i / (p_i + theta * p_j), theta at least 1.

    Parameters
    ----------
    wins, ties : as in `bradley_terry`

    Notes
    -----
    Rao and Kupper (1967), JASA 62, 194, doi:10.1080/01621459.1967.10482901. Validated in
    `tests/stats/responders/test_bradley_terry.py` as an ordered logistic regression and by closed forms; no published
    example is tested.
    """
    return _with_ties(_rao_kupper(wins, ties), wins, ties, start=0.5, without=1.0)


def _rao_kupper(wins: FloatArray, ties: FloatArray) -> Likelihood:
    scored = wins + ties
    n_ties = ties.sum(axis=(1, 2)) / 2

    def likelihood(x: FloatArray) -> _Slope:
        threshold = x[:, -1]
        safe = np.where(threshold > 0, threshold, 1.0)
        gap = x[:, :-1, None] - x[:, None, :-1] - threshold[:, None, None]
        q = expit(-gap)
        missed = scored * q
        value = (scored * log_expit(gap)).sum(axis=(1, 2)) + n_ties * (2 * safe + np.log(-np.expm1(-2 * safe)))
        rest = -np.expm1(-2 * safe)
        gradient = np.hstack(
            [(missed - missed.swapaxes(1, 2)).sum(axis=2), (2 * n_ties / rest - missed.sum(axis=(1, 2)))[:, None]]
        )
        spread = missed * (1 - q)
        both = spread + spread.swapaxes(1, 2)
        across = (spread.swapaxes(1, 2) - spread).sum(axis=2)
        last = spread.sum(axis=(1, 2)) + 4 * n_ties * np.exp(-2 * safe) / rest**2
        return _Slope(np.where(threshold > 0, value, -np.inf), gradient, _bordered(_laplacian(both), across, last))

    return likelihood


def information(model: Model, wins: FloatArray, ties: FloatArray, fit: Fit) -> FloatArray:
    """The observed information of the log strengths and, in models of ties, last, of the log of their parameter.

    Parameters
    ----------
    fit : of sets that have one, with ties in a model of ties; a responder that is never compared counts as 0

    Returns
    -------
    float array, shape (m, r, r), or (m, r + 1, r + 1)
    """
    x = np.nan_to_num(fit.log_strength)
    if model == "bradley_terry":
        return _bradley_terry(wins, ties)(x).information
    likelihood = _davidson if model == "davidson" else _rao_kupper
    return likelihood(wins, ties)(np.hstack([x, np.log(fit.tie)[:, None]])).information


def _with_ties(likelihood: Likelihood, wins: FloatArray, ties: FloatArray, *, start: float, without: float) -> Fit:
    """Fit a model with a parameter of ties; where there is no tie it is Bradley and Terry's model."""
    m = len(wins)
    tied, decided = ties.sum(axis=(1, 2)) > 0, wins.sum(axis=(1, 2)) > 0
    compared = compared_at_all(wins, ties)
    plain = bradley_terry(wins, ties).log_strength
    x = np.hstack([np.nan_to_num(plain), np.full((m, 1), start)])
    fitted, exists = _maximum(likelihood, x, compared, tied & decided & connected(wins, ties))
    strengths = np.where(tied[:, None], _centred(fitted[:, :-1], compared & exists[:, None]), plain)
    tie = np.where(exists, np.exp(fitted[:, -1]), np.nan)
    return Fit(strengths, np.where(~tied & np.isfinite(plain).any(axis=1), without, tie))


def _maximum(
    likelihood: Likelihood, x: FloatArray, compared: BoolArray, wanted: BoolArray
) -> tuple[FloatArray, BoolArray]:
    """Climb to the maximum of every set that is wanted; the second result says where there is one.

    Where there is none, steps do not become small: the parameters run away and are stopped.

    Parameters
    ----------
    x : shape (m, p), where to start; the first columns are log strengths
    compared : shape (m, r), the responders to fit
    """
    going, converged, slope = wanted.copy(), np.zeros(len(x), dtype=bool), likelihood(x)
    for _ in range(_STEPS):
        if not going.any():
            break
        step = _newton_step(slope, compared)
        step[~going] = 0.0
        size = np.abs(step).max(axis=1, initial=0.0)
        scale = np.minimum(1.0, _LARGE_STEP / np.maximum(size, _SMALL_STEP))
        for _ in range(_HALVINGS):
            reached = x + scale[:, None] * step
            new = likelihood(reached)
            worse = ~(new.value >= slope.value - _SMALL_STEP * (1 + np.abs(slope.value)))
            if not worse.any():
                break
            scale[worse] /= 2
        x, slope = reached, new
        converged |= going & (size < _SMALL_STEP)
        going &= (size >= _SMALL_STEP) & (np.abs(x).max(axis=1, initial=0.0) < _NO_MAXIMUM)
    return x, converged


def _newton_step(slope: _Slope, compared: BoolArray) -> FloatArray:
    """Newton's step, shape (m, p).

    Only differences of log strengths are determined: their mean stays where it is, as do responders not compared.
    The touch of ridge keeps a set without a maximum solvable, and moves no maximum, where the gradient is zero.
    """
    m, p = slope.gradient.shape
    r = compared.shape[1]
    matrix = slope.information.copy()
    matrix[:, :r, :r] += compared[:, :, None] & compared[:, None, :]
    diagonal = np.ones((m, p)) * _RIDGE
    diagonal[:, :r] += ~compared
    matrix[:, np.arange(p), np.arange(p)] += diagonal
    return np.asarray(np.linalg.solve(matrix, slope.gradient[:, :, None])[:, :, 0], dtype=np.float64)


def _laplacian(weight: FloatArray) -> FloatArray:
    """The second derivatives of a function of differences, from its curvature in each, shape (m, r, r)."""
    r = weight.shape[1]
    out = -weight
    out[:, np.arange(r), np.arange(r)] = weight.sum(axis=2) - weight[:, np.arange(r), np.arange(r)]
    return out


def _bordered(strengths: FloatArray, across: FloatArray, last: FloatArray) -> FloatArray:
    """The second derivatives with those of one more parameter at the end."""
    m, r = across.shape
    out = np.empty((m, r + 1, r + 1))
    out[:, :r, :r] = strengths
    out[:, :r, r] = out[:, r, :r] = across
    out[:, r, r] = last
    return out


def _centred(x: FloatArray, fitted: BoolArray) -> FloatArray:
    """The log strengths of those fitted, with mean 0 in every set; NaN for the others."""
    n = fitted.sum(axis=1, keepdims=True)
    mean = np.where(fitted, x, 0.0).sum(axis=1, keepdims=True) / np.where(n > 0, n, 1)
    return np.where(fitted, x - mean, np.nan)
