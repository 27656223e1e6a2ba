"""Majorities of very many juries, from counts of votes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mrb_lib.schema import CHOICES
from mrb_lib.stats.core.options import FloatArray, IntArray
from mrb_lib.stats.core.panel import ABSENT, Panel
from mrb_lib.stats.core.scoring import columns_used, score
from mrb_lib.stats.juries.votes import largest

Counts = NDArray[np.int16]


@dataclass(frozen=True)
class Tally:
    """The votes of the members of a jury, and how its verdicts are scored.

    Attributes
    ----------
    votes : shape (4, members, dimensions, cases, orders, repeats) of the orders and repeats that the policy reads: 1
        where a member votes for A, B or tie, and, last, where it has a verdict, with a choice or without
    labels : shape (dimensions, cases), -1 for none
    panel, policy : what the jury is formed of, and how it is scored
    """

    votes: Counts
    labels: IntArray
    panel: Panel
    policy: str

    @property
    def excludes(self) -> bool:
        """Whether juries of some of the members can be scored on fewer cases than the whole jury."""
        has_verdict = self.votes[-1]
        return self.policy == "answered" or bool((has_verdict.min(axis=0) != has_verdict.max(axis=0)).any())

    def scores(self, sums: Counts) -> FloatArray:
        """What juries' majorities are worth, shape (juries, dimensions, cases); NaN where a case is not scored.

        Parameters
        ----------
        sums : shape (4, juries, dimensions, cases, orders, repeats), sums of `votes` over the members of each
        """
        choice = np.full((sums.shape[1], *self.panel.choice.shape[1:]), ABSENT, dtype=np.int8)
        choice[..., *columns_used(self.panel, self.policy)] = largest(sums[:-1], sums[-1] > 0)
        names = [str(i) for i in range(len(choice))]
        return score(replace(self.panel, judges=names, choice=choice), self.labels, self.policy).score


def tally(panel: Panel, labels: IntArray, policy: str) -> Tally:
    """Count the votes of the judges of a panel; a member without a choice abstains.

    Parameters
    ----------
    labels : shape (dimensions, cases), -1 for none
    """
    used = panel.choice[..., *columns_used(panel, policy)]
    votes = np.stack([*(used == code for code in range(len(CHOICES))), used != ABSENT]).astype(np.int16)
    return Tally(votes, labels, panel, policy)
