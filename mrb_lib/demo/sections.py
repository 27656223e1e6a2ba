"""Simulated cross-sections: CT and MRI of brain, lung, abdomen, pelvis and heart."""

from collections.abc import Sequence

import numpy as np

from mrb_lib.demo.canvas import Canvas, Point, outline

_TAU = 2 * np.pi


def _wavy(
    c: Canvas, x: float, y: float, rx: float, ry: float, amplitude: float, waves: int, points: int = 40
) -> list[Point]:
    """An ellipse whose outline waves, as a cut through folds does."""
    t = np.linspace(0, _TAU, points, endpoint=False)
    phase = c.rng.random(2) * _TAU
    r = 1 + amplitude * (np.cos(waves * t + phase[0]) + 0.5 * np.cos((waves + 3) * t + phase[1]))
    return [(float(x + rx * a * np.cos(b)), float(y + ry * a * np.sin(b))) for a, b in zip(r, t, strict=True)]


def brain_mri(c: Canvas) -> None:
    """An axial FLAIR image of the head at the level of the lateral ventricles."""
    c.rings(128, 122, (99, 117, 170, 1.5), (94, 112, 22, 1.5), (87, 105, 0, 1.5), (85, 103, 26, 2))
    c.polygon(_wavy(c, 128, 122, 82, 100, 0.012, 17, 80), 132, soft=1)
    c.polygon(_wavy(c, 128, 122, 66, 83, 0.035, 11, 66), 96, soft=3)
    _sulci(c, 40, length=11, width=1.5, value=44)
    _midline(c, 52)
    _ventricles(c, 24)
    for flip in (-1, 1):
        c.ellipse(128 + flip * 27, 124, 9, 17, 122, soft=4, angle=flip * 14)
        c.ellipse(128 + flip * 17, 140, 8, 12, 124, soft=4, angle=flip * -20)
    c.letter("R", 8, 8)


def brain_ct(c: Canvas) -> None:
    """An axial CT of the head at the level of the lateral ventricles, brain window."""
    c.rings(128, 122, (99, 117, 84, 1.5), (94, 112, 238, 1.5), (87, 105, 0, 1.5), (84, 102, 66, 2))
    c.polygon(_wavy(c, 128, 122, 82, 100, 0.01, 15, 72), 118, soft=1.2)
    c.polygon(_wavy(c, 128, 122, 66, 84, 0.03, 10, 60), 104, soft=4)
    _sulci(c, 30, length=8, width=1.3, value=72)
    _midline(c, 132)
    _ventricles(c, 48)
    for flip in (-1, 1):
        c.ellipse(128 + flip * 26, 124, 9, 17, 118, soft=4, angle=flip * 14)
        c.ellipse(128 + flip * 24, 170, 3, 2.4, 230, soft=1.5)
    c.letter("R", 8, 8)


def _sulci(c: Canvas, n: int, *, length: float, width: float, value: float) -> None:
    lines = []
    for k in range(n):
        t = _TAU * (k + c.vary(0.5, 0.25)) / n
        if abs(np.cos(t)) < 0.07:
            continue
        reach = length * c.vary(1, 0.45) / 90
        bend = c.vary(0, 0.06)
        steps = ((0, -0.03), (1, reach / 2), (0, reach), (1.5, 1.35 * reach))
        lines.append(
            [
                (float(128 + 81 * (1 - r) * np.cos(t + bend * s)), float(122 + 99 * (1 - r) * np.sin(t + bend * s)))
                for s, r in steps
            ]
        )
    c.strokes(lines, width, value, soft=0.8, amount=0.7)


def _midline(c: Canvas, value: float) -> None:
    c.stroke([(128, 22), (c.vary(128, 0.8), 60), (128, 96)], 1.8, value, soft=0.5)
    c.stroke([(128, 168), (c.vary(128, 0.8), 195), (128, 222)], 1.8, value, soft=0.5)


