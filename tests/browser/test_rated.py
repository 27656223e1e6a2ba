"""Ratings, labels and rankings by mouse, touch or keys, annotated, then reviewed."""

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pandas as pd
import pytest
from playwright.sync_api import Locator, Page, expect

from mrb_lib.benchmarks.benchmark import load
from mrb_lib.review.records.exchange import annotations_of
from mrb_lib.review.records.store import open_store
from mrb_lib.verdicts.store import save_imported
from tests.rated import ERRORS, write_labels, write_ranking, write_rating

from .axe import violations
from .hand import WAYS, Hand
from .hostile import harm
from .pages import at_case, desk, explorer, press
from .server import Served, mrb

HOSTILE = '<script>window.__pwned=1</script>"><img src=x onerror="window.__pwned=2">'
Desks = dict[str, tuple[Path, str]]


@pytest.fixture(scope="module")
def desks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desks]:
    """Two ratings, two with labels and two rankings, assigned to everybody: each with the address of its app."""
    root = tmp_path_factory.mktemp("rated")
    benches = {
        "rating": write_rating(root / "rating", n=2), "labels": write_labels(root / "labels", n=2, annotated=False),
        "ranking": write_ranking(root / "ranking", k=3),
    }  # fmt: skip
    people = ("--annotators", ",".join(f"Dr {way.title()}" for way in WAYS), "--overlap", str(len(WAYS)))
    with ExitStack() as stack:
        made: Desks = {}
        for name, bench in benches.items():
            served = Served("annotate", bench, *people, *(("--ranking",) if name == "ranking" else ()))
            made[name] = bench, stack.enter_context(served).address
        yield made


@contextmanager
def _annotated(page: Page, bench: Path) -> Iterator[None]:
    """Annotate a benchmark as Dr Keys, from the first case on."""
    with Served("annotate", bench, "--annotators", "Dr Keys") as served:
        desk(page, served.address)
        yield


@contextmanager
def _reviewed(page: Page, bench: Path, query: str) -> Iterator[None]:
    """Review the cases of a query as Dr Keys; at the end nothing of the page is hard to read or harmed."""
    with Served("review", bench) as served:
        explorer(page, served.address, query, "Dr Keys")
        yield
        assert harm(page) == []
        assert violations(page) == []


def _said(page: Page, words: str) -> None:
    expect(page.locator(".mrb-saved")).to_contain_text(words)


def _kept(bench: Path, who: str = "Dr Keys") -> dict[tuple[str, str], str]:
    """The choices of a person that are kept, by case and dimension."""
    with open_store(bench / "reviews.sqlite", create=False) as store:
        found, _ = annotations_of(load(bench), store)
    return found[found["annotator"] == who].set_index(["case_id", "dimension"])["choice"].to_dict()


def _pick(page: Page, row: str, words: str) -> Locator:
    return page.locator(".mrb-row").filter(has=page.get_by_text(row, exact=True)).locator(".mrb-pick", has_text=words)


def _next(hand: Hand) -> None:
    hand.use(hand.page.locator(".mrb-forward"), "Enter")


def test_a_rating_is_kept_and_may_be_changed(hand: Hand, desks: Desks) -> None:
    (bench, address), page = desks["rating"], hand.page
    desk(page, address, hand.name)
    expect(page.locator(".mrb-answer")).to_have_count(1)
    expect(page.get_by_role("radio")).to_have_count(4)
    expect(page.locator(".mrb-pick").nth(3)).to_contain_text("may lead to harm")
    hand.use(_pick(page, "Overall", "High risk"), "4")
    _said(page, "Saved: Overall, High risk")
    hand.use(_pick(page, "Overall", "Low risk"), "2")
    _said(page, "Saved: Overall, Low risk")
    hand.use(_pick(page, "Overall", "High risk"), "4")
    _said(page, "Saved: Overall, High risk")
    expect(page.get_by_role("radio", name="High risk")).to_be_checked()
    assert hand.way != "keys" or violations(page) == []
    _next(hand)
    at_case(page, 2)
    hand.use(_pick(page, "Overall", "No risk"), "1")
    _said(page, "Saved: Overall, No risk")
    _next(hand)
    hand.use(page.get_by_role("button", name="Back to the last case"))
    at_case(page, 2)
    assert sorted(_kept(bench, hand.name).values()) == ["High risk", "No risk"]


