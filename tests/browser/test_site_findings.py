"""The report states what it found before it shows it, and leads from each number of a figure to the failures behind."""

import json
from collections.abc import Callable

import pandas as pd
import pytest
from playwright.sync_api import Page, expect

from mrb_lib.benchmarks.benchmark import load
from mrb_lib.benchmarks.votes import gold
from mrb_lib.demo import write_demo
from mrb_lib.report.places import write_simulated_runs
from mrb_lib.review.failures.lists import failing_cases
from mrb_lib.verdicts.store import load_verdicts
from tests.browser.axe import violations
from tests.browser.small_site import N_CASES, UNFOLD, address, stub_report
from tests.report.conftest import Lab
from tests.stats.small_tables import accuracy

FINDING = "simulated-specialist is weak on eye, 67% [58, 75], n = 12."
SHOWN = """
import mrb_lib as mrb
study = mrb.open(benchmark, resamples=50)
board = study.table("accuracy")
board.plot()
study.table("accuracy", by="organ", dimension="overall", references=0).plot()
table = board.frame[board["dimension"] == "overall"][["judge", "accuracy", "low", "high"]]
references = board.frame.loc[board["kind"] == "reference", "judge"].unique()
study.tabulate(table, id="leaderboard", title="Leaderboard", caption="Some.", best={"accuracy": "max"},
               reference_rows=references)
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    lab = Lab(tmp_path_factory.mktemp("findings"))
    write_demo(lab.bench, cases=N_CASES, seed=0)
    write_simulated_runs(lab.bench, lab.bench / "runs", seed=0)
    path = lab.notebook("02_leaderboard", "# A heading\n\nProse.", SHOWN)
    content = json.loads(path.read_text(encoding="utf-8"))
    said = {"output_type": "stream", "name": "stdout", "text": [FINDING]}
    content["cells"].append(
        {"cell_type": "code", "metadata": {"tags": ["conclusion"]}, "source": "", "outputs": [said],
         "execution_count": None, "id": "last"}
    )  # fmt: skip
    path.write_text(json.dumps(content), encoding="utf-8")
    stub_report(lab, cases=6)
    return lab


@pytest.fixture(scope="module")
def cells(lab: Lab) -> pd.DataFrame:
    benchmark = load(lab.bench)
    verdicts = load_verdicts(lab.bench / "runs", benchmark.cases)
    verdicts = verdicts[verdicts["probe"] == "none"]
    labels, cases = gold(benchmark), benchmark.cases
    made = failing_cases(verdicts, labels, cases, by="organ")
    table = accuracy(verdicts, labels, cases, by="organ", resamples=0, references=0)
    assert len(made) == len(table)
    assert made["n"].sum() == table["n"].sum()
    return made


def test_a_page_opens_with_its_finding_and_the_leaderboard_with_its_figure(page: Page, lab: Lab) -> None:
    page.set_viewport_size({"width": 1280, "height": 800})
    for name in ("index.html", "pages/02_leaderboard.html"):
        page.goto(address(lab.out, name))
        expect(page.locator("p.conclusion").first).to_contain_text(FINDING)
        parts = ("p.conclusion", "figure.opening img", "table[data-sorts]")
        tops = [page.locator(part).first.bounding_box() for part in parts]
        assert all(tops)
        finding_y, figure_y, table_y = (box["y"] for box in tops if box)
        assert finding_y < figure_y < table_y, name
        assert figure_y < 560, f"{name}: judges are seen without scrolling"
    expect(page.locator("p.conclusion")).to_have_count(1)
    expect(page.locator("#leaderboard")).to_have_count(1)


@pytest.mark.parametrize("width", [400, 768, 1280, 1920])
def test_a_finding_is_shown_whole_on_the_index(page: Page, lab: Lab, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(address(lab.out, "index.html"))
    finding = page.locator("p.conclusion").first
    finding.evaluate("(one, text) => { one.textContent = text; }", f"{FINDING} " * 12)
    assert finding.evaluate("one => one.scrollHeight - one.clientHeight") <= 1
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_each_cell_leads_to_just_the_cases_that_the_judge_gets_wrong(page: Page, lab: Lab, cells: pd.DataFrame) -> None:
    organs = cells[(cells["dimension"] == "overall") & cells["subfield"].notna()]
    page.goto(address(lab.out, "behind/subfields-organ.html"))
    for row in organs.itertuples():
        name = f"{row.judge}, {str(row.subfield).replace('_', ' ')}"
        fold = page.locator("details", has=page.get_by_label(name, exact=True))
        fold.locator("summary").click()
        part = page.get_by_role("region", name=name, exact=True)
        assert part.locator(".ids li").all_inner_texts() == list(row.wrong)
        expect(fold.locator("summary")).to_have_text(f"{str(row.subfield).replace('_', ' ')}: {row.n_wrong}")
        expect(part.locator(".meta").first).to_contain_text(f"{row.n_wrong} wrong")
        expect(part.locator(".command")).to_have_count(int(len(row.wrong) > 0))
    whole = cells[cells["subfield"].isna()]
    page.goto(address(lab.out, "behind/leaderboard.html"))
    assert page.locator(".ids li").count() == whole["n_wrong"].sum()


def test_a_click_on_a_cell_and_on_a_point_opens_its_list(page: Page, lab: Lab, cells: pd.DataFrame) -> None:
    page.goto(address(lab.out, "pages/02_leaderboard.html"))
    heatmap = page.locator("#subfields-organ .spot")
    n_parts = cells.loc[cells["subfield"].notna(), "subfield"].nunique()
    assert heatmap.count() == n_parts * cells["judge"].nunique()
    last = heatmap.last
    title = last.get_attribute("title")
    assert title
    last.click()
    expect(page.locator(".behind:target")).to_have_attribute("aria-label", title.rpartition(":")[0])
    page.go_back()
    spot = page.locator("#leaderboard .spot").first
    spot.hover()
    spot.click()
    expect(page.locator(".behind:target")).to_be_visible()
    page.get_by_role("link", name="figure").click()
    page.locator("#subfields-organ").get_by_role("link", name="The cases behind it").focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(address(lab.out, "behind/subfields-organ.html"))


def test_each_case_of_a_list_is_led_to_and_found(page: Page, lab: Lab) -> None:
    page.goto(address(lab.out, "behind/leaderboard.html"))
    links = page.locator(".ids a")
    page.evaluate(UNFOLD)
    assert links.count() == page.locator(".ids li").count() > 0
    places = {link.inner_text(): link.get_attribute("href") or "" for link in links.all()}
    with_page = next(case for case, place in places.items() if place.startswith("../cases/"))
    without = next(case for case, place in places.items() if place.startswith("../index.html#case-"))
    links.filter(has_text=with_page).first.click()
    expect(page.locator(".mrb-title").first).to_contain_text(with_page)
    page.goto(address(lab.out, "behind/leaderboard.html"))
    page.evaluate(UNFOLD)
    links.filter(has_text=without).first.click()
    expect(page.locator("#cases ~ * li:target").filter(visible=True)).to_contain_text(without)
    for case in (with_page, without):
        page.goto(address(lab.out, "index.html"))
        page.get_by_role("searchbox").fill(case)
        expect(page.locator("#found")).to_contain_text("1 case")
        expect(page.locator("#cases ~ * .hit").filter(visible=True)).to_have_text(case)


def test_the_index_begins_with_the_answers_each_one_click_from_its_page(page: Page, lab: Lab) -> None:
    page.goto(address(lab.out, "index.html"))
    answers = page.get_by_role("region", name="The answers in short")
    assert answers.get_by_role("heading").all_inner_texts() == ["Which judge is best?"], "no other notebook is there"
    expect(answers.locator("p")).to_have_text(f"{FINDING} The title of 02_leaderboard")
    expect(page.get_by_text(FINDING)).to_have_count(1)
    answers.get_by_role("link").click()
    expect(page).to_have_url(address(lab.out, "pages/02_leaderboard.html"))
    expect(page.locator("p.conclusion")).to_have_text(f"Finding. {FINDING}")


def test_references_stay_below_the_line_however_the_table_is_sorted(page: Page, lab: Lab) -> None:
    page.goto(address(lab.out, "pages/02_leaderboard.html"))
    table = page.locator("#table-leaderboard table")
    names = table.locator(".references td:first-child")
    before = names.all_inner_texts()
    assert "always tie" in before
    expect(table.locator(".references th")).to_have_text("References: they do not compete")
    assert table.locator("strong").count() == 1
    table.get_by_role("columnheader", name="accuracy").get_by_role("button").click()
    assert names.all_inner_texts() == before
    rows = table.locator("tbody tr td:first-child").all_inner_texts()
    assert rows[-len(before) :] == before


def test_the_lists_can_be_read_by_everyone_and_fit(new_page: Callable[..., Page], lab: Lab) -> None:
    page = new_page(viewport={"width": 400, "height": 800})
    for name in ("behind/subfields-organ.html", "pages/02_leaderboard.html"):
        page.goto(address(lab.out, name))
        assert page.evaluate("document.documentElement.scrollWidth") <= 400, name
        assert violations(page) == [], name
