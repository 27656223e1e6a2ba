"""Plain pages for tests: cases with their script, under the rules that the site's pages have."""

import io
import math
from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd
from PIL import Image
from playwright.sync_api import FloatRect, Locator, Page, expect

from mrb_lib.review.case import SCRIPTS, STYLES, case_html
from mrb_lib.review.pages import csp_hash, script, style
from tests.benchmarks.near_copies import dicom as written

SCROLLBARS = """all => all.filter((one) => one.clientHeight && one.scrollHeight > one.clientHeight + 1
  && /auto|scroll/.test(getComputedStyle(one).overflowY)).map((one) => one.className)"""
"""Of some elements those that have a scrollbar of their own beside them."""
IMPATIENT = (
    "const real = window.setTimeout, sooner = { 20000: 500, 3000: 200 };"
    "window.setTimeout = (then, ms, ...rest) => real(then, (window.hasty && sooner[ms]) || ms, ...rest);"
)
"""While `window.hasty`, a page waits half a second for an answer, and not twenty; a coordinator's looks more often."""
_BOOT = "\nfor (const root of document.querySelectorAll('.mrb-case')) mrbCase.attach(root);\n"
_VERDICTS = ("judge", "case_id", "dimension", "order", "repeat", "probe", "choice", "p_a", "status", "reply", "error")


def document(*bodies: str) -> str:
    """A whole page of HTML that may run `case.js` and nothing else, and may ask for nothing."""
    code = script(*SCRIPTS) + _BOOT
    rules = f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src '{csp_hash(code)}'"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>cases</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{rules}">'
        f"<style>{style(*STYLES)}body {{ margin: 1rem }}</style></head>"
        f'<body class="mrb"><main><h1>Cases</h1>{"".join(bodies)}</main><script>{code}</script></body></html>'
    )


def plain_case(images: Mapping[str, bytes], **fields: object) -> str:
    """A case about some images, with two annotators and a judge."""
    case = pd.Series(
        {"case_id": "c1", "question": "Which side?", "response_a": "Left, 5 mm.", "response_b": "Right, 7 mm.",
         "images": list(images), "organ": "lung", "modality": "CT", **fields}
    )  # fmt: skip
    here = str(case["case_id"])
    votes = [(here, who, "overall", said) for who, said in (("r1", "A"), ("r2", "B"))]
    said = [("judge", here, "overall", order, 0, "none", "A", 0.7, "ok", "because", None) for order in ("AB", "BA")]
    return case_html(
        case,
        images=images,
        annotations=pd.DataFrame(votes, columns=["case_id", "annotator", "dimension", "choice"]),
        gold=pd.DataFrame({"case_id": [here], "dimension": ["overall"], "choice": ["A"]}),
        verdicts=pd.DataFrame(said, columns=list(_VERDICTS)),
        style=False,
    )


def dicom(values: np.ndarray, **tags: object) -> bytes:
    """A CT file of these stored values, with tags of its own."""
    about = {"Modality": "CT", "RescaleSlope": 1, "RescaleIntercept": -1024, "BitsStored": 16, "HighBit": 15}
    return written(values, **{**about, **tags})


def in_one_view(page: Page, within: str) -> None:
    """The image and the first lines of an answer are in sight at once, on a small screen and on a smaller one."""
    for width, height in ((1280, 800), (1024, 768)):
        page.set_viewport_size({"width": width, "height": height})
        page.locator(".mrb-case-pane").evaluate_all("panes => panes.forEach(pane => { pane.scrollTop = 0; })")
        expect(page.locator(f"{within} .mrb-view").first).to_be_in_viewport(ratio=0.95)
        answer = page.locator(f"{within} .mrb-answer-text").first
        lines = "one => (innerHeight - one.getBoundingClientRect().top) / parseFloat(getComputedStyle(one).lineHeight)"
        assert answer.evaluate(lines) >= 4
        assert page.locator(f"{within} .mrb-case *, {within}.mrb-case *").evaluate_all(SCROLLBARS) == []


def through(real: np.ndarray, centre: float, width: float) -> np.ndarray:
    """The formula: black at centre - width / 2, white at centre + width / 2, linear between, to the nearest level."""
    return np.floor(np.clip((real - centre) / width + 0.5, 0, 1) * 255 + 0.5)