def test_several_labels_are_kept_each_at_once(hand: Hand, desks: Desks) -> None:
    (bench, address), page = desks["labels"], hand.page
    desk(page, address, hand.name)
    checked = page.get_by_role("checkbox", checked=True)
    expect(page.get_by_role("checkbox")).to_have_count(len(ERRORS) + 1)
    expect(page.locator(".mrb-row").nth(1)).to_contain_text("left where the image shows right")
    page.keyboard.press("d")  # of the other dimension: it leads there, and chooses nothing
    _said(page, "Now on Errors: press D again")
    expect(checked).to_have_count(0)
    for at, words in ((3, "overconfident"), (0, "wrong side, overconfident"), (0, "overconfident")):
        hand.use(_pick(page, "Errors", ERRORS[at]), "abcd"[at])
        _said(page, f"Saved: Errors, {words}")
    hand.use(_pick(page, "Errors", ERRORS[3]), "d")
    _said(page, "Saved: Errors, none of these")
    for at in (3, 1):
        hand.use(_pick(page, "Errors", ERRORS[at]), "abcd"[at])
    _said(page, "Saved: Errors, omitted finding, overconfident")
    hand.use(_pick(page, "Overall", "Moderate risk"), "3", "3")
    _said(page, "Saved: Overall, Moderate risk")
    page.reload()
    at_case(page, 1)
    expect(checked).to_have_count(2)
    assert hand.way != "keys" or violations(page) == []
    page.locator(".mrb-annotate").focus()
    _next(hand)
    at_case(page, 2)
    hand.use(_pick(page, "Overall", "No risk"), "1")
    _said(page, "Saved: Overall, No risk")
    _next(hand)
    _said(page, "Still open: Errors")
    hand.use(_pick(page, "Errors", "None of these"), "0")
    _said(page, "Saved: Errors, none of these")
    _next(hand)
    expect(page.get_by_role("heading", name="That was all")).to_be_visible()
    kept = sorted((name, choice) for (_, name), choice in _kept(bench, hand.name).items())
    assert kept == [
    ("errors", "none"), ("errors", "omitted finding; overconfident"), ("overall", "Moderate risk"),
    ("overall", "No risk"),
    ]  # fmt: skip


def test_a_ranking_is_kept_as_all_pairs(hand: Hand, desks: Desks) -> None:
    (bench, address), page = desks["ranking"], hand.page
    desk(page, address, hand.name)
    texts = page.locator(".mrb-answer-text").all_inner_texts()
    seen = [re.findall(r"number (\d) of (\d)", text)[0] for text in texts]
    hand.use(_place(page, 0, 2), "2")
    hand.use(_place(page, 1, 1), "1")
    _said(page, "2 of 3 answers have a place")
    hand.use(_place(page, 2, 1), "1")  # answer C takes the place of B, which has none then
    _said(page, "2 of 3 answers have a place")
    assert _kept(bench, hand.name) == {}
    hand.use(_place(page, 1, 3), "b", "3")
    _said(page, "Saved: 3 answers ranked")
    page.reload()
    at_case(page, 1)
    places = page.locator(".mrb-row input:checked").evaluate_all("all => all.map((one) => one.value)")
    assert places == ["2", "3", "1"]
    assert hand.way != "keys" or violations(page) == []
    place = {response: int(at) for (response, _), at in zip(seen, places, strict=True)}
    item = f"i{seen[0][1]}"
    expected = {(f"{item}-{a}{b}", "overall"): "A" if place[a] < place[b] else "B" for a, b in ("01", "02", "12")}
    assert _kept(bench, hand.name) == expected


def _place(page: Page, row: int, place: int) -> Locator:
    return page.locator(".mrb-row").nth(row).locator(".mrb-pick").nth(place - 1)


