"""Pictures as arrays of grey levels, and what several picture probes do with them."""

from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage

Raster = NDArray[np.float32]

GRAIN_SIDE: Final = 512
"""Grain is as coarse as a pixel of a picture so long: finer grain would vanish when a model shrinks the picture."""
_GREY_SPREAD: Final = 6  # a grey picture that was stored as a colour JPEG has channels that differ so much
_MASK_SIDE: Final = 64
_DARK: Final = 14


def levels(picture: Image.Image) -> Raster:
    """Return grey levels from 0 to 255, with shape (height, width, 1) for a grey picture, also one stored in colour."""
    values = np.asarray(picture)
    if values.ndim == 2:
        return values[..., None].astype(np.float32)
    if (values.max(axis=2) - values.min(axis=2)).max() <= _GREY_SPREAD:
        return np.asarray(picture.convert("L"))[..., None].astype(np.float32)
    return values.astype(np.float32)


def picture_of(values: Raster, mode: str) -> Image.Image:
    """Return the picture of such an array, in the mode of the picture that it came from."""
    whole = np.clip(np.rint(values), 0, 255).astype(np.uint8)
    return Image.fromarray(whole[..., 0] if whole.shape[2] == 1 else whole).convert(mode)


def grain(rng: np.random.Generator, width: int, height: int, channels: int = 1) -> Raster:
    """Return noise of mean 0 and standard deviation 1, with shape (height, width, channels)."""
    factor = min(1.0, GRAIN_SIDE / max(width, height))
    small = (max(1, round(height * factor)), max(1, round(width * factor)))
    drawn = (Image.fromarray(rng.standard_normal(small, dtype=np.float32)) for _ in range(channels))
    fields = [np.asarray(field.resize((width, height), Image.Resampling.BICUBIC)) for field in drawn]
    # Rounded: in what order numpy sums depends on its version and the processor.
    spreads = [max(round(float(field.std(dtype=np.float64)), 4), 0.1) for field in fields]
    return np.stack([field / np.float32(spread) for field, spread in zip(fields, spreads, strict=True)], axis=2)


def grid_of(width: int, height: int) -> tuple[Raster, Raster]:
    """Return the x and y of each pixel's centre, in units of the longer side; shapes (1, width) and (height, 1)."""
    side = max(width, height)
    x, y = (np.arange(width) + 0.5) / side, (np.arange(height) + 0.5) / side
    return x[None, :].astype(np.float32), y[:, None].astype(np.float32)


def body(values: Raster) -> Raster:
    """Return how much each pixel is of what was imaged, 0 to 1: the lit part around the centre and the dark within.

    Letters and scales on the black beside it are left out.
    """
    height, width = values.shape[:2]
    small = Image.fromarray(np.clip(values.mean(axis=2), 0, 255).astype(np.uint8))
    lit = np.asarray(small.resize((_MASK_SIDE, _MASK_SIDE), Image.Resampling.BOX)) > _DARK
    parts, n = ndimage.label(ndimage.binary_opening(lit, np.ones((3, 3), dtype=np.bool_)))
    if not n:
        return np.ones((height, width, 1), dtype=np.float32)
    found = np.argwhere(parts)
    row, column = found[np.abs(found - _MASK_SIDE // 2).sum(axis=1).argmin()]
    inside = parts == parts[row, column]
    hull = (_filled(inside) & _filled(inside.T).T).astype(np.uint8) * 255
    soft = Image.fromarray(hull).resize((width, height), Image.Resampling.BILINEAR)
    return np.asarray(soft, dtype=np.float32)[..., None] / np.float32(255)


def _filled(inside: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return each row filled from its first to its last pixel."""
    forward, back = (np.logical_or.accumulate(side, axis=1) for side in (inside, inside[:, ::-1]))
    return np.asarray(forward & back[:, ::-1])
