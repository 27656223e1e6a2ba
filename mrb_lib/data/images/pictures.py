"""Images of unknown origin, made into small plain pictures that are safe to show."""

from __future__ import annotations

import io
import warnings

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from mrb_lib.data.images.dicom import is_dicom, read_dicom
from mrb_lib.data.images.grey import Grey, levels
from mrb_lib.errors import InputError

_RUNS = 3  # zlib's strategy of run lengths: nothing is searched for
# Raster formats that Pillow decodes itself: for others it may start an outside program, as for PostScript.
FORMATS = ("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP", "JPEG2000", "PPM")


def open_image(content: bytes, name: str = "image", *, draft: int | None = None) -> Image.Image:
    """Decode an image, so that what is shown never depends on what a viewer makes of the file.

    Parameters
    ----------
    content : the bytes of the file, in one of `FORMATS` or DICOM; of several frames the first is taken
    name : what to call the image in messages
    draft : a JPEG may be decoded to any size whose sides are at least this many pixels, which is faster

    Returns
    -------
    Image
        Greyscale ("L") or colour ("RGB"); depths beyond 8 bits are scaled from the image's own range,
        those of DICOM in the first window that the file names; transparency is laid on white.

    Raises
    ------
    InputError
        The bytes are no readable image, it is too large to decode safely, or it is DICOM and pydicom is not installed.
    """
    if is_dicom(content):
        return _of_dicom(read_dicom(content, name))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(content), formats=FORMATS) as opened:
                if draft is not None:
                    opened.draft("RGB" if opened.mode == "RGB" else None, (draft, draft))
                return _plain(ImageOps.exif_transpose(opened))
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise InputError(f"{name}: is too large to show safely ({error}); shrink it.") from error
    except Exception as error:  # Pillow's decoders raise nearly anything on damaged files
        raise InputError(f"{name}: is not a readable image ({type(error).__name__}); replace the file.") from error


def thumbnail(content: bytes, side: int, name: str = "image") -> Image.Image:
    """Decode an image and shrink it until its longest side is at most `side` pixels; see `open_image`."""
    picture = open_image(content, name, draft=side)
    picture.thumbnail((side, side), Image.Resampling.LANCZOS)
    return picture


def within(picture: Image.Image, pixels: int) -> Image.Image:
    """The picture, made smaller in proportion where it has more than so many pixels."""
    factor = (pixels / (picture.width * picture.height)) ** 0.5
    if factor >= 1:
        return picture
    size = (max(1, int(picture.width * factor)), max(1, int(picture.height * factor)))
    return picture.resize(size, Image.Resampling.LANCZOS)


def _of_dicom(found: Grey | NDArray[np.uint8]) -> Image.Image:
    if not isinstance(found, Grey):
        return Image.fromarray(found)
    window = {"centre": found.centre, "width": found.width, "offset": found.offset, "step": found.step}
    return Image.fromarray(levels(found.values, inverted=found.inverted, **window))


def _plain(image: Image.Image) -> Image.Image:
    """8-bit greyscale or colour, whatever the mode was."""
    if image.mode.startswith(("I", "F")):
        values = np.asarray(image, dtype=float)
        known = values[np.isfinite(values)]
        low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 0.0)
        scaled = (np.nan_to_num(values, nan=low, posinf=high, neginf=low) - low) / ((high - low) or 1.0)
        return Image.fromarray((scaled * 255).round().astype("uint8"))
    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        white = Image.new("RGBA", image.size, "white")
        return Image.alpha_composite(white, image.convert("RGBA")).convert("RGB")
    return image.convert("L" if image.mode in ("1", "L") else "RGB")


def png(picture: Image.Image, *, quick: bool = False) -> bytes:
    """A picture as PNG without metadata; a quick one, which is seen once and kept nowhere, is larger."""
    packed = {"compress_level": 1, "compress_type": _RUNS} if quick else {"optimize": True}
    stream = io.BytesIO()
    Image.Image.save(picture, stream, format="PNG", **packed)
    return stream.getvalue()
