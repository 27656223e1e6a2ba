"""Clinicians annotate, comment and go from case to case; nothing on the page or in its messages could sway."""

import io
import re
from collections.abc import Callable, Iterator
from functools import partial

import pandas as pd
import pytest
from playwright.sync_api import Locator, Page, Request, expect

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.review.records.exchange import annotations_of
from mrb_lib.review.records.marks import AnnotatorAnswer, Comment
from mrb_lib.review.records.store import Store, open_store

from .axe import violations_in_both_schemes
from .hand import WAYS, Hand
from .pages import IMPATIENT, at_case, desk, in_one_view, press, told
from .server import Served, answers_of, deal, path_of, simulated, store_of

APP = "annotate"
PEOPLE = ("Dr Keys", "Dr Mouse", "Dr Touch", "Dr Later", "Dr Remark", "Dr Goes", "Dr Slow", "Dr Keeps", "Dr One")
WHOLE = "Dr Whole"
COMMENT = "Your comment on this case"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    """Six cases on two dimensions whose authors, source, ids and gold are secret, the same for everybody but one."""
    secret = {"model_a": "secret-a", "model_b": "secret-b", "dataset": "secret-set", "reference": "secret-gold"}
    ids = [f"secret-{i}" for i in range(1, 7)]
    root, dimensions = tmp_path_factory.mktemp("annotation"), ("accuracy", "overall")
    made = simulated(root, 6, seed=7, annotated=False, dimensions=dimensions, case_id=ids, **secret)
    deal(made, *PEOPLE, orders=("AB", "BA"))
    deal(made, WHOLE, orders=("AB", "BA"), first=3)
    return made


@pytest.fixture
def store(bench: Benchmark) -> Iterator[Store]:
    with open_store(store_of(bench), create=False) as opened:
        yield opened


@pytest.fixture(scope="module")
def url(served: Served) -> str:
    return served.address


def _row(page: Page, dimension: str) -> Locator:
    return page.get_by_role("radiogroup", name=dimension)


def _kept(store: Store, benchmark: Benchmark, who: str) -> dict[str, list[str]]:
    found, _ = annotations_of(benchmark, store)
    mine = found[found["annotator"] == who]
    return {str(case): rows["choice"].tolist() for case, rows in mine.groupby("case_id")}


def test_whole_cases_by_keyboard_in_both_orders(page: Page, url: str, bench: Benchmark, store: Store) -> None:
    asked: list[Request] = []
    page.on("requestfinished", lambda request: asked.append(request) if "/api/" in request.url else None)
    page.goto(url)
    expect(page.get_by_role("heading", name="Who are you?")).to_be_visible()
    assert "token" in url
    assert "token" not in page.url, "addresses are copied, and read over shoulders"
    for _ in range(len(PEOPLE) + 3):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == WHOLE:
            break
    page.keyboard.press("Enter")
    at_case(page, 1)
    cases = bench.cases.set_index("case_id")
    first, second = (page.locator(f'[data-place="{place}"] .mrb-answer-text') for place in ("first", "second"))
    assert first.text_content() == cases.loc["secret-1", "response_a"]
    press(page, "at")
    told(page, "Saved: Overall, tie")
    expect(page.get_by_role("button", name="Next case")).to_be_focused()
    page.keyboard.press("Enter")

    at_case(page, 2)
    assert first.text_content() == cases.loc["secret-2", "response_b"]
    assert second.text_content() == cases.loc["secret-2", "response_a"]
    press(page, "2b")
    expect(_row(page, "Overall").get_by_role("radio", name="Second")).to_be_checked()
    page.keyboard.press("Enter")
    told(page, "Still open: Accuracy")
    expect(_row(page, "Accuracy").get_by_role("radio", name="First")).to_be_focused()
    page.keyboard.press("t")
    told(page, "Saved: Accuracy, tie")
    assert _kept(store, bench, WHOLE) == {"secret-1": ["A", "tie"], "secret-2": ["tie", "A"]}
    page.keyboard.press("Enter")
    at_case(page, 3)
    messages = [f"{one.url} {one.post_data} {one.response().text()}" for one in asked if not one.url.endswith("/image")]  # type: ignore[union-attr]
    _nothing_that_could_sway(page, "".join(messages))
    page.keyboard.press("?")
    in_one_view(page, ".mrb-sheet")
    press(page, "aa")
    expect(page.get_by_role("button", name="Finish")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="That was all")).to_be_visible()


def _nothing_that_could_sway(page: Page, messages: str) -> None:
    """Neither on the page nor in what it was told: no author, judge, vote, gold, source, id, nor which answer is A."""
    for part in ("/api/choose", '"pick":"first"', "Case 2"):
        assert part in messages, "the messages are those of the page"
    assert re.findall(r"secret-[\w-]+", page.content() + messages) == []
    shown = page.locator(".mrb-annotate").inner_html()
    for word in ("Response A", "Response B", "mrb-gold", "judge", "simulated-responder"):
        assert word not in shown, word


