"""The image of a case in a browser: what it shows, and what a radiologist does with it by mouse, touch or keys."""

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import numpy as np
import pydicom
import pytest
from PIL import Image
from playwright.sync_api import Locator, Page, expect
from pydicom.data import get_testdata_file
from pydicom.pixels import apply_modality_lut

from mrb_lib.review.pages import csp_hash
from tests.pictures import png

from .hand import Hand
from .pages import bounds, dicom, document, plain_case, show, through

_READ = """(shown) => {
  const canvas = document.createElement("canvas");
  const [width, height] = [shown.naturalWidth ?? shown.width, shown.naturalHeight ?? shown.height];
  [canvas.width, canvas.height] = [width, height];
  const context = canvas.getContext("2d");
  context.drawImage(shown, 0, 0);
  const read = context.getImageData(0, 0, width, height).data;
  const alike = read.every((level, i) => i % 4 === 3 || level === read[i - (i % 4)]);
  return [height, width, alike, ...Array.from({ length: width * height }, (_, i) => read[4 * i])];
}"""
_SLIDE = (
    "(input, value) => { input.value = value; input.dispatchEvent(new Event('input', { bubbles: true })); "
    "return Number(input.value); }"
)


@pytest.fixture
def page(same_page: Page) -> Page:
    return same_page


def levels(shown: Locator) -> np.ndarray:
    """The grey levels of an image or a canvas, which has them alike in its three channels."""
    height, width, alike, *values = shown.evaluate(_READ)
    assert alike
    return np.array(values).reshape(height, width)


def slide(page: Page, span: float, centre: float, width: float) -> tuple[float, float]:
    """Set level and window by the sliders, and return what they then stand for."""
    page.locator("[data-sets=level]").evaluate(_SLIDE, centre)
    root = page.locator("[data-sets=window]").evaluate(_SLIDE, (width / span) ** 0.5)
    return page.locator("[data-sets=level]").evaluate("input => Number(input.value)"), root**2 * span


def view_of(page: Page, name: str, content: bytes) -> Locator:
    """Show a case with one image."""
    show(page, document(plain_case({name: content})))
    return page.locator(".mrb-view")


def more(page: Page) -> None:
    """Open the menu of the image, or of the first of several."""
    page.get_by_role("button", name="more for the image").first.click()


def drag(page: Page, dx: float, dy: float, *, button: Literal["left", "right"] = "left", key: str = "") -> None:
    """Press in the image, move the mouse and let go, while a key is held."""
    box = bounds(page.locator(".mrb-view"))
    page.mouse.move(box["x"] + 100, box["y"] + 100)
    if key:
        page.keyboard.down(key)
    page.mouse.down(button=button)
    page.mouse.move(box["x"] + 100 + dx, box["y"] + 100 + dy)
    page.mouse.up(button=button)
    if key:
        page.keyboard.up(key)


