"""The report's site as a reader has it: opened from disk, searched, sorted, read with keys."""

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.axe import violations
from tests.browser.pages import press
from tests.browser.small_site import N_CASES, SCORES, address, first_case, shared_site

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
    expect(page.locator("#content").get_by_role("link", name="Leaderboard", exact=True)).to_have_count(1)
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


def test_numbers_sort_by_value_and_what_is_missing_comes_last(page: Page, site: Path) -> None:
    page.goto(address(site, "pages/03_leaderboard.html"))
    assert column(page, 1) == list(SCORES)
    behind = page.locator(f"{TABLE} tbody td:nth-child(3)").evaluate_all("cells => cells.map((cell) => cell.dataset.v)")
    assert [None if value is None else float(value) for value in behind] == list(SCORES.values())
    head = page.get_by_role("columnheader", name="accuracy")
    head.get_by_role("button").click()
    expect(head).to_have_attribute("aria-sort", "descending")
    assert column(page, 1) == ["birch", "elm", "fir", "ash", "gorse", "cedar", "dogwood"]
    head.get_by_role("button").press("Enter")
    expect(head).to_have_attribute("aria-sort", "ascending")
    assert column(page, 1) == ["cedar", "gorse", "ash", "fir", "elm", "birch", "dogwood"]
    judge = page.get_by_role("columnheader", name="judge")
    judge.get_by_role("button").click()
    expect(judge).to_have_attribute("aria-sort", "ascending")
    assert head.get_attribute("aria-sort") is None
    judge.get_by_role("button").click()
    assert column(page, 1) == sorted(SCORES, reverse=True)


def test_the_image_of_a_case_is_zoomed(page: Page, site: Path, case: str) -> None:
    page.goto(address(site, case))
    view = page.locator(".mrb-view.mrb-live").first
    expect(page.locator(".mrb-tools output").first).to_contain_text("%")
    zoom = "view => Number(view.style.getPropertyValue('--zoom'))"
    before = view.evaluate(zoom)
    view.press("Alt++")
    assert view.evaluate(zoom) == pytest.approx(before * 1.25)


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
    wanted = ["The title of 01_composition", "search"]
    places = [named.index(name) for name in wanted]
    assert places == sorted(places)
    page.goto(address(site))
    press(page, ("Tab", "Enter"))
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


def test_another_script_does_not_run(chromium: Browser, site: Path, tmp_path: Path) -> None:
    text = (site / "index.html").read_text(encoding="utf-8")
    injected = "<script>document.title = 'ran'</script><img src=x onerror=\"document.title = 'ran'\">"
    changed = tmp_path / "changed.html"
    changed.write_text(text.replace("</main>", f"{injected}</main>"), encoding="utf-8")
    page = chromium.new_page()  # its complaints about the policy are what is wanted
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.goto(changed.as_uri())
    assert "ran" not in page.title()
    assert sum("Content Security Policy" in line for line in said) >= 2
    page.close()


ON_SCREEN = (".bar", ".search", ".mrb-tools", ".files", ".turn", ".contents")


def every_page(site: Path) -> list[str]:
    found = sorted(path.relative_to(site).as_posix() for path in site.glob("[pc]a[gs]es/*.html"))
    assert N_CASES == 26
    assert len(found) == 3 + 6
    return ["index.html", *found]


def prints(page: Page, name: str) -> None:
    page.set_viewport_size({"width": 660, "height": 900})
    page.emulate_media(media="print")
    colours = page.evaluate(
        "(({ backgroundColor, color }) => [backgroundColor, color])(getComputedStyle(document.body))"
    )
    assert colours == ["rgb(255, 255, 255)", "rgb(0, 0, 0)"], name
    expect(page.locator(", ".join(f"{hidden}:visible" for hidden in ON_SCREEN))).to_have_count(0)
    expect(page.locator(".simulated")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 660, name
    page.emulate_media(media="screen")


def links_of(page: Page, site: Path, name: str) -> set[str]:
    """The links of a page, each to a file of the report and to a part that is there."""
    links = page.locator("[href], img[src]").evaluate_all("all => all.map((one) => one.href ?? one.src)")
    known = [link for link in links if not link.startswith("data:")]
    for link in known:
        path = Path(unquote(urlsplit(link).path))
        assert path.is_file(), f"{name}: {link}"
        assert path.is_relative_to(site), link
    parts = [urlsplit(link).fragment for link in known if urlsplit(link)._replace(fragment="").geturl() == page.url]
    wanted = sorted({unquote(part) for part in parts if part})
    assert page.evaluate("ids => ids.filter((id) => document.getElementById(id) === null)", wanted) == [], name
    return set(known)


def test_every_page_says_simulated_prints_and_leads_to_files_of_the_report(
    new_page: Callable[..., Page], site: Path
) -> None:
    page = new_page(color_scheme="dark")
    seen: set[str] = set()
    for name in every_page(site):
        page.goto(address(site, name))
        expect(page.locator("[data-script]").first).to_be_visible()
        expect(page.get_by_role("complementary", name="Simulated data")).to_contain_text("SIMULATED")
        seen |= links_of(page, site, name)
        prints(page, name)
    assert len(seen) > 40
    for kind in ("png", "svg", "pdf", "csv"):
        assert any(link.endswith(f"figures/leaderboard.{kind}") for link in seen)


def test_axe_finds_nothing_serious_among_hits_and_in_a_narrow_window(new_page: Callable[..., Page], site: Path) -> None:
    page = new_page(viewport={"width": 400, "height": 800})
    page.goto(address(site))
    page.locator("#search").fill("leaderboard")
    assert violations(page) == []
