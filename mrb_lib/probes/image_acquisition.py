"""Faults of how a picture was taken, as they look in its modality."""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, pi, sin
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from mrb_lib.probes.probe import Case, register_picture
from mrb_lib.probes.rasters import (
    Raster,
    blurred,
    body,
    grain,
    grid_of,
    levels,
    picture_of,
    resized,
    shifted,
    smooth_field,
)

CT: Final = ("CT", "Computed tomography")
ULTRASOUND: Final = ("Ultraso", "Sonogra", "Echocardio")
MRI: Final = ("MR", "Magnetic resonance")
RADIOGRAPHY: Final = ("X-ray", "Radiogra", "Mammogra")
CAMERA: Final = ("Photogra", "Endoscop", "Fundus", "Dermoscop")
OCT: Final = ("OCT", "Optical coherence")

_MEDICAL: Final = "MedMNIST-C (Di Salvo et al. 2024)"
_PROJECTIONS, _DETECTORS_SIDE = 120, 256
_CANDIDATES: Final = 24
_HIGHLIGHTS: Final = 16


@register_picture("image/metal-artefact", expected="same", modalities=CT)
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
    whole = np.floor(place).astype(np.intp) % len(rays)
    part = place - np.floor(place)
    fine = rays[whole] * (1 - part) + rays[(whole + 1) % len(rays)] * part
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
    """The brightest of some places in the middle of the picture, in units of the longer side."""
    height, width = values.shape[:2]
    soft = blurred(values, max(width, height) * 0.015).mean(axis=2)
    columns = (width * (0.25 + 0.5 * rng.random(_CANDIDATES))).astype(np.intp)
    rows = (height * (0.25 + 0.5 * rng.random(_CANDIDATES))).astype(np.intp)
    best = int(soft[rows, columns].argmax())
    return (float(columns[best]) + 0.5) / max(width, height), (float(rows[best]) + 0.5) / max(width, height)


@register_picture("image/low-dose", expected="same", modalities=CT)
def low_dose(picture: Image.Image, severity: int, rng: np.random.Generator, case: Case) -> Image.Image:
    """Give a CT the streaky noise of too few photons, more of it along dense paths."""
    values = levels(picture)
    noise = _reconstructed_noise(values.mean(axis=2), rng)[..., None]
    return picture_of(values + np.float32((5, 10, 18, 29, 44)[severity - 1]) * noise, picture.mode)


