"""An hour of a reviewer: who they are, where they look, what is saved and what is not, and a server that goes away."""

import os
import re
import signal
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Locator, Page, expect

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.review.records.marks import current
from tests.pictures import png

from .axe import violations, violations_in_both_schemes
from .haste import paused
from .pages import IMPATIENT, bounds, desk, explorer, press, reviewing
from .server import Served, answers_of, deal, path_of, reviews_of, simulated

QUERY = "judge=longer&dimension=overall"
OPTIONS = ("--assign", "Dr Able,Dr Blind", "--overlap", "2", "--query", QUERY)
"""All cases of a judge are assigned to two reviewers."""
LOW = {"width": 1366, "height": 650}
FORM_KEYS = ("1", "2", "a", "z", "Shift+1", "n", "m", "s", "Enter")


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    """Twelve cases, the first about a picture that is wider than tall, and the runs of two judges."""
    ramp = png(np.tile(np.linspace(0, 255, 1200).astype(np.uint8), (800, 1)))

    def images(cases: pd.DataFrame) -> list[Any]:
        return [["wide.png"], *cases["images"].iloc[1:]]

    root = tmp_path_factory.mktemp("reviewing")
    return simulated(root, 12, judged=True, pictures={"wide.png": ramp}, images=images)


def _case(page: Page, number: int) -> None:
    reviewing(page, f"sim-{number:06d}")


def _uncovered(one: Locator) -> bool:
    """Whether the middle of an element, scrolled into view, is what a click there hits."""
    one.scroll_into_view_if_needed()
    hit: bool = one.evaluate("""one => {
      const { left, top, width, height } = one.getBoundingClientRect();
      return one.contains(document.elementFromPoint(left + width / 2, top + height / 2));
    }""")
    return hit


def test_after_save_and_next_case_gold_label_and_verdicts_are_in_sight(page: Page, served: Served) -> None:
    page.set_viewport_size(LOW)
    explorer(page, served.address, QUERY, "Dr Next")
    for number in (0, 1):
        _case(page, number)
        page.locator(".mrb-verdict label").first.click()
        for pane in (".mrb-case-pane", ".mrb-review-body"):
            page.locator(pane).evaluate("one => new Promise(done => { one.onscroll = done; one.scrollTop = 9999; })")
        page.get_by_role("button", name="Save and next").click()
        _case(page, number + 1)
        for part in (".mrb-shown .mrb-title", ".mrb-gold-line", ".mrb-verdict"):
            expect(page.locator(part)).to_be_in_viewport(ratio=1)


def test_assigned_cases_open_with_their_judge_and_a_misspelt_reviewer_is_told_who_is_known(
    page: Page, served: Served, bench: Benchmark
) -> None:
    page.goto(served.address)
    expect(page.get_by_role("heading", name="Sign in to see")).to_be_visible()
    page.get_by_label("Your name").fill("Dr Abel")
    page.keyboard.press("Enter")
    expect(page.locator(".mrb-who").get_by_role("alert")).to_contain_text("“Dr Abel” is a new name here.")
    assert violations_in_both_schemes(page) == []
    page.keyboard.press("Enter")
    expect(page.locator(".mrb-nothing")).to_contain_text("No case is assigned to Dr Abel.")
    expect(page.locator(".mrb-nothing")).to_contain_text("Dr Able, Dr Blind")
    page.get_by_role("button", name="Sign out").click()
    page.get_by_label("Your name").fill("dr able")
    page.keyboard.press("Enter")
    expect(page.locator(".mrb-who")).to_contain_text("Signed in as Dr Able")
    expect(page.locator("[data-filter=judge]")).to_have_value("=longer")
    expect(page.locator("[data-field=judge]")).to_have_value("longer")
    expect(page.locator("[data-field=judge] option").first).to_be_disabled()
    _case(page, 0)
    press(page, "1s")
    expect(page.locator(".mrb-saved")).to_contain_text("Saved")
    page.locator("[data-field=judge] option").first.evaluate("one => { one.disabled = false; }")
    page.locator("[data-field=judge]").select_option("")
    press(page, ("Escape", "1", "s"))
    expect(page.locator(".mrb-saved")).to_contain_text("Not saved: no judge is named")
    page.locator("[data-filter=judge]").select_option("")
    expect(page.locator("[data-field=judge]")).to_have_value("")
    assert reviews_of(bench, "Dr Able")["judge"].tolist() == ["longer"]


def test_who_signs_in_in_a_second_tab_changes_nobody_in_the_first(page: Page, served: Served) -> None:
    first, second = (explorer(tab, served.address, QUERY) for tab in (page, page.context.new_page()))
    names = first.locator(".mrb-who datalist option").evaluate_all("all => all.map(one => one.value)")
    assert {"Dr Able", "Dr Blind"} <= set(names)
    for tab, name in ((first, "Dr Able"), (second, "Dr Blind")):
        tab.get_by_label("Your name").fill(name)
        tab.get_by_role("button", name="Sign in").click()
    for tab, name in ((first, "Dr Able"), (second, "Dr Blind")):
        expect(tab.locator(".mrb-who")).to_contain_text(f"Signed in as {name}")
        tab.reload()
        expect(tab.locator(".mrb-who")).to_contain_text(f"Signed in as {name}")


