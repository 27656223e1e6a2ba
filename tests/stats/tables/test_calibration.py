"""The table calibration: what is counted, what is null and why; recalibration across folds."""

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, special

from mrb_lib.stats.analyze import TABLES
from mrb_lib.stats.estimation import Sampling
from mrb_lib.stats.methods.calibration_error import recalibrated, temperature
from mrb_lib.stats.methods.forecasts import FOLDS, Forecasts, folds
from mrb_lib.stats.multiplicity import adjust_families
from mrb_lib.stats.panel import as_panel
from mrb_lib.stats.tables import calibration as reasons
from tests.simulation.panels import forecasts_of, frame_of
from tests.stats import small_tables
from tests.stats.small_tables import calibration, cases_of, gold_of, part_of, table_of

SPEC = TABLES["calibration"]
summary = table_of("calibration", part="summary")
shifts = table_of("calibration", part="shift")


def verdicts_of(p: dict[str, np.ndarray], order: str = "AB") -> pd.DataFrame:
    """Verdicts of each judge by probabilities for A; NaN gives a verdict without one."""
    letters = {(judge, order): "".join(np.where(values > 0.5, "A", "B")) for judge, values in p.items()}
    return small_tables.verdicts_of(letters).assign(p_a=np.concatenate(list(p.values())))


def random_tables(n: int, seed: int, judges: int = 2, **columns: object):
    generator = np.random.default_rng(seed)
    frames = [
        verdicts_of({f"j{i}": generator.random(n).round(2) for i in range(judges)}, order) for order in ("AB", "BA")
    ]
    letters = "".join(generator.choice(list("AB"), n))
    return pd.concat(frames, ignore_index=True), gold_of(letters), cases_of(n, **columns)


def test_confidence_by_hand() -> None:
    """p .9 on A, .7 on B, .3 on B, .5 on A: confidences .9, .7, .7, .5; right 1, 0, 1, 1/2."""
    row = summary(verdicts_of({"j": np.array([0.9, 0.7, 0.3, 0.5])}), gold_of("ABBA"), cases_of(4)).iloc[0]
    assert row[["n", "n_cases", "n_high_confidence", "wrong_at_high_confidence"]].tolist() == [4, 4, 1, 0]
    assert row[["accuracy", "overconfidence"]].tolist() == pytest.approx([2.5 / 4, 0.3 / 4])
    assert np.isnan(row["wrong_at_high_confidence_high"]), "one forecast only"


def test_what_is_no_forecast_is_counted() -> None:
    p = np.array([0.9, 0.2, 0.6, 0.7, np.nan, 0.8])
    table = summary(verdicts_of({"j": p}), gold_of("ABT?A-"), cases_of(6))
    assert table.loc[0, ["n", "n_excluded"]].tolist() == [2, 4]


def test_a_verdict_that_contradicts_its_probability_is_read_by_its_probability() -> None:
    verdicts = verdicts_of({"j": np.array([0.9, 0.2, 0.6])}).assign(choice=["B", "B", "A"])
    row = summary(verdicts, gold_of("ABA"), cases_of(3)).iloc[0]
    assert row["accuracy"] == 1


def test_both_orders_are_forecasts_of_one_case() -> None:
    verdicts = pd.concat([verdicts_of({"j": np.array([0.9, 0.4])}), verdicts_of({"j": np.array([0.2, 0.4])}, "BA")])
    row = summary(verdicts, gold_of("AB"), cases_of(2)).iloc[0]
    assert (row["n"], row["n_cases"]) == (4, 2)
    assert row["brier"] == pytest.approx((0.01 + 0.64 + 0.16 + 0.16) / 4)


def test_judges_without_probabilities_are_null_with_a_reason() -> None:
    verdicts = verdicts_of({"mute": np.full(4, np.nan), "j": np.array([0.9, 0.2, 0.6, 0.3])})
    table = calibration(verdicts, gold_of("ABAB"), cases_of(4))
    row = part_of(table, "summary").set_index("judge").loc["mute"]
    assert row["n"] == 0
    assert row["reason"] == reasons.NO_PROBABILITIES
    assert row[["ece", "brier", "accuracy", "temperature", "ece_temperature", "auroc_low"]].isna().all()
    assert set(part_of(table, "bin")["judge"]) == {"j"}
    by = summary(verdicts, gold_of("ABAB"), cases_of(4, organ=["eye", "eye", "lung", "lung"]), by="organ")
    assert by["judge"].tolist() == ["j", "mute", "j", "j"]  # one row of a judge without probabilities


