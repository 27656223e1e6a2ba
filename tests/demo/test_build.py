"""The folder: the published shape, the same bytes from a seed, votes that follow the planted quality."""

from collections.abc import Callable
from pathlib import Path

import krippendorff
import numpy as np
import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark, load
from mrb_lib.benchmarks.votes import gold
from mrb_lib.demo import write_demo
from mrb_lib.demo.annotators import ANNOTATORS, vote
from mrb_lib.demo.responders import RESPONDERS
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import CASES, CHOICES, DEPARTMENTS, DIMENSIONS, ORGAN_DEPARTMENT, ORGANS
from mrb_lib.verdicts.orders import to_shown_frame

Write = Callable[..., Path]


def _contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_published_shape(published: Benchmark) -> None:
    cases = published.cases
    assert len(cases) == 1026
    assert set(cases["organ"]) == set(ORGANS)
    assert set(cases["department"]) == set(DEPARTMENTS)
    assert (cases["department"] == cases["organ"].map(ORGAN_DEPARTMENT)).all()
    assert cases["organ"].value_counts().min() >= 30
    assert published.meta.dimensions == DIMENSIONS
    assert set(published.annotations["dimension"]) == set(DIMENSIONS)
    assert published.annotations["annotator"].nunique() == 3
    assert set(cases["model_a"]) == set(cases["model_b"]) == {responder.name for responder in RESPONDERS}
    assert len(RESPONDERS) == 12
    assert cases["dataset"].nunique() == 4
    assert cases["question_type"].nunique() == 7


def test_same_seed_gives_the_same_bytes_and_another_seed_does_not(written: Write) -> None:
    first, again, other = written("a", cases=15, seed=3), written("b", cases=15, seed=3), written("c", cases=15, seed=4)
    assert _contents(first) == _contents(again)
    assert load(first).fingerprint() != load(other).fingerprint()


def test_larger_benchmark_begins_with_the_smaller_one(small: Path, written: Write) -> None:
    part = written("part", cases=20, seed=7)
    whole, begin = load(small), load(part)
    pd.testing.assert_frame_equal(whole.cases.head(20), begin.cases)
    kept = whole.annotations[whole.annotations["case_id"].isin(begin.cases["case_id"])]
    pd.testing.assert_frame_equal(kept.reset_index(drop=True), begin.annotations)
    truth = pd.read_parquet(small / "truth.parquet").head(20 * len(DIMENSIONS))
    pd.testing.assert_frame_equal(truth, pd.read_parquet(part / "truth.parquet"))
    assert all(whole.images[name] == begin.images[name] for name in begin.images)


@pytest.mark.parametrize("n", [1, 13])
def test_small_sizes_show_as_many_organs_as_they_can(written: Write, n: int) -> None:
    benchmark = load(written("few", cases=n))
    assert benchmark.cases["organ"].nunique() == len(benchmark.cases) == len(benchmark.images) == n


@pytest.mark.parametrize(("options", "word"), [({"cases": 0}, "--cases 0"), ({"seed": -1}, "--seed -1")])
def test_impossible_sizes_and_seeds_are_refused_before_anything_is_written(
    tmp_path: Path, options: dict[str, int], word: str
) -> None:
    with pytest.raises(InputError, match=word):
        write_demo(tmp_path, **options)
    assert not any(tmp_path.iterdir())


def test_everything_says_simulated(published: Benchmark) -> None:
    meta = published.meta
    assert meta.kind == "simulated"
    assert "SIMULATED" in meta.name
    assert "SIMULATED" in meta.description
    assert meta.extra == {"seed": 0, "cases": 1026}
    assert published.cases["dataset"].str.startswith("simulated-").all()
    assert published.cases["case_id"].str.startswith("sim-").all()


def test_truth_is_kept_apart_from_the_cases(published: Benchmark, truth: pd.DataFrame) -> None:
    # The box of the lesion is for the probe that hides it: it travels with the cases, and no judge is shown it.
    assert set(published.cases.columns) - {"box"} <= {column.name for column in CASES}
    assert "box" not in to_shown_frame(published.cases.assign(order="AB", dimension="overall"))
    assert len(truth) == len(published.cases) * len(DIMENSIONS)
    assert not truth.duplicated(["case_id", "dimension"]).any()
    assert truth[["quality_a", "quality_b", "size", "count", "shape", "finding"]].notna().all(axis=None)


@pytest.fixture(scope="module")
def labels(published: Benchmark) -> pd.DataFrame:
    return gold(published)


@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_votes_follow_the_planted_quality(labels: pd.DataFrame, truth: pd.DataFrame, dimension: str) -> None:
    planted = truth[truth["dimension"] == dimension].set_index("case_id")
    votes = labels[labels["dimension"] == dimension].set_index("case_id")
    lead = votes["votes_a"] - votes["votes_b"]
    gap = (planted["quality_a"] - planted["quality_b"]).reindex(lead.index)
    assert np.corrcoef(lead, gap)[0, 1] > 0.7
    clear = gap.abs() > 1.5
    assert ((lead[clear] > 0) == (gap[clear] > 0)).mean() > 0.97


@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_agreement_is_in_the_band_of_clinical_raters(published: Benchmark, dimension: str) -> None:
    votes = published.annotations.query("dimension == @dimension")
    codes = votes.assign(code=votes["choice"].map({c: float(k) for k, c in enumerate(CHOICES)}))
    units = codes.pivot(index="annotator", columns="case_id", values="code").to_numpy()
    alpha = krippendorff.alpha(reliability_data=units, level_of_measurement="nominal")
    assert 0.45 < alpha < 0.75


def test_ties_occur_and_are_the_minority_and_few_labels_are_missing(published: Benchmark) -> None:
    share = 1 - len(published.annotations) / (len(published.cases) * len(ANNOTATORS) * len(DIMENSIONS))
    assert 0.002 < share < 0.01
    ties = published.annotations["choice"].eq("tie").groupby(published.annotations["annotator"]).mean()
    assert ties.between(0.03, 0.35).all()
    assert ties.nunique() == len(ANNOTATORS)


def test_exchanging_the_responses_exchanges_the_expected_votes() -> None:
    """Over many votes the share of A for a difference is the share of B for its opposite, up to the small leaning."""
    ahead = dict.fromkeys(DIMENSIONS, 0.4)
    behind = dict.fromkeys(DIMENSIONS, -0.4)
    rng = np.random.default_rng(0)
    first = [choice for _ in range(400) for _, _, choice in vote(ahead, 0.0, rng)]
    second = [choice for _ in range(400) for _, _, choice in vote(behind, 0.0, rng)]
    assert abs(first.count("A") / len(first) - second.count("B") / len(second)) < 0.05
