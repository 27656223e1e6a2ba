"""Grey values of any range and unit, kept as whole numbers of 16 bits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_TOP = 65_535


@dataclass(frozen=True)
class Grey:
    """A grey picture; the fields mean what they mean in `mrb_lib.data.images.pixels.Pixels`."""

    values: NDArray[np.uint16]
    low: float
    high: float
    centre: float
    width: float
    inverted: bool
    offset: float
    step: float
    frames: int


def levels(
    values: NDArray[np.uint8] | NDArray[np.uint16],
    *,
    centre: float,
    width: float,
    offset: float = 0.0,
    step: float = 1.0,
    inverted: bool = False,
) -> NDArray[np.uint8]:
    """Grey values as a screen shows them in a window, 8 bits; the parameters are the fields of `Grey`."""
    known = np.arange(np.iinfo(values.dtype).max + 1)
    real = offset + step * known.astype(np.float64)
    shown = np.clip((real - centre) / max(width, 1e-9) + 0.5, 0.0, 1.0) * 255
    found = np.floor(shown + 0.5).astype(np.uint8)
    return (255 - found if inverted else found)[values]


def stored(
    real: NDArray[np.float64],
    window: tuple[float, float] | None = None,
    *,
    inverted: bool = False,
    frames: int = 1,
) -> Grey:
    """Keep real values, exactly where they are whole numbers that span no more than 16 bits.

    Parameters
    ----------
    real : array with shape (height, width), in the picture's own units; what is not finite becomes the smallest value
    window : centre and width to begin with; None for the picture's own range
    inverted : high values are dark
    frames : how many pictures the file holds
    """
    known = real[np.isfinite(real)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 0.0)
    filled = np.nan_to_num(real, nan=low, posinf=high, neginf=low)
    exact = high - low <= _TOP and bool(np.all(filled == np.rint(filled)))
    step = 1.0 if exact else (high - low) / _TOP or 1.0
    values = np.rint((filled - low) / step).astype(np.uint16)
    centre, width = window or ((low + high) / 2, (high - low) or 1.0)
    return Grey(values, low, high, centre, width, inverted, low, step, frames)
