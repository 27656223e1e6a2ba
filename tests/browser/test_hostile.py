"""Hostile text in every field of cases and apps: nothing runs, nothing breaks the layout, all can be read."""

import re
from html import escape
from pathlib import Path

import pandas as pd
import pytest
from playwright.sync_api import Page, expect

from mrb_lib.benchmarks.benchmark import Benchmark, load
from mrb_lib.benchmarks.votes import gold
from mrb_lib.review.case import case_html, markdown
from mrb_lib.review.pages import template, visible
from mrb_lib.review.records.marks import Comment
from mrb_lib.review.records.store import open_store
from mrb_lib.verdicts.store import load_verdicts

from .axe import violations
from .hostile import ATTACKS, DIMENSIONS, JUDGES, LONG_CASE, NAME, REVIEWERS, harm, write_hostile
from .pages import at_case, desk, document, explorer, press, show, sign_in
from .server import Served, path_of, store_of

_PLAIN = {
    "article", "b", "bdi", "button", "canvas", "dd", "details", "div", "dl", "dt", "figcaption", "figure", "h2", "h3",
    "header", "img", "input", "kbd", "label", "mark", "output", "p", "section", "small", "span", "summary", "table",
    "tbody", "td", "th", "thead", "tr",
}  # fmt: skip
_TOUCH = """() => {
  for (const details of document.querySelectorAll("details")) details.open = true;
  for (const element of document.querySelectorAll("main *")) {
    for (const kind of ["mouseover", "focus", "focusin", "toggle", "error", "load", "animationstart"]) {
      element.dispatchEvent(new Event(kind, { bubbles: true }));
    }
  }
}"""


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    return load(write_hostile(tmp_path_factory.mktemp("hostile")))


@pytest.fixture(scope="module")
def cases(benchmark: Benchmark) -> list[str]:
    """Every case as HTML."""
    assert benchmark.path is not None
    verdicts = load_verdicts(benchmark.path / "runs", replies=True)
    tables = {"annotations": benchmark.annotations, "gold": gold(benchmark), "verdicts": verdicts}
    return [
        case_html(case, images=benchmark.images, note=ATTACKS[i], level=2, style=False, **tables)
        for i, (_, case) in enumerate(benchmark.cases.iterrows())
    ]


def test_a_page_of_hostile_cases_runs_nothing_keeps_its_shape_and_shows_all(
    page: Page, benchmark: Benchmark, cases: list[str]
) -> None:
    def of_html(text: str) -> str:  # which has no carriage return: a page reads it as the end of a line
        return visible(text).replace("\r\n", "\n").replace("\r", "\n")

    show(page, document(*cases))
    expect(page.locator("main > section.mrb-case")).to_have_count(len(ATTACKS))
    written = "boxes => boxes.map(box => (box.querySelector('.mrb-written') ?? box).textContent)"
    said = page.locator(".mrb-answer-text").evaluate_all(written)
    assert len(said[2 * LONG_CASE]) >= 1_000_000 - len(ATTACKS)
    assert said == [of_html(text) for text in benchmark.cases[["response_a", "response_b"]].to_numpy().ravel()]
    labels = page.locator("section.mrb-case").evaluate_all("all => all.map(e => e.getAttribute('data-case'))")
    assert labels == [of_html(case) for case in benchmark.cases["case_id"]]
    alternatives = set(page.locator("figure img").evaluate_all("all => all.map(e => e.alt)"))
    assert alternatives == {visible(name) for names in benchmark.cases["images"] for name in names}
    page.evaluate(_TOUCH)
    for width in (1280, 400):
        page.set_viewport_size({"width": width, "height": 900})
        assert harm(page) == [], width
    names = set(page.evaluate("[...new Set([...document.querySelectorAll('main section *')].map(e => e.localName))]"))
    assert names <= _PLAIN | markdown.TAGS
    styled = page.locator("main [style]").evaluate_all("all => [...new Set(all.map(e => e.classList.item(0)))]")
    assert styled == ["mrb", "mrb-view"]


def test_a_printable_page_runs_nothing_and_prints(page: Page, cases: list[str], tmp_path: Path) -> None:
    path = tmp_path / "print.html"
    shown = {"name": ATTACKS[4], "note": ATTACKS[4], "cases": cases[LONG_CASE + 1 :]}
    page_of_cases = template("explorer_print").render(**shown, n="2", words="", is_part=True, most=2)
    path.write_text(page_of_cases, encoding="utf-8")
    page.goto(path.as_uri())
    page.evaluate(_TOUCH)
    assert harm(page) == []
    assert page.title() == " ".join(f"{visible(ATTACKS[4])}: 2 cases".split())
    page.emulate_media(media="print")
    assert page.pdf(format="A4", page_ranges="1-3").startswith(b"%PDF")


def test_the_failure_explorer(page: Page, benchmark: Benchmark) -> None:
    position = page.locator("[role=status].mrb-position")
    with Served("review", path_of(benchmark)) as served:
        explorer(page, served.address)
        sign_in(page, REVIEWERS[0])
        for number in range(len(ATTACKS)):
            expect(position).to_have_text(re.compile(rf"^{number + 1} of {len(ATTACKS)} cases\b"))
            expect(page.locator(".mrb-case-pane")).not_to_have_attribute("aria-busy", "true")
            assert harm(page) == [], ATTACKS[number]
            page.get_by_role("button", name="next case").focus()
            page.keyboard.press("j")
        assert violations(page) == []


def test_annotation_and_coordination(page: Page, benchmark: Benchmark) -> None:
    who, comment = "Dr " + ATTACKS[2], page.get_by_label("Your comment on this case")
    ids = [case for case in benchmark.cases["case_id"] if "\0" not in case]  # which no store holds
    rows = [(case, who, i, ("AB", "BA")[i % 2]) for i, case in enumerate(ids)]
    with open_store(store_of(benchmark)) as store:
        store.assign(NAME, pd.DataFrame(rows, columns=["case_id", "annotator", "position", "order"]))
        for text in ATTACKS:
            store.add(Comment(NAME, ids[0], who, text))
    with Served("annotate", path_of(benchmark)) as served:
        desk(page, served.address, who)
        for number in range(1, len(ids) + 1):
            at_case(page, number)
            assert harm(page) == [], number
            assert not [judge for judge in JUDGES if escape(visible(judge)) in page.content()]
            if number == 2:
                page.keyboard.press("n")
                comment.fill(ATTACKS[0])
                page.keyboard.press("Control+Enter")
                expect(page.locator(".mrb-remarks li")).to_have_count(1)
                assert harm(page) == []
            press(page, (*["a"] * len(DIMENSIONS), "Enter") if number < 5 else "j")
        assert violations(page) == []
        page.goto("about:blank")
    with Served("annotate", path_of(benchmark), "--coordinator") as served:
        page.goto(served.address)
        expect(page.get_by_role("heading", name="Drift")).to_be_visible()
        expect(page.get_by_role("table", name="comments").get_by_role("row")).to_have_count(len(ATTACKS) + 2)
        for width in (1280, 400):
            page.set_viewport_size({"width": width, "height": 800})
            page.wait_for_function("width => document.documentElement.scrollWidth === width", arg=width)
            assert harm(page) == []
        with page.expect_download() as caught:
            page.get_by_role("button", name="Save everything as CSV").click()
        frame = pd.read_csv(caught.value.path(), dtype="str", keep_default_na=False, encoding="utf-8-sig")
        cells = [cell for column in frame for cell in frame[column]]
        assert [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))] == []
        page.goto("about:blank")
