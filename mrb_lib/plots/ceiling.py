"""Annotators by each other's labels, judges by the same, and whether a judge may stand in for an annotator."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from mrb_lib.plots.intervals import ordered_rows, panels
from mrb_lib.plots.style import COLOURS, Paper, styled

PASSES = "passes the test"
MEAN = "mean annotator"


def annotators(table: pd.DataFrame, *, order_by: str = "overall") -> Paper:
    """Draw the accuracy of each annotator against the majority of the others.

    Parameters
    ----------
    table : annotator, dimension, accuracy, low, high; the annotator "mean" is drawn as a line and a band
    order_by : the dimension that orders the annotators
    """
    mean = table["annotator"] == "mean"
    return panels(
        table[~mean],
        value="accuracy",
        low="low",
        high="high",
        axis_label="accuracy against the others' majority (%)",
        rows="annotator",
        order_by=order_by,
        reference=table[mean].rename(columns={"accuracy": "value"}),
        reference_label=MEAN,
    )


def distances(table: pd.DataFrame, *, order_by: str = "overall") -> Paper:
    """Draw how far each judge is from the mean annotator, by the same labels on the same cases.

    Parameters
    ----------
    table : judge, dimension, difference, difference_low, difference_high as fractions
    order_by : the dimension that orders the judges
    """
    return panels(
        table,
        value="difference",
        low="difference_low",
        high="difference_high",
        axis_label="accuracy of the judge minus that of the mean annotator (percentage points)",
        order_by=order_by,
        line_at=0.0,
    )


@styled
def alternative(table: pd.DataFrame, *, order_by: str = "overall") -> Paper:
    """Draw each judge's advantage probability, marked where it passes the alternative annotator test.

    Parameters
    ----------
    table : judge, dimension, advantage_probability, advantage_probability_low, advantage_probability_high,
        passes (null where not tested)
    order_by : the dimension that orders the judges
    """
    names = list(dict.fromkeys(table["dimension"]))
    by = order_by if order_by in names else names[-1]
    figure = panels(
        table,
        value="advantage_probability",
        low="advantage_probability_low",
        high="advantage_probability_high",
        axis_label="advantage probability (%)",
        order_by=by,
    )
    order = ordered_rows(table, rows="judge", value="advantage_probability", panel="dimension", by=by, group=None)
    at = {name: i for i, name in enumerate(order["judge"])}
    for axes, name in zip(figure.axes, names, strict=False):
        _mark(axes, table[(table["dimension"] == name) & table["passes"].fillna(False).astype(bool)], at)
    handle = Line2D([], [], color=COLOURS["human"], marker="o", linestyle="", markersize=4, label=PASSES)
    figure.legend(handles=[handle], loc="outside lower right")
    return figure


def _mark(axes: Axes, passing: pd.DataFrame, at: dict[str, int]) -> None:
    x = passing["advantage_probability"].to_numpy(dtype=float)
    axes.plot(
        x, passing["judge"].map(at).to_numpy(dtype=float), "o", color=COLOURS["human"], markersize=4, gid="passes"
    )
