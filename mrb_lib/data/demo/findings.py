"""The facts of a case: what is to be seen, where, how large, how many, of which shape and brightness."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from mrb_lib.data.demo.canvas import Frame
from mrb_lib.data.demo.catalogue import Kind, Site, View, views_of

T = TypeVar("T")
SMALLEST_RADIUS = 4.5
_COUNT_WEIGHTS = (0.52, 0.8, 1.0)
_TRIES = 40


@dataclass(frozen=True)
class Spot:
    """One lesion in the picture.

    Attributes
    ----------
    x, y, radius : in pixels of the finished picture
    phase : three angles that settle its orientation and outline
    """

    x: float
    y: float
    radius: float
    phase: tuple[float, float, float]


@dataclass(frozen=True)
class Facts:
    """What one finding is, in the words of the catalogue.

    Attributes
    ----------
    side : "left" or "right" of the patient; None where the site is not paired
    size : longest diameter of the largest lesion, in the view's unit
    contrast : how far from its surroundings it is drawn, in grey levels
    """

    kind: Kind
    site: Site
    side: str | None
    size: int
    shape: str
    contrast: float
    spots: tuple[Spot, ...]

    @property
    def count(self) -> int:
        """How many lesions there are."""
        return len(self.spots)


@dataclass(frozen=True)
class Scene:
    """Everything that a picture shows; `second` is a smaller second finding, which most cases lack."""

    view: View
    frame: Frame
    main: Facts
    second: Facts | None
    woman: bool
    age: int


def pick(rng: np.random.Generator, options: tuple[T, ...] | list[T]) -> T:
    """One of the options, each as likely."""
    return options[int(rng.integers(len(options)))]


def draw_scene(organ: str, rng: np.random.Generator) -> Scene:
    """Decide what the picture of a case shows."""
    view = pick(rng, views_of(organ))
    side = "left" if rng.random() < 0.5 else "right"
    frame = Frame(
        mirrored=view.canonical is not None and side != view.canonical,
        zoom=float(rng.uniform(0.97, 1.03)),
        dx=float(rng.uniform(-2, 2)),
        dy=float(rng.uniform(-2, 2)),
    )
    kind = pick(rng, view.kinds)
    main = _facts(view, kind, view.sites[pick(rng, kind.at)], side, frame, rng)
    second = _second(view, main, side, frame, rng) if rng.random() < 0.3 else None
    woman = view.woman or rng.random() < 0.5
    return Scene(view, frame, main, second, bool(woman), int(rng.integers(24, 86)))


def _facts(
    view: View, kind: Kind, site: Site, side: str, frame: Frame, rng: np.random.Generator, scale: float = 1.0
) -> Facts:
    largest = scale * site.room * float(rng.uniform(0.72, 1.0))
    wanted = 1 + int(np.searchsorted(_COUNT_WEIGHTS, rng.random(), side="right"))
    if wanted > 1:
        largest *= 0.74
    radii = [max(SMALLEST_RADIUS * scale, largest * f) for f in (1.0, *rng.uniform(0.78, 0.95, wanted - 1))]
    mirror = site.paired and view.canonical is None and side == "left"
    spots: list[Spot] = []
    for radius in radii:
        spot = _place(site, radius, mirror, frame, spots, rng)
        if spot is not None:
            spots.append(spot)
    size = 2 * spots[0].radius * view.per_pixel
    return Facts(
        kind=kind,
        site=site,
        side=side if site.paired else None,
        size=round(size / 10) * 10 if size > 100 else max(1, round(size)),
        shape=pick(rng, kind.shapes),
        contrast=float(rng.uniform(58, 82)),
        spots=tuple(spots),
    )


def _place(
    site: Site, radius: float, mirror: bool, frame: Frame, others: list[Spot], rng: np.random.Generator
) -> Spot | None:
    """A place for a lesion that touches no other; None where the site has no room left."""
    for attempt in range(_TRIES):
        reach = np.sqrt(rng.random()) * (1.0 if not others else 1.0 + 0.5 * attempt / _TRIES)
        angle = 2 * np.pi * rng.random()
        x = site.x + float(reach * np.cos(angle)) * site.rx
        y = site.y + float(reach * np.sin(angle)) * site.ry
        px, py = frame.at(256 - x if mirror else x, y)
        r = radius * frame.zoom
        if all(np.hypot(px - o.x, py - o.y) > 1.1 * (r + o.radius) + 2 for o in others):
            phase = 2 * np.pi * rng.random(3)
            return Spot(px, py, r, (float(phase[0]), float(phase[1]), float(phase[2])))
    return None


def _second(view: View, main: Facts, side: str, frame: Frame, rng: np.random.Generator) -> Facts | None:
    """A smaller finding of another kind at another site, where the view has one."""
    choices = [
        (kind, view.sites[at])
        for kind in view.kinds
        for at in kind.at
        if kind is not main.kind and view.sites[at] is not main.site and view.sites[at].room * 0.62 >= 4.5
    ]
    if not choices:
        return None
    kind, site = pick(rng, choices)
    facts = _facts(view, kind, site, side, frame, rng, scale=0.62)
    single = Facts(kind, site, facts.side, facts.size, facts.shape, facts.contrast, facts.spots[:1])
    spot = single.spots[0]
    clear = all(np.hypot(spot.x - o.x, spot.y - o.y) > 1.5 * (spot.radius + o.radius) + 6 for o in main.spots)
    smaller = spot.radius < 0.85 * min(o.radius for o in main.spots)
    return single if clear and smaller else None
