"""The pixels of an image with the depth they were recorded with, and what a screen shows of them in a window."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from PIL import Image

_LARGEST = 65_535
_NEARLY_SQUARE = 0.01


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
    padding: NDArray[np.bool_] | None = None,
) -> Pixels:
    """Keep the grey values of a picture in 16 bits: exactly where they are whole numbers that span no more.

    Parameters
    ----------
    real : array with shape (height, width), in the picture's own units; what is not finite becomes the smallest value
    window : centre and width to start with; None for the picture's own range
    inverted : high values are dark
    frames : how many pictures the file holds
    padding : true for values that are no part of the picture, with the shape of `real`; the range leaves them out, and
        what would be lighter than all the picture becomes its darkest value
    """
    finite = real[np.isfinite(real) if padding is None else np.isfinite(real) & ~padding]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    filled = np.nan_to_num(real, nan=low, posinf=high, neginf=low)
    filled[filled < low if inverted else filled > high] = high if inverted else low
    offset, span = float(filled.min()), float(np.ptp(filled))
    exact = span <= _LARGEST and bool(np.all(filled == np.rint(filled)))
    step = 1.0 if exact else span / _LARGEST or 1.0
    values = np.rint((filled - offset) / step).astype(np.uint16)
    own = high - low or 1.0  # of a picture of one grey, which is black
    centre, width = window or (low + own / 2, own)
    return Pixels(values, low, high, centre, width, inverted, offset, step, frames)


def resized(pixels: Pixels, height: int, width: int, method: Image.Resampling) -> Pixels:
    """Return the picture with another number of rows and columns, its kind of values kept."""
    tall, wide = pixels.values.shape[:2]
    spacing = pixels.spacing and (pixels.spacing[0] * tall / height, pixels.spacing[1] * wide / width)
    values = pixels.values.astype(np.float32) if pixels.grey else pixels.values
    made = np.asarray(Image.fromarray(values).resize((width, height), method))
    top = np.iinfo(pixels.values.dtype).max
    return replace(pixels, values=np.clip(np.rint(made), 0, top).astype(pixels.values.dtype), spacing=spacing)


def squared(pixels: Pixels, aspect: float) -> Pixels:
    """Return the picture with square pixels, in the proportions of what it shows.

    Parameters
    ----------
    aspect : how many times as high as wide each pixel is; within 1% of 1 the picture is left as it is
    """
    height, width = pixels.values.shape[:2]
    if abs(aspect - 1) <= _NEARLY_SQUARE:
        return pixels
    # Between two neighbours no value is beyond both, as it would be with LANCZOS.
    return resized(pixels, round(height * max(aspect, 1)), round(width * max(1 / aspect, 1)), Image.Resampling.BILINEAR)


def windowed(pixels: Pixels) -> NDArray[np.uint8]:
    """The picture as a screen shows it in its window, 8 bits."""
    if not pixels.grey:
        return pixels.values.astype(np.uint8)
    stored = np.arange(np.iinfo(pixels.values.dtype).max + 1)
    real = pixels.offset + pixels.step * stored.astype(np.float64)
    shares = np.clip((real - pixels.centre) / max(pixels.width, 1e-9) + 0.5, 0.0, 1.0)
    levels = np.floor(shares * 255 + 0.5).astype(np.uint8)
    return (255 - levels if pixels.inverted else levels)[pixels.values]
