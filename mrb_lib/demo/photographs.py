"""Simulated colour pictures: the fundus of the eye, the open mouth, and endoscopy of stomach and colon."""

from functools import lru_cache

import numpy as np

from mrb_lib.demo.canvas import FIELD, WIDTH, Canvas, Point, Raster, outline


@lru_cache(maxsize=1)
def _from_centre() -> Raster:
    """The distance of each pixel from the centre, in pixels, with a last axis for the colours."""
    y, x = np.mgrid[0:FIELD, 0:WIDTH].astype(np.float32)
    return np.asarray(np.hypot(x - WIDTH / 2, y - FIELD / 2), dtype=np.float32)[..., None]


def fundus(c: Canvas) -> None:
    """A fundus photograph, drawn as the right eye (optic disc on the right of the picture)."""
    c.pixels[...] = (196, 92, 44)
    c.pixels *= 1.06 - 0.34 * (_from_centre() / 118) ** 2
    c.ellipse(108, 124, 34, 30, (146, 54, 24), soft=40, amount=0.75)
    c.ellipse(108, 124, 5, 5, (112, 34, 16), soft=8, amount=0.8)
    disc = (186.0, 118.0)
    c.ellipse(*disc, 20, 22, (226, 150, 88), soft=8, amount=0.8)
    c.ellipse(*disc, 17, 19, (246, 206, 140), soft=4)
    for up in (-1, 1):
        heights = (c.vary(4, 4), 46, c.vary(72, 5), 76, c.vary(58, 8))
        arcade = [(x, 122 + up * height) for x, height in zip((disc[0], 168, 128, 80, 40), heights, strict=True)]
        nasal = [disc, (200, 118 + up * 34), (222, 120 + up * c.vary(70, 10))]
        for path, width in ((arcade, 3.4), (nasal, 2.6)):
            _vessel(c, path, width, (126, 24, 22))
            nudge = [(x + 5, y + up * -5) for x, y in path]
            _vessel(c, nudge, width * 0.66, (178, 44, 32))
    c.ellipse(*disc, 8, 9, (255, 236, 190), soft=7)
    c.letter("OS" if c.frame.mirrored else "OD", 8, 8)


def _vessel(c: Canvas, path: list[Point], width: float, value: tuple[float, float, float]) -> None:
    half = max(2, len(path) // 2 + 1)
    c.stroke(path[:half], width, value, soft=0.6, amount=0.8)
    c.stroke(path[half - 2 :], width * 0.7, value, soft=0.6, amount=0.75)


def finish_fundus(c: Canvas) -> None:
    c.texture(9.0, 0.025)
    c.pixels *= np.clip((116 - _from_centre()) / 3, 0, 1)


def stomach(c: Canvas) -> None:
    """Gastroscopy: rugal folds running into the lumen."""
    _mucosa(c, (214, 116, 92))
    folds = []
    for k in range(9):
        t = 2 * np.pi * (k + c.vary(0.5, 0.2)) / 9
        wobble = c.vary(0, 0.22)
        turned = [(r, t + wobble * (r - 30) / 90) for r in (26, 52, 82, 124)]
        folds.append([(float(128 + r * np.cos(angle)), float(122 + r * np.sin(angle))) for r, angle in turned])
    c.strokes(folds, 15, (236, 148, 120), soft=5, amount=0.6)
    _lumen(c, 24, 20)


def colon(c: Canvas) -> None:
    """Colonoscopy: triangular haustral folds, one behind the other."""
    _mucosa(c, (222, 132, 104))
    turn = c.vary(0, 0.5)
    for radius, value in ((104, (206, 112, 90)), (82, (196, 98, 80)), (60, (176, 82, 68)), (40, (140, 58, 50))):
        t = np.linspace(0, 2 * np.pi, 18, endpoint=False)
        r = radius * (1 + 0.11 * np.cos(3 * (t + turn)) + 0.03 * np.cos(5 * t + c.vary(0, 3)))
        fold = [(float(128 + a * np.cos(b)), float(122 + 0.94 * a * np.sin(b))) for a, b in zip(r, t, strict=True)]
        c.stroke([*fold, fold[0]], 5, (240, 166, 138), soft=2.4, amount=0.7)
        c.polygon(fold, value, soft=3, amount=0.8)
    _lumen(c, 22, 19)


def _mucosa(c: Canvas, value: tuple[float, float, float]) -> None:
    c.pixels[...] = value
    c.pixels *= 0.82 + 0.34 * np.clip(_from_centre() / 118, 0, 1)
    c.texture(12.0, 0.05)


def _lumen(c: Canvas, rx: float, ry: float) -> None:
    c.ellipse(128, 122, rx * 1.7, ry * 1.7, (98, 34, 30), soft=26, amount=0.75)
    c.ellipse(128, 122, rx, ry, (28, 8, 10), soft=12)


def finish_endoscopy(c: Canvas) -> None:
    """Wet highlights and the round field of the endoscope."""
    for _ in range(7):
        t, r = 2 * np.pi * c.rng.random(), c.vary(92, 10)
        x, y, rx, ry = float(128 + r * np.cos(t)), float(122 + r * np.sin(t)), c.vary(2.6, 1), c.vary(1.4, 0.5)
        c.ellipse(x, y, rx, ry, (255, 244, 236), soft=1.6, angle=c.vary(0, 90), amount=0.8)
    c.pixels *= np.clip((118 - _from_centre()) / 2.5, 0, 1)


def mouth(c: Canvas) -> None:
    """The open mouth with the tongue put out; the patient's right is on the left of the picture."""
    c.pixels[...] = (214, 166, 142)
    c.rings(128, 122, (118, 112, (176, 82, 78), 10), (104, 98, (202, 106, 100), 6))
    c.ellipse(128, 118, 92, 84, (70, 20, 24), soft=8)
    c.polygon(outline("mouth.gum"), (206, 110, 112), soft=3)
    gaps = []
    for k in range(-5, 6):
        n = abs(k)
        x, half = 128 + k * 14.4, (7.6, 7, 7, 7, 7, 6)[n]
        y = 50 + 0.62 * n * n
        edge = [(x + half * 0.9, y + 22 - n), (x, y + 25 - n), (x - half * 0.9, y + 22 - n)]
        c.polygon([(x - half, y), (x + half, y), *edge], (240, 232, 212), soft=0.9)
        gaps.append([(x + half, y + 2), (x + half * 0.9, y + 21 - n)])
    c.strokes(gaps, 0.9, (150, 120, 104), soft=0.6, amount=0.6)
    c.ellipse(128, 104, 7, 11, (164, 62, 66), soft=4)
    c.outlines("mouth", tongue=((204, 104, 106), 3), tongue_surface=((218, 126, 124), 9))
    c.stroke([(128, 112), (c.vary(128, 2), 160), (128, 200)], 3, (176, 82, 88), soft=2, amount=0.7)
    c.letter("R", 8, 8)


def finish_photograph(c: Canvas) -> None:
    c.texture(12.0, 0.02)
