"""The figures of ratings draw what the table says."""

from collections.abc import Callable

import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mrb_lib.figures.ratings import NEARNESS, SAFETY, rating_agreement, rating_leniency, rating_safety
from mrb_lib.figures.style import Paper

MEASURES = (*NEARNESS, *SAFETY, "mean_difference")


def table() -> pd.DataFrame:
    """Two judges on two dimensions, and rows of a subfield that are not drawn."""
    index = pd.MultiIndex.from_product([["j1", "j2"], ["other", "overall"]], names=["judge", "dimension"])
    rows = index.to_frame(index=False).assign(subfield=None, part="rating")
    for i, name in enumerate(MEASURES):
        rows[name] = [0.1 + 0.2 * each + 0.02 * i for each in range(len(rows))]
        rows[f"{name}_low"], rows[f"{name}_high"] = rows[name] - 0.05, rows[name] + 0.05
    rows.loc[0, ["mean_difference", "mean_difference_low", "mean_difference_high"]] = float("nan")
    return pd.concat([rows, rows.assign(subfield="lung", exact=0.9)], ignore_index=True)


@pytest.mark.parametrize(("draw", "measures"), [(rating_agreement, NEARNESS), (rating_safety, SAFETY)])
def test_measures_of_one_dimension_have_a_panel_each(
    draw: Callable[..., Paper], measures: dict[str, str], flaws: Callable[[Paper], list[str]]
) -> None:
    rows = table()
    figure = draw(rows, dimension="overall", judges=["j2", "j1"])
    overall = rows[(rows["dimension"] == "overall") & rows["subfield"].isna()].set_index("judge")
    for axes, name in zip(figure.axes, measures, strict=True):
        assert values(axes) == overall[name].loc[["j2", "j1"]].tolist()
    assert texts(figure)[:2] == ["j2", "j1"]
    assert flaws(figure) == []


def test_leniency_has_a_panel_per_dimension(flaws: Callable[[Paper], list[str]]) -> None:
    rows = table()
    figure = rating_leniency(rows, dimension="overall", judges=["j1", "j2"])
    whole = rows[rows["subfield"].isna()]
    for axes, name in zip(figure.axes, ("other", "overall"), strict=True):
        assert values(axes) == whole.loc[whole["dimension"] == name, "mean_difference"].dropna().tolist()
    assert texts(figure).count("n/a") == 1
    assert flaws(figure) == []


def values(axes: Axes) -> list[float]:
    return [float(x) for line in axes.lines if line.get_gid() == "values" for x in line.get_xdata()]


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for axes in figure.axes for text in (*axes.get_yticklabels(), *axes.texts)]
