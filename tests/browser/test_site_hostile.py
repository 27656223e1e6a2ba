"""Hostile text in every field of the report's site: nothing runs, nothing breaks the layout."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.hostile import harm, write_hostile
from tests.browser.small_site import OPEN, UNFOLD, address, stub_report
from tests.report.conftest import Lab

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
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
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


def test_hostile_text_runs_nothing_and_keeps_the_layout(page: Page, site: Path) -> None:
    made = [*site.glob("[pc]a[gs]es/*.html"), *site.glob("behind/*.html")]
    pages = [path.relative_to(site).as_posix() for path in sorted(made)]
    assert "behind/subfields-organ.html" in pages
    assert len(pages) > 10
    for name in ("index.html", *pages):
        page.goto(address(site, name))
        page.evaluate(UNFOLD)
        for width in (1280, 400):
            page.set_viewport_size({"width": width, "height": 900})
            assert harm(page) == [], f"{name}, {width} wide"


def test_a_search_for_hostile_text_finds_it_and_runs_nothing(page: Page, site: Path) -> None:
    page.goto(address(site))
    page.locator("#search").fill("<script>")
    expect(page.locator("#found")).to_contain_text("Found")
    for width in (1280, 400):
        page.set_viewport_size({"width": width, "height": 900})
        assert harm(page) == []
