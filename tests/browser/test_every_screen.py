"""Every screen can be read by everyone: nothing serious for axe-core, light and dark, from a phone to a wide screen."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from .axe import violations_in_both_schemes
from .pages import desk, explorer, press, sign_in
from .server import Served, path_of, simulated
from .small_site import UNFOLD, address, first_case, shared_site

WIDTHS = (400, 1024, 1280, 1920)
PAGES = ("01_composition", "03_leaderboard", "07_failures")


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return path_of(simulated(tmp_path_factory.mktemp("screens"), 12, seed=3, judged=True))


def readable(page: Page, name: str) -> None:
    """All rules at the narrowest, those of colours in both schemes; no width is too small for it."""
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        if width == WIDTHS[0]:
            assert violations_in_both_schemes(page) == [], f"{name}, {width} wide"
        assert page.evaluate("document.documentElement.scrollWidth") <= width, f"{name}, {width} wide"


def test_the_review(page: Page, bench: Path) -> None:
    with Served("review", bench) as served:
        page.goto(served.address.split("?")[0])
        expect(page.get_by_role("heading", name="The address is not complete")).to_be_visible()
        readable(page, "door")
        explorer(page, served.address, "judge=longer&dimension=overall")
        readable(page, "not signed in")
        sign_in(page, "Dr A")
        page.get_by_role("button", name="more for the image").click()
        page.evaluate(UNFOLD)
        press(page, ("Escape", "2", "Escape", "m", "Enter", "ArrowRight", "ArrowDown", "Enter"))
        expect(page.locator(".mrb-regions li")).to_have_count(1)
        readable(page, "a review")
        press(page, ("Escape", "?"))
        expect(page.get_by_role("dialog", name="Keys")).to_contain_text("next case")
        readable(page, "the keys")


def test_annotation(page: Page, bench: Path) -> None:
    with Served("annotate", bench, "--annotators", "Dr One,Dr Two") as served:
        page.goto(served.address)
        expect(page.get_by_role("heading", name="Who are you?")).to_be_visible()
        readable(page, "who are you")
        desk(page, served.address, "Dr One")
        page.keyboard.press("a")
        page.get_by_role("button", name="more for the image").click()
        readable(page, "a case")
        page.keyboard.press("x")
        expect(page.get_by_role("dialog")).to_be_visible()
        readable(page, "to skip it")


def test_the_report(new_page: Callable[..., Page], tmp_path_factory: pytest.TempPathFactory) -> None:
    site = shared_site(tmp_path_factory.getbasetemp())
    page = new_page()
    for name in ("index.html", *(f"pages/{name}.html" for name in PAGES), first_case(site)):
        page.goto(address(site, name))
        page.evaluate(UNFOLD)
        readable(page, name)
