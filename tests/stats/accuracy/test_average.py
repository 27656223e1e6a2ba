"""The average over dimensions is that of the accuracies, and its interval is its own."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mrb_lib.stats.accuracy import accuracy, average
from mrb_lib.stats.accuracy.mean_scores import means
from mrb_lib.stats.core.panel import as_panel
from mrb_lib.stats.core.scoring import encode_gold, score
from mrb_lib.stats.resampling.resample import cluster_codes
from mrb_lib.stats.subfields import groups
from mrb_lib.tables.schema import DIMENSIONS, POLICIES
from tests.stats.small_tables import cases_of, gold_of, random_verdicts, verdicts_of

N = 90


def made(
    seed: int, *, labels: str = "ABT", verdicts: str = "AABBT?"
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Verdicts of three judges, gold and cases in clusters of two, on six dimensions."""
    rng = np.random.default_rng(seed)
    gold, said = [], []
    for name in DIMENSIONS:
        gold.append(gold_of("".join(rng.choice(list(labels), N)), name))
        shown = {
            (f"j{judge}", order): "".join(rng.choice(list(verdicts), N)) for judge in range(3) for order in ("AB", "BA")
        }
        said.append(verdicts_of(shown, name))
    cases = cases_of(N, organ=list(rng.choice(["eye", "lung", "heart"], N)), patient=[str(i // 2) for i in range(N)])
    return pd.concat(said, ignore_index=True), pd.concat(gold, ignore_index=True), cases


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("missing", [False, True])
def test_it_is_the_mean_of_the_accuracies_overall_and_in_every_subfield(policy: str, missing: bool) -> None:
    verdicts, gold, cases = made(1, labels="ABT?-" if missing else "ABT")
    rows = average(verdicts, gold, cases, policy=policy, by="organ", resamples=60)
    each = accuracy(verdicts, gold, cases, policy=policy, by="organ", resamples=0)
    expected = each.fillna({"subfield": "all"}).groupby(["judge", "subfield"])["accuracy"].mean()
    shown = rows.fillna({"subfield": "all"}).set_index(["judge", "subfield"])["average"]
    assert len(shown) == 3 * 4
    assert shown.reindex(expected.index).to_numpy() == pytest.approx(expected.to_numpy())
    assert (rows["low"] < rows["average"]).all()
    assert (rows["average"] < rows["high"]).all()
    assert rows[rows["subfield"].isna()]["rank"].tolist() == [1, 2, 3]
    assert rows[rows["subfield"].isna()]["average"].is_monotonic_decreasing


@pytest.mark.parametrize("cluster", ["case_id", "patient"])
def test_of_complete_data_its_interval_is_that_of_the_mean_score_of_cases(cluster: str) -> None:
    verdicts, gold, cases = made(2)
    rows = average(verdicts, gold, cases, cluster=cluster, resamples=200).set_index("judge").sort_index()
    panel = as_panel(verdicts, cases["case_id"])
    scores = score(panel, encode_gold(gold, cases["case_id"], panel.dimensions), "balanced").score
    [same], _ = means(scores.mean(axis=1).T, groups(cases, None), cluster_codes(cases, cluster), resamples=200, seed=0)
    for name in ("low", "high"):
        expected = dict(zip(panel.judges, getattr(same.recommended, name), strict=True))
        assert rows[name].to_dict() == pytest.approx(expected)


def test_on_one_dimension_it_is_the_accuracy_with_its_interval() -> None:
    verdicts, gold, cases = made(3, labels="ABT?")
    rows = average(verdicts, gold, cases, dimensions=["overall"], by="organ", resamples=200)
    each = accuracy(verdicts, gold, cases, dimensions=["overall"], by="organ", resamples=200)
    both = rows.merge(each, on=["judge", "subfield"], suffixes=("", "_accuracy"))
    assert len(both) == len(rows) == 12
    for name, same in (
        ("average", "accuracy"),
        ("low", "low_accuracy"),
        ("high", "high_accuracy"),
        ("n", "n_accuracy"),
    ):
        assert both[name].to_numpy(dtype=float) == pytest.approx(both[same].to_numpy(dtype=float)), name
    assert (both["interval"] == both["interval_accuracy"]).all()


def test_dimensions_that_say_the_same_gain_nothing_and_independent_ones_do() -> None:
    rng = np.random.default_rng(4)
    one = "".join(rng.choice(list("AB"), N, p=[0.7, 0.3]))
    cases, gold = cases_of(N), pd.concat([gold_of("A" * N, name) for name in DIMENSIONS], ignore_index=True)
    same = pd.concat([verdicts_of({("j", "AB"): one}, name) for name in DIMENSIONS], ignore_index=True)
    other = pd.concat(
        [verdicts_of({("j", "AB"): "".join(rng.permutation(list(one)))}, name) for name in DIMENSIONS],
        ignore_index=True,
    )
    options = {"policy": "official", "resamples": 800}
    widths = []
    for verdicts in (same, other):
        row = average(verdicts, gold, cases, **options).iloc[0]
        single = accuracy(verdicts, gold, cases, **options)
        assert row["average"] == pytest.approx(single["accuracy"].mean())
        widths.append((row["high"] - row["low"]) / (single["high"] - single["low"]).mean())
    assert widths[0] == pytest.approx(1, abs=1e-9)
    assert 0.3 < widths[1] < 0.55, "about one over the root of six"


def test_a_dimension_without_a_scored_case_leaves_it_undefined_and_says_so() -> None:
    verdicts, gold, cases = made(5)
    verdicts = verdicts[(verdicts["judge"] != "j1") | (verdicts["dimension"] != "creativity")]
    rows = average(verdicts, gold, cases, resamples=60).set_index("judge")
    assert rows.loc["j1", ["average", "low", "high"]].isna().all()
    assert rows.loc["j1", "reason"] == "no case can be scored on creativity"
    assert pd.isna(rows.loc["j1", "rank"])
    assert rows.loc[["j0", "j2"], "average"].notna().all()


def test_references_stand_below_and_have_no_rank() -> None:
    verdicts, gold, cases = made(6)
    rows = average(verdicts, gold, cases, offered=("A", "B"), resamples=0)
    assert rows["kind"].tolist() == ["judge"] * 3 + ["reference"] * 4
    assert rows.loc[rows["kind"] == "reference", "rank"].isna().all()
    assert rows["low"].isna().all()
    assert len(average(verdicts, gold, cases, offered=("A", "B"), references=0, resamples=0)) == 3


def test_an_unjudged_judge_is_not_invented() -> None:
    verdicts = random_verdicts(np.random.default_rng(0), 20, judges=2)
    rows = average(verdicts, gold_of("AB" * 10), cases_of(20), resamples=0)
    assert sorted(rows["judge"]) == ["j0", "j1"]
    assert set(rows["n_dimensions"]) == {1}
