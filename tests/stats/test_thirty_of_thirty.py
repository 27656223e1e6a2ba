"""30 of 30 right is not certainty: every table gives the share an interval with width, that of Wilson."""

from __future__ import annotations

import pandas as pd
import pytest
from statsmodels.stats.proportion import proportion_confint

from tests.stats.small_tables import annotations_of, cases_of, ceiling, gold_of, jury, rows_of, verdicts_of

GOLD = "AB" * 15
RIGHT = verdicts_of({(judge, order): GOLD for judge in "jk" for order in ("AB", "BA")})
WILSON = proportion_confint(30, 30, method="wilson")
FAST = {"resamples": 100}


def ends(table: pd.DataFrame, low: str = "low", high: str = "high") -> list[list[float]]:
    assert len(table)
    return table[[low, high]].drop_duplicates().to_numpy(dtype=float).tolist()


def test_gold_rules() -> None:
    people = annotations_of(dict.fromkeys("abc", GOLD))
    table = rows_of("gold_rules", cases_of(30), RIGHT, None, people, **FAST)
    rows = table[table["part"] == "rule"].set_index("rule")
    for rule in ("majority", "unanimous", "soft_votes"):
        assert ends(rows.loc[[rule]]) == [pytest.approx(WILSON)], rule
    [[low, high]] = ends(rows.loc[["leave_one_out"]])
    assert 0.87 < low < WILSON[0], "90 labels of 30 cases are 30 observations, with t for 30 clusters"
    assert high == 1


def test_jury() -> None:
    table = jury(RIGHT, gold_of(GOLD), cases_of(30), **FAST)
    for part in ("jury", "single"):
        rows = table[(table["part"] == part) & table["accuracy"].notna()]
        assert ends(rows) == [pytest.approx(WILSON)], part


def test_ceiling() -> None:
    """Of each annotator and of each judge; the mean annotator rests on 90 labels of 30 cases."""
    people = annotations_of(dict.fromkeys("abc", GOLD))
    table = ceiling(RIGHT, people, cases_of(30), **FAST).query("part != 'alt_test'")
    alone = (table["part"] == "annotator") & (table["annotator"] != "mean")
    assert ends(table[alone]) == [pytest.approx(WILSON)]
    for rows in (table[(table["part"] == "annotator") & ~alone], table[table["part"] == "judge"]):
        [[low, high]] = ends(rows)
        assert 0.87 < low < WILSON[0]
        assert high == 1
    judges = table[table["part"] == "judge"]
    assert judges[["difference_low", "difference_high", "verdict"]].isna().all(axis=None)
