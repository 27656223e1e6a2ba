"""No serious or critical breach of accessibility on the site, by axe-core; nothing is left out."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.browser.small_site import small_site

AXE = Path(__file__).parent / "node_modules" / "axe-core" / "axe.min.js"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_site(tmp_path_factory.mktemp("axe-site"))


@pytest.fixture(scope="module")
def axe() -> str:
    if not AXE.is_file():
        pytest.fail("no axe-core: make tests/browser/node_modules/.package-lock.json, which takes the package npm")
    return AXE.read_text(encoding="utf-8")


def breaches(page: Page, axe: str) -> list[Any]:
    page.evaluate(axe)
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")["violations"]
    return [
        (rule["impact"], rule["id"], [node["html"][:120] for node in rule["nodes"]][:4])
        for rule in found
        if rule["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(new_page: Callable[..., Page], site: Path, axe: str, scheme: str) -> None:
    index = (site / "index.html").read_text(encoding="utf-8")
    first = re.search(r'href="(cases/[^"]+)"', index)
    assert first
    page = new_page(color_scheme=scheme)
    for name in (
        "index.html",
        "pages/01_composition.html",
        "pages/03_leaderboard.html",
        "pages/07_failures.html",
        first[1],
    ):
        page.goto((site / name).as_uri())
        page.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")
        assert breaches(page, axe) == [], f"{name}, {scheme}"


def test_axe_finds_nothing_serious_among_hits_and_in_a_narrow_window(
    new_page: Callable[..., Page], site: Path, axe: str
) -> None:
    page = new_page(viewport={"width": 400, "height": 800})
    page.goto((site / "index.html").as_uri())
    page.locator("#search").fill("leaderboard")
    assert breaches(page, axe) == []
