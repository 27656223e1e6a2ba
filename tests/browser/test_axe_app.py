"""Accessibility of the case view and of the apps that show it: axe-core finds no serious or critical violation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pydicom
import pytest
from playwright.sync_api import Page

from .axe import violations
from .pages import document, plain_case, show, stored
from .test_image import RAMPS

CT = Path(pydicom.__file__).parent / "data" / "test_files" / "CT_small.dcm"


def cases() -> str:
    """Two cases: one with a deep, a plain and a damaged image, one without any."""
    images = {"ct.dcm": CT.read_bytes(), "grey.png": stored(RAMPS["8 bits"]), "torn.png": b"no image"}
    long = "No fracture of the left femur, 5 mm. " * 80
    full = {"response_a": long, "model_a": "responder-1", "reference": "Left.", "dataset": "teaching files"}
    first = plain_case(images, **full)
    return document(first, plain_case({}, case_id="c2"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_the_case_view(new_page: Callable[..., Page], scheme: str, width: int) -> None:
    page = new_page(color_scheme=scheme, viewport={"width": width, "height": 900})
    show(page, cases())
    page.evaluate("for (const details of document.querySelectorAll('details')) details.open = true")
    assert violations(page) == []


def test_without_enough_contrast_the_check_would_fail(page: Page) -> None:
    show(page, cases().replace("</style>", ".mrb-case .mrb-text { color: #bbb; }</style>", 1))
    assert any(found.startswith("color-contrast") for found in violations(page))


@pytest.mark.parametrize(("system", "jupyter", "dark"), [("dark", "true", False), ("light", "false", True)])
def test_in_jupyterlab_its_theme_decides(new_page: Callable[..., Page], system: str, jupyter: str, dark: bool) -> None:
    page = new_page(color_scheme=system)
    html = cases().replace('<body class="mrb">', f'<body data-jp-theme-light="{jupyter}">')
    show(page, html)
    paper = page.locator(".mrb-case").first.evaluate("e => getComputedStyle(e).backgroundColor")
    assert paper == ("rgb(21, 25, 27)" if dark else "rgb(252, 252, 250)")


@pytest.mark.parametrize(("chosen", "paper"), [("dark", "rgb(21, 25, 27)"), ("light", "rgb(252, 252, 250)")])
def test_a_chosen_theme_goes_before_the_system(new_page: Callable[..., Page], chosen: str, paper: str) -> None:
    page = new_page(color_scheme="light" if chosen == "dark" else "dark")
    show(page, cases().replace('<html lang="en"', f'<html lang="en" data-theme="{chosen}"'))
    found = page.locator(".mrb-case").first.evaluate("e => getComputedStyle(e).backgroundColor")
    assert found == paper
    page.emulate_media(media="print")
    found = page.locator(".mrb-case").first.evaluate("e => getComputedStyle(e).backgroundColor")
    assert chosen == "light" or found == "rgb(252, 252, 250)"
