"""The report's site as a reader has it: opened from disk, searched, sorted, read with keys."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from playwright.sync_api import Browser, Page, expect

from mrb_lib.benchmarks.benchmark import load
from mrb_lib.benchmarks.votes import gold
from mrb_lib.demo import write_demo
from mrb_lib.report.places import write_simulated_runs
from mrb_lib.review.failures.lists import failing_cases
from mrb_lib.verdicts.store import load_verdicts
from tests.browser.hostile import harm, write_hostile
from tests.browser.pages import press
from tests.browser.small_site import N_CASES, OPEN, SCORES, UNFOLD, address, first_case, shared_site, stub_report
from tests.report.conftest import Lab

TABLE = "#content .tabular table"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shared_site(tmp_path_factory.getbasetemp())


@pytest.fixture(scope="module")
def case(site: Path) -> str:
    return first_case(site)


def column(page: Page, number: int) -> list[str]:
    texts = page.locator(f"{TABLE} tbody tr:visible td:nth-child({number})").all_inner_texts()
    return [text.split("\n")[0].split(" [")[0].strip() for text in texts]


def test_the_search_finds_figures_tables_pages_and_cases_and_says_how_many(page: Page, site: Path) -> None:
    page.goto(address(site))
    page.keyboard.press("/")
    search = page.get_by_role("searchbox", name="Search figures, tables, pages and cases")
    expect(search).to_be_focused()
    found = page.locator("#found")
    expect(found).to_have_attribute("aria-live", "polite")
    search.fill("ALPHA judge")
    expect(found).to_have_text("Found 1 figure.")
    expect(page.locator("#content").get_by_role("link", name="Leaderboard", exact=True)).to_have_count(1)
    search.fill("elm leaderboard")  # one of the judges that both show
    expect(found).to_have_text("Found 1 figure, 1 table.")
    search.fill("kappa")
    expect(found).to_have_text("Found 1 page.")
    search.fill('"every judge is wrong"')
    said = found.inner_text()
    assert re.fullmatch(r"Found \d cases?\.|Nothing found.*", said)
    search.fill("no such word anywhere")
    expect(found).to_have_text("Nothing found. Try fewer or shorter words.")
    expect(page.locator(".chapter:visible")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(search).to_have_value("")
    expect(found).to_have_text("")
    expect(page.locator(".chapter").last).to_be_visible()


def test_numbers_sort_by_value_and_what_is_missing_comes_last(page: Page, site: Path) -> None:
    page.goto(address(site, "pages/03_leaderboard.html"))
    assert column(page, 1) == list(SCORES)
    behind = page.locator(f"{TABLE} tbody td:nth-child(3)").evaluate_all("cells => cells.map((cell) => cell.dataset.v)")
    assert [None if value is None else float(value) for value in behind] == list(SCORES.values())
    head = page.get_by_role("columnheader", name="accuracy")
    head.get_by_role("button").click()
    expect(head).to_have_attribute("aria-sort", "descending")
    assert column(page, 1) == ["birch", "elm", "fir", "ash", "gorse", "cedar", "dogwood"]
    head.get_by_role("button").press("Enter")
    expect(head).to_have_attribute("aria-sort", "ascending")
    assert column(page, 1) == ["cedar", "gorse", "ash", "fir", "elm", "birch", "dogwood"]
    judge = page.get_by_role("columnheader", name="judge")
    judge.get_by_role("button").click()
    expect(judge).to_have_attribute("aria-sort", "ascending")
    assert head.get_attribute("aria-sort") is None
    judge.get_by_role("button").click()
    assert column(page, 1) == sorted(SCORES, reverse=True)


def test_cases_follow_one_another_from_the_index_on(page: Page, site: Path, case: str) -> None:
    page.goto(address(site, "index.html"))
    listed = page.locator(".case-list a").evaluate_all("links => links.map((link) => link.href)")
    assert len(listed) == 6
    page.locator(".case-list a").first.click()
    expect(page).to_have_url(listed[0])
    expect(page.locator(".over")).to_have_text("Case 1 of 6")
    expect(page.locator(".mrb-view.mrb-live").first).to_be_visible()
    for number, following in enumerate(listed[1:], start=2):
        page.keyboard.press("j")
        expect(page).to_have_url(following)
        expect(page.locator(".over")).to_have_text(f"Case {number} of 6")
    expect(page.get_by_role("link", name="→")).to_have_count(0)
    page.keyboard.press("k")
    expect(page).to_have_url(listed[-2])
    page.locator(".turn").first.get_by_role("link").first.click()
    expect(page).to_have_url(listed[-3])
    page.get_by_role("link", name="Cases to open").click()
    expect(page.get_by_role("heading", name="Cases to open")).to_be_in_viewport()


def test_the_keyboard_reaches_everything_in_order(page: Page, site: Path) -> None:
    page.goto(address(site))
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to the content")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    named: list[str] = []
    for _ in range(30):
        page.keyboard.press("Tab")
        named.append(page.evaluate("document.activeElement.id || document.activeElement.textContent.trim()"))
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", f"{named[-1]} does not show that it has the focus"
    wanted = ["The title of 01_composition", "search"]
    places = [named.index(name) for name in wanted]
    assert places == sorted(places)
    page.goto(address(site))
    press(page, ("Tab", "Enter"))
    expect(page.locator("#content")).to_be_focused()


def test_everything_is_there_without_the_script(new_page: Callable[..., Page], site: Path, case: str) -> None:
    page = new_page(java_script_enabled=False)
    page.goto(address(site))
    expect(page.locator(".gallery > li")).to_have_count(2)
    expect(page.locator(".case-list > li")).to_have_count(6)
    expect(page.locator("#search")).to_be_hidden()
    page.goto(address(site, "pages/03_leaderboard.html"))
    expect(page.locator(f"{TABLE} tbody tr")).to_have_count(len(SCORES))
    expect(page.get_by_text("How to read it.")).to_be_visible()
    page.goto(address(site, case))
    expect(page.locator(".mrb-view img").first).to_be_visible()
    expect(page.locator(".mrb-answer")).to_have_count(2)


def test_another_script_does_not_run(chromium: Browser, site: Path, tmp_path: Path) -> None:
    text = (site / "index.html").read_text(encoding="utf-8")
    injected = "<script>document.title = 'ran'</script><img src=x onerror=\"document.title = 'ran'\">"
    changed = tmp_path / "changed.html"
    changed.write_text(text.replace("</main>", f"{injected}</main>"), encoding="utf-8")
    page = chromium.new_page()  # its complaints about the policy are what is wanted
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.goto(changed.as_uri())
    assert "ran" not in page.title()
    assert sum("Content Security Policy" in line for line in said) >= 2
    page.close()


ON_SCREEN = (".bar", ".search", ".mrb-tools", ".files", ".turn", ".contents")


def test_every_page_prints_black_on_white_and_only_what_is_read(new_page: Callable[..., Page], site: Path) -> None:
    page = new_page(color_scheme="dark", viewport={"width": 660, "height": 900})
    found = sorted(path.relative_to(site).as_posix() for path in site.glob("[pc]a[gs]es/*.html"))
    assert len(found) == 3 + 6
    for name in ("index.html", *found):
        page.goto(address(site, name))
        expect(page.locator("[data-script]").first).to_be_visible()
        page.emulate_media(media="print")
        colours = page.evaluate(
            "(({ backgroundColor, color }) => [backgroundColor, color])(getComputedStyle(document.body))"
        )
        assert colours == ["rgb(255, 255, 255)", "rgb(0, 0, 0)"], name
        expect(page.locator(", ".join(f"{hidden}:visible" for hidden in ON_SCREEN))).to_have_count(0)
        expect(page.locator(".simulated")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 660, name
        page.emulate_media(media="screen")


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
    return failing_cases(verdicts, labels, cases, by="organ")


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


NOTEBOOK = """
rows = study.benchmark.cases[["case_id", "question", "organ"]].iloc[:8]
judges = (study.judges * 8)[:8]
rows = rows.assign(question=rows["question"].str[:400], judge=judges, accuracy=0.5)
draw("hostile", rows["question"].iloc[0][:200], " ".join(rows["question"]), list(rows["judge"].unique()))
title, caption = rows["question"].iloc[1:3]
study.table("accuracy", by="organ", dimension=study.dimension, references=0, resamples=50).plot()
references = rows["case_id"].tail(2).tolist()
study.tabulate(rows, id="leaderboard", title=title, caption=caption, reference_rows=references)
study.tabulate(rows[["case_id"]], id="failures", title="Cases", caption="Some.")
"""
ABSENT = """
from mrb_lib import NotApplicable
raise NotApplicable(rows["question"].iloc[4])
"""


@pytest.fixture(scope="module")
def hostile_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile-site")
    lab = Lab(folder)
    lab.bench = write_hostile(folder)
    lab.notebook("01_hostile", OPEN + NOTEBOOK, ABSENT)
    lab.notebook("02_fails", "raise ValueError('</pre><script>window.__pwned=1</script>\\u202e' + 'W' * 300)")
    site = stub_report(lab, cases=24)
    index = json.loads((site / "figures" / "index.json").read_text(encoding="utf-8"))
    assert [each["notebook"] for each in index["failed"]] == ["02_fails"], index["failed"]
    assert [each["notebook"] for each in index["not_applicable"]] == ["01_hostile"]
    return site


def test_hostile_text_runs_nothing_and_keeps_the_layout(page: Page, hostile_site: Path) -> None:
    made = [*hostile_site.glob("[pc]a[gs]es/*.html"), *hostile_site.glob("behind/*.html")]
    pages = [path.relative_to(hostile_site).as_posix() for path in sorted(made)]
    assert "behind/subfields-organ.html" in pages
    assert len(pages) > 10
    page.set_viewport_size({"width": 400, "height": 900})
    for name in ("index.html", *pages):
        page.goto(address(hostile_site, name))
        page.evaluate(UNFOLD)
        assert harm(page) == [], name
    page.goto(address(hostile_site))
    page.locator("#search").fill("<script>")
    expect(page.locator("#found")).to_contain_text("Found")
    assert harm(page) == []
