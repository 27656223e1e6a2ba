"""Pictures as arrays of grey levels, and what several picture probes do with them."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter

Raster = NDArray[np.float32]

GRAIN_SIDE: Final = 512
"""Grain is as coarse as a pixel of a picture so long: finer grain would vanish when a model shrinks the picture."""
_GREY_SPREAD: Final = 6  # a grey picture that was stored as a colour JPEG has channels that differ so much
_MASK_SIDE: Final = 64
_DARK: Final = 14


def levels(picture: Image.Image) -> Raster:
    """Grey levels from 0 to 255, with shape (height, width, 1) for a grey picture, which colour ones may be too."""
    values = np.asarray(picture)
    if values.ndim == 2:
        return values[..., None].astype(np.float32)
    if (values.max(axis=2) - values.min(axis=2)).max() <= _GREY_SPREAD:
        return np.asarray(picture.convert("L"))[..., None].astype(np.float32)
    return values.astype(np.float32)


def picture_of(values: Raster, mode: str) -> Image.Image:
    """The picture of such an array, in the mode of the picture that it came from."""
    whole = np.clip(np.rint(values), 0, 255).astype(np.uint8)
    return Image.fromarray(whole[..., 0] if whole.shape[2] == 1 else whole).convert(mode)


def resized(field: Raster, width: int, height: int) -> Raster:
    """A field of shape (height, width) at another size, interpolated."""
    if field.shape == (height, width):
        return field
    return np.asarray(Image.fromarray(field).resize((width, height), Image.Resampling.BICUBIC), dtype=np.float32)


def grain(rng: np.random.Generator, width: int, height: int, channels: int = 1, cell: float = 1.0) -> Raster:
    """Noise of mean 0 and standard deviation 1, with shape (height, width, channels).

    Parameters
    ----------
    cell : how coarse it is, in pixels of a picture `GRAIN_SIDE` long
    """
    factor = min(1.0, GRAIN_SIDE / max(width, height)) / cell
    small = (max(1, round(height * factor)), max(1, round(width * factor)))
    fields = [resized(rng.standard_normal(small, dtype=np.float32), width, height) for _ in range(channels)]
    return np.stack([field / np.float32(max(_spread(field), 0.1)) for field in fields], axis=2)


def _spread(field: Raster) -> float:
    """The standard deviation, rounded: in what order numpy sums depends on its version and the processor."""
    return round(float(field.std(dtype=np.float64)), 4)


def smooth_field(rng: np.random.Generator, width: int, height: int, knots: int = 4) -> Raster:
    """A field that varies slowly, from -1 to 1, with shape (height, width, 1)."""
    field = resized(rng.standard_normal((knots, knots), dtype=np.float32), width, height)
    low, high = float(field.min()), float(field.max())
    return ((field - low) / max(high - low, 1e-6) * 2 - 1)[..., None]


def grid_of(width: int, height: int) -> tuple[Raster, Raster]:
    """The x and y of each pixel, its centre, in units of the longer side; shapes (1, width) and (height, 1)."""
    side = max(width, height)
    x, y = (np.arange(width) + 0.5) / side, (np.arange(height) + 0.5) / side
    return x[None, :].astype(np.float32), y[:, None].astype(np.float32)


def blurred(values: Raster, radius: float) -> Raster:
    """Grey levels blurred, and rounded."""
    channels = [
        Image.fromarray(np.clip(np.rint(values[..., i]), 0, 255).astype(np.uint8)) for i in range(values.shape[2])
    ]
    return np.stack(
        [np.asarray(c.filter(ImageFilter.GaussianBlur(radius)), dtype=np.float32) for c in channels], axis=2
    )


def shifted(values: Raster, dx: int, dy: int, *, wrap: bool = False) -> Raster:
    """The array moved to the right and down; what enters repeats the edge, or wraps around."""
    if wrap:
        return np.roll(values, (dy, dx), axis=(0, 1))
    height, width = values.shape[:2]
    rows = np.clip(np.arange(height) - dy, 0, height - 1)
    return values[rows][:, np.clip(np.arange(width) - dx, 0, width - 1)]


def body(values: Raster) -> Raster:
    """How much each pixel is of what was imaged, 0 to 1: the lit part around the centre and the dark within.

    Letters and scales on the black beside it are left out.
    """
    height, width = values.shape[:2]
    small = Image.fromarray(np.clip(values.mean(axis=2), 0, 255).astype(np.uint8))
    small = small.resize((_MASK_SIDE, _MASK_SIDE), Image.Resampling.BOX)
    lit = small.point([255 if level > _DARK else 0 for level in range(256)])
    lit = lit.filter(ImageFilter.MinFilter(3)).filter(ImageFilter.MaxFilter(5))
    found = np.argwhere(np.asarray(lit) > 0)
    if not len(found):
        return np.ones((height, width, 1), dtype=np.float32)
    row, column = found[np.abs(found - _MASK_SIDE // 2).sum(axis=1).argmin()]
    ImageDraw.floodfill(lit, (int(column), int(row)), 128)
    inside = np.asarray(lit) == 128
    hull = Image.fromarray((_spans(inside) & _spans(inside.T).T).astype(np.uint8) * 255)
    inner, outer = (
        np.asarray(each.resize((width, height), Image.Resampling.BILINEAR), dtype=np.float32) / 255
        for each in (hull.filter(ImageFilter.MinFilter(5)), hull)
    )
    edge = blurred(values.max(axis=2, keepdims=True), max(width, height) / 400)  # as fine as the picture itself
    return np.maximum(inner[..., None], outer[..., None] * np.clip((edge - _DARK / 2) / _DARK, 0, 1))


def _spans(inside: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Each row filled from its first to its last pixel."""
    forward = np.logical_or.accumulate(inside, axis=1)
    back = np.logical_or.accumulate(inside[:, ::-1], axis=1)[:, ::-1]
    return np.asarray(forward & back)
