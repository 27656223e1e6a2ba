"""An executed notebook as the blocks of a page: prose, code, figures, tables, printed text; and the words to search.

Nothing of a notebook's own HTML is taken: prose is Markdown without HTML, outputs are
plain text, figures, tables and cases are the files that were published.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, cast

import pandas as pd
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from mrb_lib.report.clean import Json, without_colours
from mrb_lib.report.records import PageRecord
from mrb_lib.report.tabular import TableText
from mrb_lib.review.text import visible

if TYPE_CHECKING:
    from nbformat import NotebookNode

MOST_LETTERS = 20_000
_NAMES = ("judge", "judge_a", "judge_b", "group", "dimension", "subfield", "organ", "modality", "department")
_SILENT = re.compile(r"^<.*>$", re.DOTALL)


def blocks(
    notebook: NotebookNode, record: PageRecord, pages: Mapping[str, str], cases: Mapping[str, str]
) -> Iterator[Json]:
    """The blocks of a page, in order, each with its `kind`.

    Parameters
    ----------
    notebook : the executed notebook, cleaned
    pages : the page of each notebook file, for links between notebooks
    cases : the page of each case that has one, for links from tables
    """
    published = {f"figures/{item['id']}": {**item, "kind": "figure"} for item in record.figures}
    published |= {f"tables/{item['id']}": table_block(item, cases) for item in record.tables}
    first = True
    for cell, following in zip_longest(notebook.cells, notebook.cells[1:]):
        if cell.cell_type == "markdown":
            text = without_title(cell.source) if first else cell.source
            first = False
            # A heading of the conclusion alone would stand above nothing.
            is_heading = text.lstrip().startswith("#") and "\n" not in text.strip()
            if text.strip() and not (is_heading and following and _answer(following)):
                yield {"kind": "prose", "html": prose(text, pages)}
        elif cell.cell_type == "code" and not _answer(cell):  # every page opens with the answer
            yield from _code(cell, published)


def _code(cell: NotebookNode, published: Mapping[str, Json]) -> Iterator[Json]:
    tags, note = {*cell.metadata.get("tags", ())}, cell.metadata.get("mrb", {})
    # The defaults are left out: the cell papermill adds after them says what was used.
    if cell.source.strip() and "parameters" not in tags:
        parameters = bool({"injected-parameters", "options"} & tags)
        yield {"kind": "code", "source": cell.source, "failed": _failed(cell), "parameters": parameters}
    if "not_applicable" in note:
        yield {"kind": "absent", "reason": note["not_applicable"]}
        return
    names = note.get("published", ())
    yield from (published[name] for name in names if name in published)
    for output in cell.outputs:
        if output.output_type == "error":
            yield {"kind": "error", "text": without_colours("\n".join(output.traceback))}
        elif text := _printed(output, published=bool(names)):
            yield {"kind": "text", "text": text, "wrap": output.output_type == "stream"}
        elif "text/html" in output.get("data", ()) and not (names and _printed(output, published=False)):
            yield {"kind": "elsewhere"}


def _failed(cell: NotebookNode) -> bool:
    return any(output.output_type == "error" for output in cell.outputs)


def conclusion(notebook: NotebookNode) -> str:
    """What the notebook concludes: the text of its cell that is tagged so; empty where there is none."""
    return next(filter(None, map(_answer, notebook.cells)), "")


def _answer(cell: NotebookNode) -> str:
    """The text of a cell that is tagged as the conclusion and ran to its end; empty for all others."""
    if "conclusion" not in cell.metadata.get("tags", ()) or _failed(cell):
        return ""
    return " ".join(filter(None, (_printed(output, published=False) for output in cell.outputs)))


def _printed(output: NotebookNode, *, published: bool) -> str:
    """What an output says as plain text; empty for a bare object, and for what is shown as a figure or table."""
    if output.output_type == "stream":
        return without_colours(output.text).rstrip() if output.name == "stdout" else ""
    text = output.get("data", {}).get("text/plain", "")
    return "" if published or _SILENT.match(text.strip()) else without_colours(text)


def table_block(sidecar: Json, cases: Mapping[str, str]) -> Json:
    """A table as it is displayed: the first of its rows; the CSV has all of them at full precision."""
    shown = TableText.from_json(cast(Json, sidecar["shown"]))
    more = cast(int, sidecar["n_rows"]) - len(shown.rows)
    return {**sidecar, "kind": "table", **shown.grid(cases), "more": more}


def without_title(source: str) -> str:
    """The text of a first cell without its heading, which the page shows already."""
    stripped = source.lstrip()
    return stripped.partition("\n")[2] if stripped.startswith("# ") else source


def prose(source: str, pages: Mapping[str, str]) -> Markup:
    """Markdown as HTML. HTML in it is shown as text, images are not loaded.

    Links to other notebooks lead to their pages; of the others only http(s) and mailto are kept.
    """
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    tokens = markdown.parse(visible(source))
    for token in tokens:
        if token.tag == "h1":  # a page has one, its title
            token.tag = "h2"
        if token.type == "th_open":
            token.attrs["scope"] = "col"
        for child in token.children or []:
            if child.type == "link_open":
                _mend_link(child, pages)
    return Markup(markdown.renderer.render(tokens, markdown.options, {}))  # noqa: S704  # rendered with HTML disabled


def lowered(html: Markup) -> Markup:
    """Prose or a case with its headings a level lower, for a page on which what it belongs to has an h2."""
    turned = re.sub(r"<(/?)h([2-5])(?=[ >])", lambda tag: f"<{tag[1]}h{int(tag[2]) + 1}", html)
    return Markup(turned)  # noqa: S704  # all text in it is escaped, so that only its own tags are met


def _mend_link(token: Token, pages: Mapping[str, str]) -> None:
    target = str(token.attrs.pop("href", ""))
    if PurePath(target).name in pages:
        token.attrs["href"] = pages[PurePath(target).name]
    elif target.startswith(("https://", "http://", "mailto:")):
        token.attrs["href"] = target
        token.attrs["rel"] = "noreferrer noopener"


def lead(notebook: NotebookNode, pages: Mapping[str, str]) -> Markup:
    """The first paragraph of the first text cell."""
    first = next((cell.source for cell in notebook.cells if cell.cell_type == "markdown"), "")
    paragraph = without_title(first).strip().split("\n\n")[0]
    return prose("" if paragraph.startswith("#") else paragraph, pages)


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
