"""Tests of which columns a narrow text table shows."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from mrb_lib.cli.overview import WIDTH, as_overview
from mrb_lib.stats.columns import Column, Table


def overview(headline: tuple[str, ...], name: str) -> str:
    """Three rows with two estimates that have intervals, and a p-value, unadjusted and adjusted."""
    rows = pd.DataFrame({"judge": [f"{name}{i}" for i in range(3)], "dimension": [f"{'d' * 31}{i}" for i in range(3)]})
    rows = rows.assign(n=[10, 20, 30])
    for i, estimate in enumerate(("first", "second")):
        rows = rows.assign(
            **{estimate: np.array([0.1, 0.2, 0.3]) + i / 10, f"{estimate}_low": 0.01, f"{estimate}_high": 0.99}
        )
    rows = rows.assign(p_value=[0.01, 0.02, 0.03], p_adjusted=[0.03, 0.04, 0.05])
    columns = tuple(Column(name, "?") for name in rows.columns)
    spec = Table("made", "?", columns, pd.DataFrame, lambda _: "", headline=headline)
    return as_overview(rows, spec, title="made")


def heading(text: str) -> str:
    lines = text.splitlines()
    row = next(i for i, line in enumerate(lines) if line.startswith("judge"))
    return " ".join(lines[row - 1 : row + 1])


@pytest.mark.parametrize("length", range(20, 32))
def test_an_unadjusted_p_value_never_stands_without_the_adjusted_one(length: int) -> None:
    text = overview((), "j" * length)
    assert max(map(len, text.splitlines())) <= WIDTH
    assert "value" not in heading(text) or "adjusted" in heading(text)


def test_a_table_without_an_estimate_is_one_line() -> None:
    columns = (Column("judge", "?", "text"), Column("share", "?", ends=("low", "high")))
    spec = Table("made", "?", columns, pd.DataFrame, lambda _: "", headline=("share",))
    rows = pd.DataFrame({"judge": ["j", "k"], "share": np.nan, "low": np.nan, "high": np.nan, "reason": "no label"})
    assert as_overview(rows, spec, title="made") == "made\n\nThere is nothing to show: no label."
    other = as_overview(rows.assign(share=[0.5, np.nan]), spec, title="made")
    assert "no label" in other
    assert "There is nothing" not in other


def test_baselines_stand_once_and_what_the_title_says_is_not_repeated() -> None:
    rows = pd.DataFrame({"judge": ["j", "j", "always A", "always A"], "kind": ["judge"] * 2 + ["reference"] * 2})
    rows = rows.assign(
        subfield=[None, "eye"] * 2, share=[0.7, 0.9, 0.5, 0.4], df=36, n_unassigned=0, dimension="overall"
    )
    spec = Table("made", "?", tuple(Column(name, "?") for name in rows.columns), pd.DataFrame, lambda _: "")
    text = as_overview(rows, spec, title="made")
    assert text.count("always A") == 1 and text.count("eye") == 1
    assert "In all rows: dimension overall." in text and "3 of 4 rows" in text


def test_footnotes_are_about_what_is_shown() -> None:
    rows = pd.DataFrame({"judge": ["a", "b", "c"], "n": [1, 2, 3], "share": [0.7, 0.9, np.nan]})
    rows["reason"] = [
        "kappa: one category",
        "no interval of share, kappa: alike; kappa: one category",
        "share: no label",
    ]
    names = ("judge", "n", "share", "kappa", "reason")
    spec = Table("made", "?", tuple(Column(name, "?") for name in names), pd.DataFrame, lambda _: "")
    text = as_overview(rows, replace(spec, headline=("share",)), title="made")
    assert "(a) no interval of share: alike" in text and "(b) share: no label" in text
    assert "kappa" not in text
