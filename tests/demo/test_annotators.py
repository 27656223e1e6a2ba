"""The annotators: votes that follow the planted quality, and agree as clinicians do."""

import krippendorff
import numpy as np
import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.votes import gold
from mrb_lib.demo.annotators import ANNOTATORS, vote
from mrb_lib.tables.schema import CHOICES, DIMENSIONS


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
