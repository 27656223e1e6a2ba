"""The image of a case in a real browser: what the canvas shows, and that pointer and keys alone do everything."""

from __future__ import annotations

import io
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

from .pages import document, plain_case, show, stored

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
_WHERE = (
    "[document.activeElement].map(({ dataset, classList, ariaLabel }) => "
    "dataset.does ?? dataset.sets ?? classList.item(0) ?? ariaLabel).at(0)"
)


@pytest.fixture
def page(same_page: Page) -> Page:
    return same_page


def levels(shown: Locator) -> np.ndarray:
    """The grey levels of an image or a canvas, which has them alike in its three channels."""
    height, width, alike, *values = shown.evaluate(_READ)
    assert alike
    return np.array(values).reshape(height, width)


def through(real: np.ndarray, centre: float, width: float) -> np.ndarray:
    """The formula: black at centre - width / 2, white at centre + width / 2, linear between, to the nearest level."""
    return np.floor(np.clip((real - centre) / width + 0.5, 0, 1) * 255 + 0.5)


def slide(page: Page, span: float, centre: float, width: float) -> tuple[float, float]:
    """Set level and window by the sliders, and return what they then stand for."""
    page.locator("[data-sets=level]").evaluate(_SLIDE, centre)
    root = page.locator("[data-sets=window]").evaluate(_SLIDE, (width / span) ** 0.5)
    return page.locator("[data-sets=level]").evaluate("input => Number(input.value)"), root**2 * span


def more(page: Page) -> None:
    """Open the menu of the image, or of the first of several."""
    page.get_by_role("button", name="more for the image").first.click()


def drag(page: Page, dx: float, dy: float, *, button: Literal["left", "right"] = "left", key: str = "") -> None:
    """Press in the image, move the mouse and let go, while a key is held."""
    box = page.locator(".mrb-view").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 100, box["y"] + 100)
    if key:
        page.keyboard.down(key)
    page.mouse.down(button=button)
    page.mouse.move(box["x"] + 100 + dx, box["y"] + 100 + dy)
    page.mouse.up(button=button)
    if key:
        page.keyboard.up(key)


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
    show(page, document(plain_case({"ramp.png": stored(ramp)})))
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
    show(page, document(plain_case({"ct.dcm": path.read_bytes()})))
    assert "more than 8 bits" in page.locator("figcaption").inner_text()
    asked = slide(page, units.max() - units.min(), 40, 400)
    expect(page.locator("output")).to_contain_text("level 40 · window 400")
    expect(page.locator(".mrb-view canvas")).to_be_visible()
    np.testing.assert_array_equal(levels(page.locator(".mrb-view canvas")), through(units, *asked))


def test_nothing_in_the_page_names_the_patient_of_a_dicom_file(page: Page) -> None:
    path = Path(str(get_testdata_file("CT_small.dcm")))
    name = str(pydicom.dcmread(path).PatientName)
    show(page, document(plain_case({"ct.dcm": path.read_bytes()})))
    assert name
    assert name not in page.content()


def test_with_alt_keys_zoom_move_and_fit(page: Page) -> None:
    show(page, document(plain_case({"ramp.png": stored(RAMPS["12 bits"])})))
    view = page.locator(".mrb-view")
    view.focus()
    whole = place(page)
    view.press("Alt++")
    assert place(page)[2] == pytest.approx(whole[2] * 1.25)
    x, y, zoom = place(page)
    for key, by in (("ArrowLeft", (40, 0)), ("ArrowUp", (0, 40)), ("ArrowRight", (-40, 0)), ("ArrowDown", (0, -40))):
        view.press(f"Alt+{key}")
        x, y = x + by[0], y + by[1]
        assert place(page) == (pytest.approx(x), pytest.approx(y), zoom)
    view.press("Alt+-")
    assert place(page)[2] == pytest.approx(whole[2])
    view.press("Alt+0")
    assert place(page) == whole


def test_without_alt_every_key_reaches_the_page_after_a_click_in_the_image(page: Page) -> None:
    show(page, document(plain_case({"ramp.png": stored(RAMPS["8 bits"])})))
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


def test_the_help_of_the_image_tells_its_keys_and_drags(page: Page) -> None:
    images = {"grey.png": stored(RAMPS["12 bits"]), "colour.png": stored(np.zeros((8, 8, 3), np.uint8))}
    show(page, document(plain_case(images)))
    for figure, windows in zip(page.locator("figure").all(), (True, False), strict=True):
        figure.get_by_role("button", name="more for the image").click()
        for said in (figure.locator(".mrb-legend").inner_text(), figure.locator(".mrb-view").get_attribute("title")):
            assert said
            assert "Keys, with Alt: + and \u2212 zoom, 0 fits, arrows move" in said
            assert ("The right button, or Alt and drag, sets the window" in said) == windows
        assert "Alt" in str(figure.locator(".mrb-view").get_attribute("aria-label"))


