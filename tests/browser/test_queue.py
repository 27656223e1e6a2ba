"""A clinician's hour: the failures that were dealt out are reviewed by keyboard alone, and the leaderboard follows."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.review.records.store import REVIEW, open_store

from .pages import explorer, press, settled, sign_in
from .server import Served, mrb, path_of, reviews_of, simulated, store_of

N = 12
WRONG = "judge=longer&dimension=overall&kind=wrong"
OPTIONS = ("--assign", "Dr Able,Dr Blind", "--overlap", "2", "--query", WRONG)
"""What that judge got wrong is assigned to two reviewers, all of it to both."""


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    """More cases than are reviewed, and a judge that is wrong in half of them."""
    return simulated(tmp_path_factory.mktemp("queue"), 60, seed=6, judged=True)


def _at(page: Page, index: int, n: int) -> None:
    expect(page.locator(".mrb-position")).to_contain_text(f"{index + 1} of {n} cases")
    settled(page)


def test_twelve_failures_by_keyboard_and_a_second_reviewer_who_sees_nothing_before(
    new_page: Callable[..., Page], bench: Benchmark, served: Served
) -> None:
    path = path_of(bench)
    before = _accuracy(path)
    with open_store(store_of(bench), create=False) as store:
        n = len(store.assignments(bench.meta.name, "Dr Able", task=REVIEW))
    assert n >= N
    pages = [new_page(), new_page()]
    for page, who in zip(pages, ("Dr Able", "Dr Blind"), strict=True):
        page.goto(f"{served.address}#{WRONG}&review=queue")
        expect(page.get_by_role("heading", name="Sign in to see which cases are yours.")).to_be_visible()
        sign_in(page, who)
        page.keyboard.press("Escape")
        _at(page, 0, n)
    able, blind = pages
    expect(able.locator(".mrb-position")).to_contain_text("0 reviewed by you")
    for i in range(N):
        _at(able, i, n)
        # Gold is right, or the other side is; the first reason; harm in turn.
        press(able, ("1" if i % 2 else _other_side(able), "Shift+1", "zxcv"[i % 4]))
        press(able, ("m", *["ArrowLeft"] * (i % 3), "Enter", "ArrowRight", "ArrowRight", "ArrowDown", "Enter"))
        expect(able.locator(".mrb-regions li")).to_have_count(1)
        able.keyboard.press("Enter")
    _at(able, N, n)
    expect(able.locator(".mrb-position")).to_contain_text(f"{N} reviewed by you")

    expect(blind.locator(".mrb-history")).to_contain_text("Nobody has reviewed")  # as it was when it was opened
    press(blind, "jk")
    _at(blind, 0, n)
    expect(blind.locator(".mrb-history")).to_contain_text("One other has reviewed this case")
    assert "Dr Able" not in blind.locator(".mrb-history").inner_text()
    for i in range(2):
        _at(blind, i, n)
        press(blind, "1s")
        expect(blind.locator(".mrb-history")).to_contain_text("Dr Able")
        blind.keyboard.press("j")
    _at(blind, 2, n)
    blind.locator("[data-filter=review]").select_option("=disagree")
    expect(blind.locator(".mrb-position")).to_contain_text("1 of 1 cases")
    able_said = reviews_of(bench, "Dr Able")
    assert able_said["case_id"].nunique() == len(able_said) == N
    assert set(able_said["severity"].value_counts().items()) == {
        (one, N / 4) for one in ("none", "mild", "moderate", "severe")
    }
    assert able_said["reasons"].map(list).tolist() == [["missed finding"]] * N
    assert (able_said["verdict"] == "gold_wrong").sum() == N / 2
    cases = bench.cases.set_index("case_id")
    for case_id, marked in zip(able_said["case_id"], able_said["regions"], strict=True):
        (region,) = marked
        assert region["image"] == cases.loc[case_id, "images"][0]
        # Two steps to the right and one down, whatever the zoom.
        assert region["width"] == pytest.approx(2 * region["height"], abs=0.2)
        assert region["height"] > 0
    after = _accuracy(path, "--gold", "adjudicated")
    assert after > before, "half of its failures were the label's"


def _accuracy(bench: Path, *options: str) -> float:
    """The accuracy of the judge that is reviewed."""
    words = ("--table", "accuracy", "--dimension", "overall", "--json", *options)
    rows = json.loads(mrb(bench, "analyze", bench, *words))["rows"]
    return float(next(row["accuracy"] for row in rows if row["kind"] == "judge" and row["judge"] == "longer"))


def _other_side(page: Page) -> str:
    """The key of the side that gold does not name."""
    gold = page.locator(".mrb-gold-line").inner_text().rsplit(" ", 1)[-1]
    return "a" if gold == "B" else "b"


def test_the_later_of_two_windows_is_told_what_it_replaces(
    new_page: Callable[..., Page], bench: Benchmark, served: Served
) -> None:
    windows = [new_page(), new_page()]
    for window in windows:
        explorer(window, served.address, f"case={bench.cases['case_id'].iloc[50]}", "Dr Twice")
        # Answered after the history of the case, which a window must not ask for anew once the other has saved.
        expect(window.locator(".mrb-position")).to_contain_text("reviewed by you")
        expect(window.locator(".mrb-history")).to_contain_text("Nobody has reviewed this case yet.")
    first, second = windows
    press(first, "1s")
    expect(first.locator(".mrb-saved")).to_contain_text("Saved")
    press(second, "3s")
    expect(second.locator(".mrb-saved")).to_contain_text("in another window you stored “Gold is right”")
    expect(second.locator(".mrb-history li")).to_have_count(1)
    second.keyboard.press("s")
    expect(second.locator(".mrb-history li")).to_have_count(2)
    expect(second.locator(".mrb-history li").first).to_contain_text("Ambiguous")
    first.get_by_label("Note").fill("still at it")
    second.get_by_role("button", name="Withdraw").click()
    expect(second.locator(".mrb-saved")).to_contain_text("Withdrawn")
    first.evaluate("window.dispatchEvent(new Event('focus'))")
    expect(first.get_by_role("button", name="Withdraw")).to_be_hidden()
    expect(first.get_by_label("Note")).to_have_value("still at it")
