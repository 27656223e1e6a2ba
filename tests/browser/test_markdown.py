"""Answers in Markdown, in review and annotation as they are served: drawn, and on W as they were written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from playwright.sync_api import Page, expect

from mrb_lib.benchmarks.benchmark import load, save
from mrb_lib.demo.build import write_demo
from mrb_lib.review.records.store import open_store

from .axe import violations
from .hostile import harm
from .server import Served
from .test_hostile_apps import PATIENT, SOON

ANSWER = (
    "## Findings\n\n| structure | side | size |\n|:--|:-:|--:|\n| nodule | left | **5** mm |\n\n1. no effusion\n\n"
    "Doubling time: $$T = \\frac{t \\ln 2}{3 \\ln(d_2/d_1)}$$"
)
WHO = "Dr Markdown"
_LAID_OUT = "width => [innerWidth, document.documentElement.scrollWidth].every((wide) => wide <= width)"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("markdown")
    write_demo(folder / "demo", cases=2, seed=3)
    demo = load(folder / "demo")
    save(replace(demo, cases=demo.cases.assign(response_a=ANSWER, response_b="The *right* one.")), folder / "bench")
    rows = [(case, WHO, i, "BA") for i, case in enumerate(demo.cases["case_id"])]
    with open_store(folder / "bench" / "reviews.sqlite") as store:
        store.assign(demo.meta.name, pd.DataFrame(rows, columns=["case_id", "annotator", "position", "order"]))
    return folder / "bench"


def check_rendering_and_text(page: Page) -> None:
    answer = page.locator(".mrb-answer-text", has_text="Findings")
    expect(answer.locator("td").nth(2)).to_have_text("5 mm", timeout=SOON)
    assert answer.locator(".mrb-written").bounding_box() is None
    for width in (1280, 400):
        page.set_viewport_size({"width": width, "height": 800})
        page.wait_for_function(_LAID_OUT, arg=width, timeout=SOON)  # a page is laid out anew some time after its window
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
        page.goto(served.address, wait_until="domcontentloaded")
        expect(page.locator(".mrb-explorer").first).to_be_attached(timeout=PATIENT)
        expect(page.locator("[data-mrb=first-view]")).to_have_count(0, timeout=PATIENT)  # which takes no keys
        expect(page.locator(".mrb-case-pane")).not_to_have_attribute("aria-busy", "true", timeout=PATIENT)
        expect(page.locator(".mrb-answer-text").first).to_be_visible(timeout=SOON)
        check_rendering_and_text(page)


def test_annotation(page: Page, bench: Path) -> None:
    with Served("annotate", bench) as served:
        page.goto(served.address, wait_until="domcontentloaded")
        page.get_by_role("button", name=WHO).click(timeout=PATIENT)
        expect(page.locator(".mrb-view.mrb-live").first).to_be_visible(timeout=SOON)
        check_rendering_and_text(page)
        expect(page.locator(".mrb-answer").first).to_contain_text("The right one.")
