"""What a benchmark says of itself, `benchmark.toml`: its kind and task, its dimensions and what a label may be."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Final

import tomli_w

from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import write_atomic
from mrb_lib.tables.schema import (
    CHOICES,
    DIMENSIONS,
    KINDS,
    LEVELS,
    NO_LABEL,
    TASKS,
    Kind,
    Level,
    Task,
    category_numbers,
    joined_labels,
    split_labels,
)

LONGEST_CATEGORY: Final = 80
MOST_CATEGORIES: Final = 26
"""A rating has at most as many categories as there are letters to name them by."""


@dataclass(frozen=True)
class BenchmarkMeta:
    """What `benchmark.toml` states.

    Attributes
    ----------
    kind : "clinical", "general" or "simulated"; everything shown of simulated data says so
    dimensions : the dimensions annotated, in the order to show them
    categories : the labels an annotator or a judge may give; A, B, tie unless the labels are not a preference.
        Their order, from the lowest, matters where `level` is "ordinal" or "interval".
    level : the level of measurement of the labels; "interval" counts the categories' numbers where all are numbers,
        else their places, as equally far apart
    task : "preference" between two responses, or "rating" of one response a case by the categories
    acceptable : the categories of a rating that count as safe or good enough; empty where nobody says
    labels : of a rating, the labels of each dimension in which several may apply at once; such a dimension is not rated
        by the categories, see `mrb_lib.tables.schema.joined_labels`
    definitions : what a dimension, a category or a label means, by its name, in words that judges and annotators are
        shown, each on one line
    source, licence, citation, revision : where the data came from
    extra : keys this version does not know, carried along
    """

    name: str
    kind: Kind
    dimensions: tuple[str, ...] = DIMENSIONS
    categories: tuple[str, ...] = CHOICES
    level: Level = "nominal"
    task: Task = "preference"
    acceptable: tuple[str, ...] = ()
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    definitions: Mapping[str, str] = field(default_factory=dict)
    description: str = ""
    source: str = ""
    licence: str = ""
    citation: str = ""
    revision: str = ""
    extra: Mapping[str, object] = field(default_factory=dict)

    @property
    def is_preference(self) -> bool:
        """Whether the labels are preferences between two responses."""
        return not self.is_rating and set(self.categories) <= set(CHOICES)

    @property
    def is_rating(self) -> bool:
        """Whether one response a case is rated by the categories."""
        return self.task == "rating"

    @property
    def one_choice(self) -> tuple[str, ...]:
        """The dimensions in which a case has one category: all but those of `labels`."""
        return tuple(name for name in self.dimensions if name not in self.labels)

    def offers(self, dimension: str, choice: object) -> bool:
        """Whether the benchmark has the dimension, and an annotator may make the choice on it."""
        own = self.labels.get(dimension)
        if own is None:
            return dimension in self.dimensions and choice in self.categories
        return isinstance(choice, str) and joined_labels(split_labels(choice), own) == choice

    @property
    def is_judged(self) -> bool:
        """Whether verdicts can be scored against the labels: preferences, and ratings."""
        return self.is_rating or self.is_preference

    @property
    def choices(self) -> tuple[str, ...]:
        """The categories as judges are offered them: those of a rating; A, B, and tie where there is one."""
        return self.categories if self.is_rating else tuple(name for name in CHOICES if name in self.categories)


def read_meta(path: Path) -> BenchmarkMeta:
    """Read `benchmark.toml`.

    Raises
    ------
    InputError
        It is missing, is not TOML, or a value is outside its vocabulary.
    """
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(
            f"{path.parent}: is not a benchmark ({path.name} is missing); make one with `mrb demo` or `mrb import`."
        ) from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); check the path and its permissions.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: is not valid TOML ({error}); correct it.") from error
    return meta_from(raw, str(path))


def meta_from(raw: Mapping[str, object], source: str) -> BenchmarkMeta:
    """Build the metadata from parsed TOML; see `read_meta`."""
    names = {f.name for f in fields(BenchmarkMeta)} - {"extra"}
    values: dict[str, object] = {}
    for name in names & raw.keys():
        value = raw[name]
        if name == "definitions":
            if not isinstance(value, Mapping) or not all(isinstance(text, str) for text in value.values()):
                raise InputError(
                    f'{source}, key {name}: a table of texts is needed; write name = "..." under [{name}].'
                )
            values[name] = {key: " ".join(text.split()) for key, text in value.items()}
        elif name in ("dimensions", "categories", "acceptable"):
            values[name] = _names(value, name, source)
        elif name == "labels":
            if not isinstance(value, Mapping):
                raise InputError(f'{source}, key {name}: is not a table; write dimension = ["..."] under [{name}].')
            values[name] = {key: _names(labels, key, source) for key, labels in value.items()}
        elif isinstance(value, str):
            values[name] = value
        else:
            raise InputError(f"{source}, key {name}: text is needed, not {type(value).__name__}; put it in quotes.")
    for name, allowed in (("kind", KINDS), ("level", LEVELS), ("task", TASKS)):
        if name in values and values[name] not in allowed:
            raise InputError(f"{source}, key {name}: {values[name]!r} is unknown; use one of {', '.join(allowed)}.")
    for name in ("name", "kind"):
        if name not in values:
            raise InputError(f'{source}: the key {name} is missing; add {name} = "...".')
    extra = {name: value for name, value in raw.items() if name not in names}
    meta = BenchmarkMeta(**values, extra=extra)  # type: ignore[arg-type]  # each value was checked above
    _check_rating(meta, source)
    _check_labels(meta, source)
    return meta


def _names(value: object, key: str, source: str) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not value or not all(isinstance(v, str) and v for v in value):
        raise InputError(f'{source}, key {key}: a list of names is needed; write {key} = ["..."].')
    if len(set(value)) != len(value):
        raise InputError(f"{source}, key {key}: a name occurs twice; keep one.")
    return tuple(value)


def _check_labels(meta: BenchmarkMeta, source: str) -> None:
    """Raise `InputError` where the dimensions of several labels cannot be."""
    if meta.labels and not meta.is_rating:
        raise InputError(f'{source}, key labels: only a rating has some; remove them, or write task = "rating".')
    for dimension, labels in meta.labels.items():
        if dimension not in meta.dimensions:
            known = ", ".join(meta.dimensions)
            raise InputError(f"{source}, key labels: {dimension!r} is no dimension; use some of {known}.")
        if len(labels) > MOST_CATEGORIES:
            raise InputError(
                f"{source}, labels of {dimension}: {len(labels)} are too many; name at most {MOST_CATEGORIES}."
            )
        for name in labels:
            if ";" in name or _is_awkward(name) or name.casefold() == NO_LABEL:
                raise InputError(
                    f"{source}, labels of {dimension}: {name[:80]!r} is not one line of at most {LONGEST_CATEGORY} "
                    f"characters without a semicolon or spaces around it, and not {NO_LABEL}; name it otherwise."
                )
    if meta.labels and any(_is_awkward(name) for name in meta.dimensions):
        raise InputError(
            f"{source}, key dimensions: a name is not one short line, as it must be beside labels; shorten it."
        )
    if meta.labels and not meta.one_choice:
        raise InputError(f"{source}, key labels: leave no dimension for the categories; keep one without labels.")


def _is_awkward(name: str) -> bool:
    return len(name) > LONGEST_CATEGORY or len(name.splitlines()) != 1 or name != name.strip()


def _check_rating(meta: BenchmarkMeta, source: str) -> None:
    """Raise `InputError` where the keys of a rating do not fit each other."""
    if not meta.is_rating:
        if meta.acceptable:
            raise InputError(f'{source}, key acceptable: only a rating has one; remove it, or write task = "rating".')
        return
    if set(meta.categories) <= set(CHOICES) or len(meta.categories) < 2:
        raise InputError(
            f"{source}, key categories: a rating needs two categories of its own or more, from the lowest; "
            'write categories = ["...", "..."].'
        )
    if len(meta.categories) > MOST_CATEGORIES:
        raise InputError(
            f"{source}, key categories: {len(meta.categories)} are too many to choose from; "
            f"name at most {MOST_CATEGORIES}."
        )
    awkward = [name for name in meta.categories if _is_awkward(name)]
    if awkward:
        raise InputError(
            f"{source}, key categories: {awkward[0][:80]!r} is not one line of at most {LONGEST_CATEGORY} characters "
            "without spaces around it; name it shortly, and say what it means under [definitions]."
        )
    numbers = category_numbers(meta.categories)
    if meta.level != "nominal" and list(numbers) != sorted(set(numbers)):
        raise InputError(
            f"{source}, key categories: are numbers that do not rise ({', '.join(meta.categories)}); "
            "list them from the lowest."
        )
    unknown = [name for name in meta.acceptable if name not in meta.categories]
    if unknown:
        raise InputError(
            f"{source}, key acceptable: {unknown[0]!r} is no category; use some of {', '.join(meta.categories)}."
        )
    if meta.acceptable and set(meta.acceptable) == set(meta.categories):
        raise InputError(f"{source}, key acceptable: names all categories, so that nothing is left to find; leave one.")


def meta_text(meta: BenchmarkMeta) -> str:
    """What `benchmark.toml` holds; empty texts are left out."""
    raw: dict[str, object] = {}
    for f in fields(meta):
        value = getattr(meta, f.name)
        if f.name != "extra" and value not in ("", (), {}):
            raw[f.name] = _plain(value)
    return tomli_w.dumps({**raw, **meta.extra})


def _plain(value: object) -> object:
    """A value as TOML has it."""
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    return list(value) if isinstance(value, tuple) else value


def write_meta(meta: BenchmarkMeta, path: Path) -> None:
    """Write `benchmark.toml`."""
    write_atomic(path, meta_text(meta))
