"""All judges on every dimension, against the level of one human against the others."""

from __future__ import annotations

import pandas as pd

from mrb_lib.plots.intervals import panels
from mrb_lib.plots.style import Paper

HUMAN_LEVEL = "human\u2013human level"


def leaderboard(
    accuracy: pd.DataFrame,
    *,
    ceiling: pd.DataFrame | None = None,
    order_by: str = "overall",
    group: str | None = None,
) -> Paper:
    """Draw the accuracy of every judge on every dimension with its interval.

    Parameters
    ----------
    accuracy : judge, dimension, accuracy, low, high; overall rows only; a `group` column if named
    ceiling : dimension, accuracy, low, high: the mean annotator against the others' label; None draws none
    order_by : the dimension that orders the judges within their group

    Returns
    -------
    Figure
        Validated by tests/plots/test_values.py (what is drawn equals the frame).
    """
    reference = None if ceiling is None else ceiling.rename(columns={"accuracy": "value"})
    return panels(
        accuracy,
        value="accuracy",
        low="low",
        high="high",
        axis_label="accuracy (%)",
        order_by=order_by,
        group=group,
        reference=reference,
        reference_label=HUMAN_LEVEL,
    )
