"""The figure of any estimates draws what the bootstrap returns."""

from collections.abc import Callable

import pandas as pd
import pytest
from matplotlib.figure import Figure

from mrb_lib.figures.intervals import estimates
from mrb_lib.stats.bootstrap import bootstrap


def scores() -> pd.DataFrame:
    """Scores of two judges on sixty cases of two organs."""
    rows = [(f"c{i}", ("eye", "chest")[i % 2], float(i % 3 > 0), float(i % 5 > 0)) for i in range(60)]
    return pd.DataFrame(rows, columns=["case_id", "organ", "careful", "hasty"])


def test_a_panel_per_subfield_has_a_row_per_quantity(flaws: Callable[[Figure], list[str]]) -> None:
    made = bootstrap(scores(), lambda rows: rows[["careful", "hasty"]].mean(), by="organ", resamples=50)
    drawn = estimates(made, what="accuracy (%)", judges=["hasty", "careful"], line_at=0.5)
    assert flaws(drawn) == []
    assert drawn.get_supxlabel() == "accuracy (%)"
    assert [axes.get_title() for axes in drawn.axes] == ["All cases", "Chest", "Eye"]
    assert [text.get_text() for text in drawn.axes[0].get_yticklabels()] == ["hasty", "careful"]
    for axes, subfield in zip(drawn.axes, (None, "chest", "eye"), strict=True):
        here = made[made["subfield"].isna() if subfield is None else made["subfield"] == subfield]
        [points] = [line for line in axes.get_lines() if line.get_gid() == "values"]
        assert points.get_xdata() == pytest.approx(here["estimate"].to_numpy()[::-1])


def test_a_single_number_is_drawn(flaws: Callable[[Figure], list[str]]) -> None:
    made = bootstrap(scores(), lambda rows: 7.5 + rows["hasty"].mean(), resamples=50)
    drawn = estimates(made, what="seconds", in_percent=False)
    [axes] = drawn.axes
    assert [line.get_xdata()[0] for line in axes.get_lines() if line.get_gid() == "values"] == [
        made["estimate"].iloc[0]
    ]
    assert flaws(drawn) == []
