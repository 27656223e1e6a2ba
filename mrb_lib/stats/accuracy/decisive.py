"""Accuracy that no constant earns: where gold names a winner, both sides weighing alike; and ties beside gold's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from mrb_lib.stats.core.panel import ABSENT, NULL, TIE, Panel
from mrb_lib.stats.core.scoring import columns_used, score
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, divide, with_ends
from mrb_lib.stats.resampling.resample import cluster_sums
from mrb_lib.stats.resampling.shares import share_intervals
from mrb_lib.stats.subfields import Group
from mrb_lib.tables.schema import CHOICES

NO_DECISIVE = "decisive_accuracy is undefined: gold names a winner in no case that can be scored"
RATINGS = "decisive_accuracy and tie_share are of choices between two responses, not of ratings"
ONE_SIDE = "decisive_accuracy is undefined: gold names one side only, which a constant would get right"
FEWEST_OF_SIDE: Final = 5
RARE_SIDE = f"no interval of decisive_accuracy: gold names one side in fewer than {FEWEST_OF_SIDE} clusters"
_SIDES = (CHOICES.index("A"), CHOICES.index("B"))


def decisive(
    panel: Panel, labels: IntArray, parts: Sequence[Group], policy: str, applies: BoolArray, codes: IntArray
) -> list[dict[str, FloatArray]]:
    """The columns of the accuracy table about cases whose gold is A or B, shape (judges, dimensions), a dict a group.

    Where the verdicts are ratings no case is decisive.

    Parameters
    ----------
    labels : shape (dimensions, cases), the gold labels
    parts : see `mrb_lib.stats.subfields.groups`
    policy : only the verdicts that it reads are counted
    applies : shape (judges, dimensions, cases), where the policy can be applied
    codes : the cluster of every case of the benchmark

    Notes
    -----
    The mean of the mean scores where gold is A and where it is B, known elsewhere as balanced accuracy (Brodersen et
    al. 2010, doi:10.1109/ICPR.2010.764): every constant earns exactly one half. The interval is Wilson's, with the
    design effect of the residuals from each side's own mean; null where a side lies in fewer than five clusters, whose
    residuals say too little of its error (one case has none): it covered 0%, 51% and 79% with one, two and three, 95%
    with five (`tests/simulation/test_decisive.py`).
    """
    if panel.categories != CHOICES:
        return [_nothing(panel.shape[:2])] * len(parts)
    read = replace(panel, choice=panel.choice[..., *columns_used(panel, policy)])
    graded = "answered" if policy == "answered" else "balanced"
    worth = score(read, np.where(labels == TIE, NULL, labels), graded).score
    counted = applies & np.isfinite(worth)
    worth = np.where(counted, worth, 0.0)
    present, decided = ((read.choice > code).sum(axis=(3, 4)) for code in (ABSENT, NULL))
    decided = decided - (read.choice == TIE).sum(axis=(3, 4))
    decides = np.where(counted, divide(decided.astype(np.float64), present), 0.0)
    sides = np.stack([counted & (labels == side) for side in _SIDES]).astype(np.float64)
    return [
        _balanced(worth[..., part.cases], decides[..., part.cases], sides[..., part.cases], codes[part.cases])
        for part in parts
    ]


def _nothing(shape: tuple[int, int]) -> dict[str, FloatArray]:
    """The columns where no case has two sides."""
    names = (*with_ends("decisive_accuracy"), "decisive_coverage")
    return {"n_decisive": np.zeros(shape), **dict.fromkeys(names, np.full(shape, np.nan))}


def _balanced(worth: FloatArray, decides: FloatArray, sides: FloatArray, codes: IntArray) -> dict[str, FloatArray]:
    """The columns of one group, from what each case adds, (judges, dimensions, cases), and its side, (2, ...)."""
    n_of_side = sides.sum(axis=-1)
    n = n_of_side.sum(axis=0)
    mean = divide((worth * sides).sum(axis=-1), n_of_side)
    value = mean.mean(axis=0)
    weight = np.nan_to_num(divide(n, 2 * n_of_side))[..., None]
    residual = np.nan_to_num(worth - mean[..., None])
    den = (weight * sides).sum(axis=0)
    centred = (weight * sides * residual).sum(axis=0)
    known = np.nan_to_num(value)
    square = (weight * sides * residual**2).sum(axis=(0, -1)) + n * known**2
    both = np.hstack([each.reshape(-1, len(codes)).T for each in (centred + known[..., None] * den, den)])
    top, bottom = np.hsplit(cluster_sums(codes, both).values, 2)
    low, high = share_intervals(top, bottom, square.ravel(), np.empty((0, square.size))).deff
    defined = _enough_of_sides(sides, n_of_side, codes)
    return {
        "n_decisive": n,
        "decisive_accuracy": value,
        "decisive_accuracy_low": np.where(defined, low.reshape(n.shape), np.nan),
        "decisive_accuracy_high": np.where(defined, high.reshape(n.shape), np.nan),
        "decisive_coverage": divide(decides.sum(axis=-1), n),
    }


def _enough_of_sides(sides: FloatArray, n_of_side: FloatArray, codes: IntArray) -> BoolArray:
    """Whether each side has cases in as many clusters as an interval needs, shape (judges, dimensions)."""
    largest = int(np.unique(codes, return_counts=True)[1].max(initial=1))
    clusters = np.ceil(n_of_side / largest)  # at least
    unsure = clusters < FEWEST_OF_SIDE
    if largest > 1 and unsure.any():
        clusters[unsure] = (cluster_sums(codes, sides[unsure].T).values > 0).sum(axis=0)
    return np.asarray((clusters >= FEWEST_OF_SIDE).all(axis=0))
