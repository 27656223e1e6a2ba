"""Before and after the cut-off: who is on which side, and what the difference rests on."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from mrb_lib.stats.analyze import TABLES
from mrb_lib.stats.estimation import Sampling
from mrb_lib.stats.methods.welch import unpaired
from mrb_lib.stats.scoring import correctness
from mrb_lib.stats.tables.contamination import NO_CONTROL, NO_CUTOFF, NO_DATES, OF_BASE, days
from tests.stats import small_tables as small

N = 120
RNG = np.random.default_rng(8)
VERDICTS = small.random_verdicts(RNG, N, 3)
GOLD = small.gold_of("".join(RNG.choice(list("AB?"), N)))
DATES = list(RNG.choice(["2021", "2023", "2023-12", "2024-05", "2025-01-03", None], N))
CASES = small.cases_of(N, organ=["eye", "lung"] * (N // 2), date=DATES)


def judges(**cutoffs: str | None) -> pd.DataFrame:
    made = small.groups_of(dict.fromkeys(cutoffs, "open"))
    return made.assign(cutoff=list(cutoffs.values()), cutoff_of=list(cutoffs)).astype({"cutoff": "str"})


THREE = judges(j0="2023-12", j1="2024-05-17", j2=None)


def contamination(
    groups: pd.DataFrame, cases: pd.DataFrame = CASES, verdicts: pd.DataFrame = VERDICTS, **options: Any
) -> pd.DataFrame:
    return small.rows_of("contamination", cases, verdicts, options.pop("gold", GOLD), groups=groups, **options)


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
    groups = judges(j0=cutoff)
    cases = small.cases_of(2, date=[date, None])
    row = contamination(groups, cases, small.verdicts_of({("j0", "AB"): "AA"}), gold=small.gold_of("AA")).iloc[0]
    found = {"before": row["n_before"], "after": row["n_after"], "imprecise": row["n_undated"] - 1}
    assert [name for name, n in found.items() if n] == [side]


def side_of(cutoff: str, which: str) -> np.ndarray:
    """The cases before or after a cut-off."""
    end, day = days(pd.Series([cutoff]))[0], days(CASES["date"])
    return day[:, 1] <= end[0] if which == "before" else day[:, 0] > end[1]


@pytest.mark.parametrize("policy", ["balanced", "official", "answered"])
def test_the_accuracies_are_those_of_the_table_accuracy_on_either_side(policy: str) -> None:
    rows = contamination(THREE, policy=policy, by="organ").set_index(["judge", "subfield"])
    every = small.accuracy(VERDICTS, GOLD, CASES, policy=policy, resamples=0).set_index("judge")
    for judge, cutoff in (("j0", "2023-12"), ("j1", "2024-05-17")):
        row = rows.loc[(judge, np.nan)]
        for name in ("before", "after"):
            here = CASES[side_of(cutoff, name)].reset_index(drop=True)
            said, labels = (each[each["case_id"].isin(here["case_id"])] for each in (VERDICTS, GOLD))
            own = small.accuracy(said, labels, here, policy=policy, resamples=0).set_index("judge")
            assert row[f"n_{name}"] == own.loc[judge, "n"]
            assert row[f"accuracy_{name}"] == pytest.approx(own.loc[judge, "accuracy"])
        assert row["difference"] == pytest.approx(row["accuracy_before"] - row["accuracy_after"])
        assert row["n"] + row["n_undated"] + row["n_excluded"] == N
        assert row["n"] == rows.loc[judge, "n"].iloc[1:].sum()
        assert row["coverage"] == pytest.approx(every.loc[judge, "coverage"])


def test_the_controls_are_the_judges_with_the_latest_cutoff() -> None:
    """What a judge loses more than they do, on the cases from before their cut-off that all are scored on."""
    rows = contamination(judges(j0="2023-12", j1="2024-06", j2=None)).set_index("judge")
    row, latest = rows.loc["j0"], rows.loc["j1"]
    assert row["controls"] == "j1"
    wide = correctness(VERDICTS, GOLD).pivot_table(index="case_id", columns="judge", values="score")
    scores = wide.reindex(CASES["case_id"])[["j0", "j1"]].to_numpy(np.float64).T
    both = np.isfinite(scores).all(axis=0) & side_of("2024-06", "before")
    before, after = (side_of("2023-12", name) for name in ("before", "after"))
    own, theirs = (score[both & before].mean() - score[both & after].mean() for score in scores)
    assert row["n_controlled"] == (both & (before | after)).sum() < row["n"]
    assert row["excess"] == pytest.approx(own - theirs)
    assert pd.isna(latest["p_value"])
    assert NO_CONTROL in latest["reason"]
    assert latest["family"] == 1


def test_cases_that_get_harder_for_everybody_accuse_nobody() -> None:
    """Two judges lose 30 points after the first one's cut-off: with a control, that is no memory of public cases."""
    rng, early = np.random.default_rng(3), np.arange(400) < 200
    chances = {"same": (0.9, 0.6), "memory": (0.95, 0.4), "later": (0.9, 0.6), "alone": (0.9, 0.6)}
    right = {name: rng.random((2, 400)) < np.where(early, *two) for name, two in chances.items()}
    verdicts, gold, cases = small.judged(right, "ABBA" * 100, date=np.where(early, "2020", "2025"))
    given = {"verdicts": verdicts, "gold": gold, "cluster": "case_id", "cases": cases}
    table = contamination(judges(same="2023-01", memory="2023-01", later="2026-01"), **given)
    rows = table.set_index("judge")
    assert rows.loc["same", "difference"] > 0.2
    assert rows.loc["same", "p_adjusted"] > 0.05 >= rows.loc["memory", "p_adjusted"]
    assert rows.loc[["later", "alone"], "p_value"].isna().all()
    said = TABLES["contamination"].says(table)
    assert said.startswith("Of 2 judges, 1 is significantly less accurate overall after the training cut-off")
    assert "memory loses most: +" in said
    few = contamination(judges(same="2023-01", later="2026-01"), **given)
    assert "judge is not significantly less accurate" in TABLES["contamination"].says(few)
    nobody = contamination(judges(same="2023-01", later="2023-01"), **given)
    assert TABLES["contamination"].says(nobody).startswith("Cannot tell overall whether training data contain cases")


