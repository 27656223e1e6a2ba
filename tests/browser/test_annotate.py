"""Clinicians annotate, comment and go from case to case; nothing on the page or in its messages could sway."""

import io
import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product

import pandas as pd
import pytest
from playwright.sync_api import Locator, Page, Request, expect

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.review.records.exchange import annotations_of
from mrb_lib.review.records.marks import AnnotatorAnswer, Comment
from mrb_lib.review.records.store import Store, open_store

from .axe import violations_in_both_schemes
from .hand import WAYS, Hand
from .pages import at_case, desk, in_one_view, press, told
from .server import Served, answers_of, deal, path_of, simulated, store_of

PEOPLE = ("Dr Keys", "Dr Later", "Dr Skip")


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    """Three cases whose authors, source, ids and gold are secret, dealt out to everybody."""
    secret = {"model_a": "secret-a", "model_b": "secret-b", "dataset": "secret-set", "reference": "secret-gold"}
    ids = ["secret-1", "secret-2", "secret-3"]
    made = simulated(tmp_path_factory.mktemp("annotation"), 3, seed=7, annotated=False, case_id=ids, **secret)
    deal(made, *PEOPLE, orders=("AB", "BA", "AB"))
    return made


@pytest.fixture
def store(benchmark: Benchmark) -> Iterator[Store]:
    with open_store(store_of(benchmark), create=False) as opened:
        yield opened


@pytest.fixture(scope="module")
def url(benchmark: Benchmark) -> Iterator[str]:
    with Served("annotate", path_of(benchmark)) as served:
        yield served.address


def _row(page: Page, dimension: str) -> Locator:
    return page.get_by_role("radiogroup", name=dimension)


def _kept(store: Store, benchmark: Benchmark, who: str) -> dict[str, list[str]]:
    found, _ = annotations_of(benchmark, store)
    mine = found[found["annotator"] == who]
    return {str(case): rows["choice"].tolist() for case, rows in mine.groupby("case_id")}


def test_whole_cases_by_keyboard_in_both_orders(page: Page, url: str, benchmark: Benchmark, store: Store) -> None:
    asked: list[Request] = []
    page.on("requestfinished", lambda request: asked.append(request) if "/api/" in request.url else None)
    page.goto(url)
    expect(page.get_by_role("heading", name="Who are you?")).to_be_visible()
    assert "token" in url
    assert "token" not in page.url, "addresses are copied, and read over shoulders"
    for _ in range(len(PEOPLE) + 2):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "Dr Keys":
            break
    page.keyboard.press("Enter")
    at_case(page, 1)
    cases = benchmark.cases.set_index("case_id")
    first, second = (page.locator(f'[data-place="{place}"] .mrb-answer-text') for place in ("first", "second"))
    assert first.text_content() == cases.loc["secret-1", "response_a"]
    press(page, "abtabt")
    told(page, "Saved: Overall, tie")
    expect(page.get_by_role("button", name="Next case")).to_be_focused()
    page.keyboard.press("Enter")

    at_case(page, 2)
    assert first.text_content() == cases.loc["secret-2", "response_b"]
    assert second.text_content() == cases.loc["secret-2", "response_a"]
    press(page, "6a2b")
    expect(_row(page, "Overall").get_by_role("radio", name="First")).to_be_checked()
    expect(_row(page, "Relevance").get_by_role("radio", name="Second")).to_be_checked()
    page.keyboard.press("Enter")
    told(page, "Still open: Accuracy, Comprehensiveness, Creativity, Responsiveness")
    expect(_row(page, "Accuracy").get_by_role("radio", name="First")).to_be_focused()
    press(page, "tttt")
    told(page, "Saved: Responsiveness, tie")
    assert _kept(store, benchmark, "Dr Keys") == {
        "secret-1": ["A", "B", "tie", "A", "B", "tie"],
        "secret-2": ["tie", "A", "tie", "tie", "tie", "B"],
    }
    page.keyboard.press("Enter")
    at_case(page, 3)
    messages = [f"{one.url} {one.post_data} {one.response().text()}" for one in asked if not one.url.endswith("/image")]  # type: ignore[union-attr]
    _nothing_that_could_sway(page, "".join(messages))
    press(page, "aaaaaa")
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
    page: Page, url: str, benchmark: Benchmark, store: Store
) -> None:
    desk(page, url, "Dr Later")
    page.keyboard.press("a")
    told(page, "Saved: Accuracy, first")
    page.route("**/api/choose", lambda route: route.abort("connectionreset"), times=1)
    page.keyboard.press("b")
    told(page, "Saved: Relevance, second")
    page.keyboard.press("j")
    at_case(page, 2)
    page.keyboard.press("a")
    told(page, "Saved: Accuracy, first")
    page.reload()
    at_case(page, 2)
    expect(_row(page, "Accuracy").get_by_role("radio", name="First")).to_be_checked()
    page.keyboard.press("k")
    at_case(page, 1)
    expect(_row(page, "Relevance").get_by_role("radio", name="Second")).to_be_checked()
    press(page, "1t")
    told(page, "Saved: Accuracy, tie")
    assert _kept(store, benchmark, "Dr Later") == {"secret-1": ["tie", "B"], "secret-2": ["B"]}
    assert answers_of(benchmark, "Dr Later")["choice"].tolist() == ["A", "B", "B", "tie"]