@pytest.mark.parametrize(("depth", "button"), [("12 bits", "left"), ("colour", "left"), ("colour", "right")])
def test_a_drag_moves_the_image(page: Page, depth: str, button: Literal["left", "right"]) -> None:
    values = RAMPS.get(depth, np.zeros((8, 8, 3), np.uint8))
    show(page, document(plain_case({"ramp.png": stored(values)})))
    said, before = page.locator("output").inner_text(), place(page)
    drag(page, 30, -20, button=button)
    assert place(page) == (pytest.approx(before[0] + 30), pytest.approx(before[1] - 20), before[2])
    expect(page.locator("output")).to_have_text(said)


@pytest.mark.parametrize("key", ["", "Control"])
def test_the_wheel_zooms_about_the_mouse(page: Page, key: str) -> None:
    show(page, document(plain_case({"ramp.png": stored(RAMPS["12 bits"])})))
    drag(page, 30, -20)
    x, y, zoom = place(page)
    if key:
        page.keyboard.down(key)
    page.mouse.wheel(0, -100)
    if key:
        page.keyboard.up(key)
    page.wait_for_function(
        "zoom => parseFloat(document.querySelector('.mrb-view').style.getPropertyValue('--zoom')) > zoom", arg=zoom
    )
    after = place(page)
    assert [(at - one) / after[2] for at, one in zip((130, 80), after[:2], strict=True)] == pytest.approx(
        [(at - one) / zoom for at, one in zip((130, 80), (x, y), strict=True)], abs=0.2
    )


def test_the_wheel_scrolls_the_page_past_an_image_that_it_brings_under_the_mouse(page: Page) -> None:
    tall = "<p>above</p>" * 30
    show(page, document(tall, plain_case({"ramp.png": stored(RAMPS["8 bits"])}), tall * 3))
    view, before = page.locator(".mrb-view"), place(page)
    box = view.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 100, 300)
    for _ in range(60):
        page.mouse.wheel(0, 40)
        page.wait_for_timeout(20)
    below = view.bounding_box()
    assert below is not None
    assert below["y"] + below["height"] < 300
    assert place(page) == before


def test_at_the_whole_image_the_wheel_scrolls_on(page: Page) -> None:
    show(page, document(plain_case({"x.png": stored(np.zeros((2000, 900), np.uint8))}), "<p>end</p>" * 200))
    before = place(page)
    page.locator(".mrb-view").hover()
    page.mouse.wheel(0, 300)
    page.wait_for_function("() => scrollY > 0")
    assert place(page) == before


@pytest.mark.parametrize(("button", "key"), [("right", ""), ("left", "Alt")])
def test_the_right_button_or_alt_sets_level_and_window(page: Page, button: Literal["left", "right"], key: str) -> None:
    show(page, document(plain_case({"ramp.png": stored(RAMPS["12 bits"])})))
    before = place(page)
    drag(page, 0, 40, button=button, key=key)
    expect(page.locator("output")).to_contain_text("level 2457 \u00b7 window 4095")
    drag(page, 20, 0, button=button, key=key)
    expect(page.locator("output")).to_contain_text("level 2457 \u00b7 window 4525.7")
    assert place(page) == before


def test_fit_shows_all_of_the_image_and_one_to_one_its_own_size(page: Page) -> None:
    show(page, document(plain_case({"wide.png": stored(np.zeros((90, 400), np.uint8))})))
    view, image = page.locator(".mrb-view"), page.locator(".mrb-view img")
    around, inner = view.bounding_box(), image.bounding_box()
    assert around is not None
    assert inner is not None
    assert inner["width"] == pytest.approx(around["width"], abs=1)
    assert inner["height"] == pytest.approx(inner["width"] * 90 / 400, abs=1)
    more(page)
    page.get_by_role("button", name="1:1").click()
    inner = image.bounding_box()
    assert inner is not None
    assert (inner["width"], inner["height"]) == (400, 90)
    page.get_by_role("button", name="fit the whole image").click()
    page.set_viewport_size({"width": 500, "height": 800})
    page.wait_for_function(
        "was => document.querySelector('.mrb-view').getBoundingClientRect().width < was", arg=around["width"]
    )
    page.wait_for_function(
        "() => Math.abs(document.querySelector('.mrb-view img').getBoundingClientRect().width - "
        "document.querySelector('.mrb-view').getBoundingClientRect().width) < 1"
    )


