"""The drawing surface of the simulated pictures: soft shapes on a small float array.

Drawing functions use canonical coordinates (x to the right, y down, 256 x 244
points); the canvas zooms, shifts and mirrors them, so that one drawing serves both
sides of the body and no two pictures coincide.
"""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter, ImageFont
from scipy import ndimage

from mrb_lib.benchmarks.images.pictures import png

WIDTH = 256
FIELD = 244
MARGIN = 12
MARK = "SIMULATED"
_TILE = 512
_STEPS = np.linspace(0, 1, 6, endpoint=False)
_SPLINE = np.stack([_STEPS**k for k in range(4)], axis=1) @ (
    np.array([[0, 2, 0, 0], [-1, 0, 1, 0], [2, -5, 4, -1], [-1, 3, -3, 1]]) / 2
)

Raster = NDArray[np.float32]
Outline = NDArray[np.float64]
Point = tuple[float, float]
Value = float | tuple[float, float, float]


@dataclass(frozen=True)
class Frame:
    """The way canonical points land on the picture: mirrored, zoomed about the centre, then shifted."""

    mirrored: bool = False
    zoom: float = 1.0
    dx: float = 0.0
    dy: float = 0.0

    def to_pixels(self, x: float, y: float) -> Point:
        """The pixel of a canonical point."""
        if self.mirrored:
            x = WIDTH - x
        return (x - WIDTH / 2) * self.zoom + WIDTH / 2 + self.dx, (y - FIELD / 2) * self.zoom + FIELD / 2 + self.dy


@lru_cache(maxsize=16)
def _tile(blur: float) -> Raster:
    """A tile of smooth noise, mean 0 and standard deviation 1, the same in every process."""
    noise = np.random.Generator(np.random.Philox(key=20508)).standard_normal((_TILE, _TILE), dtype=np.float32)
    noise = ndimage.gaussian_filter(noise, blur, mode="wrap")
    return np.asarray(noise / noise.std(), dtype=np.float32)


@lru_cache(maxsize=64)
def _lettering(text: str) -> NDArray[np.bool_]:
    """The pixels of a short text in Pillow's built-in bitmap font, which needs no font file."""
    font = ImageFont.load_default_imagefont()
    left, top, right, bottom = (int(v) for v in font.getbbox(text))
    image = Image.new("L", (right - left, bottom - top))
    ImageDraw.Draw(image).text((0, 0), text, fill=255, font=font)
    letters = np.asarray(image) > 127
    rows, columns = np.flatnonzero(letters.any(axis=1)), np.flatnonzero(letters.any(axis=0))
    return letters[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]


@lru_cache(maxsize=3)
def toml_data(name: str) -> dict[str, Any]:
    """Return the content of a TOML file beside this one: outlines, catalogue or phrases."""
    return tomllib.loads(files("mrb_lib.demo").joinpath(f"{name}.toml").read_text(encoding="utf-8"))


@lru_cache(maxsize=128)
def outline(name: str) -> tuple[Point, ...]:
    """The points of an outline of `outlines.toml`, named "group.part"."""
    group, shape = name.split(".")
    pairs = (point.split(",") for point in toml_data("outlines")[group][shape].split())
    return tuple((float(x), float(y)) for x, y in pairs)


def smooth(points: Sequence[Point] | Outline, *, closed: bool = True) -> Outline:
    """A Catmull-Rom curve through the points, with shape (number of points, 2)."""
    p = np.asarray(points, dtype=float)
    p = np.concatenate([p[-1:], p, p[:2]] if closed else [2 * p[:1] - p[1:2], p, 2 * p[-1:] - p[-2:-1]])
    n = len(p) - 3
    knots = np.concatenate([p[:-3], p[1:-2], p[2:-1], p[3:]]).reshape(4, 2 * n)
    curve = (_SPLINE @ knots).reshape(-1, n, 2).transpose(1, 0, 2).reshape(-1, 2)
    return curve if closed else np.concatenate([curve, p[-2:-1]])


