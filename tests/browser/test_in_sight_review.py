"""What a reviewer stores is about the case that was in sight when the key was pressed, whatever the server does."""

import random
import time
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from mrb_lib.benchmarks.benchmark import Benchmark

from .haste import ACTIONS, CASES, ME, RECORD, act, click, hasty_benchmark, paused, press, stalled
from .pages import explorer, reviewing
from .pages import press as press_all
from .server import Served, reviews_of

TEXTS = {"case": ".mrb-shown .mrb-title bdi", "row": '[aria-selected="true"] b', "form": ".mrb-of-case bdi"}
VERDICTS = {"1": "gold_right", "3": "ambiguous", "4": "image_unusable"}


@pytest.fixture
def page(new_page: Callable[..., Page]) -> Page:
    return new_page(hasty=True)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    return hasty_benchmark(tmp_path_factory.mktemp("sight"))


def test_reviews_are_of_the_case_in_sight(page: Page, served: Served, bench: Benchmark) -> None:
    chance = random.Random(1)
    explorer(page, served.address, who=ME)
    page.evaluate(RECORD, TEXTS)
    steps: list[Callable[[], object]] = [
        *(lambda key=key: page.keyboard.press(key) for key in ("j", "j", "k", *VERDICTS, *VERDICTS, "s", "s", "s")),
        lambda: _hold(page, "j", chance.randrange(2, 9)),
        lambda: click(page, "[data-index]", chance),
        lambda: click(page, "[data-index]", chance),
        lambda: _scroll(page, chance),
        lambda: page.keyboard.press(chance.choice(["Home", "End"])),
        lambda: click(page, ".mrb-choose", chance),
        lambda: click(page, ".mrb-save", chance),
        *[lambda: press(page, [chance.choice([*VERDICTS]), "s"], chance.uniform(0, 0.4))] * 5,
        lambda: press(page, ["m", "Enter", "Enter", chance.choice([*VERDICTS]), "s"], chance.uniform(0, 0.4)),
    ]
    with stalled(served.process, seed=1):
        act(page, steps, chance)
    page.wait_for_timeout(3000)
    actions = page.evaluate("window.mrbActions")
    rows = reviews_of(bench, ME)
    assert len(actions) >= ACTIONS
    assert len(rows) > ACTIONS // 50, "most of what is pressed is stored"
    assert set(rows["verdict"]) >= set(VERDICTS.values())  # a click may choose "gold_wrong", which no key above does
    wrong = [row for row in rows.to_dict("records") if not _meant(row, actions)]
    assert wrong == []
    images = dict(zip(bench.cases["case_id"], bench.cases["images"], strict=True))
    marked = {(row["case_id"], region["image"]) for row in rows.to_dict("records") for region in row["regions"]}
    assert marked
    assert all(image in images[case] for case, image in marked)


@pytest.mark.parametrize("way", ["mouse", "touch"])
def test_a_hand_reviews_the_case_in_sight(
    new_page: Callable[..., Page], served: Served, bench: Benchmark, way: str
) -> None:
    page, who, chance = new_page(hasty=True, has_touch=way == "touch"), f"Dr {way.title()}", random.Random(7)
    explorer(page, served.address, who=who)
    page.evaluate(RECORD, TEXTS)

    def press(at: str) -> Callable[[], None]:
        return lambda: click(page, at, chance, way)

    def review() -> None:
        """Look, choose, and save, as a reviewer does mostly."""
        time.sleep(chance.uniform(0, 0.4))
        click(page, ".mrb-verdict .mrb-choose:not(:nth-of-type(2))", chance, way)
        click(page, ".mrb-review > .mrb-actions button", chance, way)

    chips, steps = ".mrb-chips button:not([hidden])", ".mrb-steps button"
    acts = [
        *[review] * 6, *[press("[data-index]")] * 3, press(steps), press(steps), press(".mrb-choose"), press(chips),
        press(".mrb-clear"), press(".mrb-save"), lambda: _scroll(page, chance),
    ]  # fmt: skip
    with stalled(served.process, seed=7):
        act(page, acts, chance)
    page.wait_for_timeout(3000)
    actions = page.evaluate("window.mrbActions")
    mine = reviews_of(bench, who)
    assert len(actions) >= ACTIONS
    assert len(mine) > ACTIONS // 20, "much of what is chosen is stored"
    assert [row for row in mine.to_dict("records") if not _meant(row, actions)] == []


def _meant(row: dict[str, Any], actions: list[dict[str, Any]]) -> bool:
    """Whether the reviewer chose that verdict, and later saved, while that case alone was in sight."""
    here = [
        action
        for action in actions
        if action["case"] == action["form"] == row["case_id"] and action["row"] in (row["case_id"], "out of sight")
    ]
    given = [VERDICTS.get(action["what"], action["what"]) for action in here]
    first = given.index(row["verdict"]) if row["verdict"] in given else len(given)
    return any(what == "s" or what.startswith("Save") for what in given[first:])


def test_a_row_clicked_and_reviewed_at_once_is_the_one_reviewed(page: Page, served: Served, bench: Benchmark) -> None:
    explorer(page, served.address, who="Dr Quick")
    page.locator("[data-index]").first.click()
    page.keyboard.press("End")
    last = str(bench.cases["case_id"].iloc[-1])
    reviewing(page, last)
    with paused(served.process):
        page.locator(f'[data-index="{CASES - 4}"]').click()
        press_all(page, "3s")
        expect(page.locator(".mrb-explorer")).to_contain_class("mrb-changing")
        expect(page.locator(".mrb-explorer")).to_contain_class("mrb-dimmed")
    clicked = str(bench.cases["case_id"].iloc[-4])
    reviewing(page, clicked)
    press_all(page, "3s")
    expect(page.locator(".mrb-history")).to_contain_text("Dr Quick")
    for _ in range(12):
        page.keyboard.down("k")
    press_all(page, "4s")
    page.keyboard.up("k")
    page.wait_for_timeout(2000)
    here = page.locator(".mrb-of-case bdi").inner_text()
    stored = reviews_of(bench, "Dr Quick")[["case_id", "verdict"]].to_numpy().tolist()
    assert stored[0] == [clicked, "ambiguous"]
    assert stored[1:] in ([], [[here, "image_unusable"]])


def _scroll(page: Page, chance: random.Random) -> None:
    """Move the list, as a wheel does."""
    page.locator(".mrb-list").evaluate(
        "(list, part) => { list.scrollTop = part * list.scrollHeight; }", chance.random()
    )


def _hold(page: Page, key: str, times: int) -> None:
    for _ in range(times):
        page.keyboard.down(key)
    page.keyboard.up(key)
