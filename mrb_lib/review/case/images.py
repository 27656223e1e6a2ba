"""The images of a case, whole without a script, and with all that `case.js` needs to zoom, pan and window them."""

from __future__ import annotations

import base64
from collections.abc import Mapping

from mrb_lib.benchmarks.images import Pixels, packed_png, plain_png, read_pixels
from mrb_lib.review.file import File
from mrb_lib.review.text import escaped, isolated
from mrb_lib.tables.errors import InputError

SIDE = 1024


def image_html(name: object, images: Mapping[str, bytes], side: int = SIDE, index: int | None = 0) -> str:
    """One image as a figure, or what is wrong with it.

    Parameters
    ----------
    name : of the image, as the case gives it
    images : the bytes of the images by name
    side : the longest side, in pixels, that is put into the page
    index : its place among the images of the case, by which `case.js` asks for a larger one whole; see `whole`. None
        for a picture that is not one of them, which stays as it is drawn

    Returns
    -------
    str
        A `<figure>` with the picture in its first window. Of grey pictures deeper than 8 bits it carries the values
        too, as `data-packed`. Validated by tests/review/case/test_images.py.
    """
    try:
        return figure_html(read_pixels(images[str(name)], str(name)), str(name), side, index)
    except KeyError:
        return f'<p class="mrb-missing">[the image {isolated(name)} is missing]</p>'
    except InputError as error:
        return f'<p class="mrb-missing">[{isolated(error)}]</p>'


def whole(name: object, images: Mapping[str, bytes], frame: int = 1) -> File:
    """One frame of an image, from 1, with every pixel it has, as a PNG: packed where it is grey and deeper than 8 bits.

    What its stored values stand for and the window to start with are its `shades`, as the figure's `data-` attributes.

    Raises
    ------
    InputError
        It is missing, or cannot be read.
    """
    if str(name) not in images:
        raise InputError(f"the image {name} is missing.")
    pixels = read_pixels(images[str(name)], str(name), frame)
    side = max(pixels.values.shape[:2])
    png = packed_png(pixels, side) if pixels.deep else plain_png(pixels, side)
    return File(png, "image/png", {"shades": _shades(pixels)})


def figure_html(pixels: Pixels, name: str, side: int = SIDE, index: int | None = 0) -> str:
    """The figure of one picture; see `image_html`."""
    height, width = pixels.values.shape[:2]
    kind = "colour" if not pixels.grey else "grey, more than 8 bits" if pixels.deep else "grey"
    frames = ""
    if pixels.frames > 1:
        frames = f' · frame <span class="mrb-frame">1</span> of {pixels.frames}, of which judges see the first'
    shrunk = max(height, width) > side
    shown = f'<span class="mrb-shrunk"> · shown at most {side} wide or high</span>' if shrunk else ""
    of_script, of_view = "", ""
    if index is not None:
        of_script = _for_script(pixels, side, index, f' data-wide="{width}" data-tall="{height}"' if shrunk else "")
        label = f"{name}: zoom and pan with the buttons or the keys + - and arrows"
        of_view = f' role="group" aria-label="{escaped(label)}"'
    return (
        f'<figure class="mrb-image"{of_script}>'
        f'<div class="mrb-view"{of_view}>'
        f'<img alt="{escaped(name)}" src="{_address(plain_png(pixels, side))}" draggable="false"></div>'
        f"<figcaption>{isolated(name)} · {width} × {height} · {kind}{frames}{shown}</figcaption></figure>"  # noqa: RUF001 - a size is written so
    )


def _for_script(pixels: Pixels, side: int, index: int, whole_size: str) -> str:
    """The attributes of a figure that `case.js` makes a viewer of."""
    packed = f' data-packed="{_address(packed_png(pixels, side))}"' if pixels.deep else ""
    frames = f' data-frames="{pixels.frames}"' if pixels.frames > 1 else ""
    shades = "".join(f' data-{key}="{value}"' for key, value in _shades(pixels).items())
    return f' data-mrb="image"{packed} data-index="{index}"{whole_size}{frames}{shades}'


def _shades(pixels: Pixels) -> dict[str, str]:
    """What a script needs to measure, and to put the values of a grey picture through a window."""
    shades = {"unit": pixels.unit} if pixels.unit else {}
    if pixels.spacing:
        shades["spacing"] = f"{pixels.spacing[0]:.10g} {pixels.spacing[1]:.10g}"
    if pixels.grey:
        numbers = ("low", "high", "centre", "width", "offset", "step")
        shades |= {name: f"{getattr(pixels, name):.10g}" for name in numbers}
        shades["inverted"] = str(int(pixels.inverted))
    return shades


def _address(picture: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(picture).decode("ascii")
