"""What training changes besides accuracy: the values of other tables, paired, on what neither judge has seen."""

import numpy as np
import pandas as pd
import pytest

from mrb_lib.stats.tables.gains import NOT_BOTH
from tests.stats import small_tables as small
from tests.training_records import recipes_of

N = 300
GROUPS = small.groups_of({"base": "open", "tuned": "critic"})
RECORDS = recipes_of({"tuned": {"swap": True}}, bases=("base",))
CASES = small.cases_of(N, organ=["eye", "lung", "lung"] * 100).assign(
    response_a=["one " * (1 + i % 3) for i in range(N)], response_b="one one", cluster=[str(i // 2) for i in range(N)]
)
SEEN = pd.DataFrame({"judge": "tuned", "case_id": [f"c{i}" for i in range(0, N, 4)]}).astype("str")
PARTS = ["accuracy", "consistency", "first_rate", "brier", "longer_rate"]


GOLD = "".join(np.random.default_rng(0).choice(list("AB"), N))
LONGER = np.select([np.arange(N) % 3 == 2, np.arange(N) % 3 == 0], ["A", "B"], "-")


def leaning(seed: int, accuracy: float, first: float, longer: float) -> dict[str, str]:
    """A judge that sometimes takes the first response, or the longer one, whatever they say."""
    rng = np.random.default_rng(seed)
    gold = np.array(list(GOLD))
    right = np.where(rng.uniform(size=N) < accuracy, gold, np.where(gold == "A", "B", "A"))
    text = np.where((rng.uniform(size=N) < longer) & (LONGER != "-"), LONGER, right)
    takes_first = rng.uniform(size=N) < first
    return {order: "".join(np.where(takes_first, order[0], text)) for order in ("AB", "BA")}


@pytest.fixture(scope="module")
def verdicts() -> pd.DataFrame:
    judges = {"base": leaning(1, 0.65, 0.4, 0.0), "tuned": leaning(2, 0.85, 0.0, 0.3)}
    made = small.verdicts_of({(judge, order): text for judge, of in judges.items() for order, text in of.items()})
    sure = np.where(made["judge"] == "base", 0.95, 0.8)
    return made.assign(p_a=np.where(made["choice"] == "A", sure, 1 - sure))


@pytest.fixture(scope="module")
def rows(verdicts: pd.DataFrame) -> pd.DataFrame:
    return made(verdicts, by="organ", margin=0.1, resamples=300)


def made(verdicts: pd.DataFrame, cases: pd.DataFrame = CASES, **options: object) -> pd.DataFrame:
    given = {"groups": GROUPS, "training": SEEN, "records": RECORDS, "resamples": 0, **options}
    return small.gains(verdicts, small.gold_of(GOLD), cases, **given)


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
    assert whole.loc["accuracy", "accuracy_base"] == whole.loc["accuracy", "value_base"]
    assert whole.drop(index="accuracy")[["accuracy_base", "accuracy_tuned", "margin"]].isna().all(axis=None)


def test_values_are_those_of_the_tables_that_are_about_them(verdicts: pd.DataFrame, rows: pd.DataFrame) -> None:
    kept = verdicts[~verdicts["case_id"].isin(SEEN["case_id"])]
    orders = small.rows_of("consistency", CASES, kept, by="organ").set_index(["judge", "subfield"]).sort_index()
    sure = small.calibration(kept, small.gold_of(GOLD), CASES, by="organ", resamples=0, part="summary")
    theirs = {
        "consistency": orders["consistency"],
        "first_rate": (1 + orders["position_bias"]) / 2,
        "brier": sure.set_index(["judge", "subfield"]).sort_index()["brier"],
    }
    for part, values in theirs.items():
        own = rows[rows["part"] == part].set_index("subfield").sort_index()
        for judge in ("base", "tuned"):
            assert own[f"value_{judge}"].to_numpy() == pytest.approx(values[judge].to_numpy())


def test_the_quantity_is_compared_as_the_table_significance_compares_accuracies(
    verdicts: pd.DataFrame, rows: pd.DataFrame
) -> None:
    """The share of longer responses is the accuracy by a gold that names the longer one."""
    kept = verdicts[~verdicts["case_id"].isin(SEEN["case_id"])]
    named = kept.assign(judge=kept["judge"].map({"tuned": "1", "base": "2"}))
    pairs = small.significance(named, small.gold_of("".join(LONGER)), CASES, by="organ", resamples=300)
    pairs = small.with_first(small.part_of(pairs, "pair"), "1")
    mine = small.part_of(rows, "longer_rate")
    same = {"n": "n", "difference": "gain", "low": "low", "high": "high", "p_value": "p_value", "test": "test"}
    for theirs, ours in same.items():
        pd.testing.assert_series_equal(pairs[theirs], mine[ours], check_names=False, check_dtype=False)


def test_what_no_verdict_says_is_null_with_the_reason() -> None:
    one_order = small.verdicts_of({("base", "AB"): GOLD, ("tuned", "AB"): GOLD})
    same = made(one_order, CASES.assign(response_b=CASES["response_a"])).set_index("part")
    for part in PARTS[1:]:
        assert same["n"][part] == 0
        assert NOT_BOTH[part] in same["reason"][part]
        assert pd.isna(same["gain"][part])


def test_steps_of_a_training_are_pairs_each(verdicts: pd.DataFrame) -> None:
    three = pd.concat([verdicts, verdicts[verdicts["judge"] == "tuned"].assign(judge="later")])
    stated = recipes_of({"tuned": {}, "later": {}}).assign(bases=[("base", "base@1"), ("tuned", "base")])
    rows = made(three, training=None, records=stated)
    assert set(zip(rows["base"], rows["tuned"], strict=True)) == {
        ("base", "tuned"),
        ("tuned", "later"),
        ("base", "later"),
    }
    named = made(three, training=None, records=stated, pairs=[("later", "tuned")])
    assert named["part"].tolist() == ["accuracy"]