def test_an_unsaved_review_is_marked_and_closing_the_tab_asks(page: Page, served: Served) -> None:
    asked = list[str]()
    explorer(page, served.address, f"case=sim-000005&{QUERY}", "Dr Unsaved")
    page.on("dialog", lambda dialog: asked.append(dialog.type))
    title, row = page.title(), page.locator("[data-index='5']")
    _case(page, 5)
    page.keyboard.press("3")
    expect(page).to_have_title(f"● Not saved: {title}")
    expect(row).to_contain_text("○ unsaved")
    page.reload()
    assert asked == ["beforeunload"]
    _case(page, 5)
    expect(page.locator(".mrb-saved")).to_contain_text("Not saved yet: this is what you typed before")
    expect(page.locator(".mrb-verdict input").nth(2)).to_be_checked()
    expect(page).to_have_title(f"● Not saved: {title}")
    page.locator(".mrb-save").click()
    expect(page).to_have_title(title)
    expect(row).to_contain_text("✓ you")
    page.reload()
    assert asked == ["beforeunload"], "what is saved asks nothing"


def test_who_is_not_signed_in_is_told_so_and_brought_there(page: Page, served: Served) -> None:
    explorer(page, served.address, QUERY)
    name = page.get_by_label("Your name")
    for _ in range(5):
        page.keyboard.press("Tab")
        if name.evaluate("one => one === document.activeElement"):
            break
    expect(name).to_be_focused()
    for key in FORM_KEYS:
        page.locator(".mrb-explorer").press(key)
        expect(page.locator(".mrb-notice")).to_contain_text("Sign in first")
        expect(name).to_be_focused()
        expect(name).to_have_value("")
    assert violations(page) == []


def test_back_leads_through_the_cases_and_the_filters(page: Page, served: Served) -> None:
    explorer(page, served.address, QUERY)
    _case(page, 0)
    page.keyboard.press("j")
    _case(page, 1)
    page.locator("[data-index='3']").click()
    _case(page, 3)
    before = page.url
    page.locator("[data-filter=judge]").select_option("=shorter")
    expect(page).to_have_url(re.compile("judge=shorter"))
    page.go_back()
    expect(page).to_have_url(before)
    expect(page.locator("[data-filter=judge]")).to_have_value("=longer")
    _case(page, 3)
    page.go_back()
    page.go_back()
    _case(page, 0)
    expect(page.locator(".mrb-row[data-index='0']")).to_have_attribute("aria-selected", "true")
    page.go_forward()
    _case(page, 1)


def test_reasons_and_harm_are_asked_once_a_judge_is_chosen(page: Page, served: Served) -> None:
    explorer(page, served.address, "case=sim-000006", "Dr Judge")
    asked = [page.get_by_role("group", name=words) for words in ("Why did the judge fail?", "choice were acted on")]
    for one in asked:
        expect(one).to_be_hidden()
    for key in ("z", "Shift+2"):
        page.keyboard.press(key)
        expect(page.locator(".mrb-saved")).to_contain_text("Choose the judge first")
    page.locator("[data-field=judge]").select_option("longer")
    for one in asked:
        expect(one).to_be_visible()


@pytest.mark.parametrize("size", [LOW, {"width": 768, "height": 1024}, {"width": 683, "height": 384}])
def test_nothing_covers_the_form_of_a_saved_review(page: Page, served: Served, size: dict[str, int]) -> None:
    page.set_viewport_size(size)
    explorer(page, served.address, f"case=sim-000007&{QUERY}", f"Dr Wide {size['width']}")
    _case(page, 7)
    press(page, "3s")
    expect(page.get_by_role("button", name="Save correction")).to_be_visible()
    expect(page.locator(".mrb-saved")).to_contain_text("Saved")
    for part in page.locator(".mrb-form label:visible, .mrb-review button:visible").all():
        assert _uncovered(part), part.inner_text()


