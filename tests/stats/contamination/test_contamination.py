"""Before and after the cut-off: who is on which side, and what the difference rests on."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from mrb_lib.stats.analyze import TABLES
from mrb_lib.stats.contamination.sides import gap, sides
from mrb_lib.stats.contamination.table import NO_CUTOFF, NO_DATES, NONE_THERE, OF_BASE, contamination
from tests.stats.small_tables import accuracy, cases_of, gold_of, groups_of, random_verdicts, verdicts_of

N = 120
RNG = np.random.default_rng(8)
VERDICTS = random_verdicts(RNG, N, 3)
GOLD = gold_of("".join(RNG.choice(list("AB?"), N)))
DATES = list(RNG.choice(["2021", "2023", "2023-12", "2024-05", "2025-01-03", None], N))
CASES = cases_of(N, organ=["eye", "lung"] * (N // 2), date=DATES)


def judges(**cutoffs: str | None) -> pd.DataFrame:
    made = groups_of(dict.fromkeys(cutoffs, "open"))
    return made.assign(cutoff=list(cutoffs.values()), cutoff_of=list(cutoffs)).astype({"cutoff": "str"})


THREE = judges(j0="2023-12", j1="2024-05-17", j2=None)


@pytest.mark.parametrize(
    ("cutoff", "date", "side"),
    [
        ("2023-12", "2022", "before"), ("2023-12", "2023-11", "before"), ("2023-12", "2023-11-30", "before"),
        ("2023-12", "2023-12-01", "before"), ("2023-12", "2023-12-02", "imprecise"),
        ("2023-12", "2023-12", "imprecise"), ("2024-02", "2024-02-29", "imprecise"),
        ("2023-12", "2023", "imprecise"), ("2023-12", "2024", "after"), ("2023-12", "2024-01-01", "after"),
        ("2023-12-15", "2023-12-15", "before"), ("2023-12-15", "2023-12-16", "after"),
        ("2023-12-15", "2023-12", "imprecise"), ("2023-12-31", "2023", "before"),
    ],
)  # fmt: skip
def test_a_case_is_on_a_side_only_where_its_date_tells(cutoff: str, date: str, side: str) -> None:
    made = sides(pd.DataFrame({"date": [date, None]}), cutoff)
    assert [name for name, cases in made._asdict().items() if cases[0]] == [side]
    assert not any(cases[1] for cases in made)


@pytest.mark.parametrize("policy", ["balanced", "official", "answered"])
def test_the_accuracies_are_those_of_the_table_accuracy_on_either_side(policy: str) -> None:
    rows = contamination(VERDICTS, GOLD, CASES, THREE, policy=policy, by="organ").set_index(["judge", "subfield"])
    for judge, cutoff in (("j0", "2023-12"), ("j1", "2024-05-17")):
        made = sides(CASES, cutoff)
        row = rows.loc[(judge, np.nan)]
        for name, kept in (("before", made.before), ("after", made.after)):
            here = CASES[kept]
            own = accuracy(
                VERDICTS[VERDICTS["case_id"].isin(here["case_id"])], GOLD[GOLD["case_id"].isin(here["case_id"])],
                here.reset_index(drop=True), policy=policy, resamples=0,
            )  # fmt: skip
            own = own[own["kind"] == "judge"].set_index("judge")
            assert row[f"n_{name}"] == own.loc[judge, "n"]
            assert row[f"accuracy_{name}"] == pytest.approx(own.loc[judge, "accuracy"])
        assert row["difference"] == pytest.approx(row["accuracy_before"] - row["accuracy_after"])
        assert row["low"] < row["difference"] < row["high"]
        assert row["n_imprecise"] > 0
        assert row["n"] + row["n_undated"] + row["n_excluded"] == N
        assert row["n"] == rows.loc[judge, "n"].iloc[1:].sum()
        every = accuracy(VERDICTS, GOLD, CASES, policy=policy, resamples=0)
        assert row["coverage"] == every[every["kind"] == "judge"].set_index("judge").loc[judge, "coverage"]
    assert rows.xs(np.nan, level="subfield")["family"].eq(2).all()


def test_the_test_is_welchs_where_cases_are_independent() -> None:
    value = np.random.default_rng(1).random((1, 90))
    first = np.arange(90)[None] < 25
    made = gap(value, first, ~first, np.arange(90)).difference
    expected = stats.ttest_ind(value[first], value[~first], equal_var=False)
    low, high = expected.confidence_interval()
    assert made.value[0] / made.error[0] == pytest.approx(expected.statistic)
    assert made.clusters[0] - 1 == pytest.approx(expected.df, abs=1e-5)
    assert high - low == pytest.approx(2 * stats.t.ppf(0.975, expected.df) * made.error[0])


def test_a_cluster_on_both_sides_takes_what_both_share_off() -> None:
    """Every cluster has one case of each side, as alike as can be: the difference is the same in all, and certain."""
    rng = np.random.default_rng(2)
    common = np.repeat(rng.random(40), 2)
    first = np.tile([True, False], 40)[None]
    value = common + np.where(first, 0.1, 0.0) + rng.normal(0, 0.01, 80)
    apart, together = (
        gap(value, first, ~first, codes).difference for codes in (np.arange(80), np.repeat(np.arange(40), 2))
    )
    assert together.error[0] < apart.error[0] / 10
    paired = value[0, ::2] - value[0, 1::2]
    assert together.error[0] == pytest.approx(paired.std(ddof=1) / np.sqrt(40))


def test_a_judge_without_a_cutoff_is_a_row_with_the_reason() -> None:
    row = contamination(VERDICTS, GOLD, CASES, THREE).set_index("judge").loc["j2"]
    assert row["reason"] == NO_CUTOFF
    assert (row["n"], row["n_before"], row["n_after"]) == (0, 0, 0)
    assert row[["cutoff", "accuracy_before", "difference", "p_value"]].isna().all()
    nobody = contamination(VERDICTS, GOLD, CASES, groups_of({"j0": "open"}))
    assert nobody["judge"].tolist() == ["j0", "j1", "j2"]
    assert nobody["reason"].eq(NO_CUTOFF).all()


def test_cases_without_dates_or_on_one_side_only_are_said() -> None:
    bare = contamination(VERDICTS, GOLD, CASES.drop(columns="date"), THREE).set_index("judge")
    assert bare.loc["j0", "reason"] == NO_DATES
    assert bare.loc["j0", "n_undated"] + bare.loc["j0", "n_excluded"] == N
    late = contamination(VERDICTS, GOLD, CASES.assign(date="2026"), THREE).set_index("judge").loc["j0"]
    assert late["reason"] == NONE_THERE.format("before")
    assert np.isfinite(late["accuracy_after_low"])
    vague = contamination(VERDICTS, GOLD, CASES.assign(date="2023"), THREE).set_index("judge").loc["j0"]
    assert vague["n_imprecise"] == vague["n_undated"] == N - vague["n_excluded"]
    assert "too imprecise to tell the side" in vague["reason"]


def test_the_cutoff_of_a_base_is_called_so() -> None:
    tuned = THREE.assign(cutoff_of=["base", "j1", None])
    rows = contamination(VERDICTS, GOLD, CASES, tuned).set_index("judge")
    assert OF_BASE.format("base") in rows.loc["j0", "reason"]
    assert "base" not in rows.loc["j1", "reason"]


def test_the_sentence_names_who_is_better_before() -> None:
    rng = np.random.default_rng(3)
    early = np.arange(300) < 150
    gold = rng.choice(list("AB"), 300)
    shown = {
        (judge, order): "".join(
            np.where(rng.random(300) < np.where(early, known, 0.6), gold, np.where(gold == "A", "B", "A"))
        )
        for judge, known in (("j0", 0.9), ("j1", 0.6))
        for order in ("AB", "BA")
    }
    cases = cases_of(300, date=np.where(early, "2020", "2025").tolist())
    table = contamination(
        verdicts_of(shown), gold_of("".join(gold)), cases, judges(j0="2023-01", j1="2023-01"), cluster="case_id"
    )
    said = TABLES["contamination"].says(table)
    assert "2 judges, 1 is shown to be more accurate on cases from before the training cut-off, j0 most (+" in said
    assert "other judges on the same cases can tell" in said
    assert "no judge can be compared" in TABLES["contamination"].says(
        contamination(verdicts_of(shown), GOLD, cases_of(300), THREE)
    )
