from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mrb_lib import analyze, gold
from mrb_lib.review.boards import browse_heatmap
from mrb_lib.review.boards.cell_cases import N_SCORED, behind_html
from mrb_lib.review.boards.heatmap_table import (
    DIMENSIONS,
    OUTCOMES,
    STEPS,
    HeatmapAxes,
    HeatmapCell,
    HeatmapData,
)
from mrb_lib.review.boards.leaderboard_rows import make_board
from mrb_lib.review.boards.live import HeatmapWidget, query_of
from mrb_lib.review.bundle import style
from mrb_lib.review.explorer import explore
from mrb_lib.review.failures.index import build_index, open_index
from mrb_lib.review.failures.query import Query
from mrb_lib.review.plain import PlainView
from mrb_lib.review.records.marks import CaseTag
from mrb_lib.review.records.store import open_store
from mrb_lib.stats.scoring import correctness
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import POLICIES
from mrb_lib.verdicts.store import save_imported

from .judged import JUDGES, judged

HOSTILE = "</td><script>alert(1)</script>\"' onx=1 \u202e"
RESAMPLES = 60
AXES = {"policy": "balanced", "dimension": "overall", "by": "organ"}


class _Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.given: list[dict[str, str | None]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.given.append(dict(attributes))

    def handle_data(self, data: str) -> None:
        self.text += data

    def having(self, name: str) -> list[str]:
        return [str(given[name]) for given in self.given if name in given]


class _Explorer:
    def __init__(self) -> None:
        self.shown: list[Query] = []
        self.policy = "balanced"

    def show(self, query: Query) -> None:
        self.shown.append(query)


def heat() -> HeatmapData:
    benchmark, verdicts = judged()
    return HeatmapData(make_board(benchmark, verdicts, resamples=RESAMPLES), verdicts)


def widget(**options: object) -> HeatmapWidget:
    shown = browse_heatmap(*judged(), resamples=RESAMPLES, **options)
    assert isinstance(shown, HeatmapWidget)
    return shown


def told(shown: HeatmapWidget, what: str, **question: object) -> _Page:
    answer = shown.answer({"what": what, **AXES, **question})
    assert answer["ok"], answer
    return _Page(answer["html"])


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("by", ["organ", DIMENSIONS])
def test_the_cases_behind_every_cell_are_those_that_its_number_is_made_of(policy: str, by: str) -> None:
    made = heat()
    benchmark, verdicts = judged()
    worth = correctness(verdicts, gold(benchmark), policy).merge(benchmark.cases[["case_id", "organ"]], on="case_id")
    grid = made.grid(HeatmapAxes(policy, "overall", by))
    assert len(grid.rows) > 5
    for i, judge in enumerate(grid.judges):
        for j, column in enumerate(grid.columns):
            row = grid.rows.get((judge, column))
            cell = grid.cell(i, j)
            found = made.behind(policy, cell)
            scored = found[found["outcome"].isin(list(OUTCOMES)[:N_SCORED])]
            assert len(scored) == (0 if row is None else row["n"])
            part = worth[(worth["judge"] == judge) & (worth["dimension"] == cell.dimension)]
            part = part if cell.subfield is None else part[part["organ"] == cell.subfield]
            ids = benchmark.cases["case_id"].iloc[scored["position"]]
            assert set(ids) == set(part.loc[part["score"].notna(), "case_id"])
            assert set(benchmark.cases["case_id"].iloc[found["position"]]) == set(part["case_id"])
            values = part.set_index("case_id")["score"]
            wrong = benchmark.cases["case_id"].iloc[found.loc[found["outcome"] == "wrong", "position"]]
            assert (values[wrong] < 0.5).all()


def test_cells_hold_the_numbers_of_analyze_and_their_intervals() -> None:
    benchmark, verdicts = judged()
    table = analyze(benchmark, verdicts, "accuracy", by="organ", dimension="overall", resamples=RESAMPLES, references=0)
    overall = table[table["subfield"].isna()]
    page = told(widget(), "table")
    labels = [label for label in page.having("title") if "all cases" in label]
    assert len(labels) == len(overall)
    for label, row in zip(labels, overall.itertuples(), strict=True):
        assert label.startswith(f"{row.judge}, all cases: {100 * row.accuracy:.1f}% of {row.n} cases")
    assert f"{100 * overall['accuracy'].iloc[0]:.0f}" in page.text


def test_undefined_and_few_are_said_and_are_not_numbers() -> None:
    page = told(widget(), "table")
    feet = [title for title in page.having("title") if ", foot:" in title]
    assert len(feet) == len(JUDGES)
    assert all("undefined: no case can be scored" in title for title in feet)
    assert sum("j2, eye: undefined" in title for title in page.having("title")) == 1
    assert any("few cases" in title for title in page.having("title"))
    assert "undefined: no case" in page.text
    assert "nan" not in page.text.lower()


def test_the_counts_above_a_list_add_up_to_what_is_listed() -> None:
    shown = widget()
    grid = heat().grid(HeatmapAxes(**AXES))
    for column in range(len(grid.columns)):
        page = told(shown, "behind", row=0, column=column)
        counts = {name: int(n) for n, name in re.findall(r"(\d+) (scored|wrong|half right|right)", page.text)}
        assert counts["scored"] == counts["wrong"] + counts["half right"] + counts["right"]
        for outcome, n in counts.items():
            if n:
                assert len(told(shown, "behind", row=0, column=column, outcome=outcome).having("data-position")) == min(
                    n, 25
                )
    feet = told(shown, "behind", row=0, column=grid.columns.index("foot"), outcome="no gold label")
    assert len(feet.having("data-position")) == 16


def test_a_long_list_comes_in_pages_without_a_gap() -> None:
    found = pd.DataFrame({"position": range(48), "outcome": ["wrong"] * 48, "said": [0] * 48})
    benchmark, _ = judged()
    cell, seen = HeatmapCell("j0", "overall", None, None), []
    for page in (0, 1):
        shown = _Page(behind_html(cell, found, benchmark.cases, gold(benchmark), page=page))
        seen += [int(at) for at in shown.having("data-position")]
    assert seen == list(range(48))
    assert "26\u201348 of 48" in shown.text


def test_a_case_opens_with_its_verdicts_and_an_index_gives_the_replies_too(tmp_path: Path) -> None:
    benchmark, verdicts = judged()
    assert told(widget(), "case", position=4).having("data-case") == ["c04"]
    said = verdicts.assign(reply="because of " + verdicts["case_id"])
    save_imported(said, tmp_path / "runs", benchmark="b", kind="", source="s")
    index = open_index(build_index(tmp_path / "runs", benchmark, tmp_path / "index"))
    shown = browse_heatmap(benchmark, index, resamples=RESAMPLES)
    assert isinstance(shown, HeatmapWidget)
    assert "because of c04" in told(shown, "case", position=4).text
    table = told(shown, "table")
    assert [re.sub(r"@[^,]*", "", one) for one in table.having("title")] == told(widget(), "table").having("title")


def test_the_explorer_is_led_to_the_cases_of_the_cell() -> None:
    explorer = _Explorer()
    shown = widget(explorer=explorer)
    grid = heat().grid(HeatmapAxes(**AXES))
    lung = grid.columns.index("lung")
    assert shown.answer({"what": "explore", **AXES, "row": 1, "column": lung, "outcome": "wrong"})["ok"]
    assert shown.answer({"what": "explore", **AXES, "row": 1, "column": 0, "outcome": "scored"})["ok"]
    judge = grid.judges[1]
    assert explorer.shown == [
        Query(judge=judge, dimension="overall", organ="lung", outcome=("wrong",)),
        Query(judge=judge, dimension="overall", outcome=("wrong", "half right", "right")),
    ]
    explorer.policy = "strict"
    refused = shown.answer({"what": "explore", **AXES, "row": 1, "column": 0, "outcome": "scored"})
    assert "scores by strict" in refused["error"]
    with pytest.raises(InputError, match="no filter for dataset"):
        query_of(HeatmapCell("j0", "overall", "dataset", "x"), "scored")


WHERES = (
    ("says['j0'] == 'A'", "balanced"),
    ("organ in ('lung', 'eye') and outcome['j1', 'accuracy'] == 'wrong'", "strict"),
    ("length > 0", "balanced"),
)


@pytest.mark.parametrize(("where", "policy"), WHERES)
def test_a_filtered_cell_counts_and_opens_the_same_cases_here_and_in_the_explorer(where: str, policy: str) -> None:
    benchmark, verdicts = judged()
    explorer = explore(benchmark, verdicts, policy=policy)
    shown = widget(explorer=explorer)
    axes = {**AXES, "policy": policy, "where": where}
    table = shown.answer({"what": "table", **axes})
    assert re.search(r"where .*: \d+ of 48 cases", _Page(table["html"]).text)
    made = heat()
    grid = made.grid(HeatmapAxes(**axes))
    assert len(grid.rows) > 2
    for i in range(len(grid.judges)):
        for j, column in enumerate(grid.columns):
            row = grid.rows.get((grid.judges[i], column))
            scored = made.behind(policy, grid.cell(i, j), where).query("outcome in ('wrong', 'half right', 'right')")
            assert len(scored) == (0 if row is None else row["n"])
            asked = {"what": "explore", **axes, "row": i, "column": j, "outcome": "scored"}
            assert shown.answer(asked)["ok"]
            query, _ = explorer.answers.start
            assert query.where == where
            selected = explorer.answers.selections.of(query)
            assert sorted(selected.tolist()) == sorted(scored["position"])


def test_cells_are_of_the_cases_that_are_tagged_when_the_filter_is_chosen(tmp_path: Path) -> None:
    place, axes = tmp_path / "reviews.sqlite", {**AXES, "where": "tag == 'artefact'", "row": 0, "column": 0}
    shown, n = widget(store=place), 0
    for cases in (("c00", "c03"), ("c06",)):
        with open_store(place) as store:
            for case in cases:
                store.add(CaseTag("b", case, "artefact", "Dr A"))
        if n:
            assert f": {n} of 48 cases" in told(shown, "behind", **axes).text, "a cell opens what it counts"
        n += len(cases)
        assert f": {n} of 48 cases" in told(shown, "table", **axes).text


def test_a_filter_drops_columns_without_cases_and_its_errors_name_the_word() -> None:
    grid = heat().grid(HeatmapAxes(**AXES, where="organ == 'lung'"))
    assert grid.columns == ["all cases", "lung"]
    for where, said in (("organs == 'x'", "'organs' is unknown"), ("organ == 'heart'", "leaves none of 48 cases")):
        answer = widget().answer({"what": "table", **AXES, "where": where})
        assert said in answer["error"]
    hostile = told(widget(), "table", where="organ == '<script>' or length > 0")
    assert "script" not in hostile.tags


@pytest.mark.parametrize(
    ("what", "wrong"),
    [
        ("behind", {"row": 99, "column": 0}),
        ("behind", {"row": "0", "column": 0}),
        ("behind", {"row": 0, "column": -1}),
        ("behind", {"row": 0, "column": 0, "outcome": "<script>"}),
        ("behind", {"row": 0, "column": 0, "page": -1}),
        ("case", {"position": 48}),
        ("case", {"position": "../x"}),
        ("table", {"by": "question"}),
    ],
)
def test_a_question_that_makes_no_sense_is_answered_in_words(what: str, wrong: dict[str, object]) -> None:
    answer = widget().answer({"what": what, **AXES, **wrong})
    assert not answer["ok"]
    assert "it failed" not in answer["error"]


def test_names_cannot_become_markup() -> None:
    benchmark, verdicts = judged()
    verdicts["judge"] = verdicts["judge"].replace({"j0": HOSTILE})
    benchmark.cases["organ"] = benchmark.cases["organ"].replace({"lung": HOSTILE})
    benchmark.cases["question"] = HOSTILE
    shown = browse_heatmap(benchmark, verdicts, resamples=RESAMPLES)
    assert isinstance(shown, HeatmapWidget)
    for what in ("table", "behind"):
        page = told(shown, what, row=0, column=1)
        assert "script" not in page.tags
        assert not page.having("onx")
        assert "alert(1)" in page.text


def test_without_a_kernel_it_is_a_plain_table_with_every_number(monkeypatch: pytest.MonkeyPatch) -> None:
    live = told(widget(), "table")
    monkeypatch.setenv("MRB_STATIC", "1")
    shown = browse_heatmap(*judged(), resamples=RESAMPLES)
    assert isinstance(shown, PlainView)
    page = _Page(shown.html)
    assert not {"button", "script", "select"} & set(page.tags)
    assert page.having("title") == live.having("title")
    assert "SIMULATED" in page.text


def test_a_benchmark_without_organs_is_shown_by_dimension() -> None:
    benchmark, verdicts = judged()
    benchmark.cases["organ"] = pd.Series(None, index=benchmark.cases.index, dtype="str")
    shown = browse_heatmap(benchmark, verdicts, resamples=RESAMPLES)
    assert isinstance(shown, HeatmapWidget)
    assert shown.answer({"what": "initial_state"})["by"] == DIMENSIONS
    assert "accuracy" in told(shown, "table", by=DIMENSIONS).text


def test_text_on_every_colour_of_the_scale_can_be_read_and_steps_get_lighter() -> None:
    pairs = re.findall(r"\.mrb-heat-(\d+) \{ background: (#\w+); color: (#\w+); \}", style("boards/heatmap"))
    assert [int(step) for step, _, _ in pairs] == list(range(STEPS + 1))
    lights = [_light(back) for _, back, _ in pairs]
    assert lights == sorted(lights)
    for _, back, ink in pairs:
        low, high = sorted((_light(back), _light(ink)))
        assert (high + 0.05) / (low + 0.05) >= 4.5


def _light(colour: str) -> float:
    """Relative luminance, as WCAG 2 defines it."""
    digits = colour[1:] if len(colour) == 7 else "".join(2 * one for one in colour[1:])
    parts = np.array([int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ np.array([0.2126, 0.7152, 0.0722]))
