"""The frames of one DICOM file, browsed like a series: each with its own values, distances, bits and marks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Page, expect

from mrb_lib.benchmarks.benchmark import Benchmark, load, save
from mrb_lib.demo.build import write_demo
from mrb_lib.review.records.store import open_store

from .pages import on_screen, one_to_one, sign_in, stored
from .server import Served
from .test_viewer import dicom

PATIENT = 120_000
N, TALL, WIDE = 4, 300, 400
ROWS, COLUMNS = np.mgrid[:TALL, :WIDE]
FRAMES = np.stack([(ROWS * 311 + COLUMNS * 977 + k * 4999) % 60_000 for k in range(N)]).astype(np.uint16)
VALUE = ".mrb-pixel"


def levels(frame: int) -> np.ndarray:
    """The grey levels of a frame in the window that the file opens with: the range of its first frame."""
    low, span = float(FRAMES[0].min()), float(np.ptp(FRAMES[0]))
    return np.floor(np.clip((FRAMES[frame - 1] - low) / span, 0, 1) * 255 + 0.5).astype(np.uint8)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    """Two cases: one about a file of four frames, one about two images of which one is such a file."""
    folder = tmp_path_factory.mktemp("frames")
    write_demo(folder / "demo", cases=2, seed=6)
    demo = load(folder / "demo")
    images = [["cine.dcm"], ["flat.png", "cine.dcm"]]
    save(replace(demo, cases=demo.cases.assign(images=images)), folder / "bench")
    content = dicom(FRAMES.reshape(-1, WIDE), Rows=TALL, NumberOfFrames=N, PixelSpacing=[0.25, 0.25])
    (folder / "bench" / "images" / "cine.dcm").write_bytes(content)
    (folder / "bench" / "images" / "flat.png").write_bytes(stored(np.zeros((40, 40), np.uint8)))
    with open_store(folder / "bench" / "reviews.sqlite") as store:
        deal = pd.DataFrame({"case_id": demo.cases["case_id"], "annotator": "Dr A", "position": [0, 1], "order": "AB"})
        store.assign(demo.meta.name, deal)
    return load(folder / "bench")


def _frame(page: Page, number: int) -> None:
    expect(page.locator(".mrb-frame:visible")).to_have_text(str(number), timeout=20_000)
    expect(page.locator(".mrb-series output")).to_contain_text(f"frame {number} of {N}")


def _pointed_at(page: Page) -> tuple[int, int]:
    """The pixel under the pointer, as the page says."""
    words = page.locator(VALUE).inner_text().replace(",", "").replace(":", "").split()
    return int(words[3]), int(words[1])


def test_frames_are_reviewed_one_by_one(page: Page, bench: Benchmark) -> None:
    assert bench.path is not None
    with Served("review", bench.path) as served:
        page.goto(served.address, wait_until="domcontentloaded")
        _frame(page, 1)
        expect(page.locator("figcaption")).to_contain_text(f"of {N}, of which judges see the first")
        view = page.locator(".mrb-view")
        view.hover()
        expect(page.locator(VALUE)).to_contain_text("HU")
        row, column = _pointed_at(page)
        view.focus()
        for number in (2, 3):
            page.keyboard.press("Alt+PageDown")
            _frame(page, number)
            value = int(FRAMES[number - 1, row, column]) - 1024
            expect(page.locator(VALUE)).to_have_text(f"x {column}, y {row}: {value} HU")
            one_to_one(page)
            on_screen(page, levels(number))
        page.get_by_role("button", name="more for the image").click()
        page.get_by_role("button", name="measure a distance").click()
        for key in ("Enter", *["Shift+ArrowRight"] * 4, "Enter"):
            page.keyboard.press(key)
        expect(page.locator(".mrb-said-of-image")).to_contain_text("distance 1.0 mm")
        page.keyboard.press("Escape")
        view.hover()
        for _ in range(3):
            page.mouse.wheel(0, 100)
            page.wait_for_timeout(100)
        _frame(page, N)
        page.get_by_role("button", name="the one before").click()
        _frame(page, 3)
        _mark_and_save(page)
    with open_store(bench.path / "reviews.sqlite", create=False) as store:
        [regions] = store.adjudications(bench.meta.name)["regions"]
    [region] = regions
    assert (region["image"], region["frame"]) == ("cine.dcm", 3)
    assert (region["width"], region["height"]) == (8, 0)


def _mark_and_save(page: Page) -> None:
    """A region in the frame in sight, which is seen in that frame only, and is stored with it."""
    sign_in(page, "Dr Frame")
    view, overlay = page.locator(".mrb-view"), page.locator("svg.mrb-overlay")
    view.focus()
    for key in ("m", "Enter", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    expect(page.locator(".mrb-regions li")).to_contain_text("in frame 3")
    expect(overlay).to_have_attribute("aria-label", "1 marked region")
    view.focus()
    page.keyboard.press("Alt+PageUp")
    _frame(page, 2)
    expect(overlay).to_have_attribute("aria-label", "0 marked regions")
    page.keyboard.press("Alt+PageDown")
    _frame(page, 3)
    expect(overlay).to_have_attribute("aria-label", "1 marked region")
    page.get_by_label("Gold is right").check()
    page.locator(".mrb-save").click()
    expect(page.locator(".mrb-history")).to_contain_text("1 region marked in frame 3")


def test_images_and_frames_are_one_series_and_annotators_browse_it_too(page: Page, bench: Benchmark) -> None:
    assert bench.path is not None
    with Served("annotate", bench.path) as served:
        page.goto(served.address, wait_until="domcontentloaded")
        page.get_by_role("button", name="Dr A").click(timeout=PATIENT)
        _frame(page, 1)
        page.get_by_role("button", name="the one after").click()
        _frame(page, 2)
        page.keyboard.press("j")
        where = page.locator(".mrb-series output")
        expect(where).to_have_text("image 1 of 2", timeout=PATIENT)
        for number in (1, 2):
            page.get_by_role("button", name="the one after").click()
            expect(where).to_contain_text(f"image 2 of 2 · frame {number} of {N}")
        _frame(page, 2)
        page.get_by_label("one at a time").uncheck()
        expect(page.locator(".mrb-view:visible")).to_have_count(2)
        page.locator(".mrb-view").nth(1).focus()
        page.keyboard.press("Alt+PageDown")
        expect(page.locator(".mrb-frame")).to_have_text("3")
