"""What no judge should be below: constants and the longer response, judged by the same rule as the judges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mrb_lib.stats.core.panel import ABSENT, NULL, TIE, Panel
from mrb_lib.stats.core.scoring import score
from mrb_lib.stats.options import BoolArray, IntArray, mean_of_defined
from mrb_lib.tables.schema import CHOICES

ALWAYS: Final = ("tie", "A")
LONGER: Final = "longer response"
MOST_FREQUENT, BEST_CONSTANT = "most frequent label", "best constant"


def with_references(
    panel: Panel, labels: IntArray, cases: pd.DataFrame, offered: Sequence[str], policy: str
) -> tuple[Panel, NDArray[np.object_]]:
    """The panel with the references after its judges, and the label that each constant gives.

    Parameters
    ----------
    labels : shape (dimensions, cases), the gold labels; -1 where there is none
    offered : the labels that a judge may give; without any there are no references

    Returns
    -------
    Panel
        The references have a verdict, the same in both orders, on each case and dimension that a judge has one on:
        "always tie" and "always A", where the label is offered; "longer response", by words, a tie (null where none is
        offered) between equals, where the cases hold the responses; "most frequent label" of gold, and "best
        constant", the label whose constant has the highest accuracy under the policy, each of all cases of the
        dimension, and so the same in its subfields. Of ratings the constants are all of their categories, and there is
        no "longer response".
    labels : shape (judges and references, dimensions), text; None for what is not a constant
    """
    asked: BoolArray = np.asarray(panel.judged().any(axis=0))
    picks: dict[str, IntArray] = {}
    constant: dict[str, list[str | None]] = {}
    categories, is_rating = panel.categories, panel.categories != CHOICES
    for name in (name for name in (categories if is_rating else ALWAYS) if name in offered):
        picks[f"always {name}"] = np.full(labels.shape, categories.index(name))
        constant[f"always {name}"] = [name] * len(labels)
    if offered and not is_rating and {"response_a", "response_b"} <= set(cases.columns):
        words = [
            np.array([len(text.split()) for text in cases[side].fillna("").astype(str)])
            for side in ("response_a", "response_b")
        ]
        equal = TIE if "tie" in offered else NULL
        longer = np.select([words[0] > words[1], words[0] < words[1]], [0, 1], equal)
        picks[LONGER], constant[LONGER] = np.broadcast_to(longer, labels.shape), [None] * len(labels)
    if offered:
        codes = np.array([code for code, name in enumerate(categories) if name in offered])
        every = np.repeat(codes, labels.size).reshape(len(codes), *labels.shape)
        worth = score(_judges(panel, [categories[code] for code in codes], every, asked), labels, policy).score
        frequent = ((labels == codes[:, None, None]) & asked).sum(axis=2)
        accuracy = np.nan_to_num(mean_of_defined(worth.reshape(-1, labels.shape[1])).reshape(frequent.shape))
        for name, best in ((MOST_FREQUENT, frequent), (BEST_CONSTANT, accuracy)):
            label = codes[best.argmax(axis=0)]
            picks[name] = np.broadcast_to(label[:, None], labels.shape)
            constant[name] = [categories[code] for code in label]
    out = np.full((len(panel.judges) + len(picks), len(labels)), None, dtype=object)
    if not picks:
        return panel, out
    out[len(panel.judges) :] = list(constant.values())
    more = _judges(panel, list(picks), np.stack(list(picks.values())), asked)
    choice = np.concatenate([panel.choice, more.choice])
    return replace(panel, judges=[*panel.judges, *more.judges], choice=choice, p_a=None), out


def _judges(panel: Panel, names: list[str], picks: IntArray, asked: BoolArray) -> Panel:
    """A panel of judges that pick the same in both orders and all repeats; `picks` is (judges, dimensions, cases)."""
    choice = np.where(asked, picks, ABSENT).astype(np.int8)[..., None, None]
    shape = (*choice.shape[:3], *panel.choice.shape[3:])
    return replace(panel, judges=names, choice=np.broadcast_to(choice, shape), p_a=None)