def _skip(page: Page) -> str:
    """Skip the case in view by keyboard; returns the reason as it is kept."""
    page.keyboard.press("x")
    expect(page.get_by_role("dialog", name="Why do you skip this case?")).to_contain_text("Your answers stay.")
    press(page, ("b", "Space", "Tab"))
    page.keyboard.type("bars across it")
    press(page, ("Tab", "Tab", "Enter"))
    return "the image is missing or cannot be read: bars across it"


def test_a_skipped_case_keeps_its_answers_and_says_why(
    page: Page, url: str, benchmark: Benchmark, store: Store
) -> None:
    desk(page, url, "Dr Skip")
    page.keyboard.press("a")
    told(page, "Saved: Accuracy, first")
    page.keyboard.press("?")
    in_one_view(page, ".mrb-sheet")
    why = _skip(page)
    at_case(page, 2)
    page.keyboard.press("k")
    at_case(page, 1)
    expect(page.get_by_text(f"Skipped: {why}")).to_be_visible()
    expect(page.get_by_text("skipped", exact=True)).to_have_count(5)
    assert _kept(store, benchmark, "Dr Skip") == {"secret-1": ["A"]}


EVERYBODY = (
    "Dr Remark",
    "Dr Goes",
    "Dr Slow",
    "Dr Keeps",
    "Dr One",
    *(f"Dr {way.title()}" for way in WAYS),
)
COMMENT = "Your comment on this case"


