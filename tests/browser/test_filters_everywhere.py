"""Filters, tags, views and small pictures as a person uses them in the explorer as it is served."""

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest
from playwright.sync_api import Page, expect

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.review.records.store import open_store

from .axe import violations, violations_in_both_schemes
from .haste import paused
from .hostile import ATTACKS, harm
from .pages import explorer, open_menu, press, settled, sign_in
from .server import Served, path_of, reviews_of, simulated, store_of

N = 30
GONE = "\u00d7"
HOSTILE = [" and ".join(f"question != {attack!r}" for attack in ATTACKS[first::5]) for first in range(5)]
"""Filters that hold each attack once."""
NewPage = Callable[..., Page]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    """Simulated cases; one has no image, one a torn one."""

    def pictured(cases: pd.DataFrame) -> list[Any]:
        return [[] if place == 1 else names for place, names in enumerate(cases["images"])]

    made = simulated(tmp_path_factory.mktemp("everywhere"), N, images=pictured)
    torn = path_of(made) / "images" / str(made.cases["images"].iloc[2][0])
    torn.write_bytes(torn.read_bytes()[:200])
    return made


def tag(page: Page, words: str, key: str = "#") -> None:
    """Tag the case in sight by keyboard."""
    field = page.get_by_label("Add a tag to this case")
    page.locator(".mrb-explorer").press(key)
    expect(field).to_be_focused()
    page.keyboard.type(words)
    page.keyboard.press("Enter")
    expect(field).to_have_value("")
    page.keyboard.press("Escape")


def tags_of(bench: Benchmark) -> pd.DataFrame:
    with open_store(store_of(bench), create=False) as store:
        return store.tags(bench.meta.name)


def test_a_tag_is_set_by_key_and_filtered_by(page: Page, served: Served, bench: Benchmark) -> None:
    position, where = page.locator(".mrb-position"), page.locator("[data-filter=where]")
    explorer(page, served.address, who="Dr Tag")
    tag(page, "artefact, basal")
    page.keyboard.press("j")
    settled(page)
    tag(page, "artefact, basal", key="g")
    tag(page, "old film")
    expect(page.locator("[data-index='1'] .mrb-row-tags bdi")).to_have_text(["artefact, basal", "old film"])
    expect(page.locator(".mrb-tags datalist option").first).to_have_attribute("value", "artefact, basal")
    first, second, *_ = bench.cases["case_id"]
    stored = [[first, "artefact, basal"], [second, "artefact, basal"], [second, "old film"]]
    assert tags_of(bench)[["case_id", "tag"]].to_numpy().tolist() == stored
    assert reviews_of(bench, "Dr Tag").empty, "no letter of a tag was taken for a verdict"

    where.fill("tag == 'artefact, basal' and not tag == 'old film'")
    page.keyboard.press("Enter")
    expect(position).to_contain_text("1 of 1 cases")
    page.get_by_role("button", name="remove the tag artefact, basal").click()
    expect(page.locator(".mrb-tag-list li")).to_have_count(0)
    expect(position).to_contain_text("1 of 1 cases")  # the list stays while one works on it
    where.fill("tags == 'x'")
    page.keyboard.press("Enter")
    expect(page.locator(".mrb-notice")).to_contain_text("'tags' is unknown")
    assert violations(page) == []


def test_a_tag_begun_at_a_case_lands_on_no_other(new_page: NewPage, served: Served, bench: Benchmark) -> None:
    page = new_page(hasty=True)
    ids = bench.cases["case_id"].astype(str).tolist()
    explorer(page, served.address, f"case={ids[10]}", "Dr Haste")
    field, notice = page.get_by_label("Add a tag to this case"), page.locator(".mrb-notice")
    with paused(served):
        page.locator("[role=listbox]").focus()
        for key in ("End", "#", *"stab1"):  # the last case is not here yet
            page.keyboard.press(key)
        expect(field).to_have_value("stab1")
        page.keyboard.press("Enter")
        expect(notice).to_contain_text("The case changed while you typed")
    expect(page.locator(".mrb-of-case bdi")).to_have_text(ids[-1])
    settled(page)
    expect(field).to_have_value("stab1")
    expect(field).to_be_focused()
    page.keyboard.press("Enter")
    expect(notice).to_contain_text("press Enter again to tag the case in sight")
    page.keyboard.press("Enter")
    expect(page.locator(".mrb-tag-list li")).to_have_text(["stab1" + GONE])
    mine = tags_of(bench).query("reviewer == 'Dr Haste'")
    assert mine[["case_id", "tag"]].to_numpy().tolist() == [[ids[-1], "stab1"]]
    assert reviews_of(bench, "Dr Haste").empty


