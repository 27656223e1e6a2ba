"""The verdicts under a probe beside the plain ones, case by case: each cell is an order and a repeat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mrb_lib.stats.consistency.intervals import signed_interval
from mrb_lib.stats.core.panel import ABSENT, TIE, Panel
from mrb_lib.stats.core.scoring import score
from mrb_lib.stats.options import TINY, BoolArray, FloatArray, IntArray, divide
from mrb_lib.stats.resampling.distinct import distinct_rows
from mrb_lib.stats.resampling.resample import mean_over_clusters
from mrb_lib.stats.resampling.robust import share_interval, t_interval
from mrb_lib.stats.significance.differences import PairedDifferences, PairPlan, paired_differences
from mrb_lib.stats.subfields import Group
from mrb_lib.tables.schema import CHOICES

_A: Final = CHOICES.index("A")


class Cells(NamedTuple):
    """What a probe did to each case, each array of shape (judges, dimensions, cases); NaN where that is undefined.

    Attributes
    ----------
    changed : share of the cells answered with and without the probe in which the choice differs
    noise : share of the pairs of plain repeats in one order that differ, a mean over the orders
    beyond : `changed` less `noise` within an order, a mean over the orders that have both
    target : share choosing the target under the probe less that without, over the cells of `changed`; a tie is half
    probability : the same of the probability of the target
    plain, probed : the score without and under the probe, over the cells that have a verdict in both
    presented : whether there is a verdict under the probe
    answered : share of the verdicts under the probe that have a choice
    """

    changed: FloatArray
    noise: FloatArray
    beyond: FloatArray
    target: FloatArray
    probability: FloatArray
    plain: FloatArray
    probed: FloatArray
    presented: BoolArray
    answered: FloatArray

    @property
    def accuracy(self) -> FloatArray:
        """What the probe did to the score."""
        return self.probed - self.plain

    def of_cases(self, cases: IntArray) -> Cells:
        """Those of some cases."""
        return Cells._make(each[..., cases] for each in self)


def of_judges(panel: Panel, judges: Sequence[str]) -> Panel:
    """The panel of these judges, in this order; one without verdicts is absent throughout."""
    if list(judges) == panel.judges:
        return panel
    rows = [panel.judges.index(name) if name in panel.judges else -1 for name in judges]
    absent = np.array(rows) < 0
    choice = np.full((len(rows), *panel.choice.shape[1:]), ABSENT, dtype=np.int8)
    choice[~absent] = panel.choice[[row for row in rows if row >= 0]]
    p_a = None
    if panel.p_a is not None:
        p_a = np.full(choice.shape, np.nan)
        p_a[~absent] = panel.p_a[[row for row in rows if row >= 0]]
    return replace(panel, judges=list(judges), choice=choice, p_a=p_a, is_bound=None)


def cells(
    plain: Panel,
    probed: Panel,
    labels: IntArray,
    policy: str,
    is_a: BoolArray | None,
    noise: float | None,
    repeated: Sequence[Panel] = (),
) -> Cells:
    """Pair the verdicts under a probe with the plain ones.

    Parameters
    ----------
    plain, probed : of the same judges, dimensions and cases
    labels : the gold labels, shape (dimensions, cases)
    is_a : shape (cases,), whether the target of the probe is response A; None of a probe without one
    noise : the noise of judges that answered no plain case twice; None where nobody knows
    repeated : whose repeats tell the noise, a mean over them; empty for the plain verdicts
    """
    before, after = _shared(plain, probed)
    first, second = before.choice, after.choice
    both = (first >= 0) & (second >= 0)
    count = both.sum(axis=4)
    by_order = divide((both & (first != second)).sum(axis=4).astype(np.float64), count)
    noises = _mean(np.stack([noise_by_order(each.choice) for each in repeated or (plain,)]), axis=0)
    if noise is not None:
        noises = np.where(np.isnan(noises).all(axis=(2, 3), keepdims=True), noise, noises)
    undefined = np.full(plain.shape, np.nan)
    worth = [score(each, labels, policy).score for each in (before, after)]
    verdicts = (probed.choice != ABSENT).sum(axis=(3, 4))
    return Cells(
        _over(np.where(both, first != second, 0.0), both),
        _mean(noises, axis=3),
        _mean(by_order - noises, axis=3),
        undefined if is_a is None else _over(_chooses(second, is_a) - _chooses(first, is_a), both),
        undefined if is_a is None else _probability(before, after, is_a),
        np.where(np.isnan(worth[1]), np.nan, worth[0]),
        np.where(np.isnan(worth[0]), np.nan, worth[1]),
        verdicts > 0,
        divide((probed.choice >= 0).sum(axis=(3, 4)).astype(np.float64), verdicts),
    )


def noise_by_order(choice: NDArray[np.int8]) -> FloatArray:
    """The share of pairs of repeats that differ in each order; NaN where fewer than two repeats have a choice."""
    counts = np.stack([(choice == code).sum(axis=4) for code in range(len(CHOICES))]).astype(np.float64)
    n = counts.sum(axis=0)
    return 1 - divide((counts * (counts - 1)).sum(axis=0), n * (n - 1))


def _shared(plain: Panel, probed: Panel) -> tuple[Panel, Panel]:
    """Both on their common repeats, and only where both have a verdict, with a choice or without."""
    repeats = [number for number in plain.repeats if number in probed.repeats]
    pair = []
    for each in (plain, probed):
        those = [each.repeats.index(number) for number in repeats]
        p_a = None if each.p_a is None else each.p_a[..., those]
        pair.append(replace(each, repeats=repeats, choice=each.choice[..., those], p_a=p_a, is_bound=None, seen={}))
    there = (pair[0].choice != ABSENT) & (pair[1].choice != ABSENT)
    first, second = (replace(each, choice=np.where(there, each.choice, ABSENT).astype(np.int8)) for each in pair)
    return first, second


def _chooses(choice: NDArray[np.int8], is_a: BoolArray) -> FloatArray:
    """How far each choice is for the target: 1, 0, or 1/2 for a tie."""
    for_target = (choice == _A) == is_a[:, None, None]
    return np.where(choice == TIE, 0.5, for_target.astype(np.float64))


def _probability(before: Panel, after: Panel, is_a: BoolArray) -> FloatArray:
    if before.p_a is None or after.p_a is None:
        return np.full(before.shape, np.nan)
    change = np.where(is_a[:, None, None], 1.0, -1.0) * (after.p_a - before.p_a)
    return _over(np.nan_to_num(change), np.isfinite(change) & before.present)


def _over(values: FloatArray, counted: BoolArray) -> FloatArray:
    """The mean over the orders and repeats that count."""
    return divide(np.where(counted, values, 0.0).sum(axis=(3, 4)), counted.sum(axis=(3, 4)))


def _mean(values: FloatArray, axis: int) -> FloatArray:
    """The mean along an axis over what is defined."""
    defined = np.isfinite(values)
    return divide(np.where(defined, values, 0.0).sum(axis=axis), defined.sum(axis=axis))


def differences(
    values: FloatArray, cases: IntArray, codes: IntArray, *, resamples: int, seed: int
) -> PairedDifferences:
    """The means of differences within cases, shape (m, cases) with NaN where a case does not count.

    Parameters
    ----------
    cases : shape (cases,), their positions in the benchmark
    codes : the cluster of every case of the benchmark

    Returns
    -------
    PairedDifferences
        Where all cases are alike resampling has nothing to go by, and the ends are those of `leanings`.
    """
    inside, values = values, np.full((len(values), len(codes)), np.nan)
    values[:, cases] = inside
    mask = np.isfinite(values)
    rows, which = distinct_rows(mask.astype(np.int64))
    number, none = np.arange(len(values)), np.zeros(len(values), dtype=np.int64)
    plan = PairPlan(
        np.where(mask, values, 0.0), mask[rows].astype(np.float64), which, none, none, none, plus=number, minus=none - 1
    )
    group = Group(None, None, cases, 0)
    found = next(iter(paired_differences(plan, [group], codes, resamples=resamples, seed=seed)))
    alike = np.isfinite(found.low) & (found.error < TINY)
    low, high = leanings(np.where(alike[:, None], values, np.nan), codes)[1:]
    return found._replace(low=np.where(alike, low, found.low), high=np.where(alike, high, found.high))


def shares(values: FloatArray, codes: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The means of shares within cases, shape (m, cases), with the ends of their intervals, never without width."""
    mask = np.isfinite(values)
    estimate = mean_over_clusters(np.where(mask, values, 0.0).T, mask.T.astype(np.float64), codes)
    return (estimate.value, *share_interval(estimate))


def means(values: FloatArray, codes: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The means of differences within cases with the ends of their intervals by t, where nothing is tested."""
    mask = np.isfinite(values)
    estimate = mean_over_clusters(np.where(mask, values, 0.0).T, mask.T.astype(np.float64), codes)
    return (estimate.value, *t_interval(estimate, -1.0, 1.0))


def leanings(values: FloatArray, codes: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The means of values from -1 to 1 within cases with the ends of their intervals, never without width.

    See `mrb_lib.stats.consistency.intervals.signed_interval`.
    """
    mask = np.isfinite(values)
    counted, kept = mask.T.astype(np.float64), np.where(mask, values, 0.0).T
    estimate = mean_over_clusters(kept, counted, codes)
    forward = mean_over_clusters(np.maximum(kept, 0.0), counted, codes).value
    return (estimate.value, *signed_interval(estimate, forward))
