"""What a radiologist does with an image: measure, read a value, step through a series, mark a place."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from mrb_lib.review.pages import csp_hash

from .axe import violations
from .hand import Hand
from .pages import document, plain_case, show, stored

pydicom = pytest.importorskip("pydicom")

WIDE, TALL = 30, 20
MARKED = (
    "const marked = []; for (const root of document.querySelectorAll('.mrb-case')) "
    "mrbCase.attach(root, undefined, (one) => marked.push(one));"
)


@pytest.fixture
def page(same_page: Page) -> Page:
    return same_page


def numbered() -> np.ndarray:
    """Every pixel has a value of its own: 300 * row + column."""
    rows, columns = np.mgrid[:TALL, :WIDE]
    return (300 * rows + columns).astype(np.uint16)


def dicom(values: np.ndarray, **tags: object) -> bytes:
    dataset = pydicom.Dataset()
    dataset.file_meta = pydicom.dataset.FileMetaDataset()
    dataset.file_meta.TransferSyntaxUID = pydicom.uid.ExplicitVRLittleEndian
    dataset.file_meta.MediaStorageSOPClassUID = dataset.SOPClassUID = "1.2.840.10008.5.1.4.1.1.2"
    dataset.file_meta.MediaStorageSOPInstanceUID = dataset.SOPInstanceUID = "1.2.3"
    dataset.Modality, dataset.PhotometricInterpretation = "CT", "MONOCHROME2"
    dataset.Rows, dataset.Columns = values.shape
    dataset.SamplesPerPixel, dataset.PixelRepresentation = 1, 0
    dataset.BitsAllocated = dataset.BitsStored = 16
    dataset.HighBit = 15
    dataset.RescaleSlope, dataset.RescaleIntercept = 1, -1024
    dataset.PixelData = values.astype("<u2").tobytes()
    for name, value in tags.items():
        setattr(dataset, name, value)
    stream = io.BytesIO()
    dataset.save_as(stream, enforce_file_format=True)
    return stream.getvalue()


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
    place = page.evaluate(
        """([x, y]) => {
             const shown = document.querySelector('.mrb-view canvas') ?? document.querySelector('.mrb-view img');
             const view = document.querySelector('.mrb-view').getBoundingClientRect();
             const m = new DOMMatrix(getComputedStyle(shown).transform);
             const p = m.transformPoint(new DOMPoint(x, y));
             return [view.left + p.x, view.top + p.y];
           }""",
        [x, y],
    )
    return place[0], place[1]


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
    show(page, document(plain_case({"ct.dcm": dicom(numbered())})))
    page.locator(".mrb-view").focus()
    for _ in range(zooms):
        page.keyboard.press("Alt++")
    inside = ((8, 6), (20, 6), (12, 12), (20, 12)) if zooms else ((0, 0), (29, 0), (3, 17), (29, 19), (12, 7))
    for column, row in inside:
        hover(page, column + 0.5, row + 0.5)
        expect(page.locator(".mrb-pixel")).to_have_text(f"x {column}, y {row}: {300 * row + column - 1024} HU")


def test_inverted_black_is_white_and_said(page: Page) -> None:
    show(page, document(plain_case({"grey.png": stored(np.tile(np.array([[0, 255]], np.uint8), (8, 4)))})))
    tool(page, "invert")
    page.wait_for_selector(".mrb-view canvas")
    shown = page.evaluate(
        "() => [...document.querySelector('.mrb-view canvas').getContext('2d').getImageData(0, 0, 2, 1).data]"
    )
    assert (shown[0], shown[4]) == (255, 0)
    told = page.locator(".mrb-tools output")
    expect(told).to_contain_text("inverted")
    tool(page, "reset")
    expect(told).not_to_contain_text("inverted")


def test_a_distance_is_in_millimetres_of_the_file(page: Page) -> None:
    show(page, document(plain_case({"ct.dcm": dicom(numbered(), PixelSpacing=[0.5, 2.0])})))
    tool(page, "measure a distance")
    page.mouse.move(*at(page, 4 * 4, 2))  # a column of 2 mm is shown as four of 0.5 mm, as high as a row
    page.mouse.down()
    page.mouse.move(*at(page, 10 * 4, 18))
    page.mouse.up()
    expect(page.locator(".mrb-said-of-image")).to_contain_text("distance 14.4 mm")  # 6 columns of 2, 16 rows of 0.5
    page.keyboard.press("Escape")
    expect(page.locator(".mrb-said-of-image")).to_have_text("")


@pytest.mark.parametrize(
    "tags", [{}, {"PixelSpacing": [0.2, 0.2], "ImagerPixelSpacing": [0.2, 0.2]}, {"ImagerPixelSpacing": [0.2, 0.2]}]
)
def test_without_a_spacing_in_the_patient_nothing_is_measured(page: Page, tags: dict[str, object]) -> None:
    show(page, document(plain_case({"ct.dcm": dicom(numbered(), **tags)})))
    tool(page, "measure a distance")
    expect(page.locator(".mrb-said-of-image")).to_have_text(
        "No distance: this file does not say how far its pixels are apart."
    )


def test_a_preset_sets_the_window_of_a_ct_and_only_of_one(page: Page) -> None:
    files = {"ct.dcm": dicom(numbered()), "mr.dcm": dicom(numbered(), Modality="MR")}
    show(page, document(plain_case(files)))
    page.get_by_role("button", name="more for the image").first.click()
    presets = page.get_by_role("combobox", name="window preset")
    expect(presets).to_have_count(1)
    presets.select_option("lung")
    expect(page.locator(".mrb-image output").first).to_contain_text("level -600 · window 1500")


def test_a_colour_image_says_its_values(page: Page) -> None:
    colours = np.zeros((8, 8, 3), np.uint8)
    colours[3, 5] = (10, 20, 30)
    show(page, document(plain_case({"colour.png": stored(colours)})))
    hover(page, 5.5, 3.5)
    expect(page.locator(".mrb-pixel")).to_have_text("x 5, y 3: 10 20 30")


def test_a_series_is_one_image_at_a_time_and_the_wheel_goes_through_it(page: Page) -> None:
    show(page, document(plain_case({f"{i}.png": stored(np.full((9, 9), 20 * i, np.uint8)) for i in range(6)})))
    said = page.locator(".mrb-series output")
    expect(said).to_have_text("image 1 of 6")
    expect(page.locator(".mrb-view:visible")).to_have_count(1)
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
    page.get_by_label("one at a time").uncheck()
    expect(page.locator(".mrb-view:visible")).to_have_count(6)


def test_a_series_is_gone_through_by_its_buttons(hand: Hand) -> None:
    page, said = hand.page, hand.page.locator(".mrb-series output")
    show(page, document(plain_case({f"{i}.png": stored(np.full((9, 9), 20 * i, np.uint8)) for i in range(6)})))
    hand.use(page.get_by_role("button", name="the one after"))
    expect(said).to_have_text("image 2 of 6")
    hand.use(page.get_by_role("button", name="the one before"))
    expect(said).to_have_text("image 1 of 6")
    hand.use(page.get_by_label("one at a time"))
    expect(page.locator(".mrb-view:visible")).to_have_count(6)


def test_full_screen_and_back(hand: Hand) -> None:
    page = hand.page
    show(page, document(plain_case({"ct.dcm": dicom(numbered())})))
    page.set_viewport_size({"width": 1280, "height": 800})
    page.locator(".mrb-view").focus()
    hand.use(page.get_by_role("button", name="full screen"))
    page.wait_for_function("() => document.fullscreenElement?.matches('.mrb-image')")
    assert page.locator(".mrb-view").evaluate("view => view.clientHeight") > 400
    hand.use(page.get_by_role("button", name="full screen"))
    page.wait_for_function("() => !document.fullscreenElement")


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
    show(page, document(plain_case({"ct.dcm": dicom(numbered(), PixelSpacing=[0.5, 2.0])})))
    hand.use(page.get_by_role("button", name="more for the image"))
    for words, keys in TOOLS.items():
        before = page.evaluate(LOOK)
        page.locator(".mrb-view").focus()
        hand.use(page.get_by_role("button", name=re.compile(f"^{words}")), *keys)
        page.wait_for_function(f"before => {LOOK} !== before", arg=before)
    hand.use(page.get_by_role("button", name="measure a distance"))
    expect(page.locator(".mrb-view")).to_contain_class("mrb-marking")
    hand.drag(at(page, 4, 2), at(page, 10, 18), "Enter", "ArrowRight", "ArrowDown", "Enter")
    expect(page.locator(".mrb-said-of-image")).to_contain_text(re.compile(r"^distance [\d.]+ mm.*Esc ends"))
    hand.choose(page.get_by_role("combobox", name="window preset"), "lung")
    expect(page.locator(".mrb-tools output")).to_contain_text("level -600 · window 1500")
    slider = page.locator("[data-sets=level]")
    box = slider.bounding_box()
    assert box is not None
    slider.focus()
    middle = box["y"] + box["height"] / 2
    hand.drag((box["x"] + box["width"] / 2, middle), (box["x"] + box["width"] - 1, middle), "End")
    expect(page.locator(".mrb-tools output")).not_to_contain_text("level -600")


def test_a_box_and_a_point_are_marked_in_pixels_of_the_image(page: Page) -> None:
    show(page, marking(document(plain_case({"ct.dcm": dicom(numbered())}))))
    begin(page)
    page.mouse.move(*at(page, 4, 2))
    page.mouse.down()
    page.mouse.move(*at(page, 10, 18))
    page.mouse.up()
    begin(page)
    page.mouse.click(*at(page, 25, 5))
    box, point = json.loads(page.evaluate("JSON.stringify(marked)"))
    tolerance = 0.11
    assert box == {"image": 0, "frame": 1, **{k: pytest.approx(v, abs=tolerance) for k, v in
                                  {"x": 4, "y": 2, "width": 6, "height": 16}.items()}}  # fmt: skip
    assert point == {"image": 0, "frame": 1, "x": pytest.approx(25, abs=tolerance),
                     "y": pytest.approx(5, abs=tolerance), "width": 0, "height": 0}  # fmt: skip


def test_a_region_is_marked_by_keys_alone_and_stays_inside(new_page: Callable[..., Page]) -> None:
    page = new_page(hasty=True)
    show(page, marking(document(plain_case({"ct.dcm": dicom(numbered())}))))
    begin(page)
    for key in ["ArrowLeft"] * 100 + ["ArrowUp"] * 100 + ["Enter"] + ["ArrowRight"] * 200 + ["ArrowDown"] * 200:
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    (whole,) = json.loads(page.evaluate("JSON.stringify(marked)"))
    assert whole == {"image": 0, "frame": 1, "x": 0, "y": 0, "width": WIDE, "height": TALL}
    begin(page)
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("marked.length") == 1


def test_all_tools_are_accessible(page: Page) -> None:
    files = {"ct.dcm": dicom(numbered()), "colour.png": stored(np.zeros((8, 8, 3), np.uint8))}
    show(page, document(plain_case(files)))
    for button in page.get_by_role("button", name="more for the image").all():
        button.click()
    assert violations(page) == []
