"""Prediction-powered win rates: what helps, what does not, and what is counted as labelled."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from mrb_lib.stats.core.panel import as_panel
from mrb_lib.stats.responders.ppi import COLUMNS, ppi
from mrb_lib.stats.responders.prediction_powered import mean
from mrb_lib.tables.errors import InputError
from tests.stats.small_tables import cases_of, gold_of, verdicts_of

N = 400


def benchmark(seed: int, agree: float, labelled: int = N) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Verdicts, gold and cases between x and y; the judge gives the label with probability `agree`, else the other."""
    generator = np.random.default_rng(seed)
    label = generator.random(N) < 0.6
    said = np.where(generator.random(N) < agree, label, ~label)
    turned = generator.random(N) < 0.5
    cases = cases_of(N, model_a=list(np.where(turned, "y", "x")), model_b=list(np.where(turned, "x", "y")))
    choices = ["".join(np.where(values ^ turned, "A", "B")) for values in (label, said)]
    gold = gold_of(choices[0][:labelled])
    return verdicts_of({("j", "AB"): choices[1], ("j", "BA"): choices[1]}), gold, cases


def rows(frame: pd.DataFrame, part: str = "estimate") -> pd.DataFrame:
    return frame[(frame["part"] == part) & frame["responder"].notna()].set_index("responder")


def test_columns_types_and_rows() -> None:
    frame = ppi(*benchmark(1, 0.8, 100))
    assert list(frame.columns) == COLUMNS
    assert len(frame) == 3 * 4
    assert frame["label_share"].dropna().unique().tolist() == [0.1, 0.2, 0.5]
    assert frame["n_labelled"].dtype == np.int64


def test_the_two_sides_of_a_case_mirror_each_other() -> None:
    found = rows(ppi(*benchmark(2, 0.8, 100)))
    assert found["estimate"].sum() == pytest.approx(1)
    assert found.loc["x", "low"] == pytest.approx(1 - found.loc["y", "high"])
    for name in ("lambda", "correlation", "label_saving"):
        assert found[name].nunique() == 1 or np.ptp(found[name]) < 1e-12
    assert found["n_labelled"].tolist() == [100, 100]
    assert found["n_unlabelled"].tolist() == [300, 300]


def test_a_perfect_judge_replaces_the_labels() -> None:
    """All four hundred verdicts are worth labels: the estimate is the judge's mean, and 3/4 of the labels are saved."""
    verdicts, gold, cases = benchmark(3, 1.0, 100)
    found = rows(ppi(verdicts, gold, cases))
    every = rows(ppi(verdicts, benchmark(3, 1.0)[1], cases))
    assert found.loc["x", "correlation"] == pytest.approx(1)
    assert found.loc["x", "lambda"] == pytest.approx(0.75, abs=0.03)
    assert found.loc["x", "estimate"] == pytest.approx(every.loc["x", "estimate"], abs=0.01)
    assert found.loc["x", "expected_label_saving"] == pytest.approx(0.75)
    assert found.loc["x", "label_saving"] == pytest.approx(0.75, abs=0.02)
    assert found.loc["x", "effective_n"] == pytest.approx(400, rel=0.06)
    assert found.loc["x", "width_ratio"] == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("agree", [0.5, 0.2])
def test_a_judge_that_says_nothing_or_the_opposite_is_not_listened_to(agree: float) -> None:
    found = rows(ppi(*benchmark(4, agree, 100))).loc["x"]
    assert found["lambda"] < 0.15
    assert found["width_ratio"] == pytest.approx(1, abs=0.02)
    if agree < 0.5:
        assert found["lambda"] == 0
        assert found["estimate"] == found["classical_estimate"]
        assert found["expected_width_ratio"] == 1


def test_where_all_is_labelled_the_estimate_is_the_classical_one_and_says_so() -> None:
    frame = ppi(*benchmark(5, 0.8))
    found = rows(frame)
    assert (found["estimate"] == found["classical_estimate"]).all()
    assert (found["low"] == found["classical_low"]).all()
    assert found["n_unlabelled"].eq(0).all()
    assert found["reason"].str.contains("no case without a label").all()
    assert found["full_estimate"].isna().all()
    what_if = rows(frame, "what_if").loc["x"]
    assert what_if["n_labelled"].tolist() == [40, 80, 200]
    assert what_if["n_unlabelled"].tolist() == [360, 320, 200]
    assert what_if["full_estimate"].nunique() == 1
    assert what_if["full_estimate"].iloc[0] == found.loc["x", "estimate"]
    r = what_if["correlation"].iloc[0]
    np.testing.assert_allclose(what_if["expected_label_saving"], r**2 * np.array([0.9, 0.8, 0.5]))
    np.testing.assert_allclose(what_if["expected_width_ratio"] ** 2, 1 - what_if["expected_label_saving"])
    np.testing.assert_allclose(what_if["label_saving"], what_if["expected_label_saving"], atol=0.12)
    assert (what_if["width_ratio"] < 1).all()


