"""The figures of power draw what the table says."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mrb_lib.figures import power


def table(dimensions: list[str], subfields: list[str]) -> pd.DataFrame:
    rows = []
    grid = np.linspace(0, 0.15, 31)
    for name in dimensions:
        for subfield in [None, *subfields]:
            n = 1026 if subfield is None else 40 + 10 * subfields.index(subfield)
            smallest = 1 / np.sqrt(n)
            label = {"dimension": name, "subfield": subfield, "n": n}
            rows.append({"part": "summary", **label, "minimum_detectable_difference": smallest})
        for difference in grid:
            power = 1 - np.exp(-40 * difference)
            rows.append({"part": "curve", "dimension": name, "difference": difference, "n": 1026, "power": power})
    return pd.DataFrame(rows)


def line(axes, gid: str) -> np.ndarray:
    found = next(line for line in axes.lines if line.get_gid() == gid)
    return np.column_stack([found.get_xdata(), found.get_ydata()]).astype(float)


@pytest.mark.parametrize("count", [1, 6])
def test_curves_have_a_panel_a_dimension(count: int, flaws) -> None:
    names = ["accuracy", "relevance", "comprehensiveness", "creativity", "responsiveness", "overall"][:count]
    rows = table(names, [])
    figure = power.curves(rows)
    for axes, name in zip(figure.axes, names, strict=False):
        own = rows[(rows["dimension"] == name) & (rows["part"] == "curve")]
        assert line(axes, "power") == pytest.approx(own[["difference", "power"]].to_numpy())
        assert line(axes, "detectable")[:, 0].tolist() == [1 / np.sqrt(1026)] * 2
    assert flaws(figure) == []


def test_a_dimension_without_a_curve_is_named() -> None:
    rows = table(["overall"], [])
    figure = power.curves(rows[rows["part"] == "summary"])
    assert [text.get_gid() for text in figure.axes[0].texts] == ["not-available"]


def test_detectable_has_a_row_a_subfield(flaws) -> None:
    rows = table(["overall"], [f"organ_{i}" for i in range(13)])
    rows.loc[rows["subfield"] == "organ_3", "minimum_detectable_difference"] = np.nan
    figure = power.detectable(rows)
    axes = figure.axes[0]
    assert axes.get_yticklabels()[0].get_text() == "all cases (n = 1,026)"
    found = line(axes, "median")[:, 0]
    expected = rows.loc[rows["part"] == "summary", "minimum_detectable_difference"]
    assert sorted(found[~np.isnan(found)]) == sorted(expected.dropna())
    assert [text.get_gid() for text in axes.texts] == ["not-available"]
    assert flaws(figure) == []
