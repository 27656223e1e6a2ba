"""Large and deep images through the apps: what stands on the screen at 1:1 are the pixels of the file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Page, expect

from mrb_lib.benchmarks.benchmark import Benchmark, load, save
from mrb_lib.demo.build import write_demo
from mrb_lib.review.records.store import open_store

from .pages import on_screen, one_to_one, stored
from .server import Served

PATIENT = 120_000
WIDE, TALL = 2600, 2100
ROWS, COLUMNS = np.ogrid[:TALL, :WIDE]
# Neighbours differ, in steps that every smaller copy of the image would even out.
EIGHT = (ROWS * 31).astype(np.uint8) + (COLUMNS * 97).astype(np.uint8)
SIXTEEN = (ROWS * 311).astype(np.uint16) + (COLUMNS * 977).astype(np.uint16)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    """Two cases, one with a large picture in 8 bits, one with one in 16."""
    folder = tmp_path_factory.mktemp("whole")
    write_demo(folder / "demo", cases=2, seed=6)
    demo = load(folder / "demo")
    save(replace(demo, cases=demo.cases.assign(images=[["eight.png"], ["sixteen.png"]])), folder / "bench")
    for name, values in (("eight", EIGHT), ("sixteen", SIXTEEN)):
        (folder / "bench" / "images" / f"{name}.png").write_bytes(stored(values))
    with open_store(folder / "bench" / "reviews.sqlite") as store:
        deal = pd.DataFrame({"case_id": demo.cases["case_id"], "annotator": "Dr A", "position": [0, 1], "order": "AB"})
        store.assign(demo.meta.name, deal)
    return load(folder / "bench")


@pytest.fixture(params=["review", "annotate"])
def app(request: pytest.FixtureRequest, bench: Benchmark, page: Page) -> Iterator[Page]:
    """The first case, opened."""
    assert bench.path is not None
    with Served(request.param, bench.path) as served:
        page.goto(served.address, wait_until="domcontentloaded")
        if request.param == "annotate":
            page.get_by_role("button", name="Dr A").click(timeout=PATIENT)
        yield page


def test_native_pixels_of_eight_and_sixteen_bits(app: Page) -> None:
    page = app
    one_to_one(page)
    on_screen(page, EIGHT)
    assert f"{WIDE} \u00d7 {TALL}" in page.locator("figcaption").inner_text()
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    expect(page.locator("figcaption")).to_contain_text("more than 8 bits", timeout=PATIENT)
    expect(page.locator(".mrb-view.mrb-live")).to_be_visible()
    one_to_one(page)
    low, span = float(SIXTEEN.min()), float(np.ptp(SIXTEEN))
    on_screen(page, levels(low + span / 2, span))
    for name, value in (("level", 30_000.0), ("window", (3000 / span) ** 0.5)):
        slider = page.locator(f"[data-sets={name}]")
        slider.evaluate("(input, value) => { input.value = value; }", value)
        slider.dispatch_event("input")
    expect(page.locator("output")).to_contain_text("level 30000")
    expect(page.locator("output")).to_contain_text("window 3000")
    page.wait_for_timeout(1000)
    asked = [float(page.locator(f"[data-sets={name}]").input_value()) for name in ("level", "window")]
    on_screen(page, levels(asked[0], asked[1] ** 2 * span))


def levels(centre: float, width: float) -> np.ndarray:
    """What a window makes of the sixteen bits: black at centre - width / 2, white at centre + width / 2."""
    return np.floor(np.clip((SIXTEEN - centre) / width + 0.5, 0, 1) * 255 + 0.5).astype(np.uint8)
