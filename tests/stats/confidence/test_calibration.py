"""The table `calibration`: what is counted, what is null and why, and properties that must hold."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mrb_lib.stats.confidence import calibration
from mrb_lib.stats.confidence import summary as reasons
from mrb_lib.stats.confidence import table as rows
from mrb_lib.stats.core.panel import as_panel, panels
from mrb_lib.stats.resampling.resample import NO_RESAMPLES, ONE_CLUSTER, ratios
from mrb_lib.tables.errors import InputError

PARTS = ["reliability", "resolution", "uncertainty", "within_bin_variance", "within_bin_covariance"]


def verdicts_of(p: dict[str, np.ndarray], order: str = "AB", dimension: str = "overall") -> pd.DataFrame:
    """Verdicts of each judge on cases c0, c1 ...; NaN gives a verdict without a probability."""
    frames = [
        pd.DataFrame(
            {
                "judge": judge,
                "case_id": [f"c{i}" for i in range(len(values))],
                "dimension": dimension,
                "order": order,
                "repeat": 0,
                "probe": "none",
                "choice": np.where(values > 0.5, "A", "B"),
                "p_a": values,
            }
        )
        for judge, values in p.items()
    ]
    return pd.concat(frames, ignore_index=True)


def gold_of(letters: str) -> pd.DataFrame:
    names = {"A": "A", "B": "B", "T": "tie", "?": None}
    rows_ = [(f"c{i}", "overall", names[c]) for i, c in enumerate(letters) if c != "-"]
    return pd.DataFrame(rows_, columns=["case_id", "dimension", "choice"]).astype("str")


def cases_of(n: int, **columns: object) -> pd.DataFrame:
    return pd.DataFrame({"case_id": [f"c{i}" for i in range(n)], **columns})


def summary(table: pd.DataFrame) -> pd.DataFrame:
    return table[table["part"] == "summary"].reset_index(drop=True)


def random_tables(n: int, seed: int, judges: int = 2, **columns: object):
    generator = np.random.default_rng(seed)
    frames = [
        verdicts_of({f"j{i}": generator.random(n).round(2) for i in range(judges)}, order) for order in ("AB", "BA")
    ]
    letters = "".join(generator.choice(list("AB"), n))
    return pd.concat(frames, ignore_index=True), gold_of(letters), cases_of(n, **columns)


def test_by_hand() -> None:
    """p .9 on A, .7 on B, .3 on B, .5 on A: confidences .9, .7, .7, .5; right 1, 0, 1, 1/2."""
    row = summary(calibration(verdicts_of({"j": np.array([0.9, 0.7, 0.3, 0.5])}), gold_of("ABBA"), cases_of(4))).iloc[0]
    assert row["n"] == row["n_cases"] == 4
    assert row["accuracy"] == pytest.approx(2.5 / 4)
    assert row["mean_confidence"] == pytest.approx(2.8 / 4)
    assert row["overconfidence"] == pytest.approx(0.3 / 4)
    assert row["brier"] == pytest.approx((0.01 + 0.49 + 0.09 + 0.25) / 4)
    assert row["log_loss"] == pytest.approx(-np.log([0.9, 0.3, 0.7, 0.5]).mean())
    assert row["ece"] == pytest.approx((abs(1 - 1.4) + abs(1 - 0.9)) / 4)
    assert row["n_high_confidence"] == 1
    assert row["wrong_at_high_confidence"] == 0
    assert np.isnan(row["wrong_at_high_confidence_high"])  # one forecast only
    assert row["auroc"] == pytest.approx(3 / 4)


def test_what_is_no_forecast_is_counted_with_its_reason() -> None:
    p = np.array([0.9, 0.2, 0.6, 0.7, np.nan, 0.8])
    table = summary(calibration(verdicts_of({"j": p}), gold_of("ABT?A-"), cases_of(6)))
    row = table.iloc[0]
    assert (row["n"], row["n_excluded"], row["n_no_gold"], row["n_gold_tie"], row["n_no_probability"]) == (
        2,
        4,
        2,
        1,
        1,
    )


def test_a_verdict_that_contradicts_its_probability_is_counted_and_still_read_by_its_probability() -> None:
    verdicts = verdicts_of({"j": np.array([0.9, 0.2, 0.6])}).assign(choice=["B", "B", "A"])
    row = summary(calibration(verdicts, gold_of("ABA"), cases_of(3))).iloc[0]
    assert row["n_contradicting"] == 1
    assert row["accuracy"] == 1


def test_both_orders_are_forecasts_of_one_case() -> None:
    verdicts = pd.concat([verdicts_of({"j": np.array([0.9, 0.4])}), verdicts_of({"j": np.array([0.2, 0.4])}, "BA")])
    row = summary(calibration(verdicts, gold_of("AB"), cases_of(2))).iloc[0]
    assert (row["n"], row["n_cases"]) == (4, 2)
    assert row["brier"] == pytest.approx((0.01 + 0.64 + 0.16 + 0.16) / 4)


def test_judges_without_probabilities_are_null_with_a_reason() -> None:
    verdicts = verdicts_of({"mute": np.full(4, np.nan), "j": np.array([0.9, 0.2, 0.6, 0.3])})
    table = calibration(verdicts, gold_of("ABAB"), cases_of(4))
    row = summary(table).set_index("judge").loc["mute"]
    assert row["n"] == 0
    assert row["reason"] == reasons.NO_PROBABILITIES
    assert row[["ece", "brier", "accuracy", "temperature", "ece_isotonic", "auroc_low"]].isna().all()
    assert set(table[table["part"] == "bin"]["judge"]) == {"j"}
    without = calibration(verdicts.drop(columns="p_a"), gold_of("ABAB"), cases_of(4))
    assert summary(without)["reason"].eq(reasons.NO_PROBABILITIES).all()
    assert without["part"].eq("summary").all()


def test_a_zero_on_what_happened_makes_the_log_loss_infinite_which_is_said() -> None:
    row = summary(calibration(verdicts_of({"j": np.array([1.0, 1.0, 0.6])}), gold_of("ABA"), cases_of(3))).iloc[0]
    assert np.isnan(row["log_loss"])
    assert row["n_zero_probability"] == 1
    assert reasons.INFINITE in row["reason"]
    assert row["log_loss_clipped"] == pytest.approx(-np.log([0.999, 0.001, 0.6]).mean())


def test_undefined_values_say_why() -> None:
    row = summary(calibration(verdicts_of({"j": np.array([0.8, 0.7, 0.6])}), gold_of("AAA"), cases_of(3))).iloc[0]
    assert row[["auroc", "auroc_confidence", "wrong_at_high_confidence", "temperature"]].isna().all()
    for reason in (reasons.ONE_OUTCOME, reasons.ALL_RIGHT, reasons.NONE_HIGH, reasons.NO_TEMPERATURE):
        assert reason in row["reason"]
    assert row["accuracy_low"] == pytest.approx(3 / (3 + 1.959963984540054**2))  # Wilson, none wrong of 3
    assert row["accuracy_high"] == 1
    one = cases_of(3, cluster="x")
    row = summary(calibration(verdicts_of({"j": np.array([0.8, 0.7, 0.6])}), gold_of("ABA"), one)).iloc[0]
    assert ONE_CLUSTER in row["reason"]
    assert row[["brier_low", "ece_low", "accuracy_high", "auroc_low", "temperature_low"]].isna().all()


HARD = {
    "always right and certain": (np.tile([1.0, 0.0], 30), "AB" * 30),
    "always right": (np.tile([0.9, 0.1], 30), "AB" * 30),
    "always wrong": (np.tile([0.2, 0.9], 30), "AB" * 30),
    "once wrong and certain": (np.r_[0.0, np.tile([0.0, 1.0], 30)], "A" + "BA" * 30),
    "never leans": (np.full(60, 0.5), "AB" * 30),
    "always A": (np.full(60, 0.8), "AB" * 30),
    "worse than chance": (np.random.default_rng(1).random(60), None),
    "once wrong": (np.r_[0.05, np.linspace(0.6, 0.9, 14)], "A" * 15),
    "one case": (np.array([0.8]), "A"),
    "two cases": (np.array([0.95, 0.6]), "AB"),
    "plain": (np.random.default_rng(2).random(60), "AAB" * 20),
}
BOUNDS = {"overconfidence": (-0.5, 1), "mean_confidence": (0.5, 1), "log_loss": (0, np.inf), "temperature": (0, np.inf)}


@pytest.mark.parametrize("name", list(HARD))
def test_nothing_is_null_without_its_reason_and_no_interval_is_without_width_or_out_of_range(name: str) -> None:
    p, letters = HARD[name]
    letters = letters or "".join(np.where(p > 0.5, "B", "A"))
    table = calibration(verdicts_of({"j": p}), gold_of(letters), cases_of(len(p)))
    for _, row in table.iterrows():
        reason = "" if pd.isna(row["reason"]) else row["reason"]
        if row["part"] != "summary":
            assert pd.isna(row["low"]) == bool(reason)
            continue
        told = [
            text.split(": ")[0].split(" of ")[1] for text in reason.split("; ") if text.startswith("no interval of")
        ]
        named = set(", ".join(told).split(", "))
        for low in [column for column in rows.INTERVALS if column.endswith("_low") and "difference" not in column]:
            measure = low.removesuffix("_low")
            value, ends = row[measure], (row[low], row[f"{measure}_high"])
            if np.isnan(value):
                said = measure in reason or reasons.NOT_RECALIBRATED in reason
                assert said or ("temperature" in measure and reasons.NO_FOLD_TEMPERATURE in reason), measure
            if np.isnan(value) or np.isnan(ends).any():
                assert np.isnan(ends).all()
                assert np.isnan(value) or (ONE_CLUSTER in reason) != (measure in named), measure
            else:
                least, most = next((at for key, at in BOUNDS.items() if measure.startswith(key)), (0, 1))
                assert least <= ends[0] < ends[1] <= most, measure
                assert measure not in named


def test_a_judge_worse_than_chance_is_not_called_calibrated_after_recalibration() -> None:
    p = np.random.default_rng(3).random(80)
    letters = "".join(np.where(p > 0.5, "B", "A"))
    row = summary(calibration(verdicts_of({"j": p}), gold_of(letters), cases_of(80))).iloc[0]
    assert row[["temperature", "ece_temperature", "brier_temperature", "log_loss_temperature"]].isna().all()
    assert reasons.NO_TEMPERATURE in row["reason"]
    assert reasons.NO_FOLD_TEMPERATURE in row["reason"]
    assert row["ece"] > 0.5
    assert not np.isnan(row["ece_isotonic"])


def test_no_resamples_give_no_intervals() -> None:
    table = calibration(*random_tables(30, 1), resamples=0)
    assert table[rows.INTERVALS].isna().all(axis=None)
    assert table["reason"].str.contains(NO_RESAMPLES).all()
    assert summary(table)["ece"].notna().all()


def test_the_decomposition_adds_up_in_every_subfield() -> None:
    table = summary(calibration(*random_tables(120, 2, organ=["lung", "eye", None] * 40), by="organ"))
    assert table["subfield"].dropna().unique().tolist() == ["eye", "lung"]
    assert (table.loc[table["subfield"].notna(), "n_unassigned"] == 40).all()
    rel, res, unc, var, cov = (table[name] for name in PARTS)
    np.testing.assert_allclose(rel - res + unc + var - cov, table["brier"], atol=1e-12)
    np.testing.assert_allclose(table["mean_confidence"] - table["accuracy"], table["overconfidence"], atol=1e-12)
    assert (table["ece"] >= table["overconfidence"].abs() - 1e-12).all()
    assert (table["ece_equal_mass"] >= table["overconfidence"].abs() - 1e-12).all()


def test_a_subfield_is_measured_as_if_it_were_alone() -> None:
    verdicts, gold, cases = random_tables(90, 3, organ=["lung", "eye", "brain"] * 30)
    within = summary(calibration(verdicts, gold, cases, by="organ")).query("subfield == 'eye'")
    kept = cases[cases["organ"] == "eye"].reset_index(drop=True)
    ids = set(kept["case_id"])
    alone = summary(calibration(verdicts[verdicts["case_id"].isin(ids)], gold[gold["case_id"].isin(ids)], kept))
    same = [
        name
        for name in rows.COLUMNS
        if name not in ("subfield", "by", "reason") and "temperature" not in name and "isotonic" not in name
    ]
    pd.testing.assert_frame_equal(
        within[same].reset_index(drop=True).drop(columns="part"), alone[same].drop(columns="part"), check_exact=False
    )


def test_renaming_the_responses_of_all_cases_changes_nothing() -> None:
    verdicts, gold, cases = random_tables(80, 4)
    other = verdicts.assign(p_a=1 - verdicts["p_a"], choice=verdicts["choice"].map({"A": "B", "B": "A"}))
    turned = gold.assign(choice=gold["choice"].map({"A": "B", "B": "A"}))
    first, second = (calibration(v, g, cases) for v, g in ((verdicts, gold), (other, turned)))
    skip = [*PARTS, "reason"]  # bins of p_a are closed at their upper ends, which a reflection turns into lower ends
    pd.testing.assert_frame_equal(
        first.drop(columns=skip), second.drop(columns=skip), check_exact=False, atol=1e-9, rtol=1e-9
    )


def test_the_order_of_rows_changes_nothing() -> None:
    verdicts, gold, cases = random_tables(60, 5)
    shuffled = verdicts.sample(frac=1, random_state=1), gold.sample(frac=1, random_state=2)
    pd.testing.assert_frame_equal(calibration(verdicts, gold, cases), calibration(*shuffled, cases))


def test_intervals_are_those_of_the_cluster_bootstrap_in_the_long_run() -> None:
    generator = np.random.default_rng(6)
    cluster = np.repeat(np.arange(150), 4)
    together = generator.normal(0, 1, 150)[cluster]
    truth = together + generator.normal(0, 1, 600)
    p = 1 / (1 + np.exp(-2 * truth))
    letters = "".join(np.where(generator.random(600) < 1 / (1 + np.exp(-truth)), "A", "B"))
    row = summary(calibration(verdicts_of({"j": p}), gold_of(letters), cases_of(600, cluster=cluster))).iloc[0]
    outcome = np.array([letter == "A" for letter in letters], dtype=float)
    confidence, right = np.maximum(p, 1 - p), ((p > 0.5) == outcome).astype(float)
    columns = np.column_stack([(p - outcome) ** 2, right, confidence - right])
    found = ratios([(np.arange(600), columns, np.ones_like(columns))], cluster, resamples=4000, seed=1)[0]
    for i, name in enumerate(("brier", "accuracy", "overconfidence")):
        width = found.high[i] - found.low[i]
        assert abs(row[f"{name}_low"] - found.low[i]) < 0.06 * width
        assert abs(row[f"{name}_high"] - found.high[i]) < 0.06 * width


def test_repeated_cases_in_one_cluster_widen_nothing() -> None:
    """Every case four times over, in clusters: the intervals are those of the cases once."""
    generator = np.random.default_rng(8)
    p, letters = generator.random(50), generator.choice(["A", "B"], 50)
    once = summary(calibration(verdicts_of({"j": p}), gold_of("".join(letters)), cases_of(50))).iloc[0]
    four = (verdicts_of({"j": np.repeat(p, 4)}), gold_of("".join(np.repeat(letters, 4))))
    again = summary(calibration(*four, cases_of(200, cluster=np.repeat(np.arange(50), 4)))).iloc[0]
    names = [name for name in rows.INTERVALS if not np.isnan(once[name]) and "isotonic" not in name]
    names = [name for name in names if "_temperature" not in name and "difference" not in name]
    assert len(names) > 20
    np.testing.assert_allclose(again[names].astype(float), once[names].astype(float), atol=1e-9)


def test_bins_hold_all_forecasts_and_add_up_to_the_error() -> None:
    table = calibration(*random_tables(200, 9))
    for binning, name in (("equal_width", "ece"), ("equal_mass", "ece_equal_mass")):
        bins = table[(table["part"] == "bin") & (table["binning"] == binning)]
        for judge, found in bins.groupby("judge"):
            n = found["n"].astype(float)
            assert n.sum() == 400
            error = (n / 400 * (found["accuracy"] - found["confidence"]).abs()).sum()
            assert error == pytest.approx(summary(table).set_index("judge").loc[judge, name], abs=1e-12)
            assert (found["low"] <= found["accuracy"]).all()
            assert (found["high"] >= found["accuracy"]).all()
    mass = table[(table["part"] == "bin") & (table["binning"] == "equal_mass")]
    assert len(mass[mass["judge"] == "j0"]) == 10
    assert mass["n"].between(25, 55).all()


def test_shift_is_the_difference_over_what_both_probes_have() -> None:
    verdicts, gold, cases = random_tables(100, 10)
    blurred = verdicts[verdicts["case_id"] != "c5"].assign(probe="blur", p_a=lambda f: 0.5 + (f["p_a"] - 0.5) * 0.5)
    probes = panels([pd.concat([verdicts, blurred])], cases["case_id"])
    table = calibration(probes["none"], gold, cases, probes=probes)
    shift = table[table["part"] == "shift"].set_index("judge")
    assert shift["probe"].eq("blur").all()
    assert shift["n"].eq(198).all()
    shared = verdicts[verdicts["case_id"] != "c5"]
    here, there = (
        summary(calibration(v.assign(probe="none"), gold, cases)).set_index("judge") for v in (shared, blurred)
    )
    for name in ("mean_confidence", "accuracy", "overconfidence", "brier"):
        np.testing.assert_allclose(shift[f"{name}_difference"], there[name] - here[name], atol=1e-12)
    assert shift["accuracy_difference"].abs().max() < 1e-12
    expected = there["ece_debiased"] - here["ece_debiased"]  # neither is cut at 0 here
    np.testing.assert_allclose(shift["ece_difference"], expected, atol=1e-9)
    assert (shift["mean_confidence_difference_high"] < 0).all()


def test_one_probe_has_no_shift_and_a_judge_without_the_probe_none_either() -> None:
    verdicts, gold, cases = random_tables(20, 11)
    panel = panels([verdicts], cases["case_id"])
    assert not calibration(panel["none"], gold, cases, probes=panel)["part"].eq("shift").any()
    other = verdicts[verdicts["judge"] == "j1"].assign(probe="blur")
    both = panels([pd.concat([verdicts, other])], cases["case_id"])
    table = calibration(both["none"], gold, cases, probes=both)
    assert table[table["part"] == "shift"]["judge"].tolist() == ["j1"]
    turned = calibration(both["blur"], gold, cases, probes=both)
    assert turned[turned["part"] == "shift"]["probe"].tolist() == ["none"]


def test_a_probe_that_changes_nothing_is_a_row_of_zeros() -> None:
    """The same verdicts word for word: found to be without effect, not taken for the verdicts themselves."""
    verdicts, gold, cases = random_tables(40, 13)
    probes = panels(
        [pd.concat([verdicts, verdicts.assign(probe="blur"), verdicts.assign(probe="noise", p_a=0.5)])],
        cases["case_id"],
    )
    for options in ({}, {"probe": "none"}):
        table = calibration(probes["none"], gold, cases, probes=probes, **options)
        shift = table[table["part"] == "shift"]
        assert set(shift["probe"]) == {"blur", "noise"}
        blur = shift[shift["probe"] == "blur"]
        assert len(blur) == 2
        changes = [f"{name}_difference" for name in ("ece", "mean_confidence", "accuracy", "overconfidence", "brier")]
        assert blur[changes].eq(0).all(axis=None)
        assert blur[["brier_difference_low", "accuracy_difference_high"]].isna().all(axis=None)
        assert blur["reason"].str.contains("brier_difference").all()
    shared = {"none": probes["none"], "blur": probes["none"]}  # one object by two names
    table = calibration(probes["none"], gold, cases, probes=shared, probe="blur")
    assert set(table[table["part"] == "shift"]["probe"]) == {"none"}
    turned = calibration(probes["blur"], gold, cases, probes=probes, probe="blur")
    assert set(turned[turned["part"] == "shift"]["probe"]) == {"none", "noise"}


def test_the_frame_has_its_columns_even_if_empty_and_bad_options_are_refused() -> None:
    verdicts, gold, cases = random_tables(10, 12)
    empty = calibration(verdicts.iloc[:0], gold, cases)
    assert list(empty.columns) == rows.COLUMNS
    assert len(empty) == 0
    assert (empty.dtypes == calibration(verdicts, gold, cases).dtypes).all()
    with pytest.raises(InputError, match="no such column"):
        calibration(verdicts, gold, cases, by="organ")
    with pytest.raises(InputError, match="no such column"):
        calibration(verdicts, gold, cases, cluster="site")


def test_forecasts_that_are_bounds_are_counted_among_the_forecasts_and_in_their_group() -> None:
    verdicts = verdicts_of({"j": np.array([0.9, 0.8, 0.2, np.nan, 0.7])})
    verdicts["p_a_bound"] = ["at least", None, "at most", None, "at least"]
    cases = cases_of(5, organ=["eye", "eye", "lung", "lung", "lung"])
    # The fourth has no probability, and the label of the last is a tie: neither is a forecast.
    table = summary(calibration(verdicts, gold_of("ABABT"), cases, by="organ", resamples=0))
    counted = table.set_index(table["subfield"].fillna("all"))[["n", "n_censored"]]
    assert counted.loc[["all", "eye", "lung"]].to_numpy().tolist() == [[3, 2], [2, 1], [1, 1]]
    whole = as_panel(verdicts, cases["case_id"])
    kept = np.array([False, True, True, True, True])
    of_some = calibration(whole.of_cases(kept), gold_of("-BABT"), cases[kept], resamples=0)
    assert summary(of_some)["n_censored"].tolist() == [1]
    without = verdicts.drop(columns="p_a_bound")
    assert summary(calibration(without, gold_of("ABABT"), cases, resamples=0))["n_censored"].tolist() == [0]