@pytest.fixture(scope="module")
def desks(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    """Six cases on two dimensions, the same for everybody."""
    dimensions = ("accuracy", "overall")
    made = simulated(tmp_path_factory.mktemp("desk"), 6, seed=7, annotated=False, dimensions=dimensions)
    deal(made, *EVERYBODY, orders=("BA",))
    return made


@pytest.fixture
def desk_store(desks: Benchmark) -> Iterator[Store]:
    with open_store(store_of(desks), create=False) as opened:
        yield opened


@pytest.fixture(scope="module")
def desk_url(desks: Benchmark) -> Iterator[str]:
    with Served("annotate", path_of(desks)) as served:
        yield served.address


def _pick(page: Page, dimension: str, words: str) -> Locator:
    return page.get_by_role("radiogroup", name=dimension).locator(".mrb-pick", has_text=words)


def test_every_action_does_the_same_by_mouse_touch_and_keys(
    hand: Hand, desk_url: str, desks: Benchmark, desk_store: Store
) -> None:
    page, button = hand.page, partial(hand.page.get_by_role, "button")
    page.goto(desk_url)
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

    cases = desks.cases["case_id"]
    kept = answers_of(desks, hand.name).fillna("")
    assert kept[["case_id", "dimension", "choice", "skipped_reason"]].to_numpy().tolist() == [
        [cases[0], "accuracy", "B", ""], [cases[0], "overall", "tie", ""], [cases[0], "accuracy", "A", ""],
        [cases[3], "overall", "A", ""], [cases[3], "accuracy", "", "outside my field"],
    ]  # fmt: skip
    said = desk_store.comments(desks.meta.name, annotator=hand.name)
    assert said[["case_id", "text"]].to_numpy().tolist() == [[cases[0], "another patient? a b t x n"]]


def test_what_is_typed_and_not_saved_stays_with_its_case(
    page: Page, desk_url: str, desks: Benchmark, desk_store: Store
) -> None:
    desk(page, desk_url, "Dr Keeps")
    field = page.get_by_label(COMMENT)
    page.keyboard.press("n")
    page.keyboard.type("half a thought")
    page.keyboard.press("Escape")
    expect(field).not_to_be_focused()
    press(page, "aa")
    told(page, "Saved: Overall")
    page.get_by_role("button", name="Next case").click()
    told(page, "Your comment is not saved yet")
    expect(field).to_be_focused()
    press(page, ("Escape", "j"))
    at_case(page, 2)
    expect(field).to_be_hidden()
    page.keyboard.press("k")
    at_case(page, 1)
    page.reload()
    expect(field).to_have_value("half a thought")
    field.fill("x" * 9_999)
    field.evaluate("node => { node.value = node.value + 'xx'; node.dispatchEvent(new Event('input')); }")
    field.press("Control+Enter")
    expect(page.get_by_role("alert").filter(has_text="at most 10000")).to_be_visible()
    assert len(field.input_value()) == 10_001, "a failed save keeps what was typed"
    field.fill("a whole thought")
    field.press("Control+Enter")
    told(page, "Comment saved.")
    assert desk_store.comments(desks.meta.name, annotator="Dr Keeps")["text"].tolist() == ["a whole thought"]
    page.reload()
    at_case(page, 1)
    expect(field).to_have_value("")


def test_seconds_are_those_in_which_the_case_was_in_sight(page: Page, desk_url: str, desks: Benchmark) -> None:
    desk(page, desk_url, "Dr Slow")
    page.wait_for_timeout(600)
    page.keyboard.press("a")
    told(page, "Saved: Accuracy")
    hide = "state => { Object.defineProperty(document, 'visibilityState', { value: state, configurable: true }); "
    hide += "document.dispatchEvent(new Event('visibilitychange')); }"
    page.evaluate(hide, "hidden")
    page.wait_for_timeout(3000)
    page.evaluate(hide, "visible")
    press(page, "2b")
    told(page, "Saved: Overall")
    press(page, ("Enter", "x"))
    page.get_by_label("outside my field").check()
    page.get_by_role("button", name="Skip the case").click()
    at_case(page, 3)
    seconds = answers_of(desks, "Dr Slow")["seconds"].tolist()
    assert 0.5 < seconds[0] < 20
    assert 0 <= seconds[1] < 3, "a hidden page is not looked at"
    assert 0 < seconds[2] < 20
    assert seconds[3] == 0


def test_the_coordinator_sees_everyone_at_work_and_saves_files(
    new_page: Callable[..., Page], desk_url: str, desks: Benchmark, desk_store: Store
) -> None:
    page, name = new_page(has_touch=True), desks.meta.name
    with Served("annotate", path_of(desks), "--coordinator") as served:
        page.goto(served.address)
        expect(page.get_by_role("row", name="Dr One")).to_contain_text("600")
        one = desk(new_page(), desk_url, "Dr One")
        press(one, "ab")
        told(one, "Saved: Overall, second")
        one.keyboard.press("Enter")
        at_case(one, 2)
        skipped = page.get_by_role("row").filter(has_text=_skip(one))
        expect(page.get_by_role("row", name="Dr One").first).to_contain_text("6114")
        expect(skipped).to_contain_text("accuracy, overall")
        for who, choices in (("Dr Remark", "ABABAB"), ("Dr Goes", "ABABAA")):
            for case, choice in zip(desks.cases["case_id"], choices, strict=True):
                desk_store.add(AnnotatorAnswer(name, case, who, "overall", choice, "BA", seconds=36.0))
        desk_store.add(AnnotatorAnswer(name, "gone", "Dr Goes", "overall", "A", "AB"))
        desk_store.add(Comment(name, desks.cases["case_id"].iloc[0], "Dr Goes", "=1+1"))
        pairs = page.get_by_role("table", name="agreement of each pair of annotators: overall")
        row = pairs.get_by_role("row").filter(has=page.get_by_role("rowheader", name="Dr Goes"))
        expect(row).to_contain_text("0.83")
        expect(page.get_by_role("table", name="comments")).to_contain_text("=1+1")
        files = (("everything", None), ("the annotations", len(desk_store.annotations(name)) - 1))
        for (words, rows), way in product(files, WAYS):
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