def test_all_responders_together_weigh_the_variances() -> None:
    frame = ppi(*benchmark(6, 0.8, 100))
    row = frame[(frame["part"] == "estimate") & frame["responder"].isna()].iloc[0]
    single = rows(frame)
    assert (row["n_labelled"], row["n_unlabelled"]) == (100, 300)
    for name in ("label_saving", "correlation", "width_ratio"):
        assert row[name] == pytest.approx(single[name].mean())
    assert np.isnan(row["estimate"])


def undecided(gold: pd.DataFrame, places: list[int], seen_by: list[int]) -> pd.DataFrame:
    """The labels, and cases that so many annotators saw without a decision."""
    more = pd.DataFrame({"case_id": [f"c{i}" for i in places], "dimension": "overall", "n_annotators": seen_by})
    return pd.concat([gold.assign(n_annotators=3), more.assign(choice=None).astype({"choice": "str"})])


def test_a_case_annotators_could_not_decide_is_seen_but_not_labelled() -> None:
    verdicts, gold, cases = benchmark(7, 0.8, 100)
    found = rows(ppi(verdicts, undecided(gold, [399, 398], [2, 0]), cases))
    counts = ["n_labelled", "n_undecided", "n_unlabelled", "n_excluded", "n_unpaired"]
    assert found.loc["x", counts].tolist() == [100, 1, 299, 0, 0]


def test_undecided_cases_by_hand() -> None:
    """The root of sum(D (Y - theta)) + lambda n (mean F unseen - mean F seen) = 0, with the variance of a ratio."""
    verdicts, gold, cases = benchmark(13, 0.8, 140)
    gold = undecided(gold.iloc[:110], list(range(110, 140)), [3] * 30)
    row = rows(ppi(verdicts, gold, cases)).loc["x"]
    turned = cases["model_a"].eq("y").to_numpy()
    f = (verdicts.groupby("case_id")["choice"].first().reindex(cases["case_id"]).eq("A").to_numpy() ^ turned) * 1.0
    y = (gold["choice"].eq("A").to_numpy()[:110] ^ turned[:110]) * 1.0
    theta, seen, rest = y.mean(), f[:140], f[140:]
    influence = np.concatenate([(y - theta) / (110 / 140), np.zeros(30)])
    weight = np.cov(influence, seen, ddof=0)[0, 1] / ((1 + 140 / 260) * f.var(ddof=1))
    variance = weight**2 * rest.var() / 260 + (influence - weight * seen).var() / 140
    half = stats.t.ppf(0.975, 109) * np.sqrt(variance * 110 / 109)
    estimate = theta + weight * (rest.mean() - seen.mean())
    assert (row["estimate"], row["lambda"]) == pytest.approx((estimate, weight), abs=1e-12)
    assert (row["low"], row["high"]) == pytest.approx((estimate - half, estimate + half), abs=1e-12)
    assert row["classical_estimate"] == pytest.approx(theta, abs=1e-12)
    assert row["correlation"] == pytest.approx(np.corrcoef(influence, seen)[0, 1], abs=1e-12)
    assert row["expected_label_saving"] == pytest.approx(row["correlation"] ** 2 * 260 / 400, abs=1e-12)


def test_what_if_hides_undecided_cases_as_it_hides_labels() -> None:
    verdicts, gold, cases = benchmark(14, 0.8, 300)
    frame = ppi(verdicts, undecided(gold.iloc[:200], list(range(200, 300)), [3] * 100), cases)
    found = rows(frame, "what_if").loc["x"]
    assert (found["n_labelled"] + found["n_undecided"]).tolist() == [30, 60, 150]
    assert found["n_unlabelled"].tolist() == [270, 240, 150]
    assert found["n_excluded"].eq(100).all()
    assert found["n_undecided"].gt(0).all()


def test_cases_without_two_responders_are_counted() -> None:
    verdicts, gold, cases = benchmark(15, 0.8, 100)
    missing = cases.assign(model_b=cases["model_b"].where(np.arange(N) >= 7))
    same = missing.assign(model_a=missing["model_a"].where(np.arange(N) < N - 5, missing["model_b"]))
    frame = ppi(verdicts, gold, same)
    assert frame["n_unpaired"].eq(12).all()
    assert rows(frame).loc["x", ["n_labelled", "n_unlabelled"]].sum() == N - 12


def test_cases_without_a_verdict_are_counted_as_excluded() -> None:
    verdicts, gold, cases = benchmark(8, 0.8, 100)
    kept = verdicts[~verdicts["case_id"].isin(["c0", "c1", "c399"])]
    found = rows(ppi(kept, gold, cases))
    assert found.loc["x", ["n_labelled", "n_unlabelled", "n_excluded"]].tolist() == [98, 299, 3]


