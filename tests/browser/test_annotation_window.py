"""The pages of annotation, screening and ranking: every control in reach, whatever the window, and nothing is lost."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pytest
from playwright.sync_api import Page, expect

from mrb_lib.benchmarks.benchmark import Benchmark
from tests.rated import write_ranking

from .axe import violations
from .haste import paused
from .pages import at_case, desk
from .server import Served, deal, screening, simulated

APP = "annotate"
LONG = " The second sentence of this answer says a little more about the image. " * 30
WINDOWS = ((1366, 650), (768, 1024), (683, 325))
"""A laptop, a tablet, and a laptop zoomed to twice the size."""
CONTROLS = ".mrb-annotate :is(button, summary, select, textarea, [type=range], .mrb-pick, .mrb-switch, .mrb-view)"
# Every control, scrolled to where it is to be seen: too small, out of reach, or under something else.
OUT_OF_REACH = """(controls) => {
  const found = [];
  const panel = document.querySelector(".mrb-panel");
  for (const one of document.querySelectorAll(controls)) {
    if (!one.checkVisibility() || one.disabled) continue;
    const name = `${one.localName} ${(one.getAttribute("aria-label") || one.textContent.trim()).slice(0, 40)}`;
    one.scrollIntoView({ block: panel.contains(one) ? "nearest" : "start" });
    const box = one.getBoundingClientRect();
    const small = Math.min(box.width, box.height) < 24 && !one.matches("[type=range], .mrb-switch");
    const at = document.elementFromPoint(box.left + box.width / 2, box.top + Math.min(box.height / 2, 20));
    if (small) found.push(`${name}: ${box.width} x ${box.height}`);
    if (!at || !one.contains(at)) found.push(`${name}: under ${at?.className ?? "nothing"} at ${box.left}, ${box.top}`);
  }
  window.scrollTo(0, 0);
  return found;
}"""
# What scrolls inside of what scrolls.
NESTED = """() => {
  const scrolls = (one) => one.scrollHeight > one.clientHeight + 1
    && (one === document.documentElement || /auto|scroll/.test(getComputedStyle(one).overflowY));
  const outer = (one) => one && (scrolls(one) ? one : outer(one.parentElement));
  const all = [...document.querySelectorAll(".mrb-annotate *")];
  return all.filter((one) => scrolls(one) && outer(one.parentElement)).map((one) => one.className);
}"""


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    """Four cases with long answers, the same for everybody."""
    root = tmp_path_factory.mktemp("window")
    first, second = (lambda cases: cases["response_a"] + LONG), (lambda cases: cases["response_b"] + LONG)
    made = simulated(root, 4, seed=7, annotated=False, response_a=first, response_b=second)
    deal(made, "Dr Mouse", "Dr Touch", "Dr Keys", "Dr Two", "Dr Back", "Dr Later", "Dr Moves")
    return made


@pytest.fixture(scope="module")
def addresses(tmp_path_factory: pytest.TempPathFactory, served: Served, bench: Benchmark) -> Iterator[dict[str, str]]:
    """Of each of the three pages."""
    root = tmp_path_factory.mktemp("pages")
    picture = bench.images[bench.cases["images"].iloc[0][0]]
    item = pd.DataFrame({"item_id": ["x"], "question": "What is it?", "reference": LONG, "images": [["one.png"]]})
    work = screening(root, item, "Dr One", pictures={"one.png": picture})
    ranked = write_ranking(root / "ranked", k=4)
    with (
        Served("construct", Path("screen"), str(work.path)) as screen,
        Served("annotate", ranked, "--ranking", "--annotators", "Dr One") as ranking,
    ):
        yield {"annotate": served.address, "screen": screen.address, "rank": ranking.address}


@pytest.mark.parametrize("app", ["annotate", "screen", "rank"])
def test_every_control_is_in_reach_and_nothing_scrolls_inside_of_what_scrolls(
    page: Page, addresses: dict[str, str], app: str
) -> None:
    desk(page, addresses[app])
    expect(page.get_by_role("heading", level=1)).to_have_count(1)
    for width, height in WINDOWS:
        page.set_viewport_size({"width": width, "height": height})
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        assert page.evaluate(OUT_OF_REACH, CONTROLS) == [], width
        assert page.evaluate(NESTED) == [], width
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing is wider than the window"
    assert violations(page) == []


def test_answers_fill_the_window(new_page: Callable[..., Page], served: Served) -> None:
    page = new_page(viewport={"width": 1366, "height": 768})
    desk(page, served.address, "Dr Two")
    boxes = page.locator(".mrb-answer").evaluate_all("all => all.map((one) => one.getBoundingClientRect().toJSON())")
    assert page.evaluate("document.documentElement.scrollHeight") == 768
    assert 768 - boxes[-1]["bottom"] < 24, "down to the end of the window"
    lines = page.locator(".mrb-answer-text").evaluate_all(
        "all => all.map((one) => one.clientHeight / parseFloat(getComputedStyle(one).lineHeight))"
    )
    assert min(lines) > 11
    for name in ("Skip", "Comment", "Next case", "Not you?"):
        expect(page.get_by_role("button", name=name).first).to_be_in_viewport(ratio=1)
    expect(page.locator(".mrb-pick").last).to_be_in_viewport(ratio=1)


def test_saved_is_said_of_what_is_stored_only(page: Page, served: Served) -> None:
    desk(page, served.address, "Dr Two")
    state = page.locator(".mrb-row .mrb-state").first
    with paused(served):
        page.locator(".mrb-pick").first.click()
        expect(state).to_have_text("saving …")
        expect(page.locator(".mrb-answered")).to_have_count(0)
        expect(page.locator(".mrb-saved")).to_have_text("Saving …")
        expect(page.locator(".mrb-done")).to_have_text("0 of 4 done")
    expect(state).to_have_text("✓ saved")


def test_an_answer_that_is_refused_is_read_before_the_next_case(page: Page, served: Served) -> None:
    desk(page, served.address, "Dr Later")
    page.route("**/api/choose", lambda route: route.fulfill(json={"ok": False, "error": "no room left"}), times=1)
    page.locator(".mrb-pick").first.click()
    page.keyboard.press("j")
    expect(page.get_by_role("alert").filter(has_text="Not saved: no room left")).to_be_visible()
    at_case(page, 1)
    expect(page.locator(".mrb-pick input:checked")).to_have_count(0)


def test_back_leads_to_the_case_before_and_then_to_the_door(page: Page, served: Served) -> None:
    desk(page, served.address, "Dr Back")
    for number in (2, 3):
        page.get_by_role("button", name="Forward").click()
        at_case(page, number)
    for go, number in ((page.go_back, 2), (page.go_back, 1), (page.go_forward, 2), (page.go_back, 1)):
        go()
        at_case(page, number)
    page.go_back()
    expect(page.get_by_role("heading", name="Who are you?")).to_be_visible()
    page.locator(".mrb-person", has_text="Dr Two").click()
    at_case(page, 1)
    page.go_back()
    expect(page.get_by_role("heading", name="Who are you?")).to_be_visible()


def test_who_annotates_is_the_tab_s_own(new_page: Callable[..., Page], served: Served) -> None:
    one = new_page()
    desk(one, served.address, "Dr Mouse")
    two = one.context.new_page()
    two.goto(f"{served.address}#annotator=Dr%20Touch")
    expect(two.get_by_text("Annotating as Dr Touch")).to_be_visible()
    assert "annotator" not in two.url
    one.reload()
    expect(one.get_by_text("Annotating as Dr Mouse")).to_be_visible()
    two.get_by_role("button", name="Not you?").click()
    two.locator(".mrb-person", has_text="Dr Keys").click()
    two.reload()
    expect(two.get_by_text("Annotating as Dr Keys")).to_be_visible()
    two.goto(f"{served.address}#annotator=Dr%20Nobody")
    two.reload()
    expect(two.get_by_text("is assigned to Dr Nobody")).to_be_visible()


def test_the_tab_asks_before_what_is_not_saved_is_lost(page: Page, served: Served) -> None:
    asked: list[str] = []
    page.on("dialog", lambda dialog: asked.append(dialog.type))
    desk(page, served.address, "Dr Keys")
    page.reload()
    at_case(page, 1)
    assert asked == []
    with paused(served):
        page.locator(".mrb-pick").first.click()
        expect(page.locator(".mrb-saved")).to_have_text("Saving …")
        page.evaluate("location.href = 'about:blank'")
        page.wait_for_url("about:blank")
    assert asked == ["beforeunload"]
