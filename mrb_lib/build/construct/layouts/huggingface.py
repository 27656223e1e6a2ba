"""A folder of a Hugging Face dataset: parquet shards that hold the images, or images with a `metadata` file.

The columns are `image` (or `images`), `question`, `answer`; others are read with `--map`. Nothing of the folder is run,
and nothing downloaded.
"""

from collections.abc import Iterator
from pathlib import Path

from mrb_lib.build.construct.layouts.base import SourceItem, layout
from mrb_lib.build.construct.layouts.table import item_of, rows_of

_METADATA = ("metadata.csv", "metadata.jsonl", "metadata.parquet")


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
        for row in rows_of(path):
            yield item_of(row, src, [path.parent, src], about)
    for path in _metadata(src) if not _shards(src) else ():
        for row in rows_of(path):
            yield item_of(row, src, [path.parent], about)
