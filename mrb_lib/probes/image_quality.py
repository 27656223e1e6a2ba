"""Graded losses of image quality that any modality may suffer."""

import io
from math import cos, pi, sin

import numpy as np
from PIL import Image, ImageFilter

from mrb_lib.probes.probe import Case, register_picture
from mrb_lib.probes.rasters import body, grain, grid_of, levels, picture_of

_CORRUPTIONS = "ImageNet-C (Hendrycks & Dietterich 2019)"
_MEDICAL = "MedMNIST-C (Di Salvo et al. 2024)"
_GAMMA = 2.2  # of displays: exposure acts on light, not on grey levels


@register_picture("image/noise", expected="same", source=_CORRUPTIONS)
def noise(picture: Image.Image, severity: int, rng: np.random.Generator, case: Case) -> Image.Image:
    """Add Gaussian noise, with a standard deviation of up to 50 of 255 grey levels."""
    values = levels(picture)
    added = grain(rng, picture.width, picture.height, values.shape[2])
    return picture_of(values + np.float32((5, 10, 18, 30, 50)[severity - 1]) * added, picture.mode)


@register_picture("image/blur", expected="same", source=_MEDICAL)
def blur(picture: Image.Image, severity: int, rng: np.random.Generator, case: Case) -> Image.Image:
    """Blur the picture, by up to 2.5% of its shorter side."""
    radius = 0.4 + min(picture.size) * (0.001, 0.004, 0.009, 0.015, 0.024)[severity - 1]
    return picture.filter(ImageFilter.GaussianBlur(radius))


@register_picture("image/jpeg", expected="same", source=_CORRUPTIONS)
def jpeg(picture: Image.Image, severity: int, rng: np.random.Generator, case: Case) -> Image.Image:
    """Compress the picture as JPEG, at a quality of 50 down to 5."""
    stream = io.BytesIO()
    picture.save(stream, format="JPEG", quality=(50, 30, 18, 10, 5)[severity - 1])
    with Image.open(stream) as opened:
        return opened.convert(picture.mode)


@register_picture("image/low-contrast", expected="same", source=_CORRUPTIONS)
def low_contrast(picture: Image.Image, severity: int, rng: np.random.Generator, case: Case) -> Image.Image:
    """Draw all grey levels towards their mean, down to a seventh of the contrast."""
    values = levels(picture)
    mean = np.float32(values.mean(dtype=np.float64))
    return picture_of(mean + (values - mean) * np.float32((0.8, 0.6, 0.42, 0.27, 0.15)[severity - 1]), picture.mode)


@register_picture("image/underexposed", expected="same", source=_CORRUPTIONS)
def underexposed(picture: Image.Image, severity: int, rng: np.random.Generator, case: Case) -> Image.Image:
    """Expose the picture by up to five stops too little."""
    factor = 2 ** ((-0.7, -1.5, -2.5, -3.7, -5.0)[severity - 1] / _GAMMA)
    return picture.point([round(level * factor) for level in range(256)] * len(picture.getbands()))


@register_picture("image/uneven", expected="same", source=_MEDICAL)
def uneven(picture: Image.Image, severity: int, rng: np.random.Generator, case: Case) -> Image.Image:
    """Make the picture brighter on one side and darker on the other, as an uneven coil, grid or light does."""
    values = levels(picture)
    x, y = grid_of(picture.width, picture.height)
    turn = 2 * pi * float(rng.random())
    slope = (x / x[0, -1] - 0.5) * np.float32(cos(turn)) + (y / y[-1, 0] - 0.5) * np.float32(sin(turn))
    factor = np.exp(np.float32((0.4, 0.8, 1.3, 1.9, 2.7)[severity - 1]) * slope[..., None])
    return picture_of(values * (1 + body(values) * (factor - 1)), picture.mode)
