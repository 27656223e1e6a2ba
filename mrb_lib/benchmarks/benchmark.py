"""A benchmark: its cases, its annotations, and its images, which are read one at a time.

On disk a benchmark is a folder `benchmark.toml cases.parquet annotations.parquet
images/`. `load` reads it, and `save` writes it.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Final

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from mrb_lib.benchmarks.digested import has_digest, with_digest
from mrb_lib.benchmarks.images.metadata import without_texts
from mrb_lib.benchmarks.meta import BenchmarkMeta, read_meta, write_meta
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import inside
from mrb_lib.tables.schema import SEEN_BY_JUDGES
from mrb_lib.tables.validation import ANNOTATIONS_FILE, CASES_FILE, Finding, check_references, counted

TABLES: Final = (CASES_FILE, ANNOTATIONS_FILE)


class LazyImages(Mapping[str, bytes]):
    """Images by name, read when asked for.

    Parameters
    ----------
    names : of all images, in their order; whether a mapping has a name is asked of the mapping
    load : returns the bytes of an image by its name
    """

    def __init__(self, names: Iterable[str], load: Callable[[str], bytes]) -> None:
        self._names = names if isinstance(names, Mapping) else dict.fromkeys(names)
        self._load = load

    def __getitem__(self, name: str) -> bytes:
        if name not in self._names:
            raise KeyError(name)
        return self._load(name)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class ImagesWithoutTexts(LazyImages):
    """Images of which `without_texts` removes what may name a patient; `removed` lists it by name of those read."""

    def __init__(self, images: Mapping[str, bytes]) -> None:
        super().__init__(images, lambda name: self._cleaned(images[name], name))
        self.removed: dict[str, list[str]] = {}

    def _cleaned(self, content: bytes, name: str) -> bytes:
        cleaned, removed = without_texts(content, name)
        if removed:
            self.removed[name] = removed
        return cleaned

    def findings(self) -> list[Finding]:
        """Return how many of the images that were read held texts, and which kinds."""
        kinds = dict.fromkeys(kind for removed in self.removed.values() for kind in removed)
        shown = ", ".join([*kinds][:6]) + (", ..." if len(kinds) > 6 else "")
        problem = f"images held texts beside their pixels, which were removed ({shown})"
        return counted(len(self.removed), "warning", "images", problem, "look for patients' names in your originals")


class FolderImages(Mapping[str, bytes]):
    """The files of a folder as a mapping from name to bytes, read only when asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __getitem__(self, name: str) -> bytes:
        path = self.path(name)
        if not path.is_file():
            raise KeyError(name)
        return path.read_bytes()

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.path(name).is_file()

    def path(self, name: str) -> Path:
        """Return the file of an image, whose name a file system may have composed otherwise (NFC or NFD)."""
        path = inside(self.folder, name)
        if name.isascii() or path.is_file():
            return path
        others = (inside(self.folder, unicodedata.normalize(form, name)) for form in ("NFC", "NFD"))
        return next((other for other in others if other.is_file()), path)

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
    cases : DataFrame, one row a case (see `mrb_lib.tables.schema.CASES`)
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
        shown = dict.fromkeys(name for names in self.cases["images"] for name in names)
        size = pd.Series({name: sizes[name] for name in shown if sizes.get(name)})  # an empty file copies nothing
        first: dict[bytes, str] = {}
        alike = size.index[size.duplicated(keep=False)]
        bears = {name: first.setdefault(hashlib.blake2b(files[name]).digest(), name) for name in alike}
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
        tables = ("benchmark.toml", *TABLES)
        return self._digest((name, (self.folder / name).read_bytes()) for name in tables)

    def case_fingerprint(self) -> str:
        """SHA-256 over what a judge may see: ids, `SEEN_BY_JUDGES` and images; not annotations, and not the split."""
        stored = pq.ParquetFile(self.folder / "cases.parquet")
        visible = [name for name in ("case_id", *SEEN_BY_JUDGES) if name in stored.schema_arrow.names]
        values = ((name, stored.read(columns=[name]).column(0).to_pylist()) for name in visible)
        return self._digest((name, json.dumps(column, default=str).encode("ascii")) for name, column in values)

    @property
    def folder(self) -> Path:
        """Return the folder that the benchmark was loaded from; `InputError` where there is none."""
        if self.path is None:
            raise InputError(f"benchmark {self.meta.name}: has no folder yet; save it first.")
        return self.path

    def _digest(self, tables: Iterable[tuple[str, bytes]]) -> str:
        """Over tables, or columns of one, and the images."""
        images = ((f"images/{name}", self.images[name]) for name in self.images)
        digest = hashlib.sha256()
        for name, content in chain(tables, images):
            digest.update(name.encode("utf-8") + b"\0" + hashlib.blake2b(content, digest_size=16).digest())
        return digest.hexdigest()


