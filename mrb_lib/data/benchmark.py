"""A benchmark: its cases, its annotations, and its images, which are read one at a time.

On disk a benchmark is a folder `benchmark.toml cases.parquet annotations.parquet
images/`. `load` reads it, `save` and `BenchmarkWriter` write it.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Final

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import tomli_w

from mrb_lib.errors import InputError
from mrb_lib.files import inside, write_atomic
from mrb_lib.schema import (
    CHOICES,
    DIMENSIONS,
    KINDS,
    LEVELS,
    NO_LABEL,
    SEEN_BY_JUDGES,
    TASKS,
    Kind,
    Level,
    Task,
    category_numbers,
    joined_labels,
    split_labels,
)
from mrb_lib.validation import check_references, conform

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
        by the categories, see `mrb_lib.schema.joined_labels`
    definitions : what a dimension, a category or a label means, by its name, in words that judges and annotators are
        shown
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


class FolderImages(Mapping[str, bytes]):
    """The files of a folder as a mapping from name to bytes, read only when asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __getitem__(self, name: str) -> bytes:
        path = inside(self.folder, name)
        if not path.is_file():
            raise KeyError(name)
        return path.read_bytes()

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and inside(self.folder, name).is_file()

    def sizes(self) -> dict[str, int]:
        """The number of bytes of each file."""
        files = sorted(path for path in self.folder.rglob("*") if path.is_file())
        return {path.relative_to(self.folder).as_posix(): path.stat().st_size for path in files}

    def __iter__(self) -> Iterator[str]:
        yield from self.sizes()

    def __len__(self) -> int:
        return sum(1 for _ in self)


@dataclass(frozen=True)
class Benchmark:
    """A thin handle on the first two tables plus lazy images.

    Attributes
    ----------
    cases : DataFrame, one row a case (see `mrb_lib.schema.CASES`)
    annotations : DataFrame, one row a case, annotator and dimension; may be empty
    images : mapping from image name to the bytes of the file
    path : the folder it was loaded from; None for one that lives in memory
    """

    meta: BenchmarkMeta
    cases: pd.DataFrame
    annotations: pd.DataFrame
    images: Mapping[str, bytes] = field(default_factory=dict)
    path: Path | None = None

    @cached_property
    def of_one_choice(self) -> Benchmark:
        """The benchmark without its dimensions of several labels; itself where it has none."""
        if not self.meta.labels:
            return self
        annotations = self.annotations[~self.annotations["dimension"].isin(list(self.meta.labels))]
        meta = replace(self.meta, dimensions=self.meta.one_choice, labels={})
        return replace(self, meta=meta, annotations=annotations.reset_index(drop=True))

    @cached_property
    def cases_by_image(self) -> pd.DataFrame:
        """The cases table in which an image has one name: a copy, byte for byte, bears that of the first one."""
        if "images" not in self.cases:
            return self.cases
        files = self.images
        sizes = files.sizes() if isinstance(files, FolderImages) else {name: len(files[name]) for name in files}
        by_size: dict[int, list[str]] = {}
        for name in dict.fromkeys(name for names in self.cases["images"] for name in names):
            if sizes.get(name):  # an empty file is a copy of nothing
                by_size.setdefault(sizes[name], []).append(name)
        first: dict[bytes, str] = {}
        alike = [name for names in by_size.values() if len(names) > 1 for name in names]
        bears = {name: first.setdefault(hashlib.blake2b(self.images[name]).digest(), name) for name in alike}
        if len(first) == len(bears):
            return self.cases
        renamed = self.cases["images"].map(lambda names: [bears.get(name, name) for name in names])
        return self.cases.assign(images=renamed)

    def fingerprint(self) -> str:
        """SHA-256 over all files of the benchmark folder, images included.

        Raises
        ------
        InputError
            The benchmark was not loaded from a folder.
        """
        folder = self._folder()
        tables = ("benchmark.toml", "cases.parquet", "annotations.parquet")
        return self._digest((name, (folder / name).read_bytes()) for name in tables)

    def case_fingerprint(self) -> str:
        """SHA-256 over what a judge may see: ids, `SEEN_BY_JUDGES` and images; not annotations, and not the split."""
        stored = pq.ParquetFile(self._folder() / "cases.parquet")
        visible = [name for name in ("case_id", *SEEN_BY_JUDGES) if name in stored.schema_arrow.names]
        values = ((name, stored.read(columns=[name]).column(0).to_pylist()) for name in visible)
        return self._digest((name, json.dumps(column, default=str).encode("ascii")) for name, column in values)

    def _folder(self) -> Path:
        if self.path is None:
            raise InputError(f"benchmark {self.meta.name}: has no folder yet; save it first.")
        return self.path

    def _digest(self, tables: Iterable[tuple[str, bytes]]) -> str:
        """Over tables, or columns of one, and the images."""
        folder = self._folder()
        images = ((f"images/{name}", (folder / "images" / name).read_bytes()) for name in self.images)
        digest = hashlib.sha256()
        for name, content in chain(tables, images):
            digest.update(name.encode("utf-8") + b"\0" + hashlib.blake2b(content, digest_size=16).digest())
        return digest.hexdigest()


def empty_annotations() -> pd.DataFrame:
    """An annotations table without rows."""
    return pd.DataFrame({name: pd.Series(dtype="str") for name in ("case_id", "annotator", "dimension", "choice")})


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
            values[name] = dict(value)
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


