"""Our own table of items beside its images, or a folder of images with any one file of questions.

A row is an item: `images` (or `image`, `file_name`; names between semicolons, relative to the file or to `images/`; a
name of a folder stands for the images in it, such as a DICOM series), `question`, `reference` (or `answer`), `choices`
(or `options`), `item_id`, and what is known of it: organ, department, modality, body_part, ... Other names are read
with `--map theirs=ours`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from mrb_lib.benchmarks.benchmark import open_parquet
from mrb_lib.benchmarks.formats import SourceRow, column_map, read_rows
from mrb_lib.benchmarks.formats.sources import column_key
from mrb_lib.build.construct.layouts.base import (
    SourceImage,
    SourceItem,
    image_in,
    layout,
    location,
    places,
    text_of,
    texts_of,
)
from mrb_lib.build.construct.tables import ABOUT
from mrb_lib.tables.errors import InputError

SUFFIXES = (".csv", ".tsv", ".xlsx", ".jsonl", ".json", ".parquet")
_BATCH = 64
_NAMES = ("items", "questions", "cases")
_STATED = (*(name for name in ABOUT if name not in ("source", "cluster")), "body_part")


@layout(
    "table",
    about="a table of items (items.csv, .tsv, .xlsx, .jsonl, .json or .parquet) or any one file of questions",
    recognises=lambda src: False,
)
def read(src: Path) -> Iterator[SourceItem]:
    """Read the table; `src` is the file, or the folder that holds it."""
    path = _table(src)
    folder = path.parent
    for row in rows_of(path):
        yield item_of(row, folder, [folder, folder / "images"], {})


def _table(src: Path) -> Path:
    """The file of questions."""
    if src.is_file():
        if src.suffix.lower() not in SUFFIXES:
            raise InputError(f"{src}: is not a table; give a file that ends in {', '.join(SUFFIXES)}.")
        return src
    files = sorted(path for path in src.glob("[!.~]*") if path.suffix.lower() in SUFFIXES)
    found = [path for name in _NAMES for path in files if path.stem == name] or files
    if not found:
        raise InputError(f"{src}: holds no file of questions ({', '.join(SUFFIXES)}); add questions.csv.")
    if len(found) > 1:
        others = " and ".join(path.name for path in found[:2])
        raise InputError(f"{src}: {others} could both be the questions; give the path of the one you mean.")
    return found[0]


def rows_of(path: Path) -> Iterator[SourceRow]:
    """The rows of a table, with the names that `--map` gives their columns; of a parquet file, some at a time."""
    if path.suffix.lower() != ".parquet":
        yield from read_rows(path, decimal_points=True)
        return
    try:
        source = open_parquet(path)
        renames = column_map().of(source.schema_arrow.names, path)
        records = (record for batch in source.iter_batches(batch_size=_BATCH) for record in batch.to_pylist())
        for number, record in enumerate(records, start=1):
            yield SourceRow(str(path), f"row {number}", record).under(renames)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path}: cannot be read ({error}); restore it from its source.") from error


def item_of(row: SourceRow, src: Path, folders: Sequence[Path], about: Mapping[str, str | None]) -> SourceItem:
    """The item of a row of our own columns.

    Parameters
    ----------
    folders : where its images are looked for, unless the row holds them itself
    about : what holds unless the row says otherwise
    """
    spelled = {column_key(name): value for name, value in row.values.items()}
    row = replace(row, values={**spelled, **row.values})
    names = texts_of(row, "images", "image", "file_name") or ()
    stated = {name: text_of(row, name) for name in (*_STATED, "cluster")}
    return SourceItem(
        location(row, src),
        _pictures(row) or tuple(image for name in names for image in _images(folders, name)),
        text_of(row, "question"),
        text_of(row, "reference", "answer", literal=True),
        texts_of(row, "choices", "options"),
        text_of(row, "item_id", "case_id"),
        {**about, **{name: value for name, value in stated.items() if value is not None}},
    )


def _pictures(row: SourceRow) -> tuple[SourceImage, ...]:
    """The images that a row holds as the library `datasets` stores them; none where it names files."""
    value = row.values.get("image") or row.values.get("images")
    cells = [cell if isinstance(cell, dict) else {} for cell in (value if isinstance(value, list) else [value])]
    if not all(isinstance(cell.get("bytes"), bytes) for cell in cells):
        return ()
    return tuple(
        SourceImage(str(cell.get("path") or f"image of {row.location}"), content=cell["bytes"]) for cell in cells
    )


def _natural(path: Path) -> tuple[list[str | int], str]:
    parts = re.split(r"(\d+)", path.name)
    return [int(part) if part.isdecimal() else part.casefold() for part in parts], path.name


def _images(folders: Sequence[Path], name: str) -> Iterator[SourceImage]:
    """Yield the image of a name, or all of a folder in the order of their names, numbers by size: 2 before 10."""
    found = ((folder, path) for folder in folders for path in places([folder], name))
    series = next((path for folder, path in found if path.is_dir() and path != folder), None)
    if series is None:
        yield image_in(folders, name)
    else:
        files = sorted(filter(Path.is_file, series.iterdir()), key=_natural)
        yield from (SourceImage(f"{name}/{each.name}", each) for each in files)
