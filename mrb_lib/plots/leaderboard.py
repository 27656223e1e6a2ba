"""All judges on every dimension, against the level of one human against the others."""

from __future__ import annotations

import pandas as pd

from mrb_lib.plots.intervals import overall, panels, rows_of
from mrb_lib.plots.registry import figure
from mrb_lib.plots.style import Paper

HUMAN_LEVEL = "human\u2013human level"


@figure(
    "leaderboard",
    title="Leaderboard",
    caption=(
        "Accuracy of every judge against the annotators' majority, by dimension, with 95% cluster-bootstrap intervals; "
        "grouped by kind of judge and ordered by {dimension}. Green: the human\u2013human level, the mean annotator "
        "against the majority of the others, with its interval."
    ),
    reading=(
        "A judge whose interval lies left of the green band chooses as the majority does less often than the mean "
        "annotator. One whose interval reaches the band is not shown to be worse, which is not the same as shown to be "
        "as good: a wide interval reaches it easily. The band is a high bar: it leaves out the cases on which the "
        "other annotators are split."
    ),
    needs=("preferences", "annotations", "verdicts"),
)
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
    accuracy : judge, dimension, accuracy, low, high, as the table `accuracy` has them, and a `group` column if named;
        the rows of subfields are not drawn
    ceiling : dimension, accuracy, low, high, as the table `ceiling` has them: the rows of the annotator "mean", scored
        against the others' label, are drawn; None draws none
    order_by : the dimension that orders the judges within their group

    Returns
    -------
    Figure
        Validated by tests/plots/test_values.py (what is drawn equals the frame).
    """
    human = None if ceiling is None else overall(rows_of(ceiling, part="annotator", annotator="mean"))
    return panels(
        overall(accuracy),
        value="accuracy",
        low="low",
        high="high",
        axis_label="accuracy (%)",
        order_by=order_by,
        group=group,
        reference=None if human is None else human.rename(columns={"accuracy": "value"}),
        reference_label=HUMAN_LEVEL,
    )