def test_a_page_that_is_loaded_again_has_everything_and_an_answer_may_be_changed(
    page: Page, url: str, bench: Benchmark, store: Store
) -> None:
    desk(page, url, "Dr Later")
    page.keyboard.press("a")
    told(page, "Saved: Accuracy, first")
    page.route("**/api/choose", lambda route: route.abort("connectionreset"), times=1)
    page.keyboard.press("b")
    told(page, "Saved: Overall, second")
    page.keyboard.press("j")
    at_case(page, 2)
    page.reload()
    at_case(page, 2)
    page.keyboard.press("k")
    at_case(page, 1)
    expect(_row(page, "Overall").get_by_role("radio", name="Second")).to_be_checked()
    press(page, "1t")
    told(page, "Saved: Accuracy, tie")
    assert _kept(store, bench, "Dr Later") == {"secret-1": ["tie", "B"]}
    assert answers_of(bench, "Dr Later")["choice"].tolist() == ["A", "B", "tie"]


def _pick(page: Page, dimension: str, words: str) -> Locator:
    return page.get_by_role("radiogroup", name=dimension).locator(".mrb-pick", has_text=words)


def test_every_action_does_the_same_by_mouse_touch_and_keys(
    hand: Hand, url: str, bench: Benchmark, store: Store
) -> None:
    page, button = hand.page, partial(hand.page.get_by_role, "button")
    page.goto(url)
    hand.use(button(name=hand.name).first)
    at_case(page, 1)
    hand.use(_pick(page, "Accuracy", "First"), "a")
    told(page, "Saved: Accuracy, first")
    expect(page.locator(".mrb-row.mrb-now")).to_contain_text("Overall")
    hand.use(_pick(page, "Overall", "Tie"), "t")
    told(page, "Saved: Overall, tie")
    expect(button(name="Next case")).to_be_focused()
    hand.use(_pick(page, "Accuracy", "Second"), "1", "b")
    told(page, "Saved: Accuracy, second")
    hand.use(button(name="what Accuracy means"), "1", "?")
    expect(page.locator(".mrb-row .mrb-hint").first).to_be_visible()
    hand.use(button(name="Comment", exact=False).first, "n")
    page.keyboard.type("another patient? a b t x n")
    hand.use(button(name="Save comment"), "Control+Enter")
    told(page, "Comment saved.")
    expect(page.locator(".mrb-done")).to_have_text("1 of 6 done")
    page.locator(".mrb-sheet h2").focus()
    hand.use(button(name="Next case"), "Enter")
    at_case(page, 2)
    hand.use(button(name="Back"), "k")
    at_case(page, 1)
    hand.write(page.get_by_label("Case number"), "4", "g")
    hand.use(button(name="Go", exact=True), "Enter")
    at_case(page, 4)
    hand.use(_pick(page, "Overall", "Second"), "2", "b")
    told(page, "Saved: Overall, second")
    dialog = page.get_by_role("dialog")
    hand.use(button(name="Skip"), "x")
    hand.use(dialog.get_by_role("button", name="Do not skip"), "Escape")
    hand.use(button(name="Skip"), "x")
    hand.use(dialog.get_by_label("outside my field"), "ArrowDown", "ArrowDown")
    hand.use(dialog.get_by_role("button", name="Skip the case"), "Enter")
    at_case(page, 5)
    hand.use(button(name="Not you?"))
    expect(page.get_by_role("heading", name="Who are you?")).to_be_visible()

    cases = bench.cases["case_id"]
    kept = answers_of(bench, hand.name).fillna("")
    assert kept[["case_id", "dimension", "choice", "skipped_reason"]].to_numpy().tolist() == [
        [cases[0], "accuracy", "A", ""], [cases[0], "overall", "tie", ""], [cases[0], "accuracy", "B", ""],
        [cases[3], "overall", "A", ""], [cases[3], "accuracy", "", "outside my field"],
    ]  # fmt: skip
    said = store.comments(bench.meta.name, annotator=hand.name)
    assert said[["case_id", "text"]].to_numpy().tolist() == [[cases[0], "another patient? a b t x n"]]


def test_what_is_typed_and_not_saved_stays_with_its_case(page: Page, url: str, bench: Benchmark, store: Store) -> None:
    desk(page, url, "Dr Keeps")
    field = page.get_by_label(COMMENT)
    page.keyboard.press("n")
    page.keyboard.type("half a thought")
    page.keyboard.press("Escape")
    expect(field).not_to_be_focused()
    press(page, "aa")
    page.get_by_role("button", name="Next case").click()
    told(page, "Your comment is not saved yet")
    expect(field).to_be_focused()
    press(page, ("Escape", "j"))
    at_case(page, 2)
    expect(field).to_be_hidden()
    page.keyboard.press("k")
    at_case(page, 1)
    asked: list[str] = []
    page.on("dialog", lambda dialog: asked.append(dialog.type))
    page.reload()
    expect(field).to_have_value("half a thought")
    assert asked == ["beforeunload"]
    field.fill("x" * 9_999)
    field.evaluate("node => { node.value = node.value + 'xx'; node.dispatchEvent(new Event('input')); }")
    field.press("Control+Enter")
    expect(page.get_by_role("alert").filter(has_text="at most 10000")).to_be_visible()
    assert len(field.input_value()) == 10_001, "a failed save keeps what was typed"
    field.fill("a whole thought")
    field.press("Control+Enter")
    told(page, "Comment saved.")
    assert store.comments(bench.meta.name, annotator="Dr Keeps")["text"].tolist() == ["a whole thought"]
    page.reload()
    at_case(page, 1)
    expect(field).to_have_value("")


