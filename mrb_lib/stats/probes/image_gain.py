"""What the image contributes: accuracy with it, without it, and with another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd

from mrb_lib.stats.options import FloatArray, with_ends
from mrb_lib.stats.probes.cells import shares
from mrb_lib.stats.probes.pairing import Paired, labelled
from mrb_lib.stats.subfields import Group

IMAGE: Final = "image"
REMOVED: Final = ("image/removed", "image/blank")
SWAPPED: Final = "image/swapped"
NO_CASE_OF_ALL: Final = "no case is scored with the image, without it and with another"


def image_rows(paired: Paired, groups: Sequence[Group]) -> pd.DataFrame:
    """The rows of `part` "image", for each group of cases."""
    without = next((name for name in REMOVED if name in paired.cells), None)
    swapped = next((name for name in paired.cells if name.startswith(SWAPPED)), None)
    if without is None:
        return pd.DataFrame()
    asked = paired.cells[without].presented.any(axis=2)
    if not asked.any():
        return pd.DataFrame()
    judge, dimension = np.nonzero(asked)
    names = {"judge": [paired.judges[j] for j in judge], "dimension": [paired.dimensions[d] for d in dimension]}
    keys = pd.DataFrame(names).assign(probe=without)
    frames = []
    for group in groups:
        own = paired.of(group)
        stacked = np.stack(
            [_scores(own, without, swapped, j, d) for j, d in zip(judge.tolist(), dimension.tolist(), strict=True)]
        )
        frames.append(labelled(_rows(own, stacked).join(keys), group))
    return pd.concat(frames, ignore_index=True).assign(part=IMAGE)


def _scores(paired: Paired, without: str, swapped: str | None, j: int, d: int) -> FloatArray:
    """With the image, without it and with another, shape (3, cases); NaN where one of them is."""
    bare = paired.cells[without]
    other = paired.cells[swapped].probed[j, d] if swapped is not None else np.full(len(paired.cases), np.nan)
    three = np.stack([bare.plain[j, d], bare.probed[j, d], other])
    counted = np.isfinite(three[:2] if np.isnan(other).all() else three).all(axis=0)
    return np.where(counted, three, np.nan)


def _rows(paired: Paired, scores: FloatArray) -> pd.DataFrame:
    columns: dict[str, object] = {}
    for i, name in enumerate(("accuracy", "accuracy_without", "accuracy_swapped")):
        columns |= dict(zip(with_ends(name), shares(scores[:, i], paired.own_codes), strict=True))
    found = paired.differences(scores[:, 0] - scores[:, 1])
    columns |= dict(zip(with_ends("image_gain"), (found.value, found.low, found.high), strict=True))
    frame = pd.DataFrame(columns).assign(n=found.n, n_clusters=found.clusters)
    return frame.assign(reason=pd.Series(NO_CASE_OF_ALL, index=frame.index, dtype="str").where(frame["n"].eq(0)))
