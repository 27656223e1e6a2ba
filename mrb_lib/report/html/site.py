"""The static site: an index of all that was published, a page a notebook, a page a chosen case.

It opens from disk. It needs no network and no file from outside its folder, and all of it can be read without a script;
the one script of a page, named by its hash, adds search, sorting, filters, the theme and the view of images.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from mrb_lib.report.clean import Json
from mrb_lib.report.html.behind import cells_of, figures_with_cases, page_name
from mrb_lib.report.html.case_pages import FAILURES, CasePage
from mrb_lib.report.html.figures import write_if_changed
from mrb_lib.report.places import simulated_note
from mrb_lib.report.provenance import Provenance, template_hash
from mrb_lib.report.records import CACHE, PageRecord
from mrb_lib.review.bundle import csp_hash
from mrb_lib.review.bundle import script as script_of
from mrb_lib.review.bundle import style as style_of
from mrb_lib.review.case import SCRIPTS, STYLES
from mrb_lib.review.text import visible
from mrb_lib.tables.files import sha256_of, write_atomic

if TYPE_CHECKING:
    from jinja2 import Environment

STATE = ".site.json"
LEADERBOARD = "leaderboard"
TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True)
class Look:
    """The style and the one script of a page, and the hash that lets this script run and no other."""

    style: str
    script: str
    script_hash: str


def look(styles: Sequence[str] = (), scripts: Sequence[str] = ()) -> Look:
    """The look of a page that shows what these widgets' assets draw.

    Parameters
    ----------
    styles, scripts : names of style sheets and scripts of `mrb_lib.review.bundle`, such as "case/case"
    """
    from markupsafe import Markup

    own, does = ((TEMPLATES / name).read_text(encoding="utf-8") for name in ("style.css", "site.js"))
    script = f"{script_of(*scripts)}\n{does}"
    style = f"{style_of(*styles)}\n{own}"
    return Look(Markup(style), Markup(script), csp_hash(script))  # noqa: S704  # our own files


@dataclass(frozen=True)
class Content:
    """All that the pages show.

    Attributes
    ----------
    out : the report's folder
    cases : the pages of cases
    pdf : the name of the report as one PDF, beside the index; empty where there is none
    """

    out: Path
    records: Sequence[PageRecord]
    made_from: Provenance
    cases: Sequence[CasePage] = ()
    pdf: str = ""
    notebooks: dict[str, Json] = field(default_factory=dict)

    def links(self) -> dict[str, str]:
        """The page of each notebook file."""
        return {f"{record.notebook}.ipynb": record.page for record in self.records}

    def case_links(self) -> dict[str, str]:
        """The page of each case that has one."""
        return {case.case_id: case.name for case in self.cases}

    def executed(self, record: PageRecord) -> Json:
        """The executed notebook of a record, read once."""
        if record.notebook not in self.notebooks:
            name = executed_name(record)
            self.notebooks[record.notebook] = (
                cast(Json, json.loads((self.out / name).read_text(encoding="utf-8"))) if name else {}
            )
        return self.notebooks[record.notebook]


def write(
    out: Path,
    records: Sequence[PageRecord],
    made_from: Provenance,
    *,
    most: int,
    cases: Callable[[], Sequence[CasePage]],
    pdf: str = "",
) -> set[str]:
    """Write the pages whose content changed.

    Parameters
    ----------
    out : the report's folder, everything that the records list in place
    records : in the order to show them
    most : how many cases have a page, at most
    cases : makes them; asked only where something changed
    pdf : the name of the report as one PDF, for a link to it

    Returns
    -------
    set of str
        The pages of the site, relative to `out`.

    Notes
    -----
    Validated by tests/report/test_site.py, tests/browser/test_site.py and tests/browser/test_site_pages.py.
    """
    key = _key(records, made_from, most, pdf)
    state = _read_state(out)
    if state.get("key") == key:
        written = cast(dict[str, str], state["files"])
        if all((out / name).is_file() and sha256_of(out / name) == sha for name, sha in written.items()):
            return set(written)
    content = Content(out, records, made_from, cases(), pdf)
    pages = dict(_render(content))
    for name, text in pages.items():
        write_if_changed(out / name, text)
    files = {name: sha256_of(out / name) for name in pages}
    write_atomic(out / CACHE / STATE, json.dumps({"key": key, "files": files}, indent=1) + "\n")
    return set(pages)


def _key(records: Sequence[PageRecord], made_from: Provenance, most: int, pdf: str) -> str:
    everything = [[asdict(record) for record in records], made_from.key(), template_hash(), most, pdf]
    return hashlib.sha256(json.dumps(everything, sort_keys=True).encode()).hexdigest()


def _read_state(out: Path) -> Json:
    """What was written last; empty where that is not known, so that everything is written again."""
    try:
        state = json.loads((out / CACHE / STATE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return state if isinstance(state, dict) and isinstance(state.get("files"), dict) else {}


def _render(content: Content) -> Iterator[tuple[str, str]]:
    from mrb_lib.report.html.pages import blocks, conclusion, lead, table_block
    from mrb_lib.report.html.search import prose_words

    environment = templates()
    records, links, up = content.records, content.links(), "../"
    shared: dict[str, Any] = {**shown_everywhere(content), "look": look()}
    shared["behind"] = {str(item["id"]): cells_of(item, content.case_links()) for r in records for item in r.figures}
    page = environment.get_template("page.html.jinja")
    for index, record in enumerate(records):
        shown = list(blocks(content.executed(record), record, content.out, links, content.case_links()))
        opening = next((block for block in shown if block["kind"] == "figure" and block["id"] == LEADERBOARD), None)
        has_cases = any(block.get("beside") for block in shown)
        text = page.render(
            **{**shared, "look": look(STYLES)} if has_cases else shared,
            up=up,
            record=record,
            finding=conclusion(content.executed(record)),
            opening=opening,
            blocks=[block for block in shown if block is not opening],
            failures=_is_of_failures(record),
            executed=executed_name(record),
            **_neighbours(records, index),
        )
        yield f"pages/{record.page}", text
    case_page = environment.get_template("case.html.jinja")
    of_cases = {**shared, "look": look(STYLES, SCRIPTS)}
    for index, case in enumerate(content.cases):
        text = case_page.render(**of_cases, up=up, case=case, place=index + 1, **_neighbours(content.cases, index))
        yield f"cases/{case.name}", text
    listed = environment.get_template("behind.html.jinja")
    for record, figure in figures_with_cases(records):
        cells = shared["behind"][str(figure["id"])]
        yield page_name(figure), listed.render(**{**shared, "cells": cells}, up=up, record=record, figure=figure)
    from_index = {name: f"pages/{page_name}" for name, page_name in links.items()}
    leaderboard = next(((r, item) for r in records for item in r.tables if item["id"] == LEADERBOARD), None)
    yield (
        "index.html",
        environment.get_template("index.html.jinja").render(
            **shared,
            up="",
            leads={record.notebook: lead(content.executed(record), from_index) for record in records},
            answers={record.notebook: conclusion(content.executed(record)) for record in records},
            said={record.notebook: prose_words(content.executed(record)) for record in records},
            leaderboard_figure=next((item for r in records for item in r.figures if item["id"] == LEADERBOARD), None),
            leaderboard=leaderboard and (leaderboard[0], table_block(leaderboard[1], content.out, {})),
        ),
    )


@cache
def templates() -> Environment:
    """The templates, each compiled once: to do so takes longer than to fill all of them in."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # slow to import; not needed if nothing changed

    from mrb_lib.report.html.pages import lowered
    from mrb_lib.report.html.search import words

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, finalize=_shown,
    )  # fmt: skip
    environment.globals["base_name"] = lambda name: Path(name).name
    environment.globals["words"] = words
    environment.globals["behind_page"] = page_name
    environment.filters["moment"] = lambda iso: iso[:16].replace("T", " ") + (" UTC" if iso else "")
    environment.filters["lowered"] = lowered
    return environment


