"""The figures of power draw what the table says."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mrb_lib.figures import power
from tests.figures.read import marks


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


@pytest.mark.parametrize("count", [0, 13])
def test_the_curve_and_the_smallest_difference_are_drawn(count: int, flaws) -> None:
    rows = table(["accuracy", "overall"], [f"organ_{i}" for i in range(count)])
    figure = power.power(rows, dimension="overall")
    own = rows[(rows["dimension"] == "overall") & (rows["part"] == "curve")]
    assert marks(figure.axes[0], "power") == pytest.approx(own[["difference", "power"]].to_numpy())
    smallest = 1 / np.sqrt(1026)
    assert marks(figure.axes[0], "detectable").tolist() == [[0, 0.8], [smallest, 0.8], [smallest, 0]]
    assert figure.axes[0].get_title() == f"power 80% at {100 * smallest:.1f} points, n = 1,026"
    assert len(figure.axes) == 1 + (count > 0)
    assert flaws(figure) == []


def test_a_dimension_without_a_curve_is_named() -> None:
    rows = table(["overall"], []).assign(minimum_detectable_difference=np.nan)
    figure = power.power(rows[rows["part"] == "summary"], dimension="overall")
    assert [text.get_gid() for text in figure.axes[0].texts] == ["not-available"]


def test_detectable_has_a_row_a_subfield(flaws) -> None:
    rows = table(["overall"], [f"organ_{i}" for i in range(13)])
    rows.loc[rows["subfield"] == "organ_3", "minimum_detectable_difference"] = np.nan
    figure = power.power(rows, dimension="overall")
    axes = figure.axes[1]
    assert axes.get_yticklabels()[0].get_text() == "all cases (n = 1,026)"
    assert axes.get_yticklabels()[1].get_text() == "Organ 12 (n = 160)"
    found = marks(axes, "smallest")[:, 0]
    expected = rows.loc[rows["part"] == "summary", "minimum_detectable_difference"]
    assert sorted(found[~np.isnan(found)]) == sorted(expected.dropna())
    assert [text.get_gid() for text in axes.texts] == ["not-available"]
    assert flaws(figure) == []