def test_seconds_are_those_in_which_the_case_was_in_sight(page: Page, url: str, bench: Benchmark) -> None:
    page.clock.install()
    desk(page, url, "Dr Slow")
    page.clock.fast_forward(5_000)
    page.keyboard.press("a")
    told(page, "Saved: Accuracy")
    hide = "state => { Object.defineProperty(document, 'visibilityState', { value: state, configurable: true }); "
    hide += "document.dispatchEvent(new Event('visibilitychange')); }"
    page.evaluate(hide, "hidden")
    page.clock.fast_forward(3_600_000)
    page.evaluate(hide, "visible")
    press(page, "2b")
    told(page, "Saved: Overall")
    press(page, ("Enter", "x"))
    page.get_by_label("outside my field").check()
    page.get_by_role("button", name="Skip the case").click()
    at_case(page, 3)
    seconds = answers_of(bench, "Dr Slow")["seconds"].tolist()
    assert 5 <= seconds[0] < 60
    assert 0 <= seconds[1] < 60, "a hidden page is not looked at"
    assert 0 < seconds[2] < 60
    assert seconds[3] == 0


def _skip(page: Page) -> str:
    """Skip the case in view by keyboard; returns the reason as it is kept."""
    page.keyboard.press("x")
    expect(page.get_by_role("dialog", name="Why do you skip this case?")).to_contain_text("Your answers stay.")
    press(page, ("b", "Space", "Tab"))
    page.keyboard.type("bars across it")
    press(page, ("Tab", "Tab", "Enter"))
    return "the image is missing or cannot be read: bars across it"


def test_the_coordinator_sees_everyone_at_work_and_saves_files(
    new_page: Callable[..., Page], url: str, bench: Benchmark, store: Store
) -> None:
    page, name = new_page(has_touch=True), bench.meta.name
    page.add_init_script(f"{IMPATIENT} window.hasty = true;")
    with Served("annotate", path_of(bench), "--coordinator") as served:
        page.goto(served.address)
        expect(page.get_by_role("row", name="Dr One")).to_contain_text("600")
        one = desk(new_page(), url, "Dr One")
        press(one, "ab")
        told(one, "Saved: Overall, second")
        one.keyboard.press("Enter")
        at_case(one, 2)
        why = _skip(one)
        at_case(one, 3)
        one.keyboard.press("k")
        expect(one.get_by_text(f"Skipped: {why}")).to_be_visible()
        skipped = page.get_by_role("row").filter(has_text=why)
        expect(page.get_by_role("row", name="Dr One").first).to_contain_text("6114")
        expect(skipped).to_contain_text("accuracy, overall")
        for who, choices in (("Dr Remark", "ABABAB"), ("Dr Goes", "ABABAA")):
            for case, choice in zip(bench.cases["case_id"], choices, strict=True):
                store.add(AnnotatorAnswer(name, case, who, "overall", choice, "BA", seconds=36.0))
        store.add(AnnotatorAnswer(name, "gone", "Dr Goes", "overall", "A", "AB"))
        store.add(Comment(name, bench.cases["case_id"].iloc[0], "Dr Goes", "=1+1"))
        pairs = page.get_by_role("table", name="agreement of each pair of annotators: overall")
        row = pairs.get_by_role("row").filter(has=page.get_by_role("rowheader", name="Dr Goes"))
        expect(row).to_contain_text("0.83")
        expect(page.get_by_role("table", name="comments")).to_contain_text("=1+1")
        annotations = ("the annotations", len(store.annotations(name)) - 1)
        for (words, rows), way in zip((("everything", None), annotations, annotations), WAYS, strict=True):
            with page.expect_download() as caught:
                Hand(page, way).use(page.get_by_role("button", name=f"Save {words} as CSV"))
            assert "SIMULATED" in caught.value.suggested_filename
            frame = pd.read_csv(io.StringIO(caught.value.path().read_text(encoding="utf-8-sig")))
            assert rows is None or len(frame) == rows
            assert rows is not None or "'=1+1" in set(frame["comment"])
            told(page, "left out")
        assert violations_in_both_schemes(page) == []
        page.set_viewport_size({"width": 400, "height": 800})
        page.wait_for_function("document.documentElement.scrollWidth <= 400")
        page.goto("about:blank")
