"""A case's images as a server takes them: data URLs of plain, small pictures."""

from __future__ import annotations

import base64
import io
import warnings
from typing import Final

from PIL import Image

from mrb_lib.data.images import IMAGE_FORMATS, is_dicom, open_image, png, within
from mrb_lib.errors import InputError

MAX_PIXELS: Final = 1_003_520  # the usual cap of Qwen-VL processors: 1280 patches of 28 x 28
_MAX_BYTES: Final = 4_000_000
_SENT_AS_STORED: Final = {"PNG": "image/png", "JPEG": "image/jpeg"}
# What a file may say of itself besides its pixels and still be sent as it is: nothing that could name a patient.
_HARMLESS: Final = {
    "dpi", "gamma", "interlace", "jfif", "jfif_density", "jfif_unit", "jfif_version", "progression", "progressive",
    "srgb",
}  # fmt: skip


def data_url(content: bytes, name: str, max_pixels: int) -> str:
    """An image as a data URL.

    A PNG or JPEG file is sent as it is stored if it can be decoded, is small enough,
    needs no turning and says nothing of itself but its pixels. Everything else, DICOM too, is
    brought to 8 bits and the right way up, made smaller if need be, and sent as PNG
    without metadata.

    Parameters
    ----------
    content : the bytes of the file
    name : what to call the image in messages
    max_pixels : an image with more pixels is made smaller, its proportions kept

    Raises
    ------
    InputError
        The bytes are no readable image of a plain format, or it is too large to decode safely.
    """
    kind = _stored_kind(content, name, max_pixels)
    picture = open_image(content, f"image {name}")
    if kind is not None:
        return _url(kind, content)
    return _url("image/png", png(within(picture, max_pixels)))


def _stored_kind(content: bytes, name: str, max_pixels: int) -> str | None:
    """The media type under which a file can be sent as it is, by its header; None where it must be made anew."""
    if is_dicom(content):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(io.BytesIO(content), formats=IMAGE_FORMATS) as image:
                harmless = image.mode in ("L", "RGB") and image.info.keys() <= _HARMLESS
                if not harmless or image.width * image.height > max_pixels or len(content) > _MAX_BYTES:
                    return None
                return _SENT_AS_STORED.get(str(image.format))
    except Exception as error:  # Pillow's decoders raise nearly anything on damaged files
        raise InputError(
            f"image {name}: is not a readable image ({type(error).__name__}); replace the file."
        ) from error


def _url(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"
