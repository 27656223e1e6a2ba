"""What training can change besides accuracy, case by case: a gain that is bought with a bias is seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
import pandas as pd

from mrb_lib.stats.bias.measures import chosen, preferred_share
from mrb_lib.stats.bias.style_markers import length_difference
from mrb_lib.stats.consistency.order_effects import case_values
from mrb_lib.stats.core.panel import Panel
from mrb_lib.stats.options import FloatArray, IntArray, divide
from mrb_lib.tables.schema import CHOICES

ACCURACY: Final = "accuracy"
NOT_BOTH: Final[Mapping[str, str]] = {
    "consistency": "no case is answered in both orders by both judges",
    "first_rate": "no case is answered in both orders by both judges",
    "brier": "no case whose gold label is A or B has a probability of both judges",
    "longer_rate": "no case with responses of different length is answered by both judges",
}
"""The quantities of `case_quantities`, and why one may be null for a pair."""
OF_CHOICES: Final = "{} is of choices between two responses, not of ratings"


def why_none(panel: Panel, quantity: str) -> str:
    """Why one of the quantities is null for a pair of judges on some cases."""
    return NOT_BOTH[quantity] if panel.categories == CHOICES else OF_CHOICES.format(quantity)


def case_quantities(panel: Panel, labels: IntArray, cases: pd.DataFrame, policy: str) -> dict[str, FloatArray]:
    """Of each judge, dimension and case what its verdicts say, each of shape (judges, dimensions, cases), 0 to 1.

    Parameters
    ----------
    labels : shape (dimensions, cases), see `mrb_lib.stats.core.scoring.encode_gold`
    policy : says which verdicts `longer_rate` reads

    Returns
    -------
    dict
        - consistency: 1 where the choice is the same in both orders, a mean over repeats
        - first_rate: the share choosing the response shown first, a tie in either order and two orders that agree
          being a half: 1/2 without position bias
        - brier: the squared error of the probability, a mean over verdicts, where gold is A or B
        - longer_rate: the share choosing the longer response, ties a half, where the two differ in length

        NaN where the verdicts do not say; ratings of one response say nothing of these.
    """
    none = np.full(panel.shape, np.nan)
    if panel.categories != CHOICES:
        return dict.fromkeys(NOT_BOTH, none)
    by_case = case_values(panel.choice.reshape(-1, *panel.choice.shape[3:]))
    same, leaning = (divide(*by_case[name]).reshape(panel.shape) for name in ("consistency", "position_bias"))
    longer = np.sign(length_difference(cases)) if {"response_a", "response_b"} <= set(cases.columns) else none[0]
    return {
        "consistency": same,
        "first_rate": (1 + leaning) / 2,
        "brier": none if panel.p_a is None else _brier(panel.p_a, labels),
        "longer_rate": chosen(preferred_share(panel, policy), np.broadcast_to(longer, panel.shape)),
    }


def _brier(p_a: FloatArray, labels: IntArray) -> FloatArray:
    outcome = np.array([1.0, 0.0, np.nan, np.nan])[labels]  # of A, B, tie and none
    error = (p_a - outcome[:, :, None, None]) ** 2
    known = np.isfinite(error)
    return divide(np.where(known, error, 0.0).sum(axis=(3, 4)), known.sum(axis=(3, 4)))
