"""Comments, jumps and seconds of an annotator, and the coordinator who sees and saves all of it."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path

import pandas as pd
import pytest
from playwright.sync_api import Locator, Page, expect

from mrb_lib.benchmarks.benchmark import Benchmark, load, save
from mrb_lib.demo.build import write_demo
from mrb_lib.review.records.marks import AnnotatorAnswer, Comment
from mrb_lib.review.records.store import Store, open_store

from .axe import violations_in_both_schemes
from .hand import WAYS, Hand
from .hostile import ANNOTATORS, ATTACKS, NAME, harm, write_hostile
from .server import Served

PATIENT = 90_000
SOON = 30_000
PEOPLE = ("Dr Remark", "Dr Goes", "Dr Slow", "Dr Keeps", "Dr Mouse", "Dr Touch", "Dr Keys")
CASES = 6


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    """Six cases on two dimensions, the same for everybody; the second of Dr Goes is done, the third skipped."""
    root = tmp_path_factory.mktemp("desk")
    write_demo(root / "demo", cases=CASES, seed=7)
    demo = load(root / "demo")
    meta = replace(demo.meta, dimensions=("accuracy", "overall"))
    save(replace(demo, meta=meta, annotations=demo.annotations.head(0)), root / "bench")
    made = load(root / "bench")
    rows = [(case, who, i, "BA") for who in PEOPLE for i, case in enumerate(made.cases["case_id"])]
    with open_store(root / "bench" / "reviews.sqlite") as opened:
        opened.assign(made.meta.name, pd.DataFrame(rows, columns=["case_id", "annotator", "position", "order"]))
        for dimension in meta.dimensions:
            for row, choice, why in ((1, "A", ""), (2, None, "blurred")):
                case = made.cases["case_id"].iloc[row]
                opened.add(AnnotatorAnswer(made.meta.name, case, "Dr Goes", dimension, choice, "BA", why))
    return made


@pytest.fixture
def store(benchmark: Benchmark) -> Iterator[Store]:
    assert benchmark.path is not None
    with open_store(benchmark.path / "reviews.sqlite", create=False) as opened:
        yield opened


@pytest.fixture(scope="module")
def url(benchmark: Benchmark) -> Iterator[str]:
    assert benchmark.path is not None
    with Served("annotate", benchmark.path) as served:
        yield served.address


def _enter(page: Page, url: str, name: str, number: int = 1) -> None:
    page.goto(url, timeout=PATIENT)
    page.get_by_role("button", name=name).click(timeout=PATIENT)
    _at(page, number)


def _at(page: Page, number: int) -> None:
    expect(page.get_by_role("heading", name=f"Case {number} of {CASES}")).to_be_visible(timeout=SOON)
    expect(page.locator(".mrb-view.mrb-live").first).to_be_visible(timeout=SOON)
    expect(page.locator(".mrb-annotate")).not_to_contain_class("mrb-changing")
    expect(page.locator(".mrb-sheet h2")).to_be_focused()


def _said(page: Page, words: str) -> None:
    expect(page.get_by_role("status").filter(has_text=words)).to_be_visible(timeout=SOON)


def _pick(page: Page, dimension: str, words: str) -> Locator:
    return page.get_by_role("radiogroup", name=dimension).locator(".mrb-pick", has_text=words)


def test_every_action_does_the_same_by_mouse_touch_and_keys(
    hand: Hand, url: str, benchmark: Benchmark, store: Store
) -> None:
    page, button = hand.page, partial(hand.page.get_by_role, "button")
    page.goto(url, timeout=PATIENT)
    hand.use(button(name=hand.name).first)
    _at(page, 1)
    hand.use(_pick(page, "Accuracy", "First"), "a")
    _said(page, "Saved: Accuracy, first")
    expect(page.locator(".mrb-row.mrb-now")).to_contain_text("Overall")
    hand.use(_pick(page, "Overall", "Tie"), "t")
    _said(page, "Saved: Overall, tie")
    expect(button(name="Next case")).to_be_focused()
    hand.use(_pick(page, "Accuracy", "Second"), "1", "b")
    _said(page, "Saved: Accuracy, second")
    hand.use(button(name="what Accuracy means"), "1", "?")
    expect(page.locator(".mrb-row .mrb-hint").first).to_be_visible()
    hand.use(button(name="Comment", exact=False).first, "n")
    page.keyboard.type("another patient? a b t x n")
    hand.use(button(name="Save comment"), "Control+Enter")
    _said(page, "Comment saved.")
    expect(page.locator(".mrb-done")).to_have_text("1 of 6 done")
    page.locator(".mrb-sheet h2").focus()
    hand.use(button(name="Next case"), "Enter")
    _at(page, 2)
    hand.use(button(name="Back"), "k")
    _at(page, 1)

    dialog = page.get_by_role("dialog")
    hand.use(button(name="Go to"), "g")
    hand.use(dialog.get_by_role("button", name="Stay here"), "Escape")
    hand.use(button(name="Go to"), "g")
    hand.write(dialog.get_by_label("Case number"), "5")
    hand.use(dialog.get_by_role("button", name="Go", exact=True), "Enter")
    _at(page, 5)
    hand.use(button(name="Go to"), "g")
    hand.use(dialog.get_by_role("button", name="case 4, open"), "Tab", "Tab", "ArrowLeft", "Enter")
    _at(page, 4)
    hand.use(_pick(page, "Overall", "Second"), "2", "b")
    _said(page, "Saved: Overall, second")
    hand.use(button(name="Skip"), "x")
    hand.use(dialog.get_by_role("button", name="Do not skip"), "Escape")
    hand.use(button(name="Skip"), "x")
    hand.use(dialog.get_by_label("outside my field"), "ArrowDown", "ArrowDown")
    hand.use(dialog.get_by_role("button", name="Skip the case"), "Enter")
    _at(page, 5)
    hand.use(button(name="Not you?"))
    expect(page.get_by_role("heading", name="Who are you?")).to_be_visible()

    name, cases = benchmark.meta.name, benchmark.cases["case_id"]
    kept = store.answers(name, annotator=hand.name, history=True).fillna("")
    assert kept[["case_id", "dimension", "choice", "skipped_reason"]].to_numpy().tolist() == [
        [cases[0], "accuracy", "B", ""], [cases[0], "overall", "tie", ""], [cases[0], "accuracy", "A", ""],
        [cases[3], "overall", "A", ""], [cases[3], "accuracy", "", "outside my field"],
    ]  # fmt: skip
    said = store.comments(name, annotator=hand.name)
    assert said[["case_id", "text"]].to_numpy().tolist() == [[cases[0], "another patient? a b t x n"]]


def test_a_case_is_commented_by_keyboard_and_again_later(
    new_page: Callable[..., Page], url: str, benchmark: Benchmark, store: Store
) -> None:
    page = new_page()
    _enter(page, url, "Dr Remark")
    page.keyboard.press("n")
    field = page.get_by_label("Your comment on this case")
    expect(field).to_be_focused()
    page.keyboard.type("another patient? a b t x n")
    assert violations_in_both_schemes(page) == []
    page.keyboard.press("Control+Enter")
    _said(page, "Comment saved.")
    own = page.get_by_role("list", name="your comments on this case")
    expect(own).to_contain_text("another patient? a b t x n")
    assert store.answers(benchmark.meta.name, annotator="Dr Remark").empty, "what is typed picks nothing"
    for key in "aa":
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    _at(page, 2)
    expect(own).to_be_hidden()
    page.keyboard.press("k")
    _at(page, 1)
    page.keyboard.press("n")
    page.keyboard.type("on a case that is done")
    page.get_by_role("button", name="Save comment").click()
    expect(own.get_by_role("listitem")).to_have_count(2, timeout=SOON)
    kept = store.comments(benchmark.meta.name, annotator="Dr Remark")
    assert kept["case_id"].tolist() == [benchmark.cases["case_id"].iloc[0]] * 2
    other = new_page()
    _enter(other, url, "Dr Slow")
    expect(other.locator(".mrb-annotate")).not_to_contain_text("another patient?")


def test_what_is_typed_and_not_saved_stays_with_its_case(
    page: Page, url: str, benchmark: Benchmark, store: Store
) -> None:
    _enter(page, url, "Dr Keeps")
    field = page.get_by_label("Your comment on this case")
    page.keyboard.press("n")
    page.keyboard.type("half a thought")
    page.keyboard.press("Escape")
    expect(field).not_to_be_focused()
    for key in "aa":
        page.keyboard.press(key)
    _said(page, "Saved: Overall")
    page.get_by_role("button", name="Next case").click()
    _said(page, "Your comment is not saved yet")
    expect(field).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    _at(page, 2)
    expect(field).to_be_hidden()
    page.keyboard.press("k")
    _at(page, 1)
    page.reload(timeout=PATIENT)
    expect(field).to_have_value("half a thought", timeout=PATIENT)
    page.evaluate("""() => {
      const name = Object.keys(sessionStorage).find((one) => one.startsWith("mrb-unsaved:comments:"));
      window.mrbKept = () => sessionStorage.getItem(name);
    }""")
    field.fill("x" * 9_999)
    field.evaluate("node => { node.value = node.value + 'xx'; node.dispatchEvent(new Event('input')); }")
    field.press("Control+Enter")
    expect(page.get_by_role("alert").filter(has_text="at most 10000")).to_be_visible(timeout=SOON)
    assert len(field.input_value()) == 10_001, "a failed save keeps what was typed"
    assert "xxx" in page.evaluate("window.mrbKept()")
    field.fill("a whole thought")
    field.press("Control+Enter")
    _said(page, "Comment saved.")
    assert store.comments(benchmark.meta.name, annotator="Dr Keeps")["text"].tolist() == ["a whole thought"]
    assert page.evaluate("window.mrbKept()") == "{}"


def test_to_a_case_by_its_number_or_its_mark(page: Page, url: str) -> None:
    _enter(page, url, "Dr Goes")
    page.keyboard.press("g")
    dialog = page.get_by_role("dialog", name="Go to a case")
    expect(dialog.get_by_label("Case number")).to_be_focused()
    expect(dialog).to_contain_text(re.compile(r"done: 1 .* skipped: 1 .* open: 4"))
    marks = dialog.get_by_role("group").get_by_role("button")
    assert [marks.nth(place).get_attribute("aria-label") for place in range(3)] == [
        "case 1, open, in sight", "case 2, done", "case 3, skipped",
    ]  # fmt: skip
    assert violations_in_both_schemes(page) == []
    for wrong in ("7", "0", "x", ""):
        dialog.get_by_label("Case number").fill(wrong)
        page.keyboard.press("Enter")
        expect(dialog.get_by_role("alert")).to_contain_text("from 1 to 6")
    dialog.get_by_label("Case number").fill("5")
    page.keyboard.press("Enter")
    _at(page, 5)
    page.get_by_role("button", name="Go to").click()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(marks.nth(4)).to_be_focused()
    for key in ("ArrowLeft", "ArrowLeft", "Enter"):
        page.keyboard.press(key)
    _at(page, 3)
    page.keyboard.press("g")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    page.set_viewport_size({"width": 400, "height": 800})
    page.locator(".mrb-sheet h2").focus()
    page.keyboard.press("g")
    page.wait_for_function("document.documentElement.scrollWidth <= 400")
    dialog.get_by_role("button", name="case 6, open").click()
    _at(page, 6)


def test_seconds_are_those_in_which_the_case_was_in_sight(
    page: Page, url: str, benchmark: Benchmark, store: Store
) -> None:
    _enter(page, url, "Dr Slow")
    page.wait_for_timeout(1500)
    page.keyboard.press("a")
    _said(page, "Saved: Accuracy")
    hide = "state => { Object.defineProperty(document, 'visibilityState', { value: state, configurable: true }); "
    hide += "document.dispatchEvent(new Event('visibilitychange')); }"
    page.evaluate(hide, "hidden")
    page.wait_for_timeout(3000)
    page.evaluate(hide, "visible")
    page.keyboard.press("2")
    page.keyboard.press("b")
    _said(page, "Saved: Overall")
    page.keyboard.press("Enter")
    _at(page, 2)
    page.wait_for_timeout(1000)
    page.keyboard.press("x")
    page.get_by_label("outside my field").check()
    page.get_by_role("button", name="Skip the case").click()
    _at(page, 3)
    seconds = store.answers(benchmark.meta.name, annotator="Dr Slow")["seconds"].tolist()
    assert 1.4 < seconds[0] < 20
    assert 0 <= seconds[1] < 3, "a hidden page is not looked at"
    assert 0.9 < seconds[2] < 20
    assert seconds[3] == 0


def test_the_coordinator_sees_pairs_pace_drift_and_comments_and_saves_files(
    new_page: Callable[..., Page], benchmark: Benchmark, store: Store
) -> None:
    page, name = new_page(has_touch=True), benchmark.meta.name
    for who, choices in (("Dr Remark", "ABABAB"), ("Dr Goes", "ABABAA")):
        for case, choice in zip(benchmark.cases["case_id"], choices, strict=True):
            store.add(AnnotatorAnswer(name, case, who, "overall", choice, "BA", seconds=36.0))
    store.add(AnnotatorAnswer(name, "gone", "Dr Goes", "overall", "A", "AB"))
    store.add(Comment(name, benchmark.cases["case_id"].iloc[0], "Dr Goes", "=1+1"))
    assert benchmark.path is not None
    with Served("annotate", benchmark.path, "--coordinator") as served:
        page.goto(served.address, timeout=PATIENT)
        pairs = page.get_by_role("table", name="agreement of each pair of annotators: overall")
        row = pairs.get_by_role("row").filter(has=page.get_by_role("rowheader", name="Dr Goes"))
        expect(row).to_contain_text("0.83", timeout=PATIENT)
        expect(row).to_contain_text("6 cases")
        expect(page.get_by_text(re.compile("no interval .* fewer than 20 cases"))).to_have_count(2)
        expect(
            page.get_by_role("table", name="pace of each annotator").get_by_role("row", name="Dr Goes")
        ).to_be_visible()
        drift = page.get_by_role("table", name="first and second half of each annotator")
        expect(drift.get_by_role("row", name="Dr Remark")).to_have_count(2)
        expect(page.get_by_role("table", name="comments")).to_contain_text("=1+1")
        files = (("everything", None), ("the annotations", len(store.annotations(name)) - 1))
        for (words, rows), way in product(files, WAYS):
            with page.expect_download() as caught:
                Hand(page, way).use(page.get_by_role("button", name=f"Save {words} as CSV"))
            text = caught.value.path().read_text(encoding="utf-8-sig")
            assert "SIMULATED" in caught.value.suggested_filename
            frame = pd.read_csv(io.StringIO(text))
            assert rows is None or len(frame) == rows
            assert rows is not None or "'=1+1" in set(frame["comment"])
            _said(page, "left out")
        assert violations_in_both_schemes(page) == []
        page.set_viewport_size({"width": 400, "height": 800})
        page.wait_for_function("document.documentElement.scrollWidth <= 400")


def test_hostile_comments_and_names_do_nothing(page: Page, tmp_path: Path) -> None:
    folder = write_hostile(tmp_path, long=10_000)
    cases = [case for case in load(folder).cases["case_id"] if "\0" not in case][:3]
    rows = [(case, who, place, "AB") for who in ANNOTATORS for place, case in enumerate(cases)]
    with open_store(folder / "reviews.sqlite") as store:
        store.assign(NAME, pd.DataFrame(rows, columns=["case_id", "annotator", "position", "order"]))
        for place, text in enumerate(ATTACKS):
            store.add(Comment(NAME, cases[0], ANNOTATORS[place % 3], text))
    with Served("annotate", folder) as served:
        page.goto(served.address, timeout=PATIENT)
        page.locator(".mrb-person").nth(1).click(timeout=PATIENT)
        expect(page.locator(".mrb-remarks li").first).to_be_visible(timeout=SOON)
        assert harm(page) == []
        count = page.locator(".mrb-remarks li").count()
        for text in ATTACKS[:3]:
            page.locator(".mrb-sheet h2").focus()
            page.keyboard.press("n")
            page.get_by_label("Your comment on this case").fill(text)
            page.keyboard.press("Control+Enter")
            count += 1
            expect(page.locator(".mrb-remarks li")).to_have_count(count, timeout=SOON)
        page.keyboard.press("g")
        expect(page.get_by_role("dialog")).to_be_visible()
        assert harm(page) == []
        page.goto("about:blank")  # a page whose server goes away asks for it, which is no harm
    with Served("annotate", folder, "--coordinator") as served:
        page.goto(served.address, timeout=PATIENT)
        expect(page.get_by_role("heading", name="Drift")).to_be_visible(timeout=PATIENT)
        expect(page.get_by_role("table", name="comments").get_by_role("row")).to_have_count(len(ATTACKS) + 4)
        for width in (1280, 400):
            page.set_viewport_size({"width": width, "height": 800})
            page.wait_for_function("width => document.documentElement.scrollWidth === width", arg=width)
            assert harm(page) == []
        with page.expect_download() as caught:
            page.get_by_role("button", name="Save everything as CSV").click()
        frame = pd.read_csv(caught.value.path(), dtype="str", keep_default_na=False, encoding="utf-8-sig")
        cells = [cell for column in frame for cell in frame[column]]
        assert [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))] == []
        assert harm(page) == []
        page.goto("about:blank")
