"""The static site: an index of all that was published, a page per notebook, chosen case, and figure that has cases.

It opens from disk. It needs no network and no file from outside its folder, and all of it can be read without a script;
the one script of a page, named by its hash, adds search, sorting and the view of images.

Nothing of a notebook's own HTML is taken: prose is Markdown without HTML, outputs are plain text, and figures, tables
and cases are the files that were published.
"""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import quote

import pandas as pd
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup
from PIL import Image

from mrb_lib.report.clean import Json, without_colours
from mrb_lib.report.html.case_pages import CasePage
from mrb_lib.report.places import simulated_note
from mrb_lib.report.provenance import Provenance
from mrb_lib.report.records import PageRecord
from mrb_lib.report.tabular import TEMPLATES, one_line, templates
from mrb_lib.review.case import SCRIPTS, STYLES
from mrb_lib.review.pages import csp_hash, visible
from mrb_lib.review.pages import script as script_of
from mrb_lib.review.pages import style as style_of

if TYPE_CHECKING:
    from jinja2 import Template
    from nbformat import NotebookNode

LEADERBOARD = "leaderboard"
MOST_LETTERS = 20_000
_NAMES = ("judge", "judge_a", "judge_b", "group", "dimension", "subfield", "organ", "modality", "department")
_SILENT = re.compile(r"^<.*>$", re.DOTALL)
_ANSWERS: Final = {
    "Which judge is best?": ("02_leaderboard",),
    "Can it be trusted?": ("03_human_level", "06_order_effects"),
    "Where does it fail?": ("05_subfields", "07_failures"),
}
"""The notebooks whose conclusions the index begins with."""


def look(styles: Sequence[str] = (), scripts: Sequence[str] = ()) -> dict[str, str]:
    """The style and the one script of a page that shows what these widgets' assets draw, and the script's hash.

    Parameters
    ----------
    styles, scripts : names of style sheets and scripts of `mrb_lib.review.pages`, such as "case/case"
    """
    own, does = ((TEMPLATES / name).read_text(encoding="utf-8") for name in ("style.css", "site.js"))
    script, style = f"{script_of(*scripts)}\n{does}", f"{style_of(*styles)}\n{own}"
    return {"style": Markup(style), "script": Markup(script), "script_hash": csp_hash(script)}  # noqa: S704  # our own


@dataclass(frozen=True)
class Content:
    """All that the pages show.

    Attributes
    ----------
    out : the report's folder, everything that the records list in place
    records : in the order to show them
    cases : the pages of cases
    named : the cases that lists name and that have no page: `case_id`, `question`, `place`
    """

    out: Path
    records: Sequence[PageRecord]
    made_from: Provenance
    cases: Sequence[CasePage] = ()
    named: Sequence[Mapping[str, str]] = ()

    @property
    def links(self) -> dict[str, str]:
        """The page of each notebook file."""
        return {f"{record.notebook}.ipynb": record.page for record in self.records}

    @cached_property
    def case_links(self) -> dict[str, str]:
        """Where each case that lists name is shown, relative to the report's folder."""
        others = {case["case_id"]: f"index.html#case-{place}" for place, case in enumerate(self.named, 1)}
        return others | {case.case_id: f"cases/{quote(case.name)}" for case in self.cases}

    @cached_property
    def notebooks(self) -> dict[str, NotebookNode]:
        """The executed notebook of each record, without cells where there is none."""
        import nbformat

        return {
            record.notebook: nbformat.read(self.out / name, as_version=4)  # type: ignore[no-untyped-call]
            if (name := executed_name(record))
            else nbformat.v4.new_notebook()  # type: ignore[no-untyped-call]
            for record in self.records
        }


