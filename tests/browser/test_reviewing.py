"""An hour of a reviewer: who they are, where they look, what is saved and what is not, and a server that goes away."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.review.records.marks import ADDED, Adjudication, CaseTag
from mrb_lib.review.records.store import open_store

from .axe import violations, violations_in_both_schemes
from .hand import Hand
from .haste import paused
from .pages import IMPATIENT, bounds, explorer, press, reviewing, settled, sign_in
from .server import Served, path_of, reviews_of, simulated, store_of

QUERY = "judge=longer&dimension=overall"
OPTIONS = ("--assign", "Dr Able,Dr Blind", "--overlap", "2", "--query", QUERY)
"""All cases of a judge are assigned to two reviewers."""
LOW = {"width": 1366, "height": 650}
FORM_KEYS = ("1", "2", "a", "z", "Shift+1", "n", "m", "s", "Enter")


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    """Twelve cases and the runs of two judges."""
    return simulated(tmp_path_factory.mktemp("reviewing"), 12, judged=True)


def _case(page: Page, number: int) -> None:
    reviewing(page, f"sim-{number:06d}")


def _uncovered(one: Locator) -> bool:
    """Whether the middle of an element, scrolled into view, is what a click there hits."""
    one.scroll_into_view_if_needed()
    hit: bool = one.evaluate("""one => {
      const { left, top, width, height } = one.getBoundingClientRect();
      return one.contains(document.elementFromPoint(left + width / 2, top + height / 2));
    }""")
    return hit


def test_after_save_and_next_case_gold_label_and_verdicts_are_in_sight(hand: Hand, served: Served) -> None:
    page = hand.page
    page.set_viewport_size(LOW)
    explorer(page, served.address, QUERY, hand.name)
    for number in (0, 1):
        _case(page, number)
        hand.use(page.locator(".mrb-verdict label").first, "Escape", "1")
        for pane in (".mrb-case-pane", ".mrb-review-body"):
            page.locator(pane).evaluate("one => new Promise(done => { one.onscroll = done; one.scrollTop = 9999; })")
        hand.use(page.get_by_role("button", name="Save and next"), "Escape", "Enter")
        _case(page, number + 1)
        for part in (".mrb-shown .mrb-title", ".mrb-gold-line", ".mrb-verdict"):
            expect(page.locator(part)).to_be_in_viewport(ratio=1)


def test_assigned_cases_open_with_their_judge_and_a_misspelt_reviewer_is_told_who_is_known(
    page: Page, served: Served, bench: Benchmark
) -> None:
    page.goto(served.address)
    expect(page.get_by_role("heading", name="Sign in to see")).to_be_visible()
    page.get_by_label("Your name").fill("Dr Abel")
    page.keyboard.press("Enter")
    expect(page.locator(".mrb-who").get_by_role("alert")).to_contain_text("“Dr Abel” is a new name here.")
    assert violations_in_both_schemes(page) == []
    page.keyboard.press("Enter")
    expect(page.locator(".mrb-nothing")).to_contain_text("No case is assigned to Dr Abel.")
    expect(page.locator(".mrb-nothing")).to_contain_text("Dr Able, Dr Blind")
    page.get_by_role("button", name="Sign out").click()
    page.get_by_label("Your name").fill("dr able")
    page.keyboard.press("Enter")
    expect(page.locator(".mrb-who")).to_contain_text("Signed in as Dr Able")
    expect(page.locator("[data-filter=judge]")).to_have_value("=longer")
    expect(page.locator("[data-field=judge]")).to_have_value("longer")
    expect(page.locator("[data-field=judge] option").first).to_be_disabled()
    _case(page, 0)
    press(page, "1s")
    expect(page.locator(".mrb-saved")).to_contain_text("Saved")
    page.locator("[data-field=judge] option").first.evaluate("one => { one.disabled = false; }")
    page.locator("[data-field=judge]").select_option("")
    press(page, ("Escape", "1", "s"))
    expect(page.locator(".mrb-saved")).to_contain_text("Not saved: no judge is named")
    page.locator("[data-filter=judge]").select_option("")
    expect(page.locator("[data-field=judge]")).to_have_value("")
    assert reviews_of(bench, "Dr Able")["judge"].tolist() == ["longer"]


def test_who_signs_in_in_a_second_tab_changes_nobody_in_the_first(page: Page, served: Served) -> None:
    first, second = (explorer(tab, served.address, QUERY) for tab in (page, page.context.new_page()))
    names = first.locator(".mrb-who datalist option").evaluate_all("all => all.map(one => one.value)")
    assert {"Dr Able", "Dr Blind"} <= set(names)
    for tab, name in ((first, "Dr Able"), (second, "Dr Blind")):
        tab.get_by_label("Your name").fill(name)
        tab.get_by_role("button", name="Sign in").click()
    for tab, name in ((first, "Dr Able"), (second, "Dr Blind")):
        expect(tab.locator(".mrb-who")).to_contain_text(f"Signed in as {name}")
        tab.reload()
        expect(tab.locator(".mrb-who")).to_contain_text(f"Signed in as {name}")


def test_an_unsaved_review_is_marked_and_closing_the_tab_asks(hand: Hand, served: Served) -> None:
    page, asked = explorer(hand.page, served.address, f"case=sim-000005&{QUERY}"), list[str]()
    page.on("dialog", lambda dialog: asked.append(dialog.type))
    title, row = page.title(), page.locator("[data-index='5']")
    sign_in(page, hand.name)
    _case(page, 5)
    assert page.title() == title
    hand.use(page.locator(".mrb-verdict label").nth(2), "Escape", "3")
    expect(page).to_have_title(f"● Not saved: {title}")
    expect(row).to_contain_text("○ unsaved")
    assert asked == []
    page.reload()
    assert asked == ["beforeunload"]
    _case(page, 5)
    expect(page.locator(".mrb-saved")).to_contain_text("Not saved yet: this is what you typed before")
    expect(page.locator(".mrb-verdict input").nth(2)).to_be_checked()
    expect(page).to_have_title(f"● Not saved: {title}")
    hand.use(page.locator(".mrb-save"), "Escape", "s")
    expect(page).to_have_title(title)
    expect(row).to_contain_text("✓ you")
    page.reload()
    assert asked == ["beforeunload"], "what is saved asks nothing"


def test_who_is_not_signed_in_is_told_so_and_brought_there(page: Page, served: Served) -> None:
    explorer(page, served.address, QUERY)
    name = page.get_by_label("Your name")
    for _ in range(5):
        page.keyboard.press("Tab")
        if name.evaluate("one => one === document.activeElement"):
            break
    expect(name).to_be_focused()
    for key in FORM_KEYS:
        page.locator(".mrb-explorer").press(key)
        expect(page.locator(".mrb-notice")).to_contain_text("Sign in first")
        expect(name).to_be_focused()
        expect(name).to_have_value("")
    assert violations(page) == []


def test_back_leads_through_the_cases_and_the_filters(hand: Hand, served: Served) -> None:
    page = explorer(hand.page, served.address, QUERY)
    _case(page, 0)
    hand.use(page.get_by_role("button", name="next case"), "j")
    _case(page, 1)
    hand.use(page.locator("[data-index='3']"), "j", "j")
    _case(page, 3)
    before = page.url
    hand.choose(page.locator("[data-filter=judge]"), "=shorter")
    expect(page).to_have_url(re.compile("judge=shorter"))
    page.locator(".mrb-explorer").focus()
    page.go_back()
    expect(page).to_have_url(before)
    expect(page.locator("[data-filter=judge]")).to_have_value("=longer")
    _case(page, 3)
    while page.locator(".mrb-of-case bdi").inner_text() != "sim-000000":
        page.go_back()
        settled(page)
    expect(page.locator(".mrb-row[data-index='0']")).to_have_attribute("aria-selected", "true")
    page.go_forward()
    _case(page, 1)


def test_reasons_and_harm_are_asked_once_a_judge_is_chosen(page: Page, served: Served) -> None:
    explorer(page, served.address, "case=sim-000006", "Dr Judge")
    asked = [page.get_by_role("group", name=words) for words in ("Why did the judge fail?", "choice were acted on")]
    for one in asked:
        expect(one).to_be_hidden()
    for key in ("z", "Shift+2"):
        page.keyboard.press(key)
        expect(page.locator(".mrb-saved")).to_contain_text("Choose the judge first")
    page.locator("[data-field=judge]").select_option("longer")
    for one in asked:
        expect(one).to_be_visible()


@pytest.mark.parametrize("size", [LOW, {"width": 768, "height": 1024}, {"width": 683, "height": 384}])
def test_nothing_covers_the_form_of_a_saved_review(page: Page, served: Served, size: dict[str, int]) -> None:
    page.set_viewport_size(size)
    explorer(page, served.address, f"case=sim-000007&{QUERY}", f"Dr Wide {size['width']}")
    _case(page, 7)
    press(page, "3s")
    expect(page.get_by_role("button", name="Save correction")).to_be_visible()
    expect(page.locator(".mrb-saved")).to_contain_text("Saved")
    for part in page.locator(".mrb-form label:visible, .mrb-review button:visible").all():
        assert _uncovered(part), part.inner_text()


@pytest.mark.parametrize("width", [1366, 1024, 683])
def test_tags_never_cut_off_who_has_reviewed_a_case(page: Page, served: Served, bench: Benchmark, width: int) -> None:
    name = bench.meta.name
    with open_store(store_of(bench)) as store:
        for who in ("Dr Able", "Dr Blind", "Dr Tag"):
            store.add(Adjudication(name, "sim-000009", who, "ambiguous", adjudication_id=f"tagged by {who}"))
        for tag in ("artefact of the table", "seen twice", "old film"):
            store.add(CaseTag(name, "sim-000009", tag, "Dr Tag", ADDED))
    page.set_viewport_size({"width": width, "height": 800})
    explorer(page, served.address, f"case=sim-000009&{QUERY}", "Dr Tag")
    row = page.locator("[data-index='9']")
    expect(row.locator(".mrb-done")).to_have_text("✓ you + 2")
    expect(row.locator(".mrb-row-tags bdi")).to_have_count(3)
    mark, whole = bounds(row.locator(".mrb-done")), bounds(row)
    assert mark["x"] + mark["width"] <= whole["x"] + whole["width"]
    assert row.locator(".mrb-done").evaluate("one => one.scrollWidth <= one.clientWidth + 1")


def test_the_lost_server_covers_no_error_and_a_killed_one_loses_nothing(page: Page, bench: Benchmark) -> None:
    page.set_viewport_size({"width": 1366, "height": 768})
    page.add_init_script(IMPATIENT)
    saved = page.locator(".mrb-saved")
    with Served("review", path_of(bench)) as first:
        explorer(page, first.address, f"case=sim-000010&{QUERY}", "Dr Killed")
        _case(page, 10)
        with paused(first):
            press(page, "4n")
            page.keyboard.type("typed before")
            page.evaluate("window.hasty = true")
            page.keyboard.press("Control+Enter")
            expect(saved).to_contain_text("does not answer")
            assert "✓" not in page.locator("[data-index='10']").inner_text(), "nothing is stored yet"
            page.evaluate("window.hasty = false")
            page.keyboard.press("Control+Enter")
            expect(saved).to_have_text("Saving …")
            page.keyboard.type(", and after")
            first.process.kill()
    expect(page.locator("#mrb-lost")).to_be_visible()
    mark, lost = bounds(saved), bounds(page.locator("#mrb-lost"))
    assert mark["y"] + mark["height"] <= lost["y"] + 1
    assert page.locator(".mrb-notice").evaluate("one => one.getBoundingClientRect().bottom") <= lost["y"]
    with Served("review", path_of(bench)):
        expect(saved).to_contain_text("What you typed since is not saved yet")
        expect(page.get_by_label("Note")).to_have_value("typed before, and after")
        page.keyboard.press("Control+Enter")
        expect(page.locator(".mrb-history li")).to_have_count(2)
        expect(saved).to_contain_text("Saved")
        press(page, ("Escape", "j"))
        _case(page, 11)
    assert reviews_of(bench, "Dr Killed")["note"].tolist() == ["typed before", "typed before, and after"]