def test_a_rating_is_reviewed_by_keyboard(page: Page, tmp_path: Path) -> None:
    bench, keys = write_rating(tmp_path), page.get_by_role("dialog", name="Keys")
    with _reviewed(page, bench, "kind=unsafe_called_safe&judge=always-safe"):
        expect(page.locator("[data-kind=unsafe_called_safe]")).to_have_attribute("aria-pressed", "true")
        expect(page.locator("[data-kind=inconsistent]")).to_have_count(0)
        expect(page.locator('.mrb-in-view [data-mrb="probabilities"]')).to_contain_text("expectation")
        case = page.locator(".mrb-of-case bdi").inner_text()
        page.keyboard.press("b")
        expect(page.get_by_role("radio", name="Gold is wrong")).to_be_checked()
        expect(page.get_by_role("radio", name="Low risk")).to_be_checked()
        press(page, ("Escape", "s"))
        expect(page.locator(".mrb-history")).to_contain_text("Gold is wrong: Low risk")
        page.keyboard.press("?")
        expect(keys).to_contain_text("the right category")
        expect(keys).not_to_contain_text("other answer")
    mrb(bench, "adjudications", "export", bench, bench / "kept.csv")
    assert f"{case},overall,Dr Keys,gold_wrong,Low risk" in (bench / "kept.csv").read_text(encoding="utf-8")


def _judged(bench: Path, judge: str, said: dict[tuple[str, str], str], reply: str) -> None:
    """Store what a judge chose, by case and order."""
    rows = pd.DataFrame([(*key, choice) for key, choice in said.items()], columns=["case_id", "order", "choice"])
    rows = rows.assign(judge=judge, dimension="overall", repeat=0, probe="none", status="ok", reply=reply)
    meta = load(bench).meta
    save_imported(
        rows, bench / "runs", benchmark=meta.name, kind=meta.kind, source="simulated",
        ratings=meta.categories if meta.task == "rating" else (),
    )  # fmt: skip


def test_a_pair_of_a_ranking_is_reviewed_with_the_ranking_that_decided_it(page: Page, tmp_path: Path) -> None:
    pairs = [f"i{item}-{a}{b}" for item in (0, 1) for a, b in ("01", "02", "12")]
    bench = write_ranking(tmp_path, k=3, labels=dict.fromkeys(pairs, "A"))
    said = {(case, order): "B" if case == "i1-12" else "A" for case in pairs for order in ("AB", "BA")}
    _judged(bench, "one+batch", said, f'{{"ranking": ["A", "C", "B"]}} {HOSTILE}')
    with _reviewed(page, bench, "kind=wrong&judge=one%2Bbatch"):
        expect(page.locator(".mrb-of-case bdi")).to_have_text("i1-12")
        expect(page.locator(".mrb-shown")).to_contain_text('"ranking": ["A", "C", "B"]')
        press(page, "bs")
        expect(page.locator(".mrb-history")).to_contain_text("Gold is wrong")


@pytest.mark.parametrize("kind", ["labels", "categories"])
def test_hostile_labels_and_categories_are_words_on_both_pages(page: Page, tmp_path: Path, kind: str) -> None:
    names = (HOSTILE, "'fine' & \"good\"")
    if kind == "labels":
        bench, judge, keys = write_labels(tmp_path, n=3, labels=names), "near", ("a", "a")
    else:
        words = {"definitions": {HOSTILE: HOSTILE * 300, "overall": HOSTILE}, "acceptable": names[1:]}
        bench, judge, keys = write_rating(tmp_path, n=3, categories=names, **words), "always-safe", ("1",)
    with _annotated(page, bench):
        press(page, keys)
        _said(page, "<script>")
        assert harm(page) == []
    with _reviewed(page, bench, f"judge={judge}"):
        shown = page.locator('.mrb-case [data-mrb="labels"]' if kind == "labels" else ".mrb-in-view").first
        expect(shown).to_contain_text("<script>window.__pwned=1</script>")
        if kind == "categories":
            page.keyboard.press("b")
            expect(page.get_by_role("radio", name=names[1])).to_be_checked()
