"""The pixels of an image with the depth they were recorded in, for a view with window and level."""

from __future__ import annotations

import io
import warnings
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from mrb_lib.data.images.dicom import is_dicom, read_dicom
from mrb_lib.data.images.grey import Grey, levels, stored
from mrb_lib.data.images.pictures import FORMATS, open_image, png
from mrb_lib.errors import InputError

_DEEP = ("I", "F")


@dataclass(frozen=True)
class Pixels:
    """One picture and how to show it.

    Attributes
    ----------
    values : array of uint8 or uint16 with shape (height, width), or of uint8 with shape (height, width, 3) for colour
    low, high : the range of a grey picture in its own units (Hounsfield units for most CT)
    centre, width : the window to begin with, in the same units: black at `centre - width / 2` and below, white at
        `centre + width / 2` and above, linear between
    inverted : high values are dark (MONOCHROME1)
    offset, step : a stored value v stands for `offset + step * v`
    frames : how many pictures the file holds, of which this is the first
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

    @property
    def grey(self) -> bool:
        return self.values.ndim == 2

    @property
    def deep(self) -> bool:
        """More than 8 bits, so that an 8-bit picture does not hold all of it."""
        return self.values.dtype == np.uint16


def read_pixels(content: bytes, name: str = "image") -> Pixels:
    """Decode an image without losing depth.

    Parameters
    ----------
    content : the bytes of a DICOM file, or of a file in one of `mrb_lib.data.images.pictures.FORMATS`
    name : what to call the image in messages

    Returns
    -------
    Pixels
        Of 8-bit pictures the whole range is the window; of deeper ones what a DICOM file asks for, and otherwise the
        picture's own range. Validated by tests/data/images/test_pixels.py and tests/data/images/test_dicom.py.

    Raises
    ------
    InputError
        The bytes are no readable image, or it is too large to decode safely.
    """
    if is_dicom(content):
        found = read_dicom(content, name)
        return _of_grey(found) if isinstance(found, Grey) else Pixels(found)
    deep = _deep(content, name)
    if deep is not None:
        return _of_grey(stored(deep))
    return Pixels(np.asarray(open_image(content, name)))


def windowed(pixels: Pixels) -> NDArray[np.uint8]:
    """The picture as a screen shows it in its window, 8 bits."""
    if not pixels.grey:
        return pixels.values.astype(np.uint8)
    return levels(
        pixels.values,
        centre=pixels.centre,
        width=pixels.width,
        offset=pixels.offset,
        step=pixels.step,
        inverted=pixels.inverted,
    )


def shrunk(pixels: Pixels, side: int) -> Pixels:
    """The picture with its longest side at most `side` pixels; smaller ones are left as they are."""
    height, width = pixels.values.shape[:2]
    factor = side / max(height, width)
    if factor >= 1:
        return pixels
    size = (max(1, round(width * factor)), max(1, round(height * factor)))
    if not pixels.grey:
        return replace(pixels, values=np.asarray(_resized(Image.fromarray(pixels.values), size)))
    resized = np.asarray(_resized(Image.fromarray(pixels.values.astype(np.float32)), size))
    top = float(np.iinfo(pixels.values.dtype).max)
    return replace(pixels, values=np.clip(np.rint(resized), 0, top).astype(pixels.values.dtype))


def plain_png(pixels: Pixels, side: int, *, quick: bool = False) -> bytes:
    """The picture in its window as an 8-bit PNG without metadata, its longest side at most `side` pixels.

    A quick one is larger: for what is seen once and kept nowhere.
    """
    return png(Image.fromarray(windowed(shrunk(pixels, side))), quick=quick)


def packed_png(pixels: Pixels, side: int, *, quick: bool = False) -> bytes:
    """The stored values of a grey picture as a colour PNG, red the high byte and green the low one.

    A browser hands out 8 bits a channel; so a script has all 16, and puts them through a window itself.
    """
    values = shrunk(pixels, side).values.astype(np.uint16)
    channels = (values >> 8, values & 255, np.zeros_like(values))
    return png(Image.fromarray(np.stack(channels, axis=-1).astype(np.uint8)), quick=quick)


def _resized(image: Image.Image, size: tuple[int, int]) -> Image.Image:
    return image.resize(size, Image.Resampling.LANCZOS)


def _of_grey(grey: Grey) -> Pixels:
    return Pixels(
        grey.values, grey.low, grey.high, grey.centre, grey.width, grey.inverted, grey.offset, grey.step, grey.frames
    )


def _deep(content: bytes, name: str) -> NDArray[np.float64] | None:
    """The values of a picture of more than 8 bits a pixel; None where it has fewer."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(content), formats=FORMATS) as opened:
                if not opened.mode.startswith(_DEEP):
                    return None
                return np.asarray(ImageOps.exif_transpose(opened), dtype=np.float64)
    except Exception as error:  # Pillow's decoders raise nearly anything on damaged files
        open_image(content, name)  # which says in words what is wrong with it
        raise InputError(f"{name}: is not a readable image ({type(error).__name__}); replace the file.") from error
