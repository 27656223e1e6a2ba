"""One answer of a judge per case, with its confidence, from the probabilities of all verdicts on the case."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from mrb_lib.stats.estimation import BoolArray, FloatArray, IntArray, divide
from mrb_lib.stats.options import code
from mrb_lib.stats.verdicts import Verdicts


def answers(verdicts: Verdicts) -> tuple[IntArray, FloatArray]:
    """Return the answer to each case, as a code, and its confidence, both of shape (cases, cells).

    The answer is the side that the mean probability over orders and repeats favours, a tie where it favours neither.
    Of ratings it is the category that was chosen with the most probability over repeats, the lowest of equals; its
    confidence is the mean over repeats, so that a judge that wavers is less sure. Confidences have twelve decimals, so
    that .58 for A and .42 for A are equally sure; they are NaN where no verdict has a probability, and the answer -1.
    """
    v = verdicts.where(np.isfinite(verdicts.p_a))
    kinds = [v.p_a] if v.tie >= 0 else [v.p_a * (v.choice == kind) for kind in range(len(v.categories))]
    mass = np.stack([np.round(divide(v.total(each), v.total()), 12) for each in kinds])
    unknown = np.isnan(mass[0])
    if v.tie >= 0:
        p = mass[0]
        answer, confidence = np.select([p > 0.5, p < 0.5], [0, 1], v.tie), np.round(np.maximum(p, 1 - p), 12)
    else:
        answer, confidence = mass.argmax(axis=0), mass.max(axis=0)
    return np.where(unknown, -1, answer), confidence


def labelled(gold: pd.DataFrame, case_ids: pd.Series, dimensions: Sequence[str]) -> BoolArray:
    """Return the cases with a row in `gold`, shape (cases, dimensions), in dimensions with any label.

    A row without a choice is of a case on which annotators are split.
    """
    own = gold[gold["dimension"].isin(list(dimensions))]
    out = np.zeros((len(case_ids), len(dimensions)), dtype=bool)
    place = code(own["case_id"], case_ids, "case_id"), code(own["dimension"], dimensions, "dimension")
    out[place] = True
    return out & np.isin(np.arange(len(dimensions)), place[1][own["choice"].notna().to_numpy()])
