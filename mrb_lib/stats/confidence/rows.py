"""What the rows of the tables `calibration` and `selective` share: columns of an estimate, and reasons."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mrb_lib.stats.options import BoolArray, FloatArray, join_reasons
from mrb_lib.stats.resampling.robust import Estimate

NO_ERROR = "no interval of {}: the cases do not differ, or it is at an end of its range"


def spread(name: str, estimate: Estimate, ends: tuple[FloatArray, FloatArray]) -> dict[str, FloatArray]:
    """The columns of an estimate and its interval."""
    return {name: estimate.value, f"{name}_low": ends[0], f"{name}_high": ends[1]}


def reasons(
    said: Mapping[str, BoolArray], unbounded: Mapping[str, Mapping[str, BoolArray]]
) -> np.ndarray[tuple[int, ...], np.dtype[np.object_]]:
    """The reasons that hold in each place as one text, None where none does.

    Parameters
    ----------
    said : by text, where it holds; arrays of one shape
    unbounded : by a text that has a place for names, where it holds of each name
    """
    flags = [*said.values(), *(flag for each in unbounded.values() for flag in each.values())]
    out = np.full(flags[0].shape, None, dtype=object)
    for place in map(tuple, np.argwhere(np.any(flags, axis=0))):
        texts = [text for text, holds in said.items() if holds[place]]
        for text, each in unbounded.items():
            of = [name for name, holds in each.items() if holds[place]]
            texts += [text.format(", ".join(of))] if of else []
        out[place] = join_reasons(*texts)
    return out
