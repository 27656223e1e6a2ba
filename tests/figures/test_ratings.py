"""The figures of ratings draw the rows about ordered categories alone."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import pytest
from matplotlib.figure import Figure

from mrb_lib.figures.ratings import NEARNESS, SAFETY, rating_agreement, rating_leniency, rating_safety
from mrb_lib.figures.style import Paper

MEASURES = (*NEARNESS, *SAFETY, "mean_difference")


@pytest.mark.parametrize("draw", [rating_agreement, rating_leniency, rating_safety])
def test_rows_about_steps_are_not_drawn_as_ratings(draw: Callable[..., Paper]) -> None:
    rating = pd.DataFrame({"judge": ["j1", "j2"], "dimension": "overall", "subfield": None, "part": "rating"})
    for name in MEASURES:
        rating = rating.assign(**{name: 0.5, f"{name}_low": 0.4, f"{name}_high": 0.6})
    step = rating[["judge", "dimension", "subfield"]].assign(part="step")
    alone, both = (draw(table, dimension="overall") for table in (rating, pd.concat([rating, step])))
    assert texts(both) == texts(alone)
    assert texts(alone).count("j1") == texts(alone).count("j2") == 1


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for axes in figure.axes for text in (*axes.get_yticklabels(), *axes.texts)]
