"""Public sets of questions about medical images, as they are published.

VQA-RAD (Lau et al. 2018, doi:10.1038/sdata.2018.251), SLAKE (Liu et al. 2021, arXiv:2102.09542), PMC-VQA (Zhang et al.
2023, arXiv:2305.10415) and OmniMedVQA (Hu et al. 2024, arXiv:2402.09181). The parquet files of the Hub are read by the
layout `huggingface`.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from mrb_lib.benchmarks.formats import SourceRow, read_json, read_rows
from mrb_lib.build.construct.layouts.base import SourceItem, image_in, layout, location, text_of

_SLAKE = ("train.json", "validate.json", "validation.json", "test.json")
_PMC = ("train.csv", "test.csv", "train_2.csv", "test_2.csv", "test_clean.csv")
_LETTERS = "ABCD"
_LEAD = re.compile(r"^\s*[A-D]\s*[:.)]\s*")


def _item(
    row: SourceRow,
    src: Path,
    folders: Sequence[Path],
    fields: tuple[str, str],
    reference: str | None,
    choices: Sequence[str | None] = (),
    item_id: str | None = None,
    **about: str,
) -> SourceItem:
    """Return an item; `fields` name the image and the question, `about` the field of each column of ours."""
    image, question = (text_of(row, name) for name in fields)
    return SourceItem(
        location(row, src),
        (image_in(folders, image),) if image else (),
        question,
        reference,
        tuple(choice for choice in choices if choice is not None) or None,
        item_id,
        {ours: text_of(row, *theirs.split()) for ours, theirs in about.items()},
    )


def _answer(row: SourceRow, *names: str) -> str | None:
    return text_of(row, *names, literal=True)


@layout(
    "vqa_rad",
    about="VQA-RAD: `VQA_RAD Dataset Public.json` and `VQA_RAD Image Folder/`",
    recognises=lambda src: src.is_dir() and any(src.glob("VQA_RAD*.json")),
    dataset="VQA-RAD",
    licence="CC0-1.0",
)
def read_vqa_rad(src: Path) -> Iterator[SourceItem]:
    """Read the published file."""
    folders = [src / "VQA_RAD Image Folder", src / "images", src]
    about = {"body_part": "image_organ organ", "question_type": "question_type"}
    for path in sorted(src.glob("VQA_RAD*.json")):
        for row in read_json(path):
            qid, fields = text_of(row, "qid"), ("image_name", "question")
            yield _item(row, src, folders, fields, _answer(row, "answer"), item_id=qid, **about)


@layout(
    "slake",
    about="SLAKE: `train.json`, `validate.json`, `test.json` and `imgs/xmlab*/source.jpg`",
    recognises=lambda src: (src / "imgs").is_dir() and any((src / name).is_file() for name in _SLAKE),
    dataset="SLAKE",
    licence="CC-BY-4.0",
)
def read_slake(src: Path) -> Iterator[SourceItem]:
    """Read the published files in both languages; an id is that of the file and the question in it."""
    about = {"body_part": "location", "modality": "modality", "question_type": "content_type", "language": "q_lang"}
    for path in (src / name for name in _SLAKE if (src / name).is_file()):
        for row in read_json(path):
            qid, fields = text_of(row, "qid"), ("img_name", "question")
            item_id = None if qid is None else f"{path.stem}-{qid}"
            yield _item(row, src, [src / "imgs", src], fields, _answer(row, "answer"), item_id=item_id, **about)


@layout(
    "omnimedvqa",
    about="OmniMedVQA: `QA_information/*/*.json` and `Images/`",
    recognises=lambda src: (src / "QA_information").is_dir(),
    dataset="OmniMedVQA",
)
def read_omnimedvqa(src: Path) -> Iterator[SourceItem]:
    """Read all sets, each with its own licence; which one an item comes from is its `source_set`."""
    about = {"modality": "modality_type modality", "question_type": "question_type", "source_set": "dataset"}
    for path in sorted((src / "QA_information").rglob("[!.]*.json")):
        for row in read_json(path):
            options = [_answer(row, f"option_{letter}") for letter in "ABCDE"]
            item_id, fields = text_of(row, "question_id"), ("image_path", "question")
            yield _item(row, src, [src, src / "Images"], fields, _answer(row, "gt_answer"), options, item_id, **about)


def _pmc_files(src: Path) -> list[Path]:
    paths = [src / name for name in _PMC] if src.is_dir() else [src]
    return [path for path in paths if path.is_file() and path.suffix == ".csv" and _is_pmc(path)]


def _is_pmc(path: Path) -> bool:
    with path.open(encoding="utf-8", errors="replace") as stream:
        head = stream.readline()
    return "Figure_path" in head and "Choice A" in head


@layout(
    "pmc_vqa",
    about="PMC-VQA: `train_2.csv`, `test_2.csv` and the like, with `images/` or `figures/`",
    recognises=lambda src: bool(_pmc_files(src)),
    dataset="PMC-VQA",
    licence="CC-BY-SA",
)
def read_pmc_vqa(src: Path) -> Iterator[SourceItem]:
    """Read every published CSV file that is there; of an answer that is a letter, the reference is its choice."""
    folder = src if src.is_dir() else src.parent
    folders = [folder / "images", folder / "images_2", folder / "figures", folder]
    for path in _pmc_files(src):
        for row in read_rows(path):
            options = (_answer(row, f"Choice {letter}") for letter in _LETTERS)
            choices = [None if option is None else _LEAD.sub("", option) for option in options]
            answer = text_of(row, "Answer_label") or _answer(row, "Answer") or ""
            if answer in [*_LETTERS]:
                reference = choices[_LETTERS.index(answer)]
            else:
                reference = _LEAD.sub("", _answer(row, "Answer") or "") or None
            yield _item(row, folder, folders, ("Figure_path", "question"), reference, choices)
