"""Simulated echo pictures: abdomen, pelvis and heart (sector), breast (linear), and the retina by OCT."""

from functools import lru_cache

import numpy as np

from mrb_lib.demo.canvas import FIELD, WIDTH, Canvas, Point, Raster, outline


@lru_cache(maxsize=4)
def _sector(apex: float, half_angle: float, inner: float, outer: float) -> Raster:
    """The fan that a curved or a phased transducer sees, as a mask."""
    y, x = np.mgrid[0:FIELD, 0:WIDTH].astype(np.float32)
    dx, dy = x - WIDTH / 2, y - apex
    radius, angle = np.hypot(dx, dy), np.rad2deg(np.arctan2(dx, dy))
    side = np.clip((half_angle - np.abs(angle)) * radius / 60, 0, 1)
    return np.asarray(side * np.clip(radius - inner, 0, 1) * np.clip(outer - radius, 0, 1), dtype=np.float32)


def _speckle(c: Canvas, fan: Raster, strength: float = 0.15) -> None:
    c.pixels *= np.linspace(1.12, 0.72, FIELD, dtype=np.float32)[:, None]
    c.texture(9.0, 0.10)
    c.texture(0.8, strength)
    c.pixels *= fan
    np.maximum(c.pixels, 0, out=c.pixels)


def echo(c: Canvas) -> None:
    """An apical four-chamber view: left ventricle and atrium on the right of the picture."""
    c.pixels[...] = 46
    c.polygon(outline("echo.heart"), 128, soft=3)
    squeeze = c.vary(0, 2.5)
    c.polygon([(x + (squeeze if x > 160 else 0), y) for x, y in outline("echo.left_ventricle")], 13, soft=1.6)
    c.polygon(outline("echo.right_ventricle"), 13, soft=1.6)
    c.ellipse(161, 174, 24, 27, 13, soft=3)
    c.ellipse(95, 174, 23, 25, 13, soft=3)
    for hinge, tip in ((140, 156), (184, 168), (119, 104), (76, 90)):
        c.stroke([(hinge, 142), ((hinge + tip) / 2, 144), (tip, 152)], 2.2, 190, soft=0.7)
    c.stroke([(129, 40), (129, 90), (130, 138)], 3, 172, soft=1.5, amount=0.7)
    c.stroke([(130, 146), (128, 206)], 2.4, 178, soft=0.9)
    c.stroke([(60, 120), (56, 160), (70, 210)], 4, 190, soft=1.5, amount=0.6)
    c.stroke([(196, 100), (202, 150), (188, 208)], 4, 190, soft=1.5, amount=0.6)
    c.letter("LV", 234, 8)


def finish_echo(c: Canvas) -> None:
    _speckle(c, _sector(4.0, 40.0, 10.0, 232.0), 0.17)


def finish_sector(c: Canvas) -> None:
    _speckle(c, _sector(-46.0, 34.0, 60.0, 280.0))


def finish_linear(c: Canvas) -> None:
    panel = np.zeros((FIELD, WIDTH), dtype=np.float32)
    panel[6:-4, 14:-14] = 1
    _speckle(c, panel)


def _layers(c: Canvas, lines: list[tuple[list[Point], float, float]]) -> None:
    for points, width, value in lines:
        c.stroke(points, width, value, soft=0.9, amount=0.8)


def liver(c: Canvas) -> None:
    """An oblique view of the right upper abdomen: liver, gallbladder, kidney."""
    c.pixels[...] = 96
    c.polygon(outline("ultrasound.liver"), 112, soft=3)
    _layers(c, [([(70, 30), (128, 24), (186, 30)], 3, 176), ([(20, 176), (90, 206), (150, 204), (220, 168)], 4, 210)])
    vessels = ((80, 92, 17, 4, 30), (104, 136, 13, 4, -25), (70, 140, 9, 3, 50), (120, 82, 10, 3, -40))
    for x, y, rx, ry, angle in vessels:
        c.ellipse(c.vary(x, 3), c.vary(y, 3), rx, ry, 30, soft=2.5, angle=angle)
        c.ellipse(x, y - 5, rx, 1.6, 150, soft=2, angle=angle, amount=0.5)
    c.rings(174, 106, (37, 24, 160, 3), (34, 21, 10, 2.5), angle=-24)
    c.polygon([(168, 132), (206, 118), (236, 214), (184, 226)], 26, soft=9, add=True)


