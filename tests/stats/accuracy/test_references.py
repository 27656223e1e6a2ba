"""What constants earn, beside judges and below them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t
from sklearn.metrics import balanced_accuracy_score
from statsmodels.stats.proportion import proportion_confint

from mrb_lib.stats.scoring import correctness
from mrb_lib.tables.schema import CHOICES, POLICIES
from tests.stats.small_tables import accuracy, cases_of, gold_of, random_verdicts, significance, verdicts_of

CONSTANTS = {"constant-A": "A", "constant-B": "B", "constant-tie": "T"}
REFERENCES = ["always tie", "always A", "longer response", "most frequent label", "best constant"]


def both_orders(letters: dict[str, str]) -> pd.DataFrame:
    return verdicts_of({(name, order): text for name, text in letters.items() for order in ("AB", "BA")})


@pytest.mark.slow
@settings(deadline=None, max_examples=30, derandomize=True)
@given(
    share_of_a=st.floats(0.05, 0.95), share_of_ties=st.floats(0, 0.9), right=st.floats(0.6, 0.95),
    policy=st.sampled_from(POLICIES), seed=st.integers(0, 2**16),
)  # fmt: skip
def test_no_constant_is_first_where_a_judge_is_better_than_a_coin(
    share_of_a: float, share_of_ties: float, right: float, policy: str, seed: int
) -> None:
    """Whatever the gold labels: a constant earns exactly one half, however lopsided they are."""
    generator = np.random.default_rng(seed)
    n = 120
    gold = np.where(generator.random(n) < share_of_a, "A", "B")
    gold[:2] = "A", "B"
    ties = generator.random(n) < share_of_ties
    ties[:2] = False
    other = np.where(gold == "A", "B", "A")
    said = np.where(generator.random(n) < right, gold, other)
    decisive = [(said == gold)[(gold == side) & ~ties].mean() for side in "AB"]
    letters = {name: letter * n for name, letter in CONSTANTS.items()} | {"judge": "".join(said)}
    labels = gold_of("".join(np.where(ties, "T", gold)))
    rows = accuracy(both_orders(letters), labels, cases_of(n), offered=CHOICES, policy=policy, resamples=0)
    rows = rows[rows["kind"] == "judge"].set_index("judge")
    assert rows.loc[list(CONSTANTS), "decisive_accuracy"].tolist() == [0.5] * 3
    assert rows.loc["judge", "decisive_accuracy"] == pytest.approx(np.mean(decisive))
    if np.mean(decisive) > 0.5:
        assert rows.index[0] == "judge"
        assert rows["rank"].tolist() == sorted(rows["rank"])
        assert (rows.loc[list(CONSTANTS), "rank"] > 1).all()


def test_judges_that_are_alike_share_a_rank_and_one_without_a_score_has_none() -> None:
    """By decisive accuracy, then accuracy, then name."""
    letters = {
        "worst": "BBAA?", "silent": "?????", "b": "ABBBA", "a": "AABAA", "knows-ties": "AABAT", "best": "AABBA",
    }  # fmt: skip
    rows = accuracy(both_orders(letters), gold_of("AABBT"), cases_of(5), policy="answered", resamples=0)
    assert rows["judge"].tolist() == ["best", "knows-ties", "a", "b", "worst", "silent"]
    assert rows["rank"].astype("float64").fillna(0).tolist() == [1, 2, 3, 3, 5, 0]


def test_decisive_accuracy_is_balanced_accuracy_where_every_verdict_decides() -> None:
    """scikit-learn's balanced_accuracy_score, on the cases whose gold is A or B."""
    generator = np.random.default_rng(4)
    gold, said = generator.choice(list("AABT"), 90), generator.choice(list("AB"), 90)
    row = accuracy(both_orders({"j": "".join(said)}), gold_of("".join(gold)), cases_of(90), resamples=0).iloc[0]
    kept = gold != "T"
    assert row["decisive_accuracy"] == pytest.approx(balanced_accuracy_score(gold[kept], said[kept]), abs=1e-12)
    assert (row["n_decisive"], row["decisive_coverage"]) == (kept.sum(), 1)


def test_a_tie_counts_half_and_a_null_nothing_and_coverage_says_so() -> None:
    row = accuracy(both_orders({"j": "AT?B"}), gold_of("AABB"), cases_of(4), resamples=0).iloc[0]
    assert row["decisive_accuracy"] == ((1 + 0.5) / 2 + (0 + 1) / 2) / 2
    assert row["decisive_coverage"] == 0.5
    answered = accuracy(both_orders({"j": "AT?B"}), gold_of("AABB"), cases_of(4), policy="answered", resamples=0).iloc[
        0
    ]
    assert answered["decisive_accuracy"] == ((1 + 0.5) / 2 + 1) / 2


def test_decisive_accuracy_of_30_of_30_has_width() -> None:
    """With 15 wins a side, Wilson's interval of 30 of 30; where gold names one side, nothing tells from a constant."""
    row = accuracy(both_orders({"j": "AB" * 15}), gold_of("AB" * 15), cases_of(30), resamples=100).iloc[0]
    wanted = proportion_confint(30, 30, method="wilson")
    ends = ["decisive_accuracy_low", "decisive_accuracy_high"]
    assert row[ends].tolist() == pytest.approx(wanted)
    assert row[["low", "high"]].tolist() == pytest.approx(wanted)
    one = accuracy(both_orders({"j": "A" * 30}), gold_of("A" * 30), cases_of(30), resamples=100).iloc[0]
    assert one[["decisive_accuracy", *ends]].isna().all()
    assert "one side only" in one["reason"]


