"""Simulated judges, raters and reviewers have the faults they are given, and say what they are. SIMULATED data."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from mrb_lib.benchmarks.benchmark import Benchmark, load
from mrb_lib.benchmarks.votes import gold
from mrb_lib.cli.app import app
from mrb_lib.demo.judges import JUDGES, REPEATS, simulated_verdicts
from mrb_lib.demo.ratings import CATEGORIES, HARM, RatingJudge, simulated_ratings, write_rating_demo
from mrb_lib.demo.roster import ROSTER
from mrb_lib.judges.roster.groups import judge_groups, read_group_file
from mrb_lib.judges.roster.roster import entries
from mrb_lib.review.records.marks import Adjudication
from mrb_lib.review.records.questions import QUESTIONS, adjudication_columns
from mrb_lib.review.records.reviewed import REVIEWERS, SEES_TIE_BELOW, simulated_adjudications
from mrb_lib.stats.analyze import analyze
from mrb_lib.stats.annotators import adjudicated_gold
from mrb_lib.tables.validation import conform
from mrb_lib.verdicts.manifest import read_manifest
from mrb_lib.verdicts.store import load_verdicts, read_run, run_folders

N = 4000


@pytest.fixture(scope="module")
def cases() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "case_id": [f"c{i}" for i in range(N)],
            "department": rng.choice(["Ophthalmology", "Neurology"], N),
            "response_a": ["x" * n for n in rng.integers(20, 80, N)],
            "response_b": ["x" * n for n in rng.integers(20, 80, N)],
            "model_a": rng.choice(["Fictor-72B", "Dummy-Ward-3B"], N),
            "model_b": rng.choice(["Fictor-72B", "Dummy-Ward-3B"], N),
        }
    )


@pytest.fixture(scope="module")
def verdicts(cases: pd.DataFrame) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    truth = pd.DataFrame({"case_id": cases["case_id"], "dimension": "overall"})
    return simulated_verdicts(truth.assign(quality_a=rng.normal(size=N), quality_b=rng.normal(size=N)), cases)


def test_they_are_a_verdicts_table_in_both_orders_twice(verdicts: pd.DataFrame, cases: pd.DataFrame) -> None:
    assert len(conform(verdicts, "verdicts", "simulated")) == len(JUDGES) * N * 2 * REPEATS
    assert (verdicts.loc[verdicts["choice"].isna(), "status"] == "unparsed").all()
    assert verdicts["choice"].isna().mean() == pytest.approx(0.01, abs=0.003)
    truth = pd.DataFrame({"case_id": cases["case_id"], "dimension": "overall", "quality_a": 0.0, "quality_b": 0.0})
    first, second, other = (simulated_verdicts(truth, cases, seed=seed) for seed in (3, 3, 4))
    pd.testing.assert_frame_equal(first, second)
    assert (first["p_a"].fillna(0) != other["p_a"].fillna(0)).any()


def test_only_the_hasty_one_looks_at_the_position(verdicts: pd.DataFrame) -> None:
    by_order = verdicts.groupby(["judge", "order"])["p_a"].mean().unstack()
    shift = by_order["AB"] - by_order["BA"]
    assert shift["simulated-hasty"] > 0.1
    assert shift.drop("simulated-hasty").abs().max() < 0.02


def test_the_wordy_one_follows_length_and_the_own_responder_is_preferred(
    verdicts: pd.DataFrame, cases: pd.DataFrame
) -> None:
    known = verdicts.merge(cases, on="case_id")
    longer = known["response_a"].str.len() > known["response_b"].str.len()
    for name, expected in (("simulated-wordy", True), ("simulated-careful", False)):
        mine = known["judge"] == name
        gap = known.loc[mine & longer, "p_a"].mean() - known.loc[mine & ~longer, "p_a"].mean()
        assert (gap > 0.1) == expected
    own = known[(known["model_a"] == "Fictor-72B") & (known["model_b"] != "Fictor-72B")]
    means = own.groupby("judge")["p_a"].mean()
    assert means["Fictor-72B"] > 0.65
    assert means["simulated-careful"] == pytest.approx(0.5, abs=0.05)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("ratings")
    write_rating_demo(made, cases=60, seed=3)
    return made


def test_risk_follows_from_the_errors_and_people_from_the_risk(folder: Path) -> None:
    made, truth = load(folder), pd.read_parquet(folder / "truth.parquet")
    assert (made.meta.kind, made.meta.task, made.meta.level) == ("simulated", "rating", "ordinal")
    harm = truth["wrong"].map(lambda wrong: sum(HARM[aspect] for aspect in wrong))
    assert (truth.loc[harm == 0, "latent"] <= 1 + 3 * (1 - np.exp(-0.5))).all(), "an invented finding at most"
    assert truth["latent"].between(1, 4).all()
    assert truth["latent"].corr(harm, "spearman") > 0.9
    places = made.annotations["choice"].map({name: place for place, name in enumerate(CATEGORIES, 1)})
    mean = places.groupby(made.annotations["case_id"]).mean()
    assert np.corrcoef(truth.set_index("case_id")["latent"], mean.reindex(truth["case_id"]))[0, 1] > 0.85
    assert set(made.annotations["choice"]) == set(CATEGORIES)


def test_a_larger_benchmark_starts_with_a_smaller_one(folder: Path, tmp_path: Path) -> None:
    write_rating_demo(tmp_path, cases=7, seed=3)
    small, large = load(tmp_path), load(folder)
    pd.testing.assert_frame_equal(small.cases, large.cases.head(7))
    first = large.annotations[large.annotations["case_id"].isin(small.cases["case_id"])]
    pd.testing.assert_frame_equal(small.annotations, first.reset_index(drop=True))


def test_judges_have_the_faults_that_are_planted() -> None:
    truth = pd.DataFrame({"case_id": [f"c{i}" for i in range(4000)], "dimension": "risk", "latent": 2.5})
    judges = [
        RatingJudge("plain", noise=0.3, jitter=0.3),
        RatingJudge("strict", leniency=0.5, noise=0.3, jitter=0.3),
        RatingJudge("turned", leniency=0.5, noise=0.3, jitter=0.3, reversed=True),
    ]
    said = simulated_ratings(truth, CATEGORIES, judges=judges, seed=1)
    conform(said, "verdicts", "simulated", dimensions=("risk",), categories=CATEGORIES, task="rating")
    places = said["choice"].map({name: place for place, name in enumerate(CATEGORIES, 1)})
    assert places.groupby(said["judge"]).mean().round(1).to_dict() == {"plain": 2.5, "strict": 3.0, "turned": 3.0}
    assert 0.005 < said["choice"].isna().mean() < 0.015
    assert said.loc[said["choice"].isna(), ["p_categories", "score_a"]].isna().all(axis=None)
    assert set(said["reply"]) == {"SIMULATED"}
    answered = said.dropna(subset="choice").head(200)
    p = np.array([json.loads(text) for text in answered["p_categories"]])
    assert p.sum(axis=1) == pytest.approx(1, abs=1e-5)
    assert [CATEGORIES[place] for place in p.argmax(axis=1)] == answered["choice"].tolist()
    assert answered["score_a"].to_numpy() == pytest.approx(p @ [1, 2, 3, 4], abs=1e-4)
    again = simulated_ratings(truth, CATEGORIES, judges=judges, seed=1)
    pd.testing.assert_frame_equal(said, again)


def test_a_label_is_a_place_too() -> None:
    truth = pd.DataFrame({"case_id": ["a", "b", "c"], "dimension": "risk", "choice": ["no risk", "high risk", None]})
    exact = [RatingJudge("exact", noise=0, jitter=0), RatingJudge("turned", noise=0, jitter=0, reversed=True)]
    said = simulated_ratings(truth, CATEGORIES, judges=exact, repeats=1).set_index(["judge", "case_id"])["choice"]
    assert said["exact"].to_dict() == {"a": "no risk", "b": "high risk"}
    assert said["turned"].to_dict() == {"a": "high risk", "b": "no risk"}


def said(published: Benchmark, **options: object) -> pd.DataFrame:
    assert published.path is not None
    truth = pd.read_parquet(published.path / "truth.parquet")
    return simulated_adjudications(truth, gold(published), benchmark=published.meta.name, judges=("j", "k"), **options)


def test_every_mark_is_an_adjudication_that_says_simulated(published: Benchmark) -> None:
    frame = said(published, cases=60)
    assert frame.columns.tolist() == list(adjudication_columns())
    assert frame["adjudication_id"].is_unique
    assert set(frame["reviewer"]) == set(REVIEWERS)
    assert all("SIMULATED" in text for text in [*frame["reviewer"], *frame["note"]])
    assert frame["case_id"].nunique() == 60
    plain = frame.astype(object).where(frame.notna(), None).drop(columns="created")
    for row in plain.to_dict("records"):
        answers = {question.name: row.pop(question.name) for question in QUESTIONS}
        Adjudication(**row | {"answers": answers, "regions": tuple(row["regions"])})
    pd.testing.assert_frame_equal(said(published, seed=3), said(published, seed=3))
    assert not said(published, seed=3).equals(said(published, seed=4))


def test_corrected_labels_are_nearer_to_the_latent_qualities(published: Benchmark) -> None:
    assert published.path is not None
    found = adjudicated_gold(gold(published), said(published, cases=180))
    changed = found[found["choice"].notna() & (found["choice"] != found["annotated_choice"])]
    changed = changed[changed["annotated_choice"].notna()]
    truth = pd.read_parquet(published.path / "truth.parquet")
    rows = changed.merge(truth, on=["case_id", "dimension"])
    gap = rows["quality_a"] - rows["quality_b"]
    latent = pd.Series("tie", rows.index).mask(gap >= SEES_TIE_BELOW, "A").mask(gap <= -SEES_TIE_BELOW, "B")
    assert len(rows) >= 20
    assert (rows["annotated_choice"] == latent).mean() < 0.3
    assert (rows["choice"] == latent).mean() > 0.7


@pytest.fixture(scope="module")
def thirty_two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("roster") / "demo"
    made = CliRunner().invoke(app, ["demo", str(folder), "--cases", "120", "--roster", "32"])
    assert made.exit_code == 0, made.output
    assert "32 SIMULATED judges" in made.output
    return folder


def test_the_names_are_nobodys_and_every_group_is_there() -> None:
    assert len({each.name for each in ROSTER}) == 32
    assert Counter(each.group for each in ROSTER) == {"open": 12, "proprietary": 8, "medical": 8, "critic": 4}
    real = judge_groups([each.name for each in ROSTER])
    assert set(real["group"]) == {"other"}, "no name reads like one of the roster of models"
    assert not {each.name for each in ROSTER} & {entry.name for entry in entries()}
    assert {each.base for each in ROSTER} <= {"", *(each.name for each in ROSTER)}
    assert {each.group for each in ROSTER[:4]} == {"open", "proprietary", "medical", "critic"}


def test_every_run_says_simulated_and_the_file_says_the_groups(thirty_two: Path) -> None:
    manifests = [read_manifest(folder) for folder in run_folders(thirty_two / "runs")]
    assert len(manifests) == 32
    assert {(manifest.kind, manifest.source) for manifest in manifests} == {("simulated", "SIMULATED")}
    assert set(read_run(run_folders(thirty_two / "runs")[0], ["reply"])["reply"]) == {"SIMULATED"}
    file = read_group_file(thirty_two / "groups.csv")
    assert file.groups == {each.name: each.group for each in ROSTER}
    told = judge_groups([each.name for each in ROSTER], manifests, override=file)
    assert set(told["how"]) == {"file"}


def test_judges_are_better_than_what_they_are_tuned_from(thirty_two: Path) -> None:
    benchmark = load(thirty_two)
    verdicts = load_verdicts(thirty_two / "runs", benchmark.cases)
    rows = analyze(benchmark, verdicts, "accuracy", policy="official", resamples=0, references=0)
    level = rows[rows["dimension"] == "average"].set_index("judge")["accuracy"]
    assert all(level[each.name] > level[each.base] for each in ROSTER if each.base)
    assert level.idxmin() == "Imaginary-1B"


def test_the_five_judges_of_known_faults_stay_as_they_were(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    CliRunner().invoke(app, ["demo", str(folder), "--cases", "3", "--verdicts", "--roster", "2"])
    judges = pd.Series([read_manifest(run).judge for run in run_folders(folder / "runs")])
    assert sorted(judges) == sorted([*(judge.name for judge in JUDGES), ROSTER[0].name, ROSTER[1].name])
    assert read_group_file(folder / "groups.csv").groups.keys() == {ROSTER[0].name, ROSTER[1].name}