def _ventricles(c: Canvas, value: float) -> None:
    wide = c.vary(1.0, 0.15)
    for flip in (-1, 1):
        c.polygon([(128 + flip * x * wide, y) for x, y in outline("brain.ventricle")], value, soft=1)
    c.ellipse(128, 138, 2.2, 12, value, soft=1.5)


def lung_ct(c: Canvas) -> None:
    """An axial CT of the chest, lung window; the patient's right is on the left of the picture."""
    _trunk(c, ry=88, fat=128, muscle=176)
    for flip in (-1, 1):
        lung = list(outline("thorax.lung"))
        if flip > 0:
            lung[-2:] = [(40, 142), (32, 108)]
        c.polygon([(128 + flip * x, y) for x, y in lung], 50, soft=1.4)
    c.ellipse(c.vary(142, 2), 122, 31, 31, 200, soft=3, angle=30)
    c.polygon(outline("thorax.mediastinum"), 196, soft=2)
    c.ellipse(151, 168, 11, 11, 206, soft=1.5)
    _vertebra(c, 128, 192)
    for flip in (-1, 1):
        c.ellipse(128 + flip * 20, 132, 5, 6.5, 24, soft=2)
        _vessel_tree(c, flip)
    _ribs(c, 104, 79, [28 + 30 * k for k in range(12) if k not in (2, 8)], 11)
    c.letter("R", 8, 8)


def _vessel_tree(c: Canvas, flip: int) -> None:
    trunks, twigs = [], []
    for k in range(9):
        t = np.deg2rad(-80 + 20 * k + c.vary(0, 6))
        x0, y0 = 128 + flip * 26, 122 + c.vary(0, 8)
        bend = c.vary(0, 0.25)
        path = [
            (float(x0 + flip * r * np.cos(t + bend * r / 60)), float(y0 + 1.02 * r * np.sin(t + bend * r / 60)))
            for r in (4, 22, 40, 54)
        ]
        fork = (path[2][0] + flip * c.vary(8, 4), path[2][1] + c.vary(0, 12))
        trunks.append(path[:3])
        twigs += [path[2:], [path[1], fork]]
    c.strokes(trunks, 2.4, 122, soft=0.7)
    c.strokes(twigs, 1.3, 104, soft=0.6)


def _trunk(c: Canvas, *, ry: float, fat: float, muscle: float) -> None:
    c.rings(128, 122, (120, ry + 6, fat + 26, 1.5), (118, ry + 4, fat, 1.5), (109, ry - 4, muscle, 2))


def _vertebra(c: Canvas, x: float, y: float) -> None:
    arch = [(34, 2), (12, 16), (4, 30), (-4, 30), (-12, 16), (-34, 2), (-12, 6), (0, 4), (12, 6)]
    c.polygon([(x + dx, y + dy) for dx, dy in arch], 226, soft=1)
    c.rings(x, y - 6, (18, 14, 238, 1.5), (14, 10, 205, 3))
    c.ellipse(x, y + 12, 7, 6, 120, soft=1.5)


