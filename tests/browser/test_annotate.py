"""A clinician annotates by keyboard alone; nothing on the page or in its messages could sway."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from playwright.sync_api import Locator, Page, Request, expect

from mrb_lib.benchmarks.benchmark import Benchmark, load, save
from mrb_lib.demo.build import write_demo
from mrb_lib.review.records.assignment import assign
from mrb_lib.review.records.exchange import annotations_of
from mrb_lib.review.records.marks import AnnotatorAnswer
from mrb_lib.review.records.store import Store, open_store
from tests.stats.small_tables import agreement

from .axe import violations, violations_in_both_schemes
from .hostile import ANNOTATORS, harm, write_hostile
from .pages import in_one_view
from .server import Served, mrb

PATIENT = 90_000
SOON = 30_000
PEOPLE = ("Dr Keys", "Dr Later", "Dr Skip", "Dr One", "Dr Two")
ORDERS = ("AB", "BA", "AB")


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    """Three cases whose authors, source, ids and gold are secret, dealt out to everybody."""
    root = tmp_path_factory.mktemp("annotation")
    write_demo(root / "demo", cases=3, seed=7)
    demo = load(root / "demo")
    cases = demo.cases.assign(
        case_id=["secret-1", "secret-2", "secret-3"], model_a="secret-a", model_b="secret-b", dataset="secret-set",
        reference="secret-gold",
    )  # fmt: skip
    save(replace(demo, cases=cases, annotations=demo.annotations.head(0)), root / "bench")
    made = load(root / "bench")
    rows = [(f"secret-{i + 1}", who, i, order) for who in PEOPLE for i, order in enumerate(ORDERS)]
    with open_store(root / "bench" / "reviews.sqlite") as opened:
        opened.assign(made.meta.name, pd.DataFrame(rows, columns=["case_id", "annotator", "position", "order"]))
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


@pytest.fixture(scope="module")
def overview(benchmark: Benchmark) -> Iterator[str]:
    assert benchmark.path is not None
    with Served("annotate", benchmark.path, "--coordinator") as served:
        yield served.address


def _enter(page: Page, url: str, name: str) -> None:
    """Sign in by keyboard: to the name by Tab, then Enter."""
    page.goto(url, timeout=PATIENT)
    expect(page.get_by_role("heading", name="Who are you?")).to_be_visible(timeout=PATIENT)
    assert "token" in url
    assert "token" not in page.url, "addresses are copied, and read over shoulders"
    for _ in range(len(PEOPLE) + 2):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == name:
            break
    page.keyboard.press("Enter")
    _at(page, 1)


def _at(page: Page, number: int) -> None:
    expect(page.get_by_role("heading", name=f"Case {number} of 3")).to_be_visible(timeout=SOON)
    expect(page.locator(".mrb-view.mrb-live").first).to_be_visible(timeout=SOON)


def _row(page: Page, dimension: str) -> Locator:
    return page.get_by_role("radiogroup", name=dimension)


def _saved(page: Page, words: str) -> None:
    expect(page.get_by_role("status").filter(has_text=f"Saved: {words}")).to_be_visible(timeout=SOON)


def _kept(store: Store, benchmark: Benchmark, who: str) -> dict[str, list[str]]:
    found, _ = annotations_of(benchmark, store)
    mine = found[found["annotator"] == who]
    return {str(case): rows["choice"].tolist() for case, rows in mine.groupby("case_id")}


def test_whole_cases_by_keyboard_in_both_orders(page: Page, url: str, benchmark: Benchmark, store: Store) -> None:
    asked: list[Request] = []
    page.on("requestfinished", lambda request: asked.append(request) if "/api/" in request.url else None)
    _enter(page, url, "Dr Keys")
    cases = benchmark.cases.set_index("case_id")
    first, second = (page.locator(f'[data-place="{place}"] .mrb-answer-text') for place in ("first", "second"))
    assert first.text_content() == cases.loc["secret-1", "response_a"]
    for key in "abtabt":
        page.keyboard.press(key)
    _saved(page, "Overall, tie")
    expect(page.get_by_role("button", name="Next case")).to_be_focused()
    page.keyboard.press("Enter")

    _at(page, 2)
    assert first.text_content() == cases.loc["secret-2", "response_b"]
    assert second.text_content() == cases.loc["secret-2", "response_a"]
    for key in ("6", "a", "2", "b"):
        page.keyboard.press(key)
    expect(_row(page, "Overall").get_by_role("radio", name="First")).to_be_checked()
    expect(_row(page, "Relevance").get_by_role("radio", name="Second")).to_be_checked()
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").filter(has_text="Still open")).to_contain_text(
        "Accuracy, Comprehensiveness, Creativity, Responsiveness"
    )
    expect(_row(page, "Accuracy").get_by_role("radio", name="First")).to_be_focused()
    for key in "tttt":
        page.keyboard.press(key)
    _saved(page, "Responsiveness, tie")
    assert _kept(store, benchmark, "Dr Keys") == {
        "secret-1": ["A", "B", "tie", "A", "B", "tie"],
        "secret-2": ["tie", "A", "tie", "tie", "tie", "B"],
    }
    page.keyboard.press("Enter")
    _at(page, 3)
    told = [f"{one.url} {one.post_data} {one.response().text()}" for one in asked if not one.url.endswith("/image")]  # type: ignore[union-attr]
    _nothing_that_could_sway(page, "".join(told))
    for key in "aaaaaa":
        page.keyboard.press(key)
    expect(page.get_by_role("button", name="Finish")).to_be_focused(timeout=SOON)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="That was all")).to_be_visible(timeout=SOON)


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
    _enter(page, url, "Dr Later")
    page.keyboard.press("a")
    _saved(page, "Accuracy, first")
    page.route("**/api/choose", lambda route: route.abort("connectionreset"), times=1)
    page.keyboard.press("b")
    _saved(page, "Relevance, second")
    page.keyboard.press("j")
    _at(page, 2)
    page.keyboard.press("a")
    _saved(page, "Accuracy, first")
    page.reload(timeout=PATIENT)
    expect(page.get_by_role("heading", name="Case 2 of 3")).to_be_visible(timeout=PATIENT)
    expect(_row(page, "Accuracy").get_by_role("radio", name="First")).to_be_checked()
    page.keyboard.press("k")
    _at(page, 1)
    expect(_row(page, "Relevance").get_by_role("radio", name="Second")).to_be_checked()
    page.keyboard.press("1")
    page.keyboard.press("t")
    _saved(page, "Accuracy, tie")
    assert _kept(store, benchmark, "Dr Later") == {"secret-1": ["tie", "B"], "secret-2": ["B"]}
    history = store.answers(benchmark.meta.name, annotator="Dr Later", history=True)
    assert history["choice"].tolist() == ["A", "B", "B", "tie"]


def test_two_at_once_and_a_coordinator_who_sees_it(
    new_page: Callable[..., Page], url: str, overview: str, benchmark: Benchmark, store: Store
) -> None:
    coordinator, one, two = new_page(), new_page(), new_page()
    coordinator.goto(overview, timeout=PATIENT)
    _enter(one, url, "Dr One")
    _enter(two, url, "Dr Two")
    expect(coordinator.get_by_role("row", name="Dr One")).to_contain_text("300", timeout=PATIENT)
    for number in (1, 2, 3):
        _at(one, number)
        _at(two, number)
        for place, key in enumerate("abtabt"):
            one.keyboard.press(key)
            if number < 3 or place == 0:
                two.keyboard.press("a")
        _saved(one, "Overall, tie")
        one.keyboard.press("Enter")
        if number < 3:
            _saved(two, "Overall, first")
            two.keyboard.press("Enter")
    _saved(two, "Accuracy, first")
    why = _skip(two)
    expect(two.get_by_role("heading", name="That was all")).to_be_visible(timeout=SOON)
    for name, counts in (("Dr One", "3300"), ("Dr Two", "3210")):
        expect(coordinator.get_by_role("row", name=name).first).to_contain_text(counts, timeout=PATIENT)
    skipped = coordinator.get_by_role("row").filter(has_text=why)
    expect(skipped).to_contain_text("relevance, comprehensiveness, creativity, responsiveness, overall")
    found, _ = annotations_of(benchmark, store)
    assert found.groupby("annotator").size().loc[["Dr One", "Dr Two"]].tolist() == [18, 13]
    truth = agreement(found, benchmark.cases, dimensions=benchmark.meta.dimensions).set_index("dimension")
    each = coordinator.get_by_role("table", name="agreement on each dimension")
    shown = each.get_by_role("row", name="accuracy")
    expect(shown).to_contain_text(f"{truth.loc['accuracy', 'percent_agreement']:.2f} (", timeout=SOON)
    assert violations_in_both_schemes(coordinator) == []


def _skip(page: Page) -> str:
    """Skip the case in view by keyboard; returns the reason as it is kept."""
    page.keyboard.press("x")
    dialog = page.get_by_role("dialog", name="Why do you skip this case?")
    expect(dialog).to_contain_text("Your answers stay.")
    page.keyboard.press("b")
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    page.keyboard.type("bars across it")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    return "the image is missing or cannot be read: bars across it"


def test_skipping_in_a_page_that_fits_and_can_be_read_by_all(
    page: Page, url: str, benchmark: Benchmark, store: Store
) -> None:
    page.goto(url, timeout=PATIENT)
    expect(page.get_by_role("heading", name="Who are you?")).to_be_visible(timeout=PATIENT)
    assert violations(page) == []
    page.get_by_role("button", name="Dr Skip").click()
    _at(page, 1)
    page.keyboard.press("a")
    _saved(page, "Accuracy, first")
    page.keyboard.press("?")
    assert violations_in_both_schemes(page) == []
    page.keyboard.press("x")
    expect(page.get_by_role("dialog")).to_be_visible()
    assert violations(page) == []
    page.keyboard.press("Escape")
    for width, height in ((500, 900), (1920, 1080), (1280, 860)):
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_function("width => document.documentElement.scrollWidth <= width", arg=width)
    for name in ("Back", "Skip", "Next case"):
        expect(page.get_by_role("button", name=name)).to_be_in_viewport(ratio=1)
    in_one_view(page, ".mrb-sheet")
    why = _skip(page)
    _at(page, 2)
    page.keyboard.press("k")
    _at(page, 1)
    expect(page.get_by_text(f"Skipped: {why}")).to_be_visible()
    expect(page.get_by_text("skipped", exact=True)).to_have_count(5)
    assert _kept(store, benchmark, "Dr Skip") == {"secret-1": ["A"]}


def test_hostile_text_does_nothing(page: Page, tmp_path: Path) -> None:
    folder = write_hostile(tmp_path, long=10_000)
    hostile = load(folder)
    with open_store(folder / "reviews.sqlite") as opened:
        opened.assign(hostile.meta.name, assign(hostile.cases["case_id"].tolist(), ANNOTATORS, overlap=3, seed=0))
    assert hostile.path is not None
    with Served("annotate", hostile.path) as served:
        page.goto(served.address, timeout=PATIENT)
        page.locator(".mrb-person").nth(1).click(timeout=PATIENT)
        for number in range(1, len(hostile.cases) + 1):
            expect(page.locator(".mrb-title")).to_contain_text(f"Case {number} of {len(hostile.cases)}", timeout=SOON)
            assert harm(page) == []
            assert page.evaluate("document.documentElement.scrollWidth") <= 1280
            page.keyboard.press("j")


def test_what_was_annotated_is_exported(benchmark: Benchmark, store: Store, tmp_path: Path) -> None:
    case = str(benchmark.cases["case_id"].iloc[0])
    store.add(AnnotatorAnswer(benchmark.meta.name, case, "Dr Export", "overall", "B", "BA"))
    assert benchmark.path is not None
    out = tmp_path / "annotations.parquet"
    mrb(benchmark.path, "annotate", benchmark.path, "--export", out)
    found = pd.read_parquet(out)
    pd.testing.assert_frame_equal(found, annotations_of(benchmark, store)[0])
    assert "Dr Export" in set(found["annotator"])
