"""Annotators by each other's labels, judges by the same, and whether a judge may stand in for an annotator."""

from __future__ import annotations

import pandas as pd
from matplotlib.lines import Line2D

from mrb_lib.figures.intervals import ordered_rows, panels, rows_of
from mrb_lib.figures.registry import figure
from mrb_lib.figures.style import COLOURS, Paper, styled

MOST_ANNOTATORS = 10
PASSES = "passes the test"
MEAN = "mean annotator"


@figure(
    "ceiling-annotators",
    title="Each annotator against the majority of the others",
    caption=(
        "Accuracy of each annotator against the majority of the others, with 95% cluster-bootstrap intervals; line and "
        "band: the mean annotator. {n_shown} of {n_all} annotators, those with the most annotations."
    ),
    reading=(
        "The line is what one person achieves by the standard of the others: the level to hold a judge to. An "
        "annotator far from the line reads the cases or the instructions differently."
    ),
    needs=("annotations", "annotators"),
)
def annotators(table: pd.DataFrame, *, order_by: str = "overall") -> Paper:
    """Draw the accuracy of each annotator against the majority of the others.

    Parameters
    ----------
    table : annotator, dimension, n, accuracy, low, high: the rows of part "annotator" of the table `ceiling`. Of more
        than `MOST_ANNOTATORS` those with the most cases are drawn; the annotator "mean" is a line and a band.
    order_by : the dimension that orders the annotators
    """
    people = rows_of(table, part="annotator")
    mean = people["annotator"] == "mean"
    busiest = people[~mean].groupby("annotator")["n"].sum().nlargest(MOST_ANNOTATORS, keep="first").index
    return panels(
        people[people["annotator"].isin(busiest)],
        value="accuracy",
        axis_label="accuracy against the others' majority (%)",
        rows="annotator",
        order_by=order_by,
        reference=people[mean].rename(columns={"accuracy": "value"}),
        reference_label=MEAN,
    )


@figure(
    "ceiling-distances",
    title="Distance of the judges to the mean annotator",
    caption=(
        "Accuracy of each judge minus that of the mean annotator, both against the majority of the other annotators on "
        "the same cases, with 95% paired cluster-bootstrap intervals."
    ),
    reading=(
        "Left of the dashed line: the judge is further from the annotators than they are from each other. An interval "
        "that holds zero does not tell the judge from an annotator, which does not show them equal. Where fewer than "
        "30 cases, or under half of those judged, have such labels, the table gives no verdict."
    ),
    needs=("annotations", "annotators", "preferences", "verdicts"),
)
def distances(table: pd.DataFrame, *, order_by: str = "overall") -> Paper:
    """Draw how far each judge is from the mean annotator, by the same labels on the same cases.

    Parameters
    ----------
    table : judge, dimension, difference, difference_low, difference_high as fractions: the rows of part "judge" of
        the table `ceiling`
    order_by : the dimension that orders the judges
    """
    return panels(
        rows_of(table, part="judge"),
        value="difference",
        axis_label="accuracy of the judge minus that of the mean annotator (percentage points)",
        order_by=order_by,
        line_at=0.0,
    )


@figure(
    "ceiling-alternative",
    title="Alternative annotator test",
    caption=(
        "Advantage probability: how often the judge is at least as much in line with the other annotators as the "
        "annotator left out, with 95% cluster-bootstrap intervals; green where the judge passes at epsilon = "
        "{epsilon}."
    ),
    reading=(
        "A pass says that the judge is worse than most annotators by less than epsilon, not that it is as good: judges "
        "that pass may lie wholly below the annotators in the figure of distances, which says by how much. The "
        "probability, not the pass, is the number to compare judges by, and the table has the smallest epsilon at "
        "which each passes. A pass says nothing of cases unlike these."
    ),
    needs=("annotations", "annotators", "preferences", "verdicts"),
)
@styled
def alternative(table: pd.DataFrame, *, order_by: str = "overall") -> Paper:
    """Draw each judge's advantage probability, marked where it passes the alternative annotator test.

    Parameters
    ----------
    table : judge, dimension, advantage_probability, advantage_probability_low, advantage_probability_high,
        passes (null where not tested): the rows of part "alt_test" of the table `ceiling`
    order_by : the dimension that orders the judges
    """
    table = rows_of(table, part="alt_test")
    names = list(dict.fromkeys(table["dimension"]))
    by = order_by if order_by in names else names[-1]
    figure = panels(
        table,
        value="advantage_probability",
        axis_label="advantage probability (%)",
        order_by=by,
    )
    order = ordered_rows(table, rows="judge", value="advantage_probability", panel="dimension", by=by, group=None)
    heights = {judge: i for i, judge in enumerate(order["judge"])}
    for axes, name in zip(figure.axes, names, strict=False):
        passing = table[(table["dimension"] == name) & table["passes"].fillna(False).astype(bool)]
        axes.plot(passing["advantage_probability"], passing["judge"].map(heights), "o", color=COLOURS["human"],
                  markersize=4, gid="passes")  # fmt: skip
    handle = Line2D([], [], color=COLOURS["human"], marker="o", linestyle="", markersize=4, label=PASSES)
    figure.legend(handles=[handle], loc="outside lower right")
    return figure