def empty_annotations() -> pd.DataFrame:
    """An annotations table without rows."""
    return pd.DataFrame({name: pd.Series(dtype="str") for name in ("case_id", "annotator", "dimension", "choice")})


def open_parquet(path: Path) -> pq.ParquetFile:
    """Open a parquet file; raises `InputError` where it is missing, empty, damaged, or has two columns of one name."""
    try:
        file = pq.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False)
        names = file.schema_arrow.names
    except (pa.ArrowException, OSError) as error:
        raise _damaged(path, error) from error
    repeated = next((name for number, name in enumerate(names) if name in names[:number]), None)
    if repeated is not None:
        raise InputError(f"{path}, column {repeated}: the column occurs twice; remove one of the two.")
    return file


def _damaged(path: Path, error: Exception) -> InputError:
    what = f"is damaged: truncated, or not a parquet file of text ({str(error).strip()})"
    if not path.is_file() or path.stat().st_size == 0:
        what = "is empty" if path.is_file() else "the file is missing"
    return InputError(f"{path}: {what}; restore it from its source or import it again.")


def read_table(path: Path, columns: list[str] | None = None) -> pd.DataFrame:
    """Read one parquet file, the named index of one that pandas wrote among its columns.

    Parameters
    ----------
    columns : those to read; None reads all, once the digest is checked of a file that carries one

    Raises
    ------
    InputError
        As `open_parquet`, or a bit was flipped.
    """
    try:
        if columns is None:
            has_digest(path.read_bytes())
        table = open_parquet(path).read(columns=columns)
        table.validate(full=True)
        frame: pd.DataFrame = table.to_pandas()
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _damaged(path, error) from error
    stored = [name for name in frame.index.names if name in table.column_names and name not in frame]
    return frame.reset_index(stored) if stored else frame


def load(path: str | Path) -> Benchmark:
    """Load a benchmark folder; images stay on disk until they are asked for.

    Parameters
    ----------
    path : the folder that holds `benchmark.toml`

    Raises
    ------
    InputError
        The folder is not a benchmark, or a table is damaged or breaks its contract.
    """
    folder = Path(path)
    meta = read_meta(folder / "benchmark.toml")
    paths = [folder / name for name in TABLES]
    frames = [read_table(path) for path in paths]
    cases = meta.conform(frames[0], "cases", str(paths[0]))
    annotations = meta.conform(frames[1], "annotations", str(paths[1]))
    check_references(annotations, cases, str(paths[1]))
    return Benchmark(meta, cases, annotations, FolderImages(folder / "images"), folder)


def _as_parquet(table: str, frame: pd.DataFrame) -> bytes:
    """Return a table as a parquet file; `InputError` names the column that cannot be stored."""
    try:
        arrow = pa.Table.from_pandas(frame, preserve_index=False)
        # A column, or lists, without any value have a type all the same.
        concrete = {pa.null(): pa.large_string(), pa.list_(pa.null()): pa.list_(pa.string())}
        schema = pa.schema([one.with_type(concrete.get(one.type, one.type)) for one in arrow.schema])
        return with_digest(arrow.cast(schema))
    except (pa.ArrowException, OverflowError) as error:
        for name in frame if len(frame.columns) > 1 else ():
            _as_parquet(f"{table}, column {name}", frame[[name]])
        raise InputError(f"{table}: cannot be stored ({error}); make its values plain and alike.") from error


def write_images(cases: pd.DataFrame, images: Mapping[str, bytes], folder: Path) -> int:
    """Write the images that cases name into a folder; return how many there are not."""
    names = dict.fromkeys(name for row in cases["images"] for name in row)
    there = [name for name in names if name in images]
    for name in there:
        path = inside(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(images[name])
    return len(names) - len(there)


def save(benchmark: Benchmark, folder: Path) -> list[Finding]:
    """Write a benchmark into `folder`, and return what was removed from its images.

    Wrap it in `mrb_lib.tables.files.staged_folder` so that no half is ever seen. Texts beside the pixels of images,
    which may name a patient, are left out. An image that a case names and the benchmark lacks is left out, too; `mrb
    check` reports it.
    """
    meta, images = benchmark.meta, ImagesWithoutTexts(benchmark.images)
    cases = meta.conform(benchmark.cases, "cases", "cases")
    annotations = meta.conform(benchmark.annotations, "annotations", "annotations")
    check_references(annotations, cases, "annotations")
    tables = [_as_parquet(name, frame) for name, frame in (("cases", cases), ("annotations", annotations))]
    (folder / "images").mkdir(parents=True, exist_ok=True)
    write_images(cases, images, folder / "images")
    for name, table in zip(TABLES, tables, strict=True):
        (folder / name).write_bytes(table)
    write_meta(meta, folder / "benchmark.toml")
    return images.findings()
