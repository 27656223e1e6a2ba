"""Graded losses of image quality that any modality may suffer."""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageFilter

from mrb_lib.probes.probe import Case, register_picture


@register_picture("image/blur", expected="same", source="MedMNIST-C (Di Salvo et al. 2024)")
def blur(picture: Image.Image, severity: int, rng: np.random.Generator, case: Case) -> Image.Image:
    """Blur the picture, by up to 4% of its shorter side."""
    return picture.filter(ImageFilter.GaussianBlur(min(picture.size) * (0.002, 0.005, 0.01, 0.02, 0.04)[severity - 1]))
