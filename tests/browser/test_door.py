"""Who has no token, or an old one, and whose server went away: told so, and nothing typed is lost."""

import os
import signal
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.review.records.marks import current

from .axe import violations
from .haste import paused
from .pages import IMPATIENT, desk, explorer, press, reviewing
from .server import Served, answers_of, deal, path_of, reviews_of, simulated

SOON = 3_000
"""Milliseconds after which a reader knows that the server is gone."""
ME = "Dr Cut Off"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    return simulated(tmp_path_factory.mktemp("door"), cases=6, seed=2)


def test_a_review_in_hand_outlives_its_server(page: Page, bench: Benchmark) -> None:
    lost, note = page.locator("#mrb-lost"), page.get_by_label("Note")
    with Served("review", path_of(bench)) as served:
        explorer(page, served.address, f"case={bench.cases['case_id'].iloc[1]}", ME)
        note.fill("half a thought")
    expect(lost).to_contain_text("does not answer", timeout=SOON)
    assert violations(page, "#mrb-lost") == []
    with Served("review", path_of(bench)) as again:
        assert again.address == served.address, "a restart changes no link"
        expect(lost).to_be_hidden()
        expect(note).to_have_value("half a thought")
    with Served("review", path_of(bench), "--new-token") as other:
        expect(lost).to_contain_text("has a new address now")
        page.goto(f"{other.address}#case={bench.cases['case_id'].iloc[1]}")
        expect(page.locator(".mrb-shown")).to_be_visible()
        expect(note).to_have_value("half a thought")


def test_answers_on_their_way_outlive_their_server(page: Page, bench: Benchmark) -> None:
    deal(bench, ME, first=2)
    with Served("annotate", path_of(bench)) as served:
        desk(page, served.address, ME)
        os.kill(served.process.pid or 0, signal.SIGSTOP)
        press(page, "ab")
        expect(page.locator(".mrb-saved")).to_contain_text("Saving")
        served.process.kill()
        expect(page.locator("#mrb-lost")).to_contain_text("does not answer", timeout=SOON)
    with Served("annotate", path_of(bench)):
        expect(page.locator(".mrb-saved")).to_contain_text("Saved: Relevance")
    rows = answers_of(bench, ME)
    assert rows[["dimension", "choice"]].to_numpy().tolist() == [["accuracy", "A"], ["relevance", "B"]]


def test_a_tapped_case_comes_into_view_on_a_phone(
    new_page: Callable[..., Page], bench: Benchmark, served: Served
) -> None:
    page = explorer(new_page(viewport={"width": 400, "height": 800}, has_touch=True), served.address)
    page.locator("[data-index='3']").tap()
    reviewing(page, str(bench.cases["case_id"].iloc[3]))
    expect(page.locator(".mrb-shown .mrb-title")).to_be_in_viewport()


def test_a_withdrawal_whose_answer_was_lost_stands_in_nobodys_way(page: Page, bench: Benchmark, served: Served) -> None:
    page.add_init_script(IMPATIENT)
    explorer(page, served.address, who="Dr Unheard")
    press(page, "1s")
    expect(page.locator(".mrb-saved")).to_contain_text("Saved")
    with paused(served):
        page.evaluate("window.hasty = true")
        page.get_by_role("button", name="Withdraw").click()
        expect(page.locator(".mrb-saved")).to_contain_text("does not answer")
        page.evaluate("window.hasty = false")
    page.get_by_role("button", name="Save correction").click()
    expect(page.locator(".mrb-saved")).to_contain_text("Saved")
    own = reviews_of(bench, "Dr Unheard")
    # Whichever of the two the server read first: what was saved last counts, and a late withdrawal takes back nothing.
    assert own["verdict"].tolist() in (["gold_right", "withdrawn", "gold_right"], ["gold_right", "gold_right"])
    assert current(own)["verdict"].tolist() == ["gold_right"]


def test_each_entry_is_withdrawn_by_a_withdrawal_of_its_own(page: Page, bench: Benchmark, served: Served) -> None:
    saved, note = page.locator(".mrb-saved"), page.locator('[data-field="note"]')
    explorer(page, served.address, f"case={bench.cases['case_id'].iloc[3]}", "Dr Wavering")
    press(page, "1s")
    expect(saved).to_contain_text("Saved")
    note.fill("on second thoughts")
    page.get_by_role("button", name="Withdraw").click()
    expect(saved).to_contain_text("What you typed since is not saved yet")
    with paused(served):
        page.locator(".mrb-save").click()
        note.fill("on third thoughts")
    expect(page.get_by_role("button", name="Withdraw")).to_be_visible()
    page.get_by_role("button", name="Withdraw").click()
    expect(page.locator(".mrb-history li")).to_have_count(4)
    own = reviews_of(bench, "Dr Wavering")
    assert own["verdict"].tolist() == ["gold_right", "withdrawn", "gold_right", "withdrawn"]
    assert own["supersedes"].tolist()[1::2] == own["adjudication_id"].tolist()[::2]
