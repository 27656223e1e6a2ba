"""Accuracy by domain, what to expect of a judge in a new one, and whether the order of judges transfers."""

from collections.abc import Sequence
from math import ceil

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D

from mrb_lib.figures.intervals import draw_estimates, rows_of
from mrb_lib.figures.lettering import label, labels, title_case
from mrb_lib.figures.registry import figure
from mrb_lib.figures.style import (
    COLOURS,
    PAGE,
    Paper,
    canvas,
    name_rows,
    panel_grid,
    percent_axis,
    rows_height,
    styled,
    write_missing,
)

MOST_FORESTS = 6


@figure("transfer-predictions", table="transfer", by=True, parts=("domain", "summary"), shows="accuracy", is_main=True)
@styled
def predictions(table: pd.DataFrame, *, dimension: str, judges: Sequence[str]) -> Paper:
    """Draw what to expect of every judge in a new domain, with its accuracy in each domain of these data.

    Parameters
    ----------
    table : rows of the table `transfer`
    judges : all judges in the order of the report
    """
    table = rows_of(table, dimension=dimension)
    table = table.assign(y=table["judge"].map({judge: i for i, judge in enumerate(_shown(table, judges))}))
    summary, domain = rows_of(table, part="summary").sort_values("y"), rows_of(table, part="domain")
    figure = canvas(PAGE * 0.72, rows_height(len(summary), 0.165, 0.85))
    axes = figure.subplots()
    known = summary.dropna(subset="prediction_low")
    axes.hlines(known["y"], known["prediction_low"], known["prediction_high"], color=COLOURS["gold"], linewidth=2.4,
                zorder=1, gid="prediction")  # fmt: skip
    draw_estimates(axes, summary, summary["y"], value="accuracy", colour=COLOURS["human"], marker="D", size=3,
                   gid="summary")  # fmt: skip
    axes.plot(domain["accuracy"], domain["y"], "|", color=COLOURS["judge"], markersize=4, markeredgewidth=0.6,
              gid="values")  # fmt: skip
    name_rows(axes, summary["judge"], 34)
    axes.set_xlabel("accuracy (%)")
    percent_axis(axes.xaxis, 5)
    axes.grid(axis="x")
    handles = [
        Line2D([], [], color=COLOURS["judge"], marker="|", markersize=4, linewidth=0, label="one domain"),
        Line2D([], [], color=COLOURS["human"], marker="D", markersize=3, linewidth=0.9, label="mean, 95% interval"),
        Line2D([], [], color=COLOURS["gold"], linewidth=2.4, label="95% prediction for a new domain"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    return figure


@figure("transfer-forest", table="transfer", by=True, parts=("domain",), shows="accuracy")
@styled
def forest(table: pd.DataFrame, *, dimension: str, judges: Sequence[str]) -> Paper:
    """Draw the accuracy of the first judges in each domain, with the number of cases in it.

    Parameters
    ----------
    table, judges : see `predictions`
    """
    rows = rows_of(table, dimension=dimension, part="domain")
    first = _shown(rows, judges)[:MOST_FORESTS]
    rows = rows[rows["judge"].isin(first)]
    n = rows.groupby("subfield")["n"].agg(["min", "max"])
    counts = [f"{few:,}" if few == many else f"{few:,}\u2013{many:,}" for few, many in n.to_numpy()]
    names = [f"{name} (n = {count})" for name, count in zip(labels(map(title_case, n.index), 30), counts, strict=True)]
    columns = min(3, len(first))
    height = ceil(len(first) / columns) * rows_height(len(names), 0.165, 0.4) + 0.3
    figure = canvas(PAGE if columns > 1 else PAGE * 0.6, height)
    for axes, judge in zip(panel_grid(figure, len(first), columns), first, strict=True):
        own = rows[rows["judge"] == judge].set_index("subfield").reindex(n.index)
        draw_estimates(axes, own, np.arange(len(own)), value="accuracy")
        axes.set_title(label(judge, 30))
        name_rows(axes, names, 48)
        percent_axis(axes.xaxis, 5)
        axes.grid(axis="both")
    figure.supxlabel("accuracy (%)", fontsize=7)
    return figure


@figure("transfer-rankings", table="transfer", by=True, parts=("ranking",), shows="kendall_tau")
@styled
def rankings(table: pd.DataFrame, *, dimension: str) -> Paper:
    """Draw how well each domain orders the judges as the others do, beside what chance would make of it.

    Parameters
    ----------
    table : rows of the table `transfer`
    """
    rows = rows_of(table, dimension=dimension, part="ranking").sort_values("subfield")
    figure = canvas(PAGE * 0.6, rows_height(len(rows), 0.19, 0.8))
    axes = figure.subplots()
    y = np.arange(len(rows))
    axes.hlines(y, rows["expected_low"], rows["expected_high"], color="#C9C9C9", linewidth=5, zorder=1,
                label="if domains were drawn at random (95%)", gid="expected")  # fmt: skip
    axes.plot(rows["kendall_tau"], y, "o", color=COLOURS["judge"], markersize=3.2, label="these domains", gid="values")
    write_missing(axes, y[rows["kendall_tau"].isna()])
    name_rows(axes, map(title_case, rows["subfield"]), 30)
    axes.set_xlabel("Kendall\u2019s tau-b: judges ordered here\nand in all other domains")
    axes.grid(axis="x")
    figure.legend(loc="outside lower center", ncols=2)
    return figure


def _shown(rows: pd.DataFrame, judges: Sequence[str]) -> list[str]:
    """The judges of these rows, in the order of the report."""
    named = set(rows["judge"])
    return [judge for judge in judges if judge in named]
