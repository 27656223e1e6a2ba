"""What the model of Dawid and Skene gets back of what was planted. SIMULATED data of known truth.

Each simulated benchmark is a dimension of one call. Intervals cover between 93% and 97% of the time, give or take three
Monte-Carlo standard errors; the resamples are few here, which costs percentile intervals a point.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mrb_lib.stats.annotators import annotators
from mrb_lib.stats.gold_rules import gold_rules
from mrb_lib.stats.panel import Panel

SHARE = np.array([0.45, 0.35, 0.2])
CONFUSION = np.array(
    [
        [[0.90, 0.06, 0.04], [0.08, 0.85, 0.07], [0.10, 0.10, 0.80]],
        [[0.80, 0.15, 0.05], [0.05, 0.90, 0.05], [0.15, 0.10, 0.75]],
        [[0.85, 0.05, 0.10], [0.10, 0.85, 0.05], [0.05, 0.10, 0.85]],
    ]
)
JUDGE = np.array([[0.75, 0.15, 0.10], [0.25, 0.65, 0.10], [0.2, 0.2, 0.6]])
RESAMPLES = 100
LABELS = np.array(["A", "B", "tie"])


def drawn(table: np.ndarray, truth: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """A label for each true one, by a confusion matrix."""
    return (generator.random((*truth.shape, 1)) > np.cumsum(table, axis=1)[truth]).sum(axis=-1)


def simulated(
    n: int, benchmarks: int, generator: np.random.Generator
) -> tuple[pd.DataFrame, pd.DataFrame, Panel, list[str]]:
    truth = generator.choice(3, (benchmarks, n), p=SHARE)
    labels = np.stack([drawn(table, truth, generator) for table in CONFUSION])
    ids, names = np.array([f"c{i}" for i in range(n)]), [f"d{i:03d}" for i in range(benchmarks)]
    who, dimension, case = (axis.ravel() for axis in np.indices(labels.shape))
    annotations = pd.DataFrame(
        {
            "case_id": ids[case],
            "annotator": np.array(["a0", "a1", "a2"])[who],
            "dimension": np.array(names)[dimension],
            "choice": LABELS[labels.ravel()],
        }
    )
    choice = np.full((1, benchmarks, n, 2, 1), -2, dtype=np.int8)
    choice[0, :, :, 0, 0] = drawn(JUDGE, truth, generator)
    panel = Panel(["j"], names, [0], choice, None, pd.DataFrame({"judge": ["j"], "n_cases": [n]}))
    return annotations, pd.DataFrame({"case_id": ids}), panel, names


def within(covered: np.ndarray) -> bool:
    return abs(covered.mean() - 0.95) <= 0.02 + 3 * np.sqrt(0.95 * 0.05 / len(covered))


@pytest.mark.slow
@pytest.mark.parametrize("n", [100, 1000])
def test_confusion_and_prevalence(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mrb_lib.stats.annotators.MODELS", ("dawid_skene",))
    annotations, cases, _, names = simulated(n, 400, np.random.default_rng(n))
    table = annotators(annotations, cases, dimensions=names, resamples=RESAMPLES, seed=1)
    rows = table[table["model"] == "dawid_skene"]
    for part, truth, bias in (("confusion", CONFUSION.ravel(), 0.03), ("prevalence", SHARE, 0.02)):
        shape = (400, len(truth))
        found = {
            name: rows.loc[rows["part"] == part, name].to_numpy(dtype=float).reshape(shape)
            for name in ("probability", "low", "high")
        }
        assert np.abs(np.nanmean(found["probability"], axis=0) - truth).max() < bias
        known = np.isfinite(found["low"])
        covered = (found["low"] <= truth) & (truth <= found["high"])
        assert known.mean() > 0.99
        assert within(covered.mean(axis=1)), covered.mean()


@pytest.mark.slow
@pytest.mark.parametrize("n", [100, 1000])
def test_accuracy_corrected_for_wrong_labels(n: int) -> None:
    """The majority is wrong in one case of twenty or so, which takes some points off; the correction puts them back."""
    annotations, cases, panel, names = simulated(n, 400, np.random.default_rng(n))
    rules = gold_rules(panel, annotations, cases, policy="official", dimensions=names, resamples=2 * RESAMPLES, seed=1)
    corrected = rules[rules["part"] == "corrected"]
    majority = rules[(rules["part"] == "rule") & (rules["rule"] == "majority")]
    decided = true_accuracy_where_decided()
    error = 3 * corrected["accuracy"].std() / np.sqrt(len(corrected)) + 0.004
    assert corrected["accuracy"].mean() == pytest.approx(decided, abs=error)
    assert decided - majority["accuracy"].mean() > 0.015
    covered = ((corrected["low"] <= decided) & (decided <= corrected["high"])).to_numpy()
    assert within(covered), covered.mean()


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