def test_references_stand_below_the_judges_and_compete_with_none() -> None:
    generator = np.random.default_rng(0)
    verdicts, gold = random_verdicts(generator, 60, judges=3), gold_of("".join(generator.choice(list("ABTT"), 60)))
    cases = cases_of(60, organ=["eye", "lung"] * 30).assign(response_a="two words", response_b="one")
    options = {"by": "organ", "resamples": 60}
    plain = accuracy(verdicts, gold, cases, **options)
    rows = accuracy(verdicts, gold, cases, offered=CHOICES, **options)
    judges, below = rows[rows["kind"] == "judge"], rows[rows["kind"] == "reference"]
    same = [name for name in plain if not name.startswith(("above_constant", "reason"))]
    pd.testing.assert_frame_equal(judges[same].reset_index(drop=True), plain[same])
    pd.testing.assert_frame_equal(
        accuracy(verdicts, gold, cases, offered=CHOICES, references=0, **options), judges.reset_index(drop=True)
    )
    assert below["rank"].isna().all()
    for _, part in rows.groupby("subfield", dropna=False):
        assert part["judge"].tolist()[3:] == REFERENCES
    whole = below[below["subfield"].isna()].set_index("judge")
    assert whole.loc[["most frequent label", "best constant"], "label"].tolist() == ["tie", "tie"]
    assert whole.loc["always A", "accuracy"] == whole.loc["longer response", "accuracy"]
    assert whole.loc["always tie", "exact_accuracy"] == (gold["choice"] == "tie").mean()
    no_ties = accuracy(verdicts, gold, cases, offered=("A", "B"), **options)["judge"]
    assert "always tie" not in set(no_ties)
    assert "longer response" not in set(
        accuracy(verdicts, gold, cases_of(60)[["case_id"]], offered=CHOICES, resamples=0)["judge"]
    )


@pytest.mark.parametrize("policy", ["balanced", "official"])
def test_above_constant_is_paired_with_an_error_robust_to_clusters(policy: str) -> None:
    """statsmodels' intercept of the differences with errors robust to clusters, times G / (G - 1).

    Student's t has the degrees of freedom of the comparison, in `significance`, with a judge that is that constant.
    """
    generator = np.random.default_rng(2)
    cluster = list(generator.integers(0, 12, 100))
    verdicts, gold = random_verdicts(generator, 100, judges=2), gold_of("".join(generator.choice(list("AABT"), 100)))
    cases = cases_of(100, cluster=cluster)
    rows = accuracy(verdicts, gold, cases, offered=CHOICES, policy=policy, resamples=0).set_index("judge")
    label = {"A": "A", "B": "B", "tie": "T"}[rows.loc["best constant", "label"]]
    constant = correctness(both_orders({"c": label * 100}), gold, policy)[["case_id", "score"]]
    own = correctness(verdicts, gold, policy)[["judge", "case_id", "score"]]
    with_constant = pd.concat([verdicts, both_orders({"c": label * 100})], ignore_index=True)
    pairs = significance(with_constant, gold, cases, policy=policy, resamples=200).set_index(["judge_1", "judge_2"])
    for name in ("j0", "j1"):
        both = own[own["judge"] == name].merge(constant, on="case_id").dropna().merge(cases, on="case_id")
        difference = both["score_x"] - both["score_y"]
        fitted = sm.OLS(difference, np.ones(len(both))).fit(
            cov_type="cluster", cov_kwds={"groups": both["cluster"], "use_correction": False}, use_t=True
        )
        groups = both["cluster"].nunique()
        half = fitted.bse.iloc[0] * np.sqrt(groups / (groups - 1)) * np.array([-1, 1])
        ends = difference.mean() + half * t.ppf(0.975, pairs.loc[("c", name), "df"])
        columns = ["above_constant", "above_constant_low", "above_constant_high"]
        assert rows.loc[name, columns].tolist() == pytest.approx([difference.mean(), *ends], abs=1e-9)


def annotated(letters: str) -> pd.DataFrame:
    gold = gold_of(letters)
    return pd.concat([gold.assign(annotator=f"a{i}") for i in range(2)], ignore_index=True)


def test_a_judge_that_ties_more_than_the_annotators_is_named_with_both_shares() -> None:
    labels = "AB" * 30 + "T" * 20
    said = {"shy": "T" * 60 + "AB" * 10, "like": labels, "bold": "AB" * 40}
    options = {"annotations": annotated(labels), "offered": CHOICES, "resamples": 0}
    rows = accuracy(both_orders(said), gold_of(labels), cases_of(80), **options).set_index("judge")
    assert rows.loc["shy", ["tie_share", "annotator_tie_share"]].tolist() == [0.75, 0.25]
    assert "calls 75% of its choices a tie, the annotators 25%" in rows.loc["shy", "reason"]
    assert not rows.loc[["like", "bold"], "reason"].str.contains("choices a tie", na=False).any()
    without = accuracy(both_orders(said), gold_of(labels), cases_of(80), resamples=0)
    assert without["tie_share"].isna().all()
