"""The picture turned, mirrored, cut, or without its lesion."""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageOps

from mrb_lib.probes.probe import Case, register_picture
from mrb_lib.probes.rasters import Raster, blurred, grain, levels, picture_of

_QUARTER, _HALF = 90, 180
_RIM = 0.2  # how much wider and higher than its box a lesion is filled, on each side, so that no edge of it stays


@register_picture("image/rotated", expected="same")
def rotated(picture: Image.Image, severity: int, rng: np.random.Generator, case: Case) -> Image.Image:
    """Turn the picture by 5, 15, 45, 90 or 180 degrees; all of it stays in view, smaller where it must be."""
    sign = 1 if rng.random() < 0.5 else -1
    angle = (5, 15, 45, _QUARTER, _HALF)[severity - 1]
    if angle == _HALF:
        return picture.transpose(Image.Transpose.ROTATE_180)
    if angle == _QUARTER:
        turned = picture.transpose(Image.Transpose.ROTATE_90 if sign > 0 else Image.Transpose.ROTATE_270)
    else:
        turned = picture.rotate(sign * angle, Image.Resampling.BICUBIC, expand=True)
    return ImageOps.pad(turned, picture.size, Image.Resampling.BICUBIC, color=0)


@register_picture("image/mirrored", expected="worse", severities=1, names_side=True)
def mirrored(picture: Image.Image, severity: int, rng: np.random.Generator, case: Case) -> Image.Image:
    """Mirror the picture of a case that names a side, which makes the left of the patient the right."""
    return ImageOps.mirror(picture)


@register_picture("image/mirrored-sideless", expected="same", severities=1, names_side=False)
def mirrored_sideless(picture: Image.Image, severity: int, rng: np.random.Generator, case: Case) -> Image.Image:
    """Mirror the picture of a case whose texts name no side."""
    return ImageOps.mirror(picture)


@register_picture("image/cropped", expected="worse", harmless=1)
def cropped(picture: Image.Image, severity: int, rng: np.random.Generator, case: Case) -> Image.Image:
    """Show only the middle of the picture, 95% down to 50% of each side, at the size of the whole."""
    kept = (0.95, 0.85, 0.74, 0.62, 0.5)[severity - 1]
    width, height = picture.size
    left, top = width * (1 - kept) / 2, height * (1 - kept) / 2
    return picture.resize(picture.size, Image.Resampling.BICUBIC, box=(left, top, width - left, height - top))


@register_picture("image/lesion-hidden", expected="worse", severities=1, needs_box=True)
def lesion_hidden(picture: Image.Image, severity: int, rng: np.random.Generator, case: Case) -> Image.Image:
    """Fill the place of the lesion with what is around it."""
    values = levels(picture)
    height, width, channels = values.shape
    texture = grain(rng, width, height, channels)
    if case.box is None:
        return picture
    left, top, right, bottom = case.box
    rim_x, rim_y = (right - left) * _RIM, (bottom - top) * _RIM
    x0, x1 = _pixels(left - rim_x, right + rim_x, width)
    y0, y1 = _pixels(top - rim_y, bottom + rim_y, height)
    filled = _between(values, x0, x1, y0, y1)
    rough = _roughness(values, x0, x1, y0, y1)
    out = values.copy()
    out[y0:y1, x0:x1] = filled + rough * texture[y0:y1, x0:x1]
    return picture_of(out, picture.mode)


def _pixels(low: float, high: float, length: int) -> tuple[int, int]:
    """The first pixel, and the one after the last; at least one is between."""
    first = min(max(int(low * length), 0), length - 1)
    return first, max(min(int(high * length) + 1, length), first + 1)


def _between(values: Raster, x0: int, x1: int, y0: int, y1: int) -> Raster:
    """What lies beside a rectangle carried into it: each pixel a mean of the four sides, the nearer the heavier."""
    height, width, channels = values.shape
    soft = blurred(values, max(1.0, min(x1 - x0, y1 - y0) * 0.06))
    column, row = np.arange(x0, x1)[None, :, None], np.arange(y0, y1)[:, None, None]
    total = np.zeros((y1 - y0, x1 - x0, channels), dtype=np.float64)
    weights = np.zeros((y1 - y0, x1 - x0, 1), dtype=np.float64)
    sides = (
        (x0 > 0, soft[y0:y1, x0 - 1 : x0], column - x0 + 1),
        (x1 < width, soft[y0:y1, x1 : x1 + 1], x1 - column),
        (y0 > 0, soft[y0 - 1 : y0, x0:x1], row - y0 + 1),
        (y1 < height, soft[y1 : y1 + 1, x0:x1], y1 - row),
    )
    for is_there, side, distance in sides:
        if is_there:
            weight = 1.0 / distance.astype(np.float64) ** 2
            total += weight * side
            weights += weight
    if not weights.any():
        return np.full((y1 - y0, x1 - x0, channels), 128, dtype=np.float32)
    return np.asarray(total / weights, dtype=np.float32)


def _roughness(values: Raster, x0: int, x1: int, y0: int, y1: int) -> np.float32:
    """How much neighbouring pixels differ around a rectangle: the standard deviation of grain that looks the same."""
    reach_x, reach_y = max(2, (x1 - x0) // 3), max(2, (y1 - y0) // 3)
    around = values[max(0, y0 - reach_y) : y1 + reach_y, max(0, x0 - reach_x) : x1 + reach_x]
    steps = np.abs(np.diff(around, axis=1))
    # The median, for edges of organs are no grain; 0.95 is that of steps of grain of standard deviation 1.
    return np.float32(np.median(steps) / 0.95) if steps.size else np.float32(0)
