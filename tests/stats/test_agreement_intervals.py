"""Analytic intervals: derivatives, clusters, and what they cannot be had for."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mrb_lib.stats.agreement import SHOWN, agreement, annotator_pairs
from mrb_lib.stats.agreement_intervals import gradient

from .small_tables import annotations_of, cases_of

ANALYTIC = [name + end for name in SHOWN for end in ("_analytic_low", "_analytic_high")]


def letters(n: int, annotators: int, seed: int = 0, alphabet: str = "123") -> dict[str, str]:
    generator = np.random.default_rng(seed)
    truth = generator.choice(list(alphabet), n)
    return {
        f"a{i}": "".join(np.where(generator.random(n) < 0.6, truth, generator.choice(list(alphabet), n)))
        for i in range(annotators)
    }


def test_the_derivative_of_a_ratio_and_of_a_product() -> None:
    sums = np.array([3.0, 4.0, 0.0])

    def statistic(table: np.ndarray) -> np.ndarray:
        return np.stack([table[:, 0] / table[:, 1], table[:, 0] ** 2 * table[:, 1] + table[:, 2]], axis=1)

    expected = [[1 / 4, 24], [-3 / 16, 9], [0, 0]]
    assert gradient(statistic, sums) == pytest.approx(np.array(expected), abs=1e-8)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_the_variance_is_that_of_the_jackknife(level: str) -> None:
    """Leaving out one case after the other estimates the same variance, and shares nothing with derivatives."""
    n = 40
    words = letters(n, 3)

    def values(kept: list[int]) -> np.ndarray:
        some = {name: "".join(word[i] for i in kept) for name, word in words.items()}
        rows = agreement(annotations_of(some), cases_of(len(kept)), categories=list("123"), level=level, resamples=0)
        return rows[list(SHOWN)].to_numpy(dtype=float)[0]

    without = np.stack([values([j for j in range(n) if j != i]) for i in range(n)])
    error = np.sqrt((n - 1) ** 2 / n * without.var(axis=0, ddof=1))
    row = agreement(annotations_of(words), cases_of(n), categories=list("123"), level=level, resamples=0).iloc[0]
    checked = 0
    for name, expected in zip(SHOWN, error, strict=True):
        half = (row[f"{name}_analytic_high"] - row[f"{name}_analytic_low"]) / 2
        if np.isfinite(half) and not name.startswith("icc"):
            assert half == pytest.approx(2 * expected, rel=0.1), name
            checked += 1
    assert checked == (6 if level == "nominal" else 9)


def test_cases_said_twice_in_a_cluster_say_nothing_more() -> None:
    words = letters(50, 3)
    once = agreement(annotations_of(words), cases_of(50), resamples=0, categories=list("123")).iloc[0]
    twice = annotations_of({name: "".join(c + c for c in word) for name, word in words.items()})
    cases = cases_of(100, cluster=[i // 2 for i in range(100)])
    clustered = agreement(twice, cases, resamples=0, categories=list("123")).iloc[0]
    alone = agreement(twice, cases, cluster="case_id", resamples=0, categories=list("123")).iloc[0]
    for name in ("percent_agreement", "fleiss_kappa", "gwet_ac1"):
        bounds = [f"{name}_analytic_low", f"{name}_analytic_high"]
        assert clustered[bounds].tolist() == pytest.approx(once[bounds].tolist(), abs=1e-9)
        assert np.ptp(alone[bounds]) < 0.8 * np.ptp(once[bounds])


def test_the_icc_has_no_analytic_interval_for_missing_annotators_or_clusters() -> None:
    words = letters(40, 3)
    options = {"categories": list("123"), "level": "interval", "resamples": 100}
    icc = [f"{name}_analytic_low" for name in ("icc_2_1", "icc_2_k")]
    whole = agreement(annotations_of(words), cases_of(40), **options).iloc[0]
    assert whole[icc].notna().all()
    assert pd.isna(whole["reason"])
    some = annotations_of(words | {"a2": words["a2"][:30] + "-" * 10})
    missing = agreement(some, cases_of(40), **options).iloc[0]
    assert missing[icc].isna().all()
    assert missing[["icc_2_1", "icc_2_1_low"]].notna().all()
    assert "not every annotator" in missing["reason"]
    cases = cases_of(40, cluster=[i // 2 for i in range(40)])
    clustered = agreement(annotations_of(words), cases, **options).iloc[0]
    assert clustered[icc].isna().all()
    assert "in clusters" in clustered["reason"]


def test_one_cluster_has_no_analytic_interval_either() -> None:
    cases = cases_of(40, cluster=["x"] * 40)
    row = agreement(annotations_of(letters(40, 3)), cases, categories=list("123"), level="interval", resamples=50).iloc[
        0
    ]
    assert row[ANALYTIC].isna().all()
    assert "one cluster" in row["reason"]
    pair = annotator_pairs(annotations_of(letters(40, 2)), cases, categories=list("123"), resamples=50).iloc[0]
    assert pair[[name for name in pair.index if name.endswith(("_low", "_high"))]].isna().all()
    assert "one cluster" in pair["reason"]


def test_bounds_stay_within_what_a_coefficient_can_be() -> None:
    words = {"a": "A" * 38 + "BB", "b": "A" * 37 + "BAB"}
    row = agreement(annotations_of(words), cases_of(40), resamples=0).iloc[0]
    assert row["percent_agreement_analytic_high"] <= 1
    assert row["cohen_kappa_analytic_high"] <= 1
