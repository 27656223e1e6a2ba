"""Sign flips: all of them where they are few, a sample of them otherwise, and whole clusters at a time."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import permutation_test

from mrb_lib.stats.paired import comparisons
from mrb_lib.stats.permutation import flips, p_values

from .small_tables import cases_of, gold_of, verdicts_of


def every_flip(gain: np.ndarray) -> float:
    signs = np.array(list(product([-1, 1], repeat=len(gain))))
    sums, bound = np.abs(signs @ gain), abs(gain.sum())
    return float(((sums > bound + 1e-9).mean() + (sums > bound - 1e-9).mean()) / 2)


def of_right(first: str, second: str, **columns: list[object]):
    verdicts = verdicts_of({("a", "AB"): first, ("b", "AB"): second})
    return verdicts, gold_of("A" * len(first)), cases_of(len(first), **columns)


def test_as_all_flips_of_a_small_benchmark_and_as_scipy() -> None:
    first, second = "AAAAAAAAABTB", "BBTABBAABABA"
    row = comparisons(*of_right(first, second), resamples=40_000, seed=3).iloc[0]
    worth = {"A": 1.0, "T": 0.5, "B": 0.0}
    one, two = (np.array([worth[letter] for letter in text]) for text in (first, second))
    exact = every_flip(one - two)
    slack = 4 * np.sqrt(exact * (1 - exact) / 40_000)
    assert row["permutation_p"] == pytest.approx(exact, abs=slack)
    scipys = permutation_test(
        (one, two),
        lambda a, b: abs(np.mean(a - b)),
        permutation_type="samples",
        alternative="greater",
        n_resamples=np.inf,
    )
    ties = (np.abs(scipys.null_distribution - abs((one - two).mean())) < 1e-9).mean()
    assert exact == pytest.approx(scipys.pvalue - ties / 2)


def test_clusters_are_flipped_as_one() -> None:
    cluster = list(np.repeat(np.arange(6), 4))
    first, second = "AAAA" * 4 + "ABBB" * 2, "BBBA" * 4 + "AABB" * 2
    tables = of_right(first, second, cluster=cluster)
    row = comparisons(*tables, resamples=20_000).iloc[0]
    gain = np.array([a == "A" for a in first]) * 1.0 - np.array([b == "A" for b in second])
    exact = every_flip(np.add.reduceat(gain, np.arange(0, 24, 4)))
    assert row["permutation_p"] == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 20_000))
    alone = comparisons(*tables[:2], tables[2].drop(columns="cluster"), resamples=20_000).iloc[0]
    assert alone["permutation_p"] < row["permutation_p"] / 3


def test_equal_judges_have_a_p_of_1_and_none_is_0() -> None:
    equal = comparisons(*of_right("AABB", "BBAA"), resamples=99).iloc[0]
    assert (equal["permutation_p"], equal["bootstrap_p"]) == (1, 1)
    clear = comparisons(*of_right("A" * 40, "B" * 39 + "A"), resamples=99).iloc[0]
    assert (clear["permutation_p"], clear["bootstrap_p"]) == (0.01, 0.01)


def test_flips_are_fair_seeded_and_not_the_bootstraps() -> None:
    (first,), (again,), (other,) = (list(flips(50, 4000, seed)) for seed in (0, 0, 1))
    assert first.shape == (50, 4000)
    assert set(np.unique(first)) == {-1, 1}
    assert np.abs(first.mean(axis=1)).max() < 5 / np.sqrt(4000)
    assert (first == again).all()
    assert (first != other).any()
    assert np.abs(np.corrcoef(first) - np.eye(50)).max() < 0.09


def test_the_flips_do_not_depend_on_their_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    (whole,) = flips(13, 100, 5)
    monkeypatch.setattr("mrb_lib.stats.permutation._FLIPPED_AT_ONCE", 13 * 30)
    parts = list(flips(13, 100, 5))
    assert len(parts) > 1
    assert (np.hstack(parts) == whole).all()


def test_ties_count_half() -> None:
    flipped = np.array([[2.0, -2.0, 1.0, 0.0]], dtype=np.float32)
    assert p_values(flipped, np.array([-2.0]))[0] == (1 + 1) / 5


def test_different_cases_for_each_judge_change_nothing_but_the_cases() -> None:
    """A pair scored on different cases has columns of its own; its numbers are those of the common cases alone."""
    first, second, third = "AAB-AABABAABTA", "BABABA-BBABBBA", "ABABABABABABAB"
    shown = {("a", "AB"): first, ("b", "AB"): second, ("c", "AB"): third}
    n = len(first)
    rows = comparisons(verdicts_of(shown), gold_of("A" * n), cases_of(n), resamples=3000)
    common = [i for i in range(n) if first[i] != "-" and second[i] != "-"]
    few = {name: "".join(text[i] for i in common) for name, text in (("a", first), ("b", second))}
    alone = comparisons(
        verdicts_of({(name, "AB"): text for name, text in few.items()}),
        gold_of("A" * len(common)),
        cases_of(len(common)),
        resamples=3000,
    )
    both = pd.concat([rows.iloc[[0]], alone.iloc[[0]]])
    for name in ("n", "difference", "standard_error", "p_value", "mid_p", "t_p"):
        assert both[name].iloc[0] == pytest.approx(both[name].iloc[1])
    for name in ("low", "high", "bootstrap_p", "permutation_p"):
        assert both[name].iloc[0] == pytest.approx(both[name].iloc[1], abs=0.06)


def test_on_right_and_wrong_it_is_mcnemars_mid_p() -> None:
    row = comparisons(*of_right("A" * 11 + "B" * 4 + "A" * 9, "B" * 11 + "A" * 4 + "A" * 9), resamples=40_000).iloc[0]
    assert row["permutation_p"] == pytest.approx(row["mid_p"], abs=0.005)
