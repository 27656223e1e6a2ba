"""What is pressed is stored about the case that was in sight when the press began, whatever the server does."""

import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from playwright.sync_api import Page, expect

from mrb_lib.benchmarks.benchmark import Benchmark, load
from mrb_lib.review.annotate.answers import RankedAnnotation
from mrb_lib.review.records.store import Store, open_store
from tests.rated import write_ranking

from .haste import ACTIONS, ME, act, click, hasty_benchmark, paused, press, stalled
from .haste import RECORD as KEYS
from .pages import settled
from .server import Served, answers_of, deal, screening, store_of

APP = "annotate"
ITEMS = 150
STALLED = "Dr Stalled"
PICKS = {"a": "first", "b": "second", "t": "tie"}
NewPage = Callable[..., Page]
PEOPLE = (ME, "Dr Mouse", "Dr Touch", "Dr One", "Dr Two", "Dr Three")
# What was in sight after each frame, and each click that the page took, with the last frame before its press.
RECORD = """() => {
  const seen = [];
  let press = 0;
  Object.assign(window, { mrbPresses: 0, mrbClicked: [] });
  const look = () => {
    const title = document.querySelector(".mrb-sheet h2");
    const now = title?.checkVisibility() ? title.textContent.trim() : "";
    if (seen.at(-1)?.now !== now) seen.push({ time: performance.now(), now });
    requestAnimationFrame(() => setTimeout(look));
  };
  window.addEventListener("pointerdown", (event) => {
    press = event.timeStamp;
    window.mrbPresses += 1;
  }, true);
  window.addEventListener("click", ({ target, detail }) => {
    if (!target.matches(".mrb-pick input, .mrb-skip .mrb-first") || !detail) return;
    const view = seen.findLastIndex(({ time }) => time <= press);
    const row = target.closest(".mrb-row")?.querySelector(".mrb-name").textContent ?? "";
    window.mrbClicked.push({ view, now: seen[view]?.now, row, value: target.value });
  });
  look();
}"""
# The middles of what may be pressed, by what it is: a dialog's own while one is open.
PLACES = """() => {
  const dialog = document.querySelector("dialog[open]");
  const middles = (at) => [...document.querySelectorAll(at)].filter((one) => one.checkVisibility()).map((one) => {
    const { left, top, width, height } = one.getBoundingClientRect();
    return [left + width / 2, top + height / 2];
  }).filter(([x, y]) => x > 0 && y > 0 && x < innerWidth && y < innerHeight);
  const kinds = dialog ? { reason: ".mrb-reasons label", close: "dialog[open] .mrb-steps button" } : {
    pick: ".mrb-pick", forward: ".mrb-forward", step: ".mrb-far button", again: ".mrb-door button",
    skip: ".mrb-foot .mrb-steps button:first-child",
  };
  return Object.fromEntries(Object.entries(kinds).map(([kind, at]) => [kind, middles(at)]));
}"""
OFTEN = {"pick": 12, "forward": 5, "reason": 2}


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    """For everybody the same cases, in an order of their own."""
    made = hasty_benchmark(tmp_path_factory.mktemp("hand"))
    for at, who in enumerate(PEOPLE):
        deal(made, who, orders=[("BA", "AB", "AB")[(at + turn) % 3] for turn in range(3)])
    deal(made, STALLED, first=3)
    return made


def _act(page: Page, way: str, chance: random.Random) -> None:
    """Look, and press a few times where things are or just were: mostly choose and go on, at times back, or skip."""
    kinds = {kind: places for kind, places in page.evaluate(PLACES).items() if places}
    for kind in chance.choices(list(kinds), [OFTEN.get(kind, 1) for kind in kinds], k=5) if kinds else ():
        x, y = chance.choice(kinds[kind])
        if way == "touch":
            page.touchscreen.tap(x, y)
        else:
            page.mouse.move(x, y)
            page.mouse.down()
            time.sleep(chance.choice([0, 0, 0.02, 0.1]))
            page.mouse.up()
        time.sleep(chance.choice([0, 0, 0, 0.02, 0.1]))


def _open(page: Page, address: str, name: str) -> None:
    page.goto(address)
    page.locator(".mrb-person", has_text=name).click()
    expect(page.locator(".mrb-sheet h2")).to_be_visible()
    page.evaluate(RECORD)


def _clicked(page: Page) -> list[dict[str, Any]]:
    """What the page took, once all of it is stored."""
    expect(page.locator(".mrb-saved")).not_to_have_text("Saving …")
    expect(page.locator(".mrb-changing")).to_have_count(0)
    clicked: list[dict[str, Any]] = page.evaluate("window.mrbClicked")
    return clicked


