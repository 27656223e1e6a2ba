"""Hostile text in the apps, as they are served: the failure explorer and annotation."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

import pandas as pd
import pytest
from playwright.sync_api import Page, expect

from mrb_lib.benchmarks.benchmark import load
from mrb_lib.review.pages import visible
from mrb_lib.review.records.store import open_store

from .axe import violations
from .hostile import ATTACKS, DIMENSIONS, JUDGES, NAME, REVIEWERS, harm, write_hostile
from .pages import sign_in
from .server import Served

PATIENT, SOON = 120_000, 30_000


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_hostile(tmp_path_factory.mktemp("apps"))


def settled(page: Page) -> None:
    expect(page.locator(".mrb-case-pane")).not_to_have_attribute("aria-busy", "true", timeout=PATIENT)


def test_the_failure_explorer(page: Page, bench: Path) -> None:
    position = page.locator("[role=status].mrb-position")
    with Served("review", bench) as served:
        page.goto(served.address, wait_until="domcontentloaded")
        expect(position).to_have_text(f"1 of {len(ATTACKS)} cases", timeout=PATIENT)
        sign_in(page, REVIEWERS[0])
        for number in range(len(ATTACKS)):
            expect(position).to_have_text(re.compile(rf"^{number + 1} of {len(ATTACKS)} cases\b"), timeout=SOON)
            settled(page)
            assert harm(page) == [], ATTACKS[number]
            page.get_by_role("button", name="next case").focus()
            page.keyboard.press("j")
        assert violations(page) == []


def test_annotation(page: Page, bench: Path) -> None:
    who = "Dr " + ATTACKS[2]
    with open_store(bench / "reviews.sqlite") as store:
        ids = load(bench).cases["case_id"].tolist()
        rows = [(case, who, i, ("AB", "BA")[i % 2]) for i, case in enumerate(ids) if "\0" not in case]
        store.assign(NAME, pd.DataFrame(rows, columns=["case_id", "annotator", "position", "order"]))
    with Served("annotate", bench) as served:
        page.goto(served.address, wait_until="domcontentloaded")
        page.get_by_role("button", name=who).click(timeout=PATIENT)
        for number in range(1, 5):
            expect(page.get_by_role("heading", name=re.compile(rf"^Case {number} of"))).to_be_visible(timeout=SOON)
            expect(page.locator(".mrb-view.mrb-live").first).to_be_visible(timeout=SOON)
            assert harm(page) == [], ATTACKS[number]
            said = page.content()
            assert not [judge for judge in JUDGES if escape(visible(judge)) in said]
            for _ in DIMENSIONS:
                page.keyboard.press("a")
            page.keyboard.press("Enter")
        assert violations(page) == []
