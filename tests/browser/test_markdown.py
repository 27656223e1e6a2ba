"""Answers in Markdown, in review and annotation as they are served: drawn, and on W as they were written."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from .axe import violations
from .hostile import harm
from .pages import desk, explorer
from .server import Served, deal, path_of, simulated

ANSWER = (
    "## Findings\n\n| structure | side | size |\n|:--|:-:|--:|\n| nodule | left | **5** mm |\n\n1. no effusion\n\n"
    "Doubling time: $$T = \\frac{t \\ln 2}{3 \\ln(d_2/d_1)}$$"
)
WHO = "Dr Markdown"
_LAID_OUT = "width => [innerWidth, document.documentElement.scrollWidth].every((wide) => wide <= width)"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("markdown")
    made = simulated(root, 2, seed=3, response_a=ANSWER, response_b="The *right* one.")
    deal(made, WHO, orders=("BA",))
    return path_of(made)


def check_rendering_and_text(page: Page) -> None:
    answer = page.locator(".mrb-answer-text", has_text="Findings")
    expect(answer.locator("td").nth(2)).to_have_text("5 mm")
    assert answer.locator(".mrb-written").bounding_box() is None
    for width in (1280, 400):
        page.set_viewport_size({"width": width, "height": 800})
        page.wait_for_function(_LAID_OUT, arg=width)  # a page is laid out anew some time after its window
        assert harm(page) == []
    page.set_viewport_size({"width": 1280, "height": 800})
    assert violations(page) == []
    answer.focus()
    page.keyboard.press("w")
    expect(page.locator(".mrb-raw")).to_be_checked()
    expect(answer.locator(".mrb-written")).to_have_text(ANSWER, use_inner_text=True)
    assert answer.locator("table").bounding_box() is None
    page.emulate_media(media="print")
    assert answer.locator("table").bounding_box() is not None
    page.emulate_media(media="screen")
    page.keyboard.press("w")
    expect(page.locator(".mrb-raw")).not_to_be_checked()
    assert answer.locator(".mrb-written").bounding_box() is None


def test_review(page: Page, bench: Path) -> None:
    with Served("review", bench) as served:
        explorer(page, served.address)
        check_rendering_and_text(page)


def test_annotation(page: Page, bench: Path) -> None:
    with Served("annotate", bench) as served:
        desk(page, served.address)
        check_rendering_and_text(page)
        expect(page.locator(".mrb-answer").first).to_contain_text("The right one.")
