"""Analytic intervals: derivatives, clusters, and what they cannot be had for."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtri
from scipy.stats import t

from mrb_lib.stats.agreement import agreement, annotator_pairs
from mrb_lib.stats.agreement.icc import COARSE
from mrb_lib.stats.agreement.intervals import bootstrap_bounds, gradient, kappa_interval
from mrb_lib.stats.agreement.pair_coefficients import KAPPAS
from mrb_lib.stats.agreement.table import SHOWN
from tests.stats.small_tables import annotations_of, cases_of

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
    assert gradient(statistic, sums[None])[0] == pytest.approx(np.array(expected), abs=1e-8)
    several = gradient(statistic, np.array([sums, 2 * sums]))
    assert several[0] == pytest.approx(np.array(expected), abs=1e-8)
    assert several[1] == pytest.approx(np.array([[1 / 8, 96], [-3 / 32, 36], [0, 0]]), abs=1e-8)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_the_variance_is_that_of_the_jackknife(level: str) -> None:
    """Leaving out one case after the other estimates the same variance, and shares nothing with derivatives."""
    n = 40
    words = letters(n, 3)
    whole = annotations_of(words)
    without = pd.concat(
        [whole[whole["case_id"] != f"c{i}"].assign(dimension=f"without {i}") for i in range(n)], ignore_index=True
    )
    rows = agreement(without, cases_of(n), categories=list("123"), level=level, resamples=0)
    error = np.sqrt((n - 1) ** 2 / n * rows[list(SHOWN)].var(axis=0, ddof=1).to_numpy(dtype=float))
    row = agreement(whole, cases_of(n), categories=list("123"), level=level, resamples=0).iloc[0]
    checked = 0
    for name, expected in zip(SHOWN, error, strict=True):
        low, high = row[f"{name}_analytic_low"], row[f"{name}_analytic_high"]
        if np.isfinite(low) and not name.startswith("icc"):
            half = (
                (np.arctanh(high) - np.arctanh(low)) / 2 * (1 - row[name] ** 2) if name in KAPPAS else (high - low) / 2
            )
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
    words = letters(60, 3)
    options = {"categories": list("123"), "level": "interval", "resamples": 100}
    icc = [f"{name}_analytic_low" for name in ("icc_2_1", "icc_2_k")]
    whole = agreement(annotations_of(words), cases_of(60), **options).iloc[0]
    assert whole[icc].notna().all()
    assert whole["reason"] == COARSE
    some = annotations_of(words | {"a2": words["a2"][:50] + "-" * 10})
    missing = agreement(some, cases_of(60), **options).iloc[0]
    assert missing[icc].isna().all()
    assert missing[["icc_2_1", "icc_2_1_low"]].notna().all()
    assert "not every annotator" in missing["reason"]
    cases = cases_of(60, cluster=[i // 2 for i in range(60)])
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
    for words, least in (({"a": "AAB", "b": "ABA"}, -1.0), ({"a": "ABT", "b": "ATB"}, -0.5)):
        row = agreement(annotations_of(words), cases_of(3), resamples=0).iloc[0]
        assert row["percent_agreement_analytic_low"] == 0
        assert row["pabak_analytic_low"] == pytest.approx(least)
        assert min(row[[f"{name}_analytic_low" for name in ("fleiss_kappa", "gwet_ac1")]]) >= -1


def test_the_interval_of_a_kappa_stays_within_1_and_has_no_width_where_all_agree() -> None:
    value, variance = np.array([0.95, 1.0, -0.95, 0.0]), np.array([0.01, 0.0, 0.01, 0.01])
    low, high = kappa_interval(value, variance, np.full(4, 30))
    assert ((low >= -1) & (high <= 1) & (low <= value) & (value <= high)).all()
    assert (low[1], high[1]) == (1, 1)
    assert (low[0], high[0]) == pytest.approx((-high[2], -low[2]))
    end = np.tanh(0.1 * t.ppf(0.975, 29) * np.sqrt(30 / 29))
    assert (low[3], high[3]) == pytest.approx((-end, end))
    assert np.isnan(kappa_interval(value, variance, np.ones(4))[0]).all()


def test_the_wider_levels_of_few_clusters_are_those_of_student() -> None:
    """Of replicates that are normal, the ends are the estimate -+ t sqrt(n / (n - 1)) of their spread."""
    replicates = ndtri((np.arange(20_000) + 0.5) / 20_000)[:, None]
    for n in (5.0, 20.0, 1000.0):
        reach = t.ppf(0.975, n - 1) * np.sqrt(n / (n - 1))
        bounds = bootstrap_bounds(replicates, np.array([n]))[:, 0]
        assert bounds == pytest.approx([-reach, reach], rel=5e-3)
    plain = bootstrap_bounds(replicates, np.array([1e6]))[:, 0]
    assert plain == pytest.approx([-1.96, 1.96], abs=5e-3)


def clustered_pair() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Annotators a and b share cases that come in twos, either of them other cases with c."""
    words = letters(160, 3, seed=2)
    some = {
        "a": words["a0"][:110] + "-" * 50,
        "b": words["a1"][:60] + "-" * 50 + words["a1"][110:],
        "c": "-" * 60 + words["a2"][60:],
    }
    return annotations_of(some), cases_of(160, cluster=[i // 2 if i < 60 else i for i in range(160)])


def test_only_pairs_in_clusters_are_said_to_be() -> None:
    rows = annotator_pairs(*clustered_pair(), categories=list("123"), level="interval", resamples=100)
    named = rows.set_index(["annotator_1", "annotator_2"])
    assert np.isnan(named.loc[("a", "b"), "icc_2_1_analytic_low"])
    assert "in clusters" in named.loc[("a", "b"), "reason"]
    for pair in (("a", "c"), ("b", "c")):
        assert np.isfinite(named.loc[pair, "icc_2_1_analytic_low"])
        assert named.loc[pair, "reason"] == COARSE


def test_perfect_agreement_says_why_it_has_no_interval_of_some_kinds() -> None:
    words = dict.fromkeys("ab", "123" * 20)
    options = {"categories": list("123"), "level": "interval", "resamples": 100}
    for table in (agreement, annotator_pairs):
        row = table(annotations_of(words), cases_of(60), **options).iloc[0]
        assert row[["icc_2_1", "icc_2_1_low", "icc_2_1_high"]].tolist() == [1, 1, 1]
        assert row[["icc_2_1_analytic_low", "icc_2_k_analytic_high"]].isna().all()
        for text in ("no error variance", "no width"):
            assert text in row["reason"]


def test_the_icc_of_few_labels_says_that_its_f_interval_is_for_normal_scores() -> None:
    for alphabet, said in (("123", True), ("123456789", False)):
        words = letters(60, 3, alphabet=alphabet)
        for table in (agreement, annotator_pairs):
            row = table(annotations_of(words), cases_of(60), categories=list(alphabet), level="interval").iloc[0]
            assert np.isfinite(row["icc_2_1_analytic_low"])
            assert (row["reason"] == COARSE) is said
