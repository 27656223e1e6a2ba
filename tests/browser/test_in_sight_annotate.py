"""What an annotator stores is about the case that was in sight when the key was pressed, whatever the server does."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pandas as pd
import pytest
from playwright.sync_api import Page, expect

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.review.records.store import open_store

from .haste import ACTIONS, CASES, ME, PATIENT, RECORD, act, click, hasty_benchmark, paused, press, stalled
from .server import Served

STALLED = "Dr Stalled"
PICKS = {"a": "first", "b": "second", "t": "tie"}


@pytest.fixture
def page(new_page: Callable[..., Page]) -> Page:
    return new_page(hasty=True)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    return hasty_benchmark(tmp_path_factory.mktemp("sight"))


@pytest.fixture(scope="module")
def served(bench: Benchmark) -> Iterator[Served]:
    """Serves all cases to one annotator and three to another."""
    assert bench.path is not None
    orders = ["AB" if place % 3 else "BA" for place in range(CASES)]
    deal = pd.DataFrame({"case_id": bench.cases["case_id"], "annotator": ME, "position": range(CASES), "order": orders})
    few = deal.head(3).assign(annotator=STALLED, order="AB")
    with open_store(bench.path / "reviews.sqlite") as store:
        store.assign(bench.meta.name, pd.concat([deal, few]))
    with Served("annotate", bench.path) as running:
        yield running


def test_annotations_are_of_the_case_in_sight(page: Page, served: Served, bench: Benchmark) -> None:
    assert bench.path is not None
    chance = random.Random(2)
    page.goto(served.address)
    page.get_by_role("button", name=ME).click(timeout=PATIENT)
    expect(page.locator(".mrb-sheet h2")).to_be_visible(timeout=PATIENT)
    page.evaluate(RECORD, {"case": ".mrb-sheet h2", "row": ".mrb-row.mrb-now .mrb-name"})
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


def test_keys_pressed_while_the_server_stands_still_flip_no_answer(
    page: Page, served: Served, bench: Benchmark
) -> None:
    assert bench.path is not None
    page.goto(served.address)
    page.get_by_role("button", name=STALLED).click(timeout=PATIENT)
    expect(page.locator(".mrb-sheet h2")).to_be_visible(timeout=PATIENT)
    expect(page.locator(".mrb-annotate")).not_to_contain_class("mrb-changing")
    with paused(served.process):
        for key in (*"aaaaaa", "Enter", *"bbbbbb"):
            page.keyboard.press(key)
        expect(page.locator(".mrb-annotate")).to_contain_class("mrb-changing")
        expect(page.locator(".mrb-annotate")).to_contain_class("mrb-dimmed")
        expect(page.locator(".mrb-saved")).to_contain_text("That key was not taken")
    expect(page.get_by_role("heading", name="Case 2 of 3")).to_be_visible(timeout=PATIENT)
    with open_store(bench.path / "reviews.sqlite", create=False) as store:
        rows = store.answers(bench.meta.name, annotator=STALLED, history=True)
    assert rows["case_id"].unique().tolist() == [str(bench.cases["case_id"].iloc[0])]
    assert rows["choice"].tolist() == ["A"] * 6