class Paint(TypedDict, total=False):
    """Options of laying a value on: `soft` edges in pixels, `amount` (1 unless given), added or not, and an `angle`."""

    soft: float
    amount: float
    add: bool
    angle: float


class Canvas:
    """A picture being drawn.

    Parameters
    ----------
    rng : the source of texture and grain
    frame : where canonical points land
    colour : RGB if true, grey otherwise
    """

    def __init__(self, rng: np.random.Generator, frame: Frame, *, colour: bool = False) -> None:
        self.rng, self.frame, self.colour = rng, frame, colour
        self.pixels: Raster = np.zeros((FIELD, WIDTH, 3) if colour else (FIELD, WIDTH), dtype=np.float32)
        (x, y), zoom = frame.to_pixels(0.0, 0.0), frame.zoom
        self._offset = np.array([x, y])
        self._scale = np.array([-zoom if frame.mirrored else zoom, zoom])
        self.labels: list[tuple[str, int, int]] = []

    def vary(self, value: float, spread: float) -> float:
        """A value drawn evenly from `value` plus or minus `spread`."""
        return float(value + spread * (2 * self.rng.random() - 1))

    def ellipse(self, x: float, y: float, rx: float, ry: float, value: Value, **paint: Unpack[Paint]) -> None:
        """Fill an ellipse; `angle` in degrees clockwise, `soft` the width of its edge in pixels."""
        t, turn = np.linspace(0, 2 * np.pi, 40), np.deg2rad(paint.get("angle", 0.0))
        along, across = rx * np.cos(t), ry * np.sin(t)
        points = [x + along * np.cos(turn) - across * np.sin(turn), y + along * np.sin(turn) + across * np.cos(turn)]
        paint["soft"] = paint.get("soft", 1.5) / 2.5
        self.polygon(np.stack(points, axis=1), value, curved=False, **paint)

    def rings(self, x: float, y: float, *rings: tuple[float, float, Value, float], angle: float = 0.0) -> None:
        """Fill ellipses about one centre, such as a wall and its lumen: the two radii, value and softness of each."""
        for rx, ry, value, soft in rings:
            self.ellipse(x, y, rx, ry, value, soft=soft, angle=angle)

    def outlines(self, group: str, **parts: tuple[Value, float]) -> None:
        """Fill outlines of a group of `outlines.toml`, each with a value and a softness."""
        for name, (value, soft) in parts.items():
            self.polygon(outline(f"{group}.{name}"), value, soft=soft)

    def polygon(
        self, points: Sequence[Point] | Outline, value: Value, *, curved: bool = True, **paint: Unpack[Paint]
    ) -> None:
        """Fill a closed outline, rounded through its points where `curved`."""
        self._raster([self._points_to_pixels(smooth(points) if curved else points)], None, value, paint)

    def stroke(self, points: Sequence[Point], width: float, value: Value, **paint: Unpack[Paint]) -> None:
        """Draw a curved line of the given width through the points."""
        self.strokes([points], width, value, **paint)

    def strokes(self, lines: Sequence[Sequence[Point]], width: float, value: Value, **paint: Unpack[Paint]) -> None:
        """Draw many lines alike; where they cross, the value is laid on once."""
        paths = [self._points_to_pixels(smooth(line, closed=False) if len(line) > 2 else line) for line in lines]
        self._raster(paths, width * self.frame.zoom, value, paint)

    def _points_to_pixels(self, points: Sequence[Point] | Outline) -> Outline:
        return np.asarray(np.asarray(points, dtype=float) * self._scale + self._offset)

    def _raster(self, paths: Sequence[Outline], width: float | None, value: Value, paint: Paint) -> None:
        """Draw outlines (or lines, where a width is given) at twice the size, reduce, soften, and lay the value on."""
        soft = paint.get("soft", 0.0)
        pad = 2 + 3 * soft + (width or 0)
        points = paths[0] if len(paths) == 1 else np.concatenate(paths)
        low, high = points.min(axis=0) - pad, points.max(axis=0) + pad
        x0, y0 = max(0, int(low[0])), max(0, int(low[1]))
        x1, y1 = min(WIDTH, int(high[0]) + 1), min(FIELD, int(high[1]) + 1)
        if x0 >= x1 or y0 >= y1:
            return
        image = Image.new("L", (2 * (x1 - x0), 2 * (y1 - y0)))
        draw = ImageDraw.Draw(image)
        for path in paths:
            local = (2 * (path - (x0, y0))).ravel().tolist()
            if width is None:
                draw.polygon(local, fill=255)
                continue
            draw.line(local, fill=255, width=max(1, round(2 * width)))
            if width > 2:
                for x, y in (local[:2], local[-2:]):
                    draw.ellipse((x - width, y - width, x + width, y + width), fill=255)
        if soft >= 3:  # a wide blur loses nothing at half size, and costs a quarter
            image = image.reduce(4).filter(ImageFilter.GaussianBlur(soft / 2))
            image = image.resize((x1 - x0, y1 - y0), Image.Resampling.BILINEAR)
        else:
            image = image.reduce(2)
            if soft > 0.7:  # halving the drawing has softened its edge as much already
                image = image.filter(ImageFilter.GaussianBlur(soft))
        mask = np.asarray(image, dtype=np.float32) * np.float32(1 / 255)
        self.blend(mask, x0, y0, value, amount=paint.get("amount", 1.0), add=paint.get("add", False))

    def blend(
        self, mask: Raster, x0: int, y0: int, value: Value | Raster, *, amount: float = 1.0, add: bool = False
    ) -> None:
        """Lay a value over the part of the field that starts at (x0, y0), as far as the mask lets it."""
        region = self.pixels[y0 : y0 + mask.shape[0], x0 : x0 + mask.shape[1]]
        weight = mask * np.float32(amount)
        if self.colour:
            weight = weight[..., None]
        tone = np.asarray(value, dtype=np.float32)
        region += weight * (tone if add else tone - region)

    def noise(self, blur: float) -> Raster:
        """A field of smooth noise (mean 0, standard deviation 1) of the given grain in pixels."""
        x, y = (int(v) for v in self.rng.integers(0, (_TILE - WIDTH, _TILE - FIELD)))
        return _tile(blur)[y : y + FIELD, x : x + WIDTH]

    def texture(self, blur: float, strength: float) -> None:
        """Multiply the field by noise: `strength` is the relative standard deviation."""
        factor = 1 + np.float32(strength) * self.noise(blur)
        self.pixels *= factor[..., None] if self.colour else factor

    def letter(self, text: str, x: int, y: int) -> None:
        """Write a marker (side, view) at a fixed pixel, never mirrored."""
        self.labels.append((text, x, y))

    def png(self, *, bar: tuple[int, str], step: int) -> bytes:
        """The finished picture with its margin, as a PNG file.

        Parameters
        ----------
        bar : length in pixels of the scale bar, and its label
        step : grey levels are rounded to multiples of it, which keeps the files small
        """
        field = np.clip(np.rint(self.pixels / step) * step, 0, 255).astype(np.uint8)
        whole = np.zeros((FIELD + MARGIN, WIDTH, *field.shape[2:]), dtype=np.uint8)
        whole[:FIELD] = field
        length, label = bar
        width = _lettering(label).shape[1]
        for text, x, y in [*self.labels, (MARK, 2, FIELD + 2), (label, WIDTH - 4 - width, FIELD + 2)]:
            letters = _lettering(text)
            whole[y : y + letters.shape[0], x : x + letters.shape[1]][letters] = 235
        end = WIDTH - 8 - width
        whole[FIELD + 5 : FIELD + 7, end - length : end] = 235
        return png(Image.fromarray(whole))
