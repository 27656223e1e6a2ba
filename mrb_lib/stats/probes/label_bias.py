"""Whether a judge prefers a place or a letter: cases whose responses are called A and B, and B and A."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd

from mrb_lib.stats.core.panel import Panel
from mrb_lib.stats.options import FloatArray, with_ends
from mrb_lib.stats.probes.cells import leanings
from mrb_lib.stats.probes.pairing import Paired, labelled
from mrb_lib.stats.subfields import Group
from mrb_lib.tables.schema import CHOICES, NO_PROBE

LABELS: Final = "labels"
SWAPPED: Final = "prompt/labels:4"
NO_CASE_OF_BOTH: Final = "no case is answered in both orders under both ways of calling the responses"


def label_rows(paired: Paired, whole: Group) -> pd.DataFrame:
    """The rows of `part` "labels"; none where no verdict is on responses that are called B and A."""
    if SWAPPED not in paired.cells:
        return pd.DataFrame()
    asked = paired.cells[SWAPPED].presented.any(axis=2)
    if not asked.any():
        return pd.DataFrame()
    judge, dimension = np.nonzero(asked)
    names = {"judge": [paired.judges[j] for j in judge], "dimension": [paired.dimensions[d] for d in dimension]}
    columns: dict[str, object] = {**names, "probe": SWAPPED.partition(":")[0], "part": LABELS}
    for leaning, of_place, of_label in _MEASURES:
        usual, swapped = (leaning(paired.panels[name]) for name in (NO_PROBE, SWAPPED))
        n_repeats = min(usual.shape[-1], swapped.shape[-1])
        usual, swapped = usual[..., :n_repeats], swapped[..., :n_repeats]
        both = np.isfinite(usual) & np.isfinite(swapped)
        for name, sign in ((of_place, 1.0), (of_label, -1.0)):
            values = _of_cases((usual + sign * swapped) / 2, both)[judge, dimension]
            columns |= dict(zip(with_ends(name), leanings(values, paired.own_codes), strict=True))
            counted = np.isfinite(values)
            if leaning is _leaning:
                columns["n"] = counted.sum(axis=1)
                columns["n_clusters"] = [len(np.unique(paired.own_codes[row])) for row in counted]
    frame = labelled(pd.DataFrame(columns), whole)
    return frame.assign(reason=pd.Series(NO_CASE_OF_BOTH, index=frame.index, dtype="str").where(frame["n"].eq(0)))


def _leaning(panel: Panel) -> FloatArray:
    """1 where the response shown first is chosen, -1 for the second, 0 for a tie; NaN without a choice."""
    sign = np.full(panel.choice.shape, np.nan)
    for order, first in enumerate("AB"):
        own = panel.choice[:, :, :, order]
        for code, name in enumerate(CHOICES):
            sign[:, :, :, order][own == code] = 0.0 if name not in "AB" else 1.0 if name == first else -1.0
    return sign


def _leaning_probability(panel: Panel) -> FloatArray:
    """The probability of the response shown first less that of the second; NaN where it is unknown."""
    if panel.p_a is None:
        return np.full(panel.choice.shape, np.nan)
    return np.asarray((2 * panel.p_a - 1) * np.array([1.0, -1.0])[:, None])


_MEASURES: Final = (
    (_leaning, "position_bias", "label_bias"),
    (_leaning_probability, "position_probability", "label_probability"),
)


def _of_cases(values: FloatArray, counted: np.ndarray) -> FloatArray:
    """The mean over the repeats of an order, then over the two orders: what a case's content does cancels out."""
    n = counted.sum(axis=-1)
    in_order = np.where(n > 0, np.where(counted, values, 0.0).sum(axis=-1) / np.maximum(n, 1), np.nan)
    return np.asarray(in_order.mean(axis=-1))
