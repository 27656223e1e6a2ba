"""Simulated radiographs: chest, breast, foot, knee, hand and the jaws."""

from collections.abc import Sequence

import numpy as np

from mrb_lib.demo.canvas import WIDTH, Canvas, Point, outline


def chest(c: Canvas) -> None:
    """A frontal chest radiograph; the patient's right is on the left of the picture."""
    c.polygon(outline("chest.body"), 104, soft=4)
    c.polygon([(66, 200), (190, 200), (236, 262), (20, 262)], 150, soft=8)
    for flip in (False, True):
        c.polygon(_across(outline("chest.lung"), flip), 34, soft=2.5)
    c.polygon(outline("chest.mediastinum"), 150, soft=4)
    c.ellipse(c.vary(143, 3), 160, c.vary(41, 3), 42, 172, soft=10, angle=28)
    c.ellipse(148, 84, 12, 13, 160, soft=6, amount=0.7)
    c.stroke([(128, -4), (128, 40), (127, 86)], 9, -34, soft=2, add=True)
    back, front, vessels = [], [], []
    for flip in (False, True):
        c.stroke(_across([(120, 52), (96, 46), (66, 38), (34, 42)], flip), 7, 34, soft=1.2, add=True)
        for k, reach in enumerate((54, 40, 33, 30, 29, 29, 29, 30, 32)):
            y = 40 + 19 * k
            back.append(_across([(119, y), (98, y - 7), (70, y - 2), (reach + 8, y + 14), (reach, y + 30)], flip))
            front.append(_across([(reach, y + 30), (reach + 18, y + 46), (92, y + 54)], flip))
        for k in range(6):
            angle = np.deg2rad(-60 + 26 * k + c.vary(0, 6))
            tip = (108 - 46 * np.cos(angle), 116 + 52 * np.sin(angle))
            bend = (108 - 22 * np.cos(angle), 114 + 30 * np.sin(angle))
            vessels.append(_across([(108, 116), bend, tip], flip))
        c.ellipse(148 if flip else 108, 114, 8, 15, 46, soft=7, add=True)
    c.strokes(back, 5.5, 19, soft=0.9, add=True)
    c.strokes([*front[:7], *front[9:16]], 5, 8, soft=1.4, add=True)
    c.strokes(vessels, 2.4, 26, soft=1.0, add=True)
    for k in range(11):
        c.ellipse(128, 24 + 21 * k, 11, 7.5, 13, soft=5, add=True)
    c.letter("R", 12, 8)


def _across(points: Sequence[Point], flip: bool) -> list[Point]:
    return [(WIDTH - x, y) for x, y in points] if flip else list(points)


def mammogram(c: Canvas) -> None:
    """A mediolateral oblique mammogram, drawn as the left breast (chest wall on the left of the picture)."""
    c.outlines("mammogram", skin=(74, 2.5), gland=(92, 7))
    c.ellipse(177, 146, 5, 6, 150, soft=2)
    for _ in range(26):
        t, s = c.rng.random(2)
        x, y = 30 + 112 * t, 140 + (s - 0.5) * (150 - 96 * t)
        rx, ry, tone = c.vary(22, 10), c.vary(11, 5), c.vary(22, 12)
        c.ellipse(float(x), float(y), rx, ry, tone, soft=14, angle=c.vary(0, 50), add=True)
    c.polygon(outline("mammogram.muscle"), 168, soft=5, amount=0.85)
    c.letter(*(("R MLO", 8, 8) if c.frame.mirrored else ("L MLO", 214, 8)))


_PLACES = (0, 0.04, 0.12, 0.3, 0.5, 0.7, 0.88, 0.96, 1)
_FLARES = (0.62, 0.95, 0.92, 0.0, -0.06, 0.0, 0.92, 0.95, 0.62)


