"""What both apps show: the frames of a file like a series, the pixels of a large file at 1:1, answers in Markdown."""

from collections.abc import Iterator

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from mrb_lib.benchmarks.benchmark import Benchmark
from tests.pictures import png

from .axe import violations
from .hostile import harm
from .pages import desk, dicom, explorer, on_screen, one_to_one, press, sign_in, through
from .server import Served, deal, path_of, reviews_of, simulated

N, TALL, WIDE = 4, 300, 400
ROWS, COLUMNS = np.mgrid[:TALL, :WIDE]
FRAMES = np.stack([(ROWS * 311 + COLUMNS * 977 + k * 4999) % 60_000 for k in range(N)]).astype(np.uint16)
VALUE = ".mrb-pixel"


def levels(frame: int) -> np.ndarray:
    """The grey levels of a frame in the window that the file opens with: the range of its first frame."""
    low, span = float(FRAMES[0].min()), float(np.ptp(FRAMES[0]))
    return through(FRAMES[frame - 1], low + span / 2, span)


BROAD, HIGH = 2600, 2100
DOWN, ACROSS = np.ogrid[:HIGH, :BROAD]
# Neighbours differ, in steps that every smaller copy of the image would even out.
EIGHT = (DOWN * 31).astype(np.uint8) + (ACROSS * 97).astype(np.uint8)
SIXTEEN = (DOWN * 311).astype(np.uint16) + (ACROSS * 977).astype(np.uint16)

ANSWER = (
    "## Findings\n\n| structure | side | size |\n|:--|:-:|--:|\n| nodule | left | **5** mm |\n\n1. no effusion\n\n"
    "Doubling time: $$T = \\frac{t \\ln 2}{3 \\ln(d_2/d_1)}$$"
)
"""What the first response to the last case is."""


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    """Cases about a file of four frames, about two images of which one is such a file, two large ones, and none."""
    cine = dicom(FRAMES.reshape(-1, WIDE), Rows=TALL, NumberOfFrames=N, PixelSpacing=[0.25, 0.25])
    pictures = {"cine.dcm": cine, "flat.png": png(np.zeros((40, 40), np.uint8)), "eight.png": png(EIGHT),
                "sixteen.png": png(SIXTEEN)}  # fmt: skip
    images = [["cine.dcm"], ["flat.png", "cine.dcm"], ["eight.png"], ["sixteen.png"], []]
    first = ["Left."] * 4 + [ANSWER]
    made = simulated(tmp_path_factory.mktemp("frames"), 5, seed=6, pictures=pictures, images=images, response_a=first)
    deal(made, "Dr A")
    return made


@pytest.fixture(scope="module")
def desks(bench: Benchmark) -> Iterator[Served]:
    with Served("annotate", path_of(bench)) as served:
        yield served


def _frame(page: Page, number: int) -> None:
    expect(page.locator(".mrb-frame:visible")).to_have_text(str(number))
    expect(page.locator(".mrb-series output")).to_contain_text(f"frame {number} of {N}")


def _pointed_at(page: Page) -> tuple[int, int]:
    """The pixel under the pointer, as the page says."""
    words = page.locator(VALUE).inner_text().replace(",", "").replace(":", "").split()
    return int(words[3]), int(words[1])


def test_frames_are_reviewed_one_by_one(page: Page, served: Served, bench: Benchmark) -> None:
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
    press(page, ("Enter", *["Shift+ArrowRight"] * 4, "Enter"))
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
    [[region]] = reviews_of(bench, "Dr Frame")["regions"]
    assert (region["image"], region["frame"]) == ("cine.dcm", 3)
    assert (region["width"], region["height"]) == (8, 0)


def _mark_and_save(page: Page) -> None:
    """A region in the frame in sight, which is seen in that frame only, and is stored with it."""
    sign_in(page, "Dr Frame")
    view, overlay = page.locator(".mrb-view"), page.locator("svg.mrb-overlay")
    view.focus()
    press(page, ("m", "Enter", "ArrowRight", "Enter"))
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


@pytest.mark.parametrize("app", ["review", "annotate"])
def test_native_pixels_of_eight_and_sixteen_bits(page: Page, served: Served, desks: Served, app: str) -> None:
    page.goto((served if app == "review" else desks).address, wait_until="domcontentloaded")
    if app == "annotate":
        page.get_by_role("button", name="Dr A").click()
    _frame(page, 1)
    press(page, "jj")
    expect(page.locator("figcaption", has_text=f"{BROAD} \u00d7 {HIGH}")).to_be_visible()
    expect(page.locator(".mrb-view.mrb-live")).to_be_visible()
    one_to_one(page)
    on_screen(page, EIGHT)
    press(page, ("Escape", "j"))
    expect(page.locator("figcaption")).to_contain_text("more than 8 bits")
    expect(page.locator(".mrb-view.mrb-live")).to_be_visible()
    one_to_one(page)
    low, span = float(SIXTEEN.min()), float(np.ptp(SIXTEEN))
    on_screen(page, through(SIXTEEN, low + span / 2, span))
    for name, value in (("level", 30_000.0), ("window", (3000 / span) ** 0.5)):
        slider = page.locator(f"[data-sets={name}]")
        slider.evaluate("(input, value) => { input.value = value; }", value)
        slider.dispatch_event("input")
    expect(page.locator("output")).to_contain_text("level 30000")
    expect(page.locator("output")).to_contain_text("window 3000")
    page.wait_for_timeout(1000)
    asked = [float(page.locator(f"[data-sets={name}]").input_value()) for name in ("level", "window")]
    on_screen(page, through(SIXTEEN, asked[0], asked[1] ** 2 * span))


@pytest.mark.parametrize("app", ["review", "annotate"])
def test_an_answer_in_markdown_is_drawn_and_on_w_as_it_was_written(
    page: Page, served: Served, desks: Served, bench: Benchmark, app: str
) -> None:
    if app == "review":
        explorer(page, served.address, f"case={bench.cases['case_id'].iloc[-1]}")
    else:
        desk(page, desks.address)
        page.keyboard.press("g")
        page.keyboard.type("5")
        page.keyboard.press("Enter")
    answer = page.locator(".mrb-answer-text", has_text="Findings")
    expect(answer.locator("td").nth(2)).to_have_text("5 mm")
    expect(answer.locator(".mrb-written")).to_be_hidden()
    for width in (1280, 400):
        page.set_viewport_size({"width": width, "height": 800})
        # A page is laid out anew some time after its window.
        page.wait_for_function(
            "width => innerWidth <= width && document.documentElement.scrollWidth <= width", arg=width
        )
        assert harm(page) == []
    page.set_viewport_size({"width": 1280, "height": 800})
    assert violations(page) == []
    answer.focus()
    page.keyboard.press("w")
    expect(answer.locator(".mrb-written")).to_have_text(ANSWER, use_inner_text=True)
    expect(answer.locator("table")).to_be_hidden()
    page.emulate_media(media="print")
    expect(answer.locator("table")).to_be_visible()
    page.emulate_media(media="screen")
    page.keyboard.press("w")
    expect(answer.locator(".mrb-written")).to_be_hidden()
