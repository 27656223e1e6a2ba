"""The pixels of an image with the depth they were recorded with, and what a screen shows of them in a window."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_LARGEST = 65_535


@dataclass(frozen=True)
class Pixels:
    """One picture and how to show it.

    Attributes
    ----------
    values : array of uint8 or uint16 with shape (height, width), or of uint8 with shape (height, width, 3) for colour
    low, high : the range of a grey picture in its own units (Hounsfield units for most CT)
    centre, width : the window to start with, in the same units: black at `centre - width / 2` and below, white at
        `centre + width / 2` and above, linear between
    inverted : high values are dark (MONOCHROME1)
    offset, step : a stored value v stands for `offset + step * v`
    frames : how many pictures the file holds, of which this is one
    unit : of the grey values, "HU"; empty where the file names none
    spacing : millimetres between the centres of neighbouring rows and of neighbouring columns; None where unknown
    """

    values: NDArray[np.uint8] | NDArray[np.uint16]
    low: float = 0.0
    high: float = 255.0
    centre: float = 127.5
    width: float = 255.0
    inverted: bool = False
    offset: float = 0.0
    step: float = 1.0
    frames: int = 1
    unit: str = ""
    spacing: tuple[float, float] | None = None

    @property
    def grey(self) -> bool:
        """Whether the picture has no colour."""
        return self.values.ndim == 2

    @property
    def deep(self) -> bool:
        """Whether it has more than 8 bits, so that an 8-bit picture does not hold all of it."""
        return self.values.dtype == np.uint16


def from_real(
    real: NDArray[np.float64],
    window: tuple[float, float] | None = None,
    *,
    inverted: bool = False,
    frames: int = 1,
) -> Pixels:
    """Keep the grey values of a picture in 16 bits: exactly where they are whole numbers that span no more.

    Parameters
    ----------
    real : array with shape (height, width), in the picture's own units; what is not finite becomes the smallest value
    window : centre and width to start with; None for the picture's own range
    inverted : high values are dark
    frames : how many pictures the file holds
    """
    finite = real[np.isfinite(real)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    filled = np.nan_to_num(real, nan=low, posinf=high, neginf=low)
    exact = high - low <= _LARGEST and bool(np.all(filled == np.rint(filled)))
    step = 1.0 if exact else (high - low) / _LARGEST or 1.0
    values = np.rint((filled - low) / step).astype(np.uint16)
    centre, width = window or ((low + high) / 2, (high - low) or 1.0)
    return Pixels(values, low, high, centre, width, inverted, low, step, frames)


def windowed(pixels: Pixels) -> NDArray[np.uint8]:
    """The picture as a screen shows it in its window, 8 bits."""
    if not pixels.grey:
        return pixels.values.astype(np.uint8)
    stored = np.arange(np.iinfo(pixels.values.dtype).max + 1)
    real = pixels.offset + pixels.step * stored.astype(np.float64)
    shares = np.clip((real - pixels.centre) / max(pixels.width, 1e-9) + 0.5, 0.0, 1.0)
    levels = np.floor(shares * 255 + 0.5).astype(np.uint8)
    return (255 - levels if pixels.inverted else levels)[pixels.values]
