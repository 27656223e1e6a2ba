"""What the search of the index looks through: the words of each page, figure, table and case."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from mrb_lib.report.html.pages import prose

if TYPE_CHECKING:
    from nbformat import NotebookNode

MOST_LETTERS = 20_000
_NAMES = ("judge", "judge_a", "judge_b", "group", "dimension", "subfield", "organ", "modality", "department")


def words(*texts: object) -> str:
    """Texts as the search compares them: on one line, small letters, compatible forms made one, not too long.

    Letters that no page can hold are left out.
    """
    joined = " ".join(str(text) for text in texts if text is not None)
    spaced = " ".join(unicodedata.normalize("NFKC", joined[:MOST_LETTERS]).split())
    return "".join(letter for letter in spaced if unicodedata.category(letter)[0] != "C").casefold()


def names_in(file: Path) -> str:
    """The names that a figure or table shows, such as its judges and organs, from its CSV, each once."""
    frame = pd.read_csv(file, usecols=lambda name: name in _NAMES, dtype="str")
    return words(*(str(text).replace("_", " ") for name in frame for text in frame[name].dropna().unique()))


def prose_words(notebook: NotebookNode) -> str:
    """All that the text cells of a notebook say, without their marks."""
    return words(*(prose(cell.source, {}).striptags() for cell in notebook.cells if cell.cell_type == "markdown"))
