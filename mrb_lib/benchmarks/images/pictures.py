"""Images of unknown origin, made into small plain pictures that are safe to show."""

import io
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
from PIL import Image, ImageOps

from mrb_lib.benchmarks.images.dicom import is_dicom, read_dicom
from mrb_lib.benchmarks.images.pixels import Pixels, from_real, resized, windowed
from mrb_lib.tables.errors import InputError

Progress = Callable[[str, int, int], None]
"""Called with the name of a step, how many images are done, and of how many."""
# Raster formats that Pillow decodes itself: for others it may start an outside program, as for PostScript.
IMAGE_FORMATS = ("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP", "JPEG2000", "PPM")


def open_image(content: bytes, name: str = "image", *, draft: int | None = None) -> Image.Image:
    """Decode an image, so that what is shown never depends on what a viewer makes of the file.

    Parameters
    ----------
    content : the bytes of the file, in one of `IMAGE_FORMATS` or DICOM; of several frames the first is taken
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
        The bytes are not a readable image, it is too large to decode safely, or pydicom is needed and not installed.
    """
    return Image.fromarray(windowed(read_pixels(content, name, draft=draft)))


@contextmanager
def raster(content: bytes, name: str = "image") -> Iterator[Image.Image]:
    """An image that Pillow opens, undecoded; what is wrong with it is said as `open_image` says it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(content), formats=IMAGE_FORMATS) as opened:
                yield opened
    except InputError:
        raise
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


def png(picture: Image.Image) -> bytes:
    """A picture as PNG without metadata."""
    stream = io.BytesIO()
    # Runs alone: within 5% of the size that `optimize` searches for, in a tenth of its time.
    picture.save(stream, format="PNG", compress_level=1, compress_type=zlib.Z_RLE)
    return stream.getvalue()


def read_pixels(content: bytes, name: str = "image", frame: int = 1, *, draft: int | None = None) -> Pixels:
    """Decode an image without losing depth.

    Parameters
    ----------
    content : the bytes of a DICOM file, or of a file in one of `IMAGE_FORMATS`
    name : what to call the image in messages
    frame : of a DICOM file that holds several, from 1; of others the first is all there is
    draft : see `open_image`

    Returns
    -------
    Pixels
        The window of an 8-bit picture is its whole range; that of a deeper one is what a DICOM file names, else its own
        range. Validated by tests/benchmarks/images/test_pixels.py and tests/benchmarks/images/test_dicom.py.

    Raises
    ------
    InputError
        The bytes are not a readable image, it is too large to decode safely, or it has no such frame.
    """
    if is_dicom(content):
        return read_dicom(content, name, frame)
    if frame != 1:
        raise InputError(f"{name}: has no frame {frame}; only the first of its format is read.")
    with raster(content, name) as opened:
        if draft is not None:
            opened.draft("RGB" if opened.mode == "RGB" else None, (draft, draft))
        image = ImageOps.exif_transpose(opened)
        if image.mode.startswith(("I", "F")):  # more than 8 bits a pixel
            return from_real(np.asarray(image, dtype=np.float64))
        if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
            white = Image.new("RGBA", image.size, "white")
            image = Image.alpha_composite(white, image.convert("RGBA"))
        return Pixels(np.asarray(image.convert("L" if image.mode in ("1", "L") else "RGB")))


def shrunk(pixels: Pixels, side: int) -> Pixels:
    """The picture with its longest side at most `side` pixels; smaller ones are left as they are."""
    height, width = pixels.values.shape[:2]
    factor = side / max(height, width)
    if factor >= 1:
        return pixels
    return resized(pixels, max(1, round(height * factor)), max(1, round(width * factor)), Image.Resampling.LANCZOS)
