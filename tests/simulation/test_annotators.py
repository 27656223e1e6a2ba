"""What the model of Dawid and Skene gets back of what was planted, and that nobody innocent is accused. SIMULATED data.

Intervals cover between 93% and 97% of the time: of a kind of parameter on average, and of each parameter give or take
three Monte-Carlo standard errors.
"""

import numpy as np
import pandas as pd
import pytest

from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.analyze import TABLES
from mrb_lib.stats.annotators import encode_annotations
from mrb_lib.stats.multiplicity import adjust_families
from mrb_lib.stats.tables.gold_rules import peer_rows
from mrb_lib.tables.schema import CHOICES
from tests.stats import small_tables

from .panels import cases_of, clustered, covered, frame_of, is_near, rows_of
from .people import CONFUSION, JUDGE, LABELS, SHARE, simulated

RIGHT = (SHARE * np.diagonal(CONFUSION, axis1=1, axis2=2)).sum(axis=1)
OPTIONS = {"resamples": 120, "seed": 1}
BENCHMARKS = 150


def check_coverage(rows: pd.DataFrame, truth: np.ndarray, name: str, low: str, high: str) -> None:
    """Between 93% and 97%, on average and of each parameter."""
    value, below, above = (rows[each].to_numpy(dtype=float).reshape(BENCHMARKS, -1) for each in (name, low, high))
    assert np.isfinite(below).mean() > 0.99
    assert np.abs(np.nanmean(value, axis=0) - truth).max() < 0.03
    held = (below <= truth) & (truth <= above)
    assert is_near(held.mean(), 0.95, held.size, least=0.03), held.mean()
    assert is_near(held.mean(axis=0), 0.95, BENCHMARKS, least=0.02 + 3 * np.sqrt(0.95 * 0.05 / BENCHMARKS)), held


def test_the_model_and_the_accuracy_by_labels_that_are_wrong() -> None:
    """The majority is wrong in one case of twenty or so, which takes some points off."""
    panel, cases, people = simulated(100, BENCHMARKS, np.random.default_rng(100))
    table = rows_of("gold_rules", panel, None, cases, people, policy="official", **OPTIONS)
    for part, truth in (("confusion", CONFUSION.ravel()), ("prevalence", SHARE), ("annotator", RIGHT)):
        check_coverage(table[table["part"] == part], truth, "probability", "probability_low", "probability_high")
    rules = table[table["part"] == "rule"]
    assert SHARE @ np.diagonal(JUDGE) - rules.loc[rules["rule"] == "majority", "accuracy"].mean() > 0.01
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
    assert 0.93 <= covered(diagonal, truth, "probability_") <= 0.99
    assert (diagonal["probability_high"] - diagonal["probability_low"]).min() > 0.2


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


ACCUSED, SENTENCES = 0.07, 20


def people(right: np.ndarray, n: int, benchmarks: int, generator: np.random.Generator, size: int = 1) -> np.ndarray:
    """Labels of annotators who are right with these probabilities, shape (annotators, benchmarks, cases).

    In clusters of `size` cases, an annotator mostly is right or wrong on all.
    """
    truth = generator.choice(3, (benchmarks, n), p=SHARE)
    luck = clustered(generator, (len(right), benchmarks), np.arange(n) // size, 0.85)
    wrong = (truth + generator.integers(1, 3, luck.shape)) % 3
    return np.where(luck < right[:, None, None], truth, wrong)


def accused(labels: np.ndarray, size: int = 1, seen: np.ndarray | None = None) -> float:
    """The share of benchmarks in which an annotator agrees significantly less than the others, as sentences say."""
    annotators, benchmarks, n = labels.shape
    cases, given = cases_of(n, np.arange(n) // size), frame_of(labels, there=seen)
    analysis = Analysis.from_frames(cases, annotations=given, resamples=0)
    rows = peer_rows(analysis, encode_annotations(given, analysis.cases, CHOICES, analysis.names))
    p = adjust_families(rows["p_value"].to_numpy(), np.repeat(np.arange(benchmarks), annotators), "holm")[0]
    apart = ((p <= 0.05) & (rows["peer_gap"] < 0)).groupby(rows["dimension"]).any()
    some = given[given["dimension"].isin(apart.index[:SENTENCES])]
    table = small_tables.rows_of("gold_rules", cases, annotations=some, resamples=0)
    for name, own in table.groupby("dimension"):
        said = TABLES["gold_rules"].says(own)
        assert apart[name] != ("No annotator agrees significantly less" in said)
        assert said.count("significantly less") == 1, "it accuses somebody or says that nobody is"
    return float(apart.mean())


@pytest.mark.parametrize(
    ("n", "annotators", "rate", "size", "seats"),
    [(40, 3, 0.97, 1, 3), (40, 3, 0.6, 1, 3), (150, 12, 0.85, 1, 12), (160, 4, 0.8, 4, 4), (300, 12, 0.8, 1, 3)],
    ids=["careful", "careless", "twelve", "errors in clusters", "three of twelve on each case"],
)
def test_innocent_annotators_are_not_accused(n: int, annotators: int, rate: float, size: int, seats: int) -> None:
    """Before, the sentence named the least and the most reliable annotator of every benchmark."""
    generator = np.random.default_rng([n, annotators, int(100 * rate)])
    labels = people(np.full(annotators, rate), n, 250, generator, size)
    order = generator.random(labels.shape).argsort(axis=0).argsort(axis=0)
    assert accused(labels, size, order < seats) <= ACCUSED


def test_an_annotator_who_is_worse_is_found() -> None:
    assert accused(people(np.array([0.9, 0.9, 0.9, 0.7]), 200, 100, np.random.default_rng(5))) > 0.9