def _bone(c: Canvas, a: Point, b: Point, shaft: float, head: float, base: float, *, value: float = 150) -> None:
    """A long bone from its base a to its head b: bright cortex, darker marrow, flared ends."""
    start, end, places, flares = (np.array(one, dtype=float) for one in (a, b, _PLACES, _FLARES))
    length = float(np.hypot(*(end - start)))
    along = (end - start) / length
    wider = np.where(places < 0.5, base, head) - shaft
    half = shaft + wider * flares.clip(0) + flares.clip(max=0) * shaft
    for thin, tone, soft in ((0.0, value + 42, 0.6), (max(1.4, shaft * 0.34), value - 6, 1.3)):
        middle = start + along * (length * places.clip(thin / length, 1 - thin / length))[:, None]
        aside = np.array([-along[1], along[0]]) * np.maximum(0.6, half - thin)[:, None]
        c.polygon(np.concatenate([middle + aside, (middle - aside)[::-1]]), tone, soft=soft)


def _carpus(c: Canvas, bones: Sequence[tuple[float, float, float, float, float]], value: float) -> None:
    for x, y, rx, ry, angle in bones:
        c.ellipse(x, y, rx, ry, value + 32, soft=1.6, angle=angle)
        c.ellipse(x, y, rx - 2.2, ry - 2.2, value - 4, soft=2.4, angle=angle)


def foot(c: Canvas) -> None:
    """A dorsoplantar radiograph of the foot, drawn as the right foot (great toe on the left of the picture)."""
    c.polygon(outline("foot.flesh"), 62, soft=3)
    _carpus(c, [(106, 236, 26, 20, 0), (152, 240, 20, 24, 0)], 150)
    _carpus(c, [(103, 206, 20, 11, -8), (152, 200, 15, 17, 15)], 146)
    _carpus(c, [(88, 183, 10, 11, 0), (109, 180, 9, 11, 0), (127, 181, 9, 10, 8)], 146)
    bases, heads, tips = (outline(f"foot.{part}") for part in ("bases", "heads", "toes"))
    widths = ((6.4, 9.9, 9.5), (3.8, 6.3, 7.1), (3.7, 6.1, 6.9), (3.7, 5.9, 6.7), (4.0, 5.8, 7.1))
    for base, head, tip, (shaft, top, bottom) in zip(bases, heads, tips, widths, strict=True):
        _bone(c, base, head, shaft, top, bottom)
        great = base == bases[0]
        _phalanges(c, head, tip, (0.55, 0.95) if great else (0.46, 0.72, 0.95), shaft if great else 0.86 * shaft)
    c.ellipse(72, 106, 4, 5, 205, soft=2, amount=0.6)
    c.ellipse(89, 107, 4, 5, 205, soft=2, amount=0.6)
    c.letter("L" if c.frame.mirrored else "R", 12, 8)


def _phalanges(c: Canvas, head: Point, tip: Point, ends: Sequence[float], shaft: float) -> None:
    """The bones of a finger or toe, from the joint at `head` to `tip`."""
    start = 0.09
    for end in ends:
        a = (head[0] + (tip[0] - head[0]) * (start + 0.03), head[1] + (tip[1] - head[1]) * (start + 0.03))
        b = (head[0] + (tip[0] - head[0]) * (end - 0.03), head[1] + (tip[1] - head[1]) * (end - 0.03))
        _bone(c, a, b, shaft * 0.92, shaft * 1.35, shaft * 1.6, value=146)
        start, shaft = end, shaft * 0.84


def knee(c: Canvas) -> None:
    """A frontal radiograph of the knee, drawn as the right knee (fibula on the left of the picture)."""
    c.outlines("knee", flesh=(58, 4), femur=(192, 0.8), femoral_marrow=(146, 3))
    c.outlines("knee", tibia=(196, 0.8), tibial_marrow=(146, 3), fibula=(182, 0.8), fibular_marrow=(140, 1.5))
    c.ellipse(c.vary(131, 2), c.vary(84, 3), 24, 26, 20, soft=4, add=True)
    c.ellipse(130, 84, 21, 23, -7, soft=3, add=True)
    c.letter("L" if c.frame.mirrored else "R", 12, 8)