def _haste(page: Page, served: Served, way: str, seed: int) -> list[dict[str, Any]]:
    chance = random.Random(seed)
    with stalled(served.process, seed=seed):
        while page.evaluate("window.mrbPresses") < ACTIONS:
            _act(page, way, chance)
    return _clicked(page)


def _human(name: str) -> str:
    return name[:1].upper() + name[1:].replace("_", " ")


def _wrong(store: Store, benchmark: Benchmark, who: str, clicked: list[dict[str, Any]]) -> tuple[int, list[Any]]:
    """How many answers are stored, and those that nobody gave to that case on that dimension while it was in sight."""
    name = benchmark.meta.name
    number = {case: at + 1 for at, case in enumerate(store.assignments(name, who)["case_id"])}
    given = {(one["now"].split(" of ")[0], one["row"], one["value"]) for one in clicked if one["row"]}
    passed = {one["now"].split(" of ")[0] for one in clicked if not one["row"]}
    sides = {"AB": {"A": "first", "B": "second"}, "BA": {"A": "second", "B": "first"}}
    rows = store.answers(name, annotator=who, history=True)
    wrong = []
    for row in rows.to_dict("records"):
        case = f"Case {number[row['case_id']]}"
        pick = sides[row["order"]].get(row["choice"], row["choice"])
        skipped = pd.isna(row["choice"]) and case in passed
        if not skipped and (case, _human(row["dimension"]), pick) not in given:
            wrong.append(row)
    return len(rows), wrong


def test_annotations_by_keys(new_page: NewPage, served: Served, bench: Benchmark) -> None:
    page, chance = new_page(hasty=True), random.Random(2)
    _open(page, served.address, ME)
    page.evaluate(KEYS, {"case": ".mrb-sheet h2", "row": ".mrb-row.mrb-now .mrb-name"})
    steps: list[Callable[[], object]] = [
        *(lambda key=key: page.keyboard.press(key) for key in (*PICKS, *PICKS, "1", "4", "j", "p", *["Enter"] * 2)),
        *[lambda: press(page, chance.choices("abt", k=6), chance.uniform(0, 0.4))] * 3,
        lambda: click(page, ".mrb-pick", chance),
        lambda: click(page, ".mrb-forward", chance),
    ]
    with stalled(served.process, seed=2):
        act(page, steps, chance)
    page.wait_for_timeout(3000)
    actions = page.evaluate("window.mrbActions")
    rows = answers_of(bench, ME)
    assert len(actions) >= ACTIONS
    assert len(rows) > ACTIONS // 10, "most of what is pressed is stored"
    number = {str(case): place + 1 for place, case in enumerate(bench.cases["case_id"])}
    sides = {"AB": {"A": "first", "B": "second"}, "BA": {"A": "second", "B": "first"}}
    pressed = {(action["case"].split(" of ")[0], PICKS.get(action["what"], action["what"])) for action in actions}
    wrong = [
        row
        for row in rows.to_dict("records")
        if (f"Case {number[row['case_id']]}", sides[row["order"]].get(row["choice"], row["choice"])) not in pressed
    ]
    assert wrong == []


def test_keys_pressed_while_the_server_stands_still_flip_no_answer(
    new_page: NewPage, served: Served, bench: Benchmark
) -> None:
    page = new_page(hasty=True)
    _open(page, served.address, STALLED)
    settled(page)
    with paused(served.process):
        press(page, (*"aaaaaa", "Enter", *"bbbbbb"), 0)
        expect(page.locator(".mrb-annotate")).to_contain_class("mrb-changing")
        expect(page.locator(".mrb-annotate")).to_contain_class("mrb-dimmed")
        expect(page.locator(".mrb-saved")).to_contain_text("That key was not taken")
    expect(page.get_by_role("heading", name="Case 2 of 3")).to_be_visible()
    rows = answers_of(bench, STALLED)
    assert rows["case_id"].unique().tolist() == [str(bench.cases["case_id"].iloc[0])]
    assert rows["choice"].tolist() == ["A"] * 6


@pytest.mark.parametrize("way", ["mouse", "touch"])
def test_annotations(new_page: NewPage, served: Served, bench: Benchmark, way: str) -> None:
    page, who = new_page(hasty=True, has_touch=way == "touch"), f"Dr {way.title()}"
    _open(page, served.address, who)
    clicked = _haste(page, served, way, seed=3)
    with open_store(store_of(bench), create=False) as store:
        n, wrong = _wrong(store, bench, who, clicked)
    assert n > ACTIONS // 20, "much of what is chosen is stored"
    assert wrong == []


