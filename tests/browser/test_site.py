"""The report's site as a reader has it: opened from disk, searched, sorted, filtered, read with keys."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.small_site import SCORES, address, first_case, shared_site

TABLE = "#content .tabular table"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shared_site(tmp_path_factory.getbasetemp())


@pytest.fixture(scope="module")
def case(site: Path) -> str:
    return first_case(site)


def column(page: Page, number: int) -> list[str]:
    texts = page.locator(f"{TABLE} tbody tr:visible td:nth-child({number})").all_inner_texts()
    return [text.split("\n")[0].split(" [")[0].strip() for text in texts]


def test_the_search_finds_figures_tables_pages_and_cases_and_says_how_many(page: Page, site: Path) -> None:
    page.goto(address(site))
    page.keyboard.press("/")
    search = page.get_by_role("searchbox", name="Search figures, tables, pages and cases")
    expect(search).to_be_focused()
    found = page.locator("#found")
    expect(found).to_have_attribute("aria-live", "polite")
    search.fill("ALPHA judge")
    expect(found).to_have_text("Found 1 figure.")
    expect(page.get_by_role("link", name="Leaderboard", exact=True)).to_have_count(1)
    expect(page.locator(".contents li:visible")).to_have_count(1)
    search.fill("elm leaderboard")  # one of the judges that both show
    expect(found).to_have_text("Found 1 figure, 1 table.")
    search.fill("kappa")
    expect(found).to_have_text("Found 1 page.")
    search.fill('"every judge is wrong"')
    said = found.inner_text()
    assert re.fullmatch(r"Found \d cases?\.|Nothing found.*", said)
    search.fill("no such word anywhere")
    expect(found).to_have_text("Nothing found. Try fewer or shorter words.")
    expect(page.locator(".chapter:visible")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(search).to_have_value("")
    expect(found).to_have_text("")
    expect(page.locator(".chapter").last).to_be_visible()


def test_a_question_asked_of_a_case_is_found(page: Page, site: Path, case: str) -> None:
    page.goto(address(site, case))
    question = page.locator(".mrb-question").first.inner_text()
    page.goto(address(site, "index.html#search"))
    expect(page.locator("#search")).to_be_focused()
    page.locator("#search").fill(f'"{question[:60]}"')
    expect(page.locator("#found")).to_contain_text("case")
    expect(page.locator(f'.case-list a[href="{case}"]')).to_be_visible()


def test_hits_are_walked_by_arrows_and_opened_by_enter(page: Page, site: Path) -> None:
    page.goto(address(site))
    page.keyboard.press("/")
    page.keyboard.type("leaderboard")
    hits = page.locator(".hit:visible")
    page.keyboard.press("ArrowDown")
    expect(hits.nth(0)).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(hits.nth(1)).to_be_focused()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    expect(page.locator("#search")).to_be_focused()
    page.locator("#search").fill("cases by organ")
    page.keyboard.press("Enter")
    expect(page).to_have_url(address(site, "pages/01_composition.html#composition-organs"))
    page.keyboard.press("/")
    expect(page.locator("#search")).to_be_focused()


def test_numbers_sort_by_value_and_what_is_missing_comes_last(page: Page, site: Path) -> None:
    page.goto(address(site, "pages/03_leaderboard.html"))
    by_report = column(page, 1)
    assert by_report == list(SCORES)
    head = page.get_by_role("columnheader", name="accuracy")
    head.get_by_role("button").click()
    expect(head).to_have_attribute("aria-sort", "descending")
    assert column(page, 1) == ["birch", "elm", "fir", "ash", "gorse", "cedar", "dogwood"]
    head.get_by_role("button").press("Enter")
    expect(head).to_have_attribute("aria-sort", "ascending")
    assert column(page, 1) == ["cedar", "gorse", "ash", "fir", "elm", "birch", "dogwood"]
    expect(page.locator(".table-tools output")).to_contain_text("Sorted by accuracy, ascending.")
    judge = page.get_by_role("columnheader", name="judge")
    judge.get_by_role("button").click()
    expect(judge).to_have_attribute("aria-sort", "ascending")
    assert head.get_attribute("aria-sort") is None
    judge.get_by_role("button").click()
    assert column(page, 1) == sorted(SCORES, reverse=True)
    judge.get_by_role("button").click()
    assert column(page, 1) == by_report


def test_values_behind_rounded_numbers_decide(page: Page, site: Path) -> None:
    page.goto(address(site, "pages/03_leaderboard.html"))
    behind = page.locator(f"{TABLE} tbody td:nth-child(3)").evaluate_all("cells => cells.map((cell) => cell.dataset.v)")
    assert [None if value is None else float(value) for value in behind] == list(SCORES.values())


def test_rows_are_filtered_by_text_and_by_group_and_counted(page: Page, site: Path) -> None:
    page.goto(address(site, "pages/03_leaderboard.html"))
    told = page.locator(".table-tools output")
    expect(told).to_have_text("7 of 7 rows")
    page.get_by_label("Filter rows").fill("e")
    page.get_by_label("group").select_option("shrub")
    expect(told).to_have_text("2 of 7 rows")
    assert column(page, 1) == ["elm", "gorse"]
    page.get_by_role("columnheader", name="accuracy").get_by_role("button").click()
    assert column(page, 1) == ["elm", "gorse"]
    page.get_by_label("Filter rows").fill("none of them")
    expect(told).to_have_text("0 of 7 rows")


def test_the_contents_fold_and_unfold_with_the_window(page: Page, site: Path) -> None:
    page.set_viewport_size({"width": 400, "height": 900})
    page.goto(address(site))
    expect(page.locator(".contents ol")).to_be_hidden()
    page.set_viewport_size({"width": 1280, "height": 900})
    expect(page.locator(".contents ol")).to_be_visible()
    page.set_viewport_size({"width": 400, "height": 900})
    expect(page.locator(".contents ol")).to_be_hidden()


def test_the_theme_is_the_readers_and_is_kept(new_page: Callable[..., Page], site: Path) -> None:
    page = new_page(color_scheme="dark")
    page.goto(address(site))
    paper = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(paper)
    expect(page.get_by_role("button", name="Auto")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="Light").click()
    light = page.evaluate(paper)
    assert dark != light
    page.reload()
    assert page.evaluate(paper) == light
    expect(page.get_by_role("button", name="Light")).to_have_attribute("aria-pressed", "true")
    page.goto(address(site, "pages/03_leaderboard.html"))
    assert page.evaluate(paper) == light
    page.get_by_role("button", name="Auto").click()
    assert page.evaluate(paper) == dark
    page.reload()
    assert page.evaluate(paper) == dark


def test_cases_are_zoomed_and_moved_by_keys_and_windowed_by_mouse(page: Page, site: Path, case: str) -> None:
    page.goto(address(site, case))
    view = page.locator(".mrb-view.mrb-live").first
    expect(page.locator(".mrb-tools output").first).to_contain_text("%")
    view.focus()
    zoom = "view => [Number(view.style.getPropertyValue('--zoom')), view.style.getPropertyValue('--x')]"
    before = view.evaluate(zoom)
    page.keyboard.press("Alt++")
    page.keyboard.press("Alt+ArrowLeft")
    after = view.evaluate(zoom)
    assert after[0] == pytest.approx(before[0] * 1.25)
    assert after[1] != before[1]
    page.keyboard.press("Alt+0")
    assert view.evaluate(zoom) == before
    if page.locator("[data-low] .mrb-view").count():
        box = page.locator("[data-low] .mrb-view").first.bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + 60, box["y"] + 60)
        page.mouse.down(button="right")
        page.mouse.move(box["x"] + 90, box["y"] + 60)
        page.mouse.up(button="right")
        expect(page.locator(".mrb-view canvas").first).to_be_visible()


def test_cases_follow_one_another_from_the_index_on(page: Page, site: Path, case: str) -> None:
    page.goto(address(site, "index.html"))
    listed = page.locator(".case-list a").evaluate_all("links => links.map((link) => link.href)")
    assert len(listed) == 6
    page.locator(".case-list a").first.click()
    expect(page).to_have_url(listed[0])
    expect(page.locator(".over")).to_have_text("Case 1 of 6")
    for number, following in enumerate(listed[1:], start=2):
        page.keyboard.press("j")
        expect(page).to_have_url(following)
        expect(page.locator(".over")).to_have_text(f"Case {number} of 6")
    expect(page.get_by_role("link", name="→")).to_have_count(0)
    page.keyboard.press("k")
    expect(page).to_have_url(listed[-2])
    page.locator(".turn").first.get_by_role("link").first.click()
    expect(page).to_have_url(listed[-3])
    page.get_by_role("link", name="Cases to open").click()
    expect(page.get_by_role("heading", name="Cases to open")).to_be_in_viewport()


def test_the_keyboard_reaches_everything_in_order(page: Page, site: Path) -> None:
    page.goto(address(site))
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to the content")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    named: list[str] = []
    for _ in range(30):
        page.keyboard.press("Tab")
        named.append(page.evaluate("document.activeElement.id || document.activeElement.textContent.trim()"))
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", f"{named[-1]} does not show that it has the focus"
    wanted = ["Auto", "Light", "Dark", "The title of 01_composition", "search"]
    places = [named.index(name) for name in wanted]
    assert places == sorted(places)
    page.goto(address(site))
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#content")).to_be_focused()


def test_everything_is_there_without_the_script(new_page: Callable[..., Page], site: Path, case: str) -> None:
    page = new_page(java_script_enabled=False)
    page.goto(address(site))
    expect(page.locator(".gallery > li")).to_have_count(2)
    expect(page.locator(".case-list > li")).to_have_count(6)
    expect(page.locator("#search")).to_be_hidden()
    page.goto(address(site, "pages/03_leaderboard.html"))
    expect(page.locator(f"{TABLE} tbody tr")).to_have_count(len(SCORES))
    expect(page.get_by_text("How to read it.")).to_be_visible()
    page.goto(address(site, case))
    expect(page.locator(".mrb-view img").first).to_be_visible()
    expect(page.locator(".mrb-answer")).to_have_count(2)


def test_another_script_does_not_run(new_page: Callable[..., Page], site: Path, tmp_path: Path) -> None:
    text = (site / "index.html").read_text(encoding="utf-8")
    injected = "<script>document.title = 'ran'</script><img src=x onerror=\"document.title = 'ran'\">"
    changed = tmp_path / "changed.html"
    changed.write_text(text.replace("</main>", f"{injected}</main>"), encoding="utf-8")
    context: Any = new_page().context.browser.new_context()  # its complaints about the policy are what is wanted
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.goto(changed.as_uri())
    assert "ran" not in page.title()
    assert sum("Content Security Policy" in line for line in said) >= 2
    context.close()
