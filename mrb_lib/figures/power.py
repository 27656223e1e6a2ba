"""The differences between judges that a test on these cases can detect."""

from __future__ import annotations

from math import ceil

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from mrb_lib.figures.intervals import overall, rows_of
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

WHOLE = "all cases"


@figure(
    "power-curves",
    title="Power to find a difference between judges",
    caption=(
        "Power of the test that compares two judges, at the level that its correction for the number of pairs leaves "
        "to one of them, by the true difference of accuracy, for the pair of judges whose difference "
        "has the median standard error. Gold: the difference that this pair would show with power 80%."
    ),
    reading=(
        "A true difference left of the gold line is often missed, so two judges that do not differ significantly may "
        "still be that far apart."
    ),
    needs=("preferences", "annotations", "verdicts", "judges"),
)
@styled
def curves(table: pd.DataFrame) -> Paper:
    """Draw the power to find a difference between two judges, by its size, a panel a dimension.

    Parameters
    ----------
    table : rows of the table `power`, of which those over all cases are drawn: part (`curve` and `summary`), dimension,
        difference, power, minimum_detectable_difference, n
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
    names_of_lines = {"judge": "median pair", "gold": "smallest difference detected with power 80%"}
    handles = [Line2D([], [], color=COLOURS[colour], label=text) for colour, text in names_of_lines.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=2 if columns > 1 else 1)
    return figure


def _curve(axes: Axes, curve: pd.DataFrame, summary: pd.DataFrame) -> None:
    if curve.empty:
        write_missing(axes, [0.5])
        return
    axes.plot(curve["difference"], curve["power"], color=COLOURS["judge"], gid="power")
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
        "leaves to one of them, over all cases and by {by} where the cases state it: the median pair of judges."
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
    table : rows of the table `power` with part "summary": subfield, n, minimum_detectable_difference
    dimension : the one to draw; None where the table has one only
    """
    rows = rows_of(table, part="summary", dimension=dimension).sort_values("n", ascending=False)
    figure = canvas(PAGE * 0.62, rows_height(len(rows), 0.19, 0.8))
    axes = figure.subplots()
    y = np.arange(len(rows))
    median = rows["minimum_detectable_difference"]
    axes.plot(median, y, "o", color=COLOURS["judge"], markersize=3.4, gid="median")
    write_missing(axes, y[median.isna()])
    names = [WHOLE if pd.isna(name) else title_case(name) for name in rows["subfield"]]
    counts = [f"{name} (n = {n:,})" for name, n in zip(labels(names, 26), rows["n"], strict=True)]
    name_rows(axes, counts, 48)
    axes.set_xlim(left=0)
    percent_axis(axes.xaxis, 10)
    axes.set_xlabel("difference detected with power 80% (percentage points)")
    axes.grid(axis="x")
    return figure