def test_clusters_make_the_interval_wider_and_lambda_the_best_one() -> None:
    """Every case five times: as cases it seems five times as much, as clusters it is what it was once."""
    generator = np.random.default_rng(9)
    y = (generator.random(60) < 0.5).astype(float)
    f = np.where(generator.random((60, 1)) < 0.8, y[:, None], 1 - y[:, None])
    labelled = (np.arange(60) < 20)[:, None]
    once = mean(y, f, labelled, ~labelled, np.arange(60))
    again = [np.repeat(item, 5, axis=0) for item in (y, f, labelled)]
    five = mean(*again, ~again[2], np.repeat(np.arange(60), 5))
    as_cases = mean(*again, ~again[2], np.arange(300))
    assert five.classical_variance[0] == pytest.approx(once.classical_variance[0])
    assert five.variance[0] <= once.variance[0] * (1 + 1e-9)
    assert five.variance[0] == pytest.approx(once.variance[0], rel=0.05)
    assert as_cases.variance[0] < once.variance[0] / 4
    assert five.clusters[0] == 20


@pytest.mark.parametrize("seed", range(5))
def test_with_clusters_no_other_lambda_has_less_variance(seed: int) -> None:
    generator = np.random.default_rng(seed)
    codes = np.arange(200) // 4
    y = (generator.random(200) < 0.5).astype(float)
    f = (0.7 * y + 0.3 * generator.random(200))[:, None]
    labelled = (codes < 20)[:, None]
    found = mean(y, f, labelled, ~labelled, codes)
    assert found.variance[0] <= found.classical_variance[0]
    for shift in (0.9, 1.1):
        scaled = found.power[0] * shift
        dy = np.where(labelled[:, 0], y - y[labelled[:, 0]].mean(), 0) / labelled.sum()
        df = np.where(labelled[:, 0], f[:, 0] - f[labelled[:, 0], 0].mean(), 0) / labelled.sum()
        du = np.where(~labelled[:, 0], f[:, 0] - f[~labelled[:, 0], 0].mean(), 0) / (~labelled).sum()
        sums = np.bincount(codes, dy + scaled * (du - df))
        assert (sums**2).sum() * 20 / 19 >= found.variance[0]


def test_too_few_labels_give_no_interval() -> None:
    for labelled, reason in ((0, "fewer than two labelled"), (1, "fewer than two labelled")):
        found = rows(ppi(*benchmark(10, 0.8, labelled)))
        assert found[["low", "high", "classical_low", "width_ratio"]].isna().all(axis=None)
        assert found["reason"].str.contains(reason).all()
    verdicts, gold, cases = benchmark(10, 0.8, 100)
    found = rows(ppi(verdicts, gold, cases.assign(cluster="one")))
    assert found["low"].isna().all()
    assert found["reason"].str.contains("one cluster").all()


def test_labels_that_do_not_differ_are_no_certainty() -> None:
    cases = cases_of(6, model_a=["x"] * 6, model_b=["y"] * 6)
    found = rows(ppi(verdicts_of({("j", "AB"): "AABABA"}), gold_of("AAA"), cases)).loc["x"]
    assert found["classical_low"] == found["classical_high"] == 1
    assert np.isnan(found["width_ratio"])
    assert "no width" in found["reason"]


def test_intervals_end_at_zero_and_one() -> None:
    cases = cases_of(8, model_a=["x"] * 8, model_b=["y"] * 8)
    found = rows(ppi(verdicts_of({("j", "AB"): "AAABAAAA"}), gold_of("AAAB"), cases))
    assert found["high"].max() <= 1
    assert found["low"].min() >= 0


def test_a_panel_gives_what_the_table_gives_and_the_seed_decides_the_subset() -> None:
    verdicts, gold, cases = benchmark(11, 0.8)
    first = ppi(verdicts, gold, cases, seed=1)
    pd.testing.assert_frame_equal(first, ppi(as_panel(verdicts, cases["case_id"]), gold, cases, seed=1))
    other = ppi(verdicts, gold, cases, seed=2)
    pd.testing.assert_frame_equal(rows(first), rows(other))
    assert not np.allclose(rows(first, "what_if")["estimate"], rows(other, "what_if")["estimate"])


def test_cases_that_do_not_name_their_responders_are_said_to() -> None:
    frame = ppi(verdicts_of({("j", "AB"): "AB"}), gold_of("AB"), cases_of(2))
    assert frame["reason"].str.contains("model_a and model_b").all()
    assert frame["estimate"].isna().all()


def test_a_share_that_is_none_is_refused() -> None:
    verdicts, gold, cases = benchmark(12, 0.8)
    with pytest.raises(InputError, match=r"shares: 1\.5"):
        ppi(verdicts, gold, cases, shares=(1.5,))
