"""An executed notebook as the blocks of a page: prose, code, figures, tables, what was printed.

Nothing of a notebook's own HTML is taken: prose is Markdown without HTML, outputs are
plain text, figures, tables and cases are the files that were published.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import cast

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from mrb_lib.report.clean import Json, without_colours
from mrb_lib.report.records import PageRecord
from mrb_lib.report.tabular import TableText
from mrb_lib.review.page import body_of
from mrb_lib.review.text import visible

_SILENT = re.compile(r"^<.*>$", re.DOTALL)


def blocks(
    notebook: Json, record: PageRecord, out: Path, pages: Mapping[str, str], cases: Mapping[str, str] | None = None
) -> Iterator[Json]:
    """The blocks of a page, in order, each with its `kind`.

    Parameters
    ----------
    notebook : parsed JSON of the executed notebook, cleaned
    pages : the page of each notebook file, for links between notebooks
    cases : the page of each case that has one, for links from tables
    """
    published = {f"figures/{item['id']}": {**item, "kind": "figure"} for item in record.figures}
    published |= {f"tables/{item['id']}": table_block(item, out, cases or {}) for item in record.tables}
    absent = {str(item["id"]): {**item, "kind": "absent"} for item in record.not_applicable}
    first = True
    cells = cast(list[Json], notebook.get("cells", []))
    for cell, following in zip_longest(cells, cells[1:]):
        source = "".join(cast(list[str], cell["source"]))
        if cell["cell_type"] == "markdown":
            text = without_title(source) if first else source
            first = False
            # A heading of the conclusion alone would stand above nothing.
            if text.strip() and not (_is_heading(text) and following and _answer(following)):
                yield {"kind": "prose", "html": prose(text, pages)}
        elif cell["cell_type"] == "code":
            yield from _code(cell, source, published, absent)


def _is_heading(text: str) -> bool:
    return text.lstrip().startswith("#") and "\n" not in text.strip()


def _code(cell: Json, source: str, published: Mapping[str, Json], absent: Mapping[str, Json]) -> Iterator[Json]:
    outputs = cast(list[Json], cell.get("outputs", []))
    failed = any(output["output_type"] == "error" for output in outputs)
    metadata = cast(Json, cell["metadata"])
    tags = cast(list[str], metadata.get("tags", []))
    if _answer(cell):  # every page opens with it
        return
    # The defaults are left out: the cell papermill adds after them says what was used.
    if source.strip() and "parameters" not in tags:
        yield {
            "kind": "code",
            "source": source,
            "failed": failed,
            "parameters": bool({"injected-parameters", "options"} & {*tags}),
        }
    note = cast(Json, metadata.get("mrb", {}))
    if "not_applicable" in note:
        yield {"kind": "absent", "title": "", "reason": note["not_applicable"]}
        return
    names = cast(list[str], note.get("published", []))
    for name in names:
        if name in published:
            yield published[name]
        elif name.partition("/")[2] in absent:
            yield absent[name.partition("/")[2]]
    for output in outputs:
        if output["output_type"] == "error":
            yield {"kind": "error", "text": without_colours("\n".join(cast(list[str], output["traceback"])))}
        elif text := _printed(output, published=bool(names)):
            yield {"kind": "text", "text": text, "wrap": output["output_type"] == "stream"}
        elif not names and "text/html" in cast(Json, output.get("data", {})):
            yield {"kind": "elsewhere"}


def conclusion(notebook: Json) -> str:
    """What the notebook concludes: the text of its cell that is tagged so; empty where there is none."""
    cells = cast(list[Json], notebook.get("cells", []))
    return next(filter(None, map(_answer, cells)), "")


def _answer(cell: Json) -> str:
    """The text of a cell that is tagged as the conclusion and ran to its end; empty for all others."""
    outputs = cast(list[Json], cell.get("outputs", []))
    tagged = "conclusion" in cast(list[str], cast(Json, cell["metadata"]).get("tags", []))
    if not tagged or any(output["output_type"] == "error" for output in outputs):
        return ""
    return " ".join(filter(None, (_printed(output, published=False) for output in outputs)))


def _printed(output: Json, *, published: bool) -> str:
    """What an output says as plain text; empty for a bare object, and for what is shown as a figure or table."""
    if output["output_type"] == "stream":
        return without_colours("".join(cast(list[str], output["text"]))).rstrip() if output["name"] == "stdout" else ""
    text = "".join(cast(list[str], cast(Json, output.get("data", {})).get("text/plain", [])))
    return "" if published or _SILENT.match(text.strip()) else without_colours(text)


def table_block(sidecar: Json, out: Path, cases: Mapping[str, str]) -> Json:
    """A table as it is displayed: the first of its rows; the CSV has all of them at full precision."""
    shown = TableText.from_json(cast(Json, sidecar["shown"]))
    n_rows = cast(int, sidecar["n_rows"])
    more = {"more": n_rows - len(shown.rows), "n_rows": n_rows, "beside": _beside(sidecar, out)}
    return {**sidecar, "kind": "table", **shown.grid(cases), **more}


def _beside(sidecar: Json, out: Path) -> Markup:
    """The cases that were published with a table, from the page of their own; empty where there are none."""
    name = cast(dict[str, str], sidecar["files"]).get("html")
    if name is None:
        return Markup()
    page = (out / "tables" / Path(name).name).read_text(encoding="utf-8")
    return Markup(body_of(page))  # noqa: S704  # all text in it is escaped


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
    if Path(target).name in pages:
        token.attrs["href"] = pages[Path(target).name]
    elif target.startswith(("https://", "http://", "mailto:")):
        token.attrs["href"] = target
        token.attrs["rel"] = "noreferrer noopener"


def lead(notebook: Json, pages: Mapping[str, str]) -> Markup:
    """The first paragraph of the first text cell."""
    for cell in cast(list[Json], notebook.get("cells", [])):
        if cell["cell_type"] == "markdown":
            paragraph = without_title("".join(cast(list[str], cell["source"]))).strip().split("\n\n")[0]
            return prose(paragraph, pages) if paragraph and not paragraph.startswith("#") else Markup()
    return Markup()
