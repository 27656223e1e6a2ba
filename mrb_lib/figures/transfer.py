"""Accuracy by domain: forests, what to expect of a new domain, and whether the order of judges transfers."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from mrb_lib.figures.intervals import draw_estimates, rows_of
from mrb_lib.figures.lettering import label, percent, title_case
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
_ROW = 0.165
_NEW = "95% prediction for a new domain"
_MEAN = "mean over domains, 95% interval"


@figure(
    "transfer-forest",
    title="Accuracy by domain",
    caption=(
        "Accuracy on {dimension} by {by} with 95% intervals, squares by weight; random-effects mean with Hartung and "
        "Knapp's 95% interval (diamond) and 95% prediction interval for a new domain (bar). I\u00b2 and Cochran's Q "
        "(p corrected over all judges) show whether domains differ by more than chance. n/a: undefined."
    ),
    reading=(
        "The diamond is about the mean of all domains, the bar about the next one: a judge is safe to move where the "
        "whole bar is good enough. Few domains say little about how domains vary, so that the bar is then rightly "
        "long."
    ),
    needs=("preferences", "annotations", "verdicts"),
)
@styled
def forest(table: pd.DataFrame, *, judges: Sequence[str] | None = None) -> Paper:
    """Draw the accuracy of a few judges in each domain, with the summary and the prediction below.

    Parameters
    ----------
    table : rows of `transfer` of one dimension: part (`domain` and `summary`), judge, rank, subfield, n, accuracy,
        low, high, weight, prediction_low, prediction_high, i2, p_adjusted
    judges : at most `MOST_FORESTS`; None for those that rank highest

    Raises
    ------
    ValueError
        There are more judges.
    """
    if judges is None:
        judges = rows_of(table, part="summary").sort_values(["rank", "judge"])["judge"].tolist()[:MOST_FORESTS]
    if len(judges) > MOST_FORESTS:
        raise ValueError(f"a forest shows at most {MOST_FORESTS} judges, not {len(judges)}; choose some")
    domains = sorted(table.loc[table["part"] == "domain", "subfield"].dropna().unique())
    columns = min(3, len(judges))
    bands = ceil(len(judges) / columns)
    height = bands * rows_height(len(domains) + 2, _ROW, 0.62) + (0.45 if columns > 1 else 0.75)
    figure = canvas(PAGE if columns > 1 else PAGE / 2, height)
    panels = panel_grid(figure, len(judges), columns)
    for axes, judge in zip(panels, judges, strict=True):
        own = table[table["judge"] == judge]
        _forest(axes, rows_of(own, part="domain").set_index("subfield").reindex(domains))
        _summary(axes, rows_of(own, part="summary"), len(domains) + 0.6)
        axes.set_title(label(judge, 30), pad=12)
        axes.tick_params(axis="y", length=0)
        percent_axis(axes.xaxis, 5)
        axes.grid(axis="x")
    names = [label(title_case(name), 26) for name in domains]
    panels[0].set_yticks([*range(len(domains)), len(domains) + 0.6], [*names, "all domains"])
    panels[0].set_ylim(len(domains) + 1.2, -0.7)
    for axes in panels[-columns:]:
        axes.set_xlabel("accuracy (%)")
        axes.tick_params(axis="x", labelbottom=True)
    _legend(figure, "one domain, 95% interval", columns=3 if columns > 1 else 1)
    return figure


def _forest(axes: Axes, own: pd.DataFrame) -> None:
    y = np.arange(len(own))
    draw_estimates(axes, own, y, value="accuracy", size=0, gid="domains")
    weight = own["weight"].fillna(0).to_numpy(dtype=float)
    axes.scatter(own["accuracy"], y, s=6 + 60 * weight, marker="s", color=COLOURS["judge"], linewidth=0, gid="values")


def _summary(axes: Axes, row: pd.DataFrame, y: float) -> None:
    if row.empty or row["accuracy"].isna().all():
        write_missing(axes, [y])
        return
    first = row.iloc[0]
    _band(axes, first, y)
    if not np.isnan(first["low"]):
        corners = ([first["low"], first["accuracy"], first["high"], first["accuracy"]], [y, y - 0.3, y, y + 0.3])
        axes.fill(*corners, color=COLOURS["human"], linewidth=0, gid="summary")
    axes.axvline(first["accuracy"], color=COLOURS["human"], linewidth=0.5, linestyle=(0, (2, 2)), zorder=0)
    if not np.isnan(first["i2"]):
        text = f"I\u00b2 {percent(first['i2'])}%, Q test adjusted p = {first['p_adjusted']:.2g}"
        axes.text(0.5, 1.02, text, transform=axes.transAxes, ha="center", va="bottom", fontsize=6, color="#555555")


def _band(axes: Axes, row: pd.Series, y: float) -> None:
    if not np.isnan(row["prediction_low"]):
        ends = (row["prediction_low"], row["prediction_high"])
        axes.hlines([y], *ends, color=COLOURS["gold"], linewidth=2.4, zorder=1, gid="prediction")


def _legend(figure: Paper, dots: str, marker: str = "s", columns: int = 3) -> None:
    handles = [
        Line2D([], [], color=COLOURS["judge"], marker=marker, markersize=3, linewidth=0.9, label=dots),
        Line2D([], [], color=COLOURS["human"], marker="D", markersize=4, linewidth=0, label=_MEAN),
        Line2D([], [], color=COLOURS["gold"], linewidth=2.4, label=_NEW),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=columns)


@figure(
    "transfer-predictions",
    title="What to expect of a judge in a new domain",
    caption=(
        "All judges on {dimension}: accuracy in each {by} (ticks), random-effects mean with 95% interval, and 95% "
        "prediction interval for a new domain. n/a: the scores do not vary, or there are too few domains."
    ),
    reading=(
        "Judges whose bars overlap may change places in a new domain. A long bar beside a short interval means that "
        "the judge is well measured here and yet uncertain elsewhere."
    ),
    needs=("preferences", "annotations", "verdicts"),
)
@styled
def predictions(table: pd.DataFrame) -> Paper:
    """Draw what to expect of every judge in a new domain, with its accuracy in each domain at hand.

    Parameters
    ----------
    table : rows of `transfer` of one dimension, as in `forest`
    """
    summary = table[table["part"] == "summary"].sort_values(["rank", "judge"], ascending=False, na_position="first")
    domain = rows_of(table, part="domain")
    figure = canvas(PAGE * 0.72, rows_height(len(summary), _ROW, 0.85))
    axes = figure.subplots()
    heights = {judge: float(i) for i, judge in enumerate(summary["judge"])}
    for _, row in summary.iterrows():
        _band(axes, row, heights[row["judge"]])
    draw_estimates(axes, summary, list(heights.values()), value="accuracy", colour=COLOURS["human"], marker="D", size=3,
                   gid="summary")  # fmt: skip
    axes.plot(domain["accuracy"], domain["judge"].map(heights), "|", color=COLOURS["judge"], markersize=4,
              markeredgewidth=0.6, gid="values")  # fmt: skip
    name_rows(axes, summary["judge"], 34, upwards=True)
    axes.set_xlabel("accuracy (%)")
    percent_axis(axes.xaxis, 5)
    axes.grid(axis="x")
    _legend(figure, "one domain", "|")
    return figure


@figure(
    "transfer-rankings",
    title="Whether the order of judges transfers",
    caption=(
        "Kendall's tau-b between the order of judges in one {by} and in all others on {dimension}; in grey what 199 "
        "random divisions of the same cases into as many parts of the same sizes give."
    ),
    reading=(
        "A point inside the grey: this domain orders the judges as well as its number of cases lets it. Left of it: "
        "here other judges are good."
    ),
    needs=("preferences", "annotations", "verdicts"),
)
@styled
def rankings(table: pd.DataFrame) -> Paper:
    """Draw how well each domain orders the judges as the others do, beside what chance would make of it.

    Parameters
    ----------
    table : rows of `transfer` with part "ranking" of one dimension: subfield, kendall_tau, expected_low, expected_high
    """
    rows = table[table["part"] == "ranking"].sort_values("subfield")
    figure = canvas(PAGE * 0.6, rows_height(len(rows), 0.19, 0.8))
    axes = figure.subplots()
    y = np.arange(len(rows))
    axes.hlines(y, rows["expected_low"], rows["expected_high"], color="#C9C9C9", linewidth=5, zorder=1,
                label="if domains were drawn at random (95%)", gid="expected")  # fmt: skip
    axes.plot(rows["kendall_tau"], y, "o", color=COLOURS["judge"], markersize=3.2, zorder=3, label="these domains",
              gid="values")  # fmt: skip
    write_missing(axes, y[rows["kendall_tau"].isna()])
    name_rows(axes, [title_case(name) for name in rows["subfield"]], 30)
    axes.set_xlabel("Kendall\u2019s tau-b: judges ordered here and in all other domains")
    axes.grid(axis="x")
    figure.legend(loc="outside lower center", ncols=2)
    return figure
