"""What training changes besides accuracy: the values of other tables, paired, on what neither judge has seen."""

import numpy as np
import pandas as pd
import pytest

from mrb_lib.stats.tables.gains import NOT_BOTH
from tests.stats.small_tables import (
    calibration,
    cases_of,
    gains,
    gold_of,
    groups_of,
    rows_of,
    significance,
    verdicts_of,
    with_first,
)
from tests.training_records import recipes_of

N = 300
GROUPS = groups_of({"base": "open", "tuned": "critic"})
RECORDS = recipes_of({"tuned": {"swap": True}}, bases=("base",))
CASES = cases_of(N, organ=["eye", "lung", "lung"] * 100).assign(
    response_a=["one " * (1 + i % 3) for i in range(N)], response_b="one one", cluster=[str(i // 2) for i in range(N)]
)
SEEN = pd.DataFrame({"judge": "tuned", "case_id": [f"c{i}" for i in range(0, N, 4)]}).astype("str")
PARTS = ["accuracy", "consistency", "first_rate", "brier", "longer_rate"]


def leaning(seed: int, accuracy: float, first: float, longer: float) -> dict[str, str]:
    """A judge that sometimes takes the first response, or the longer one, whatever they say."""
    rng = np.random.default_rng(seed)
    gold = np.array(list(GOLD))
    right = np.where(rng.uniform(size=N) < accuracy, gold, np.where(gold == "A", "B", "A"))
    by_length = np.select([np.arange(N) % 3 == 2, np.arange(N) % 3 == 0], ["A", "B"], right)
    text = np.where(rng.uniform(size=N) < longer, by_length, right)
    takes_first = rng.uniform(size=N) < first
    return {order: "".join(np.where(takes_first, order[0], text)) for order in ("AB", "BA")}


GOLD = "".join(np.random.default_rng(0).choice(list("AB"), N))


@pytest.fixture(scope="module")
def verdicts() -> pd.DataFrame:
    judges = {"base": leaning(1, 0.65, 0.4, 0.0), "tuned": leaning(2, 0.85, 0.0, 0.3)}
    made = verdicts_of({(judge, order): text for judge, of in judges.items() for order, text in of.items()})
    sure = np.where(made["judge"] == "base", 0.95, 0.8)
    return made.assign(p_a=np.where(made["choice"] == "A", sure, 1 - sure))


@pytest.fixture(scope="module")
def rows(verdicts: pd.DataFrame) -> pd.DataFrame:
    return gains(
        verdicts, gold_of(GOLD), CASES, GROUPS, training=SEEN, records=RECORDS, by="organ", margin=0.1, resamples=300
    )


def test_a_gain_that_is_bought_with_a_bias_is_seen(rows: pd.DataFrame) -> None:
    whole = rows[rows["subfield"].isna()].set_index("part")
    assert whole.index.tolist() == PARTS
    assert whole["low"]["accuracy"] > 0
    assert whole["low"]["consistency"] > 0.2
    assert (whole["value_tuned"]["consistency"], whole["value_tuned"]["first_rate"]) == (1.0, 0.5)
    assert whole["high"]["first_rate"] < -0.1
    assert whole["low"]["longer_rate"] > 0
    assert whole["high"]["brier"] < 0
    assert (whole["p_adjusted"] < 0.05).all()
    assert set(whole["n_seen"]) == {75}
    assert (whole["value_base_low"] <= whole["value_base"]).all()
    assert (whole["value_tuned"] <= whole["value_tuned_high"]).all()
    assert whole.loc["accuracy", "accuracy_base"] == whole.loc["accuracy", "value_base"]
    assert whole.drop(index="accuracy")[["accuracy_base", "accuracy_tuned", "margin"]].isna().all(axis=None)


def test_values_are_those_of_the_tables_that_are_about_them(verdicts: pd.DataFrame, rows: pd.DataFrame) -> None:
    kept = verdicts[~verdicts["case_id"].isin(SEEN["case_id"])]
    cases = CASES[~CASES["case_id"].isin(SEEN["case_id"])].reset_index(drop=True)
    orders = rows_of("consistency", cases, kept, by="organ").set_index(["judge", "subfield"])
    sure = calibration(kept, gold_of(GOLD), CASES, by="organ", resamples=0)
    sure = sure[sure["part"] == "summary"].set_index(["judge", "subfield"])
    for (part, subfield), own in rows.set_index(["part", "subfield"]).sort_index().groupby(level=[0, 1], dropna=False):
        for judge, side in (("base", "value_base"), ("tuned", "value_tuned")):
            if part == "consistency":
                assert own[side].iloc[0] == pytest.approx(orders["consistency"][judge, subfield])
            if part == "first_rate":
                assert own[side].iloc[0] == pytest.approx((1 + orders["position_bias"][judge, subfield]) / 2)
            if part == "brier":
                assert own[side].iloc[0] == pytest.approx(sure["brier"][judge, subfield])


def test_the_quantity_is_compared_as_the_table_significance_compares_accuracies(
    verdicts: pd.DataFrame, rows: pd.DataFrame
) -> None:
    """The share of longer responses is the accuracy by a gold that names the longer one."""
    longer = np.select([np.arange(N) % 3 == 2, np.arange(N) % 3 == 0], ["A", "B"], "-")
    kept = verdicts[~verdicts["case_id"].isin(SEEN["case_id"])]
    named = kept.assign(judge=kept["judge"].map({"tuned": "1", "base": "2"}))
    pairs = significance(named, gold_of("".join(longer)), CASES, by="organ", resamples=300)
    pairs = with_first(pairs[pairs["part"] == "pair"], "1").reset_index(drop=True)
    mine = rows[rows["part"] == "longer_rate"].reset_index(drop=True)
    same = {"n": "n", "difference": "gain", "low": "low", "high": "high", "p_value": "p_value", "test": "test"}
    for theirs, ours in same.items():
        pd.testing.assert_series_equal(pairs[theirs], mine[ours], check_names=False, check_dtype=False)


def test_what_no_verdict_says_is_null_with_the_reason() -> None:
    one_order = verdicts_of({("base", "AB"): GOLD, ("tuned", "AB"): GOLD})
    cases = CASES.assign(response_b=CASES["response_a"])
    made = gains(one_order, gold_of(GOLD), cases, GROUPS, training=SEEN, records=RECORDS, resamples=0).set_index("part")
    for part in PARTS[1:]:
        assert made["n"][part] == 0
        assert NOT_BOTH[part] in made["reason"][part]
        assert pd.isna(made["gain"][part])


def test_steps_of_a_training_are_pairs_each(verdicts: pd.DataFrame) -> None:
    three = pd.concat([verdicts, verdicts[verdicts["judge"] == "tuned"].assign(judge="later")])
    stated = recipes_of({"tuned": {}, "later": {}}).assign(bases=[("base", "base@1"), ("tuned", "base")])
    made = gains(three, gold_of(GOLD), CASES, GROUPS, records=stated, resamples=0)
    assert set(zip(made["base"], made["tuned"], strict=True)) == {
        ("base", "tuned"),
        ("tuned", "later"),
        ("base", "later"),
    }
    named = gains(three, gold_of(GOLD), CASES, GROUPS, records=stated, pairs=[("later", "tuned")], resamples=0)
    assert named["part"].tolist() == ["accuracy"]
