"""A folder of a Hugging Face dataset: parquet shards that hold the images, or images with a `metadata` file.

The columns are `image` (or `images`), `question`, `answer`; others are read with `--map`. Nothing of the folder is run,
and nothing downloaded.
"""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from mrb_lib.benchmarks.formats import SourceRow
from mrb_lib.benchmarks.formats.mapping import column_map
from mrb_lib.build.construct.layouts.base import SourceImage, SourceItem, layout
from mrb_lib.build.construct.layouts.table import item_of, rows_of
from mrb_lib.tables.errors import InputError

_METADATA = ("metadata.csv", "metadata.jsonl", "metadata.parquet")
_BATCH = 64


def _shards(src: Path) -> list[Path]:
    if not src.is_dir():
        return []
    paths = sorted(
        {path for name in ("[!.]*-of-*", "data/[!.]*", "*/[!.]*-of-*") for path in src.glob(f"{name}.parquet")}
    )
    return [path for path in paths if path.name not in _METADATA]


def _metadata(src: Path) -> list[Path]:
    return sorted(path for name in _METADATA for path in src.rglob(name)) if src.is_dir() else []


@layout(
    "huggingface",
    about="a Hugging Face dataset folder: `data/*.parquet` with images in it, or an image folder with `metadata.csv`",
    recognises=lambda src: bool(_shards(src) or _metadata(src)),
)
def read(src: Path) -> Iterator[SourceItem]:
    """Read the shards, some rows at a time, or the metadata files."""
    about = {"dataset": src.resolve().name}
    for path in _shards(src):
        for row in _parquet_rows(path):
            yield item_of(row, src, [path.parent, src], about, pictures=_pictures(row))
    for path in _metadata(src) if not _shards(src) else ():
        for row in rows_of(path):
            yield item_of(row, src, [path.parent], about)


def _parquet_rows(path: Path) -> Iterator[SourceRow]:
    try:
        source = pq.ParquetFile(path)
        columns = column_map()
        renames = columns.of(source.schema_arrow.names, path)
        number = 0
        for batch in source.iter_batches(batch_size=_BATCH):
            for record in batch.to_pylist():
                number += 1
                yield SourceRow(str(path), f"row {number}", record).under(renames)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path}: cannot be read ({error}); download it again.") from error


def _pictures(row: SourceRow) -> tuple[SourceImage, ...] | None:
    """The images that a row holds as the library `datasets` stores them; None where it names files."""
    value = row.values.get("image") or row.values.get("images")
    cells = value if isinstance(value, list) else [value]
    pictures = []
    for cell in cells:
        content = cell.get("bytes") if isinstance(cell, dict) else None
        if not isinstance(cell, dict) or not isinstance(content, bytes):
            return None
        pictures.append(SourceImage(str(cell.get("path") or f"image of {row.location}"), content=content))
    return tuple(pictures)