def uterus(c: Canvas) -> None:
    """A transverse transabdominal view of the female pelvis; the patient's right is on the left."""
    c.pixels[...] = 70
    _layers(c, [([(70, 24), (128, 18), (186, 24)], 4, 170), ([(64, 36), (128, 30), (192, 36)], 2, 140)])
    c.outlines("ultrasound", bladder_wall=(150, 3), bladder=(8, 2.4))
    c.rings(128, 136, (52, 40, 156, 3), (48, 36, 108, 3), (22, 5, 180, 4))
    for flip in (-1, 1):
        c.rings(128 + flip * 78, 138, (25, 21, 140, 3), (22, 18, 80, 3), angle=flip * 12)
        for _ in range(3):
            c.ellipse(128 + flip * c.vary(80, 12), c.vary(138, 9), 2.4, 2.2, 26, soft=1.5)
    c.stroke([(30, 204), (90, 190), (166, 190), (226, 204)], 5, 160, soft=2, amount=0.7)
    c.letter("R", 8, 8)


def breast(c: Canvas) -> None:
    """A linear-probe view of the breast: skin, fat, gland, muscle."""
    c.pixels[...] = 92
    c.pixels[:22] = 176
    for row, height, value in ((22, 46, 66), (68, 76, 124), (144, 34, 72)):
        wave = 5 * np.sin(np.linspace(0, c.vary(6, 2), 9) + c.vary(3, 3))
        top = [(32 * k, row + float(wave[k])) for k in range(9)]
        c.polygon([*top, (256, row + height + 30), (0, row + height + 30)], value, soft=2, curved=False)
    strands = []
    for _ in range(9):
        c.ellipse(c.vary(128, 118), c.vary(44, 14), c.vary(26, 8), c.vary(9, 3), 58, soft=4, angle=c.vary(0, 12))
        x, y = c.vary(128, 118), c.vary(106, 30)
        strands.append([(x - 30, y), (x, y + c.vary(0, 7)), (x + 30, y + c.vary(0, 6))])
    c.strokes(strands, 1.8, 168, soft=1, amount=0.6)
    c.stroke([(0, 178), (80, 172), (176, 174), (256, 170)], 3, 196, soft=1)
    fibres: list[list[Point]] = [[(0, y + 3), (90, y), (170, y + 2), (256, y)] for y in range(186, 228, 7)]
    c.strokes(fibres, 1.4, 118, soft=0.9, amount=0.7)
    c.letter("L" if c.frame.mirrored else "R", 2, 8)


def retina(c: Canvas) -> None:
    """An OCT section through the fovea."""
    c.pixels[...] = 14
    xs = np.linspace(-10, 266, 24)
    pit = np.exp(-(((xs - 128) / 34) ** 2))
    bow = 0.0009 * (xs - 128) ** 2

    def line(offset: float, dip: float) -> list[Point]:
        return [(float(x), float(offset + dip * p - b)) for x, p, b in zip(xs, pit, bow, strict=True)]

    def band(top: tuple[float, float], bottom: tuple[float, float], value: float) -> None:
        c.polygon([*line(*top), *line(*bottom)[::-1]], value, soft=1, curved=False)

    band((78, 44), (92, 34), 186)
    band((92, 34), (112, 20), 118)
    band((112, 20), (122, 14), 66)
    band((122, 14), (132, 8), 124)
    band((132, 8), (158, -2), 58)
    c.stroke(line(158, -2), 2.2, 150, soft=0.7)
    band((160, -2), (166, -2), 84)
    c.stroke(line(169, 0), 4.4, 228, soft=0.9)
    band((173, 0), (214, 0), 116)
    for _ in range(22):
        c.ellipse(c.vary(128, 130), c.vary(194, 14), c.vary(8, 4), c.vary(4, 2), c.vary(80, 16), soft=3, amount=0.7)
    band((214, 0), (236, 0), 52)
    c.letter("OS" if c.frame.mirrored else "OD", 8, 8)


def finish_oct(c: Canvas) -> None:
    """Speckle and shot noise of the OCT."""
    c.texture(0.7, 0.12)
    c.pixels += np.float32(3) * c.noise(0.7)
    np.maximum(c.pixels, 0, out=c.pixels)
