"""The pages of annotation, screening and ranking: every control in reach, whatever the window, and nothing is lost."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pytest
from playwright.sync_api import Page, Route, expect

from mrb_lib.benchmarks.benchmark import Benchmark
from tests.rated import write_ranking

from .axe import violations
from .haste import paused
from .pages import at_case, desk, told
from .server import Served, answers_of, deal, path_of, screening, simulated

APP = "annotate"
LONG = " The second sentence of this answer says a little more about the image. " * 30
WINDOWS = {
    "laptop": {"viewport": {"width": 1366, "height": 650}},
    "tablet": {"viewport": {"width": 768, "height": 1024}},
    "zoomed": {"viewport": {"width": 683, "height": 325}, "device_scale_factor": 2},
}
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
    deal(made, "Dr Mouse", "Dr Touch", "Dr Keys", "Dr Two", "Dr Back", "Dr Lost", "Dr Later", "Dr Moves")
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


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("app", ["annotate", "screen", "rank"])
def test_every_control_is_in_reach_and_nothing_scrolls_inside_of_what_scrolls(
    new_page: Callable[..., Page], addresses: dict[str, str], app: str, window: str
) -> None:
    page = new_page(**WINDOWS[window])
    desk(page, addresses[app])
    expect(page.get_by_role("heading", level=1)).to_have_count(1)
    assert page.evaluate(OUT_OF_REACH, CONTROLS) == []
    assert page.evaluate(NESTED) == []
    width = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert width <= 0, "nothing is wider than the window"
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
    view = page.locator(".mrb-view").first
    view.focus()
    page.keyboard.press("Shift")  # by keys, so that the ring is drawn
    ring = view.evaluate(
        "view => { const [a, b] = [view, view.closest('.mrb-given')].map((one) => one.getBoundingClientRect()); "
        "const { outlineStyle, outlineWidth, outlineOffset } = getComputedStyle(view); "
        "return [outlineStyle, a.left - b.left - parseFloat(outlineWidth) - parseFloat(outlineOffset)]; }"
    )
    assert ring[0] == "solid" and ring[1] >= 0, "no part of the ring is cut off"


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


def test_a_press_that_began_on_the_case_before_is_stored_nowhere(page: Page, served: Served, bench: Benchmark) -> None:
    desk(page, served.address, "Dr Moves")
    held: list[Route] = []
    for what in ("choose", "open"):
        page.route(f"**/api/{what}", lambda route: held.append(route), times=1)
    page.locator(".mrb-pick").first.click()
    page.get_by_role("button", name="Next case").click()  # both moves wait for the answer to be stored
    page.get_by_role("button", name="Forward").click()
    for at, route in enumerate(("choose", "open")):
        while len(held) <= at:
            page.wait_for_timeout(20)
        if route == "open":
            page.locator(".mrb-pick").last.hover(force=True)
            page.mouse.down()
        held[at].continue_()
    at_case(page, 2)
    page.mouse.up()
    page.keyboard.press("k")
    at_case(page, 1)
    rows = answers_of(bench, "Dr Moves")
    assert rows["choice"].tolist() == ["A"]


def test_the_banner_of_a_lost_server_covers_no_error(new_page: Callable[..., Page], bench: Benchmark) -> None:
    pages = [new_page(viewport={"width": width, "height": 700}) for width in (1366, 700)]
    with Served("annotate", path_of(bench)) as own:
        for page in pages:
            desk(page, own.address, "Dr Lost")
    for page in pages:
        page.locator(".mrb-pick").last.click()
        expect(page.locator("#mrb-lost")).to_be_visible()
        covered = page.evaluate("""() => {
          const status = document.querySelector(".mrb-saved");
          status.scrollIntoView();
          const { left, top, height } = status.getBoundingClientRect();
          return !status.contains(document.elementFromPoint(left + 5, top + height / 2));
        }""")
        assert not covered
        expect(page.locator(".mrb-saved")).to_have_text("Saving …")
        page.goto("about:blank")


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
    page.get_by_role("button", name="Comment").click()
    page.keyboard.type("half a thought")
    expect(page.get_by_text("Not saved yet.")).to_be_in_viewport(ratio=1)
    page.reload()
    at_case(page, 1)
    assert asked == ["beforeunload"]
    expect(page.get_by_label("Your comment on this case")).to_have_value("half a thought")
    page.get_by_role("button", name="Save comment").click()
    told(page, "Comment saved.")
    with paused(served):
        page.locator(".mrb-pick").first.click()
        expect(page.locator(".mrb-saved")).to_have_text("Saving …")
        page.evaluate("location.href = 'about:blank'")
        page.wait_for_url("about:blank")
    assert asked == ["beforeunload"] * 2
