"""Prediction-powered win rates: what helps, what does not, and what is counted as labelled."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tests.stats.small_tables import Tables, judged, part_of, table_of, tables_of

N = 400


def benchmark(seed: int, agree: float, labelled: int = N) -> Tables:
    """Verdicts, gold and cases between x and y; the judge gives the label with probability `agree`, else the other."""
    generator = np.random.default_rng(seed)
    label = generator.random(N) < 0.6
    right, turned = generator.random(N) < agree, generator.random(N) < 0.5
    models = {"model_a": np.where(turned, "y", "x"), "model_b": np.where(turned, "x", "y")}
    verdicts, gold, cases = judged({"j": np.stack([right] * 2)}, "".join(np.where(label ^ turned, "A", "B")), **models)
    return verdicts, gold.head(labelled), cases


ppi = table_of("ppi")


def rows(frame: pd.DataFrame, part: str = "estimate") -> pd.DataFrame:
    return part_of(frame, part).dropna(subset="responder").set_index("responder")


def test_the_two_sides_of_a_case_mirror_each_other() -> None:
    found = rows(ppi(*benchmark(2, 0.8, 100)))
    assert found["estimate"].sum() == pytest.approx(1)
    assert found.loc["x", "low"] == pytest.approx(1 - found.loc["y", "high"])
    for name in ("lambda", "correlation", "expected_label_saving"):
        assert found[name].nunique() == 1 or np.ptp(found[name]) < 1e-12
    assert found[["n_labelled", "n_unlabelled"]].to_numpy().tolist() == [[100, 300]] * 2


@pytest.mark.parametrize("agree", [0.5, 0.2])
def test_a_judge_that_says_nothing_or_the_opposite_is_not_listened_to(agree: float) -> None:
    found = rows(ppi(*benchmark(4, agree, 100))).loc["x"]
    assert found["lambda"] < 0.15
    assert found["expected_label_saving"] == pytest.approx(0, abs=0.04)
    if agree < 0.5:
        assert found["lambda"] == 0
        assert found["estimate"] == found["classical_estimate"]
        assert found["expected_label_saving"] == 0


def test_where_all_is_labelled_there_is_only_a_what_if() -> None:
    verdicts, gold, cases = benchmark(5, 0.8)
    frame = ppi(verdicts, gold, cases)
    assert frame["part"].eq("what_if").all()
    what_if = rows(frame, "what_if").loc["x"]
    assert (what_if["n_labelled"], what_if["n_unlabelled"]) == (80, 320)
    turned = cases["model_a"].eq("y").to_numpy()
    share = (gold["choice"].eq("A").to_numpy() ^ turned).mean()
    assert what_if["full_estimate"] == pytest.approx(share)
    assert what_if["expected_label_saving"] == pytest.approx(what_if["correlation"] ** 2 * 0.8)
    width, alone = (what_if[f"{name}high"] - what_if[f"{name}low"] for name in ("", "classical_"))
    assert 1 - (width / alone) ** 2 == pytest.approx(what_if["expected_label_saving"], abs=0.12)


def test_a_judge_with_a_verdict_on_an_unlabelled_case_has_an_estimate_and_others_have_none() -> None:
    verdicts, gold, cases = benchmark(5, 0.8, 300)
    other = verdicts[verdicts["case_id"].isin(gold["case_id"])].assign(judge="of labelled cases")
    frame = ppi(pd.concat([verdicts, other]), gold, cases)
    assert frame.loc[frame["part"] == "estimate", "judge"].unique().tolist() == ["j"]
    assert frame.loc[frame["part"] == "what_if", "judge"].nunique() == 2


def test_all_responders_together_add_the_covariances() -> None:
    frame = ppi(*benchmark(6, 0.8, 100))
    row, names = part_of(frame, "estimate").query("responder.isna()").iloc[0], ["expected_label_saving", "correlation"]
    assert row[["n_labelled", "n_unlabelled"]].tolist() == [100, 300]
    assert row[names].tolist() == pytest.approx(rows(frame)[names].mean().tolist())
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


@pytest.mark.parametrize("n", [110, 140], ids=["thirty undecided", "all decided"])
def test_by_hand(n: int) -> None:
    """Section 6 of arXiv 2311.01453, of labels of which n of 140 are decided.

    The root of sum(D (Y - theta)) + lambda n (mean F unseen - mean F seen) = 0, with the variance of a ratio, that of
    the labels times n / (n - 1) and Student's quantile.
    """
    verdicts, gold, cases = benchmark(13, 0.8, 140)
    gold = undecided(gold.iloc[:n], list(range(n, 140)), [3] * (140 - n))
    row = rows(ppi(verdicts, gold, cases)).loc["x"]
    turned = cases["model_a"].eq("y").to_numpy()
    f = (verdicts.groupby("case_id")["choice"].first().reindex(cases["case_id"]).eq("A").to_numpy() ^ turned) * 1.0
    y = (gold["choice"].eq("A").to_numpy()[:n] ^ turned[:n]) * 1.0
    theta, seen, rest = y.mean(), f[:140], f[140:]
    influence = np.concatenate([(y - theta) / (n / 140), np.zeros(140 - n)])
    weight = np.cov(influence, seen, ddof=0)[0, 1] / ((1 + 140 / 260) * f.var(ddof=1))
    of_seen = (influence - weight * (seen - seen.mean())) ** 2
    variance = weight**2 * rest.var() / 260 + (of_seen[:n].sum() * n / (n - 1) + of_seen[n:].sum()) / 140**2
    half = stats.t.ppf(0.975, n - 1) * np.sqrt(variance)
    estimate = theta + weight * (rest.mean() - seen.mean())
    assert (row["estimate"], row["lambda"]) == pytest.approx((estimate, weight), abs=1e-12)
    assert (row["low"], row["high"]) == pytest.approx((estimate - half, estimate + half), abs=1e-12)
    assert row["classical_estimate"] == pytest.approx(theta, abs=1e-12)
    if n == 140:
        classical = stats.t.interval(0.95, n - 1, theta, stats.sem(y))
        assert (row["classical_low"], row["classical_high"]) == pytest.approx(classical, abs=1e-12)
    assert row["correlation"] == pytest.approx(np.corrcoef(influence, seen)[0, 1], abs=1e-12)
    assert row["expected_label_saving"] == pytest.approx(row["correlation"] ** 2 * 260 / 400, abs=1e-12)


def test_what_if_hides_undecided_cases_as_it_hides_labels() -> None:
    verdicts, gold, cases = benchmark(14, 0.8, 300)
    frame = ppi(verdicts, undecided(gold.iloc[:200], list(range(200, 300)), [3] * 100), cases)
    found = rows(frame, "what_if").loc["x"]
    assert found["n_labelled"] + found["n_undecided"] == 60
    assert (found["n_unlabelled"], found["n_excluded"]) == (240, 100)
    assert found["n_undecided"] > 0


def test_cases_without_two_responders_or_a_verdict_are_counted() -> None:
    verdicts, gold, cases = benchmark(15, 0.8, 100)
    missing = cases.assign(model_b=cases["model_b"].where(np.arange(N) >= 7))
    same = missing.assign(model_a=missing["model_a"].where(np.arange(N) < N - 5, missing["model_b"]))
    frame = ppi(verdicts, gold, same)
    assert frame["n_unpaired"].eq(12).all()
    assert rows(frame).loc["x", ["n_labelled", "n_unlabelled"]].sum() == N - 12
    found = rows(ppi(verdicts[~verdicts["case_id"].isin(["c0", "c1", "c399"])], gold, cases))
    assert found.loc["x", ["n_labelled", "n_unlabelled", "n_excluded"]].tolist() == [98, 299, 3]


def test_the_seed_decides_the_subset() -> None:
    verdicts, gold, cases = benchmark(11, 0.8, 300)
    first, other = (ppi(verdicts, gold, cases, seed=seed) for seed in (1, 2))
    pd.testing.assert_frame_equal(rows(first), rows(other))
    assert not np.allclose(rows(first, "what_if")["estimate"], rows(other, "what_if")["estimate"])


def test_cases_that_do_not_name_their_responders_are_said_to() -> None:
    frame = ppi(*tables_of({("j", "AB"): "AB"}, "AB"))
    assert len(frame) == 1
    assert frame["reason"].str.contains("model_a and model_b").all()
    assert frame["estimate"].isna().all()
