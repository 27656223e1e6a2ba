"""SLAKE, as published: `train.json`, `validate.json`, `test.json` and `imgs/`.

Liu et al. 2021, arXiv:2102.09542. Fields `qid, img_name, question, answer, q_lang (en, zh), location, modality,
content_type, answer_type`. Both languages are read; `q_lang` stays a column that `--where` can choose by.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mrb_lib.benchmarks.formats import read_json_array
from mrb_lib.build.construct.layouts.base import SourceItem, image_in, layout, location, text_of

_FILES = ("train.json", "validate.json", "validation.json", "test.json")


@layout(
    "slake",
    about="SLAKE: `train.json`, `validate.json`, `test.json` and `imgs/xmlab*/source.jpg`",
    recognises=lambda src: (src / "imgs").is_dir() and any((src / name).is_file() for name in _FILES),
    dataset="SLAKE",
    licence="CC-BY-4.0",
)
def read(src: Path) -> Iterator[SourceItem]:
    """Read the published files; an id is that of the file and the question in it."""
    for path in (src / name for name in _FILES if (src / name).is_file()):
        for row in read_json_array(path):
            name, qid = text_of(row, "img_name"), text_of(row, "qid")
            yield SourceItem(
                location(row, src),
                (image_in([src / "imgs", src], name),) if name else (),
                text_of(row, "question"),
                text_of(row, "answer", literal=True),
                item_id=None if qid is None else f"{path.stem}-{qid}",
                about={
                    "body_part": text_of(row, "location"),
                    "modality": text_of(row, "modality"),
                    "question_type": text_of(row, "content_type"),
                    "language": text_of(row, "q_lang"),
                },
            )
