"""Faults of how a picture was taken."""

from __future__ import annotations

from math import cos, pi, sin
from typing import Final

import numpy as np
from PIL import Image

from mrb_lib.probes.probe import Case, register_picture
from mrb_lib.probes.rasters import Raster, blurred, body, grid_of, levels, picture_of

_MEDICAL: Final = "MedMNIST-C (Di Salvo et al. 2024)"
_CANDIDATES: Final = 24


@register_picture("image/metal-artefact", expected="same", modalities=("CT", "Computed tomography"))
def metal_artefact(picture: Image.Image, severity: int, rng: np.random.Generator, case: Case) -> Image.Image:
    """Lay bright and dark streaks over a CT that radiate from a piece of metal."""
    step = severity - 1
    values = levels(picture)
    x, y = grid_of(picture.width, picture.height)
    cx, cy = _dense_place(values, rng)
    rays, turn = rng.standard_normal(96).astype(np.float32), pi * float(rng.random())
    dx, dy = x - np.float32(cx), y - np.float32(cy)
    distance, angle = np.hypot(dx, dy), np.arctan2(dy, dx)
    place = np.mod(angle / np.float32(pi), 1) * len(rays)  # a streak is a line: it leaves on both sides
    fine = np.interp(place, np.arange(len(rays) + 1), np.append(rays, rays[0]))
    band = np.cos(angle - np.float32(turn)) ** 10  # beam hardening along the long axis
    radius = np.float32((0.010, 0.014, 0.018, 0.022, 0.026)[step])
    fades = 1 / (1 + (distance / 0.22) ** 2) * np.clip(distance / radius - 0.6, 0, 1)
    most = np.float32((8, 20, 40, 68, 105)[step])
    streaked = values + (most * fades * (fine - 1.3 * band + 0.25))[..., None]
    long = np.hypot(
        dx * np.float32(cos(turn)) + dy * np.float32(sin(turn)),
        1.8 * (dy * np.float32(cos(turn)) - dx * np.float32(sin(turn))),
    )
    metal = np.clip((radius * 1.4 - long) * max(picture.size) + 0.5, 0, 1)[..., None]
    return picture_of(streaked * (1 - metal) + 255 * metal, picture.mode)


def _dense_place(values: Raster, rng: np.random.Generator) -> tuple[float, float]:
    """Return the brightest of some places in the middle of the picture, in units of the longer side."""
    height, width = values.shape[:2]
    soft = blurred(values, max(width, height) * 0.015).mean(axis=2)
    columns = (width * (0.25 + 0.5 * rng.random(_CANDIDATES))).astype(np.intp)
    rows = (height * (0.25 + 0.5 * rng.random(_CANDIDATES))).astype(np.intp)
    best = int(soft[rows, columns].argmax())
    return (float(columns[best]) + 0.5) / max(width, height), (float(rows[best]) + 0.5) / max(width, height)


@register_picture("image/motion-ghost", expected="same", source=_MEDICAL, modalities=("MR", "Magnetic resonance"))
def motion_ghost(picture: Image.Image, severity: int, rng: np.random.Generator, case: Case) -> Image.Image:
    """Repeat an MR picture faintly along the direction of phase encoding, as a patient's regular movement does."""
    values = levels(picture)
    axis, share, phase = int(rng.random() < 0.5), 0.11 + 0.1 * float(rng.random()), pi * (0.3 + 0.25 * rng.random())
    moving = values * body(values)
    step = max(1, round(share * values.shape[axis]))
    ghosts = sum(
        np.float32(strength) * np.roll(moving, way * far * step, axis)
        for far, strength in ((1, 1.0), (2, 0.55), (3, 0.3))
        for way in (-1, 1)
    )
    amount = np.float32((0.05, 0.10, 0.17, 0.27, 0.40)[severity - 1])
    kept = 1 - amount / 2  # what the ghosts have, the picture lacks
    real, imaginary = kept * values + amount * cos(phase) * ghosts, amount * sin(phase) * ghosts
    return picture_of(np.hypot(real, imaginary), picture.mode)


@register_picture("image/uneven", expected="same", source=_MEDICAL)
def uneven(picture: Image.Image, severity: int, rng: np.random.Generator, case: Case) -> Image.Image:
    """Make the picture brighter on one side and darker on the other, as an uneven coil, grid or light does."""
    values = levels(picture)
    x, y = grid_of(picture.width, picture.height)
    turn = 2 * pi * float(rng.random())
    slope = (x / x[0, -1] - 0.5) * np.float32(cos(turn)) + (y / y[-1, 0] - 0.5) * np.float32(sin(turn))
    factor = np.exp(np.float32((0.4, 0.8, 1.3, 1.9, 2.7)[severity - 1]) * slope[..., None])
    return picture_of(values * (1 + body(values) * (factor - 1)), picture.mode)