def render(content: Content, *, pdf: str = "") -> Iterator[tuple[str, str]]:
    """Give each page of the site: its name, relative to the report's folder, and its text.

    Parameters
    ----------
    pdf : the name of the report as one PDF, for a link to it; empty where there is none

    Notes
    -----
    Validated by tests/report/test_site.py and tests/browser/test_site.py.
    """
    records, figures = content.records, [(record, item) for record in content.records for item in record.figures]
    behind = {str(item["id"]): cells_of(item, content.case_links) for _, item in figures}
    shared = {**shown_everywhere(content), "pdf": pdf, "look": look(), "up": "../", "behind": behind}
    page = template("page.html.jinja")
    for previous, record, following in zip([None, *records], records, [*records[1:], None], strict=False):
        shown = list(blocks(content.notebooks[record.notebook], record, content.links, content.case_links))
        opening = next((block for block in shown if block["kind"] == "figure" and block["id"] == LEADERBOARD), None)
        yield f"pages/{record.page}", page.render(
            shared, record=record, opening=opening, blocks=[block for block in shown if block is not opening],
            executed=executed_name(record), previous=previous, following=following,
        )  # fmt: skip
    cases, page = content.cases, template("case.html.jinja")
    of_cases = {**shared, "look": look(STYLES, SCRIPTS)}
    for place, (before, case, after) in enumerate(zip([None, *cases], cases, [*cases[1:], None], strict=False), 1):
        yield f"cases/{case.name}", page.render(of_cases, case=case, place=place, previous=before, following=after)
    page = template("behind.html.jinja")
    for record, figure in figures:
        if cells := behind[str(figure["id"])]:
            yield page_name(figure), page.render(shared, cells=cells, record=record, figure=figure)
    board = next(((record, item) for record in records for item in record.tables if item["id"] == LEADERBOARD), None)
    concluded = {each.notebook: each for each in records if conclusion(content.notebooks[each.notebook])}
    answers = [(asked, [concluded[name] for name in own if name in concluded]) for asked, own in _ANSWERS.items()]
    answers = [(asked, own) for asked, own in answers if own]
    yield (
        "index.html",
        template("index.html.jinja").render(
            shared,
            up="",
            answers=answers,
            answering=[record for _, own in answers for record in own],
            leaderboard_figure=next((item for _, item in figures if item["id"] == LEADERBOARD), None),
            leaderboard=board and (board[0], table_block(board[1], {})),
        ),
    )


def cells_of(figure: Json, cases: Mapping[str, str]) -> list[Json]:
    """The points or cells of a figure that lead somewhere, in the order they are drawn; empty where none does.

    Parameters
    ----------
    figure : its sidecar
    cases : where each case that it names is shown

    Returns
    -------
    list of dict
        `row` and `part` (a judge, and its subfield or dimension); `anchor`, where its list begins on the page of the
        figure; `stated`, how many cases there are, and of what; `n_listed`; `listed`, their ids, or the first of very
        many, each with where it is shown, empty for nowhere; `command`, which opens them for review, empty where no
        filter says which they are; `box` (left, top, width and height in the figure, in percent).
    """
    rows = cast(Sequence[Mapping[str, Any]], cast(Json, figure.get("behind") or {}).get("cells", ()))
    numbers: dict[tuple[str, str], int] = {}
    made = []
    for row in rows:
        part = str(row["dimension"] if row["subfield"] is None else row["subfield"])
        anchor = f"cell-{numbers.setdefault((row['row'], part), len(numbers) + 1)}"
        listed = [(case, cases.get(case, "")) for case in row["listed"]]
        command = f"mrb review BENCH RUNS --query {shlex.quote(row['query'])}" if row["query"] else ""
        box = [round(100 * share, 2) for share in row["box"]]
        made.append({**row, "part": part, "anchor": anchor, "listed": listed, "command": command, "box": box})
    return made


def page_name(figure: Json) -> str:
    """The page that lists the cases behind a figure, relative to the report's folder; its id is plain."""
    return f"behind/{figure['id']}.html"


