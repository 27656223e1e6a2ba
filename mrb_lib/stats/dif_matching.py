"""Cases that are equally hard for the judges: who takes part in the matching, and what is compared."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mrb_lib.stats.dif_clusters import Clusters, Sides, robust
from mrb_lib.stats.mantel_haenszel import MantelHaenszel, Stack, ets_class, mantel_haenszel
from mrb_lib.stats.matched_logistic import Matched, matched_logistic
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, divide

_STEP, _ROUNDS = 0.5, 10


class Tables(NamedTuple):
    """Cases, sums of scores and of squares inside and outside of S subfields, each array of shape (J, 2, S, K).

    Level k of difficulty is k / 2 judges that are right, of `n_matching`, shape (J,). `level`, shape (J, N), is that
    of each case, -1 where the judge has no score.
    """

    n: FloatArray
    sums: FloatArray
    squares: FloatArray
    level: IntArray
    n_matching: IntArray


def tables(value: FloatArray, codes: IntArray, n_subfields: int, anchors: BoolArray) -> Tables:
    """Lay out the scores of one dimension by subfield and by how many judges are right.

    Parameters
    ----------
    value : shape (J, N), NaN where there is no score
    codes : shape (N,), the subfield of each case, -1 for none
    anchors : shape (J,), the judges that cases are matched by; a judge always takes part in its own matching
    """
    known = np.isfinite(value)
    scores = np.where(known, value, 0.0)
    right, seen = scores[anchors].sum(axis=0), known[anchors].sum(axis=0)
    extra = ~anchors[:, None]
    n_matching = (int(anchors.sum()) + ~anchors).astype(np.int64)
    share = divide(right + np.where(extra, scores, 0.0), seen + (known & extra))
    level = np.round(np.nan_to_num(share) * n_matching[:, None] / _STEP).astype(np.int64)
    level[~known] = -1
    judge, case = np.nonzero(known & (codes >= 0))
    shape = (len(value), n_subfields, int(2 * n_matching.max()) + 1)
    cell = np.ravel_multi_index((judge, codes[case], level[judge, case]), shape)
    found = value[judge, case]
    inside = [
        np.bincount(cell, weights=weights, minlength=int(np.prod(shape))).astype(np.float64).reshape(shape)
        for weights in (None, found, found**2)
    ]
    n, sums, squares = (np.stack([a, np.maximum(a.sum(axis=1, keepdims=True) - a, 0.0)], axis=1) for a in inside)
    return Tables(n, sums, squares, level, n_matching)


class Compared(NamedTuple):
    """Every judge inside and outside every subfield, each array of shape (J, S).

    Attributes
    ----------
    test : the Mantel-Haenszel test; its arrays as all others
    delta, delta_reach, ets : the ETS delta, half the length of its interval, and its class
    n, accuracy : shape (J, 2, S), cases inside and outside and their mean scores
    expected, excess : the score to be expected inside, and by how much it is surpassed
    n_strata, n_matching : levels of difficulty with cases of both sides, and judges that cases are matched by
    logistic : columns by name
    unclear : shape (S,), too many judges stand out for any to be the measure of the others
    """

    test: MantelHaenszel
    delta: FloatArray
    delta_reach: FloatArray
    ets: NDArray[np.object_]
    n: FloatArray
    accuracy: FloatArray
    expected: FloatArray
    excess: FloatArray
    n_strata: IntArray
    n_matching: IntArray
    logistic: dict[str, FloatArray]
    unclear: BoolArray


def compare(value: FloatArray, codes: IntArray, n_subfields: int, clusters: Clusters) -> Compared:
    """Compare all judges in all subfields, on cases matched by the judges that do not stand out there."""
    anchors, unclear, found, test = purified(value, codes, n_subfields, clusters)
    masks, which = np.unique(anchors, axis=0, return_inverse=True)
    which = np.asarray(which).ravel()
    binary = bool(np.isin(value[np.isfinite(value)], (0.0, 1.0)).all())
    shape = (len(value), n_subfields)
    wide: dict[str, FloatArray] = {}
    for mask in range(len(masks)):
        here, laid = np.flatnonzero(which == mask), found[masks[mask].tobytes()]
        for name, values in _described(laid, here, clusters, value, codes, binary=binary).items():
            wide.setdefault(name, np.full((*shape[:1], *values.shape[1:-1], n_subfields), np.nan))[..., here] = values
    delta, classes, reach = ets_class(test.odds_ratio.ravel(), test.log_se.ravel(), test.df.ravel())
    return Compared(
        test,
        delta=delta.reshape(shape),
        delta_reach=reach.reshape(shape),
        ets=np.array(classes, dtype=object).reshape(shape),
        n=wide.pop("n"),
        accuracy=wide.pop("accuracy"),
        expected=wide.pop("expected"),
        excess=wide.pop("excess"),
        n_strata=wide.pop("n_strata").astype(np.int64),
        n_matching=wide.pop("n_matching").astype(np.int64),
        logistic=wide,
        unclear=unclear,
    )


def purified(
    value: FloatArray, codes: IntArray, n_subfields: int, clusters: Clusters
) -> tuple[BoolArray, BoolArray, dict[bytes, Tables], MantelHaenszel]:
    """Find the judges to match by in each subfield.

    Returns
    -------
    anchors : shape (S, J)
    unclear : shape (S,), where no majority is left
    tables : those of every set of anchors, by the bytes of its mask
    test : of shape (J, S), with these anchors

    Notes
    -----
    As in the two steps of Holland and Thayer (1988, in Wainer and Braun, Test Validity), repeated until
    nothing changes (Candell and Drasgow, Appl. Psychol. Meas. 12 (1988) 253-260): judges in class B or C leave
    the matching of the others. The first step takes deltas from their median over judges, since judges
    that are weak together make all others look strong by the same amount. A majority must be left: where it is not,
    nobody can tell who stands out from whom, and all judges take part.
    """
    judged: BoolArray = np.asarray(np.isfinite(value).any(axis=1))
    everyone = np.broadcast_to(judged, (n_subfields, len(value)))
    found: dict[bytes, Tables] = {}
    anchors, test = everyone, _tested(value, codes, everyone, np.arange(n_subfields), found, clusters, None)
    unclear = np.zeros(n_subfields, dtype=bool)
    centre = _median(_logs(test.odds_ratio))
    for _ in range(_ROUNDS):
        new, unclear = _kept(judged, _logs(test.odds_ratio) - centre, test)
        changed = np.flatnonzero((new != anchors).any(axis=1))
        if not len(changed):
            break
        anchors, centre = new, np.where(np.isin(np.arange(n_subfields), changed), 0.0, centre)
        test = _tested(value, codes, anchors, changed, found, clusters, test)
    again = np.flatnonzero(unclear & (anchors != everyone).any(axis=1))
    test = _tested(value, codes, everyone, again, found, clusters, test)
    return np.where(unclear[:, None], everyone, anchors), unclear, found, test


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
    classes = ets_class(ratio.ravel(), test.log_se.ravel(), test.df.ravel())[1]
    out: BoolArray = np.array([name in ("B", "C") for name in classes]).reshape(ratio.shape)
    return out


def _tested(
    value: FloatArray,
    codes: IntArray,
    anchors: BoolArray,
    subfields: IntArray,
    found: dict[bytes, Tables],
    clusters: Clusters,
    before: MantelHaenszel | None,
) -> MantelHaenszel:
    """The test of some subfields with their anchors; the others as `before`."""
    shape = (len(value), len(anchors))
    out = MantelHaenszel(*(np.full(shape, np.nan) for _ in MantelHaenszel._fields))
    if before is not None:
        out = MantelHaenszel(*(values.copy() for values in before))
    for mask in np.unique(anchors[subfields], axis=0):
        here = subfields[(anchors[subfields] == mask).all(axis=1)]
        laid = found.get(mask.tobytes())
        if laid is None:
            laid = found[mask.tobytes()] = tables(value, codes, len(anchors), mask)
        n, sums, squares = (a[:, :, here].swapaxes(1, 2).reshape(-1, 2, a.shape[3]) for a in laid[:3])
        new = mantel_haenszel(Stack(n[:, 0], n[:, 1], sums[:, 0], sums[:, 1], squares.sum(axis=1)))
        if clusters.several:
            for place, subfield in enumerate(here):
                sides = Sides(laid.n[:, :, subfield], laid.sums[:, :, subfield], laid.squares[:, :, subfield])
                rows = np.arange(len(value)) * len(here) + place
                new = robust(new, rows, sides, value, laid.level, _side(codes, int(subfield)), clusters)
        for target, values in zip(out, new, strict=True):
            target[:, here] = values.reshape(len(value), -1)
    return out


def _side(codes: IntArray, subfield: int) -> IntArray:
    """0 for a case inside the subfield, 1 outside, -1 for one that is in none."""
    return np.where(codes < 0, -1, (codes != subfield).astype(np.int64))


def _described(
    laid: Tables, here: IntArray, clusters: Clusters, value: FloatArray, codes: IntArray, *, binary: bool
) -> dict[str, FloatArray]:
    """What is known of some subfields beside the test, by name; the last axis is that of the subfields."""
    n, sums, squares = (a[:, :, here] for a in laid[:3])
    both = (n > 0).all(axis=1)
    weight = np.where(both, n[:, 0], 0.0)
    rates = np.nan_to_num(divide(sums, n))
    observed, expected = (divide((weight * rates[:, i]).sum(axis=2), weight.sum(axis=2)) for i in (0, 1))
    counted = n.sum(axis=3)
    out = {"n": counted, "accuracy": divide(sums.sum(axis=3), counted), "expected": expected}
    out |= {"excess": observed - expected, "n_strata": both.sum(axis=2).astype(np.float64)}
    out["n_matching"] = np.repeat(laid.n_matching[:, None], len(here), axis=1).astype(np.float64)
    level = _STEP * np.arange(float(n.shape[3]))
    for most in np.unique(laid.n_matching):
        judges = np.flatnonzero(laid.n_matching == most)
        data = Matched(*(a[judges].swapaxes(1, 2).reshape(-1, 2, a.shape[3]) for a in (n, sums, squares)))
        places = None
        if clusters.several:
            side = np.stack([_side(codes, int(subfield)) for subfield in here])
            places = clusters.places(value[judges], laid.level[judges], side)
        for name, values in matched_logistic(data, level, int(most), binary=binary, places=places).items():
            out.setdefault(name, np.full((*n.shape[:1], len(here)), np.nan))[judges] = values.reshape(len(judges), -1)
    return out
