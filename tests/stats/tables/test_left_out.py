"""What leaving a domain out of training costs, planted and found, on cases that no judge was trained on."""

import numpy as np
import pandas as pd
import pytest

from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.stats.columns import NO_CASES
from mrb_lib.stats.tables.gains import NO_PAIR, OUT_OF_DOMAIN
from tests.simulation.panels import covered, frame_of, panel_of, rows_of
from tests.stats.small_tables import cases_of, gains, gold_of, judged, part_of, significance, with_first
from tests.training_records import recipes_of

N, VALUES = 900, ("brain", "eye", "lung")
CASES = cases_of(N, organ=[VALUES[i % 3] for i in range(N)], cluster=[str(i // 6) for i in range(N)])
GOLD = "".join(np.random.default_rng(0).choice(list("AB"), N))
JUDGES = {f"without-{value}": value for value in VALUES}
TESTED = np.arange(N) % 5 == 0
WITH, WITHOUT = 0.85, 0.65


def made(verdicts: pd.DataFrame, records: pd.DataFrame, cases: pd.DataFrame = CASES, **options: object) -> pd.DataFrame:
    """The rows of `gains` of a benchmark of another name than the one that the judges were trained on."""
    meta = BenchmarkMeta("t", "general", ("overall",))
    return gains(verdicts, gold_of(GOLD), cases, **{"records": records, "meta": meta, "resamples": 0, **options})


def said(accuracy: dict[str, np.ndarray]) -> pd.DataFrame:
    """Verdicts of judges that are right this often on each case, in both orders."""
    rng = np.random.default_rng(1)
    return judged({judge: rng.uniform(size=(2, N)) < share for judge, share in accuracy.items()}, GOLD)[0]


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
    return made(said(ACCURACIES), leave_one_out(), training=trained_on(), resamples=200)


def test_the_matrix_of_trained_on_and_tested_on_has_a_cell_each_over_unseen_cases(rows: pd.DataFrame) -> None:
    matrix = rows[rows["part"] == "trained"]
    assert len(matrix) == 9
    for row in matrix.to_dict("records"):
        own = JUDGES[row["tuned"]] == row["subfield"]
        assert row["trained_on"] == f"all but {JUDGES[row['tuned']]}"
        assert row["in_training"] is not own
        assert (row["n"], row["n_seen"]) == ((300, 0) if own else (60, 240))
        assert row["value_tuned_low"] < (WITHOUT if own else WITH) < row["value_tuned_high"]


def test_with_one_judge_trained_with_the_domain_the_loss_is_a_pair_of_the_table_significance() -> None:
    verdicts = said({"without-eye": ACCURACIES["without-eye"], "on-all": np.full(N, WITH)})
    stated = recipes_of({"without-eye": {}, "on-all": {}}).assign(
        left_out=["eye", None], left_out_column=["organ", None]
    )
    rows = made(verdicts, stated.astype({"left_out": "str", "left_out_column": "str"}), resamples=200)
    row = rows[(rows["part"] == "out_of_domain") & (rows["subfield"] == "eye")].iloc[0]
    named = verdicts.assign(judge=verdicts["judge"].map({"without-eye": "1", "on-all": "2"}))
    pairs = significance(named, gold_of(GOLD), CASES, by="organ", resamples=200)
    pair = with_first(pairs[(pairs["part"] == "pair") & (pairs["subfield"] == "eye")], "1").iloc[0]
    assert row["n"] == pair["n"] == 300
    same = {"gain": "difference", "low": "low", "high": "high", "p_value": "p_value"}
    for ours, theirs in same.items():
        assert row[ours] == pytest.approx(pair[theirs])
    whole = rows[(rows["part"] == "trained") & (rows["tuned"] == "on-all")]
    assert set(whole["trained_on"]) == {"all"}
    assert whole["in_training"].all()


def test_where_nothing_is_left_the_cell_is_null_with_the_reason() -> None:
    everything = pd.concat(
        [pd.DataFrame({"judge": judge, "case_id": CASES["case_id"]}) for judge in list(JUDGES)[1:]]
    ).astype("str")
    rows = made(said(ACCURACIES), leave_one_out(), training=everything)
    cells = rows[(rows["part"] == "trained") & (rows["tuned"] == "without-eye")]
    assert cells["value_tuned"].isna().all()
    assert set(cells["reason"]) == {NO_CASES}
    lost = part_of(rows, "out_of_domain")
    assert lost["gain"].isna().all()
    assert lost["reason"].str.contains(NO_PAIR).all()


def test_judges_of_other_bases_or_recipes_are_not_compared() -> None:
    stated = leave_one_out()
    apart = stated.assign(recipe=[{"swap": True}, {"swap": False}, {"swap": True}])
    lost = part_of(made(said(ACCURACIES), apart), "out_of_domain").dropna(subset="subfield")
    assert set(lost["tuned"]) == {"without-brain", "without-lung"}
    bases = stated.assign(base_revision=["x", "y", "z"])
    assert part_of(made(said(ACCURACIES), bases), "out_of_domain")["gain"].isna().all()


def test_judges_that_leave_folds_out_are_told_apart_by_the_folds_of_the_split() -> None:
    moved = CASES.assign(fold=CASES["organ"].where(np.arange(N) >= 30, "lung"))
    stated = leave_one_out().assign(recipe=[{"left_out": ["organ", value]} for value in VALUES])
    rows = made(said(ACCURACIES), stated, moved)
    cells = rows[(rows["part"] == "trained") & (rows["tuned"] == "without-lung")].set_index("subfield")
    assert cells["n"].to_dict() == {"brain": 290, "eye": 290, "lung": 320}
    assert set(cells["by"]) == {"organ"}
    assert part_of(rows, "out_of_domain")["gain"].notna().all()


def test_intervals_of_the_loss_out_of_domain_hold_the_truth_overall_and_in_each_domain() -> None:
    benchmarks, label = 60, (np.array(list(GOLD)) == "B").astype(np.int64)
    accuracy = np.stack(list(ACCURACIES.values()))[:, None, :, None]
    right = np.random.default_rng(1).random((len(ACCURACIES), benchmarks, len(label), 2)) < accuracy
    panel = panel_of(np.where(right, label[:, None], 1 - label[:, None]), judges=list(ACCURACIES))
    panel, gold = panel.without_seen(trained_on(), CASES["case_id"]), frame_of(np.tile(label, (benchmarks, 1)))
    made = rows_of("gains", panel, gold, CASES, records=leave_one_out(), cluster="cluster", resamples=200)
    lost = made[made["part"] == OUT_OF_DOMAIN]
    by_domain = lost.groupby(lost["subfield"].fillna("all"))
    assert by_domain.size().tolist() == [benchmarks] * 4
    for _, own in by_domain:
        assert 0.9 <= covered(own, WITHOUT - WITH) <= 0.99