def test_the_lost_server_covers_no_error_and_a_killed_one_loses_nothing(page: Page, bench: Benchmark) -> None:
    page.set_viewport_size({"width": 1366, "height": 768})
    page.add_init_script(IMPATIENT)
    saved = page.locator(".mrb-saved")
    with Served("review", path_of(bench)) as first:
        explorer(page, first.address, f"case=sim-000010&{QUERY}", "Dr Killed")
        _case(page, 10)
        with paused(first):
            press(page, "4n")
            page.keyboard.type("typed before")
            page.evaluate("window.hasty = true")
            page.keyboard.press("Control+Enter")
            expect(saved).to_contain_text("does not answer")
            assert "✓" not in page.locator("[data-index='10']").inner_text(), "nothing is stored yet"
            page.evaluate("window.hasty = false")
            page.keyboard.press("Control+Enter")
            expect(saved).to_have_text("Saving …")
            page.keyboard.type(", and after")
            first.process.kill()
    expect(page.locator("#mrb-lost")).to_be_visible()
    mark, lost = bounds(saved), bounds(page.locator("#mrb-lost"))
    assert mark["y"] + mark["height"] <= lost["y"] + 1
    assert page.locator(".mrb-notice").evaluate("one => one.getBoundingClientRect().bottom") <= lost["y"]
    with Served("review", path_of(bench)):
        expect(saved).to_contain_text("What you typed since is not saved yet")
        expect(page.get_by_label("Note")).to_have_value("typed before, and after")
        page.keyboard.press("Control+Enter")
        expect(page.locator(".mrb-history li")).to_have_count(2)
        expect(saved).to_contain_text("Saved")
        press(page, ("Escape", "j"))
        _case(page, 11)
    assert reviews_of(bench, "Dr Killed")["note"].tolist() == ["typed before", "typed before, and after"]


LAPTOP = {"width": 1366, "height": 768}
SMALL = (
    "all => all.filter(one => one.checkVisibility()).map(one => one.closest('label') ?? one)"
    ".filter(one => Math.min(one.getBoundingClientRect().width, one.getBoundingClientRect().height) < 24)"
    ".map(one => one.outerHTML)"
)


@pytest.fixture
def laptop(new_page: Callable[..., Page], served: Served) -> Page:
    """The first case, with the two judges in view."""
    page = new_page(viewport=LAPTOP)
    return explorer(page, served.address, "judge=longer&other=shorter&dimension=overall", "Dr Laptop")


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


def test_the_image_has_four_tools_and_a_menu_and_all_that_is_pressed_is_large_enough_for_a_finger(laptop: Page) -> None:
    bar = laptop.locator(".mrb-image > .mrb-tools").first
    assert bar.get_by_role("button").all_inner_texts() == ["\u2212", "+", "Fit", "Full", "\u22ef"]
    laptop.get_by_role("button", name="more for the image").click()
    names = laptop.locator(".mrb-image .mrb-tools :is(button, select, label)").all_inner_texts()
    assert len(names) == len(set(names)), "no tool is there twice"
    laptop.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    pressed = "button, input, select, summary, textarea, a[href], [role=option], .mrb-view"
    assert laptop.locator(pressed).evaluate_all(SMALL) == []


SOON = 3_000
"""Milliseconds after which a reader knows that the server is gone."""
ME = "Dr Cut Off"


def test_answers_on_their_way_outlive_their_server(page: Page, bench: Benchmark) -> None:
    deal(bench, ME, first=2)
    with Served("annotate", path_of(bench)) as served:
        desk(page, served.address, ME)
        os.kill(served.process.pid or 0, signal.SIGSTOP)
        press(page, "ab")
        expect(page.locator(".mrb-saved")).to_contain_text("Saving")
        served.process.kill()
        expect(page.locator("#mrb-lost")).to_contain_text("does not answer", timeout=SOON)
    for width in (1366, 700):
        page.set_viewport_size({"width": width, "height": 700})
        assert _uncovered(page.locator(".mrb-saved")), "the banner covers no error"
    with Served("annotate", path_of(bench)):
        expect(page.locator(".mrb-saved")).to_contain_text("Saved: Relevance")
    rows = answers_of(bench, ME)
    assert rows[["dimension", "choice"]].to_numpy().tolist() == [["accuracy", "A"], ["relevance", "B"]]


def test_a_tapped_case_comes_into_view_on_a_phone(
    new_page: Callable[..., Page], bench: Benchmark, served: Served
) -> None:
    page = explorer(new_page(viewport={"width": 400, "height": 800}, has_touch=True), served.address, QUERY)
    page.locator("[data-index='3']").tap()
    reviewing(page, str(bench.cases["case_id"].iloc[3]))
    expect(page.locator(".mrb-shown .mrb-title")).to_be_in_viewport()


def test_a_withdrawal_whose_answer_was_lost_stands_in_nobodys_way(page: Page, bench: Benchmark, served: Served) -> None:
    page.add_init_script(IMPATIENT)
    explorer(page, served.address, QUERY, "Dr Unheard")
    press(page, "1s")
    expect(page.locator(".mrb-saved")).to_contain_text("Saved")
    with paused(served):
        page.evaluate("window.hasty = true")
        page.get_by_role("button", name="Withdraw").click()
        expect(page.locator(".mrb-saved")).to_contain_text("does not answer")
        page.evaluate("window.hasty = false")
    page.get_by_role("button", name="Save correction").click()
    expect(page.locator(".mrb-saved")).to_contain_text("Saved")
    own = reviews_of(bench, "Dr Unheard")
    # Whichever of the two the server read first: what was saved last counts, and a late withdrawal takes back nothing.
    assert own["verdict"].tolist() in (["gold_right", "withdrawn", "gold_right"], ["gold_right", "gold_right"])
    assert current(own)["verdict"].tolist() == ["gold_right"]
