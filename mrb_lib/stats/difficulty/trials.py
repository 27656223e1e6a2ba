"""Verdicts as the trials of an item response model: which response was shown first is a part of the model."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrb_lib.stats.estimation import BoolArray, FloatArray, IntArray, divide
from mrb_lib.stats.scoring import BOTH_ORDERS, read_by, score
from mrb_lib.stats.verdicts import Verdicts

# The kinds of trial: the gold response was shown first, or second; or neither, where the label is a tie or a rating.
_SHIFT = np.array([0.5, -0.5, 0.0])
NEITHER = 2


class Trials(NamedTuple):
    """Successes and trials of N cases in C cells; a cell is a judge and a kind of trial.

    Attributes
    ----------
    n_correct, n_trials : shape (N, C)
    design : shape (C, P), a cell's log odds at a difficulty of 0 from P parameters: an ability for each judge, then,
        for those with trials of both kinds, by how much the gold response being shown first raises it
    position : shape (J,), the column of that parameter for each judge; -1 where it has none
    """

    n_correct: FloatArray
    n_trials: FloatArray
    design: FloatArray
    position: IntArray

    @property
    def n_judges(self) -> int:
        """The number of judges."""
        return len(self.position)


def plain(score: FloatArray) -> Trials:
    """One trial a judge and case, shape (J, N); NaN where there is none, and a fraction is a share of a success."""
    finite = np.isfinite(score)
    none = np.full(len(score), -1, dtype=np.int64)
    return Trials(np.where(finite, score, 0.0).T, finite.T.astype(np.float64), np.eye(len(score)), none)


class Shown(NamedTuple):
    """Verdicts by order: mean scores and numbers, shape (J, 2, N), and the kind of each trial, shape (2, N).

    Policies that make one score of both orders have it instead of the first, with trials of the last kind.
    """

    score: FloatArray
    n: FloatArray
    kind: IntArray


def shown(verdicts: Verdicts, labels: IntArray, policy: str) -> list[Shown]:
    """Score the verdicts of each dimension order by order.

    Parameters
    ----------
    labels : shape (cases, dimensions)
    policy : `balanced`, `answered` and `official` are applied within an order; `strict` and `net` need both
    """
    values = np.full((2, verdicts.n_cases, len(verdicts.cells)), np.nan)
    counts = np.zeros(values.shape)
    read, together = read_by(verdicts, policy), policy in BOTH_ORDERS
    for order in range(1 if together else 2):
        own = read if together else read.where(read.order == order)
        values[order] = score(own, labels, policy).score
        n = np.ones(values.shape[1:]) if together else own.total(own.choice >= 0 if policy == "answered" else None)
        counts[order] = np.where(np.isfinite(values[order]), n, 0)
    second = np.stack([labels == 1, labels == 0]).astype(np.int64)
    no_order = together or verdicts.tie < 0
    kind = np.where((labels == verdicts.tie) | (labels < 0) | no_order, NEITHER, second)
    values, counts = np.moveaxis(values, 2, 0), np.moveaxis(counts, 2, 0)
    of_dimension = [verdicts.dimension == d for d in range(len(verdicts.dimensions))]
    return [Shown(values[own], counts[own], kind[:, :, d]) for d, own in enumerate(of_dimension)]


def worth(shown_verdicts: Shown, expected: FloatArray | None = None) -> FloatArray:
    """Return what a verdict of each judge counts as, in independent trials, shape (J,), at most 1.

    Verdicts of a judge on a case that go together more than chance would have it - in both orders, in all
    repeats - are fewer trials than they are many: the variance of independent trials over that of the judge's.
    What goes together because of which response was shown first is not counted; a judge that always takes the
    first varies not at all.

    Parameters
    ----------
    expected : shape (J,), the correlation of a judge's verdicts on a case that the cases' difficulty
        explains, which is no dependence; None for none
    """
    n_correct = np.nan_to_num(shown_verdicts.score) * shown_verdicts.n
    surprise, chance = np.zeros(n_correct.shape), np.zeros(len(n_correct))
    for kind in range(len(_SHIFT)):
        member = shown_verdicts.kind == kind
        n = np.where(member, shown_verdicts.n, 0.0).sum(axis=(1, 2))
        mean = np.nan_to_num(divide(np.where(member, n_correct, 0.0).sum(axis=(1, 2)), n))
        surprise += np.where(member, n_correct - shown_verdicts.n * mean[:, None, None], 0.0)
        chance += n * mean * (1 - mean)
    spread = (surprise.sum(axis=1) ** 2).sum(axis=1)
    n = shown_verdicts.n.sum(axis=1)
    further = np.maximum(np.nan_to_num(divide((n**2).sum(axis=1), n.sum(axis=1)), nan=1.0) - 1, 0.0)
    alike = np.nan_to_num(divide(np.nan_to_num(divide(spread, chance), nan=1.0) - 1, further))
    if expected is not None:
        alike = np.nan_to_num(divide(alike - expected, 1 - expected))
    out: FloatArray = 1 / (1 + further * np.clip(alike, 0.0, 1.0))
    return out


def trials(shown_verdicts: Shown, usable: BoolArray, each: FloatArray, position: IntArray | None = None) -> Trials:
    """Lay out the verdicts by judge and kind of trial.

    Parameters
    ----------
    usable : shape (J, N), the cases to count
    each : shape (J,), what a verdict counts as, see `worth`
    position : the judges' effects of position are those of other trials, whose `position` this is; None derives them
    """
    n = np.where(usable[:, None], shown_verdicts.n, 0.0) * each[:, None, None]
    n_correct = np.nan_to_num(shown_verdicts.score) * n
    judges = len(each)
    cells, corrects, trials_of_kind, shift = [], [], [], []
    for kind in range(len(_SHIFT)):
        member = shown_verdicts.kind == kind
        n_trials = np.where(member, n, 0.0).sum(axis=1)
        if member.any():
            cells.append(np.eye(judges))
            corrects.append(np.where(member, n_correct, 0.0).sum(axis=1))
            trials_of_kind.append(n_trials)
            shift.append(np.full(judges, _SHIFT[kind]))
    n_trials, moved = np.concatenate(trials_of_kind), np.concatenate(shift)[:, None] * np.vstack(cells)
    if position is None:
        # A judge with trials of one kind only has no effect of position that could be told from its ability.
        seen = moved * (n_trials.sum(axis=1) > 0)[:, None]
        both = (seen.max(axis=0) > 0) & (seen.min(axis=0) < 0)
        position = np.where(both, judges + np.cumsum(both) - 1, -1).astype(np.int64)
    design = np.hstack([np.vstack(cells), moved[:, position >= 0]])
    return Trials(np.concatenate(corrects).T, n_trials.T, design, position)
