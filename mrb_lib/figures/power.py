"""What differences these cases can show, and whether the intervals hold what they promise."""

from __future__ import annotations

from math import ceil
from typing import Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from mrb_lib.figures.intervals import overall, rows_of
from mrb_lib.figures.lettering import label, labels, percent, title_case
from mrb_lib.figures.registry import figure
from mrb_lib.figures.style import (
    COLOURS,
    PAGE,
    SERIES,
    Paper,
    canvas,
    name_rows,
    panel_grid,
    percent_axis,
    rows_height,
    styled,
    write_missing,
)

WHOLE = "all cases"
_PAIRS: tuple[tuple[str, str, Literal["-", "--"]], ...] = (
    ("power", "median pair", "-"),
    ("worst_power", "worst pair", "--"),
)
_QUANTITIES = {"accuracy": SERIES[0], "difference": SERIES[1]}


@figure(
    "power-curves",
    title="Power to find a difference between judges",
    caption=(
        "Power of the test that compares two judges, at the level that its correction for the number of pairs leaves "
        "to one of them, by the true difference of accuracy, for the pair of judges whose difference "
        "has the median standard error and for the pair with the largest. Gold: the difference that the median pair "
        "would show with power 80%."
    ),
    reading=(
        "A true difference left of the gold line would mostly be missed: that two judges do not differ significantly "
        "is then not evidence that they are equal."
    ),
    needs=("preferences", "annotations", "verdicts", "judges"),
)
@styled
def curves(table: pd.DataFrame) -> Paper:
    """Draw the power to find a difference between two judges, by its size, a panel a dimension.

    Parameters
    ----------
    table : rows of the table `power`, of which those over all cases are drawn: part (`curve` and `summary`), dimension,
        difference, power, worst_power, minimum_detectable_difference, worst_minimum_detectable_difference, n
    """
    table = overall(table)
    names = list(dict.fromkeys(table.loc[table["part"] == "summary", "dimension"]))
    columns = min(3, max(len(names), 1))
    bands = ceil(max(len(names), 1) / columns)
    figure = canvas(PAGE if columns > 1 else PAGE / 2, 1.75 * bands + (0.5 if columns > 1 else 0.8))
    panels = panel_grid(figure, len(names), columns)
    for axes, name in zip(panels, names, strict=True):
        own = table[table["dimension"] == name]
        _curve(axes, rows_of(own, part="curve").sort_values("difference"), rows_of(own, part="summary"))
        axes.set_title(label(title_case(name), 30))
        axes.set_ylim(0, 1.02)
        percent_axis(axes.xaxis, 5)
        percent_axis(axes.yaxis, 5)
        axes.grid()
    for axes in panels[-columns:]:
        axes.set_xlabel("true difference (percentage points)")
        axes.tick_params(axis="x", labelbottom=True)
    for axes in panels[::columns]:
        axes.set_ylabel("power (%)")
    handles = [Line2D([], [], color=COLOURS["judge"], linestyle=line, label=text) for _, text, line in _PAIRS]
    handles.append(Line2D([], [], color=COLOURS["gold"], label="smallest difference detected with power 80%"))
    figure.legend(handles=handles, loc="outside lower center", ncols=3 if columns > 1 else 1)
    return figure


def _curve(axes: Axes, curve: pd.DataFrame, summary: pd.DataFrame) -> None:
    if curve.empty:
        write_missing(axes, [0.5])
        return
    for power, _, line in _PAIRS:
        axes.plot(curve["difference"], curve[power], color=COLOURS["judge"], linestyle=line, gid=power)
    smallest = float(summary["minimum_detectable_difference"].iloc[0])
    axes.plot([smallest, smallest], [0, 0.8], color=COLOURS["gold"], gid="detectable")
    axes.plot([0, smallest], [0.8, 0.8], color=COLOURS["gold"])
    text = f"{100 * smallest:.1f} points\nn = {int(summary['n'].iloc[0]):,}"
    axes.text(0.97, 0.06, text, transform=axes.transAxes, ha="right", va="bottom", fontsize=6.5)


