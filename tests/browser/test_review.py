"""The failure explorer as `mrb review` serves it: a real server, a real browser, reviewers at work."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from playwright.sync_api import Page, expect

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.review.failures.query import Query, to_fragment
from mrb_lib.review.records.marks import CaseTag, SavedView
from mrb_lib.review.records.questions import QUESTIONS, REASONS, Question
from mrb_lib.review.records.store import open_store
from tests.review.records.earlier import write_version_4

from .axe import violations, violations_in_both_schemes
from .hand import WAYS, Hand
from .haste import paused
from .hostile import ATTACKS, harm
from .pages import bounds, explorer, in_one_view, open_menu, press, settled, sign_in
from .server import Served, mrb, path_of, reviews_of, simulated, store_of

N = 27
NewPage = Callable[..., Page]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    """Twenty-seven simulated cases, one without an image, one with a torn one; two judges that never agree."""

    def pictured(cases: pd.DataFrame) -> list[Any]:
        return [[] if place == 1 else names for place, names in enumerate(cases["images"])]

    made = simulated(tmp_path_factory.mktemp("review"), N, judged=True, images=pictured)
    torn = path_of(made) / "images" / str(made.cases["images"].iloc[2][0])
    torn.write_bytes(torn.read_bytes()[:200])
    return made


def _choose(page: Page, name: str, value: str) -> None:
    page.locator(f"[data-filter={name}]").select_option(value)


def _wide(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth > window.innerWidth"))


def test_an_address_leads_to_a_case_and_is_copied(new_page: NewPage, served: Served) -> None:
    query = Query(judge="longer", dimension="overall", kind=("wrong",), sort="difficulty")
    page = new_page(permissions=["clipboard-read", "clipboard-write"])
    explorer(page, served.address, to_fragment(query))
    expect(page.locator(".mrb-position")).to_contain_text("1 of")
    page.keyboard.press("j")
    expect(page.locator(".mrb-position")).to_contain_text("2 of")
    settled(page)
    case = page.locator(".mrb-title bdi").inner_text()
    open_menu(page)
    page.get_by_role("button", name="Copy link").click()
    expect(page.locator(".mrb-notice")).to_contain_text("copied")
    link = page.evaluate("navigator.clipboard.readText()")
    assert link == served.address.split("?")[0] + "#" + to_fragment(query, case)
    page.goto("about:blank")
    page.goto(link)
    expect(page.locator(".mrb-title")).to_have_text(f"Case {case}")
    expect(page.locator(".mrb-position")).to_contain_text("2 of")
    expect(page.locator("[data-kind=wrong]")).to_have_attribute("aria-pressed", "true")
    page.evaluate("location.hash = '#case=sim-000003&judge=nobody'")
    expect(page.locator(".mrb-notice")).to_contain_text("nobody")


def test_a_mark_outlives_its_page_and_is_corrected_once_the_store_is_there(
    new_page: NewPage, served: Served, bench: Benchmark, tmp_path: Path
) -> None:
    link = "case=sim-000004&judge=longer&dimension=overall"
    page = explorer(new_page(), served.address, link, "Dr. Ada")
    press(page, "2s")
    expect(page.locator(".mrb-saved")).to_contain_text("choose the right label")
    page.locator("[data-field=choice]:not(:disabled)").first.check()
    page.keyboard.press("n")
    page.keyboard.type("The nodule is on the left.")
    expect(page.locator(".mrb-saved")).to_have_text("Not saved yet.")
    page.keyboard.press("Control+Enter")
    expect(page.locator("[role=option][aria-selected=true]")).to_contain_text("you")
    page.reload()
    expect(page.locator(".mrb-history li")).to_contain_text("The nodule is on the left.")
    # The next server finds no folder of its store, then the store that the first one has written.
    with Served("review", path_of(bench), "--store", str(tmp_path / "gone" / "reviews.sqlite")) as again:
        other = explorer(new_page(), again.address, link)
        history = other.locator(".mrb-history li")
        expect(other.locator(".mrb-trouble")).to_contain_text("folder does not exist")
        expect(other.get_by_label("Your name")).to_be_hidden()
        assert violations_in_both_schemes(other) == []
        (tmp_path / "gone").symlink_to(path_of(bench))
        other.reload()
        expect(other.locator(".mrb-trouble")).to_be_hidden()
        expect(history).to_contain_text("One other has reviewed this case.")
        sign_in(other, "Dr. Ada")
        expect(other.get_by_label("Note")).to_have_value("The nodule is on the left.")
        press(other, "3s")
        expect(history.first).to_contain_text("Ambiguous")
        expect(history.last).to_contain_text("replaced")
    mine = reviews_of(bench, "Dr. Ada")
    assert mine["verdict"].tolist() == ["gold_wrong", "ambiguous"]
    assert mine["supersedes"].iloc[1] == mine["adjudication_id"].iloc[0]


def _button(hand: Hand, words: str, *keys: str) -> None:
    hand.use(hand.page.get_by_role("button", name=words, exact=True), *keys)


def _enter(hand: Hand) -> None:
    """Sign in under a name that is new, unless an earlier test has used it."""
    hand.write(hand.page.get_by_label("Your name"), hand.name)
    _button(hand, "Sign in", "Enter")
    if hand.page.get_by_role("button", name="Add the name").is_visible():
        _button(hand, "Add the name", "Enter")


def test_each_field_of_the_form_is_kept_by_mouse_touch_and_keys(hand: Hand, served: Served, bench: Benchmark) -> None:
    case = f"sim-0000{14 + 2 * WAYS.index(hand.way)}"
    page = explorer(hand.page, served.address, f"case={case}&judge=longer&dimension=overall")
    saved, history, verdict = (page.locator(f".mrb-{name}") for name in ("saved", "history li", "verdict label"))
    _enter(hand)
    expect(page.get_by_text(f"Signed in as {hand.name}")).to_be_visible()
    hand.use(verdict.nth(1), "Escape", "2")
    side = page.locator(".mrb-right-choice label:has(:enabled)").first
    hand.use(side, side.locator("kbd").inner_text().lower())
    hand.use(page.get_by_label(REASONS[1]), "Shift+2")
    hand.use(page.get_by_label("moderate"), "c")
    hand.use(page.get_by_label("not about image"))
    view = page.locator(".mrb-case-pane .mrb-view")
    box = bounds(view)
    start, end = (box["x"] + 60, box["y"] + 60), (box["x"] + 130, box["y"] + 110)
    for n in (1, 2):
        hand.use(page.locator(".mrb-places > button"), "m")
        expect(view).to_contain_class("mrb-marking")
        hand.drag(start, end, "Enter", "ArrowRight", "ArrowDown", "Enter")
        expect(page.locator(".mrb-regions li")).to_have_count(n)
    hand.use(page.locator(".mrb-regions button").first)
    expect(page.locator(".mrb-regions li")).to_have_count(1)
    hand.write(page.get_by_label("Note"), "On the left.", "n")
    hand.use(page.locator(".mrb-save"), "Control+Enter")
    expect(saved).to_contain_text("Saved")
    hand.use(verdict.nth(2), "Escape", "3")
    hand.use(page.locator(".mrb-save"), "s")
    expect(history).to_have_count(2)
    _button(hand, "Withdraw")
    expect(history).to_have_count(3)
    hand.choose(page.locator("[data-field=judge]"), "shorter")
    hand.choose(page.locator("[data-field=dimension]"), "accuracy")
    hand.use(verdict.nth(0), "Escape", "1")
    hand.use(page.get_by_role("button", name="Save and next"), "Enter")
    expect(page.locator(".mrb-of-case bdi")).not_to_have_text(case)

    tag = page.get_by_label("Add a tag to this case")
    for words in ("old film", "seen twice"):
        hand.write(tag, words, "Escape", "#")
        page.keyboard.press("Enter")
        expect(tag).to_have_value("")
    _button(hand, "remove the tag old film")
    expect(page.locator(".mrb-tag-list li")).to_have_text(["seen twice\u00d7"])
    _button(hand, "Sign out")
    expect(page.get_by_label("Your name")).to_be_visible()

    mine = reviews_of(bench, hand.name).set_index("verdict")
    assert mine.index.tolist() == ["gold_wrong", "ambiguous", "withdrawn", "gold_right"]
    first, last = mine.iloc[0], mine.iloc[3]
    assert first[["case_id", "judge", "dimension"]].tolist() == [case, "longer", "overall"]
    assert first[["severity", "reasoning", "note"]].tolist() == ["moderate", "not_about_image", "On the left."]
    assert (first["choice"] in ("A", "B", "tie"), first["reasons"], len(first["regions"])) == (True, [REASONS[1]], 1)
    assert last[["case_id", "judge", "dimension"]].tolist() == [case, "shorter", "accuracy"]
    assert [tag for _, tag in tags_of(bench, hand.name)] == ["seen twice"]


@pytest.mark.parametrize("hand", ["touch", "keys"], indirect=True)
def test_the_list_filters_and_views_work_by_touch_and_keys(hand: Hand, served: Served, bench: Benchmark) -> None:
    """All other tests of this file use the mouse."""
    page = explorer(hand.page, served.address)
    title, position, notice = (page.locator(f".mrb-{name}") for name in ("title", "position", "notice"))
    _enter(hand)
    _button(hand, "next case (J)", "Escape", "j")
    expect(title).to_have_text("Case sim-000001")
    _button(hand, "previous case (K)", "k")
    expect(title).to_have_text("Case sim-000000")
    hand.use(page.locator("[role=option]").nth(3), "j", "j", "j")
    expect(title).to_have_text("Case sim-000003")
    for switch, key in (("mrb-words", "d"), ("mrb-marks", "")):
        shown = page.locator(f".mrb-shown .{switch}")
        before = shown.is_checked()
        hand.use(shown, *key)
        expect(shown).to_be_checked(checked=not before)

    for name, value in (("judge", "=longer"), ("other", "=shorter"), ("dimension", "=overall"), ("sort", "difficulty")):
        hand.choose(page.locator(f"[data-filter={name}]"), value)
        expect(page).to_have_url(re.compile(f"{name}={value.strip('=')}"))
    hand.use(page.locator(".mrb-turn"))
    expect(page).to_have_url(re.compile("desc=0"))
    for name in ("organ", "department", "modality", "review"):
        some = page.locator(f"[data-filter={name}] option[data-n]:not([data-n='0'])").first
        n, value = some.get_attribute("data-n"), some.get_attribute("value")
        hand.choose(page.locator(f"[data-filter={name}]"), str(value))
        expect(position).to_contain_text(f"of {n} cases")
    hand.use(page.locator(".mrb-in-view summary"))
    expect(page.locator(".mrb-in-view")).not_to_have_attribute("open", "")
    _button(hand, "Clear all")
    expect(position).to_contain_text(f"of {N} cases")
    hand.write(page.locator("[data-filter=where]"), "n_images == 0")
    hand.use(page.get_by_role("heading", level=1), "Enter")
    expect(position).to_contain_text("1 of 1 cases")
    hand.write(page.locator(".mrb-search"), "no-such-word", "Escape", "/")
    expect(position).to_have_text("0 cases")
    expect(page.locator(".mrb-case-pane")).to_contain_text("No case matches")
    expect(page.locator(".mrb-review")).to_be_hidden()
    _button(hand, "Clear all")
    hand.choose(page.locator("[data-filter=judge]"), "=longer")
    expect(page.locator("[data-kind=wrong]")).to_be_visible()  # what has no case is hidden
    hand.use(page.locator("[data-kind=wrong]"))
    expect(page.locator("[data-kind=wrong]")).to_have_attribute("aria-pressed", "true")

    _button(hand, "Menu")
    _button(hand, "Views")
    dialog, own = page.get_by_role("dialog", name="Saved views"), f"Errors by {hand.way}"
    hand.write(dialog.get_by_label("Save the filters"), own)
    hand.use(dialog.get_by_role("button", name="Save", exact=True), "Enter")
    expect(dialog.get_by_role("status")).to_contain_text("is saved for everyone")
    assert own in _views(bench)
    hand.use(dialog.get_by_role("button", name="Close"))
    _button(hand, "Clear all")
    expect(position).to_contain_text(f"of {N} cases")
    _button(hand, "Menu")
    _button(hand, "Views")
    _button(hand, own)
    expect(page.locator("[data-kind=wrong]")).to_have_attribute("aria-pressed", "true")
    _button(hand, "Menu")
    _button(hand, "Views")
    _button(hand, f"Remove the view {own} for everyone")
    _button(hand, f"Press again to remove the view {own} for everyone")
    expect(dialog.get_by_role("status")).to_contain_text("is removed")
    assert own not in _views(bench)
    hand.use(dialog.get_by_role("button", name="Close"), "Escape")

    _button(hand, "Menu")
    _button(hand, "Pictures in the list")
    expect(page.locator(".mrb-thumb")).to_have_count(0)
    _button(hand, "keys", "Escape", "?")
    hand.use(page.get_by_role("dialog", name="Keys").get_by_role("button", name="Close"))
    _button(hand, "Menu")
    _button(hand, "Copy link to this case")
    expect(notice).to_contain_text("copied")
    for words in ("CSV: export the selection as a table", "Page: export the selection to print it (HTML)"):
        with page.expect_download() as waiting:
            _button(hand, "Menu")
            _button(hand, words)
        assert waiting.value.suggested_filename in ("cases.csv", "cases.html")


def _views(bench: Benchmark) -> list[str]:
    with open_store(store_of(bench), create=False) as store:
        return store.views(bench.meta.name)["name"].tolist()


def test_image_and_both_answers_are_in_one_view_whatever_the_filters_take(page: Page, served: Served) -> None:
    explorer(page, served.address, "judge=longer&other=shorter&dimension=overall&sort=difficulty", "Eve")
    page.locator(".mrb-answer-text").evaluate_all("both => both.forEach(one => one.append(' and so on'.repeat(300)))")
    in_one_view(page, ".mrb-shown")
    for answer in page.locator(".mrb-shown .mrb-answer-text").all():
        n_lines = "one => one.clientHeight / parseFloat(getComputedStyle(one).lineHeight)"
        assert answer.evaluate(n_lines) >= 3, "enough of an answer is in sight to read it"
    expect(page.locator(".mrb-save")).to_be_in_viewport(ratio=1)
    assert not _wide(page)
    assert page.evaluate("document.documentElement.scrollHeight <= window.innerHeight")
    for name in (".mrb-case-pane", ".mrb-review", ".mrb-list"):
        assert page.locator(name).evaluate("one => one.scrollWidth <= one.clientWidth")


def test_the_cases_that_a_probe_changed_are_shown_plain_and_probed(
    new_page: NewPage, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = path_of(simulated(tmp_path_factory.mktemp("probed"), 6))
    longer = ("--judge", "longer", "--limit", "6", "--seed", "3")
    mrb(folder, "judge", folder, folder / "runs", *longer, "--probe", "response/lengthened+both:3,image/blur:4")
    with Served("review", folder) as served:
        page = explorer(new_page(), served.address, to_fragment(Query(judge="longer")))
        _choose(page, "changed_by", "=image/blur:4")
        expect(page.locator(".mrb-position")).to_have_text("0 cases")  # a judge of lengths sees no picture
        _choose(page, "changed_by", "")
        expect(page.locator(".mrb-position")).to_contain_text("of 6 cases")
        page.get_by_text("As a probe changes it").click()
        page.locator("[data-probed]").select_option("image/blur:4")
        probed = page.locator(".mrb-probed")
        expect(probed.locator("img")).to_have_count(2)
        expect(probed).to_contain_text("Drawn with seed 3")
        page.locator("[data-probed]").select_option("response/lengthened+both:3")
        expect(probed.locator("ins").first).to_be_visible()
        assert violations(page) == []


GONE = "\u00d7"


def tags_of(bench: Benchmark, who: str) -> list[list[str]]:
    """What somebody tagged, with which tag."""
    with open_store(store_of(bench), create=False) as store:
        tags = store.tags(bench.meta.name)
    return tags.loc[tags["reviewer"] == who, ["case_id", "tag"]].to_numpy().tolist()


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
    assert tags_of(bench, "Dr Haste") == [[ids[-1], "stab1"]]
    assert reviews_of(bench, "Dr Haste").empty


def test_what_was_typed_is_still_there_after_another_case_for_who_typed_it(new_page: NewPage, served: Served) -> None:
    page = explorer(new_page(), served.address, "case=sim-000008", "Cy")
    press(page, "3n")
    page.keyboard.type("half a thought")
    press(page, ("Escape", "j"))
    expect(page.locator(".mrb-title")).to_have_text("Case sim-000009")
    expect(page.get_by_label("Note")).to_have_value("")
    page.keyboard.press("k")
    expect(page.get_by_label("Note")).to_have_value("half a thought")
    expect(page.locator(".mrb-saved")).to_contain_text("Not saved yet")
    page.get_by_role("button", name="Sign out").click()
    sign_in(page, "Di")
    expect(page.get_by_label("Note")).to_have_value("")
    page.get_by_role("button", name="Sign out").click()
    sign_in(page, "Cy")
    expect(page.get_by_label("Note")).to_have_value("half a thought")
    page.get_by_role("button", name="Sign out").click()


def _two_more_questions() -> None:
    options = ("none", "possible", "very_serious")
    QUESTIONS.append(Question("danger", "Could this harm a patient?", options, keys="PUY"))
    QUESTIONS.append(Question("seen", "What did you look at?", ("image", "answers"), several=True))


def test_a_question_added_in_one_place_is_on_the_form(new_page: NewPage, bench: Benchmark, tmp_path: Path) -> None:
    """The server adds an entry to the list as it starts; the store is of version 4."""
    store = tmp_path / "reviews.sqlite"
    write_version_4(store, bench.meta.name)
    with Served("review", path_of(bench), "--store", str(store), first=_two_more_questions) as served:
        page = explorer(new_page(), served.address, "case=sim-000004&judge=longer&dimension=overall", "Dr. New")
        danger, seen = (page.locator(f"[data-field={field}]") for field in ("danger", "seen"))
        expect(page.get_by_role("group", name="Could this harm a patient?").get_by_role("radio")).to_have_count(3)
        press(page, "1y")
        expect(page.get_by_label("very serious")).to_be_checked()
        page.get_by_label("answers", exact=True).check()
        press(page, ("Escape", "?"))
        expect(page.get_by_role("dialog")).to_contain_text("danger: none, possible, very serious")
        page.keyboard.press("Escape")
        assert violations_in_both_schemes(page) == []
        page.keyboard.press("s")
        expect(page.locator(".mrb-history li")).to_have_text(re.compile("danger: very serious; seen: answers"))
        page.reload()
        expect(danger.nth(2)).to_be_checked()
        expect(seen.nth(1)).to_be_checked()
    assert store.with_name("reviews.sqlite.v4-backup").is_file()


def test_a_filter_chosen_just_before_somebody_signs_in_holds(page: Page, served: Served, bench: Benchmark) -> None:
    explorer(page, served.address)
    organ = bench.cases["organ"].value_counts().index[-1]
    with paused(served):
        page.locator("[data-filter=organ]").select_option(f"={organ}")
        sign_in(page, "Dr Soon")
    n = int((bench.cases["organ"] == organ).sum())
    expect(page.locator(".mrb-position")).to_contain_text(f"1 of {n} case")
    expect(page.locator("[data-filter=organ]")).to_have_value(f"={organ}")


def test_hostile_tags_views_and_filters_do_nothing(new_page: NewPage, served: Served, bench: Benchmark) -> None:
    name, who, case = bench.meta.name, f"Dr {ATTACKS[1]}", str(bench.cases["case_id"].iloc[0])
    with open_store(store_of(bench)) as store:
        for attack in (text.replace("\0", "") for text in ATTACKS):
            store.add(
                CaseTag(name, case, attack[:40], who),
                SavedView(name, attack[:80], who, to_fragment(Query(text=attack))),
            )
    page = explorer(new_page(), served.address, f"case={case}", who)
    expect(page.locator(".mrb-tag-list li").nth(20)).to_be_attached()
    for where in (*ATTACKS[::3], " and ".join(f"not tagged[{attack!r}]" for attack in ATTACKS[:5])):
        page.locator("[data-filter=where]").fill(where)
        page.keyboard.press("Enter")
        settled(page)
        assert harm(page) == [], where
    open_menu(page)
    page.get_by_role("button", name="Views").click()
    expect(page.get_by_role("dialog").get_by_role("listitem").nth(20)).to_be_attached()
    for closes in ([], ["Escape"]):
        press(page, closes)
        for width in (1280, 400):
            page.set_viewport_size({"width": width, "height": 800})
            page.wait_for_function("() => document.documentElement.scrollWidth <= innerWidth")
            assert harm(page) == [], width
    assert violations_in_both_schemes(page) == []
