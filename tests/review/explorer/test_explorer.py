"""What the failure explorer answers: selections, cases, files, and what it shows where no kernel runs."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark, load, save
from mrb_lib.review.explorer import explore
from mrb_lib.review.explorer.answers import ROWS, ExplorerAnswers
from mrb_lib.review.explorer.data import MOST_PRINTED
from mrb_lib.review.failures.query import Query, to_fragment
from mrb_lib.review.widget import AppWidget
from mrb_lib.tables.errors import InputError
from tests.review.explorer.asking import exported, ids, indexed, opened, rows_of, sight

JUDGES = ("hasty", "mute", "steady")
EXTERNAL = ('src="http', "<script", "javascript:")


@pytest.fixture(scope="module")
def verdicts(pictured: Benchmark) -> pd.DataFrame:
    """Two judges that answer, one that never does; drawn anew for every test, always the same."""
    axes = {"judge": JUDGES, "case_id": pictured.cases["case_id"], "dimension": pictured.meta.dimensions}
    frame = pd.MultiIndex.from_product([*axes.values(), ("AB", "BA")], names=[*axes, "order"]).to_frame(index=False)
    draws = np.random.default_rng(5)
    choice = draws.choice(np.array(["A", "B", "tie"], dtype=object), len(frame))
    mute = (frame["judge"] == "mute").to_numpy()
    frame = frame.astype("str").assign(repeat=0, probe="none", p_a=draws.uniform(size=len(frame)).round(3))
    frame["choice"] = pd.Series(np.where(mute, None, choice), dtype="str")
    frame["status"] = np.where(mute, "unparsed", "ok")
    return frame.assign(p_a=frame["p_a"].mask(mute), reply="because <b>" + frame["case_id"])


@pytest.fixture
def answers(pictured: Benchmark, verdicts: pd.DataFrame, tmp_path: Path) -> ExplorerAnswers:
    return opened(pictured, verdicts, tmp_path / "r.sqlite")


@pytest.mark.parametrize(
    ("fragment", "field", "said"),
    [("#judge=nobody", "trouble", "nobody"), ("#kind=odd", "trouble", "odd"), ("#sort=x", "trouble", "x"),
     ("#other=hasty", "trouble", "hasty"), ("#case=gone", "missing", "gone")],
)  # fmt: skip
def test_an_address_that_asks_for_what_is_not_there_is_explained(
    answers: ExplorerAnswers, fragment: str, field: str, said: str
) -> None:
    found = answers.initial_state({"fragment": fragment})
    assert said in found[field]
    assert found["n"] == 18


@pytest.mark.parametrize("at", [-1, 18, "0", None])
def test_a_position_outside_the_benchmark_is_refused(answers: ExplorerAnswers, at: object) -> None:
    with pytest.raises(InputError, match="load the page again"):
        answers.case({"position": at})


def _repeated(benchmark: Benchmark, times: int) -> Benchmark:
    """Each case several times, under other names and without annotations."""
    cases = benchmark.cases
    many = [cases.assign(case_id=cases["case_id"] + f"-{i}") for i in range(times)]
    return replace(benchmark, cases=pd.concat(many, ignore_index=True), annotations=benchmark.annotations.head(0))


def test_rows_come_page_by_page(pictured: Benchmark) -> None:
    answers = opened(_repeated(pictured, 8))
    assert answers.select({"query": {}})["n"] == 144
    sizes = [len(answers.rows({"query": {}, "start": start})["rows"]) for start in (0, 60, 120, 999)]
    assert sizes == [ROWS, 60, 24, 0]


def test_the_table_has_a_row_a_case_of_the_selection(answers: ExplorerAnswers) -> None:
    query = {"judge": "hasty", "dimension": "overall", "kind": ["wrong"], "sort": "confidence"}
    first = answers.rows({"query": query})["rows"][0]["position"]
    answers.save({**sight(answers, first), "reviewer": "Ann", "verdict": "ambiguous", "adjudication_id": "a" * 32})
    rows = rows_of(exported(answers, query))
    assert [row["case_id"] for row in rows] == ids(answers, **query)
    assert {row["data"] for row in rows} == {"SIMULATED"}
    assert all("wrong" in row["kinds"] for row in rows)
    assert all(row["hasty: overall"] in ("A", "B", "tie", "mixed") for row in rows)
    assert rows[0]["reviews"] == "Ann: ambiguous"
    assert float(rows[0]["confidence"]) >= float(rows[-1]["confidence"])


def test_the_printed_page_stands_alone(answers: ExplorerAnswers) -> None:
    page = exported(answers, {"judge": "hasty", "kind": ["wrong"]}, "html")
    n = answers.select({"query": {"judge": "hasty", "kind": ["wrong"]}})["n"]
    assert page.count('<section class="mrb mrb-case"') == n
    assert page.startswith("<!DOCTYPE html>")
    assert page.rstrip().endswith("</html>")
    assert "default-src 'none'" in page
    assert "SIMULATED" in page
    assert "steady" not in page
    assert not any(mark in page for mark in EXTERNAL)


def test_a_long_selection_is_printed_in_part_and_says_so(pictured: Benchmark) -> None:
    plain = pictured.cases.assign(images=[[] for _ in range(len(pictured.cases))])
    answers = opened(_repeated(replace(pictured, cases=plain), 6))
    page = exported(answers, {}, "html")
    assert page.count('<section class="mrb mrb-case"') == MOST_PRINTED
    assert f"first {MOST_PRINTED} of 108" in page


def test_an_index_and_a_table_give_the_same_answers(
    pictured: Benchmark, verdicts: pd.DataFrame, tmp_path: Path
) -> None:
    save(pictured, tmp_path / "bench")
    benchmark = load(tmp_path / "bench")
    index = indexed(benchmark, verdicts, tmp_path)
    one, two = (opened(benchmark, given) for given in (verdicts, index))
    for query in ({}, {"judge": "hasty", "kind": ["wrong", "split"], "sort": "difficulty"}, {"text": "lung"}):
        assert one.select({"query": query}) == two.select({"query": query})
    assert two.data.kinds.judges == list(JUDGES)
    assert one.case({"position": 4, "judge": "hasty"}) == two.case({"position": 4, "judge": "hasty"})


def test_labels_that_are_no_preference_are_shown_and_not_adjudicated(pictured: Benchmark) -> None:
    words = pictured.annotations["choice"].replace({"A": "yes", "B": "no", "tie": "maybe"})
    votes = pictured.annotations.assign(choice=words)
    meta = replace(pictured.meta, categories=("yes", "no", "maybe"))
    shown = explore(replace(pictured, meta=meta, annotations=votes))
    assert "neither preferences nor ratings" in shown.answer("initial_state", {})["store"]


def test_the_plain_view_has_the_list_and_the_first_cases(
    pictured: Benchmark, verdicts: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MRB_STATIC", "1")
    shown = explore(pictured, verdicts, query=Query(judge="hasty", kind=("wrong",)))
    bundle = shown._repr_mimebundle_()
    html = bundle["text/html"]
    assert "application/vnd.jupyter.widget-view+json" not in bundle
    assert html.count("<section") == 3
    assert html.count("<li>") == shown.answers["select"]({"query": {"judge": "hasty", "kind": ["wrong"]}})["n"]
    assert "SIMULATED" in html
    assert not any(mark in html for mark in EXTERNAL)


def test_nothing_of_the_data_is_in_the_state_that_a_notebook_saves(pictured: Benchmark) -> None:
    shown = explore(pictured)
    state = AppWidget(shown.kernel_answer, shown.scripts, shown.styles).get_state()
    saved = " ".join(str(value) for value in state.values())
    assert pictured.cases["case_id"].iloc[0] not in saved
    assert pictured.cases["question"].iloc[0] not in saved


def test_a_filter_in_words_leaves_the_cases_it_names(answers: ExplorerAnswers, pictured: Benchmark) -> None:
    wrong = answers.select({"query": {"judge": "hasty", "dimension": "overall", "outcome": ["wrong"]}})["rows"]
    texts = pictured.cases.set_index("case_id")[["response_a", "response_b"]].map(len).max(axis=1)
    least = texts[[row["id"] for row in wrong]].min()
    where = f"outcome['hasty'] == 'wrong' and length > {least}"
    found = answers.select({"query": {"where": where}})
    assert [row["id"] for row in found["rows"]] == [row["id"] for row in wrong if texts[row["id"]] > least]
    assert 0 < found["n"] < len(wrong)
    assert sum(n for _, n in found["facets"]["organ"]) == found["n"]
    linked = answers.initial_state({"fragment": f"#{to_fragment(Query(where=where))}"})
    assert linked["n"] == found["n"]
    assert "cannot be read" in answers.initial_state({"fragment": "#where=organ%20%3D"})["trouble"]
    with pytest.raises(InputError, match="not part of the language"):
        answers.select({"query": {"where": "__import__('os')"}})
