"""Graded losses of image quality that any modality may suffer."""

from __future__ import annotations

import io
from math import cos, pi, sin

import numpy as np
from PIL import Image, ImageFilter

from mrb_lib.probes.probe import Case, register_picture
from mrb_lib.probes.rasters import GRAIN_SIDE, grain, levels, picture_of, shifted

_CORRUPTIONS = "ImageNet-C (Hendrycks & Dietterich 2019)"
_MEDICAL = "MedMNIST-C (Di Salvo et al. 2024)"
_GAMMA = 2.2  # of displays: exposure acts on light, not on grey levels


@register_picture("image/noise", expected="same", source=_CORRUPTIONS)
def noise(picture: Image.Image, severity: int, rng: np.random.Generator, case: Case) -> Image.Image:
    """Add Gaussian noise, with a standard deviation of up to 50 of 255 grey levels."""
    values = levels(picture)
    added = grain(rng, picture.width, picture.height, values.shape[2])
    return picture_of(values + np.float32((5, 10, 18, 30, 50)[severity - 1]) * added, picture.mode)


@register_picture("image/sensor-noise", expected="same", source=_CORRUPTIONS)
def sensor_noise(picture: Image.Image, severity: int, rng: np.random.Generator, case: Case) -> Image.Image:
    """Add the noise of a camera: that of counted light, blotches, lines that differ, and pixels stuck at white."""
    values = levels(picture)
    height, width, channels = values.shape
    fine, blotches = grain(rng, width, height, channels), grain(rng, width, height, channels, cell=3)
    lines = grain(rng, 1, height)
    stuck = grain(rng, width, height) > 3.2
    most = (3, 6, 12, 22, 38)[severity - 1]
    spread = np.sqrt(0.15 + 0.85 * values / 255)  # counts vary as the root of their mean
    added = spread * (0.85 * fine + 0.5 * blotches) + 0.15 * lines
    noisy = values + np.float32(most) * added
    return picture_of(np.where(stuck, noisy + 4 * most, noisy), picture.mode)


@register_picture("image/blur", expected="same", source=_MEDICAL)
def blur(picture: Image.Image, severity: int, rng: np.random.Generator, case: Case) -> Image.Image:
    """Blur the picture, by up to 2.5% of its shorter side."""
    radius = 0.4 + min(picture.size) * (0.001, 0.004, 0.009, 0.015, 0.024)[severity - 1]
    return picture.filter(ImageFilter.GaussianBlur(radius))


@register_picture("image/motion", expected="same", source=_MEDICAL)
def motion(picture: Image.Image, severity: int, rng: np.random.Generator, case: Case) -> Image.Image:
    """Blur the picture along a line, as by movement, over up to 9% of its shorter side."""
    angle = pi * float(rng.random())
    length = 1.5 + min(picture.size) * (0.004, 0.014, 0.03, 0.055, 0.085)[severity - 1]
    values = levels(picture)
    passes = max(1, int(length).bit_length())
    for step in range(1, passes + 1):  # the mean of two copies, again and again: all of a line in a few steps
        dx, dy = (round(length / 2**step * part) for part in (cos(angle), sin(angle)))
        values = np.float32(0.5) * (values + shifted(values, dx, dy))
    back = length / 2
    return picture_of(shifted(values, -round(back * cos(angle)), -round(back * sin(angle))), picture.mode)


@register_picture("image/jpeg", expected="same", source=_CORRUPTIONS)
def jpeg(picture: Image.Image, severity: int, rng: np.random.Generator, case: Case) -> Image.Image:
    """Compress the picture as JPEG, at a quality of 50 down to 5."""
    stream = io.BytesIO()
    picture.save(stream, format="JPEG", quality=(50, 30, 18, 10, 5)[severity - 1])
    with Image.open(stream) as opened:
        return opened.convert(picture.mode)


@register_picture("image/resolution", expected="same", source=_MEDICAL)
def resolution(picture: Image.Image, severity: int, rng: np.random.Generator, case: Case) -> Image.Image:
    """Shrink the picture, to no less than 66 pixels of a side of 512 or more, and enlarge it again."""
    longer = max(picture.size)
    factor = min(1.0, GRAIN_SIDE / longer) * (0.7, 0.45, 0.28, 0.19, 0.13)[severity - 1]
    small = (max(1, round(picture.width * factor)), max(1, round(picture.height * factor)))
    return picture.resize(small, Image.Resampling.BOX).resize(picture.size, Image.Resampling.BICUBIC)


@register_picture("image/low-contrast", expected="same", source=_CORRUPTIONS)
def low_contrast(picture: Image.Image, severity: int, rng: np.random.Generator, case: Case) -> Image.Image:
    """Draw all grey levels towards their mean, down to a seventh of the contrast."""
    values = levels(picture)
    mean = np.float32(values.mean(dtype=np.float64))
    return picture_of(mean + (values - mean) * np.float32((0.8, 0.6, 0.42, 0.27, 0.15)[severity - 1]), picture.mode)


@register_picture("image/overexposed", expected="same", source=_CORRUPTIONS)
def overexposed(picture: Image.Image, severity: int, rng: np.random.Generator, case: Case) -> Image.Image:
    """Expose the picture by up to three stops too much."""
    return _exposed(picture, (0.4, 0.9, 1.5, 2.2, 3.0)[severity - 1])


@register_picture("image/underexposed", expected="same", source=_CORRUPTIONS)
def underexposed(picture: Image.Image, severity: int, rng: np.random.Generator, case: Case) -> Image.Image:
    """Expose the picture by up to five stops too little."""
    return _exposed(picture, (-0.7, -1.5, -2.5, -3.7, -5.0)[severity - 1])


def _exposed(picture: Image.Image, stops: float) -> Image.Image:
    factor = 2 ** (stops / _GAMMA)
    table = [min(255, round(level * factor)) for level in range(256)]
    return picture.point(table * len(picture.getbands()))
