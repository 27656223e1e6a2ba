"""The static site: an index of all that was published, a page per notebook, chosen case, and figure that has cases.

It opens from disk. It needs no network and no file from outside its folder, and all of it can be read without a script;
the one script of a page, named by its hash, adds search, sorting, filters, the theme and the view of images.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import quote

from PIL import Image

from mrb_lib.report.clean import Json
from mrb_lib.report.html.case_pages import FAILURES, CasePage
from mrb_lib.report.places import simulated_note
from mrb_lib.report.provenance import Provenance
from mrb_lib.report.records import PageRecord
from mrb_lib.report.tabular import TEMPLATES, templates
from mrb_lib.review.bundle import csp_hash
from mrb_lib.review.bundle import script as script_of
from mrb_lib.review.bundle import style as style_of
from mrb_lib.review.case import SCRIPTS, STYLES

if TYPE_CHECKING:
    from jinja2 import Template
    from nbformat import NotebookNode

LEADERBOARD = "leaderboard"
NAMED: Final = "behind/all_cases.html"  # no figure has an underscore in its id
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
    styles, scripts : names of style sheets and scripts of `mrb_lib.review.bundle`, such as "case/case"
    """
    from markupsafe import Markup

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

    def links(self, folder: str = "") -> dict[str, str]:
        """The page of each notebook file."""
        return {f"{record.notebook}.ipynb": f"{folder}{record.page}" for record in self.records}

    @property
    def case_links(self) -> dict[str, str]:
        """Where each case that lists name is shown, relative to the report's folder."""
        others = {case["case_id"]: f"{NAMED}#case-{place}" for place, case in enumerate(self.named, 1)}
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
    Validated by tests/report/test_site.py, tests/browser/test_site.py and tests/browser/test_site_pages.py.
    """
    from mrb_lib.report.html.pages import blocks, conclusion, table_block

    records, figures = content.records, [(record, item) for record in content.records for item in record.figures]
    behind = {str(item["id"]): cells_of(item, content.case_links) for _, item in figures}
    shared = {**shown_everywhere(content), "pdf": pdf, "look": look(), "up": "../", "behind": behind}
    page = template("page.html.jinja")
    for previous, record, following in zip([None, *records], records, [*records[1:], None], strict=False):
        shown = list(blocks(content.notebooks[record.notebook], record, content.links(), content.case_links))
        opening = next((block for block in shown if block["kind"] == "figure" and block["id"] == LEADERBOARD), None)
        published = [*record.figures, *record.tables, *record.not_applicable]
        yield f"pages/{record.page}", page.render(
            shared, record=record, opening=opening, blocks=[block for block in shown if block is not opening],
            failures=any(str(item["id"]).startswith(FAILURES) for item in published),
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
    if content.named:
        yield NAMED, template("all_cases.html.jinja").render(shared)
    board = next(((record, item) for record in records for item in record.tables if item["id"] == LEADERBOARD), None)
    concluded = {each.notebook: each for each in records if conclusion(content.notebooks[each.notebook])}
    answers = [(asked, [concluded[name] for name in own if name in concluded]) for asked, own in _ANSWERS.items()]
    answers = [(asked, own) for asked, own in answers if own]
    yield (
        "index.html",
        template("index.html.jinja").render(
            shared,
            up="",
            from_index=content.links("pages/"),
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
    names, parts = (list(dict.fromkeys(values)) for values in (map(_row, rows), map(_part, rows)))
    return [
        {
            **row,
            "row": _row(row),
            "part": _part(row),
            "anchor": f"cell-{names.index(_row(row)) + 1}-{parts.index(_part(row)) + 1}",
            "listed": [(case, cases.get(case, "")) for case in row["listed"]],
            "command": f"mrb review BENCH RUNS --query {shlex.quote(row['query'])}" if row["query"] else "",
            "box": [round(100 * share, 2) for share in row["box"]],
        }
        for row in rows
    ]


def _row(row: Mapping[str, Any]) -> str:
    return str(row["row"])


def _part(row: Mapping[str, Any]) -> str:
    return str(row["dimension"] if row["subfield"] is None else row["subfield"])


def page_name(figure: Json) -> str:
    """The page that lists the cases behind a figure, relative to the report's folder; its id is plain."""
    return f"behind/{figure['id']}.html"


def template(name: str) -> Template:
    """A template of the site, with the functions that it calls."""
    from mrb_lib.report.html.pages import conclusion, lead, lowered, prose_words, words

    environment = templates()
    environment.globals |= {
        "base_name": lambda name: Path(name).name, "behind_page": page_name, "words": words, "lead": lead,
        "conclusion": conclusion, "prose_words": prose_words,
    }  # fmt: skip
    environment.filters |= {
        "moment": lambda iso: iso[:16].replace("T", " ") + (" UTC" if iso else ""),
        "lowered": lowered,
    }
    return environment.get_template(name)


def shown_everywhere(content: Content) -> dict[str, object]:
    """What all templates are given, with what they ask of the report's files."""
    from mrb_lib.report.html.pages import names_in

    note = simulated_note(str(content.made_from.benchmark["name"]))
    return {
        "provenance": content.made_from,
        "records": content.records,
        "notebooks": content.notebooks,
        "made": max((record.made for record in content.records), default=""),
        "cases": content.cases,
        "named": [{**case, "address": content.case_links[case["case_id"]]} for case in content.named],
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