def _reconstructed_noise(values: Raster, rng: np.random.Generator) -> Raster:
    """Noise of projections, filtered and projected back as a scanner does, of standard deviation 1 in the middle."""
    height, width = values.shape
    factor = min(1.0, _DETECTORS_SIDE / max(width, height))
    small = resized(values, max(1, round(width * factor)), max(1, round(height * factor)))
    rows, columns = small.shape
    n = int(np.hypot(rows, columns)) + 3
    x = (np.arange(columns) - (columns - 1) / 2)[None, :]
    y = (np.arange(rows) - (rows - 1) / 2)[:, None]
    ramp = np.zeros(2 * n + 1)
    ramp[n] = 0.25
    odd = np.arange(1, n + 1, 2)
    ramp[n + odd] = ramp[n - odd] = -1 / (pi * odd) ** 2
    total = np.zeros((rows, columns))
    dense = small.ravel() / (255 * max(rows, columns))
    for k in range(_PROJECTIONS):
        angle = pi * k / _PROJECTIONS
        place = x * cos(angle) + y * sin(angle) + n / 2
        first = place.astype(np.intp)
        path = np.bincount(first.ravel(), weights=dense, minlength=n)[:n]
        # The fewer photons arrive, the more their logarithm varies.
        counted = rng.standard_normal(n) * np.exp(3.5 * np.minimum(path, 1.5))
        filtered = np.convolve(counted, ramp)[n : 2 * n]
        part = place - first
        total += filtered[np.minimum(first, n - 1)] * (1 - part) + filtered[np.minimum(first + 1, n - 1)] * part
    middle = total[rows // 4 : rows - rows // 4, columns // 4 : columns - columns // 4]
    spread = float(middle.std()) if middle.size > 1 else float(np.abs(total).max())
    return resized((total / max(spread, 1e-6)).astype(np.float32), width, height)


@register_picture("image/gain", expected="same", source=_MEDICAL, modalities=ULTRASOUND)
def gain(picture: Image.Image, severity: int, rng: np.random.Generator, case: Case) -> Image.Image:
    """Turn up the gain of an ultrasound picture, so that what holds no echo turns grey and the rest turns white."""
    step = severity - 1
    values = levels(picture)
    speckle = grain(rng, picture.width, picture.height, cell=1.5)
    floor, factor = (8, 20, 36, 54, 76)[step], (1.06, 1.15, 1.28, 1.42, 1.6)[step]
    raised = values * np.float32(factor) + floor * (1 + 0.35 * speckle)
    soft = raised - np.maximum(raised - 170, 0) * np.float32(0.5)  # the display saturates by and by
    inside = body(values)
    return picture_of(values + inside * (soft - values), picture.mode)


@register_picture("image/shadow", expected="same", modalities=ULTRASOUND)
def shadow(picture: Image.Image, severity: int, rng: np.random.Generator, case: Case) -> Image.Image:
    """Put a bright reflector into an ultrasound picture, and along the beam behind it a shadow."""
    step = severity - 1
    values = levels(picture)
    inside = body(values)
    beams = _beams(inside[..., 0])
    across, deep = 0.3 + 0.4 * float(rng.random()), 0.22 + 0.16 * float(rng.random())
    ripple = grain(rng, picture.width, picture.height, cell=2)[..., 0]
    half = (0.03, 0.045, 0.065, 0.09, 0.125)[step]
    beside = np.abs(beams.across - np.float32(across)) / np.float32(half)
    in_band = np.clip((1.15 - beside) / 0.3, 0, 1)
    behind = np.clip((beams.depth - np.float32(deep)) / 0.02, 0, 1)
    dark = np.float32((0.45, 0.62, 0.76, 0.87, 0.94)[step]) * in_band * behind * (1 + 0.08 * ripple)
    # Curved towards the probe, as the near side of a stone or a rib is.
    edge = np.float32(deep) + np.float32(0.25 * half) * beside**2
    arc = np.clip(1.3 - np.abs(beams.depth - edge) / np.float32(0.008 + 0.06 * half), 0, 1) * np.clip(
        (1.0 - beside) / 0.2, 0, 1
    )
    bright = np.float32((170, 195, 215, 230, 240)[step]) + 12 * ripple
    shaded = values * (1 - np.clip(dark, 0, 1))[..., None]
    lit = shaded + arc[..., None] * np.maximum(bright[..., None] - shaded, 0)
    return picture_of(values + inside * (lit - values), picture.mode)


@dataclass(frozen=True)
class _Beams:
    """For each pixel: which beam it is on, from 0 on the left to 1 on the right, and how deep it lies, from 0 to 1."""

    across: Raster
    depth: Raster


def _beams(inside: Raster) -> _Beams:
    """How the beams of a probe run, from the outline of its picture: from a point, or straight down."""
    height, width = inside.shape
    lit = inside > 0.5
    rows = np.flatnonzero(lit.any(axis=1))
    if len(rows) < 4:
        lit, rows = np.ones_like(lit), np.arange(height)
    left = lit[rows].argmax(axis=1).astype(np.float64)
    right = width - 1.0 - lit[rows][:, ::-1].argmax(axis=1)
    n = len(rows)
    upper, lower = slice(n // 10, max(n // 4, n // 10 + 1)), slice(n // 3, max(n // 2, n // 3 + 1))
    at = [float(rows[part].mean()) for part in (upper, lower)]
    lefts = [float(left[part].mean()) for part in (upper, lower)]
    rights = [float(right[part].mean()) for part in (upper, lower)]
    widths = [last - first + 1 for first, last in zip(lefts, rights, strict=True)]
    x, y = np.arange(width, dtype=np.float64)[None, :], np.arange(height, dtype=np.float64)[:, None]
    opens = (widths[1] - widths[0]) / max(at[1] - at[0], 1e-6)
    if opens < 0.15:
        across = np.broadcast_to((x - left.min()) / max(float(right.max() - left.min()), 1.0), (height, width))
        depth = np.broadcast_to((y - rows[0]) / max(float(rows[-1] - rows[0]), 1.0), (height, width))
        return _Beams(across.astype(np.float32), depth.astype(np.float32))
    apex = at[0] - widths[0] / opens
    middle = sum(lefts + rights) / 4
    angle = np.arctan2(x - middle, np.maximum(y - apex, 1e-6))
    distance = np.hypot(x - middle, y - apex)
    half = float(np.arctan(opens / 2))
    nearest, farthest = float(distance[lit].min()), float(distance[lit].max())
    across, depth = 0.5 + angle / (2 * half), (distance - nearest) / max(farthest - nearest, 1.0)
    return _Beams(across.astype(np.float32), depth.astype(np.float32))


@register_picture("image/glare", expected="same", modalities=CAMERA)
def glare(picture: Image.Image, severity: int, rng: np.random.Generator, case: Case) -> Image.Image:
    """Let light be reflected into the camera: white highlights, and haze from one side; in the eye, haze."""
    step = severity - 1
    values = levels(picture)
    x, y = grid_of(picture.width, picture.height)
    across, down = float(x[0, -1]), float(y[-1, 0])
    turn = 2 * pi * float(rng.random())
    spots = rng.random((2 * _HIGHLIGHTS, 5))
    inside = body(values)
    fundus = "fundus" in (case.modality or "").lower()
    along = (x - across / 2) / across * np.float32(cos(turn)) + (y - down / 2) / down * np.float32(sin(turn))
    veil = np.clip(along * 1.4 + 0.5, 0, 1) ** (3 if fundus else 2)
    haze = np.float32((0.10, 0.20, 0.32, 0.46, 0.62)[step] * (1.35 if fundus else 0.8)) * veil[..., None] * inside
    white = np.array((238, 244, 250) if values.shape[2] == 3 else (244,), dtype=np.float32)
    hazy = values + np.minimum(haze, 0.95) * (white - values)
    if fundus:
        return picture_of(hazy, picture.mode)
    lit = _highlights(values, spots, step)[..., None] * inside
    return picture_of(hazy + lit * (255 - hazy), picture.mode)


def _highlights(values: Raster, spots: NDArray[np.float64], step: int) -> Raster:
    """How much of each pixel is white: at some of the spots, those first that light reaches."""
    height, width = values.shape[:2]
    x, y = grid_of(width, height)
    light = blurred(values, max(width, height) * 0.02).mean(axis=2)
    across, down = 0.12 + 0.76 * spots[:, 0], 0.12 + 0.76 * spots[:, 1]
    reached = light[(down * height).astype(np.intp), (across * width).astype(np.intp)]
    order = np.argsort(reached < np.median(reached), kind="stable")
    lit = np.zeros((height, width), dtype=np.float32)
    for i in order[: (3, 5, 8, 12, _HIGHLIGHTS)[step]]:
        size, flat, lean = spots[i, 2:]
        dx, dy = x - np.float32(x[0, -1] * across[i]), y - np.float32(y[-1, 0] * down[i])
        c, s = np.float32(cos(pi * lean)), np.float32(sin(pi * lean))
        radius = np.float32((0.010 + 0.022 * size) * (0.7, 0.85, 1.0, 1.2, 1.4)[step])
        spread = np.hypot(dx * c + dy * s, (dy * c - dx * s) * np.float32(1.4 + 2 * flat)) / radius
        lit = np.maximum(lit, np.maximum(np.clip((1.15 - spread) / 0.3, 0, 1), 0.35 / (1 + spread**4 / 16)))
    return lit


@register_picture("image/motion-ghost", expected="same", source=_MEDICAL, modalities=MRI)
def motion_ghost(picture: Image.Image, severity: int, rng: np.random.Generator, case: Case) -> Image.Image:
    """Repeat an MR picture faintly along the direction of phase encoding, as a patient's regular movement does."""
    values = levels(picture)
    down, share, phase = rng.random() < 0.5, 0.11 + 0.1 * float(rng.random()), pi * (0.3 + 0.25 * float(rng.random()))
    moving = values * body(values)
    step = max(1, round(share * (picture.height if down else picture.width)))

    def copies(far: int) -> Raster:
        both = [shifted(moving, 0 if down else k, k if down else 0, wrap=True) for k in (-far, far)]
        return np.asarray(sum(both), dtype=np.float32)

    ghosts = copies(step) + np.float32(0.55) * copies(2 * step) + np.float32(0.3) * copies(3 * step)
    amount = np.float32((0.05, 0.10, 0.17, 0.27, 0.40)[severity - 1])
    kept = 1 - amount / 2  # what the ghosts have, the picture lacks
    real, imaginary = kept * values + amount * cos(phase) * ghosts, amount * sin(phase) * ghosts
    return picture_of(np.hypot(real, imaginary), picture.mode)


@register_picture("image/bias-field", expected="same", source=_MEDICAL, modalities=MRI)
def bias_field(picture: Image.Image, severity: int, rng: np.random.Generator, case: Case) -> Image.Image:
    """Make an MR picture brighter on one side and darker on the other, as an uneven coil does."""
    values = levels(picture)
    x, y = grid_of(picture.width, picture.height)
    turn = 2 * pi * float(rng.random())
    uneven = smooth_field(rng, picture.width, picture.height, knots=3)
    slope = (x / x[0, -1] - 0.5) * np.float32(cos(turn)) + (y / y[-1, 0] - 0.5) * np.float32(sin(turn))
    field = 1.6 * slope[..., None] + 0.35 * uneven
    factor = np.exp(np.float32((0.25, 0.5, 0.8, 1.2, 1.7)[severity - 1]) * field)
    return picture_of(values * (1 + body(values) * (factor - 1)), picture.mode)


@register_picture("image/grid", expected="same", modalities=RADIOGRAPHY)
def grid(picture: Image.Image, severity: int, rng: np.random.Generator, case: Case) -> Image.Image:
    """Put the grid of a radiograph off centre: one side is underexposed, so whiter and noisier; scatter, grid lines."""
    step = severity - 1
    values = levels(picture)
    width, height = picture.size
    x, _ = grid_of(width, height)
    mirrored = rng.random() < 0.5
    noise = grain(rng, width, height)
    inside = body(values)
    place = x / x[0, -1]
    lost = np.clip((1 - place if mirrored else place) * 1.25 - 0.25, 0, 1)[..., None] ** np.float32(1.3)
    veil = blurred(values, max(width, height) * 0.06)
    scattered = values + np.float32((0.12, 0.22, 0.34, 0.46, 0.58)[step]) * (0.75 * veil + 34 - 0.75 * values)
    most = np.float32((14, 28, 46, 70, 100)[step])
    lines = np.sin(x * np.float32(2 * pi * 64))[..., None] * np.float32((0.8, 1.6, 2.6, 3.8, 5.0)[step])
    # Less exposure adds to the grey level of a radiograph, for film and display are logarithmic.
    cut = scattered + most * lost * (1 - scattered / 340) + lines + np.float32(0.13) * most * lost * noise
    return picture_of(values + inside * (cut - values), picture.mode)


@register_picture("image/speckle", expected="same", source=_MEDICAL, modalities=OCT)
def speckle(picture: Image.Image, severity: int, rng: np.random.Generator, case: Case) -> Image.Image:
    """Weaken the signal of an OCT picture, so that speckle and the noise of the background come forward."""
    step = severity - 1
    values = levels(picture)
    height, width = values.shape[:2]
    coarse = grain(rng, width, height, cell=1.3), grain(rng, width, height, cell=1.3)
    # Speckle is the brightness of a sum of waves; a display shows its logarithm.
    shown = np.log(np.maximum((coarse[0] ** 2 + coarse[1] ** 2) / 2, 0.02)) + np.float32(0.5772)
    most, floor = np.float32((6, 12, 20, 30, 42)[step]), np.float32((4, 10, 18, 28, 40)[step])
    weaker = values * np.float32((0.97, 0.93, 0.87, 0.79, 0.70)[step])
    return picture_of(weaker + floor + most * shown, picture.mode)