def test_a_filter_chosen_just_before_somebody_signs_in_holds(page: Page, served: Served, bench: Benchmark) -> None:
    explorer(page, served.address)
    organ = bench.cases["organ"].value_counts().index[-1]
    with paused(served):
        page.locator("[data-filter=organ]").select_option(f"={organ}")
        sign_in(page, "Dr Soon")
    n = int((bench.cases["organ"] == organ).sum())
    expect(page.locator(".mrb-position")).to_contain_text(f"1 of {n} case")
    expect(page.locator("[data-filter=organ]")).to_have_value(f"={organ}")


def test_a_view_is_seen_by_everybody_and_replaced_by_none(new_page: NewPage, served: Served) -> None:
    page, other = new_page(), new_page()
    explorer(page, served.address, "where=length > 10 and n_images == 1&organ=eye&sort=disagreement", "Dr View")
    n = page.locator(".mrb-position").inner_text().split("·")[0]
    said, there = page.get_by_role("dialog").get_by_role("status"), other.get_by_role("dialog", name="Saved views")
    open_menu(page)
    page.get_by_role("button", name="Views").press("Enter")
    page.keyboard.type("Eyes to discuss")
    page.keyboard.press("Enter")
    expect(said).to_have_text("The view “Eyes to discuss” is saved for everyone.")
    press(page, "12sjab#g")  # what a dialog covers takes no key
    assert violations(page) == []
    page.keyboard.press("Escape")
    expect(page.locator(".mrb-saved")).not_to_contain_text("Not saved yet")

    explorer(other, served.address, who="Dr Other")
    open_menu(other)
    other.get_by_role("button", name="Views").click()
    there.get_by_label("Save the filters").fill("Eyes to discuss")
    other.keyboard.press("Enter")
    expect(there.get_by_role("status")).to_contain_text("is there already, by Dr View")
    there.get_by_role("button", name="Eyes to discuss", exact=True).click()
    expect(other.locator(".mrb-position")).to_contain_text(n.strip())
    expect(other.locator("[data-filter=where]")).to_have_value("length > 10 and n_images == 1")


def test_pictures_come_after_the_rows_and_can_be_hidden(page: Page, served: Served) -> None:
    explorer(page, served.address, who="Dr Look")
    pictures, switch = page.locator(".mrb-list .mrb-thumb img"), page.get_by_role("button", name="Pictures in the list")
    first = page.locator("[data-index='0'] .mrb-thumb img")
    expect(first).to_have_attribute("alt", "")
    assert first.evaluate("img => img.decode().then(() => img.naturalWidth)") == 80
    expect(page.locator("[data-index='1'] .mrb-thumb")).to_have_text("\u2013")
    expect(page.locator("[data-index='2'] .mrb-thumb")).to_have_text("✗")
    page.locator("[role=listbox]").focus()
    page.keyboard.press("End")
    expect(page.locator(f"[data-index='{N - 1}'] .mrb-thumb img")).to_be_visible()
    open_menu(page)
    switch.click()
    page.reload()
    open_menu(page)
    expect(switch).to_have_attribute("aria-pressed", "false")
    settled(page)
    expect(pictures).to_have_count(0)
    switch.click()
    expect(pictures.first).to_be_visible()


def test_hostile_tags_views_and_filters_do_nothing(new_page: NewPage, served: Served) -> None:
    page = explorer(new_page(), served.address, "organ=lung", "Dr " + ATTACKS[1])
    name, field = page.get_by_label("Save the filters"), page.get_by_label("Add a tag to this case")
    dialog = page.get_by_role("dialog", name="Saved views")
    for where in HOSTILE:
        page.locator("[data-filter=where]").fill(where.replace("question", "tag"))
        page.keyboard.press("Enter")
        expect(page.locator(".mrb-position")).to_contain_text("of ")
        settled(page)
        expect(page.locator(".mrb-notice")).to_have_text("")
    for attack in ATTACKS:
        field.fill(attack[:40])
        field.press("Enter")
        expect(field).to_have_value("")
        open_menu(page)
        page.get_by_role("button", name="Views").click()
        name.fill(attack[:80])
        name.press("Enter")
        expect(dialog.get_by_role("status")).to_contain_text("saved")
        assert harm(page) == [], attack
        page.keyboard.press("Escape")
        page.locator("[data-filter=where]").fill(attack)
        page.keyboard.press("Enter")
        expect(page.locator(".mrb-notice")).not_to_have_text("")
        assert harm(page) == [], attack
    open_menu(page)
    page.get_by_role("button", name="Views").click()
    expect(dialog.get_by_role("listitem").nth(20)).to_be_attached()
    for closes in ("", "Escape"):
        press(page, [closes] if closes else [])
        for width in (1280, 1024, 400):
            page.set_viewport_size({"width": width, "height": 800})
            page.wait_for_function("() => document.documentElement.scrollWidth <= innerWidth")
            assert harm(page) == [], width
        assert violations_in_both_schemes(page) == []
