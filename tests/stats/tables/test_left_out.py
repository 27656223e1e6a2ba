"""What leaving a domain out of training costs, planted and found, on cases that no judge was trained on."""

import numpy as np
import pandas as pd
import pytest

from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.stats.columns import NO_CASES
from mrb_lib.stats.tables.gains import NO_PAIR
from tests.stats.small_tables import cases_of, gold_of, rows_of, significance, verdicts_of, with_first
from tests.training_records import recipes_of


def gains(
    verdicts: pd.DataFrame, gold: pd.DataFrame, cases: pd.DataFrame, *, benchmark_name: str = "t", **options: object
) -> pd.DataFrame:
    meta = BenchmarkMeta(benchmark_name, "general", ("overall",))
    return rows_of("gains", cases, verdicts, gold, meta=meta, **options)


N, VALUES = 900, ("brain", "eye", "lung")
CASES = cases_of(N, organ=[VALUES[i % 3] for i in range(N)], cluster=[str(i // 6) for i in range(N)])
GOLD = "".join(np.random.default_rng(0).choice(list("AB"), N))
JUDGES = {f"without-{value}": value for value in VALUES}
TESTED = np.arange(N) % 5 == 0
WITH, WITHOUT = 0.85, 0.65


def judged(accuracy: dict[str, np.ndarray], seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    gold, other = np.array(list(GOLD)), np.where(np.array(list(GOLD)) == "A", "B", "A")
    return verdicts_of(
        {
            (judge, order): "".join(np.where(rng.uniform(size=N) < share, gold, other))
            for judge, share in accuracy.items()
            for order in ("AB", "BA")
        }
    )


def leave_one_out(**more: object) -> pd.DataFrame:
    stated = recipes_of(
        {name: {"swap": True, "n_cases": 400 + i} for i, name in enumerate(JUDGES)}, left_out_column="organ", **more
    )
    return stated.assign(left_out=list(JUDGES.values())).astype({"left_out": "str"})


def trained_on() -> pd.DataFrame:
    """Each judge was trained on the cases of the two other values that are not for the test."""
    rows = [
        (judge, f"c{i}")
        for judge, value in JUDGES.items()
        for i in np.flatnonzero(~TESTED & (CASES["organ"] != value).to_numpy())
    ]
    return pd.DataFrame(rows, columns=["judge", "case_id"]).astype("str")


ACCURACIES = {judge: np.where(CASES["organ"] == value, WITHOUT, WITH) for judge, value in JUDGES.items()}


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    return gains(
        judged(ACCURACIES), gold_of(GOLD), CASES, records=leave_one_out(), training=trained_on(),
        benchmark_name="here", resamples=200,
    )  # fmt: skip


def test_the_matrix_of_trained_on_and_tested_on_has_a_cell_each_over_unseen_cases(rows: pd.DataFrame) -> None:
    matrix = rows[rows["part"] == "trained"]
    assert len(matrix) == 9
    for row in matrix.to_dict("records"):
        own = JUDGES[row["tuned"]] == row["subfield"]
        assert row["trained_on"] == f"all but {JUDGES[row['tuned']]}"
        assert row["in_training"] is not own
        assert (row["n"], row["n_seen"]) == ((300, 0) if own else (60, 240))
        assert row["value_tuned_low"] < (WITHOUT if own else WITH) < row["value_tuned_high"]


def test_the_loss_out_of_domain_is_found_and_paired_by_case(rows: pd.DataFrame) -> None:
    lost = rows[rows["part"] == "out_of_domain"].set_index(
        rows["subfield"].fillna("all")[rows["part"] == "out_of_domain"]
    )
    assert sorted(lost.index) == ["all", "brain", "eye", "lung"]
    assert lost["n"].to_dict() == {"all": 180, **dict.fromkeys(VALUES, 60)}
    assert (lost["value_tuned"] - lost["value_base"]).to_numpy() == pytest.approx(lost["gain"].to_numpy())
    assert lost["low"]["all"] < WITHOUT - WITH < lost["high"]["all"] < 0
    assert lost["p_value"]["all"] < 0.001
    assert lost["tuned"]["eye"] == "without-eye"
    assert pd.isna(lost["tuned"]["all"])


def test_with_one_judge_trained_with_the_domain_the_loss_is_a_pair_of_the_table_significance() -> None:
    verdicts = judged({"without-eye": ACCURACIES["without-eye"], "on-all": np.full(N, WITH)})
    stated = recipes_of({"without-eye": {}, "on-all": {}}, left_out_column="organ")
    stated = stated.assign(left_out=["eye", None], left_out_column=["organ", None]).astype(
        {"left_out": "str", "left_out_column": "str"}
    )
    made = gains(verdicts, gold_of(GOLD), CASES, records=stated, resamples=200)
    row = made[(made["part"] == "out_of_domain") & (made["subfield"] == "eye")].iloc[0]
    named = verdicts.assign(judge=verdicts["judge"].map({"without-eye": "1", "on-all": "2"}))
    pairs = significance(named, gold_of(GOLD), CASES, by="organ", resamples=200)
    pair = with_first(pairs[(pairs["part"] == "pair") & (pairs["subfield"] == "eye")], "1").iloc[0]
    assert row["n"] == pair["n"] == 300
    same = {"gain": "difference", "low": "low", "high": "high", "p_value": "p_value"}
    for ours, theirs in same.items():
        assert row[ours] == pytest.approx(pair[theirs])
    whole = made[(made["part"] == "trained") & (made["tuned"] == "on-all")]
    assert set(whole["trained_on"]) == {"all"}
    assert whole["in_training"].all()


def test_where_nothing_is_left_the_cell_is_null_with_the_reason() -> None:
    everything = pd.concat(
        [pd.DataFrame({"judge": judge, "case_id": CASES["case_id"]}) for judge in list(JUDGES)[1:]]
    ).astype("str")
    made = gains(judged(ACCURACIES), gold_of(GOLD), CASES, records=leave_one_out(), training=everything, resamples=0)
    cells = made[(made["part"] == "trained") & (made["tuned"] == "without-eye")]
    assert cells["value_tuned"].isna().all()
    assert set(cells["reason"]) == {NO_CASES}
    lost = made[made["part"] == "out_of_domain"]
    assert lost["gain"].isna().all()
    assert lost["reason"].str.contains(NO_PAIR).all()


def test_judges_of_other_bases_or_recipes_are_not_compared() -> None:
    stated = leave_one_out()
    apart = stated.assign(recipe=[{"swap": True}, {"swap": False}, {"swap": True}])
    made = gains(judged(ACCURACIES), gold_of(GOLD), CASES, records=apart, resamples=0)
    lost = made[(made["part"] == "out_of_domain") & made["subfield"].notna()]
    assert set(lost["tuned"]) == {"without-brain", "without-lung"}
    bases = stated.assign(base_revision=["x", "y", "z"])
    made = gains(judged(ACCURACIES), gold_of(GOLD), CASES, records=bases, resamples=0)
    assert made[(made["part"] == "out_of_domain")]["gain"].isna().all()


def test_judges_that_leave_folds_out_are_told_apart_by_the_folds_of_the_split() -> None:
    moved = CASES.assign(fold=CASES["organ"].where(np.arange(N) >= 30, "lung"))
    stated = leave_one_out().assign(recipe=[{"left_out": ["organ", value]} for value in VALUES])
    made = gains(judged(ACCURACIES), gold_of(GOLD), moved, records=stated, resamples=0)
    cells = made[(made["part"] == "trained") & (made["tuned"] == "without-lung")].set_index("subfield")
    assert cells["n"].to_dict() == {"brain": 290, "eye": 290, "lung": 320}
    assert set(cells["by"]) == {"organ"}
    assert made[made["part"] == "out_of_domain"]["gain"].notna().all()