def test_the_test_is_welchs_where_cases_are_independent() -> None:
    value = np.random.default_rng(1).random((90, 1))
    first = np.arange(90)[:, None] < 25
    made = gap(value, first, np.arange(90))
    expected = stats.ttest_ind(value[first], value[~first], equal_var=False)
    assert made.value[0] / made.error[0] == pytest.approx(expected.statistic)
    assert made.df[0] == pytest.approx(expected.df, abs=1e-5)


def gap(value: np.ndarray, first: np.ndarray, codes: np.ndarray) -> Any:
    sampling = Sampling(codes, np.zeros((0, codes.max() + 1)))
    return unpaired(np.where(first, value, np.nan), np.where(first, np.nan, value), sampling)


def test_a_judge_without_a_cutoff_is_a_row_with_the_reason() -> None:
    row = contamination(THREE).set_index("judge").loc["j2"]
    assert row["reason"] == NO_CUTOFF
    assert (row["n"], row["n_before"], row["n_after"]) == (0, 0, 0)
    assert row[["cutoff", "accuracy_before", "difference", "p_value"]].isna().all()


def test_without_dates_or_cutoffs_the_table_is_one_line() -> None:
    bare = contamination(THREE, CASES.drop(columns="date"))
    assert bare["reason"].tolist() == [NO_DATES]
    assert contamination(small.groups_of({"j0": "open"}))["reason"].tolist() == [NO_CUTOFF]
    assert TABLES["contamination"].says(bare) == f"There is nothing to show: {NO_DATES}."


def test_the_cutoff_of_a_base_is_called_so() -> None:
    rows = contamination(THREE.assign(cutoff_of=["base", "j1", None])).set_index("judge")
    assert OF_BASE in rows.loc["j0", "reason"]
    assert rows.loc["j0", "cutoff_of"] == "base"
    assert OF_BASE not in rows.loc["j1", "reason"]