def test_without_probabilities_the_table_is_one_sentence() -> None:
    """Issue 42, fault 22: there was a row per judge, dimension and subfield, all of them empty."""
    verdicts = verdicts_of(dict.fromkeys("jk", np.full(4, np.nan)))
    for each in (verdicts, verdicts.drop(columns="p_a")):
        table = calibration(each, gold_of("ABAB"), cases_of(4, organ=["eye", "lung"] * 2), by="organ")
        assert len(table) == 0
        assert SPEC.says(table) == (
            "There is nothing to show: no judge gives a probability on a case with a decisive gold label."
        )


def test_a_zero_on_what_happened_makes_the_log_loss_infinite_which_is_said() -> None:
    row = summary(verdicts_of({"j": np.array([1.0, 1.0, 0.6])}), gold_of("ABA"), cases_of(3)).iloc[0]
    assert np.isnan(row["log_loss"])
    assert reasons.INFINITE in row["reason"]


def test_a_judge_worse_than_chance_is_not_called_calibrated_after_recalibration() -> None:
    p = np.random.default_rng(3).random(80)
    letters = "".join(np.where(p > 0.5, "B", "A"))
    row = summary(verdicts_of({"j": p}), gold_of(letters), cases_of(80)).iloc[0]
    assert row[["temperature", "ece_temperature", "brier_temperature"]].isna().all()
    assert reasons.NOT_BEST in row["reason"]
    assert reasons.NOT_RECALIBRATED in row["reason"]
    assert row["ece"] > 0.5


def test_shift_is_the_difference_over_what_both_probes_have() -> None:
    verdicts, gold, cases = random_tables(100, 10)
    blurred = verdicts[verdicts["case_id"] != "c5"].assign(probe="blur", p_a=lambda f: 0.5 + (f["p_a"] - 0.5) * 0.5)
    shift = shifts(pd.concat([verdicts, blurred]), gold, cases).set_index("judge")
    assert shift["probe"].eq("blur").all()
    assert shift["n"].eq(198).all()
    shared = verdicts[verdicts["case_id"] != "c5"]
    here, there = (
        summary(v.assign(probe="none"), gold, cases).set_index("judge")["overconfidence"] for v in (shared, blurred)
    )
    np.testing.assert_allclose(shift["overconfidence_difference"], there - here, atol=1e-12)
    assert (shift["overconfidence_difference_high"] < 0).all()


def test_one_probe_has_no_shift_and_a_judge_without_the_probe_none_either() -> None:
    verdicts, gold, cases = random_tables(20, 11)
    assert shifts(verdicts, gold, cases).empty
    both = pd.concat([verdicts, verdicts[verdicts["judge"] == "j1"].assign(probe="blur")])
    assert shifts(both, gold, cases)["judge"].tolist() == ["j1"]
    assert shifts(both, gold, cases, probe="blur")["probe"].tolist() == ["none"]


def test_a_judge_whose_forecasts_no_probe_shares_says_so() -> None:
    verdicts, gold, cases = random_tables(20, 14, judges=1)
    both = pd.concat([verdicts, verdicts.assign(probe="blur", p_a=np.nan)])
    [row] = shifts(both, gold, cases).to_dict("records")
    assert (row["n"], row["reason"]) == (0, reasons.NOT_SHARED)