def test_a_colour_image_has_no_window(page: Page) -> None:
    colours = np.zeros((8, 8, 3), np.uint8)
    colours[..., 0] = 200
    show(page, document(plain_case({"colour.png": stored(colours)})))
    expect(page.locator(".mrb-tools input:is([data-sets=level], [data-sets=window])")).to_have_count(0)
    view = page.locator(".mrb-view")
    view.focus()
    drag(page, 25, 10, key="Alt")
    expect(page.locator("output")).not_to_contain_text("window")
    expect(page.locator(".mrb-view canvas")).to_have_count(0)


def test_all_of_it_is_reached_by_the_tab_key(page: Page) -> None:
    show(page, document(plain_case({"ramp.png": stored(RAMPS["12 bits"])})))
    page.keyboard.press("Tab")
    reached = []
    for _ in range(6):
        reached.append(page.evaluate(_WHERE))
        page.keyboard.press("Tab")
    assert reached == ["mrb-view", "out", "in", "fit", "full", "more for the image"]
    before = place(page)[2]
    button = page.get_by_role("button", name="zoom in")
    button.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Space")
    assert place(page)[2] == pytest.approx(before * 1.25**2)
    more(page)
    page.locator("[data-sets=level]").focus()
    page.keyboard.press("End")
    expect(page.locator("output")).to_contain_text("level 6142.5")


def test_where_the_keyboard_is_can_be_seen(page: Page) -> None:
    show(page, document(plain_case({"ramp.png": stored(RAMPS["8 bits"])})))
    page.keyboard.press("Tab")
    outline, ring = page.evaluate(
        "[document.activeElement].map(getComputedStyle).flatMap(({ outline, boxShadow }) => [outline, boxShadow])"
    )
    assert "solid" in outline
    assert "3px" in outline
    assert ring.count("0px 0px 0px") == 2, "a light line beside a dark one is seen on any picture"
    view = page.locator(".mrb-view").bounding_box()
    assert view is not None
    around = np.asarray(Image.open(io.BytesIO(page.screenshot())).convert("L")).astype(int)
    row, left = around[round(view["y"] + view["height"] / 2)], round(view["x"])
    assert np.ptp(row[left - 4 : left + 4]) > 100


def test_what_is_pressed_is_large_enough_for_a_finger(page: Page) -> None:
    show(page, document(plain_case({f"{i}.png": stored(RAMPS["12 bits"]) for i in range(2)})))
    more(page)
    pressed = page.locator(
        ".mrb-image :is(button, input, select), .mrb-series :is(button, label), .mrb-switch, summary"
    )
    for one in pressed.all():
        box = one.bounding_box()
        assert box is None or (box["width"] >= 24 and box["height"] >= 24), one.evaluate("one => one.outerHTML")


def test_each_of_several_images_has_its_own_view(page: Page) -> None:
    images = {"one.png": stored(RAMPS["12 bits"]), "two.png": stored(RAMPS["8 bits"])}
    show(page, document(plain_case(images)))
    first, second = page.locator("figure").all()
    more(page)
    first.get_by_role("button", name="1:1").click()
    expect(first.locator("output")).to_contain_text("100 %")
    expect(second.locator("output")).not_to_contain_text("100 %")


def test_without_its_script_the_image_is_a_plain_picture(new_page: Callable[..., Page]) -> None:
    page = new_page(java_script_enabled=False)
    page.set_content(document(plain_case({"ramp.png": stored(RAMPS["12 bits"])})))
    expect(page.locator(".mrb-view img")).to_be_visible()
    expect(page.locator(".mrb-tools")).to_have_count(0)


def test_two_fingers_pinch(new_page: Callable[..., Page]) -> None:
    page = new_page(has_touch=True)
    show(page, document(plain_case({"ramp.png": stored(RAMPS["12 bits"])})))
    box = page.locator(".mrb-view").bounding_box()
    assert box is not None
    before = place(page)[2]
    touch = page.context.new_cdp_session(page)
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    for kind, apart in (("touchStart", 40), ("touchMove", 60), ("touchMove", 80), ("touchEnd", None)):
        fingers = (
            []
            if apart is None
            else [{"x": middle[0] - apart, "y": middle[1]}, {"x": middle[0] + apart, "y": middle[1]}]
        )
        points = [finger | {"id": number} for number, finger in enumerate(fingers)]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    assert place(page)[2] == pytest.approx(2 * before, rel=0.02)


def test_what_is_shown_smaller_is_told_with_its_own_size_and_has_no_more_pixels_without_an_app(page: Page) -> None:
    ramp = np.tile(np.arange(2048) % 256, (1500, 1)).astype(np.uint8)
    show(page, document(plain_case({"ramp.png": stored(ramp)})))
    assert "shown at most 1024 wide or high" in page.locator("figcaption").inner_text()
    more(page)
    page.get_by_role("button", name="1:1").click()
    expect(page.locator("output")).to_contain_text("100 %")
    expect(page.locator("output")).to_contain_text("enlarged from 1024 \u00d7 750")
    assert place(page)[2] == 1
