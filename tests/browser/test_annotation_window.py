"""The pages of annotation, screening and ranking: every control in reach, whatever the window, and nothing is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pytest
from playwright.sync_api import Page, Route, expect

from mrb_lib.benchmarks.benchmark import Benchmark, load, save
from mrb_lib.build.construct.work import begin, create_work
from mrb_lib.demo.build import write_demo
from mrb_lib.review.records.store import open_store
from tests.rated import write_ranking

from .axe import violations
from .hand import Hand
from .haste import paused
from .server import Served, mrb

SOON = 30_000
LONG = "The second sentence of this answer says a little more about the image. " * 30
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
    write_demo(root / "demo", cases=4, seed=7)
    demo = load(root / "demo")
    cases = demo.cases.assign(**{name: demo.cases[name] + " " + LONG for name in ("response_a", "response_b")})
    save(demo.__class__(demo.meta, cases, demo.annotations.head(0), demo.images, None), root / "bench")
    made = load(root / "bench")
    people = ("Dr Mouse", "Dr Touch", "Dr Keys", "Dr Two", "Dr Back", "Dr Lost", "Dr Later", "Dr Moves")
    rows = [(case, who, i, "AB") for who in people for i, case in enumerate(made.cases["case_id"])]
    with open_store(root / "bench" / "reviews.sqlite") as store:
        store.assign(made.meta.name, pd.DataFrame(rows, columns=["case_id", "annotator", "position", "order"]))
    return made


@pytest.fixture(scope="module")
def served(bench: Benchmark) -> Iterator[Served]:
    assert bench.path is not None
    with Served("annotate", bench.path) as running:
        yield running


@pytest.fixture(scope="module")
def addresses(tmp_path_factory: pytest.TempPathFactory, served: Served, bench: Benchmark) -> Iterator[dict[str, str]]:
    """Of each of the three pages."""
    root = tmp_path_factory.mktemp("pages")
    work = create_work(root / "work", "mine", "simulated")
    (work.images / "one.png").write_bytes(bench.images[bench.cases["images"].iloc[0][0]])
    item = {"item_id": ["x"], "question": ["What is it?"], "reference": [LONG], "images": [["one.png"]], "dataset": "d"}
    with begin(work, "start", {}, seed=0) as step:
        step.write("items", pd.DataFrame(item).assign(choices=None))
    mrb(work.path, "construct", "screen", work.path, "--clinicians", "Dr One", "--assign-only")
    ranked = write_ranking(root / "ranked", k=4)
    with (
        Served("construct", Path("screen"), str(work.path)) as screening,
        Served("annotate", ranked, "--ranking", "--annotators", "Dr One") as ranking,
    ):
        yield {"annotate": served.address, "screen": screening.address, "rank": ranking.address}


def _enter(page: Page, address: str, name: str = "") -> None:
    page.goto(address)
    people = page.locator(".mrb-person", has_text=name) if name else page.locator(".mrb-person")
    people.first.click(timeout=SOON)
    _at(page, 1)


def _at(page: Page, number: int) -> None:
    expect(page.get_by_role("heading", name=f"Case {number} of")).to_be_visible(timeout=SOON)
    expect(page.locator(".mrb-view.mrb-live").first).to_be_visible(timeout=SOON)
    expect(page.locator(".mrb-changing")).to_have_count(0)


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("app", ["annotate", "screen", "rank"])
def test_every_control_is_in_reach_and_nothing_scrolls_inside_of_what_scrolls(
    new_page: Callable[..., Page], addresses: dict[str, str], app: str, window: str
) -> None:
    page = new_page(**WINDOWS[window])
    _enter(page, addresses[app])
    expect(page.get_by_role("heading", level=1)).to_have_count(1)
    assert page.evaluate(OUT_OF_REACH, CONTROLS) == []
    assert page.evaluate(NESTED) == []
    width = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert width <= 0, "nothing is wider than the window"
    assert violations(page) == []


def test_answers_fill_the_window(new_page: Callable[..., Page], served: Served) -> None:
    page = new_page(viewport={"width": 1366, "height": 768})
    _enter(page, served.address, "Dr Two")
    boxes = page.locator(".mrb-answer").evaluate_all("all => all.map((one) => one.getBoundingClientRect().toJSON())")
    assert page.evaluate("document.documentElement.scrollHeight") == 768
    assert 768 - boxes[-1]["bottom"] < 24, "down to the end of the window"
    lines = page.locator(".mrb-answer-text").evaluate_all(
        "all => all.map((one) => one.clientHeight / parseFloat(getComputedStyle(one).lineHeight))"
    )
    assert min(lines) > 11
    for name in ("Skip", "Undo", "Comment", "Next case", "Not you?"):
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
    _enter(page, served.address, "Dr Two")
    state = page.locator(".mrb-row .mrb-state").first
    with paused(served.process):
        page.locator(".mrb-pick").first.click()
        expect(state).to_have_text("saving …")
        expect(page.locator(".mrb-answered")).to_have_count(0)
        expect(page.locator(".mrb-saved")).to_have_text("Saving …")
        expect(page.locator(".mrb-done")).to_have_text("0 of 4 done")
    expect(state).to_have_text("✓ saved", timeout=SOON)


def test_an_answer_that_is_refused_is_read_before_the_next_case(page: Page, served: Served) -> None:
    _enter(page, served.address, "Dr Later")
    page.route("**/api/choose", lambda route: route.fulfill(json={"ok": False, "error": "no room left"}), times=1)
    page.locator(".mrb-pick").first.click()
    page.keyboard.press("j")
    expect(page.get_by_role("alert").filter(has_text="Not saved: no room left")).to_be_visible()
    _at(page, 1)
    expect(page.locator(".mrb-pick input:checked")).to_have_count(0)


def test_a_press_that_began_on_the_case_before_is_stored_nowhere(page: Page, served: Served, bench: Benchmark) -> None:
    _enter(page, served.address, "Dr Moves")
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
    _at(page, 2)
    page.mouse.up()
    page.keyboard.press("k")
    _at(page, 1)
    assert bench.path is not None
    with open_store(bench.path / "reviews.sqlite", create=False) as store:
        rows = store.answers(bench.meta.name, annotator="Dr Moves")
    assert rows["choice"].tolist() == ["A"]


def test_the_banner_of_a_lost_server_covers_no_error(new_page: Callable[..., Page], bench: Benchmark) -> None:
    assert bench.path is not None
    pages = [new_page(viewport={"width": width, "height": 700}) for width in (1366, 700)]
    with Served("annotate", bench.path) as own:
        for page in pages:
            _enter(page, own.address, "Dr Lost")
    for page in pages:
        page.locator(".mrb-pick").last.click()
        expect(page.locator("#mrb-lost")).to_be_visible(timeout=SOON)
        covered = page.evaluate("""() => {
          const status = document.querySelector(".mrb-saved");
          status.scrollIntoView();
          const { left, top, height } = status.getBoundingClientRect();
          return !status.contains(document.elementFromPoint(left + 5, top + height / 2));
        }""")
        assert not covered
        expect(page.locator(".mrb-saved")).to_have_text("Saving …")
        page.goto("about:blank")


def test_back_leads_to_the_case_before_and_then_to_the_door(hand: Hand, served: Served) -> None:
    page = hand.page
    page.goto(served.address)
    hand.use(page.locator(".mrb-person", has_text="Dr Back"))
    _at(page, 1)
    for number in (2, 3):
        hand.use(page.get_by_role("button", name="Forward"), "j")
        _at(page, number)
    page.go_back()
    _at(page, 2)
    page.go_back()
    _at(page, 1)
    page.go_forward()
    _at(page, 2)
    page.go_back()
    _at(page, 1)
    page.go_back()
    expect(page.get_by_role("heading", name="Who are you?")).to_be_visible()
    hand.use(page.locator(".mrb-person", has_text="Dr Two"))
    _at(page, 1)
    page.go_back()
    expect(page.get_by_role("heading", name="Who are you?")).to_be_visible()


def test_who_annotates_is_the_tab_s_own(new_page: Callable[..., Page], served: Served) -> None:
    one = new_page()
    _enter(one, served.address, "Dr Mouse")
    two = one.context.new_page()
    two.goto(f"{served.address}#annotator=Dr%20Touch")
    expect(two.get_by_text("Annotating as Dr Touch")).to_be_visible(timeout=SOON)
    assert "annotator" not in two.url
    one.reload()
    expect(one.get_by_text("Annotating as Dr Mouse")).to_be_visible(timeout=SOON)
    two.get_by_role("button", name="Not you?").click()
    two.locator(".mrb-person", has_text="Dr Keys").click()
    two.reload()
    expect(two.get_by_text("Annotating as Dr Keys")).to_be_visible(timeout=SOON)
    two.goto(f"{served.address}#annotator=Dr%20Nobody")
    two.reload()
    expect(two.get_by_text("is assigned to Dr Nobody")).to_be_visible(timeout=SOON)


def test_the_tab_asks_before_what_is_not_saved_is_lost(page: Page, served: Served) -> None:
    asked: list[str] = []
    page.on("dialog", lambda dialog: asked.append(dialog.type))
    _enter(page, served.address, "Dr Keys")
    page.reload()
    _at(page, 1)
    assert asked == []
    page.get_by_role("button", name="Comment").click()
    page.keyboard.type("half a thought")
    expect(page.get_by_text("Not saved yet.")).to_be_in_viewport(ratio=1)
    page.reload()
    _at(page, 1)
    assert asked == ["beforeunload"]
    expect(page.get_by_label("Your comment on this case")).to_have_value("half a thought")
    page.get_by_role("button", name="Save comment").click()
    expect(page.get_by_role("status").filter(has_text="Comment saved.")).to_be_visible(timeout=SOON)
    with paused(served.process):
        page.locator(".mrb-pick").first.click()
        expect(page.locator(".mrb-saved")).to_have_text("Saving …")
        page.evaluate("location.href = 'about:blank'")
        page.wait_for_url("about:blank")
    assert asked == ["beforeunload"] * 2
