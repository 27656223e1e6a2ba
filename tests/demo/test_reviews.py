"""Simulated reviewers say what the latent qualities say, and that they are simulated."""

import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark, load
from mrb_lib.benchmarks.votes import gold
from mrb_lib.demo.build import write_demo
from mrb_lib.review.records.marks import Adjudication
from mrb_lib.review.records.reviewed import REVIEWERS, SEES_TIE_BELOW, simulated_adjudications
from mrb_lib.stats.annotators import adjudicated_gold
from mrb_lib.tables.questions import QUESTIONS, adjudication_columns


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    folder = tmp_path_factory.mktemp("demo")
    write_demo(folder, cases=180, seed=5)
    return load(folder)


def said(demo: Benchmark, **options: object) -> pd.DataFrame:
    assert demo.path is not None
    truth = pd.read_parquet(demo.path / "truth.parquet")
    return simulated_adjudications(truth, gold(demo), benchmark=demo.meta.name, judges=("j", "k"), **options)


def test_every_mark_is_an_adjudication_that_says_simulated(demo: Benchmark) -> None:
    frame = said(demo, cases=60)
    assert frame.columns.tolist() == list(adjudication_columns())
    assert frame["adjudication_id"].is_unique
    assert set(frame["reviewer"]) == set(REVIEWERS)
    assert all("SIMULATED" in text for text in [*frame["reviewer"], *frame["note"]])
    assert frame["case_id"].nunique() == 60
    plain = frame.astype(object).where(frame.notna(), None).drop(columns="created")
    for row in plain.to_dict("records"):
        answers = {question.name: row.pop(question.name) for question in QUESTIONS}
        Adjudication(**row | {"answers": answers, "regions": tuple(row["regions"])})


def test_the_same_seed_says_the_same(demo: Benchmark) -> None:
    pd.testing.assert_frame_equal(said(demo, seed=3), said(demo, seed=3))
    assert not said(demo, seed=3).equals(said(demo, seed=4))


def test_corrected_labels_are_nearer_to_the_latent_qualities(
    demo: Benchmark,
) -> None:
    assert demo.path is not None
    found = adjudicated_gold(gold(demo), said(demo, cases=180))
    changed = found[found["choice"].notna() & (found["choice"] != found["annotated_choice"])]
    changed = changed[changed["annotated_choice"].notna()]
    truth = pd.read_parquet(demo.path / "truth.parquet")
    rows = changed.merge(truth, on=["case_id", "dimension"])
    gap = rows["quality_a"] - rows["quality_b"]
    latent = pd.Series("tie", rows.index).mask(gap >= SEES_TIE_BELOW, "A").mask(gap <= -SEES_TIE_BELOW, "B")
    assert len(rows) >= 20
    assert (rows["annotated_choice"] == latent).mean() < 0.3
    assert (rows["choice"] == latent).mean() > 0.7
