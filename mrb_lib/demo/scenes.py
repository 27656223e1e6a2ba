"""The content of a simulated picture: the views, sites and kinds of findings of `catalogue.toml`, and scenes.

A scene is drawn from the catalogue: what lies where, how large, how many, of which shape and brightness.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple, TypeVar

import numpy as np
from pydantic import TypeAdapter

from mrb_lib.demo.canvas import Frame, toml_data

T = TypeVar("T")
SMALLEST_RADIUS = 4.5
_COUNT_WEIGHTS = (0.52, 0.8, 1.0)
_TRIES = 40
SHAPES = ("round", "oval", "lobulated", "irregular", "spiculated")
CASES_PER_CYCLE = 1026

# How many of every 1,026 cases show each organ: uneven, as clinical collections are, and never rare.
ORGAN_SHARES: dict[str, int] = {
    "abdomen": 96,
    "brain": 128,
    "breast": 84,
    "chest": 142,
    "eye": 90,
    "foot": 40,
    "gastrointestinal_tract": 88,
    "heart": 78,
    "lower_limb": 58,
    "lung": 92,
    "oral_cavity": 48,
    "pelvic_cavity": 44,
    "upper_limb": 38,
}


class Site(NamedTuple):
    """A place where findings lie, in canonical points.

    Attributes
    ----------
    name : how a report names it; "{side}" stands for the side
    x, y : its centre, for the patient's right where it is paired
    rx, ry : how far the centre of a lesion strays from it
    room : the largest radius of a lesion
    """

    name: str
    x: float
    y: float
    rx: float
    ry: float
    room: float

    @property
    def paired(self) -> bool:
        """Return whether the site exists on both sides."""
        return "{side}" in self.name


@dataclass(frozen=True)
class FindingKind:
    """A kind of finding, and what a report says about it.

    Attributes
    ----------
    bright : whether it is brighter than its surroundings
    site_indices : of the sites where it occurs; empty for all
    tint : its colour in colour pictures
    impression, alternative : the diagnosis it supports, and one that it does not
    next : what to do about it
    insight : remarks that only somebody with understanding makes
    """

    noun: str
    plural: str
    bright: bool
    shapes: tuple[str, ...]
    impression: str
    alternative: str
    next: str
    insight: tuple[str, ...]
    site_indices: tuple[int, ...] = ()
    tint: tuple[float, float, float] | None = None


@dataclass(frozen=True)
class View:
    """A kind of picture: one modality of one region.

    Attributes
    ----------
    canonical : the side that the drawing function draws, where the whole picture is of one side
    per_pixel, unit : length of a pixel
    terms : the words for brighter and for darker than the surroundings
    negatives : true statements about what the picture does not show
    """

    name: str
    organ: str
    modality: str
    picture: str
    per_pixel: float
    region: str
    tissue: str
    terms: tuple[str, str]
    symptoms: tuple[str, ...]
    negatives: tuple[str, ...]
    sites: tuple[Site, ...]
    kinds: tuple[FindingKind, ...]
    unit: str = "mm"
    canonical: str | None = None
    colour: bool = False
    woman: bool = False

    def sites_of(self, kind: FindingKind) -> tuple[Site, ...]:
        """Return the sites where a kind of finding occurs."""
        return tuple(self.sites[i] for i in kind.site_indices) or self.sites

    @property
    def bar(self) -> tuple[int, str]:
        """The scale bar: its length in pixels (at most 55) and its label, a round number."""
        steps = [digit * 10**power for power in range(5) for digit in (1, 2, 5)]
        length = max(step for step in steps if step / self.per_pixel <= 55)
        return round(length / self.per_pixel), f"{length} {'um' if self.unit == 'micrometres' else self.unit}"


@lru_cache(maxsize=1)
def views() -> dict[str, View]:
    """All views by name."""
    entries = toml_data("catalogue")["views"].items()
    return TypeAdapter(dict[str, View]).validate_python({name: {"name": name, **entry} for name, entry in entries})


@lru_cache(maxsize=len(ORGAN_SHARES))
def views_of(organ: str) -> tuple[View, ...]:
    """The views that show an organ."""
    return tuple(view for view in views().values() if view.organ == organ)


@lru_cache(maxsize=1)
def _cycle() -> tuple[str, ...]:
    """The organs of 1,026 cases in a row, each kept as close to its share as can be at every point."""
    counts = dict.fromkeys(ORGAN_SHARES, 0)
    cycle = []
    for k in range(CASES_PER_CYCLE):
        unseen = [organ for organ, n in counts.items() if n == 0]
        organ = max(unseen or counts, key=lambda o: ORGAN_SHARES[o] * (k + 1) / CASES_PER_CYCLE - counts[o])
        counts[organ] += 1
        cycle.append(organ)
    return tuple(cycle)


def organ_of(index: int) -> str:
    """The organ of the case with this index; the first 13 cases show the 13 organs."""
    return _cycle()[index % CASES_PER_CYCLE]


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
    """One finding, in the words of the catalogue.

    Attributes
    ----------
    side : "left" or "right" of the patient; None where the site is not paired
    size : longest diameter of the largest lesion, in the view's unit
    contrast : how far from its surroundings it is drawn, in grey levels
    """

    kind: FindingKind
    site: Site
    side: str | None
    size: int
    shape: str
    contrast: float
    spots: tuple[Spot, ...]

    @property
    def count(self) -> int:
        """The number of lesions."""
        return len(self.spots)

    @property
    def claims(self) -> dict[str, object]:
        """Return the true values that a response may state, by aspect."""
        return {
            "finding": self.kind,
            "site": self.site,
            "side": self.side,
            "size": self.size,
            "count": self.count,
            "shape": self.shape,
            "brightness": self.kind.bright,
            "impression": self.kind.impression,
            "plan": self.kind.next,
        }


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
    main = _facts(view, kind, pick(rng, view.sites_of(kind)), side, frame, rng)
    second = _second(view, main, side, frame, rng) if rng.random() < 0.3 else None
    woman = view.woman or rng.random() < 0.5
    return Scene(view, frame, main, second, bool(woman), int(rng.integers(24, 86)))


def _facts(
    view: View, kind: FindingKind, site: Site, side: str, frame: Frame, rng: np.random.Generator, scale: float = 1.0
) -> Facts:
    largest = scale * site.room * float(rng.uniform(0.72, 1.0))
    wanted = 1 + int(np.searchsorted(_COUNT_WEIGHTS, rng.random(), side="right"))
    if wanted > 1:
        largest *= 0.74
    radii = [max(SMALLEST_RADIUS * scale, largest * f) for f in (1.0, *rng.uniform(0.78, 0.95, wanted - 1))]
    mirror = site.paired and view.canonical is None and side == "left"
    spots: list[Spot] = []
    for radius in radii:
        spots += _free_spot(site, radius, mirror, frame, spots, rng)
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


def _free_spot(
    site: Site, radius: float, mirror: bool, frame: Frame, others: list[Spot], rng: np.random.Generator
) -> list[Spot]:
    """A place for a lesion that touches no other; none where the site has no room left."""
    for attempt in range(_TRIES):
        reach = np.sqrt(rng.random()) * (1.0 if not others else 1.0 + 0.5 * attempt / _TRIES)
        angle = 2 * np.pi * rng.random()
        x = site.x + float(reach * np.cos(angle)) * site.rx
        y = site.y + float(reach * np.sin(angle)) * site.ry
        px, py = frame.to_pixels(256 - x if mirror else x, y)
        r = radius * frame.zoom
        if all(np.hypot(px - o.x, py - o.y) > 1.1 * (r + o.radius) + 2 for o in others):
            one, other, third = (2 * np.pi * rng.random(3)).tolist()
            return [Spot(px, py, r, (one, other, third))]
    return []


def _second(view: View, main: Facts, side: str, frame: Frame, rng: np.random.Generator) -> Facts | None:
    """A smaller finding of another kind at another site, where the view has one."""
    choices = [
        (kind, site)
        for kind in view.kinds
        for site in view.sites_of(kind)
        if kind is not main.kind and site is not main.site and site.room * 0.62 >= 4.5
    ]
    if not choices:
        return None
    kind, site = pick(rng, choices)
    facts = _facts(view, kind, site, side, frame, rng, scale=0.62)
    spot = facts.spots[0]
    clear = all(np.hypot(spot.x - o.x, spot.y - o.y) > 1.5 * (spot.radius + o.radius) + 6 for o in main.spots)
    smaller = spot.radius < 0.85 * min(o.radius for o in main.spots)
    return replace(facts, spots=(spot,)) if clear and smaller else None
