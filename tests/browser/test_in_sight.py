"""What is stored is about the case that was in sight when the key was pressed, whatever the server does meanwhile."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from playwright.sync_api import Page, expect

from mrb_lib.data.benchmark import Benchmark, load, save
from mrb_lib.data.demo.build import write_demo
from mrb_lib.reviews.store import open_store

from .server import Served

CASES, ACTIONS = 300, 2000
PATIENT = 120_000
ME = "Dr Haste"
VERDICTS = {"1": "gold_right", "3": "ambiguous", "4": "image_unusable"}
PICKS = {"a": "first", "b": "second", "t": "tie"}

# After every frame what is in sight is noted; an action is about the last frame before it.
RECORD = """texts => {
  const frames = [];
  const look = () => {
    const found = Object.fromEntries(Object.entries(texts).map(([name, at]) => {
      const node = document.querySelector(at);
      return [name, node && node.checkVisibility() ? node.textContent.trim() : "out of sight"];
    }));
    const last = frames.at(-1);
    if (!last || JSON.stringify(last.found) !== JSON.stringify(found)) frames.push({ time: performance.now(), found });
    requestAnimationFrame(() => setTimeout(look));
  };
  window.mrbActions = [];
  const note = (kind) => (event) => {
    const frame = frames.findLast(({ time }) => time <= event.timeStamp) ?? { found: {} };
    const on = event.target instanceof Element ? event.target.closest("[data-index], label, button") : null;
    const what = kind === "key" ? event.key : on?.querySelector("input")?.value ?? on?.localName ?? "";
    window.mrbActions.push({ kind, what, at: performance.timeOrigin + event.timeStamp, ...frame.found });
  };
  window.addEventListener("keydown", note("key"), true);
  window.addEventListener("pointerdown", note("click"), true);
  look();
}"""


@contextmanager
def stalled(process: int, seed: int) -> Iterator[None]:
    """The processes below one stop and go on at random, as on a machine with other work."""
    over, chance = threading.Event(), random.Random(seed)

    def stall() -> None:
        while not over.wait(chance.uniform(0.2, 2.0)):
            with paused(process):
                time.sleep(chance.choice([0.02, 0.1, 0.3, 1.0]))

    thread = threading.Thread(target=stall)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@contextmanager
def paused(process: int) -> Iterator[None]:
    """The processes below one stand still."""
    below = descendants(process)
    for each in below:
        os.kill(each, signal.SIGSTOP)
    try:
        yield
    finally:
        for each in below:
            os.kill(each, signal.SIGCONT)


def descendants(process: int) -> list[int]:
    """The processes that one started, and those that they started."""
    children = Path(f"/proc/{process}/task/{process}/children")
    found = [int(each) for each in children.read_text().split()] if children.exists() else []
    return [*found, *(each for child in found for each in descendants(child))]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    """So many cases that most are seen once, a tenth of them with an image."""
    folder = tmp_path_factory.mktemp("sight")
    write_demo(folder / "demo", cases=CASES, seed=5)
    demo = load(folder / "demo")
    images = [[] if place % 10 else names for place, names in enumerate(demo.cases["images"])]
    questions = [f"Question {place}: {text}" for place, text in enumerate(demo.cases["question"])]
    save(replace(demo, cases=demo.cases.assign(images=images, question=questions)), folder / "bench")
    return load(folder / "bench")


def test_reviews_are_of_the_case_in_sight(page: Page, bench: Benchmark) -> None:
    assert bench.path is not None
    chance = random.Random(1)
    with Served("review", bench.path) as served:
        page.goto(served.address, wait_until="domcontentloaded")
        expect(page.locator(".mrb-shown")).to_be_visible(timeout=PATIENT)
        expect(page.locator(".mrb-before")).to_have_count(0, timeout=PATIENT)
        page.get_by_label("Your name").fill(ME)
        page.get_by_role("button", name="Sign in").click()
        texts = {"case": ".mrb-shown .mrb-title bdi", "row": '[aria-selected="true"] b', "form": ".mrb-of-case bdi"}
        page.evaluate(RECORD, texts)
        steps: list[Callable[[], object]] = [
            *(lambda key=key: page.keyboard.press(key) for key in ("j", "j", "k", *VERDICTS, *VERDICTS, "s", "s", "s")),
            lambda: _hold(page, "j", chance.randrange(2, 9)),
            lambda: _click(page, "[data-index]", chance),
            lambda: _click(page, "[data-index]", chance),
            lambda: _scroll(page, chance),
            lambda: page.keyboard.press(chance.choice(["Home", "End"])),
            lambda: _click(page, ".mrb-choose", chance),
            lambda: _click(page, ".mrb-save", chance),
            *[lambda: _press(page, [chance.choice([*VERDICTS]), "s"], chance.uniform(0, 0.4))] * 5,
            lambda: _press(page, ["m", "Enter", "Enter", chance.choice([*VERDICTS]), "s"], chance.uniform(0, 0.4)),
        ]
        with stalled(served.process.pid, seed=1):
            _act(page, steps, chance)
        page.wait_for_timeout(3000)
        actions = page.evaluate("window.mrbActions")
    with open_store(bench.path / "reviews.sqlite", create=False) as store:
        rows = store.adjudications(bench.meta.name, history=True)
    assert len(actions) >= ACTIONS
    assert len(rows) > ACTIONS // 50, "most of what is pressed is stored"
    assert rows["verdict"].nunique() == len(VERDICTS)
    wrong = [row for row in rows.to_dict("records") if not _meant(row, actions)]
    assert wrong == []
    images = dict(zip(bench.cases["case_id"], bench.cases["images"], strict=True))
    marked = {(row["case_id"], region["image"]) for row in rows.to_dict("records") for region in row["regions"]}
    assert marked
    assert all(image in images[case] for case, image in marked)


def _meant(row: dict[str, Any], actions: list[dict[str, Any]]) -> bool:
    """Whether the reviewer chose that verdict, and later saved, while that case alone was in sight."""
    here = [
        action
        for action in actions
        if action["case"] == action["form"] == row["case_id"] and action["row"] in (row["case_id"], "out of sight")
    ]
    given = [VERDICTS.get(action["what"], action["what"]) for action in here]
    first = given.index(row["verdict"]) if row["verdict"] in given else len(given)
    return any(what in ("s", "button") for what in given[first:])


def test_annotations_are_of_the_case_in_sight(page: Page, bench: Benchmark) -> None:
    assert bench.path is not None
    orders = ["AB" if place % 3 else "BA" for place in range(CASES)]
    deal = pd.DataFrame({"case_id": bench.cases["case_id"], "annotator": ME, "position": range(CASES), "order": orders})
    with open_store(bench.path / "reviews.sqlite") as store:
        store.assign(bench.meta.name, deal)
    chance = random.Random(2)
    with Served("annotate", bench.path) as served:
        page.goto(served.address)
        page.get_by_role("button", name=ME).click(timeout=PATIENT)
        expect(page.locator(".mrb-sheet h2")).to_be_visible(timeout=PATIENT)
        page.evaluate(RECORD, {"case": ".mrb-sheet h2", "row": ".mrb-row.mrb-now .mrb-name"})
        steps: list[Callable[[], object]] = [
            *(lambda key=key: page.keyboard.press(key) for key in (*PICKS, *PICKS, "1", "4", "j", "p", *["Enter"] * 2)),
            *[lambda: _press(page, chance.choices("abt", k=6), chance.uniform(0, 0.4))] * 3,
            lambda: _click(page, ".mrb-pick", chance),
            lambda: _click(page, ".mrb-forward", chance),
        ]
        with stalled(served.process.pid, seed=2):
            _act(page, steps, chance)
        page.wait_for_timeout(3000)
        actions = page.evaluate("window.mrbActions")
    with open_store(bench.path / "reviews.sqlite", create=False) as store:
        rows = store.answers(bench.meta.name, annotator=ME, history=True)
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


def test_a_row_clicked_and_reviewed_at_once_is_the_one_reviewed(page: Page, bench: Benchmark) -> None:
    assert bench.path is not None
    with Served("review", bench.path) as served:
        page.goto(served.address, wait_until="domcontentloaded")
        expect(page.locator(".mrb-before")).to_have_count(0, timeout=PATIENT)
        page.get_by_label("Your name").fill("Dr Quick")
        page.get_by_role("button", name="Sign in").click()
        page.locator("[data-index]").first.click()
        page.keyboard.press("End")
        last = str(bench.cases["case_id"].iloc[-1])
        expect(page.locator(".mrb-of-case bdi")).to_have_text(last, timeout=PATIENT)
        expect(page.locator(".mrb-explorer")).not_to_contain_class("mrb-changing")
        with paused(served.process.pid):
            page.locator(f'[data-index="{CASES - 4}"]').click()
            for key in "3s":
                page.keyboard.press(key)
            expect(page.locator(".mrb-explorer")).to_contain_class("mrb-changing")
        clicked = str(bench.cases["case_id"].iloc[-4])
        expect(page.locator(".mrb-of-case bdi")).to_have_text(clicked, timeout=PATIENT)
        expect(page.locator(".mrb-explorer")).not_to_contain_class("mrb-changing")
        for key in "3s":
            page.keyboard.press(key)
        expect(page.locator(".mrb-history")).to_contain_text("Dr Quick", timeout=PATIENT)
        for _ in range(12):
            page.keyboard.down("k")
        page.keyboard.press("4")
        page.keyboard.press("s")
        page.keyboard.up("k")
        page.wait_for_timeout(2000)
        here = page.locator(".mrb-of-case bdi").inner_text()
    with open_store(bench.path / "reviews.sqlite", create=False) as store:
        rows = store.adjudications(bench.meta.name, history=True)
    stored = rows.loc[rows["reviewer"] == "Dr Quick", ["case_id", "verdict"]].to_numpy().tolist()
    assert stored[0] == [clicked, "ambiguous"]
    assert stored[1:] in ([], [[here, "image_unusable"]])


def test_keys_pressed_while_the_server_stands_still_flip_no_answer(page: Page, bench: Benchmark) -> None:
    assert bench.path is not None
    deal = pd.DataFrame({"case_id": bench.cases["case_id"].head(3), "annotator": "Dr Stalled", "order": "AB"})
    with open_store(bench.path / "reviews.sqlite") as store:
        store.assign(bench.meta.name, deal.assign(position=range(3)))
    with Served("annotate", bench.path) as served:
        page.goto(served.address)
        page.get_by_role("button", name="Dr Stalled").click(timeout=PATIENT)
        expect(page.locator(".mrb-sheet h2")).to_be_visible(timeout=PATIENT)
        expect(page.locator(".mrb-annotate")).not_to_contain_class("mrb-changing")
        with paused(served.process.pid):
            for key in (*"aaaaaa", "Enter", *"bbbbbb"):
                page.keyboard.press(key)
            expect(page.locator(".mrb-annotate")).to_contain_class("mrb-changing")
            expect(page.locator(".mrb-saved")).to_contain_text("That key was not taken")
        expect(page.get_by_role("heading", name="Case 2 of 3")).to_be_visible(timeout=PATIENT)
    with open_store(bench.path / "reviews.sqlite", create=False) as store:
        rows = store.answers(bench.meta.name, annotator="Dr Stalled", history=True)
    assert rows["case_id"].unique().tolist() == [str(bench.cases["case_id"].iloc[0])]
    assert rows["choice"].tolist() == ["A"] * 6


def _act(page: Page, steps: list[Callable[[], object]], chance: random.Random) -> None:
    """At random, mostly in a hurry, until there are enough."""
    while page.evaluate("window.mrbActions.length") < ACTIONS:
        if page.locator(".mrb-nothing").count():  # a filter was hit that leaves no case
            page.evaluate("() => { location.hash = ''; }")
            page.locator(".mrb-shown").wait_for()
        for _ in range(20):
            chance.choice(steps)()
            time.sleep(chance.choice([0, 0, 0, 0, 0.01, 0.05]))


def _scroll(page: Page, chance: random.Random) -> None:
    """Move the list, as a wheel does."""
    page.locator(".mrb-list").evaluate(
        "(list, part) => { list.scrollTop = part * list.scrollHeight; }", chance.random()
    )


def _press(page: Page, keys: list[str], after: float) -> None:
    """Look for so many seconds, and press one after the other."""
    time.sleep(after)
    for key in keys:
        page.keyboard.press(key)


def _hold(page: Page, key: str, times: int) -> None:
    for _ in range(times):
        page.keyboard.down(key)
    page.keyboard.up(key)


def _click(page: Page, at: str, chance: random.Random) -> None:
    """A click where one of these is now, whether or not it can be used: a person's hand does not wait."""
    boxes = page.locator(at).evaluate_all(
        "found => found.map(one => one.getBoundingClientRect())"
        ".filter(box => box.width && box.top > 0 && box.bottom < innerHeight)"
        ".map(box => [box.left + box.width / 2, box.top + box.height / 2])"
    )
    if boxes:
        page.mouse.click(*chance.choice(boxes))
