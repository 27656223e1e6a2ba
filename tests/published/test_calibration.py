"""Published numbers, and what maintained libraries compute of the same probabilities."""

import numpy as np
import pandas as pd
import pytest
from scipy import special, stats
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

from mrb_lib.stats.tables.selective import risk_p
from tests.stats.small_tables import calibration


def tables(p: np.ndarray, outcome: np.ndarray) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """One judge's verdicts in order AB."""
    ids = [f"c{i}" for i in range(len(p))]
    verdicts = pd.DataFrame(
        {"judge": "j", "case_id": ids, "dimension": "overall", "order": "AB", "choice": np.where(p > 0.5, "A", "B")}
    ).assign(p_a=p)
    gold = pd.DataFrame({"case_id": ids, "dimension": "overall", "choice": np.where(outcome == 1, "A", "B")})
    return verdicts, gold, pd.DataFrame({"case_id": ids})


@pytest.mark.parametrize("digits", [2, 12])
def test_scores_and_the_reliability_diagram_are_those_of_scikit_learn(digits: int) -> None:
    """Forecasts that are too sure; with few digits, many are equal."""
    generator = np.random.default_rng(3)
    p = np.clip(generator.beta(0.8, 0.8, 500).round(digits), 0.01, 0.99)
    outcome = (generator.random(500) < 0.25 + 0.5 * p).astype(float)
    table = calibration(*tables(p, outcome))
    summary, rows = table.iloc[0], table[table["part"] == "bin"]
    if digits == 12:  # others lie on the edges of bins
        right, confidence = (outcome == (p > 0.5)).astype(float), np.maximum(p, 1 - p)
        accuracy, mean = calibration_curve(right, 2 * confidence - 1, n_bins=10)
        mean, counts = (1 + mean) / 2, np.histogram(confidence, np.linspace(0.5, 1, 11))[0]
        np.testing.assert_allclose(rows["accuracy"], accuracy, atol=1e-12)
        np.testing.assert_allclose(rows["confidence"], mean, atol=1e-12)
        assert summary["ece"] == pytest.approx((counts / 500 * np.abs(accuracy - mean)).sum(), abs=1e-12)
    assert summary["brier"] == pytest.approx(brier_score_loss(outcome, p), abs=1e-12)
    assert summary["log_loss"] == pytest.approx(log_loss(outcome, p), abs=1e-12)
    assert summary["auroc"] == pytest.approx(roc_auc_score(outcome, p), abs=1e-12)


def test_the_area_under_the_curve_of_hanley_and_mcneil_1982() -> None:
    """Table I of doi:10.1148/radiology.143.1.7063747: 58 normal and 51 abnormal images rated 1 to 5.

    Area .893; the standard error by placements, .0307, and area .8932 are what Stata's manual ([R] roctab) prints.
    """
    normal, abnormal = [33, 6, 6, 11, 2], [3, 2, 2, 11, 33]
    rating = np.concatenate([np.repeat(np.arange(1.0, 6), normal), np.repeat(np.arange(1.0, 6), abnormal)])
    positive = np.repeat([0.0, 1.0], [58, 51])
    row = calibration(*tables(rating / 6, positive)).iloc[0]
    assert row["auroc"] == pytest.approx(roc_auc_score(positive, rating), abs=1e-14)
    assert row["auroc"] == pytest.approx(0.8932, abs=5e-5)
    reach = special.logit(row["auroc_high"]) - special.logit(row["auroc_low"])  # twice t times the error of the logit
    error = reach / 2 / special.stdtrit(len(rating) - 1, 0.975) * row["auroc"] * (1 - row["auroc"])
    assert error == pytest.approx(0.0307, abs=5e-5)


@pytest.mark.parametrize(("wrong", "size"), [(0, 59), (1, 93), (2, 124), (3, 153)])
def test_smallest_calibration_sets_are_the_tables_of_wilks(wrong: int, size: int) -> None:
    """Sample sizes of a 95% tolerance limit at 95% confidence: first, second ... order statistic (Wilks 1941, 1942)."""
    at, before = risk_p(np.full(2, float(wrong)), np.array([size, size - 1]), 0.05)
    assert at <= 0.05 < before


@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.2])
def test_the_test_of_a_threshold_is_the_exact_binomial_one(alpha: float) -> None:
    for n in range(1, 200, 7):
        wrong = np.arange(n + 1.0)
        exact = [stats.binomtest(int(k), n, alpha, alternative="less").pvalue for k in wrong]
        np.testing.assert_allclose(risk_p(wrong, np.full(n + 1, n), alpha), exact, atol=1e-12)
