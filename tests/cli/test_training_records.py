"""Tests of what judges were trained on, on the command line and wherever else their verdicts are read from runs."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

import mrb_lib
from mrb_lib.benchmarks.benchmark import Benchmark, load, save
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.review.explorer.data import explorer_data
from mrb_lib.review.failures.index import build_index, open_index
from mrb_lib.stats.analyze import ALL_SEEN
from mrb_lib.stats.where import OUTCOMES
from tests.training_records import BASE_REVISION, manifest_of, record_of

from .conftest import write_run

N, TRAINED, STOPPED_BY = 60, 30, 6


class Trained(NamedTuple):
    """A benchmark, and runs on it of a judge and of one that was trained further from it on half of the cases."""

    bench: Path
    runs: Path
    cases: list[str]


def small() -> Benchmark:
    ids = [f"c{i}" for i in range(N)]
    cases = pd.DataFrame({"case_id": ids, "question": [f"q{i}" for i in range(N)], "images": [[] for _ in ids]})
    cases = cases.assign(response_a="one two three", response_b="four", organ=["eye", "lung"] * (N // 2))
    choice = np.random.default_rng(0).choice(list("AB"), N)
    votes = pd.DataFrame({"case_id": ids, "annotator": "r", "dimension": "overall", "choice": choice})
    return Benchmark(BenchmarkMeta("here", "clinical", ("overall",)), cases, votes)


def write_all(folder: Path, benchmark: Benchmark, record: Mapping[str, object]) -> tuple[Path, Path]:
    save(benchmark, folder)
    runs = folder / "runs"
    write_run(runs, manifest_of("base", revision=BASE_REVISION), benchmark.annotations, 0.6)
    write_run(runs, manifest_of("tuned", record, revision="sha256:tuned"), benchmark.annotations, 0.8)
    return folder, runs


@pytest.fixture
def trained(tmp_path: Path) -> Trained:
    benchmark = small()
    cases = benchmark.cases["case_id"].tolist()
    record = record_of(benchmark, cases[:TRAINED], validation=cases[TRAINED : TRAINED + STOPPED_BY])
    return Trained(*write_all(tmp_path / "bench", benchmark, record), cases[: TRAINED + STOPPED_BY])


NOTE = "note: tuned: 36 of 60 cases are left out: 30 were trained on, and 6 more are validation cases or related\n"


@pytest.mark.parametrize("table", ["accuracy", "significance", "calibration", "gains", "consistency", "power"])
def test_every_table_says_how_many_cases_it_leaves_out(mrb: Callable, trained: Trained, table: str) -> None:
    result = mrb("analyze", trained.bench, "--table", table, "--json", "--resamples", 40).ok
    assert NOTE in result.err
    rows = pd.DataFrame(result.rows)
    if "n_seen" in rows:
        of = {"significance": "judge_1", "gains": "tuned"}.get(table, "judge")
        own = rows[(rows[of] == "tuned") | (table == "significance")]
        assert set(own["n_seen"].dropna()) == {len(trained.cases)}
    else:
        assert table in ("consistency", "power")


def test_a_judge_that_was_trained_on_test_cases_is_an_error_and_so_is_a_record_that_was_changed(
    mrb: Callable, trained: Trained, tmp_path: Path
) -> None:
    benchmark = small()
    divided = replace(benchmark, cases=benchmark.cases.assign(split=["train"] * 50 + ["test"] * 10))
    leaky = record_of(divided, divided.cases["case_id"].tolist()[40:52])
    changed = {**record_of(divided, trained.cases), "digests": ["0" * 32] * len(trained.cases)}
    for name, record, said in (
        ("leaky", leaky, "trained on 2 cases"),
        ("changed", changed, "its cases_digest does not fit"),
    ):
        bench, _ = write_all(tmp_path / name, divided, record)
        for arguments in (("analyze", bench), ("report", bench, bench / "runs", "--out", tmp_path / f"out-{name}")):
            assert said in mrb(*arguments).refusal


def test_notebooks_explorer_and_case_pages_leave_them_out_and_mark_them(trained: Trained, tmp_path: Path) -> None:
    benchmark = load(trained.bench)
    study = mrb_lib.open(trained.bench, trained.runs, resamples=40)
    assert NOTE.removeprefix("note: ").strip() in repr(study)
    accuracy = study.table("accuracy", references=0).frame.set_index("judge")
    assert accuracy["n"].to_dict() == {"tuned": 24, "base": 60}
    assert study.scores()["judge"].value_counts().to_dict() == {"base": 60, "tuned": 24}
    wrong = {judge: set(study.cases(judge=judge, wrong=True)["case_id"]) for judge in study.judges}
    assert not wrong["tuned"] & set(trained.cases)
    assert wrong["base"] & set(trained.cases)
    index = open_index(build_index(trained.runs, benchmark, tmp_path / "index"))
    seen_case = benchmark.cases["case_id"].tolist().index(trained.cases[3])
    for data in (explorer_data(benchmark, index), explorer_data(benchmark, study.verdicts)):
        tuned = data.kinds.judges.index("tuned")
        outcome = [OUTCOMES[code] for code in data.kinds.grid("outcome")[tuned, 0]]
        assert outcome.count("trained on") == 36
        assert data.kinds.grid("judged")[tuned].all()
        page = data.case_html(seen_case)
        row = page.split("<tbody>")[-1].split("</tr>")[1]
        assert "tuned" in row
        assert ">trained on</span>" in row
        assert "not counted" in row
        assert "mrb-yes" not in row
        assert "mrb-no" not in row.replace("mrb-none", "")
        assert page.count(">trained on</span>") == 1
        assert ">trained on</span>" not in data.case_html(N - 1)
    strict = open_index(build_index(trained.runs, benchmark, tmp_path / "index", policy="strict"))
    other = explorer_data(benchmark, strict, policy="strict").kinds
    assert (other.grid("outcome")[data.kinds.judges.index("tuned"), 0] == OUTCOMES.index("trained on")).sum() == 36


def test_a_judge_that_has_seen_everything_is_named_with_the_reason(mrb: Callable, tmp_path: Path) -> None:
    benchmark = small()
    bench, _ = write_all(tmp_path / "all", benchmark, record_of(benchmark, benchmark.cases["case_id"]))
    rows = pd.DataFrame(mrb("analyze", bench, "--json", "--resamples", 40).rows).set_index("judge")
    assert np.isnan(rows["accuracy"]["tuned"])
    assert ALL_SEEN.format("tuned") in rows["reason"]["tuned"]
    assert (rows["n"]["tuned"], rows["n_seen"]["tuned"]) == (0, N)
