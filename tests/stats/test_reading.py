"""Every column has a line for `mrb analyze --explain`, and every table a sentence that its rows bear out."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mrb_lib.stats.core.columns import UNITS, Meaning, meaning
from mrb_lib.stats.tables import TABLES

NAN = float("nan")


def rows(*each: dict[str, Any], **common: Any) -> pd.DataFrame:
    return pd.DataFrame([{**common, **row} for row in each])


@pytest.mark.parametrize("table", TABLES)
def test_every_column_has_a_line_with_its_unit(table: str) -> None:
    spec = TABLES[table]
    columns = dict.fromkeys((*spec.columns, *spec.more))
    lines = {name: spec.meaning(name) for name in columns}
    assert [name for name, line in lines.items() if line is None] == [], "say in reading.py what they mean"
    assert [name for name, line in lines.items() if line and line.unit not in UNITS] == []
    long = {name: line for name, line in lines.items() if line and len(f"{name}  {line.text} ({line.source})") > 160}
    assert long == {}
    assert set(spec.meanings) - set(columns) == set(), "lines about columns that the table does not have"
    assert set(spec.headline) - set(columns) == set()


@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("agreement", "cohen_kappa"), ("agreement", "gwet_ac1"), ("agreement", "krippendorff_alpha"),
        ("agreement", "icc_2_1"), ("annotator_pairs", "pabak"), ("annotators", "probability"), ("calibration", "ece"),
        ("ceiling", "winning_rate"), ("consistency", "ipi"), ("dif", "mh_odds_ratio"), ("difficulty", "difficulty"),
        ("jury", "shapley"), ("ppi", "lambda"), ("ranking", "strength"), ("selective", "aurc"), ("transfer", "i2"),
    ],
)  # fmt: skip
def test_a_method_names_its_source_with_the_year(table: str, column: str) -> None:
    line = TABLES[table].meaning(column)
    assert line is not None
    assert re.search(r"\b(19|20)\d\d\b", line.source)


def test_composed_names_say_of_what_they_are() -> None:
    own = {"ipi": "inversions | share 0-1", "x": "a number | number"}
    assert meaning("ipi_low", own, ("ipi", "ipi_low")) == Meaning("lower end of the 95% interval of ipi", "share 0-1")
    assert meaning("low", own, ("n", "x", "low", "high")) == Meaning("lower end of the 95% interval of x", "number")
    assert meaning("high", own, ("n", "x", "low", "high")) == Meaning("upper end of the 95% interval of x", "number")
    assert meaning("nobody_said", own, ("nobody_said",)) is None
    assert meaning("nobody_said_low", own, ("nobody_said_low",)) is None


@pytest.mark.parametrize("table", TABLES)
def test_a_table_without_rows_says_so(table: str) -> None:
    spec = TABLES[table]
    assert spec.says(pd.DataFrame(columns=[*spec.columns])) == (
        "There is nothing to show: no row can be made from these data."
    )


def test_consistency_names_the_most_and_the_least_consistent() -> None:
    table = rows(
        {"judge": "a", "consistency": 0.92, "consistency_low": 0.9, "consistency_high": 0.94},
        {"judge": "b", "consistency": 0.41, "consistency_low": 0.4, "consistency_high": 0.5, "position_bias_low": 0.2},
        {"judge": "c", "consistency": NAN},
        dimension="quality", subfield=None, n=80, position_bias_low=-0.1, position_bias_high=0.3,
    )  # fmt: skip
    spec = TABLES["consistency"]
    assert spec.says(table) == (
        "On quality, a makes the same choice when the two responses change places in 92% of 80 cases (95% interval 90 "
        "to 94), b in only 41%, the most and the least of 2 judges; 1 favours a place, first or second."
    )
    assert spec.says(table.head(1)).endswith(", the only judge asked in both orders.")
    assert spec.says(table.tail(1)) == "On quality, no judge was asked about a case in both orders of its responses."


def test_significance_counts_the_pairs_that_are_shown_to_differ() -> None:
    table = rows(
        {"judge_1": "a", "judge_2": "b", "p_adjusted": 0.01, "difference": -0.04},
        {"judge_1": "a", "judge_2": "c", "p_adjusted": 0.001, "difference": 0.3},
        {"judge_1": "b", "judge_2": "c", "p_adjusted": 0.4, "difference": 0.1},
        part="pair", dimension="overall", subfield=None,
    )  # fmt: skip
    said = TABLES["significance"].says
    assert said(table) == (
        "On overall, 2 of 3 pairs of judges are shown to differ in accuracy, down to b over a by 4.0 points; the other "
        "differences could be chance."
    )
    assert said(table.tail(1)) == "On overall, b and c are not shown to differ in accuracy."
    assert said(table.assign(p_adjusted=np.nan)) == "On overall, no two judges can be compared on the same cases."


def test_ceiling_says_how_many_judges_come_near_one_annotator() -> None:
    human = {"part": "annotator", "annotator": "mean", "accuracy": 0.9, "low": 0.88, "high": 0.92}
    judges = [
        {"judge": "a", "verdict": "within", "difference": -0.01, "difference_low": -0.03, "difference_high": 0.01},
        {"judge": "b", "verdict": "below", "difference": -0.2, "difference_low": -0.23, "difference_high": -0.17},
    ]
    said = TABLES["ceiling"].says
    common = {"dimension": "overall", "subfield": None, "representative": True}
    table = rows(human, *({"part": "judge", **judge} for judge in judges), **common)
    assert said(table) == (
        "On overall, one annotator names the label of the others in 90% of the cases (95% interval 88 to 92); 1 of 2 "
        "judges comes near it, a nearest at -1 points (95% interval -3 to 1)."
    )
    assert "too few cases to hold judges to" in said(table.assign(representative=False))
    assert "it takes three annotators" in said(table.assign(accuracy=np.nan))
