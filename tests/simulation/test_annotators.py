"""What the model of Dawid and Skene gets back of what was planted, and that nobody innocent is accused. SIMULATED data.

Intervals cover between 93% and 97% of the time: of a kind of parameter on average, and of each parameter give or take
three Monte-Carlo standard errors.
"""

import numpy as np
import pandas as pd
import pytest

from mrb_lib.stats.analyze import TABLES

from .panels import cases_of, dimensions, frame_of, rows_of
from .people import CONFUSION, JUDGE, LABELS, SHARE, simulated

RIGHT = (SHARE * np.diagonal(CONFUSION, axis1=1, axis2=2)).sum(axis=1)
OPTIONS = {"resamples": 120, "seed": 1}
BENCHMARKS = 150


def check_coverage(rows: pd.DataFrame, truth: np.ndarray, name: str, low: str, high: str) -> None:
    """Between 93% and 97%, on average and of each parameter."""
    value, below, above = (rows[each].to_numpy(dtype=float).reshape(BENCHMARKS, -1) for each in (name, low, high))
    assert np.isfinite(below).mean() > 0.99
    assert np.abs(np.nanmean(value, axis=0) - truth).max() < 0.03
    covered = (below <= truth) & (truth <= above)
    error, slack = 3 * np.sqrt(0.95 * 0.05 / BENCHMARKS), 2 * np.sqrt(0.95 * 0.05 / covered.size)
    assert 0.93 - slack <= covered.mean() <= 0.97 + slack, covered.mean()
    assert 0.93 - error <= covered.mean(axis=0).min(), covered.mean(axis=0)
    assert covered.mean(axis=0).max() <= 0.97 + error, covered.mean(axis=0)


def test_the_model_and_the_accuracy_by_labels_that_are_wrong() -> None:
    """The majority is wrong in one case of twenty or so, which takes some points off."""
    panel, cases, people = simulated(100, BENCHMARKS, np.random.default_rng(100))
    table = rows_of("gold_rules", panel, None, cases, people, policy="official", **OPTIONS)
    for part, truth in (("confusion", CONFUSION.ravel()), ("prevalence", SHARE), ("annotator", RIGHT)):
        check_coverage(table[table["part"] == part], truth, "probability", "probability_low", "probability_high")
    rules = table[table["part"] == "rule"]
    assert true_accuracy_where_decided() - rules.loc[rules["rule"] == "majority", "accuracy"].mean() > 0.01
    for rule in ("soft_votes", "leave_one_out"):
        check_coverage(rules[rules["rule"] == rule], np.array([expected_score(rule)]), "accuracy", "low", "high")


def test_an_annotator_of_few_cases() -> None:
    """A fourth annotator who labels fifteen cases of a hundred: about five of a label, and intervals that wide.

    Wilson's intervals of so few cases cover more than 95% rather than less.
    """
    confusion = np.concatenate([CONFUSION, CONFUSION[2:]])
    _, cases, people = simulated(100, 120, np.random.default_rng(15), confusion=confusion)
    few = people["case_id"].isin([f"c{i}" for i in range(15)]) | (people["annotator"] != "a3")
    table = rows_of("gold_rules", None, None, cases, people[few], **OPTIONS)
    rows = table[(table["part"] == "confusion") & (table["annotator"] == "a3")]
    assert (rows["n"] == 15).all()
    diagonal = rows[(rows["gold"] == rows["label"]) & rows["probability_low"].notna()]
    truth = diagonal["gold"].map(dict(zip(LABELS, np.diagonal(confusion[3]), strict=True)))
    low, high = diagonal["probability_low"], diagonal["probability_high"]
    assert 0.93 <= ((low <= truth) & (truth <= high)).mean() <= 0.99
    assert (high - low).min() > 0.2


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


ACCUSED, SENTENCES = 0.07, 20


def people(
    right: np.ndarray, n: int, benchmarks: int, generator: np.random.Generator, size: int = 1, shared: float = 0.0
) -> np.ndarray:
    """Labels of annotators who are right with these probabilities, shape (annotators, benchmarks, cases).

    Parameters
    ----------
    size : cases per cluster, in which an annotator is right or wrong on all with probability `shared`
    """
    truth = generator.choice(3, (benchmarks, n), p=SHARE)
    shape = len(right), benchmarks, n
    alone, together = generator.random(shape), np.repeat(generator.random((*shape[:2], n // size)), size, axis=2)
    luck = np.where(np.repeat(generator.random((*shape[:2], n // size)) < shared, size, axis=2), together, alone)
    wrong = (truth + generator.integers(1, 3, shape)) % 3
    return np.where(luck < right[:, None, None], truth, wrong)


def accused(labels: np.ndarray, size: int = 1, seen: np.ndarray | None = None) -> float:
    """The share of benchmarks whose sentence says that an annotator agrees significantly less than the others."""
    cases = cases_of(labels.shape[2], **({} if size == 1 else {"cluster": np.arange(labels.shape[2]) // size}))
    table = rows_of("gold_rules", None, None, cases, frame_of(labels, there=seen), resamples=0)
    rows = table[table["part"] == "annotator"].set_index("dimension")
    apart = ((rows["p_adjusted"] <= 0.05) & (rows["peer_gap"] < 0)).groupby(level=0).any()
    assert len(apart) == labels.shape[1]
    for name in dimensions(SENTENCES):
        said = TABLES["gold_rules"].says(table[table["dimension"] == name])
        assert apart[name] != ("No annotator agrees significantly less" in said)
        assert said.count("significantly less") == 1, "it accuses somebody or says that nobody is"
    return float(apart.mean())


@pytest.mark.parametrize(("n", "annotators", "rate"), [(40, 3, 0.97), (40, 3, 0.6), (150, 12, 0.85)])
def test_innocent_annotators_are_not_accused(n: int, annotators: int, rate: float) -> None:
    """Before, the sentence named the least and the most reliable annotator of every benchmark."""
    generator = np.random.default_rng([n, annotators, int(100 * rate)])
    assert accused(people(np.full(annotators, rate), n, 250, generator)) <= ACCUSED


def test_nor_where_their_errors_come_in_clusters_of_cases() -> None:
    labels = people(np.full(4, 0.8), 160, 250, np.random.default_rng(3), size=4, shared=0.7)
    assert accused(labels, size=4) <= ACCUSED


def test_nor_where_each_case_has_three_of_twelve() -> None:
    generator = np.random.default_rng(4)
    labels = people(np.full(12, 0.8), 300, 250, generator)
    order = generator.random(labels.shape).argsort(axis=0).argsort(axis=0)
    assert accused(labels, seen=order < 3) <= ACCUSED


def test_an_annotator_who_is_worse_is_found() -> None:
    assert accused(people(np.array([0.9, 0.9, 0.9, 0.7]), 200, 100, np.random.default_rng(5))) > 0.9
