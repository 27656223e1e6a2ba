"""An executed notebook as the blocks of a page: prose, code, figures, tables, what was printed.

Nothing of a notebook's own HTML is taken: prose is Markdown without HTML, outputs are
plain text, figures and tables are the files that were published.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from mrb_lib.report.clean import Json, plain
from mrb_lib.report.records import Record

MAX_ROWS = 60
NOTHING = "\N{EN DASH}"
_SILENT = re.compile(r"^<.*>$", re.DOTALL)
_HIDDEN_COLUMNS = ("data_kind",)


def blocks(notebook: Json, record: Record, out: Path, pages: Mapping[str, str]) -> Iterator[Json]:
    """The blocks of a page, in order, each with its `kind`.

    Parameters
    ----------
    notebook : parsed JSON of the executed notebook, cleaned
    pages : the page of each notebook file, for links between notebooks
    """
    found = {f"figures/{item['id']}": _figure(item) for item in record.figures}
    found |= {f"tables/{item['id']}": _table(item, out) for item in record.tables}
    absent = {str(item["id"]): {**item, "kind": "absent"} for item in record.not_applicable}
    first = True
    for cell in cast(list[Json], notebook.get("cells", [])):
        source = "".join(cast(list[str], cell["source"]))
        if cell["cell_type"] == "markdown":
            text = without_title(source) if first else source
            first = False
            if text.strip():
                yield {"kind": "prose", "html": prose(text, pages)}
        elif cell["cell_type"] == "code":
            yield from _code(cell, source, found, absent)


def _code(cell: Json, source: str, found: Mapping[str, Json], absent: Mapping[str, Json]) -> Iterator[Json]:
    outputs = cast(list[Json], cell.get("outputs", []))
    failed = any(output["output_type"] == "error" for output in outputs)
    metadata = cast(Json, cell["metadata"])
    tags = cast(list[str], metadata.get("tags", []))
    # The defaults are left out: the cell papermill adds after them says what was used.
    if source.strip() and "parameters" not in tags:
        yield {"kind": "code", "source": source, "failed": failed, "parameters": "injected-parameters" in tags}
    note = cast(Json, metadata.get("mrb", {}))
    names = cast(list[str], note.get("published", []))
    for name in names:
        if name in found:
            yield found[name]
        elif name.partition("/")[2] in absent:
            yield absent[name.partition("/")[2]]
    for output in outputs:
        if output["output_type"] == "error":
            yield {"kind": "error", "text": plain("\n".join(cast(list[str], output["traceback"])))}
        elif text := _printed(output, published=bool(names)):
            yield {"kind": "text", "text": text}


def _printed(output: Json, *, published: bool) -> str:
    """What an output says as plain text; empty for a bare object, and for what is shown as a figure or table."""
    if output["output_type"] == "stream":
        return plain("".join(cast(list[str], output["text"]))).rstrip() if output["name"] == "stdout" else ""
    text = "".join(cast(list[str], cast(Json, output.get("data", {})).get("text/plain", [])))
    return "" if published or _SILENT.match(text.strip()) else plain(text)


def _figure(sidecar: Json) -> Json:
    return {**sidecar, "kind": "figure"}


def _table(sidecar: Json, out: Path) -> Json:
    """A table as it is displayed: at most MAX_ROWS rows, numbers rounded; the CSV has everything."""
    path = out / "tables" / Path(cast(dict[str, str], sidecar["files"])["csv"]).name
    with path.open(encoding="utf-8", newline="") as stream:
        header, *rows = list(csv.reader(stream)) or [[]]
    shown = [i for i, name in enumerate(header) if name not in _HIDDEN_COLUMNS]
    columns = [_column(header[i], [row[i] if i < len(row) else "" for row in rows]) for i in shown]
    numeric = [all(_number(row[i]) is not None for row in rows if i < len(row) and row[i]) for i in shown]
    return {
        **sidecar,
        "kind": "table",
        "header": [header[i].replace("_", " ") for i in shown],
        "numeric": numeric,
        "rows": [list(row) for row in zip(*columns, strict=True)][:MAX_ROWS],
        "more": max(0, len(rows) - MAX_ROWS),
        "n_rows": len(rows),
    }


def _column(name: str, cells: list[str]) -> list[str]:
    numbers = [_number(cell) for cell in cells]
    if name.endswith("id") or any(number is None for number, cell in zip(numbers, cells, strict=True) if cell):
        return [cell or NOTHING for cell in cells]
    whole = all(number is None or number != number or number.is_integer() for number in numbers)
    return [_show(number, whole=whole, probability=name.startswith("p_")) for number in numbers]


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def _show(number: float | None, *, whole: bool, probability: bool) -> str:
    if number is None or number != number:
        return NOTHING
    if whole and not probability:
        return f"{number:.0f}"
    if probability and number < 0.001:
        return "<0.001"
    return f"{number:.3f}".replace("-0.000", "0.000")


def without_title(source: str) -> str:
    """The text of a first cell without its heading, which the page shows already."""
    stripped = source.lstrip()
    return stripped.partition("\n")[2] if stripped.startswith("# ") else source


def prose(source: str, pages: Mapping[str, str]) -> Markup:
    """Markdown as HTML. HTML in it is shown as text, images are not loaded.

    Links to other notebooks lead to their pages; of the others only http(s) and mailto are kept.
    """
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    tokens = markdown.parse(source)
    for token in tokens:
        if token.tag == "h1":  # a page has one, its title
            token.tag = "h2"
        for child in token.children or []:
            if child.type == "link_open":
                _mend_link(child, pages)
    return Markup(markdown.renderer.render(tokens, markdown.options, {}))  # noqa: S704  # rendered with HTML disabled


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
