"""The picture turned, mirrored, cut, or without its lesion."""

from functools import partial

import numpy as np
from PIL import Image, ImageOps
from scipy import ndimage

from mrb_lib.probes.probe import Case, register_picture
from mrb_lib.probes.rasters import grain, levels, picture_of

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
    if case.box is None:
        return picture
    values = levels(picture)
    height, width, channels = values.shape
    texture = grain(rng, width, height, channels)
    left, top, right, bottom = case.box
    rim_x, rim_y = (right - left) * _RIM, (bottom - top) * _RIM
    columns, rows = _pixels(left - rim_x, right + rim_x, width), _pixels(top - rim_y, bottom + rim_y, height)
    around = np.ones((height, width, 1), dtype=np.float32)
    around[rows, columns] = 0
    if not around.any():
        return picture_of(128 + 10 * texture, picture.mode)
    # From the rim inwards, each pixel becomes the mean of what is known around it.
    sides = rows.stop - rows.start, columns.stop - columns.start
    near = partial(ndimage.uniform_filter, size=(*(3 + side // 8 for side in sides), 0), mode="nearest")
    filled, known = values * around, around
    while not known.all():
        weight = near(known)
        filled = np.where(known > 0, filled, near(filled) / np.maximum(weight, 1e-6))
        filled, known = filled * (weight > 1e-6), np.maximum(known, weight > 1e-6)
    window = tuple(slice(max(0, part.start - n), part.stop + n) for part, n in zip((rows, columns), sides, strict=True))
    # The median, for edges of organs are no grain; 0.95 is that of steps of grain of standard deviation 1.
    steps = np.abs(np.diff(values[window], axis=1))
    rough = np.float32(np.median(steps) / 0.95) if steps.size else np.float32(0)
    out = np.where(around > 0, values, filled + rough * texture)
    return picture_of(out, picture.mode)


def _pixels(low: float, high: float, length: int) -> slice:
    """Return the pixels between two fractions of a length, one at least."""
    first = min(max(int(low * length), 0), length - 1)
    return slice(first, max(min(int(high * length) + 1, length), first + 1))
