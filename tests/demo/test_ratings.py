"""The SIMULATED ratings: risk follows from the planted errors, and judges have the faults that are planted."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import load
from mrb_lib.demo.ratings import CATEGORIES, HARM, RatingJudge, simulated_ratings, write_rating_demo
from mrb_lib.tables.validation import conform


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
