"""What a benchmark says of itself, `benchmark.toml`: its kind and task, its dimensions and what a label may be."""

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Final

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import tomli_w

from mrb_lib.benchmarks.encodings import read_text
from mrb_lib.tables.errors import InputError, shortened
from mrb_lib.tables.files import write_atomic
from mrb_lib.tables.options import in_plain_words
from mrb_lib.tables.schema import (
    CHOICES,
    DIMENSIONS,
    NO_LABEL,
    Kind,
    Level,
    TableName,
    Task,
    category_numbers,
    joined_labels,
    split_labels,
)
from mrb_lib.tables.validation import Rules, conform

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
    def rules(self) -> Rules:
        """Return what the benchmark allows in its tables."""
        return Rules(dimensions=self.dimensions, categories=self.categories, task=self.task, labels=self.labels)

    def conform(self, frame: pd.DataFrame, table: TableName, source: str) -> pd.DataFrame:
        """Return a table checked against this benchmark's dimensions and labels; see `validation.conform`."""
        return conform(frame, table, source, **self.rules)

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
    """Read `benchmark.toml`; where it states no dimensions, they are those of the annotations beside it.

    Raises
    ------
    InputError
        It is missing, is not TOML, or a value is outside its vocabulary.
    """
    raw, annotations = read_raw_meta(path), list[pd.DataFrame]()
    if "dimensions" not in raw:
        with suppress(pa.ArrowException, OSError):  # whoever reads the table says what is wrong with it
            table = pq.ParquetFile(path.with_name("annotations.parquet")).read(columns=["dimension"])
            annotations.append(table.to_pandas())
    return meta_from(raw, str(path), dimensions_of(annotations))


def read_raw_meta(path: Path) -> dict[str, object]:
    """Return what `benchmark.toml` states, unchecked; raises `InputError` where it is missing or is not TOML."""
    if not path.is_file():
        raise InputError(
            f"{path.parent}: is not a benchmark ({path.name} is missing); make one with `mrb demo` or `mrb import`."
        )
    try:
        return tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: is not valid TOML ({error}); correct it.") from error


def dimensions_of(tables: Iterable[pd.DataFrame]) -> tuple[str, ...]:
    """Return the dimensions that occur in tables, the standard ones first; `overall` where none does."""
    occurring = {str(name) for frame in tables if "dimension" in frame for name in frame["dimension"].dropna().unique()}
    standard = [name for name in DIMENSIONS if name in occurring]
    return (*standard, *sorted(occurring.difference(standard))) or ("overall",)


def meta_from(raw: Mapping[str, object], source: str, dimensions: tuple[str, ...] = ("overall",)) -> BenchmarkMeta:
    """Build the metadata from parsed TOML.

    Parameters
    ----------
    source : the file to name in messages
    dimensions : of the benchmark where `raw` states none

    Raises
    ------
    InputError
        A value has the wrong type, is outside its vocabulary, or does not fit another.
    """
    import pydantic

    names = {f.name for f in fields(BenchmarkMeta)} - {"extra"}
    extra = {name: value for name, value in raw.items() if name not in names}
    values = {"dimensions": dimensions, **{name: raw[name] for name in raw if name in names}, "extra": extra}
    try:
        meta = pydantic.TypeAdapter(BenchmarkMeta).validate_python(values)
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        key = [part for part in first["loc"] if isinstance(part, str)][-1]
        stated = "" if first["type"] == "missing" else f"{shortened(repr(first['input']), 80)} "
        raise InputError(f"{source}, key {key}: {stated}{in_plain_words(first['msg'])}; correct it.") from None
    meta = replace(meta, definitions={key: " ".join(text.split()) for key, text in meta.definitions.items()})
    for fault in _faults(meta):
        raise InputError(f"{source}, {fault}.")
    return meta


def _faults(meta: BenchmarkMeta) -> Iterator[str]:
    """Yield what does not fit together, each with the key it is about and the cure."""
    lists = {"dimensions": meta.dimensions, "categories": meta.categories, "acceptable": meta.acceptable, **meta.labels}
    for key, names in lists.items():
        if len(set(names)) != len(names) or not all(names) or (not names and key in meta.labels):
            yield f'key {key}: a list of names is needed, none of them empty or there twice; write {key} = ["..."]'
    if not meta.is_rating:
        if meta.acceptable or meta.labels:
            yield 'keys acceptable and labels: only a rating has some; remove them, or write task = "rating"'
        return
    if set(meta.categories) <= set(CHOICES) or len(meta.categories) < 2:
        yield "key categories: a rating needs two or more of its own, from the lowest; write categories = [...]"
    for key, names in lists.items():
        if key not in ("dimensions", "acceptable"):
            if len(names) > MOST_CATEGORIES:
                yield f"key {key}: {len(names)} are too many to choose from; name at most {MOST_CATEGORIES}"
            for name in names:
                if _is_awkward(name) or (key in meta.labels and (";" in name or name.casefold() == NO_LABEL)):
                    form = f"one line of at most {LONGEST_CATEGORY} characters without spaces around it"
                    label = f", a semicolon or the word {NO_LABEL}" if key in meta.labels else ""
                    yield f"key {key}: {name[:80]!r} is not {form}{label}; name it otherwise"
    numbers = category_numbers(meta.categories)
    if meta.level != "nominal" and list(numbers) != sorted(set(numbers)):
        yield f"key categories: are numbers that do not rise ({', '.join(meta.categories)}); list them from the lowest"
    for key, some, of in (("acceptable", meta.acceptable, meta.categories), ("labels", meta.labels, meta.dimensions)):
        if some and not set(some) < set(of):
            stated = ", ".join(map(repr, some))
            yield f"key {key}: {stated} are not some of {', '.join(of)}; name a few of these, and not all"
    if meta.labels and any(_is_awkward(name) for name in meta.dimensions):
        yield "key dimensions: a name is not one short line, as it must be beside labels; shorten it"


def _is_awkward(name: str) -> bool:
    return len(name) > LONGEST_CATEGORY or len(name.splitlines()) != 1 or name != name.strip()


def write_meta(meta: BenchmarkMeta, path: Path) -> None:
    """Write `benchmark.toml`, without empty texts."""
    stated = {f.name: getattr(meta, f.name) for f in fields(meta) if f.name != "extra"}
    filled = {name: value for name, value in stated.items() if value not in ("", (), {})}
    write_atomic(path, tomli_w.dumps({**filled, **meta.extra}))