def hand(c: Canvas) -> None:
    """A frontal radiograph of the hand and wrist, drawn as the right hand seen palm down (thumb on the left)."""
    bases, heads, tips = (outline(f"hand.{part}") for part in ("bases", "heads", "tips"))
    c.polygon(outline("hand.palm"), 58, soft=3)
    flesh = [
        [(head[0], head[1] + 24), head, (tip[0], tip[1] + 4)] for head, tip in zip(heads[1:], tips[1:], strict=True)
    ]
    c.strokes([[(104, 180), (78, 136), (42, 86)], *flesh], 21, 58, soft=2)
    _bone(c, (114, 268), (114, 206), 9.5, 16, 10)
    _bone(c, (146, 268), (147, 210), 5.6, 8, 7)
    _carpus(c, [(104, 192, 10, 7, -35), (121, 195, 9, 7, 0), (137, 193, 8, 7, 10), (143, 186, 5, 5, 0)], 146)
    _carpus(c, [(106, 178, 8, 6.5, 20), (113, 174, 6, 6, 0), (124, 178, 7.5, 10, 0), (137, 179, 7, 8, 0)], 146)
    for base, head, tip, shaft in zip(bases, heads, tips, (4.6, 4.2, 4.3, 3.8, 3.6), strict=True):
        _bone(c, base, head, shaft, shaft * 1.7, shaft * 1.7)
        _phalanges(c, head, tip, (0.55, 0.95) if base == bases[0] else (0.46, 0.74, 0.96), shaft)
    c.letter("L" if c.frame.mirrored else "R", 12, 8)


def panoramic(c: Canvas) -> None:
    """A panoramic dental radiograph; the patient's right is on the left of the picture."""
    c.pixels += np.float32(46) + 18 * np.cos(np.linspace(-1.4, 1.4, WIDTH, dtype=np.float32))[None, :]
    for x in (88, 168):
        c.ellipse(x, 62, 34, 24, -16, soft=8, add=True)
        c.stroke(_across([(66, 74), (88, 86), (108, 82)], x > 128), 2, 40, soft=1.2, add=True)
    c.ellipse(128, 60, 12, 26, -14, soft=6, add=True)
    c.stroke(outline("jaws.palate"), 15, 48, soft=4, add=True)
    jaw = outline("jaws.mandible")
    c.polygon(jaw, 122, soft=2)
    c.stroke(outline("jaws.lower_border"), 6, 50, soft=1.6, add=True)
    for flip in (False, True):
        c.stroke(_across([(38, 128), (58, 168), (92, 184), (110, 184)], flip), 3, -26, soft=1.2, add=True)
        c.ellipse(234 if flip else 22, 72, 10, 9, 150, soft=4, amount=0.7)
    canals = [line for k in range(-7, 8) if k for line in _tooth_pair(c, k)]
    c.strokes(canals, 1.6, -38, soft=0.7, add=True)
    c.letter("R", 8, 8)


def _tooth_pair(c: Canvas, k: int) -> list[list[Point]]:
    """Draw the upper and the lower tooth at the k-th place from the midline; returns their root canals."""
    canals: list[list[Point]] = []
    n, sign = abs(k), 1 if k > 0 else -1
    half = (0, 4.6, 4.6, 5.4, 5.4, 5.6, 7.6, 7.6)[n]
    x = 128 + sign * (0, 6, 16, 27, 39, 51, 66, 82)[n]
    middle = 128 - 0.0032 * (x - 128) ** 2 + c.vary(0, 0.6)
    for up in (-1, 1):
        wide, root = half * (1.08 if up < 0 else 0.94), (30 if n == 3 else 26) + c.vary(0, 1.5)
        lean = sign * (1.5 if n < 4 else 3.0) * (0.5 if up < 0 else 1)
        crown, neck, end = middle + up * 3, middle + up * 15, middle + up * (14 + root)
        apart = 0.5 * wide if n >= 6 else 0.0  # molars have two roots
        for aside in {-apart, apart}:
            tip = (x + aside + lean, end)
            c.polygon([(x + aside - wide / 2, neck), (x + aside + wide / 2, neck), tip], 186, soft=0.7)
            canals.append([(x + aside, neck), (tip[0], end - up * 4)])
        edges = [(x - wide, crown + up * 5), (x - wide * 0.75, crown), (x + wide * 0.75, crown)]
        c.polygon([*edges, (x + wide, crown + up * 5), (x + wide * 0.75, neck), (x - wide * 0.75, neck)], 224, soft=0.8)
    return canals


def finish_radiograph(c: Canvas) -> None:
    """Film grain and a slow unevenness of exposure."""
    c.texture(24.0, 0.05)
    c.pixels += np.clip(c.pixels / 20 - 0.6, 0, 1) * (np.float32(2.0) * c.noise(0.7))
