"""What is pressed is stored about the case that was in sight when the press began, whatever the server does."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from playwright.sync_api import Page, expect

from mrb_lib.benchmarks.benchmark import Benchmark, load
from mrb_lib.build.construct.screen import screening_benchmark, screening_form
from mrb_lib.review.annotate.answers import RankedAnnotation
from mrb_lib.review.records.store import Store, open_store
from tests.rated import write_ranking

from .hand import WAYS
from .haste import ACTIONS, FEW, Hasty, hurry, paused
from .pages import explorer, press, reviewing, settled
from .server import Served, answers_of, deal, path_of, reviews_of, screening, simulated, store_of

CASES, ITEMS = 200, 100
STALLED = "Dr Stalled"
IN_REVIEW = {"case": ".mrb-shown .mrb-title bdi", "row": '[aria-selected="true"] b', "form": ".mrb-of-case bdi"}
VERDICTS = {"1": "gold_right", "3": "ambiguous", "4": "image_unusable"}
PICKS = {"a": "first", "b": "second", "t": "tie"}
EXPLORER = {
    "row": "[data-index]", "step": ".mrb-steps button", "choose": ".mrb-choose", "clear": ".mrb-clear",
    "verdict": ".mrb-verdict .mrb-choose:not(:nth-of-type(2))", "save": ".mrb-review > .mrb-actions button",
    "withdraw": ".mrb-form > button", "chip": ".mrb-chips button:not([hidden])",
}  # fmt: skip
REVIEWING = {
    "keys": [
        *"jjk134134sss", ["hold"], ["row"], ["row"], ["scroll"], ["Home"], ["End"], ["choose"], ["save"],
        *["1s", "3s", "4s", "j3s", "k4s", "jj1s"] * 2, *(["m", "Enter", "Enter", verdict, "s"] for verdict in VERDICTS),
    ],
    "mouse": [
        *[["verdict", "save"]] * 6, *[["row", "verdict", "save"]] * 3, *[["step", "verdict", "save"]] * 2, ["row"],
        *[["withdraw"]] * 8, ["choose"], ["chip"], ["clear"], ["save"], ["scroll"],
    ],
}  # fmt: skip
DESK = {
    "pick": ".mrb-pick", "forward": ".mrb-forward", "step": ".mrb-far button", "again": ".mrb-door button",
    "skip": ".mrb-foot .mrb-steps button:first-child", "reason": ".mrb-reasons label",
    "close": "dialog[open] .mrb-steps button",
}  # fmt: skip
CLICKS = [*[["pick"]] * 12, *[["forward"]] * 5, *[["reason"]] * 2, ["step"], ["again"], ["skip"], ["close"]]
ANNOTATING = {
    "keys": [
        *"abtabt14jp", ["Enter", *"baba"], ["Enter", *"tatab"], "jbaba", "abtabt", "bbatta", "tabbat", ["pick"],
        ["forward"],
    ],
    "mouse": [*CLICKS, *[["forward", *["pick"] * 4]] * 4],
}  # fmt: skip
NewPage = Callable[..., Page]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    """So many cases that most are seen once, a third with an image; everybody has all, in an order of their own."""

    def images(cases: pd.DataFrame) -> list[Any]:
        return [[] if place % 3 else names for place, names in enumerate(cases["images"])]

    def question(cases: pd.DataFrame) -> list[Any]:
        return [f"Question {place}: {text}" for place, text in enumerate(cases["question"])]

    made = simulated(tmp_path_factory.mktemp("sight"), CASES, seed=5, images=images, question=question)
    for at, way in enumerate(WAYS):
        deal(made, f"Dr {way.title()}", orders=[("BA", "AB", "AB")[(at + turn) % 3] for turn in range(3)])
    deal(made, STALLED, first=3)
    return made


@pytest.fixture(scope="module")
def desks(bench: Benchmark) -> Iterator[Served]:
    with Served("annotate", path_of(bench)) as served:
        yield served


def _hands(new_page: NewPage, kinds: dict[str, str], habits: dict[str, Any], ways: Sequence[str] = WAYS) -> list[Hasty]:
    pages = [new_page(hasty=True, has_touch=way == "touch") for way in ways]
    return [Hasty(page, way, kinds, habits.get(way, habits["mouse"])) for page, way in zip(pages, ways, strict=True)]


def _annotate(served: Served, hands: list[Hasty], seed: int, actions: int) -> list[list[dict[str, Any]]]:
    for hand in hands:
        hand.page.goto(served.address)
        hand.page.locator(".mrb-person", has_text=hand.who).click()
        expect(hand.page.locator(".mrb-sheet h2")).to_be_visible()
    return hurry(served, hands, {"case": ".mrb-sheet h2"}, seed, actions)


def test_reviews_are_of_the_case_in_sight(new_page: NewPage, served: Served, bench: Benchmark) -> None:
    hands = _hands(new_page, EXPLORER, REVIEWING)
    for hand in hands:
        explorer(hand.page, served.address, who=hand.who)
    images = dict(zip(bench.cases["case_id"], bench.cases["images"], strict=True))
    for hand, actions in zip(hands, hurry(served, hands, IN_REVIEW, seed=1), strict=True):
        rows = reviews_of(bench, hand.who).to_dict("records")
        assert len(rows) > ACTIONS // 40, "much of what is chosen is stored"
        assert [row for row in rows if not _meant(row, actions)] == []
        about = {row["adjudication_id"]: row["case_id"] for row in rows}
        assert all(about.get(row["supersedes"]) == row["case_id"] for row in rows if row["verdict"] == "withdrawn")
        verdicts = {row["verdict"] for row in rows}
        if hand.way != "keys":
            assert "withdrawn" in verdicts
        else:
            assert verdicts >= set(VERDICTS.values())
            marked = {(row["case_id"], region["image"]) for row in rows for region in row["regions"]}
            assert marked
            assert all(image in images[case] for case, image in marked)


def _meant(row: dict[str, Any], actions: list[dict[str, Any]]) -> bool:
    """Whether the reviewer chose that verdict, and later saved, or withdrew, while that case alone was in sight."""
    here = [
        action
        for action in actions
        if action["case"] == action["form"] == row["case_id"] and action["row"] in (row["case_id"], "out of sight")
    ]
    given = [VERDICTS.get(action["what"], action["what"]) for action in here]
    if row["verdict"] == "withdrawn":
        return "Withdraw" in given
    first = given.index(row["verdict"]) if row["verdict"] in given else len(given)
    return any(what in ("s", "Enter") or what.startswith("Save") for what in given[first:])


def test_a_row_clicked_and_reviewed_at_once_is_the_one_reviewed(
    new_page: NewPage, served: Served, bench: Benchmark
) -> None:
    page = explorer(new_page(hasty=True), served.address, who="Dr Quick")
    page.locator("[data-index]").first.click()
    page.keyboard.press("End")
    reviewing(page, str(bench.cases["case_id"].iloc[-1]))
    with paused(served):
        page.locator(f'[data-index="{CASES - 4}"]').click()
        press(page, "3s")
        expect(page.locator(".mrb-explorer")).to_contain_class("mrb-changing")
        expect(page.locator(".mrb-explorer")).to_contain_class("mrb-dimmed")
    clicked = str(bench.cases["case_id"].iloc[-4])
    reviewing(page, clicked)
    press(page, "3s")
    expect(page.locator(".mrb-history")).to_contain_text("Dr Quick")
    stored = reviews_of(bench, "Dr Quick")[["case_id", "verdict"]].to_numpy().tolist()
    assert stored == [[clicked, "ambiguous"]]


def test_annotations_are_of_the_case_in_sight(new_page: NewPage, desks: Served, bench: Benchmark) -> None:
    hands = _hands(new_page, DESK, ANNOTATING)
    done = _annotate(desks, hands, 2, ACTIONS)
    with open_store(store_of(bench), create=False) as store:
        for hand, actions in zip(hands, done, strict=True):
            _check(store, bench, hand, actions)


def _check(store: Store, benchmark: Benchmark, hand: Hasty, actions: list[dict[str, Any]]) -> None:
    """Much is stored, all of it about a case and a choice that were given together; clicks name the dimension too."""
    name, who = benchmark.meta.name, hand.who
    number = {case: f"Case {at}" for at, case in enumerate(store.assignments(name, who)["case_id"], start=1)}
    sides = {"AB": {"A": "first", "B": "second"}, "BA": {"A": "second", "B": "first"}}
    given = {
        (one["case"].split(" of ")[0], one["dimension"] if one["kind"] == "click" else "", PICKS.get(what, what))
        for one in actions
        if (what := one["what"]) and one["kind"] != "press"
    }
    passed = {case for case, dimension, what in given if not dimension and what.startswith("Skip")}
    wrong, rows = [], store.answers(name, annotator=who, history=True).to_dict("records")
    for row in rows:
        case, pick = number[row["case_id"]], sides[row["order"]].get(row["choice"], row["choice"])
        dimension = row["dimension"][:1].upper() + row["dimension"][1:].replace("_", " ")
        meant = case in passed if pd.isna(row["choice"]) else {(case, "", pick), (case, dimension, pick)} & given
        if not meant:
            wrong.append(row)
    assert len(rows) > len(actions) // 20, "much of what is chosen is stored"
    assert wrong == []


def test_keys_pressed_while_the_server_stands_still_flip_no_answer(
    new_page: NewPage, desks: Served, bench: Benchmark
) -> None:
    page = new_page(hasty=True)
    page.goto(desks.address)
    page.locator(".mrb-person", has_text=STALLED).click()
    expect(page.locator(".mrb-sheet h2")).to_be_visible()
    settled(page)
    with paused(desks):
        press(page, (*"aaaaaa", "Enter", *"bbbbbb"))
        expect(page.locator(".mrb-annotate")).to_contain_class("mrb-changing")
        expect(page.locator(".mrb-annotate")).to_contain_class("mrb-dimmed")
        expect(page.locator(".mrb-saved")).to_contain_text("That key was not taken")
    expect(page.get_by_role("heading", name="Case 2 of 3")).to_be_visible()
    rows = answers_of(bench, STALLED)
    assert rows["case_id"].unique().tolist() == [str(bench.cases["case_id"].iloc[0])]
    assert rows["choice"].tolist() == ["A"] * 6


def test_screening_is_of_the_item_in_sight(new_page: NewPage, bench: Benchmark, tmp_path: Path) -> None:
    few = bench.cases.head(ITEMS)
    items = pd.DataFrame({"item_id": few["case_id"], "question": few["question"], "reference": few["response_a"]})
    hands = _hands(new_page, DESK, {"mouse": CLICKS}, ("mouse", "touch"))
    work = screening(tmp_path, items.assign(images=[[] for _ in range(ITEMS)]), *(hand.who for hand in hands))
    with Served("construct", Path("screen"), str(work.path)) as served:
        done = _annotate(served, hands, 5, FEW)
        for hand in hands:
            hand.page.goto("about:blank")
    with open_store(work.path / "reviews.sqlite", create=False) as store:
        for hand, actions in zip(hands, done, strict=True):
            _check(store, screening_benchmark(work, screening_form(work)), hand, actions)


def test_rankings_are_of_the_item_in_sight(new_page: NewPage, tmp_path: Path) -> None:
    habits = {"mouse": [*CLICKS, *[["pick"] * 6] * 8]}  # so that all three responses often have a place
    folder, hands = write_ranking(tmp_path, k=3), _hands(new_page, DESK, habits, ("mouse", "touch"))
    people = ("--annotators", ",".join(hand.who for hand in hands), "--overlap", "2")
    with Served("annotate", folder, "--ranking", *people) as served:
        done = _annotate(served, hands, 6, FEW)
        for hand in hands:
            hand.page.goto("about:blank")
    benchmark = load(folder)
    with open_store(folder / "reviews.sqlite", create=False) as store:
        desk = RankedAnnotation(benchmark, store)
        for hand, actions in zip(hands, done, strict=True):
            rows = store.answers(benchmark.meta.name, annotator=hand.who, history=True)
            chosen = rows.dropna(subset="choice")
            assert len(chosen) > 5, "a ranking is stored once all its responses have a place"
            last = chosen.drop_duplicates("case_id", keep="last").set_index("case_id")["choice"].to_dict()
            for number in (1, 2):
                case = desk._assigned_case(hand.who, number)
                pairs, meant = desk._cases(case), _rankings(desk, case, number, actions)
                for row in chosen[chosen["case_id"].isin(pairs)].to_dict("records"):
                    assert any(ranking[row["case_id"]] == row["choice"] for ranking in meant), row
                assert not meant or {pair: last.get(pair) for pair in pairs} == meant[-1]


def _rankings(desk: RankedAnnotation, case: Any, number: int, actions: list[dict[str, Any]]) -> list[dict[str, str]]:
    """What the clicks on an item mean, each time that all its responses had a place, as the choices on its pairs."""
    shown, item = desk._shown(case), desk._item(case)
    out: list[dict[str, str]] = []
    view, places = -1, dict[int, int]()
    whole: dict[int, int] = {}
    for one in actions:
        if one["kind"] != "click" or not one["dimension"] or not one["case"].startswith(f"Case {number} of"):
            continue
        if one["view"] != view:  # what was not whole is forgotten with the case
            view, places = one["view"], dict(whole)
        response, place = shown["ABC".index(one["dimension"][-1])], int(one["what"])
        places = {other: at for other, at in places.items() if at != place} | {response: place}
        if len(places) == len(shown):
            whole = dict(places)
            out.append(item.choices([places[at] for at in range(len(shown))]))
    return out
