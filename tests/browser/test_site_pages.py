"""Every page of the report's site, each opened once: it fits, prints, leads somewhere, and can be read by everyone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import violations
from tests.browser.small_site import N_CASES, address, shared_site

ON_SCREEN = (".bar", ".search", ".table-tools", ".mrb-tools", ".files", ".turn", ".contents")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shared_site(tmp_path_factory.getbasetemp())


def every_page(site: Path) -> list[str]:
    found = sorted(path.relative_to(site).as_posix() for path in site.glob("[pc]a[gs]es/*.html"))
    assert N_CASES == 26
    assert len(found) == 3 + 6
    return ["index.html", *found]


def fits(page: Page, name: str) -> None:
    for width in (400, 1280, 1920):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width, f"{name}, {width} wide"
        if name == "index.html":
            expect(page.locator(".contents ol")).to_be_visible(visible=width > 1120)


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


def test_every_page_says_simulated_fits_prints_and_leads_to_files_of_the_report(
    new_page: Callable[..., Page], site: Path
) -> None:
    page = new_page(color_scheme="dark")
    seen: set[str] = set()
    for name in every_page(site):
        page.goto(address(site, name))
        expect(page.locator("[data-script]").first).to_be_visible()
        expect(page.get_by_role("complementary", name="Simulated data")).to_contain_text("SIMULATED")
        seen |= links_of(page, site, name)
        fits(page, name)
        prints(page, name)
    assert len(seen) > 40
    for kind in ("png", "svg", "pdf", "csv"):
        assert any(link.endswith(f"figures/leaderboard.{kind}") for link in seen)


def test_axe_finds_nothing_serious_among_hits_and_in_a_narrow_window(new_page: Callable[..., Page], site: Path) -> None:
    page = new_page(viewport={"width": 400, "height": 800})
    page.goto(address(site))
    page.locator("#search").fill("leaderboard")
    assert violations(page) == []
