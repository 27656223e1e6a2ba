"""VQA-RAD, as published on the Open Science Framework: one JSON array and a folder of images.

Lau et al. 2018, doi:10.1038/sdata.2018.251. Fields `qid, image_name, image_organ (HEAD, CHEST, ABD), question,
question_type, answer, answer_type`. The parquet files of the Hub are read by the layout `huggingface`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mrb_lib.benchmarks.formats import read_json_array
from mrb_lib.build.construct.layouts.base import SourceItem, image_in, layout, location, text_of


def _files(src: Path) -> list[Path]:
    return sorted(src.glob("VQA_RAD*.json")) if src.is_dir() else []


@layout(
    "vqa_rad",
    about="VQA-RAD: `VQA_RAD Dataset Public.json` and `VQA_RAD Image Folder/`",
    recognises=lambda src: bool(_files(src)),
    dataset="VQA-RAD",
    licence="CC0-1.0",
)
def read(src: Path) -> Iterator[SourceItem]:
    """Read the published file."""
    folders = [src / "VQA_RAD Image Folder", src / "images", src]
    for path in _files(src):
        for row in read_json_array(path):
            name = text_of(row, "image_name")
            yield SourceItem(
                location(row, src),
                (image_in(folders, name),) if name else (),
                text_of(row, "question"),
                text_of(row, "answer", literal=True),
                item_id=text_of(row, "qid"),
                about={
                    "body_part": text_of(row, "image_organ", "organ"),
                    "question_type": text_of(row, "question_type"),
                },
            )
