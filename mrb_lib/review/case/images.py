"""The images of a case, whole without a script, and with all that `case.js` needs to zoom, move and window them."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import pandas as pd

from mrb_lib.benchmarks.images import Pixels, packed_png, plain_png, read_pixels
from mrb_lib.review.app import File, sent
from mrb_lib.review.pages import macro
from mrb_lib.tables.errors import InputError

SIDE = 1024


def image_html(
    name: object, images: Mapping[str, bytes], side: int = SIDE, index: int | None = 0, called: str = ""
) -> str:
    """One image as a figure, or what is wrong with it.

    Parameters
    ----------
    name : of the image, as the case gives it
    images : the bytes of the images by name
    side : the longest side, in pixels, that is put into the page
    index : its place among the images of the case, by which `case.js` asks for a larger one whole; see `whole`. None
        for a picture that is not one of them, which stays as it is drawn
    called : what the page calls it; its name where that is empty

    Returns
    -------
    str
        A `<figure>` with the picture in its first window. Of grey pictures deeper than 8 bits it carries the values
        too, as `data-packed`. Validated by tests/review/case/test_images.py.
    """
    called = called or str(name)
    try:
        pixels = read_pixels(images[str(name)], called)
    except KeyError:
        return macro("case_image", "missing")(called)
    except InputError as error:
        return macro("case_image", "unreadable")(error)
    height, width = pixels.values.shape[:2]
    is_shrunk = max(height, width) > side
    data: dict[str, object] = {}
    if index is not None:
        data = {"index": index, **_shades(pixels)}
        data |= {"wide": width, "tall": height} if is_shrunk else {}
        data |= {"frames": pixels.frames} if pixels.frames > 1 else {}
        data |= {"packed": _address(packed_png(pixels, side))} if pixels.deep else {}
    png, shrunk = _address(plain_png(pixels, side)), side if is_shrunk else None
    return macro("case_image", "figure")(called, png, data, width, height, pixels, shrunk)


def whole(name: object, images: Mapping[str, bytes], frame: int = 1) -> File:
    """One frame of an image, from 1, with every pixel it has, as a PNG: packed where it is grey and deeper than 8 bits.

    What its stored values stand for and the window to start with are its `shades`, as the figure's `data-` attributes.

    Raises
    ------
    InputError
        It is missing, or cannot be read.
    """
    if str(name) not in images:
        raise InputError("the image is missing; load the page again.")
    pixels = read_pixels(images[str(name)], str(name), frame)
    side = max(pixels.values.shape[:2])
    png = packed_png(pixels, side) if pixels.deep else plain_png(pixels, side)
    return File(png, "image/png", {"shades": _shades(pixels)})


def image_asked(question: Mapping[str, Any], case: pd.Series) -> str:
    """Return the name of the image of a case that a page asks for by its index; `InputError` where it has none."""
    index = sent(question, "image", int)
    if not 0 <= index < len(case["images"]):
        raise InputError("there is no such image; load the page again.")
    return str(case["images"][index])


def _shades(pixels: Pixels) -> dict[str, str]:
    """Return what a script needs to measure, and to put the values of a grey picture through a window."""
    shades = {"unit": pixels.unit} if pixels.unit else {}
    if pixels.spacing:
        shades["spacing"] = f"{pixels.spacing[0]:.10g} {pixels.spacing[1]:.10g}"
    if pixels.grey:
        numbers = ("low", "high", "centre", "width", "offset", "step")
        shades |= {name: f"{getattr(pixels, name):.10g}" for name in numbers}
        shades["inverted"] = str(int(pixels.inverted))
    return shades


def _address(png: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(png).decode('ascii')}"
