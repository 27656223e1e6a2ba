"""Majorities of very many juries, counted and scored by looking up.

The votes of a member are a number whose sums over members say how many votes each choice has, so that a jury is a sum,
and its verdict, and what its verdicts on a case are worth, are entries of tables. Counting every choice by itself and
scoring every jury by `mrb_lib.stats.core.scoring.score` takes twice as long for the whole table (2.3 s, not 1.1, of
processor time at paper scale).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mrb_lib.stats.core.panel import ABSENT, NULL, TIE, Panel
from mrb_lib.stats.core.scoring import columns_used, score
from mrb_lib.stats.juries.votes import largest
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import CHOICES

Choices = NDArray[np.int8]
_MOST_LISTED = 2**14
_BITS = 62


@dataclass(frozen=True)
class Tally:
    """The votes of the members of a jury, and what its verdicts are worth.

    Attributes
    ----------
    votes : shape (cells, members, dimensions, cases); a cell is an order and repeat that the policy reads. Of a base
        that is a power of 2: A counts 1, B the base, a tie its square, and every verdict, without a choice, too, its
        cube, which is left out where `complete`; categories of ratings likewise count powers of it
    complete : whether all members have a verdict wherever one of them has
    somebody : shape (cells, dimensions, cases), whether any member has a verdict; where not, no jury has one
    verdict : the verdict, less `ABSENT`, by the sum of votes for A, B and tie, where somebody has a verdict; None of
        ratings, whose votes are counted
    base : the base
    worth : shape (labels and none, combinations of verdicts); NaN where a case is not scored
    labels : shape (dimensions, cases), -1 for none
    panel, policy : what the jury is formed of, and how it is scored
    """

    votes: IntArray
    complete: bool
    somebody: BoolArray
    verdict: Choices | None
    base: int
    worth: FloatArray
    labels: IntArray
    panel: Panel
    policy: str

    @property
    def excludes(self) -> bool:
        """Whether juries of some of the members can be scored on fewer cases than the whole jury."""
        return self.policy == "answered" or not self.complete

    def scores(self, sums: IntArray) -> FloatArray:
        """What juries' majorities are worth, NaN where a case is not scored.

        Parameters
        ----------
        sums : shape (cells, juries, dimensions, cases), sums of `votes` over the members of each

        Returns
        -------
        float array, shape (juries, dimensions, cases)
        """
        if self.worth.size == 0:
            return self._scores_one_by_one(sums)
        combinations, codes = self.worth.shape[1], len(self.panel.categories) - ABSENT
        index = np.empty(sums.shape[1:], dtype=np.int64)
        index[:] = (self.labels + 1) * combinations
        for i, sums_of_cell in enumerate(sums):
            index += self._verdicts(i, sums_of_cell) * np.int64(codes**i)
        return np.asarray(self.worth.take(index))

    def _verdicts(self, cell: int, sums: IntArray) -> Choices:
        """The verdicts, less `ABSENT`, in one cell."""
        if self.verdict is None:
            return self._counted(cell, sums)
        if self.complete:
            return np.asarray(self.verdict.take(sums) * self.somebody[cell])
        cube = len(self.verdict)
        return np.asarray(self.verdict.take(sums & (cube - 1)) * (sums >= cube))

    def _counted(self, cell: int, sums: IntArray) -> Choices:
        """As `_verdicts`, by the number of votes for each category."""
        bits, k = self.base.bit_length() - 1, len(self.panel.categories)
        counts = np.stack([(sums >> bits * code) & (self.base - 1) for code in range(k)])
        somebody = np.broadcast_to(self.somebody[cell], sums.shape) if self.complete else sums >= self.base**k
        return largest(counts, somebody, self.panel.tie) - np.int8(ABSENT)

    def _scores_one_by_one(self, sums: IntArray) -> FloatArray:
        """As `scores`, where there are too many combinations of verdicts to list."""
        choice = np.full((sums.shape[1], *self.panel.choice.shape[1:]), ABSENT, dtype=np.int8)
        used = choice[..., *columns_used(self.panel, self.policy)]
        for i, (order, repeat) in enumerate(np.ndindex(*used.shape[3:])):
            used[..., order, repeat] = self._verdicts(i, sums[i]) + ABSENT
        names = [str(i) for i in range(len(choice))]
        return score(replace(self.panel, judges=names, choice=choice), self.labels, self.policy).score


def tally(panel: Panel, labels: IntArray, policy: str) -> Tally:
    """Prepare the juries of the judges of a panel; a member without a choice abstains.

    Parameters
    ----------
    labels : shape (dimensions, cases), -1 for none

    Raises
    ------
    InputError
        There are more judges and categories than can be counted together.
    """
    k = len(panel.categories)
    used = panel.choice[..., *columns_used(panel, policy)]
    cells = np.moveaxis(used.reshape(*used.shape[:3], used.shape[3] * used.shape[4]), 3, 0)
    base = 1 << len(panel.judges).bit_length()
    somebody = (cells != ABSENT).any(axis=1)
    complete = bool(((cells != ABSENT) == somebody[:, None]).all())
    if (base.bit_length() - 1) * (k + 1) > _BITS:
        raise InputError(
            f"table jury: {len(panel.judges)} judges with {k} categories are too many to form juries of; "
            "name fewer judges with --judges."
        )
    present = 0 if complete else base**k
    worths = np.array([*(base**code + present for code in range(k)), 0, present])  # categories, absent, null
    few = (k - ABSENT) ** len(cells) <= _MOST_LISTED
    return Tally(
        votes=worths[cells],
        complete=complete,
        somebody=somebody,
        verdict=_verdicts(base) if panel.categories == CHOICES else None,
        base=base,
        worth=_worths(panel, policy, len(cells)) if few else np.empty((0, 0)),
        labels=labels,
        panel=panel,
        policy=policy,
    )


def _verdicts(base: int) -> Choices:
    """The verdict, less `ABSENT`, by the sum of votes: the choice with most, a tie where several have them."""
    tie, b, a = np.indices((base, base, base), dtype=np.int16).reshape(3, -1)
    out = np.full(base**3, TIE - ABSENT, dtype=np.int8)
    out[a > np.maximum(b, tie)] = CHOICES.index("A") - ABSENT
    out[b > np.maximum(a, tie)] = CHOICES.index("B") - ABSENT
    out[0] = NULL - ABSENT
    return out


def _worths(panel: Panel, policy: str, cells: int) -> FloatArray:
    """What every combination of verdicts on a case is worth, by the label; the first label is none."""
    k = len(panel.categories)
    codes = k - ABSENT
    combinations = codes**cells
    every = np.arange(combinations)[:, None] // codes ** np.arange(cells) % codes + ABSENT
    choice = np.full((1, k, combinations, *panel.choice.shape[3:]), ABSENT, dtype=np.int8)
    used = choice[..., *columns_used(panel, policy)]
    used[:] = every.reshape(combinations, *used.shape[3:])
    listed = replace(panel, judges=["every"], dimensions=list(panel.categories), choice=choice, p_a=None)
    labels = np.repeat(np.arange(k)[:, None], combinations, axis=1)
    return np.vstack([np.full((1, combinations), np.nan), score(listed, labels, policy).score[0]])
