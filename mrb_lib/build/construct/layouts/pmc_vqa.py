"""PMC-VQA, as published on the Hub: CSV files and the figures they name.

Zhang et al. 2023, arXiv:2305.10415. Columns `Figure_path, Question, Answer, Choice A, ..., Choice D`, and in the first
version `Answer_label`. Where the answer is a letter, the reference is the choice that it names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from mrb_lib.benchmarks.formats import csv_records
from mrb_lib.build.construct.layouts.base import SourceItem, image_in, layout, location, text_of

_NAMES = ("train.csv", "test.csv", "train_2.csv", "test_2.csv", "test_clean.csv")
_LETTERS = "ABCD"
_LEAD = re.compile(r"^\s*[A-D]\s*[:.)]\s*")


def _files(src: Path) -> list[Path]:
    paths = [src / name for name in _NAMES] if src.is_dir() else [src]
    return [path for path in paths if path.is_file() and path.suffix == ".csv" and _is_one(path)]


def _is_one(path: Path) -> bool:
    with path.open(encoding="utf-8", errors="replace") as stream:
        head = stream.readline()
    return "Figure_path" in head and "Choice A" in head


@layout(
    "pmc_vqa",
    about="PMC-VQA: `train_2.csv`, `test_2.csv` and the like, with `images/` or `figures/`",
    recognises=lambda src: bool(_files(src)),
    dataset="PMC-VQA",
    licence="CC-BY-SA",
)
def read(src: Path) -> Iterator[SourceItem]:
    """Read every published CSV file that is there."""
    folder = src if src.is_dir() else src.parent
    folders = [folder / "images", folder / "images_2", folder / "figures", folder]
    for path in _files(src):
        for row in csv_records(path, ("Figure_path", "Question", "Answer")):
            name = text_of(row, "Figure_path")
            options = [text_of(row, f"Choice {letter}", literal=True) for letter in _LETTERS]
            choices = [None if option is None else _LEAD.sub("", option) for option in options]
            yield SourceItem(
                location(row, folder),
                (image_in(folders, name),) if name else (),
                text_of(row, "Question"),
                _reference(text_of(row, "Answer_label"), text_of(row, "Answer", literal=True), choices),
                tuple(choice for choice in choices if choice is not None) or None,
            )


def _reference(label: str | None, answer: str | None, choices: list[str | None]) -> str | None:
    letter = label or answer
    if letter in tuple(_LETTERS):
        return choices[_LETTERS.index(letter)]
    return None if answer is None else _LEAD.sub("", answer)
