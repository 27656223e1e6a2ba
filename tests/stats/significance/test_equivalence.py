"""Two one-sided tests, against statsmodels and against their interval."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t as student
from statsmodels.stats.weightstats import ttost_paired

from mrb_lib.stats.scoring import correctness
from mrb_lib.stats.significance.paired import check_margin, equivalence, noninferiority, significance
from mrb_lib.tables.errors import InputError
from tests.stats.small_tables import cases_of, gold_of, random_verdicts, verdicts_of


def gains(n: int = 80) -> np.ndarray:
    return np.random.default_rng(1).choice([-1, -0.5, 0, 0.5, 1], n, p=[0.05, 0.1, 0.6, 0.15, 0.1])


@pytest.mark.parametrize("margin", [0.02, 0.1, 0.3])
def test_as_statsmodels(margin: float) -> None:
    gain = gains()
    error = np.array([gain.std(ddof=1) / np.sqrt(len(gain))])
    p, lower, _ = ttost_paired(gain, np.zeros(len(gain)), -margin, margin)
    both = [
        noninferiority(sign * np.array([gain.mean()]), error, np.array([len(gain) - 1.0]), margin) for sign in (1, -1)
    ]
    assert equivalence(*both)[0] == pytest.approx(p, abs=1e-12)
    assert both[0][0] == pytest.approx(lower[1], abs=1e-12)


def test_the_test_is_the_90_percent_interval() -> None:
    difference = np.linspace(-0.1, 0.1, 41)
    half = student.ppf(0.95, 30) * 0.02
    inside = (difference - half > -0.05) & (difference + half < 0.05)
    error, df = np.full(41, 0.02), np.full(41, 30.0)
    found = equivalence(noninferiority(difference, error, df, 0.05), noninferiority(-difference, error, df, 0.05))
    assert ((found < 0.05) == inside).all()
    assert inside.any()


def test_without_variation_there_is_no_test() -> None:
    undefined = noninferiority(np.zeros(2), np.array([0.0, np.nan]), np.full(2, 5.0), 0.05)
    assert np.isnan(equivalence(undefined, undefined)).all()


@pytest.mark.parametrize("margin", [0.0, -0.1, 1.0])
def test_a_margin_that_means_nothing_is_refused(margin: float) -> None:
    with pytest.raises(InputError, match="must be above 0 and below 1"):
        check_margin(margin)


def test_the_table_tests_the_paired_scores() -> None:
    generator = np.random.default_rng(4)
    n = 120
    verdicts, gold = random_verdicts(generator, n, judges=3), gold_of("".join(generator.choice(list("AB"), n)))
    rows = significance(verdicts, gold, cases_of(n), margin=0.15, correction="none", resamples=0)
    wide = correctness(verdicts, gold).pivot_table(index="case_id", columns="judge", values="score")
    for row in rows[rows["part"] == "pair"].itertuples():
        both = wide[[row.judge_1, row.judge_2]].dropna()
        gain = (both[row.judge_1] - both[row.judge_2]).to_numpy()
        p, lower, upper = ttost_paired(gain, np.zeros(len(gain)), -0.15, 0.15)
        assert row.equivalence_p == pytest.approx(p, abs=1e-9)
        assert row.noninferiority_p == pytest.approx(lower[1], abs=1e-9)
        assert row.noninferiority_2_p == pytest.approx(upper[1], abs=1e-9)
        assert row.equivalent == (p <= 0.05)


def test_verdicts_are_null_where_there_is_no_test() -> None:
    verdicts = verdicts_of({("a", "AB"): "AAB", ("b", "AB"): "AAB"})
    row = significance(verdicts, gold_of("AAA"), cases_of(3), margin=0.05, resamples=50).iloc[0]
    assert row[["equivalence_p", "noninferiority_p", "t_p"]].isna().all()
    assert row[["equivalent", "noninferior", "noninferior_2"]].isna().all()
    assert "the two judges have the same score on every case" in row["reason"]
    assert (row["p_value"], row["mid_p"], row["permutation_p"], row["bootstrap_p"]) == (1, 1, 1, 1)


def test_without_a_margin_nobody_is_called_equivalent() -> None:
    """Issue 12, point 14: five points that nobody had stated made judges equivalent."""
    verdicts = verdicts_of({("a", "AB"): "AAB" * 30, ("b", "AB"): "ABB" * 30})
    tables = verdicts, gold_of("A" * 90), cases_of(90)
    row = significance(*tables, resamples=0).iloc[0]
    tests = [name for name in row.index if "equivalen" in name or "noninferior" in name]
    assert len(tests) == 9 and row[[*tests, "margin"]].isna().all()
    assert "equivalence" not in row["reason"], "a hint in every row would hide what is wrong with one"
    stated = significance(*tables, margin=0.5, resamples=0).iloc[0]
    assert stated["equivalent"] and "equivalence" not in str(stated["reason"])


def test_a_pair_whose_difference_never_varies_counts_in_the_family() -> None:
    """b and c give the same verdicts: whether their test is defined is an outcome, the number of pairs is not."""
    generator = np.random.default_rng(0)
    a, b = ("".join(generator.choice(list("AB"), 80, p=[share, 1 - share])) for share in (0.8, 0.5))
    verdicts = verdicts_of({("a", "AB"): a, ("b", "AB"): b, ("c", "AB"): b})
    options = {"correction": "bonferroni", "margin": 0.05, "resamples": 0}
    rows = significance(verdicts, gold_of("A" * 80), cases_of(80), **options)
    rows = rows[rows["part"] == "pair"]
    assert (rows["family"] == 3).all()
    defined = rows[rows["noninferiority_2_p"].notna()]
    assert len(defined) == 2
    expected = np.minimum(1, 3 * defined["noninferiority_2_p"])
    assert defined["noninferiority_2_p_adjusted"].to_numpy() == pytest.approx(expected.to_numpy())
