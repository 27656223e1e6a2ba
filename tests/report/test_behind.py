"""What a figure leads to: the failures of each of its cells, and a query that opens the same cases for review."""

import itertools
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.report.defaults import Options
from mrb_lib.report.links import LISTS, REVIEWED_BY
from mrb_lib.report.study import Study
from mrb_lib.review.failures.index import POLICY
from tests.report.conftest import opened

CASES = [f"c'{i:02d}" for i in range(60)]
JUDGE = "a \"judge\" & 'more' #1"


@pytest.fixture(scope="module")
def study() -> Study:
    rng = np.random.default_rng(4)
    cases = pd.DataFrame({"case_id": CASES, "question": "q", "response_a": "a b", "response_b": "a"}).assign(
        images=[[] for _ in CASES], organ=["lung", "eye", None] * 20, dataset=["it's \"one\"", "two"] * 30,
        year=[2001, 2002] * 30,
    )  # fmt: skip
    votes = pd.DataFrame(itertools.product(CASES, ["r1", "r2", "r3"]), columns=["case_id", "annotator"])
    votes = votes.assign(dimension="overall", choice=rng.choice(["A", "B", "tie"], len(votes), p=[0.7, 0.2, 0.1]))
    keys = itertools.product([JUDGE, "two"], CASES, ["AB", "BA"])
    verdicts = pd.DataFrame(keys, columns=["judge", "case_id", "order"])
    verdicts = verdicts.assign(dimension="overall", repeat=0, probe="none", p_a=np.nan)
    verdicts["choice"] = rng.choice(np.array(["A", "B", "tie", None], dtype=object), len(verdicts))
    benchmark = Benchmark(BenchmarkMeta("bench", "clinical", ("overall",)), cases, votes)
    groups = pd.DataFrame({"judge": [JUDGE, "two"], "group": "open", "how": "exact"})
    return Study(benchmark, verdicts, [], Options(resamples=50), groups)


def failing(study: Study, by: str | None) -> pd.DataFrame:
    return LISTS["wrong"](study.table("accuracy", by=by, references=0))


def test_the_reviewers_app_scores_by_what_is_said_here() -> None:
    assert REVIEWED_BY[0] == POLICY


@pytest.mark.parametrize("by", [None, "organ", "dataset", "year"])
@pytest.mark.parametrize("policy", ["balanced", "strict", "official", "answered"])
@pytest.mark.parametrize("rule", ["majority", "unanimous"])
def test_the_query_of_every_cell_opens_just_its_failures(study: Study, by: str | None, policy: str, rule: str) -> None:
    w = study.with_(policy=policy, gold=rule)
    frame = failing(w, by)
    n_wrong = frame["listed"].str.len()
    assert n_wrong.sum() > 0
    assert not frame.loc[n_wrong == 0, "query"].any()
    named = frame[frame["query"] != ""]
    assert len(named) == (n_wrong > 0).sum(), "of so few cases every list has a query"
    for row in named.itertuples():
        assert opened(w, str(row.query)) == list(row.listed)


def test_a_filter_of_the_report_is_part_of_the_query(study: Study) -> None:
    where = "year == 2001 or organ == 'eye'"
    kept = (study.benchmark.cases["year"] == 2001) | (study.benchmark.cases["organ"] == "eye")
    ids = study.benchmark.cases.loc[kept, "case_id"]
    smaller = replace(
        study.benchmark,
        cases=study.benchmark.cases[kept].reset_index(drop=True),
        annotations=study.benchmark.annotations[study.benchmark.annotations["case_id"].isin(ids)],
    )
    verdicts = study.verdicts[study.verdicts["case_id"].isin(ids)]
    w = replace(study.with_(where=where), benchmark=smaller, verdicts=verdicts, _made={})
    for by in (None, "organ", "dataset"):
        frame = failing(w, by)
        for row in frame[frame["listed"].str.len() > 0].itertuples():
            assert opened(study, str(row.query)) == list(row.listed)


def test_a_figure_says_where_each_cell_lies_and_which_cases_are_behind_it(study: Study, tmp_path: Path) -> None:
    table = replace(study, out=str(tmp_path), _made={}).table("accuracy", by="organ", references=0)
    table.plot()
    cells = json.loads((tmp_path / "figures" / "subfields-organ.json").read_text())["behind"]["cells"]
    assert [(cell["row"], cell["subfield"]) for cell in cells] == [
        (judge, part) for judge in dict.fromkeys(table["judge"]) for part in ("eye", "lung")
    ]
    for cell in cells:
        left, top, width, height = cell["box"]
        assert 0 <= left < left + width <= 1
        assert 0 <= top < top + height <= 1
        assert len(cell["listed"]) == cell["n_listed"]
        row = table[(table["judge"] == cell["row"]) & (table["subfield"] == cell["subfield"])].iloc[0]
        assert cell["stated"].startswith(f"{cell['n_listed']} wrong")
        assert cell["stated"].endswith(f" of {row['n']} cases scored")
    first, second = cells[0]["box"], cells[1]["box"]
    assert second[0] == pytest.approx(first[0] + first[2], abs=1e-3), "the second cell begins where the first ends"
