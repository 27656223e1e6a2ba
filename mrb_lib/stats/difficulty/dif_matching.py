"""Cases that are equally hard for the judges: who takes part in the matching, and what is compared."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrb_lib.stats.difficulty.discrimination import discriminations
from mrb_lib.stats.difficulty.mantel_haenszel import (
    Clusters,
    EtsDelta,
    MantelHaenszel,
    TwoGroups,
    ets_class,
    ets_delta,
    mantel_haenszel,
    robust,
)
from mrb_lib.stats.difficulty.matched_logistic import matched_logistic
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, divide

_STEP, _ROUNDS = 0.5, 10


class Tables(NamedTuple):
    """Cases, sums of scores and of squares inside and outside of S subfields, each array of shape (J, 2, S, K).

    Level k of difficulty is k / 2 judges that are right, of `n_matching`, shape (J, S), each counted by its weight.
    `level` has for each subfield that of each case, shape (J, N), -1 where the judge has no score.
    """

    n: FloatArray
    sums: FloatArray
    squares: FloatArray
    level: list[IntArray]
    n_matching: IntArray


def tables(value: FloatArray, codes: IntArray, subfields: IntArray, anchors: BoolArray, weights: FloatArray) -> Tables:
    """Lay out the scores of one dimension by subfield and by how many judges are right, weighted by discrimination.

    Parameters
    ----------
    value : shape (J, N), NaN where there is no score
    codes : shape (N,), the subfield of each case, -1 for none
    subfields : shape (S,), those to lay out
    anchors : shape (S, J), the judges that cases are matched by; a judge always takes part in its own matching
    weights : shape (J,), what each judge counts for
    """
    judges, is_scored = len(value), np.isfinite(value)
    scores = np.where(is_scored, value, 0.0)
    shape = judges, int(codes.max(initial=-1)) + 1, 2 * judges + 2
    start = (np.arange(judges)[:, None] * shape[1] + np.maximum(codes, 0)) * shape[2]
    unused = ~is_scored | (codes < 0)
    summed = None, scores.ravel(), (scores**2).ravel()
    out = np.zeros((3, judges, 2, len(subfields), shape[2] - 1))
    level: dict[bytes, IntArray] = {}
    for key, mask in {mask.tobytes(): mask for mask in anchors}.items():
        here = np.flatnonzero((anchors == mask).all(axis=1))
        levels = level[key] = _levels(scores, is_scored, mask, weights)
        cell = (start + np.where(unused, shape[2] - 1, levels)).ravel()  # the last level is that of unused cases
        for target, values in zip(out, summed, strict=True):
            counts = np.bincount(cell, weights=values, minlength=int(np.prod(shape)))
            every = counts.reshape(shape)[:, :, :-1]
            inside = every[:, subfields[here]]
            target[:, 0, here] = inside
            target[:, 1, here] = np.maximum(every.sum(axis=1, keepdims=True) - inside, 0.0)
    n_matching = (anchors.sum(axis=1) + ~anchors.T).astype(np.int64)
    return Tables(out[0], out[1], out[2], [level[mask.tobytes()] for mask in anchors], n_matching)


def _levels(scores: FloatArray, is_scored: BoolArray, anchors: BoolArray, weights: FloatArray) -> IntArray:
    """The level of each case for each judge, -1 without a score: by the judges of a mask, and the judge itself."""
    most = int(anchors.sum())
    counts, each = anchors * weights, weights[~anchors, None]
    right, seen = counts @ scores, counts @ is_scored
    out = np.where(is_scored, _nearest(right, seen, most), -1)
    out[~anchors] = np.where(
        is_scored[~anchors],
        _nearest(right + each * scores[~anchors], seen + each * is_scored[~anchors], most + 1),
        -1,
    )
    return out


def _nearest(right: FloatArray, seen: FloatArray, most: int) -> IntArray:
    """The level nearest to the share of judges that are right; 0 where none has a score."""
    share = np.divide(right, seen, out=np.zeros(right.shape), where=seen > 0)
    return np.round(share * most / _STEP).astype(np.int64)


class Compared(NamedTuple):
    """Every judge inside and outside every subfield, each array of shape (J, S).

    Attributes
    ----------
    test : the Mantel-Haenszel test; its arrays as all others
    ets : the ETS delta
    n, accuracy : shape (J, 2, S), cases inside and outside and their mean scores
    expected, excess : the score to be expected inside, and by how much it is surpassed
    n_strata, n_matching : levels of difficulty with cases of both sides, and judges that cases are matched by
    logistic : columns by name
    unclear : shape (S,), too many judges stand out for any to be the measure of the others
    unweighted : judges count alike in the matching, since their discriminations cannot be estimated
    """

    test: MantelHaenszel
    ets: EtsDelta
    n: FloatArray
    accuracy: FloatArray
    expected: FloatArray
    excess: FloatArray
    n_strata: IntArray
    n_matching: IntArray
    logistic: dict[str, FloatArray]
    unclear: BoolArray
    unweighted: bool


def compare(value: FloatArray, codes: IntArray, n_subfields: int, clusters: Clusters) -> Compared:
    """Compare all judges in all subfields, on cases matched by the judges that do not stand out there."""
    weights = discriminations(value)
    alike = np.ones(len(value))
    unclear, laid, test = purified(value, codes, n_subfields, clusters, alike if weights is None else weights)
    both = (laid.n > 0).all(axis=1)
    weight = np.where(both, laid.n[:, 0], 0.0)
    rates = np.nan_to_num(divide(laid.sums, laid.n))
    observed, expected = (divide((weight * rates[:, i]).sum(axis=2), weight.sum(axis=2)) for i in (0, 1))
    n = laid.n.sum(axis=3)
    return Compared(
        test,
        ets=ets_delta(test.odds_ratio, test.log_se, test.df),
        n=n,
        accuracy=divide(laid.sums.sum(axis=3), n),
        expected=expected,
        excess=observed - expected,
        n_strata=both.sum(axis=2),
        n_matching=laid.n_matching,
        logistic=_logistic(laid, value, codes, clusters),
        unclear=unclear,
        unweighted=weights is None,
    )


def purified(
    value: FloatArray, codes: IntArray, n_subfields: int, clusters: Clusters, weights: FloatArray
) -> tuple[BoolArray, Tables, MantelHaenszel]:
    """Match in each subfield by the judges that do not stand out there.

    Returns
    -------
    unclear : shape (S,), where no majority is left
    tables : of all subfields, so matched
    test : of shape (J, S), so matched

    Notes
    -----
    As in the two steps of Holland and Thayer (1988, in Wainer and Braun, Test Validity), repeated until
    nothing changes (Candell and Drasgow, Appl. Psychol. Meas. 12 (1988) 253-260): judges in class B or C leave
    the matching of the others. The first step takes deltas from their median over judges, since judges
    that are weak together make all others look strong by the same amount. `weights` are the judges' discriminations. A
    majority must be left: where it is not,
    nobody can tell who stands out from whom, and all judges take part.
    """
    judged: BoolArray = np.asarray(np.isfinite(value).any(axis=1))
    everyone = np.broadcast_to(judged, (n_subfields, len(value)))
    anchors, every = everyone, np.arange(n_subfields)
    laid = tables(value, codes, every, everyone, weights)
    test = _tested(laid, value, codes, every, clusters)
    unclear = np.zeros(n_subfields, dtype=bool)
    centre = _median(_logs(test.odds_ratio))
    for _ in range(_ROUNDS):
        new, unclear = _kept(judged, _logs(test.odds_ratio) - centre, test)
        changed = np.flatnonzero((new != anchors).any(axis=1))
        if not len(changed):
            break
        anchors, centre = new, np.where(np.isin(every, changed), 0.0, centre)
        _match(laid, test, tables(value, codes, changed, anchors[changed], weights), value, codes, changed, clusters)
    again = np.flatnonzero(unclear & (anchors != everyone).any(axis=1))
    _match(laid, test, tables(value, codes, again, everyone[again], weights), value, codes, again, clusters)
    return unclear, laid, test


def _match(
    laid: Tables,
    test: MantelHaenszel,
    new: Tables,
    value: FloatArray,
    codes: IntArray,
    subfields: IntArray,
    clusters: Clusters,
) -> None:
    """Match some subfields by other judges: their new tables and tests take the place of those there were."""
    for target, values in zip((laid.n, laid.sums, laid.squares), new[:3], strict=True):
        target[:, :, subfields] = values
    laid.n_matching[:, subfields] = new.n_matching
    for subfield, level in zip(subfields.tolist(), new.level, strict=True):
        laid.level[subfield] = level
    for target, values in zip(test, _tested(new, value, codes, subfields, clusters), strict=True):
        target[:, subfields] = values


def _kept(judged: BoolArray, log_ratio: FloatArray, test: MantelHaenszel) -> tuple[BoolArray, BoolArray]:
    """Who does not stand out, shape (S, J), and where too many do: there the majority that does so least is kept."""
    stands_out = _stands_out(np.exp(log_ratio), test)
    kept: BoolArray = judged & ~stands_out.T
    most = max(2, int(judged.sum()) // 2 + 1)
    few: BoolArray = (kept.sum(axis=1) < most) & stands_out.any(axis=0)
    for subfield in np.flatnonzero(few):
        distance = np.where(judged, np.nan_to_num(np.abs(log_ratio[:, subfield]), nan=np.inf), np.inf)
        order = np.lexsort((distance, stands_out[:, subfield], ~judged))
        kept[subfield] = np.isin(np.arange(len(judged)), order[: min(most, int(judged.sum()))])
    return kept, few


def _logs(ratio: FloatArray) -> FloatArray:
    out = np.full(ratio.shape, np.nan)
    np.log(ratio, out=out, where=ratio > 0)
    return out


def _median(values: FloatArray) -> FloatArray:
    out = np.zeros(values.shape[1])
    some = np.isfinite(values).any(axis=0)
    out[some] = np.nanmedian(values[:, some], axis=0)
    return out


def _stands_out(ratio: FloatArray, test: MantelHaenszel) -> BoolArray:
    ets = ets_delta(ratio, test.log_se, test.df)
    out: BoolArray = np.isin(ets_class(ets.delta, ets.p_zero, ets.p_small), ("B", "C"))
    return out


def _tested(
    laid: Tables, value: FloatArray, codes: IntArray, subfields: IntArray, clusters: Clusters
) -> MantelHaenszel:
    """The tests of the subfields that were laid out, each array of shape (J, S)."""
    test = mantel_haenszel(TwoGroups(*(a.swapaxes(1, 2).reshape(-1, 2, a.shape[3]) for a in laid[:3])))
    for position, subfield in enumerate(subfields.tolist() if clusters.several else ()):
        sides = TwoGroups(*(a[:, :, position] for a in laid[:3]))
        rows = np.arange(len(value)) * len(subfields) + position
        test = robust(test, rows, sides, value, laid.level[position], _side(codes, subfield), clusters)
    return MantelHaenszel(*(a.reshape(len(value), -1) for a in test))


def _side(codes: IntArray, subfield: int) -> IntArray:
    """0 for a case inside the subfield, 1 outside, -1 for one that is in none."""
    return np.where(codes < 0, -1, (codes != subfield).astype(np.int64))


def _logistic(laid: Tables, value: FloatArray, codes: IntArray, clusters: Clusters) -> dict[str, FloatArray]:
    """The logistic regressions by name, each array of shape (J, S); those matched by as many judges are one batch."""
    binary = bool(np.isin(value[np.isfinite(value)], (0.0, 1.0)).all())
    level = _STEP * np.arange(float(laid.n.shape[3]))
    out: dict[str, FloatArray] = {}
    for most in np.unique(laid.n_matching):
        judge, subfield = np.nonzero(laid.n_matching == most)
        data = TwoGroups(*(a[judge, :, subfield] for a in laid[:3]))
        matched_cases = None
        if clusters.several:
            levels = np.stack([laid.level[s][j] for j, s in zip(judge, subfield, strict=True)])
            sides = np.stack([_side(codes, s) for s in subfield.tolist()])
            matched_cases = clusters.matched_cases(value[judge], levels, sides)
        for name, values in matched_logistic(data, level, int(most), binary=binary, cases=matched_cases).items():
            out.setdefault(name, np.full(laid.n_matching.shape, np.nan))[judge, subfield] = values
    return out
