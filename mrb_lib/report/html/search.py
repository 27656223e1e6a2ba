"""What the search of the index looks through: the words of each page, figure, table and case."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import cast

import pandas as pd
from markdown_it import MarkdownIt

from mrb_lib.report.clean import Json

MOST_LETTERS = 20_000
MOST_NAMES, LONGEST_NAME = 100, 80


def words(*texts: object) -> str:
    """Texts as the search compares them: on one line, small letters, compatible forms made one, not too long.

    Letters that no page can hold are left out.
    """
    joined = " ".join(str(text) for text in texts if text is not None)
    spaced = " ".join(unicodedata.normalize("NFKC", joined[:MOST_LETTERS]).split())
    return "".join(letter for letter in spaced if unicodedata.category(letter)[0] != "C").casefold()


def names_in(file: Path) -> str:
    """The names that a figure or table shows, such as its judges and organs: the texts of its CSV, each once.

    Of columns of more than `MOST_NAMES` different texts, which are sentences or ids, none.
    """
    frame = pd.read_csv(file, dtype_backend="pyarrow") if file.is_file() else pd.DataFrame()
    texts = [frame[name].dropna().unique() for name in frame.columns if pd.api.types.is_string_dtype(frame[name])]
    found = dict.fromkeys(str(text) for each in texts if len(each) <= MOST_NAMES for text in each)
    return words(*(text.replace("_", " ") for text in found if len(text) <= LONGEST_NAME))


def prose_words(notebook: Json) -> str:
    """All that the text cells of a notebook say, without their marks."""
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    texts = [
        "".join(cast(list[str], cell["source"]))
        for cell in cast(list[Json], notebook.get("cells", []))
        if cell["cell_type"] == "markdown"
    ]
    said = [
        child.content
        for text in texts
        for token in markdown.parse(text)
        for child in token.children or []
        if child.type in ("text", "code_inline")
    ]
    return words(*said)
