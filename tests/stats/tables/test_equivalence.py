"""Two one-sided tests, against statsmodels and against their interval."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.stats.weightstats import ttost_paired

from mrb_lib.stats.scoring import correctness
from tests.stats.small_tables import cases_of, gold_of, random_verdicts, significance, verdicts_of


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
        assert row.equivalence_p == pytest.approx(max(lower[1], upper[1]), abs=1e-9)
        assert row.equivalent == (p <= 0.05)


def test_verdicts_are_null_where_there_is_no_test() -> None:
    verdicts = verdicts_of({("a", "AB"): "AAB", ("b", "AB"): "AAB"})
    row = significance(verdicts, gold_of("AAA"), cases_of(3), margin=0.05, resamples=50).iloc[0]
    assert row[["equivalence_p", "equivalent"]].isna().all()
    assert row["p_value"] == 1


def test_without_a_margin_nobody_is_called_equivalent() -> None:
    """Issue 12, point 14: five points that nobody had stated made judges equivalent."""
    verdicts = verdicts_of({("a", "AB"): "AAB" * 30, ("b", "AB"): "ABB" * 30})
    tables = verdicts, gold_of("A" * 90), cases_of(90)
    row = significance(*tables, resamples=0).iloc[0]
    tests = [name for name in row.index if "equivalen" in name]
    assert len(tests) == 3 and row[[*tests, "margin"]].isna().all()
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
    defined = rows[rows["equivalence_p"].notna()]
    assert len(defined) == 2
    expected = np.minimum(1, 3 * defined["equivalence_p"])
    assert defined["equivalence_p_adjusted"].to_numpy() == pytest.approx(expected.to_numpy())