@figure(
    "power-detectable",
    title="Smallest differences that subfields can show",
    caption=(
        "Difference on {dimension} detected with power 80% at the level that the correction for the number of pairs "
        "leaves to one of them, over all cases and by {by} where the cases state it: median and worst pair of judges."
    ),
    reading=(
        "A subfield can only show differences right of its dots. Compare them with the differences that you would act "
        "on."
    ),
    needs=("preferences", "annotations", "verdicts", "judges"),
)
@styled
def detectable(table: pd.DataFrame, *, dimension: str | None = None) -> Paper:
    """Draw the smallest difference that can be shown, over all cases and in each subfield.

    Parameters
    ----------
    table : rows of the table `power` with part "summary": subfield, n, minimum_detectable_difference,
        worst_minimum_detectable_difference
    dimension : the one to draw; None where the table has one only
    """
    rows = rows_of(table, part="summary", dimension=dimension).sort_values("n", ascending=False)
    figure = canvas(PAGE * 0.62, rows_height(len(rows), 0.19, 0.8))
    axes = figure.subplots()
    y = np.arange(len(rows))
    median, worst = rows["minimum_detectable_difference"], rows["worst_minimum_detectable_difference"]
    axes.hlines(y, median, worst, color="#BBBBBB", linewidth=1)
    axes.plot(median, y, "o", color=COLOURS["judge"], markersize=3.4, label="median pair of judges", gid="median")
    axes.plot(worst, y, "s", color=COLOURS["gold"], markersize=3.2, label="worst pair", gid="worst")
    write_missing(axes, y[median.isna()])
    names = [WHOLE if pd.isna(name) else title_case(name) for name in rows["subfield"]]
    counts = [f"{name} (n = {n:,})" for name, n in zip(labels(names, 26), rows["n"], strict=True)]
    name_rows(axes, counts, 48)
    axes.set_xlim(left=0)
    percent_axis(axes.xaxis, 10)
    axes.set_xlabel("difference detected with power 80% (percentage points)")
    axes.grid(axis="x")
    figure.legend(loc="outside lower center", ncols=2)
    return figure


@figure(
    "power-coverage",
    title="Whether the intervals hold what they promise",
    caption=(
        "Share of simulated studies whose 95% interval, the one that the tables recommend, holds the truth on "
        "{dimension}, by the number of cases, with Monte-Carlo error: accuracy of representative judges and difference "
        "of a median pair, over all cases and by {by} where the cases state it."
    ),
    reading=(
        "On the line: the intervals are worth what they say. Below it, often with few cases, they are too short, and a "
        "difference that they call real is less certain than it seems."
    ),
    needs=("preferences", "annotations", "verdicts", "judges"),
)
@styled
def coverage(table: pd.DataFrame, *, dimension: str | None = None) -> Paper:
    """Draw how often intervals held the truth in simulated studies, by the number of cases.

    Parameters
    ----------
    table : rows of the table `power` with part "coverage": quantity, n, coverage, monte_carlo_error, nominal
    dimension : the one to draw; None where the table has one only
    """
    table = rows_of(table, part="coverage", dimension=dimension)
    studies = table[table["coverage"].notna()]
    figure = canvas(PAGE * 0.72, 2.7)
    axes = figure.subplots()
    nominal = float(table["nominal"].dropna().iloc[0]) if table["nominal"].notna().any() else 0.95
    axes.axhline(nominal, color=COLOURS["human"], linewidth=1, label=f"promised: {percent(nominal)}%", gid="nominal")
    for quantity, (colour, marker) in _QUANTITIES.items():
        rows = studies[studies["quantity"] == quantity]
        n, value, error = (rows[name].to_numpy(dtype=float) for name in ("n", "coverage", "monte_carlo_error"))
        n = n * (0.985 if quantity == "accuracy" else 1.015)
        axes.vlines(n, value - 1.96 * error, value + 1.96 * error, color=colour, linewidth=0.6, alpha=0.6)
        axes.plot(n, value, marker, color=colour, markersize=3.2, label=f"interval of {quantity}", gid=quantity)
    if len(studies):
        axes.set_xscale("log")
        axes.set_xlim(0.8 * studies["n"].min(), 1.25 * studies["n"].max())
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)) if len(studies) else MaxNLocator(nbins=2))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.0f}"))
    axes.set_ylim(top=1.0)
    axes.set_xlabel("cases (SIMULATED studies)")
    axes.set_ylabel("intervals that hold the truth (%)")
    axes.grid(axis="y")
    figure.legend(loc="outside right center")
    return figure
