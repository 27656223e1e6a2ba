"""The case in the failure explorer on a small laptop: a large image, whole answers, keys that keep their meaning."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Locator, Page, expect

from mrb_lib.benchmarks.benchmark import Benchmark
from tests.pictures import png

from .pages import SCROLLBARS, bounds, explorer
from .server import Served, simulated

LAPTOP = {"width": 1366, "height": 768}
SMALL = (
    "all => all.filter(one => one.checkVisibility()).map(one => one.closest('label') ?? one)"
    ".filter(one => Math.min(one.getBoundingClientRect().width, one.getBoundingClientRect().height) < 24)"
    ".map(one => one.outerHTML)"
)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    """Four simulated cases, the first about a picture that is wider than tall, and two judges that never agree."""
    ramp = png(np.tile(np.linspace(0, 255, 1200).astype(np.uint8), (800, 1)))

    def images(cases: pd.DataFrame) -> list[Any]:
        return [["wide.png"], *cases["images"].iloc[1:]]

    root = tmp_path_factory.mktemp("pane")
    return simulated(root, 4, judged=True, pictures={"wide.png": ramp}, images=images)


@pytest.fixture
def laptop(new_page: Callable[..., Page], served: Served) -> Page:
    """The first case, with the two judges in view."""
    page = new_page(viewport=LAPTOP)
    return explorer(page, served.address, "judge=longer&other=shorter&dimension=overall", "Dr A")


def width_in_sight(view: Locator) -> float:
    """The width of the image, which has to be in sight as a whole together with its tools."""
    expect(view).to_be_in_viewport(ratio=1)
    expect(view.page.locator(".mrb-tools").first).to_be_in_viewport(ratio=1)
    box = bounds(view)
    return box["width"]


def test_the_image_is_as_large_as_the_window_allows(laptop: Page) -> None:
    view = laptop.locator(".mrb-view")
    assert width_in_sight(view) >= 560
    laptop.keyboard.press("j")
    expect(laptop.locator(".mrb-title")).to_contain_text("sim-000001")
    pane = bounds(laptop.locator(".mrb-case-pane"))
    assert width_in_sight(view) >= min(560, pane["height"] - 84), "a square one is as tall as the pane, less its tools"


def test_the_verdict_stands_beside_the_gold_label_without_scrolling(laptop: Page) -> None:
    line, table = laptop.locator(".mrb-chose"), laptop.locator(".mrb-in-view tbody tr")
    expect(laptop.locator(".mrb-in-view summary")).to_have_text("The two judges on overall")
    expect(line).to_be_in_viewport(ratio=1)
    for judge in ("longer", "shorter"):
        expect(line).to_contain_text(judge)
    expect(line).to_contain_text("Gold on overall:")
    gold, *chosen = line.locator(".mrb-choice").all_inner_texts()
    cells = [row.locator("td .mrb-choice").first.inner_text() for row in table.all()]
    assert chosen == cells
    assert len(set(chosen)) == 2
    outcomes = line.locator("span > b:last-child").all_inner_texts()
    assert outcomes == ["right" if one == gold else "wrong" for one in chosen]


def test_answers_are_whole_and_only_the_case_scrolls(laptop: Page) -> None:
    long = "both => both.forEach(one => one.append(' and so on'.repeat(400)))"
    laptop.locator(".mrb-shown :is(.mrb-answer-text, .mrb-question)").evaluate_all(long)
    assert laptop.locator(".mrb-shown .mrb-stage *").evaluate_all(SCROLLBARS) == []
    hidden = "all => all.filter(one => one.scrollHeight > one.clientHeight + 1).length"
    assert laptop.locator(".mrb-shown .mrb-answer-text").evaluate_all(hidden) == 0
    last = laptop.locator(".mrb-answer-text").last
    last.evaluate("one => one.scrollIntoView({ block: 'end' })")
    expect(laptop.locator(".mrb-view")).to_be_in_viewport(ratio=1)


def test_the_image_has_four_tools_and_a_menu_and_all_that_is_pressed_is_large_enough_for_a_finger(laptop: Page) -> None:
    bar = laptop.locator(".mrb-image > .mrb-tools").first
    assert bar.get_by_role("button").all_inner_texts() == ["\u2212", "+", "Fit", "Full", "\u22ef"]
    laptop.get_by_role("button", name="more for the image").click()
    names = laptop.locator(".mrb-image .mrb-tools :is(button, select, label)").all_inner_texts()
    assert len(names) == len(set(names)), "no tool is there twice"
    laptop.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    pressed = "button, input, select, summary, textarea, a[href], [role=option], .mrb-view"
    assert laptop.locator(pressed).evaluate_all(SMALL) == []