def test_of_twelve_innocent_judges_the_sentence_seldom_names_one() -> None:
    """Issue 42, fault 17: one was named in 23% of runs, by intervals of each judge alone; at most 7% are to be."""
    generator, n, runs = np.random.default_rng(1), 150, 200
    up, run = generator.random(n) < 0.5, np.repeat(np.arange(runs), 12)
    odds = 2 * (np.where(up, 1, -1) + generator.normal(0, 1.2, (12 * runs, n))) / 1.2**2
    panel = forecasts_of(special.expit(odds)[:, None], judges=[f"j{i:04d}" for i in range(12 * runs)])
    rows = summary(panel, frame_of((~up)[None].astype(np.int64)), cases_of(n), resamples=0)
    rows = rows.assign(p_adjusted=adjust_families(rows["p_value"].to_numpy(), run, "holm")[0])
    said = [SPEC.says(own).partition(", ")[2] for _, own in rows.groupby(run)]
    silent = sum(each == "cannot tell whether any judge is overconfident (12 tested)." for each in said)
    assert sum("significantly overconfident" in each for each in said) == runs - silent
    assert (runs - silent) / runs <= 0.07
    assert (rows["overconfidence_low"].groupby(run).max() > 0).mean() > 0.15


def test_forecasts_that_are_bounds_are_counted_among_the_forecasts_and_in_their_group() -> None:
    verdicts = verdicts_of({"j": np.array([0.9, 0.8, 0.2, np.nan, 0.7])})
    verdicts["p_a_bound"] = ["at least", None, "at most", None, "at least"]
    cases = cases_of(5, organ=["eye", "eye", "lung", "lung", "lung"])
    # The fourth has no probability, and the label of the last is a tie: neither is a forecast.
    table = summary(verdicts, gold_of("ABABT"), cases, by="organ")
    counted = table.set_index(table["subfield"].fillna("all"))[["n", "n_censored"]]
    assert counted.loc[["all", "eye", "lung"]].to_numpy().tolist() == [[3, 2], [2, 1], [1, 1]]
    whole = as_panel(verdicts, cases["case_id"])
    kept = np.array([False, True, True, True, True])
    assert summary(whole.of_cases(kept), gold_of("-BABT"), cases[kept])["n_censored"].tolist() == [1]
    without = verdicts.drop(columns="p_a_bound")
    assert summary(without, gold_of("ABABT"), cases)["n_censored"].tolist() == [0]


def dealt(codes: np.ndarray, seed: int) -> np.ndarray:
    return folds(Sampling(codes, np.empty((0, len(np.unique(codes))))), seed)


def drawn(n: int, cells: int, seed: int) -> tuple[Forecasts, np.ndarray, np.ndarray]:
    """Forecasts that are twice as sure as they should be, with their log odds, and those given to what happened."""
    generator = np.random.default_rng(seed)
    odds = generator.normal(0, 2, (cells, n))
    up = generator.random((cells, n)) < special.expit(odds / 2)
    cell, case = (each.ravel() for each in np.indices((cells, n)))
    correct = ((odds > 0) == up).ravel().astype(float)
    forecasts = Forecasts(case, cell, (n, cells), special.expit(np.abs(odds)).ravel(), correct, 0.5)
    return forecasts, odds.ravel(), np.where(up, odds, -odds).ravel()


def best(towards: np.ndarray, most: float = 1.0) -> float:
    """The slope of least log loss, by a library's minimum."""
    return optimize.minimize_scalar(lambda s: np.logaddexp(0, -s * towards).mean(), (0, most), tol=1e-12).x


def test_each_fold_is_scaled_by_the_best_temperature_of_the_others() -> None:
    (f, odds, towards), fold = drawn(300, 3, 1), dealt(np.arange(300), 0)
    p, found = recalibrated(f, odds, towards, fold), temperature(f, towards, np.arange(300))
    for cell in range(3):
        mine = f.cell == cell
        value = found.statistic(found.adds.sum(axis=0))[cell]
        assert value == pytest.approx(1 / best(towards[mine]), rel=1e-6)
        for held in range(FOLDS):
            out, rest = mine & (fold[f.case] == held), mine & (fold[f.case] != held)
            np.testing.assert_allclose(p[out], special.expit(best(towards[rest]) * odds[out]), rtol=1e-6)


def test_folds_keep_clusters_together_and_are_of_equal_size() -> None:
    codes = np.repeat(np.arange(53), 3)
    fold = dealt(codes, 9)
    assert all(len(set(fold[codes == c])) == 1 for c in range(53))
    sizes = np.bincount(fold[::3], minlength=FOLDS)
    assert sizes.max() - sizes.min() <= 1
    assert not np.array_equal(fold, dealt(codes, 10))