def abdomen_ct(c: Canvas) -> None:
    """An axial CT of the upper abdomen, soft-tissue window; the liver is on the left of the picture."""
    _trunk(c, ry=90, fat=52, muscle=118)
    c.ellipse(128, 120, 101, 79, 58, soft=2)
    c.polygon(outline("abdomen.liver"), 156, soft=1.2)
    for _ in range(7):
        x, y = c.vary(70, 26), c.vary(108, 28)
        c.ellipse(x, y, c.vary(3, 1), c.vary(2, 0.8), 172, soft=1.5, angle=c.vary(0, 80))
    c.outlines("abdomen", spleen=(150, 1.2), stomach=(108, 1.5))
    c.ellipse(c.vary(176, 3), 74, 18, 9, 8, soft=2)
    c.ellipse(138, 132, 26, 8, 124, soft=3, angle=-14)
    for flip in (-1, 1):
        x = 128 + flip * 54
        c.ellipse(x, 164, 17, 23, 186, soft=1.5, angle=flip * 18)
        c.ellipse(x - flip * 9, 164, 8, 9, 74, soft=3)
    _vertebra(c, 128, 176)
    for flip in (-1, 1):
        c.ellipse(128 + flip * 28, 184, 11, 13, 122, soft=2)
        c.ellipse(128 + flip * 40, 206, 22, 9, 122, soft=3, angle=flip * -14)
    c.ellipse(138, 150, 9, 9, 196, soft=1.5)
    c.ellipse(112, 150, 9, 7, 168, soft=1.5)
    for k in range(5):
        x, y = 166 + 14 * (k % 3) + c.vary(0, 2), 122 + 13 * (k // 3) + c.vary(0, 2)
        c.rings(x, y, (7, 6, 128, 1.5), (3, 2.6, 76, 2))
    _ribs(c, 104, 82, (155, 180, 205, 25, 0, -25, 128, 52), 8)
    c.letter("R", 8, 8)


def _ribs(c: Canvas, rx: float, ry: float, places: Sequence[float], length: float) -> None:
    for degrees in places:
        t = np.deg2rad(degrees + c.vary(0, 3))
        slope = float(np.rad2deg(np.arctan2(ry * np.cos(t), -rx * np.sin(t))))
        c.ellipse(float(128 + rx * np.cos(t)), float(122 + ry * np.sin(t)), length, 3.3, 238, angle=slope)


def pelvis_mri(c: Canvas) -> None:
    """An axial T2-weighted image of the female pelvis; the patient's right is on the left of the picture."""
    c.ellipse(128, 122, 122, 94, 176, soft=1.5)
    c.ellipse(128, 124, 110, 80, 150, soft=4)
    for flip in (-1, 1):
        x = 128 + flip * 82
        c.ellipse(x + flip * 2, 170, 34, 32, 52, soft=4, angle=flip * 20)
        c.rings(x, 118, (21, 23, 34, 1.5), (18.5, 20.5, 134, 2))
        c.polygon([(128 + flip * a, b) for a, b in outline("pelvis.acetabulum")], 96, soft=1.5)
        c.ellipse(128 + flip * 62, 66, 22, 12, 58, soft=3, angle=flip * -16)
        c.ellipse(128 + flip * 38, 128, 12, 10, 118, soft=3)
        c.ellipse(128 + flip * 41, 127, 4, 3.4, 176, soft=2)
    c.rings(128, 76, (38, 21, 60, 1.5), (35, 18.5, 232, 1.5))
    c.rings(128, 124, (31, 24, 92, 1.8), (14, 9, 66, 2.5), (10, 5, 196, 2.5))
    c.rings(128, 170, (16, 14, 78, 1.5), (10, 8, 40, 2))
    c.polygon(outline("pelvis.sacrum"), 128, soft=1.5)
    c.letter("R", 8, 8)


def cardiac_mri(c: Canvas) -> None:
    """A short-axis late-enhancement image of the heart; the right ventricle is on the left of the picture."""
    c.rings(128, 122, (122, 104, 148, 2), (112, 94, 84, 3))
    c.outlines("heart", right_lung=(16, 3), left_lung=(16, 3), liver=(104, 3))
    c.outlines("heart", right_ventricle_wall=(54, 2), right_ventricle=(178, 2))
    c.rings(152, 122, (51, 53, 46, 2), (27, 28, 190, 2))
    for degrees in (40, 215):
        t = np.deg2rad(degrees + c.vary(0, 8))
        c.ellipse(float(152 + 20 * np.cos(t)), float(122 + 20 * np.sin(t)), 5.5, 5, 66, soft=2.5)
    c.ellipse(128, 206, 16, 12, 150, soft=2)
    c.ellipse(154, 204, 9, 9, 184, soft=2)
    c.letter("R", 8, 8)


def finish_section(c: Canvas) -> None:
    """Reconstruction noise, stronger inside the body than in the air around it."""
    inside = np.clip(c.pixels / 40, 0, 1)
    c.texture(12.0, 0.03)
    c.pixels += inside * (np.float32(2.4) * c.noise(0.7))
