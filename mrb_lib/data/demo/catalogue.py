"""The catalogue of views, sites and kinds of findings, read from `catalogue.toml`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

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


@dataclass(frozen=True)
class Site:
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
        """Whether the site exists on both sides."""
        return "{side}" in self.name


@dataclass(frozen=True)
class Kind:
    """A kind of finding, and what a report says about it.

    Attributes
    ----------
    bright : whether it is brighter than its surroundings
    at : indices of the sites where it occurs
    tint : its colour in colour pictures
    impression, alternative : the diagnosis it supports, and one that it does not
    next : what to do about it
    insight : remarks that only somebody with understanding makes
    """

    noun: str
    plural: str
    bright: bool
    at: tuple[int, ...]
    shapes: tuple[str, ...]
    impression: str
    alternative: str
    next: str
    insight: tuple[str, ...]
    tint: tuple[float, float, float] | None


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
    unit: str
    canonical: str | None
    colour: bool
    woman: bool
    region: str
    tissue: str
    terms: tuple[str, str]
    symptoms: tuple[str, ...]
    negatives: tuple[str, ...]
    sites: tuple[Site, ...]
    kinds: tuple[Kind, ...]

    @property
    def bar(self) -> tuple[int, str]:
        """The scale bar: its length in pixels (at most 55) and its label, a round number."""
        steps = [digit * 10**power for power in range(5) for digit in (1, 2, 5)]
        length = max(step for step in steps if step / self.per_pixel <= 55)
        return round(length / self.per_pixel), f"{length} {'um' if self.unit == 'micrometres' else self.unit}"


@lru_cache(maxsize=1)
def views() -> dict[str, View]:
    """All views by name."""
    raw = tomllib.loads(files("mrb_lib.data.demo").joinpath("catalogue.toml").read_text(encoding="utf-8"))
    return {name: _view(name, entry) for name, entry in raw["views"].items()}


def _view(name: str, raw: dict[str, Any]) -> View:
    values = {"unit": "mm", "canonical": None, "colour": False, "woman": False, **raw}
    sites = tuple(Site(*entry) for entry in values.pop("sites"))
    kinds = tuple(
        Kind(**{"tint": None, "at": range(len(sites)), **entry, **_tuples(entry, len(sites))})
        for entry in values.pop("kinds")
    )
    for key in ("terms", "symptoms", "negatives"):
        values[key] = tuple(values[key])
    return View(name=name, sites=sites, kinds=kinds, **values)


def _tuples(entry: dict[str, Any], n_sites: int) -> dict[str, tuple[object, ...]]:
    lists = {"at": list(range(n_sites)), **{k: v for k, v in entry.items() if isinstance(v, list)}}
    return {key: tuple(value) for key, value in lists.items()}


@lru_cache(maxsize=1)
def _views_of() -> dict[str, tuple[View, ...]]:
    return {organ: tuple(v for v in views().values() if v.organ == organ) for organ in ORGAN_SHARES}


def views_of(organ: str) -> tuple[View, ...]:
    """The views that show an organ."""
    return _views_of()[organ]


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