def draw(page: Page, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Press the mouse on one pixel of the image and let go on another."""
    page.mouse.move(*at(page, *start))
    page.mouse.down()
    page.mouse.move(*at(page, *end))
    page.mouse.up()


def place(page: Page) -> tuple[float, float, float]:
    """Where the image is: x, y, zoom."""
    found = page.locator(".mrb-view").evaluate(
        "view => ['--x', '--y', '--zoom'].map(name => parseFloat(view.style.getPropertyValue(name)))"
    )
    return tuple(found)


RAMPS = {
    "12 bits": np.arange(4096, dtype=np.uint16).reshape(64, 64),
    "16 bits": np.arange(65_536, dtype=np.uint16).reshape(256, 256),
    "8 bits": np.arange(256, dtype=np.uint8).reshape(16, 16),
}


@pytest.mark.parametrize("depth", RAMPS)
def test_a_planted_ramp_is_shown_as_the_formula_says(page: Page, depth: str) -> None:
    ramp = RAMPS[depth]
    low, high = float(ramp.min()), float(ramp.max())
    view_of(page, "ramp.png", png(ramp))
    first = through(ramp, (low + high) / 2, high - low)
    np.testing.assert_array_equal(levels(page.locator(".mrb-view img")), first)
    canvas = page.locator(".mrb-view canvas")
    for centre, width in ((0.5, 0.25), (0.125, 0.0625), (0.75, 1.5)):
        asked = slide(page, high - low, low + centre * (high - low), width * (high - low))
        expect(canvas).to_be_visible()
        expect(page.locator(".mrb-view img")).to_be_hidden()
        np.testing.assert_array_equal(levels(canvas), through(ramp, *asked))
        assert asked[1] == pytest.approx(width * (high - low))
    more(page)
    page.get_by_role("button", name="reset the view").click()
    np.testing.assert_array_equal(levels(canvas), first)


def test_a_ct_is_windowed_in_hounsfield_units(page: Page) -> None:
    path = Path(str(get_testdata_file("CT_small.dcm")))
    dataset = pydicom.dcmread(path)
    units = apply_modality_lut(dataset.pixel_array, dataset).astype(float)
    view_of(page, "ct.dcm", path.read_bytes())
    assert "more than 8 bits" in page.locator("figcaption").inner_text()
    asked = slide(page, units.max() - units.min(), 40, 400)
    expect(page.locator("output")).to_contain_text("level 40 · window 400")
    expect(page.locator(".mrb-view canvas")).to_be_visible()
    np.testing.assert_array_equal(levels(page.locator(".mrb-view canvas")), through(units, *asked))
    assert dataset.PatientName
    assert str(dataset.PatientName) not in page.content()


@pytest.mark.parametrize(("depth", "button"), [("12 bits", "left"), ("colour", "left"), ("colour", "right")])
def test_a_drag_moves_the_image(page: Page, depth: str, button: Literal["left", "right"]) -> None:
    values = RAMPS.get(depth, np.zeros((8, 8, 3), np.uint8))
    view_of(page, "ramp.png", png(values))
    said, before = page.locator("output").inner_text(), place(page)
    expect(page.locator("[data-sets=level]")).to_have_count(int(depth != "colour"))
    drag(page, 30, -20, button=button)
    assert place(page) == (pytest.approx(before[0] + 30), pytest.approx(before[1] - 20), before[2])
    expect(page.locator("output")).to_have_text(said)
    for key in ("Alt+ArrowLeft", "Alt+ArrowUp"):
        page.locator(".mrb-view").press(key)
    assert place(page)[:2] == (pytest.approx(before[0] + 70), pytest.approx(before[1] + 20))


@pytest.mark.parametrize("key", ["", "Control"])
def test_the_wheel_zooms_about_the_mouse(page: Page, key: str) -> None:
    view_of(page, "ramp.png", png(RAMPS["12 bits"]))
    drag(page, 30, -20)
    x, y, zoom = place(page)
    if key:
        page.keyboard.down(key)
    page.mouse.wheel(0, -100)
    if key:
        page.keyboard.up(key)
    grown = "zoom => parseFloat(document.querySelector('.mrb-view').style.getPropertyValue('--zoom')) > zoom"
    page.wait_for_function(grown, arg=zoom)
    left, top, after = place(page)
    under = [(130 - left) / after, (80 - top) / after]
    assert under == pytest.approx([(130 - x) / zoom, (80 - y) / zoom], abs=0.2)


def test_the_wheel_scrolls_the_page_past_an_image_that_it_brings_under_the_mouse(page: Page) -> None:
    tall = "<p>above</p>" * 30
    show(page, document(tall, plain_case({"ramp.png": png(RAMPS["8 bits"])}), tall * 3))
    view, before = page.locator(".mrb-view"), place(page)
    box = bounds(view)
    page.mouse.move(box["x"] + 100, 300)
    for _ in range(60):
        page.mouse.wheel(0, 40)
        page.wait_for_timeout(10)
    below = bounds(view)
    assert below["y"] + below["height"] < 300
    assert place(page) == before


@pytest.mark.parametrize(("button", "key"), [("right", ""), ("left", "Alt")])
def test_the_right_button_or_alt_sets_level_and_window(page: Page, button: Literal["left", "right"], key: str) -> None:
    view_of(page, "ramp.png", png(RAMPS["12 bits"]))
    before = place(page)
    drag(page, 0, 40, button=button, key=key)
    expect(page.locator("output")).to_contain_text("level 2457 \u00b7 window 4095")
    drag(page, 20, 0, button=button, key=key)
    expect(page.locator("output")).to_contain_text("level 2457 \u00b7 window 4525.7")
    assert place(page) == before


def test_where_the_keyboard_is_can_be_seen(page: Page) -> None:
    view_of(page, "ramp.png", png(RAMPS["8 bits"]))
    page.keyboard.press("Tab")
    view = bounds(page.locator(".mrb-view"))
    around = np.asarray(Image.open(io.BytesIO(page.screenshot())).convert("L")).astype(int)
    row, left = around[round(view["y"] + view["height"] / 2)], round(view["x"])
    assert np.ptp(row[left - 4 : left + 4]) > 100


def test_two_fingers_pinch(new_page: Callable[..., Page]) -> None:
    page = new_page(has_touch=True)
    view_of(page, "ramp.png", png(RAMPS["12 bits"]))
    box, before = bounds(page.locator(".mrb-view")), place(page)[2]
    touch = page.context.new_cdp_session(page)
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    for kind, apart in (("touchStart", 40), ("touchMove", 60), ("touchMove", 80), ("touchEnd", 0)):
        points = [{"x": x - apart, "y": y, "id": 0}, {"x": x + apart, "y": y, "id": 1}] if apart else []
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    assert place(page)[2] == pytest.approx(2 * before, rel=0.02)


WIDE, TALL = 30, 20
MARKED = (
    "const marked = []; for (const root of document.querySelectorAll('.mrb-case')) "
    "mrbCase.attach(root, undefined, (one) => marked.push(one));"
)


def numbered() -> np.ndarray:
    """Every pixel has a value of its own: 300 * row + column."""
    rows, columns = np.mgrid[:TALL, :WIDE]
    return (300 * rows + columns).astype(np.uint16)


def marking(html: str) -> str:
    """The page, with its script told to keep what is marked."""
    code = html[html.rindex("<script>") + 8 : html.rindex("</script>")]
    own = re.sub(r"\nfor \(const root.*\n$", "\n" + MARKED, code)
    assert own != code
    return html.replace(code, own).replace(csp_hash(code), csp_hash(own))


def begin(page: Page) -> None:
    """Begin to mark a region, as a page does on its own key."""
    assert page.evaluate("mrbCase.region(document.querySelector('.mrb-case'))")


def at(page: Page, x: float, y: float) -> tuple[float, float]:
    """Where the middle of a pixel of the image is on the screen, read from the overlay's own place or the image's."""
    here: tuple[float, float] = page.evaluate(
        """([x, y]) => {
             const shown = document.querySelector('.mrb-view canvas') ?? document.querySelector('.mrb-view img');
             const view = document.querySelector('.mrb-view').getBoundingClientRect();
             const p = new DOMMatrix(getComputedStyle(shown).transform).transformPoint(new DOMPoint(x, y));
             return [view.left + p.x, view.top + p.y];
           }""",
        [x, y],
    )
    return here


def hover(page: Page, x: float, y: float) -> None:
    page.mouse.move(*at(page, x, y))


def tool(page: Page, words: str) -> None:
    """Use a tool of the menu."""
    menu = page.get_by_role("button", name="more for the image").first
    if menu.get_attribute("aria-expanded") == "false":
        menu.click()
    page.get_by_role("button", name=words).first.click()


@pytest.mark.parametrize("zooms", [0, 2])
def test_the_value_under_the_pointer_is_that_pixel_s(page: Page, zooms: int) -> None:
    view_of(page, "ct.dcm", dicom(numbered())).focus()
    for _ in range(zooms):
        page.keyboard.press("Alt++")
    inside = ((8, 6), (20, 6), (12, 12), (20, 12)) if zooms else ((0, 0), (29, 0), (3, 17), (29, 19), (12, 7))
    for column, row in inside:
        hover(page, column + 0.5, row + 0.5)
        expect(page.locator(".mrb-pixel")).to_have_text(f"x {column}, y {row}: {300 * row + column - 1024} HU")


def test_a_distance_is_in_millimetres_of_the_file(page: Page) -> None:
    view_of(page, "ct.dcm", dicom(numbered(), PixelSpacing=[0.5, 2.0]))
    tool(page, "measure a distance")
    draw(page, (4 * 4, 2), (10 * 4, 18))  # a column of 2 mm is shown as four of 0.5 mm, as high as a row
    expect(page.locator(".mrb-said-of-image")).to_contain_text("distance 14.4 mm")  # 6 columns of 2, 16 rows of 0.5
    page.keyboard.press("Escape")
    expect(page.locator(".mrb-said-of-image")).to_have_text("")


@pytest.mark.parametrize(
    "tags", [{}, {"PixelSpacing": [0.2, 0.2], "ImagerPixelSpacing": [0.2, 0.2]}, {"ImagerPixelSpacing": [0.2, 0.2]}]
)
def test_without_a_spacing_in_the_patient_nothing_is_measured(page: Page, tags: dict[str, object]) -> None:
    view_of(page, "ct.dcm", dicom(numbered(), **tags))
    tool(page, "measure a distance")
    expect(page.locator(".mrb-said-of-image")).to_have_text(
        "No distance: this file does not say how far its pixels are apart."
    )


def test_a_series_is_one_image_at_a_time_by_wheel_keys_and_buttons(hand: Hand) -> None:
    page = hand.page
    show(page, document(plain_case({f"{i}.png": png(np.full((9, 9), 20 * i, np.uint8)) for i in range(6)})))
    said = page.locator(".mrb-series output")
    expect(said).to_have_text("image 1 of 6")
    expect(page.locator(".mrb-view:visible")).to_have_count(1)
    page.mouse.move(0, 0)
    page.locator(".mrb-view:visible").hover()
    page.mouse.wheel(0, 100)
    expect(said).to_have_text("image 2 of 6")
    page.locator(".mrb-view:visible").focus()
    for _ in range(9):
        page.keyboard.press("Alt+PageDown")
    expect(said).to_have_text("image 6 of 6")
    expect(page.locator(".mrb-image:visible figcaption")).to_contain_text("5.png")
    page.keyboard.press("Alt+PageUp")
    expect(said).to_have_text("image 5 of 6")
    hand.use(page.get_by_role("button", name="the one before"))
    expect(said).to_have_text("image 4 of 6")
    hand.use(page.get_by_role("button", name="the one after"))
    expect(said).to_have_text("image 5 of 6")
    hand.use(page.get_by_label("one at a time"))
    expect(page.locator(".mrb-view:visible")).to_have_count(6)


TOOLS = {
    "zoom in": ["Alt++"],
    "zoom out": ["Alt+-"],
    "1:1": [],
    "fit the whole image": ["Alt+0"],
    "invert": [],
    "reset": [],
}
LOOK = "document.querySelector('.mrb-view').getAttribute('style') + document.querySelector('.mrb-tools output').value"


def test_each_tool_changes_the_view_by_mouse_touch_and_keys(hand: Hand) -> None:
    page = hand.page
    view_of(page, "ct.dcm", dicom(numbered(), PixelSpacing=[0.5, 2.0]))
    hand.use(page.get_by_role("button", name="more for the image"))
    for words, keys in TOOLS.items():
        before = page.evaluate(LOOK)
        page.locator(".mrb-view").focus()
        hand.use(page.get_by_role("button", name=re.compile(f"^{words.strip()}")), *keys)
        page.wait_for_function(f"before => {LOOK} !== before", arg=before)
    hand.use(page.get_by_role("button", name="measure a distance"))
    expect(page.locator(".mrb-view")).to_contain_class("mrb-marking")
    hand.drag(at(page, 4, 2), at(page, 10, 18), "Enter", "ArrowRight", "ArrowDown", "Enter")
    expect(page.locator(".mrb-said-of-image")).to_contain_text(re.compile(r"^distance [\d.]+ mm.*Esc ends"))
    hand.choose(page.get_by_role("combobox", name="window preset"), "lung")
    expect(page.locator(".mrb-tools output")).to_contain_text("level -600 · window 1500")
    before = page.locator(".mrb-tools output").inner_text()
    slider = page.locator("[data-sets=level]")
    box = bounds(slider)
    slider.focus()
    middle = box["y"] + box["height"] / 2
    hand.drag((box["x"] + box["width"] / 2, middle), (box["x"] + box["width"] - 1, middle), "End")
    expect(page.locator(".mrb-tools output")).not_to_have_text(before)
    for is_full in (True, False):
        hand.use(page.get_by_role("button", name="full screen"))
        page.wait_for_function("is => Boolean(document.fullscreenElement?.matches('.mrb-image')) === is", arg=is_full)


def test_a_box_and_a_point_are_marked_in_pixels_of_the_image(page: Page) -> None:
    show(page, marking(document(plain_case({"ct.dcm": dicom(numbered())}))))
    begin(page)
    draw(page, (4, 2), (10, 18))
    begin(page)
    page.mouse.click(*at(page, 25, 5))
    names = ("image", "frame", "x", "y", "width", "height")
    box, point = ([one[name] for name in names] for one in page.evaluate("marked"))
    assert box == pytest.approx([0, 1, 4, 2, 6, 16], abs=0.11)
    assert point == pytest.approx([0, 1, 25, 5, 0, 0], abs=0.11)


def test_without_alt_every_key_reaches_the_page_after_a_click_in_the_image(page: Page) -> None:
    view_of(page, "ramp.png", png(RAMPS["8 bits"]))
    page.evaluate("window.heard = []; addEventListener('keydown', event => heard.push(event.key)); undefined")
    view = page.locator(".mrb-view")
    view.click()
    expect(view).to_be_focused()
    before, said = place(page), page.locator("output").inner_text()
    letters = [*"0123456789abcdefghijklmnopqrstuvwxyzABT[],./?+-=", "Enter", "ArrowLeft", "ArrowDown", "PageDown"]
    for key in letters:
        view.press(key)
    assert (place(page), page.locator("output").inner_text()) == (before, said)
    assert page.evaluate("heard") == letters
    view.press("Alt++")
    view.press("Alt+0")
    assert page.evaluate("heard") == [*letters, "Alt", "Alt"]


_WHERE = (
    "[document.activeElement].map(({ dataset, classList, ariaLabel }) => "
    "dataset.does ?? dataset.sets ?? classList.item(0) ?? ariaLabel).at(0)"
)


def test_all_of_it_is_reached_by_the_tab_key(page: Page) -> None:
    view_of(page, "ramp.png", png(RAMPS["12 bits"]))
    page.keyboard.press("Tab")
    reached = []
    for _ in range(6):
        reached.append(page.evaluate(_WHERE))
        page.keyboard.press("Tab")
    assert reached == ["mrb-view", "out", "in", "fit", "full", "more for the image"]
    more(page)
    page.locator("[data-sets=level]").focus()
    page.keyboard.press("End")
    expect(page.locator("output")).to_contain_text("level 6142.5")