def test_three_annotators_at_once(new_page: NewPage, served: Served, bench: Benchmark) -> None:
    hands = [
        (new_page(hasty=True, has_touch=way == "touch"), way, f"Dr {name}")
        for way, name in (("mouse", "One"), ("touch", "Two"), ("mouse", "Three"))
    ]
    for page, _, who in hands:
        _open(page, served.address, who)
    chance = random.Random(4)
    with stalled(served.process, seed=4):
        while sum(page.evaluate("window.mrbPresses") for page, _, _ in hands) < ACTIONS:
            for page, way, _ in hands:
                _act(page, way, chance)
    with open_store(store_of(bench), create=False) as store:
        for page, _, who in hands:
            n, wrong = _wrong(store, bench, who, _clicked(page))
            assert n > ACTIONS // 20
            assert wrong == []


@pytest.mark.parametrize("way", ["mouse", "touch"])
def test_screening(new_page: NewPage, bench: Benchmark, tmp_path: Path, way: str) -> None:
    few, who = bench.cases.head(ITEMS), f"Dr {way.title()}"
    items = pd.DataFrame({"item_id": few["case_id"], "question": few["question"], "reference": few["response_a"]})
    work = screening(tmp_path, items.assign(images=[[] for _ in range(len(few))]), who)
    page = new_page(hasty=True, has_touch=way == "touch")
    with Served("construct", Path("screen"), str(work.path)) as served:
        _open(page, served.address, who)
        clicked = _haste(page, served, way, seed=5)
        page.goto("about:blank")
    from mrb_lib.build.construct.screen import screening_benchmark, screening_form

    with open_store(work.path / "reviews.sqlite", create=False) as store:
        n, wrong = _wrong(store, screening_benchmark(work, screening_form(work)), who, clicked)
    assert n > ACTIONS // 20
    assert wrong == []


@pytest.mark.parametrize("way", ["mouse", "touch"])
def test_rankings(new_page: NewPage, tmp_path: Path, way: str) -> None:
    folder, who = write_ranking(tmp_path, k=3), f"Dr {way.title()}"
    page = new_page(hasty=True, has_touch=way == "touch")
    with Served("annotate", folder, "--ranking", "--annotators", who) as served:
        _open(page, served.address, who)
        clicked = _haste(page, served, way, seed=6)
        page.goto("about:blank")
    benchmark = load(folder)
    with open_store(folder / "reviews.sqlite", create=False) as store:
        rows = store.answers(benchmark.meta.name, annotator=who, history=True)
        desk = RankedAnnotation(benchmark, store)
        cases = [desk._assigned_case(who, number) for number in (1, 2)]
        meant = {f"Case {at}": _rankings(desk, case, at, clicked) for at, case in enumerate(cases, start=1)}
        items = {pair: f"Case {at}" for at, case in enumerate(cases, start=1) for pair in desk._cases(case)}
    chosen = rows.dropna(subset="choice")
    assert len(chosen) > 5, "a ranking is stored once all its responses have a place"
    wrong = [
        row for row in chosen.to_dict("records")
        if all(ranking[row["case_id"]] != row["choice"] for ranking in meant[items[row["case_id"]]])
    ]  # fmt: skip
    assert wrong == []
    last = chosen.drop_duplicates("case_id", keep="last").set_index("case_id")["choice"].to_dict()
    for at, case in enumerate(cases, start=1):
        rankings = meant[f"Case {at}"]
        assert not rankings or {pair: last.get(pair) for pair in desk._cases(case)} == rankings[-1]


def _rankings(desk: RankedAnnotation, case: Any, number: int, clicked: list[dict[str, Any]]) -> list[dict[str, str]]:
    """What the clicks on an item mean, each time that all its responses had a place, as the choices on its pairs."""
    shown, item = desk._shown(case), desk._item(case)
    out: list[dict[str, str]] = []
    view, places = -1, dict[int, int]()
    whole: dict[int, int] = {}
    for one in clicked:
        if not one["row"] or not one["now"].startswith(f"Case {number} of"):
            continue
        if one["view"] != view:  # what was not whole is forgotten with the case
            view, places = one["view"], dict(whole)
        response, place = shown["ABC".index(one["row"][-1])], int(one["value"])
        places = {other: at for other, at in places.items() if at != place} | {response: place}
        if len(places) == len(shown):
            whole = dict(places)
            out.append(item.choices([places[at] for at in range(len(shown))]))
    return out