def on_screen(page: Page, expected: np.ndarray) -> None:
    """The middle of the view is, pixel for pixel, that of the image there, whose grey levels are expected."""
    view = page.locator(".mrb-view")
    x, y = view.evaluate("view => ['--x', '--y'].map(name => parseFloat(view.style.getPropertyValue(name)))")
    box = bounds(view)
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    clip = {"x": math.ceil(middle[0]) - 60, "y": math.ceil(middle[1]) - 40, "width": 120, "height": 80}
    pixels = np.asarray(Image.open(io.BytesIO(page.screenshot(clip=clip))).convert("RGB"))
    assert (pixels == pixels[..., :1]).all()
    down, right = clip["y"] - box["y"] - y, clip["x"] - box["x"] - x
    # A browser puts a box that begins between two pixels onto either.
    places = {(r, c) for r in (math.floor(down), math.ceil(down)) for c in (math.floor(right), math.ceil(right))}
    alike = [np.array_equal(pixels[..., 0], expected[r : r + 80, c : c + 120]) for r, c in places]
    assert any(alike)


def one_to_one(page: Page) -> None:
    """Show the one image in sight with every pixel it has."""
    told, whole = page.locator(".mrb-tools:not(.mrb-series) output"), page.get_by_role("button", name="1:1")
    more = page.get_by_role("button", name="more for the image")
    more.click()
    whole.click()
    more.click()
    page.locator(".mrb-view").focus()
    expect(told).to_contain_text("100 %")
    expect(told).not_to_contain_text("loading")
    expect(told).not_to_contain_text("enlarged")


def show(page: Page, html: str) -> None:
    """Open a page of HTML, and wait until each of its images answers."""
    page.set_content(html, wait_until="load")
    page.wait_for_function(
        "() => [...document.querySelectorAll('.mrb-view')].every(view => view.style.getPropertyValue('--zoom'))"
    )


def explorer(page: Page, address: str, fragment: str = "", who: str = "") -> Page:
    """Open the failure explorer on what a fragment names, where a name is given as that reviewer, with its case."""
    page.goto(f"{address.partition('#')[0]}#{fragment}" if fragment else address, wait_until="domcontentloaded")
    expect(page.locator(".mrb-shown")).to_be_visible()
    if who:
        sign_in(page, who)
        page.keyboard.press("Escape")
    settled(page)
    return page


def settled(page: Page) -> None:
    """Wait until what is in sight takes keys and clicks."""
    expect(page.locator(".mrb-changing")).to_have_count(0)


def reviewing(page: Page, case: str) -> None:
    """Wait until a case is before its reviewer."""
    expect(page.locator(".mrb-of-case bdi")).to_have_text(case)
    settled(page)


def press(page: Page, keys: Iterable[str]) -> None:
    """Press keys one after the other."""
    for key in keys:
        page.keyboard.press(key)


def desk(page: Page, address: str, who: str = "") -> Page:
    """Open the page of an annotator, the first one or one by name, with its first case."""
    page.goto(address)
    page.locator(".mrb-person", has_text=who).first.click()
    at_case(page, 1)
    return page


def at_case(page: Page, number: int) -> None:
    """Wait until an annotator's page shows a case, its image included."""
    expect(page.get_by_role("heading", name=f"Case {number} of")).to_be_visible()
    expect(page.locator(".mrb-view.mrb-live").first).to_be_visible()
    settled(page)


def told(page: Page, words: str) -> None:
    """Wait until the page says so."""
    expect(page.get_by_role("status").filter(has_text=words)).to_be_visible()


def bounds(one: Locator) -> FloatRect:
    """Where an element is on the screen."""
    found = one.bounding_box()
    assert found is not None
    return found


def open_menu(page: Page) -> None:
    """Open the menu of the failure explorer; what is chosen there closes it."""
    page.get_by_role("button", name="Menu", exact=True).click()


def sign_in(page: Page, name: str) -> None:
    """Sign in to the failure explorer, under a name that nobody may have had before."""
    page.get_by_label("Your name").fill(name)
    page.get_by_role("button", name="Sign in").click()
    if page.get_by_role("button", name="Add the name").is_visible():
        page.get_by_role("button", name="Add the name").click()
    expect(page.locator(".mrb-who")).to_contain_text(f"Signed in as {name}")
