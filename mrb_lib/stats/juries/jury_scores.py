"""The scores of everything that the table `jury` compares, case by case."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from mrb_lib.stats.core.options import FloatArray, IntArray
from mrb_lib.stats.core.panel import ABSENT, Panel
from mrb_lib.stats.core.scoring import score
from mrb_lib.stats.juries.jury_members import Greedy, Orderings, greedy, joining
from mrb_lib.stats.juries.jury_tally import spread, tally
from mrb_lib.stats.juries.jury_votes import dawid_skene, majority, share_right, weighted, weights

KINDS = ("majority", "weighted", "dawid_skene")


class JuryScores(NamedTuple):
    """Scores, NaN where a case is not scored.

    Attributes
    ----------
    singles : shape (judges, dimensions, cases)
    kinds : shape (kinds, dimensions, cases), of the juries of all judges, in the order of `KINDS`
    best : shape (dimensions,), the judge that is best over all cases
    crossfit : shape (dimensions, cases), of the judge that is best in the other folds
    crossfit_judge : shape (dimensions, cases), which one that is
    without : shape (judges, dimensions, cases), what the majority loses without each judge
    joined, chosen : see `Orderings` and `Greedy`
    """

    singles: FloatArray
    kinds: FloatArray
    best: IntArray
    crossfit: FloatArray
    crossfit_judge: IntArray
    without: FloatArray
    joined: Orderings
    chosen: Greedy


def scores_of(panel: Panel, labels: IntArray, policy: str, fold: IntArray, seed: int) -> JuryScores:
    """Form the juries of all judges of a panel, and score them.

    Parameters
    ----------
    labels : shape (dimensions, cases), -1 for none
    fold : shape (cases,)
    """
    choice = panel.choice
    outside = (fold[:, None] != np.arange(fold.max(initial=0) + 1)).astype(np.float64)
    known = ((labels >= 0).astype(np.float64) @ outside > 0)[:, fold]
    every = [majority(choice), weighted(choice, weights(choice, labels, fold), fold)]
    every[1] = np.where(known[..., None, None], every[1], ABSENT)
    every.append(dawid_skene(choice) if len(choice) > 2 else np.full_like(every[0], ABSENT))
    together = replace(panel, judges=[*panel.judges, *KINDS], choice=np.concatenate([choice, np.stack(every)]))
    scored = score(together, labels, policy).score
    singles, kinds = scored[: len(choice)], scored[len(choice) :]
    counted = np.isfinite(kinds[0])
    best_outside = np.nan_to_num(share_right(singles, outside), nan=-1.0).argmax(axis=0)
    everyone = share_right(singles, np.ones((len(fold), 1)))[..., 0]
    dimension, case = np.indices(counted.shape)
    whose = best_outside[dimension, fold[case]]
    juries = tally(panel, labels, policy)
    rest, _ = spread(juries.scores(juries.votes.sum(axis=1, keepdims=True) - juries.votes), counted)
    return JuryScores(
        singles=singles,
        kinds=kinds,
        best=np.nan_to_num(everyone, nan=-1.0).argmax(axis=0).astype(np.int64),
        crossfit=np.where(known, singles[whose, dimension, case], np.nan),
        crossfit_judge=whose.astype(np.int64),
        without=kinds[0] - rest,
        joined=joining(juries, counted, seed),
        chosen=greedy(juries, fold, known),
    )
