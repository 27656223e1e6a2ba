"""OmniMedVQA, as published: JSON arrays under `QA_information/` and the images they name.

Hu et al. 2024, arXiv:2402.09181. Fields `dataset, question_id, question_type, question, gt_answer, image_path,
option_A, ..., option_D, modality_type` (one record says `modality`). The card states no licence: the questions are of
many sets, which have their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mrb_lib.benchmarks.formats import read_json_array
from mrb_lib.build.construct.layouts.base import SourceItem, image_in, layout, location, text_of


@layout(
    "omnimedvqa",
    about="OmniMedVQA: `QA_information/*/*.json` and `Images/`",
    recognises=lambda src: (src / "QA_information").is_dir(),
    dataset="OmniMedVQA",
)
def read(src: Path) -> Iterator[SourceItem]:
    """Read all sets; which one an item comes from is its `source_set`."""
    for path in sorted((src / "QA_information").rglob("[!.]*.json")):
        for row in read_json_array(path):
            name = text_of(row, "image_path")
            options = (text_of(row, f"option_{letter}", literal=True) for letter in "ABCDE")
            yield SourceItem(
                location(row, src),
                (image_in([src, src / "Images"], name),) if name else (),
                text_of(row, "question"),
                text_of(row, "gt_answer", literal=True),
                tuple(option for option in options if option is not None) or None,
                item_id=text_of(row, "question_id"),
                about={
                    "modality": text_of(row, "modality_type") or text_of(row, "modality"),
                    "question_type": text_of(row, "question_type"),
                    "source_set": text_of(row, "dataset"),
                },
            )
