"""The SIMULATED work folder is whole, is the same for the same seed, and lets what was planted be found again."""

import shutil
from pathlib import Path

import pandas as pd
import pytest
from scipy.stats import spearmanr

from mrb_lib.benchmarks.benchmark import load
from mrb_lib.build.construct.pair import Plan, pair
from mrb_lib.build.construct.release import Terms, release
from mrb_lib.build.construct.simulated import write_simulated_work
from mrb_lib.build.construct.status import next_commands, step_table
from mrb_lib.build.construct.work import Work, open_work
from mrb_lib.review.records.store import open_store
from mrb_lib.tables.files import REVIEWS

ITEMS = 60


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Work:
    return write_simulated_work(tmp_path_factory.mktemp("demo") / "work", items=ITEMS)


def test_every_step_but_the_release_is_done(work: Work) -> None:
    table = step_table(work).set_index("step")
    assert table["state"].tolist() == ["finished"] * 5 + ["not run"] and work.stale() == {}
    assert table.loc["pair", "n_out"] >= 10 and work.meta.kind == "simulated"
    assert {"the image cannot be read", "a copy of another item"} <= set(work.funnel()["reason"])
    assert next_commands(work)[0] == f"mrb construct release {work.path} BENCH"
    benchmark = load(work.path)
    assert benchmark.meta.kind == "simulated" and len(benchmark.cases) == table.loc["pair", "n_out"]
    with open_store(work.path / REVIEWS) as store:
        annotations = store.annotations(benchmark.meta.name)
    assert annotations["annotator"].nunique() == 3 and set(annotations["case_id"]) == set(benchmark.cases["case_id"])


def test_what_was_planted_is_found_again(work: Work) -> None:
    planted = pd.read_parquet(work.path / "truth.parquet").set_index("item_id")
    measured = pd.read_parquet(work.path / "difficulty.parquet").set_index("item_id")["share_correct"]
    assert spearmanr(measured, planted.loc[measured.index, "difficulty"]).statistic < -0.8
    rated = pd.read_parquet(work.path / "screenings.parquet").set_index("item_id")
    kept = planted.loc[rated.index, "merit"].groupby(rated["kept"]).mean()
    assert kept[True] > kept[False]


def test_the_same_seed_gives_the_same_tables(work: Work, tmp_path: Path) -> None:
    again = write_simulated_work(tmp_path / "again", items=ITEMS)
    for name in ("items", "decisions", "answers", "difficulty", "screenings", "responses", "pairs", "cases"):
        assert (again.path / f"{name}.parquet").read_bytes() == (work.path / f"{name}.parquet").read_bytes(), name


def test_after_a_release_other_pairs_are_annotated_first(work: Work, tmp_path: Path) -> None:
    copy = open_work(shutil.copytree(work.path, tmp_path / "work"))
    with open_store(copy.path / REVIEWS) as store:
        release(copy, tmp_path / "bench", Terms("1.0.0"), store.annotations(copy.meta.name))
    assert next_commands(copy) == ["mrb judge BENCH BENCH/runs --judge NAME"]
    pair(copy, Plan(exclude=("refused",), balance=()), seed=5, again=True)
    assert next_commands(copy)[-1] == f"mrb annotate {copy.path} --annotators NAME,NAME,NAME"
