"""The table significance: pairs of judges, equivalence, all at once, and letters."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from statsmodels.stats.weightstats import ttost_paired

from mrb_lib.stats.scoring import correctness
from mrb_lib.stats.tables.significance import display
from tests.stats import small_tables as small

FAST = {"resamples": 200, "seed": 0}
pairs_of, letters = (small.table_of("significance", part=name) for name in ("pair", "letters"))
omnibus_of = small.table_of("significance", part="omnibus", resamples=0)


def of_counts(counts: dict[str, int]) -> small.Tables:
    """Judges "j1", "j2", ... from how often each pattern of right (1) and wrong (0) occurs; gold is A."""
    patterns = np.array([list(pattern) for pattern, count in counts.items() for _ in range(count)]).astype(int)
    return small.judged({f"j{i}": row for i, row in enumerate(patterns.T, start=1)})


def test_cochrans_q_of_three_judges_says_when_not_to_read_it() -> None:
    rows = omnibus_of(*of_counts({"111": 6, "110": 16, "100": 4, "001": 6}), policy="official")
    q, f = (rows[rows["test"] == name].iloc[0] for name in ("cochran_q", "permutation_f"))
    assert "too often" in q["reason"] and "permutation_f" in q["reason"]
    assert "too often" not in str(f["reason"])
    two = omnibus_of(*of_counts({"11": 6, "10": 16, "01": 4}), policy="official")
    assert not two["reason"].fillna("").str.contains("too often").any()


@pytest.mark.parametrize(
    ("cluster", "resamples", "method"),
    [([0] * 24, 99, None), (list(range(8)) * 3, 99, "t"), (None, 0, None), (list(range(8)) * 3, 0, "t")],
)
def test_a_row_without_an_interval_names_no_method(
    cluster: list[int] | None, resamples: int, method: str | None
) -> None:
    rng = np.random.default_rng(0)
    columns = {} if cluster is None else {"cluster": cluster * 4}
    tables = small.judged({name: rng.random(96) < 0.5 for name in "jk"}, **columns)
    row = pairs_of(*tables, resamples=resamples).iloc[0]
    assert pd.isna(row["low"]) == (method is None)
    assert (row["interval"] if method else pd.isna(row["interval"])) == (method or True)


def test_cases_are_paired_and_equivalence_is_tested_as_by_statsmodels() -> None:
    generator = np.random.default_rng(4)
    verdicts = small.random_verdicts(generator, 120, judges=3)
    gold = small.gold_of("".join(generator.choice(list("ABT?"), 120)))
    rows = pairs_of(verdicts, gold, small.cases_of(120), margin=0.15, correction="none", **FAST)
    wide = correctness(verdicts, gold).pivot_table(index="case_id", columns="judge", values="score")
    for row in rows.itertuples():
        both = wide[[row.judge_1, row.judge_2]].dropna()
        gain = both[row.judge_1] - both[row.judge_2]
        assert (row.n, row.n_excluded) == (len(both), 120 - len(both))
        assert row.difference == pytest.approx(gain.mean())
        assert (row.only_1, row.only_2) == ((gain > 0).sum(), (gain < 0).sum())
        p, lower, upper = ttost_paired(gain.to_numpy(), np.zeros(len(gain)), -0.15, 0.15)
        assert row.equivalence_p == pytest.approx(p, abs=1e-9)
        assert row.equivalence_p == pytest.approx(max(lower[1], upper[1]), abs=1e-9)
        assert row.equivalent == (p <= 0.05)


def test_all_judges_are_compared_on_complete_cases() -> None:
    """The F itself is that of statsmodels and pingouin in tests/stats/test_flips.py."""
    generator = np.random.default_rng(4)
    verdicts = small.random_verdicts(generator, 40, judges=4)
    gold = small.gold_of("".join(generator.choice(list("ABT"), 40)))
    row = omnibus_of(verdicts, gold, small.cases_of(40)).iloc[0]
    wide = correctness(verdicts, gold).pivot_table(index="case_id", columns="judge", values="score").dropna()
    assert (row["test"], row["n"], row["n_excluded"]) == ("permutation_f", len(wide), 40 - len(wide))


def clustered(seed: int = 0, judges: int = 3) -> small.Tables:
    """60 cases in 15 clusters, the last dozen of them in organ "eye", each a cluster of its own there."""
    generator = np.random.default_rng(seed)
    columns = {"cluster": [*np.repeat(np.arange(12), 4), *range(100, 112)], "organ": ["lung"] * 48 + ["eye"] * 12}
    return small.judged({f"j{i}": generator.random(60) < 0.7 for i in range(judges)}, **columns)


@pytest.mark.parametrize("policy", ["official", "balanced"])
def test_where_clusters_hold_several_cases_the_p_is_of_the_test_that_minds_them(policy: str) -> None:
    pairs = pairs_of(*clustered(), policy=policy, by="organ", correction="holm", **FAST)
    together = pairs["subfield"].ne("eye").to_numpy()
    assert (pairs.loc[together, "test"] == "permutation_cluster").all()
    alone = "permutation" if policy == "balanced" else "mcnemar_exact"
    assert (pairs.loc[~together, "test"] == alone).all()
    if policy == "official":
        for row in pairs[~together].itertuples():
            assert row.p_value == pytest.approx(binomtest(row.only_1, row.only_1 + row.only_2).pvalue)


def test_degrees_of_freedom_are_clusters_less_one_or_none() -> None:
    rows = pairs_of(*small.tables_of({("a", "AB"): "AABB", ("b", "AB"): "AB--", ("c", "AB"): "---A"}, "AAAA"), **FAST)
    assert rows["df"].to_numpy() == pytest.approx([1, np.nan, np.nan], nan_ok=True)


def test_the_test_of_all_judges_is_over_clusters() -> None:
    row = omnibus_of(*clustered(judges=4), policy="official").iloc[0]
    assert (row["test"], row["n_clusters"], row["df"], row["df_error"]) == ("permutation_f", 24, 3, 3 * 23)
    alone = omnibus_of(*clustered(judges=4), policy="official", cluster="case_id")
    assert alone["test"].tolist() == ["cochran_q", "permutation_f"]


def letter_display(differ: np.ndarray) -> list[str]:
    names = [f"j{i:02d}" for i in range(len(differ))]
    return display(names, {frozenset((names[i], names[j])) for i, j in np.argwhere(differ)})


def matrix(count: int, pairs: list[tuple[int, int]]) -> np.ndarray:
    out = np.zeros((count, count), dtype=bool)
    for i, j in pairs:
        out[i, j] = out[j, i] = True
    return out


def test_a_display_worked_out_by_hand() -> None:
    """Of five in order, all that are more than one step apart differ: ab shared by neighbours, as in a ladder."""
    ladder = [(i, j) for i, j in combinations(range(5), 2) if j - i > 1]
    assert letter_display(matrix(5, ladder)) == ["a", "ab", "bc", "cd", "d"]
    assert letter_display(matrix(3, [])) == ["a", "a", "a"]
    assert letter_display(matrix(3, list(combinations(range(3), 2)))) == ["a", "b", "c"]


def test_more_letters_than_the_alphabet() -> None:
    shown = letter_display(matrix(30, list(combinations(range(30), 2))))
    assert shown[25:28] == ["z", "A", "B"]


@given(st.integers(2, 9), st.integers(0, 2**36 - 1))
def test_two_share_a_letter_exactly_where_they_do_not_differ(count: int, flags: int) -> None:
    pairs = list(combinations(range(count), 2))
    differ = matrix(count, [pair for i, pair in enumerate(pairs) if flags >> i & 1])
    shown = [set(text) for text in letter_display(differ)]
    assert all(shown)
    for i, j in combinations(range(count), 2):
        assert bool(shown[i] & shown[j]) == (not differ[i, j])
    columns = {letter: {i for i, text in enumerate(shown) if letter in text} for letter in set().union(*shown)}
    assert not any(one < other for one in columns.values() for other in columns.values())


def planted(n: int = 200) -> small.Tables:
    """A good judge, two middling ones with the same answers but for two cases, and a bad one."""
    generator = np.random.default_rng(0)
    middle = generator.random(n) < 0.6
    near = middle ^ (np.arange(n) < 2)
    return small.judged({
        "good": generator.random(n) < 0.9, "middle": middle, "near": near, "bad": generator.random(n) < 0.2,
    })  # fmt: skip


def test_letters_are_those_of_the_adjusted_tests() -> None:
    rows = letters(*planted(), resamples=100)
    assert rows["judge_1"].tolist()[:: len(rows) - 1] == ["good", "bad"]
    assert rows["letters"].tolist() == ["a", "b", "b", "c"]
    assert rows["with_best"].tolist() == [True, False, False, False]
    assert (rows["family"] == 6).all()


def test_judges_that_differ_alike_in_every_cluster_share_no_letter() -> None:
    """Between the perfect and the worthless judge no cluster departs from the mean: no t test, but a difference."""
    middle = np.random.default_rng(0).random(100) < 0.5
    right = {"perfect": np.ones(100), "worthless": np.zeros(100), "middle": middle}
    rows = letters(*small.judged(right, cluster=list(np.repeat(np.arange(20), 5))), resamples=50)
    assert rows["judge_1"].tolist() == ["perfect", "middle", "worthless"]
    assert rows["letters"].tolist() == ["a", "b", "c"]


def test_judges_without_common_cases_are_not_shown_to_differ() -> None:
    rows = letters(*small.tables_of({("a", "AB"): "AA--", ("b", "AB"): "--BB"}, "AAAA"), resamples=50)
    assert rows["letters"].tolist() == ["a", "a"]
    assert rows["reason"].str.contains("could not be tested").all()


def test_verdicts_are_null_where_there_is_no_test() -> None:
    row = pairs_of(*small.tables_of(dict.fromkeys("ab", "AAB"), "AAA"), margin=0.05, resamples=50).iloc[0]
    assert row[["equivalence_p", "equivalent"]].isna().all()
    assert row["p_value"] == 1


def test_without_a_margin_nobody_is_called_equivalent() -> None:
    """Issue 12, point 14: five points that nobody had stated made judges equivalent."""
    tables = small.tables_of({("a", "AB"): "AAB" * 30, ("b", "AB"): "ABB" * 30}, "A" * 90)
    row = small.significance(*tables, resamples=0).iloc[0]
    tests = [name for name in row.index if "equivalen" in name]
    assert len(tests) == 3 and row[[*tests, "margin"]].isna().all()
    assert "equivalence" not in row["reason"], "a hint in every row would hide what is wrong with one"
    stated = small.significance(*tables, margin=0.5, resamples=0).iloc[0]
    assert stated["equivalent"] and "equivalence" not in str(stated["reason"])


def test_a_pair_whose_difference_never_varies_counts_in_the_family() -> None:
    """b and c give the same verdicts: whether their test is defined is an outcome, the number of pairs is not."""
    generator = np.random.default_rng(0)
    a, b = generator.random(80) < 0.8, generator.random(80) < 0.5
    rows = pairs_of(*small.judged({"a": a, "b": b, "c": b}), correction="bonferroni", margin=0.05, resamples=0)
    assert (rows["family"] == 3).all()
    defined = rows[rows["equivalence_p"].notna()]
    assert len(defined) == 2
    expected = np.minimum(1, 3 * defined["equivalence_p"])
    assert defined["equivalence_p_adjusted"].to_numpy() == pytest.approx(expected.to_numpy())