def template(name: str) -> Template:
    """A template of the site, with the functions that it calls."""
    environment = templates()
    environment.globals |= {
        "base_name": lambda name: Path(name).name, "behind_page": page_name, "words": words,
        "conclusion": conclusion, "prose_words": prose_words,
    }  # fmt: skip
    environment.filters |= {
        "moment": lambda iso: iso[:16].replace("T", " ") + (" UTC" if iso else ""),
        "lowered": lowered,
    }
    return environment.get_template(name)


def shown_everywhere(content: Content) -> dict[str, object]:
    """Return what all templates are given, with what they ask of the report's files."""
    note = simulated_note(str(content.made_from.benchmark["name"]))
    return {
        "provenance": content.made_from,
        "records": content.records,
        "notebooks": content.notebooks,
        "made": max((record.made for record in content.records), default=""),
        "cases": content.cases,
        "named": content.named,
        "size_of": lambda name: _display_size(content.out / "figures" / Path(name).name),
        "names_in": lambda item, of: names_in(content.out / of / Path(item["files"]["csv"]).name),
        "without_note": lambda caption: str(caption).removeprefix(note).strip(),
    }


def executed_name(record: PageRecord) -> str:
    """The executed notebook of a record, relative to the report's folder; empty where there is none."""
    return next((name for name in record.files if name.startswith("executed/")), "")


def _display_size(png: Path) -> tuple[int, int]:
    """Width and height in CSS pixels at which a figure has its printed size; the raw size where it states none."""
    with Image.open(png) as image:
        scale = 96 / image.info.get("dpi", (96, 96))[0]
        return round(image.width * scale), round(image.height * scale)


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
    for place, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown":
            text = cell.source if place else without_title(cell.source)
            # A heading of the conclusion alone would stand above nothing.
            is_heading = text.lstrip().startswith("#") and "\n" not in text.strip()
            if text.strip() and not (is_heading and any(map(_answer, notebook.cells[place + 1 : place + 2]))):
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
    """Return what the notebook concludes: the text of its cell that is tagged so; empty where there is none."""
    return next(filter(None, map(_answer, notebook.cells)), "")


def _answer(cell: NotebookNode) -> str:
    """The text of a cell that is tagged as the conclusion and ran to its end; empty for all others."""
    if "conclusion" not in cell.metadata.get("tags", ()) or _failed(cell):
        return ""
    return " ".join(filter(None, (_printed(output, published=False) for output in cell.outputs)))


def _printed(output: NotebookNode, *, published: bool) -> str:
    """Return what an output says as plain text; empty for a bare object, and for what is shown as a figure or table."""
    if output.output_type == "stream":
        return without_colours(output.text).rstrip() if output.name == "stdout" else ""
    text = output.get("data", {}).get("text/plain", "")
    return "" if published or _SILENT.match(text.strip()) else without_colours(text)


def table_block(sidecar: Json, cases: Mapping[str, str]) -> Json:
    """A table as it is displayed: the first of its rows; the CSV has all of them at full precision."""
    return {**sidecar, "kind": "table", **cast(Json, sidecar["shown"]), "cases": cases}


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


def words(*texts: object) -> str:
    """Texts as the search compares them: on one line, small letters, compatible forms made one, not too long.

    Letters that no page can hold are left out.
    """
    joined = " ".join(str(text) for text in texts if text is not None)
    return one_line(unicodedata.normalize("NFKC", joined[:MOST_LETTERS])).casefold()


def names_in(file: Path) -> str:
    """The names that a figure or table shows, such as its judges and organs, from its CSV, each once."""
    frame = pd.read_csv(file, usecols=lambda name: name in _NAMES, dtype="str")
    return words(*(str(text).replace("_", " ") for name in frame for text in frame[name].dropna().unique()))


def prose_words(notebook: NotebookNode) -> str:
    """All that the text cells of a notebook say, without their marks."""
    return words(*(prose(cell.source, {}).striptags() for cell in notebook.cells if cell.cell_type == "markdown"))