def read_table(path: Path, columns: list[str] | None = None) -> pd.DataFrame:
    """Read one parquet file, telling apart a missing, a damaged and an empty one.

    Raises
    ------
    InputError
        The file is missing, truncated or not parquet, or has two columns of one name.
    """
    try:
        table = pq.ParquetFile(path).read(columns=columns)
        table.validate(full=True)
        frame: pd.DataFrame = table.to_pandas()
    except FileNotFoundError as error:
        raise InputError(f"{path}: the file is missing; import the benchmark again.") from error
    except (pa.ArrowException, OSError) as error:
        size = path.stat().st_size if path.is_file() else 0
        what = "is empty" if size == 0 else f"is damaged: truncated, or not a parquet file of text ({error})"
        raise InputError(f"{path}: {what}; restore it from its source or import it again.") from error
    repeated = frame.columns[frame.columns.duplicated()]
    if len(repeated):
        raise InputError(f"{path}, column {repeated[0]}: the column occurs twice; remove one of the two.")
    return frame


def load(path: str | Path) -> Benchmark:
    """Load a benchmark folder; images stay on disk until they are asked for.

    Parameters
    ----------
    path : the folder that holds `benchmark.toml`

    Raises
    ------
    InputError
        The folder is not a benchmark, or a table breaks its contract.
    """
    folder = Path(path)
    meta = read_meta(folder / "benchmark.toml")
    path_of_cases = folder / "cases.parquet"
    cases = conform(read_table(path_of_cases), "cases", str(path_of_cases), dimensions=meta.dimensions, task=meta.task)
    source = folder / "annotations.parquet"
    annotations = conform(
        read_table(source),
        "annotations",
        str(source),
        dimensions=meta.dimensions,
        categories=meta.categories,
        labels=meta.labels,
    )
    check_references(annotations, cases, str(source))
    return Benchmark(meta, cases, annotations, FolderImages(folder / "images"), folder)


class BenchmarkWriter:
    """Writes a benchmark in chunks, so that its size is not bounded by memory.

    Use as a context manager, inside `mrb_lib.files.staged_folder`. Every chunk is
    validated; case ids must be unique over all chunks.
    """

    def __init__(self, folder: Path, meta: BenchmarkMeta) -> None:
        self.folder = folder
        self.meta = meta
        self._ids: set[str] = set()
        self._writers: dict[str, pq.ParquetWriter] = {}

    def __enter__(self) -> BenchmarkWriter:
        (self.folder / "images").mkdir(parents=True, exist_ok=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for writer in self._writers.values():
            writer.close()
        if kind is None:
            write_meta(self.meta, self.folder / "benchmark.toml")

    def add(self, cases: pd.DataFrame, annotations: pd.DataFrame, images: Mapping[str, bytes]) -> None:
        """Append a chunk: its cases, their annotations, and the images they name.

        An image that a case names and `images` lacks is left out; `mrb check` reports it.
        """
        cases = conform(cases, "cases", "cases", dimensions=self.meta.dimensions, task=self.meta.task)
        annotations = conform(
            annotations,
            "annotations",
            "annotations",
            dimensions=self.meta.dimensions,
            categories=self.meta.categories,
            labels=self.meta.labels,
        )
        check_references(annotations, cases, "annotations")
        repeated = [case for case in cases["case_id"] if case in self._ids]
        if repeated:
            raise InputError(f"cases: case_id {repeated[0]} occurs again; keep one of the two.")
        self._ids.update(cases["case_id"])
        self._append("cases", cases)
        self._append("annotations", annotations)
        for name in dict.fromkeys(name for names in cases["images"] for name in names):
            if name in images:
                path = inside(self.folder / "images", name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(images[name])

    def _append(self, table: str, frame: pd.DataFrame) -> None:
        schema = self._writers[table].schema if table in self._writers else None
        try:
            arrow = pa.Table.from_pandas(frame, schema=schema, preserve_index=False).replace_schema_metadata(None)
            if schema is None:
                arrow = arrow.cast(_without_null_types(arrow.schema))
                path = self.folder / f"{table}.parquet"
                self._writers[table] = pq.ParquetWriter(path, arrow.schema, compression="zstd")
            self._writers[table].write_table(arrow)
        except (pa.ArrowException, OverflowError) as error:
            raise InputError(
                f"{table}: a column cannot be stored ({error}); make its values plain and alike, or leave it out."
            ) from error


def _without_null_types(schema: pa.Schema) -> pa.Schema:
    """An all-missing first chunk must not fix the type of a column to null."""

    def concrete(kind: pa.DataType) -> pa.DataType:
        if pa.types.is_null(kind):
            return pa.large_string()
        if pa.types.is_list(kind) and pa.types.is_null(kind.value_type):
            return pa.list_(pa.string())
        return kind

    return pa.schema([pa.field(f.name, concrete(f.type)) for f in schema])


def save(benchmark: Benchmark, folder: Path) -> None:
    """Write a benchmark into `folder`; wrap it in `mrb_lib.files.staged_folder` so that no half is ever seen."""
    with BenchmarkWriter(folder, benchmark.meta) as writer:
        writer.add(benchmark.cases, benchmark.annotations, benchmark.images)
