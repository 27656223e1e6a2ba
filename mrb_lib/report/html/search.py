"""What the search of the index looks through: the words of each page, figure, table and case."""

from __future__ import annotations

import unicodedata
from typing import cast

from markdown_it import MarkdownIt

from mrb_lib.report.clean import Json

MOST_LETTERS = 20_000


def words(*texts: object) -> str:
    """Texts as the search compares them: on one line, small letters, compatible forms made one, not too long.

    Letters that no page can hold are left out.
    """
    joined = " ".join(str(text) for text in texts if text is not None)
    spaced = " ".join(unicodedata.normalize("NFKC", joined[:MOST_LETTERS]).split())
    return "".join(letter for letter in spaced if unicodedata.category(letter)[0] != "C").casefold()


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
