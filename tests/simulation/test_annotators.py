"""What the model of Dawid and Skene gets back of what was planted. SIMULATED data of known truth.

Each simulated benchmark is a dimension of one call. Intervals cover between 93% and 97% of the time: of a kind of
parameter on average, and of each parameter give or take three Monte-Carlo standard errors.
"""

import numpy as np
import pandas as pd
import pytest

from tests.stats.small_tables import rows_of

from .people import CONFUSION, JUDGE, LABELS, SHARE, simulated

RIGHT = (SHARE * np.diagonal(CONFUSION, axis1=1, axis2=2)).sum(axis=1)


def errors(annotations: pd.DataFrame, cases: pd.DataFrame, names: list[str], **options: object) -> pd.DataFrame:
    """The rows about annotators, with the ends of `probability` as `low` and `high`."""
    table = rows_of("gold_rules", cases, None, None, annotations, dimensions=names, **options)
    ends = {"probability_low": "low", "probability_high": "high"}
    return table.drop(columns=["low", "high"]).rename(columns=ends)


def check_coverage(rows: pd.DataFrame, benchmarks: int, truth: np.ndarray, *, most: float = 0.97) -> None:
    """Between 93% and 97%, on average and of each parameter."""
    found = {name: rows[name].to_numpy(dtype=float).reshape(benchmarks, -1) for name in ("probability", "low", "high")}
    assert np.isfinite(found["low"]).mean() > 0.99
    covered = (found["low"] <= truth) & (truth <= found["high"])
    error = 3 * np.sqrt(0.95 * 0.05 / benchmarks)
    slack = 2 * np.sqrt(0.95 * 0.05 / covered.size)
    assert 0.93 - slack <= covered.mean() <= most + slack, covered.mean()
    assert 0.93 - error <= covered.mean(axis=0).min(), covered.mean(axis=0)
    assert covered.mean(axis=0).max() <= most + error, covered.mean(axis=0)


@pytest.mark.parametrize(("n", "benchmarks"), [(100, 150), (400, 100)])
def test_confusion_prevalence_and_being_right(n: int, benchmarks: int) -> None:
    annotations, cases, _, names = simulated(n, benchmarks, np.random.default_rng(n))
    table = errors(annotations, cases, names, resamples=120, seed=1)
    for part, truth, bias in (
        ("confusion", CONFUSION.ravel(), 0.03),
        ("prevalence", SHARE, 0.02),
        ("annotator", RIGHT, 0.02),
    ):
        rows = table[table["part"] == part]
        means = np.nanmean(rows["probability"].to_numpy(dtype=float).reshape(benchmarks, -1), axis=0)
        assert np.abs(means - truth).max() < bias
        check_coverage(rows, benchmarks, truth)


def test_an_annotator_of_few_cases() -> None:
    """A fourth annotator who labels fifteen cases of a hundred: about five of a label, and intervals that wide.

    Wilson's intervals of so few cases cover more than 95% rather than less.
    """
    generator = np.random.default_rng(15)
    confusion = np.concatenate([CONFUSION, CONFUSION[2:]])
    annotations, cases, _, names = simulated(100, 120, generator, confusion=confusion)
    few = annotations["case_id"].isin([f"c{i}" for i in range(15)]) | (annotations["annotator"] != "a3")
    table = errors(annotations[few], cases, names, resamples=120, seed=1)
    rows = table[(table["part"] == "confusion") & (table["annotator"] == "a3")]
    assert (rows["n"] == 15).all()
    diagonal = rows[(rows["gold"] == rows["label"]) & rows["low"].notna()]
    truth = diagonal["gold"].map(dict(zip(LABELS, np.diagonal(confusion[3]), strict=True)))
    covered = (diagonal["low"] <= truth) & (truth <= diagonal["high"])
    assert 0.93 <= covered.mean() <= 0.99, covered.mean()
    assert (diagonal["high"] - diagonal["low"]).min() > 0.2


@pytest.mark.parametrize(("n", "benchmarks"), [(100, 150), (400, 100)])
def test_accuracy_by_labels_that_are_wrong(n: int, benchmarks: int) -> None:
    """The majority is wrong in one case of twenty or so, which takes some points off."""
    annotations, cases, panel, names = simulated(n, benchmarks, np.random.default_rng(n))
    options = {"policy": "official", "dimensions": names, "resamples": 120, "seed": 1}
    rules = rows_of("gold_rules", cases, panel, annotations=annotations, **options)
    rules = rules[rules["part"] == "rule"]
    majority = rules[rules["rule"] == "majority"]
    decided = true_accuracy_where_decided()
    assert decided - majority["accuracy"].mean() > 0.01
    for rule in ("soft_votes", "leave_one_out"):
        rows = rules[rules["rule"] == rule].drop(columns="probability").rename(columns={"accuracy": "probability"})
        check_coverage(rows, benchmarks, np.array([expected_score(rule)]))


def expected_score(rule: str) -> float:
    """The judge's expected score by a rule, summed over all votes and verdicts there can be."""
    score = total = 0.0
    for truth in range(3):
        for votes in np.ndindex(3, 3, 3):
            chance = SHARE[truth] * np.prod([CONFUSION[who, truth, label] for who, label in enumerate(votes)])
            if rule == "soft_votes":
                labels, weight = votes, 1 / 3
            else:
                pairs = [(votes[1], votes[2]), (votes[0], votes[2]), (votes[0], votes[1])]
                labels, weight = tuple(one for one, other in pairs if one == other), 1.0
            for label in labels:
                score += chance * weight * JUDGE[truth, label]
                total += chance * weight
    return float(score / total)


def true_accuracy_where_decided() -> float:
    """The judge's accuracy against the truth on cases that have a majority, summed over all votes there can be."""
    right = total = 0.0
    for truth in range(3):
        for votes in np.ndindex(3, 3, 3):
            if len(set(votes)) < 3:
                weight = SHARE[truth] * np.prod([CONFUSION[who, truth, label] for who, label in enumerate(votes)])
                total += weight
                right += weight * JUDGE[truth, truth]
    return float(right / total)
