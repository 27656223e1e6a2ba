"""Items with several responses, of which pairs are cases."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import pandas as pd

from mrb_lib.stats.clusters import clusters_of
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, divide

_QUESTION: Final = ("question", "images")


class Items(NamedTuple):
    """Items with the same number of responses.

    Attributes
    ----------
    size : responses of each
    unit : shape (items,), the cluster of each item
    case, item, a, b : shape (p,), each comparison of two different responses: the case, the item (position here) and
        its responses A and B (0 to size - 1)
    """

    size: int
    unit: IntArray
    case: IntArray
    item: IntArray
    a: IntArray
    b: IntArray

    def matrix(self, wins: FloatArray, count: FloatArray) -> FloatArray:
        """The share of the comparisons of two responses that that of the row won; NaN where there is none.

        Parameters
        ----------
        wins : shape (cases, 2), what each case adds to the wins of its responses A and B
        count : shape (cases,), how many comparisons it holds

        Returns
        -------
        float array, shape (items, size, size)
        """
        won = np.zeros((len(self.unit), self.size, self.size))
        met = np.zeros_like(won)
        for one, other, side in ((self.a, self.b, 0), (self.b, self.a, 1)):
            np.add.at(won, (self.item, one, other), wins[self.case, side])
            np.add.at(met, (self.item, one, other), count[self.case])
        return divide(won, met)

    def mean(self, scores: FloatArray) -> FloatArray:
        """The mean of each response's scores, from shape (cases, 2) to (items, size); NaN where it has none."""
        total, count = np.zeros((2, len(self.unit), self.size))
        for position, side in ((self.a, 0), (self.b, 1)):
            given = scores[self.case, side]
            np.add.at(total, (self.item, position), np.nan_to_num(given))
            np.add.at(count, (self.item, position), np.isfinite(given).astype(np.float64))
        return divide(total, count)

    def every(self, holds: BoolArray) -> BoolArray:
        """Whether something holds of all cases of an item, from shape (cases,) to (items,)."""
        out = np.ones(len(self.unit), dtype=bool)
        np.logical_and.at(out, self.item, holds[self.case])
        return out


def items(cases: pd.DataFrame, codes: IntArray) -> list[Items]:
    """The items with two responses or more, those with the same number of responses together, fewer first.

    Parameters
    ----------
    cases : an item is the value of `item`, or where that is empty the question with its images. Responses of an item
        are the same where their texts are; without texts, where the responders `model_a`, `model_b` are
    codes : shape (cases,), the cluster of each case
    """
    of_case = _item_codes(cases)
    unit = clusters_of(of_case, codes)
    keys = [_response_keys(cases, side) for side in "ab"]
    response, _ = pd.factorize(pd.concat(keys, ignore_index=True))
    a, b = response.reshape(2, len(cases))
    case = np.flatnonzero((a >= 0) & (b >= 0) & (a != b))
    ends = pd.DataFrame({"item": np.tile(of_case[case], 2), "response": np.concatenate([a[case], b[case]])})
    place = ends.groupby("item")["response"].transform(lambda own: pd.factorize(own)[0])
    size = place.groupby(ends["item"]).transform("max").to_numpy() + 1
    local_a, local_b = place.to_numpy().reshape(2, len(case))
    out = []
    for each in np.unique(size).tolist():
        kept = np.flatnonzero(size[: len(case)] == each)
        names, item = np.unique(of_case[case[kept]], return_inverse=True)
        out.append(Items(int(each), unit[names], case[kept], item, local_a[kept], local_b[kept]))
    return out


def _item_codes(cases: pd.DataFrame) -> IntArray:
    named = [name for name in _QUESTION if name in cases]
    keys = pd.Series(list(zip(*(cases[name].map(str) for name in named), strict=True)) if named else range(len(cases)))
    if "item" in cases:
        item = cases["item"].reset_index(drop=True)
        keys = keys.astype(object).where(item.isna(), item)
    return pd.factorize(keys)[0].astype(np.int64)


def _response_keys(cases: pd.DataFrame, side: str) -> pd.Series:
    name = next((name for name in (f"response_{side}", f"model_{side}") if name in cases), None)
    return pd.Series([None] * len(cases), dtype="str") if name is None else cases[name].reset_index(drop=True)
