"""Who has no token, or an old one, and whose server went away: told so, and led on with what was typed."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable, Iterator

import pandas as pd
import pytest
from playwright.sync_api import Page, expect

from mrb_lib.benchmarks.benchmark import Benchmark, load
from mrb_lib.demo.build import write_demo
from mrb_lib.review.records.marks import current
from mrb_lib.review.records.store import open_store

from .axe import violations
from .haste import paused
from .pages import sign_in
from .server import Served

PATIENT = 120_000
SOON = 3_000
"""Milliseconds after which a reader knows that the server is gone."""
ME = "Dr Cut Off"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    folder = tmp_path_factory.mktemp("door") / "bench"
    write_demo(folder, cases=6, seed=2)
    return load(folder)


@pytest.fixture(scope="module")
def served(bench: Benchmark) -> Iterator[Served]:
    """For tests that leave their server as it is, or let it stand still for a while."""
    assert bench.path is not None
    with Served("review", bench.path) as running:
        yield running


def _free_port() -> int:
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        return int(trial.getsockname()[1])


def _opened(page: Page) -> None:
    expect(page.locator(".mrb-shown")).to_be_visible(timeout=PATIENT)


def _paste(page: Page, address: str) -> None:
    page.get_by_label("The address that mrb printed").fill(address)
    page.get_by_role("button", name="Open it").click()


def test_a_copied_link_leads_to_its_case_once_the_token_is_there(page: Page, bench: Benchmark, served: Served) -> None:
    third = str(bench.cases["case_id"].iloc[2])
    bare = served.address.split("?")[0]
    page.goto(f"{bare}#case={third}")
    expect(page.get_by_role("heading", name="The address is not complete")).to_be_visible()
    assert violations(page) == []
    _paste(page, "http://")
    expect(page.get_by_role("alert")).to_contain_text("not such an address")
    _paste(page, served.address.split("token=")[1])
    _opened(page)
    expect(page.locator(".mrb-of-case bdi")).to_have_text(third)
    assert page.url == f"{bare}#case={third}"


def test_an_old_address_is_named_so_and_the_new_one_leads_on(page: Page, bench: Benchmark, served: Served) -> None:
    page.goto(f"{served.address.split('token=')[0]}token={'x' * 43}")
    expect(page.get_by_role("heading", name="This address is no longer valid")).to_be_visible()
    _paste(page, served.address)
    _opened(page)
    assert "token" not in page.url


def test_a_review_in_hand_outlives_its_server(page: Page, bench: Benchmark) -> None:
    assert bench.path is not None
    second = str(bench.cases["case_id"].iloc[1])
    with Served("review", bench.path) as served:
        page.goto(f"{served.address}#case={second}")
        _opened(page)
        sign_in(page, ME)
        page.get_by_label("Note").fill("half a thought")
    expect(page.locator("#mrb-lost p")).to_contain_text("does not answer", timeout=SOON)
    assert violations(page, "#mrb-lost") == []
    with Served("review", bench.path) as again:
        assert again.address == served.address, "a restart changes no link"
        expect(page.locator("#mrb-lost")).to_be_hidden()
        expect(page.get_by_label("Note")).to_have_value("half a thought")
    with Served("review", bench.path, "--new-token", "--port", str(_free_port())) as other:
        expect(page.locator("#mrb-lost p")).to_contain_text("does not answer")
        _paste(page, other.address)
        _opened(page)
        expect(page.locator(".mrb-of-case bdi")).to_have_text(second)
        assert page.url == f"{other.address.split('?')[0]}#case={second}"
        sign_in(page, ME)
        expect(page.get_by_label("Note")).to_have_value("half a thought")


def test_answers_on_their_way_outlive_their_server(page: Page, bench: Benchmark) -> None:
    assert bench.path is not None
    with open_store(bench.path / "reviews.sqlite") as store:
        deal = pd.DataFrame({"case_id": bench.cases["case_id"].head(2), "annotator": ME, "order": "AB"})
        store.assign(bench.meta.name, deal.assign(position=range(2)))
    with Served("annotate", bench.path) as served:
        page.goto(served.address)
        page.get_by_role("button", name=ME).click(timeout=PATIENT)
        expect(page.get_by_role("heading", name="Case 1 of 2")).to_be_visible(timeout=PATIENT)
        expect(page.locator(".mrb-annotate")).not_to_contain_class("mrb-changing")
        served.process.send_signal(signal.SIGSTOP)
        for key in "ab":
            page.keyboard.press(key)
        expect(page.locator(".mrb-saved")).to_contain_text("Saving")
        served.process.kill()
        expect(page.locator("#mrb-lost p")).to_contain_text("does not answer", timeout=SOON)
    with Served("annotate", bench.path):
        expect(page.locator(".mrb-saved")).to_contain_text("Saved: Relevance", timeout=PATIENT)
    with open_store(bench.path / "reviews.sqlite", create=False) as store:
        rows = store.answers(bench.meta.name, annotator=ME, history=True)
    assert rows[["dimension", "choice"]].to_numpy().tolist() == [["accuracy", "A"], ["relevance", "B"]]


def test_a_tapped_case_comes_into_view_on_a_phone(
    new_page: Callable[..., Page], bench: Benchmark, served: Served
) -> None:
    page = new_page(viewport={"width": 400, "height": 800}, has_touch=True)
    page.goto(served.address)
    _opened(page)
    page.locator("[data-index='3']").tap()
    fourth = str(bench.cases["case_id"].iloc[3])
    expect(page.locator(".mrb-of-case bdi")).to_have_text(fourth)
    expect(page.locator(".mrb-shown .mrb-title")).to_be_in_viewport()


def test_a_withdrawal_whose_answer_was_lost_stands_in_nobodys_way(page: Page, bench: Benchmark, served: Served) -> None:
    assert bench.path is not None
    page.add_init_script(
        "const real = window.setTimeout;"
        "window.setTimeout = (then, ms, ...rest) => real(then, ms === 20000 && window.hasty ? 500 : ms, ...rest);"
    )
    page.goto(served.address)
    _opened(page)
    sign_in(page, "Dr Unheard")
    page.keyboard.press("Escape")
    for key in "1s":
        page.keyboard.press(key)
    expect(page.locator(".mrb-saved")).to_contain_text("Saved")
    with paused(served.process):
        page.evaluate("window.hasty = true")
        page.get_by_role("button", name="Withdraw").click()
        expect(page.locator(".mrb-saved")).to_contain_text("does not answer")
        page.evaluate("window.hasty = false")
    page.get_by_role("button", name="Save correction").click()
    expect(page.locator(".mrb-saved")).to_contain_text("Saved")
    with open_store(bench.path / "reviews.sqlite", create=False) as store:
        rows = store.adjudications(bench.meta.name, history=True)
    own = rows[rows["reviewer"] == "Dr Unheard"]
    # Whichever of the two the server read first: what was saved last counts, and a late withdrawal takes back nothing.
    assert own["verdict"].tolist() in (["gold_right", "withdrawn", "gold_right"], ["gold_right", "gold_right"])
    assert current(own)["verdict"].tolist() == ["gold_right"]


def test_each_entry_is_withdrawn_by_a_withdrawal_of_its_own(page: Page, bench: Benchmark, served: Served) -> None:
    assert bench.path is not None
    saved, note = page.locator(".mrb-saved"), page.locator('[data-field="note"]')
    page.goto(served.address)
    _opened(page)
    sign_in(page, "Dr Wavering")
    page.keyboard.press("Escape")
    page.locator("[data-index='3']").click()
    expect(page.locator(".mrb-of-case bdi")).to_have_text(str(bench.cases["case_id"].iloc[3]))
    expect(page.locator(".mrb-explorer")).not_to_contain_class("mrb-changing")
    for key in "1s":
        page.keyboard.press(key)
    expect(saved).to_contain_text("Saved")
    note.fill("on second thoughts")
    page.get_by_role("button", name="Withdraw").click()
    expect(saved).to_contain_text("What you typed since is not saved yet")
    with paused(served.process):
        page.locator(".mrb-save").click()
        note.fill("on third thoughts")
    expect(page.get_by_role("button", name="Withdraw")).to_be_visible()
    page.get_by_role("button", name="Withdraw").click()
    expect(page.locator(".mrb-history li")).to_have_count(4)
    with open_store(bench.path / "reviews.sqlite", create=False) as store:
        rows = store.adjudications(bench.meta.name, history=True)
    own = rows[rows["reviewer"] == "Dr Wavering"]
    assert own["verdict"].tolist() == ["gold_right", "withdrawn", "gold_right", "withdrawn"]
    assert own["supersedes"].tolist()[1::2] == own["adjudication_id"].tolist()[::2]
