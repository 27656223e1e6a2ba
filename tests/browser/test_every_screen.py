"""Every screen can be read by everyone: nothing serious for axe-core, light and dark, from a phone to a wide screen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from mrb_lib.demo.build import write_demo

from .axe import violations, violations_in_both_schemes
from .pages import sign_in
from .server import Served, mrb
from .small_site import address, first_case, shared_site

PATIENT = 120_000
WIDTHS = (400, 1024, 1280, 1920)
PAGES = ("01_composition", "03_leaderboard", "07_failures")
UNFOLD = "for (const fold of document.querySelectorAll('details')) fold.open = true"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("screens") / "bench"
    write_demo(folder, cases=12, seed=3)
    mrb(folder, "judge", folder, folder / "runs", "--judge", "longer", "--judge", "shorter")
    return folder


def readable(page: Page, name: str) -> None:
    """All rules at every width, those of colours in both schemes at the narrowest and at the widest."""
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        found = violations_in_both_schemes(page) if width in (WIDTHS[0], WIDTHS[-1]) else violations(page)
        assert found == [], f"{name}, {width} wide"
        assert page.evaluate("document.documentElement.scrollWidth") <= width, f"{name}, {width} wide"


def test_the_review(page: Page, bench: Path) -> None:
    with Served("review", bench) as served:
        page.goto(served.address.split("?")[0])
        expect(page.get_by_role("heading", name="The address is not complete")).to_be_visible(timeout=PATIENT)
        readable(page, "door")
        page.goto(f"{served.address}#judge=longer&dimension=overall")
        expect(page.locator(".mrb-shown")).to_be_visible(timeout=PATIENT)
        readable(page, "not signed in")
        sign_in(page, "Dr A")
        page.get_by_role("button", name="more for the image").click()
        page.evaluate(UNFOLD)
        page.keyboard.press("Escape")
        page.keyboard.press("2")
        page.keyboard.press("Escape")
        for key in ("m", "Enter", "ArrowRight", "ArrowDown", "Enter"):
            page.keyboard.press(key)
        expect(page.locator(".mrb-regions li")).to_have_count(1)
        page.get_by_role("button", name="Edit the list").click()
        readable(page, "a review")


def test_annotation(page: Page, bench: Path) -> None:
    with Served("annotate", bench, "--annotators", "Dr One,Dr Two") as served:
        page.goto(served.address)
        expect(page.get_by_role("heading", name="Who are you?")).to_be_visible(timeout=PATIENT)
        readable(page, "who are you")
        page.get_by_role("button", name="Dr One").click()
        expect(page.locator(".mrb-answer").first).to_be_visible()
        page.keyboard.press("a")
        page.get_by_role("button", name="more for the image").click()
        readable(page, "a case")
        page.keyboard.press("x")
        expect(page.get_by_role("dialog")).to_be_visible()
        readable(page, "to skip it")


def test_coordination(page: Page, bench: Path) -> None:
    with Served("annotate", bench, "--annotators", "Dr One,Dr Two", "--coordinator") as served:
        page.goto(served.address)
        expect(page.get_by_role("row", name="Dr One").first).to_be_visible(timeout=PATIENT)
        readable(page, "coordination")


def test_the_report(new_page: Callable[..., Page], tmp_path_factory: pytest.TempPathFactory) -> None:
    site = shared_site(tmp_path_factory.getbasetemp())
    page = new_page()
    for name in ("index.html", *(f"pages/{name}.html" for name in PAGES), first_case(site)):
        page.goto(address(site, name))
        page.evaluate(UNFOLD)
        readable(page, name)