def _shown(value: object) -> object:
    """Text of a template's expression without what no page can hold; what is HTML already stays as it is."""
    return visible(value) if type(value) is str else value


def shown_everywhere(content: Content) -> dict[str, object]:
    """What all templates are given, with what they ask of the report's files."""
    from mrb_lib.report.html.search import names_in

    note = simulated_note(content.made_from.benchmark.name)
    return {
        "provenance": content.made_from,
        "records": content.records,
        "made": max((record.made for record in content.records), default=""),
        "cases": content.cases,
        "pdf": content.pdf,
        "size_of": lambda name: _display_size(content.out / "figures" / Path(name).name),
        "names_in": lambda item, of: names_in(content.out / of / Path(item["files"]["csv"]).name),
        "without_note": lambda caption: str(caption).removeprefix(note).strip(),
    }


def _neighbours(items: Sequence[PageRecord] | Sequence[CasePage], index: int) -> dict[str, object]:
    return {
        "previous": items[index - 1] if index else None,
        "following": items[index + 1] if index + 1 < len(items) else None,
    }


def _is_of_failures(record: PageRecord) -> bool:
    """Whether a notebook is the one about failures, whose page leads to the cases."""
    items = [*record.figures, *record.tables, *record.not_applicable]
    return any(str(item["id"]).startswith(FAILURES) for item in items)


def executed_name(record: PageRecord) -> str:
    """The executed notebook of a record, relative to the report's folder; empty where there is none."""
    return next((name for name in record.files if name.startswith("executed/")), "")


def _display_size(png: Path) -> tuple[int, int]:
    """Width and height in CSS pixels at which a figure has its printed size; the raw size where it states none."""
    data = png.read_bytes()
    width, height = struct.unpack(">II", data[16:24])
    start = data.find(b"pHYs", 0, 4096)
    if start < 0:
        return width, height
    per_metre = struct.unpack(">I", data[start + 4 : start + 8])[0]
    scale = 96 / (per_metre * 0.0254)
    return round(width * scale), round(height * scale)
