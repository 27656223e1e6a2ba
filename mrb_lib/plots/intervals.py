"""Points with their intervals: a row a judge, a panel a dimension. Other figures are built on this one."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator

from mrb_lib.plots.lettering import label, labels, percent, title_case
from mrb_lib.plots.style import COLOURS, NOT_AVAILABLE, PAGE, Paper, canvas, rows_height, styled

_PANELS_A_ROW = 6
_ROW = 0.165


def rows_of(table: pd.DataFrame, **wanted: object) -> pd.DataFrame:
    """The rows of a table that hold the wanted values.

    Parameters
    ----------
    wanted : a value for each column to select by; nothing is selected by None, nor by a column that the table lacks
    """
    for column, value in wanted.items():
        if value is not None and column in table.columns:
            table = table[table[column] == value]
    return table


def overall(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of a table that speak of all cases, not of one subfield."""
    return table[table["subfield"].isna()] if "subfield" in table.columns else table


def ordered_rows(frame: pd.DataFrame, *, rows: str, value: str, panel: str, by: str, group: str | None) -> pd.DataFrame:
    """The rows of a figure from top to bottom: by group, then from the highest value in one panel to the lowest.

    Returns
    -------
    DataFrame
        `rows` and, where there is one, `group`; one row each, rows without a value last in their group.
    """
    keep = [rows] if group is None else [rows, group]
    names = frame[keep].drop_duplicates(rows)
    at = frame.loc[frame[panel] == by].drop_duplicates(rows).set_index(rows)[value]
    names = names.assign(_value=names[rows].map(at))
    keys = ["_value", rows] if group is None else [group, "_value", rows]
    ascending = [False, True] if group is None else [True, False, True]
    return names.sort_values(keys, ascending=ascending, na_position="last")[keep].reset_index(drop=True)


@styled
def panels(
    frame: pd.DataFrame,
    *,
    value: str,
    low: str,
    high: str,
    axis_label: str,
    rows: str = "judge",
    panel: str = "dimension",
    order_by: str | None = None,
    group: str | None = None,
    reference: pd.DataFrame | None = None,
    reference_label: str = "reference",
    line_at: float | None = None,
    limits: tuple[float, float] | None = None,
) -> Paper:
    """Draw a value and its interval for every row in every panel.

    Parameters
    ----------
    frame : one row a `rows` x `panel`; `value`, `low`, `high` as fractions, null where undefined
        (a null interval draws the point alone, a null value the words n/a)
    order_by : the panel whose values order the rows; default the last one
    group : a column that groups the rows, drawn as headings
    reference : `panel`, `value`, `low`, `high`: a level to compare with, drawn as a line and a band in its panel
    line_at : a vertical line in all panels, for a meaningful zero

    Returns
    -------
    Figure
    """
    names = list(dict.fromkeys(frame[panel]))
    by = order_by if order_by is not None and order_by in names else names[-1]
    order = ordered_rows(frame, rows=rows, value=value, panel=panel, by=by, group=group)
    positions, headings = _positions(order, group)
    columns = min(len(names), _PANELS_A_ROW)
    bands = ceil(len(names) / columns)
    height = bands * rows_height(int(np.ceil(max(positions, default=0))) + 1, _ROW, 0.5) + 0.35
    figure = canvas(PAGE if columns > 2 else min(PAGE, 2.2 + 2.2 * columns), height)
    grid = figure.subplots(bands, columns, sharex=True, sharey=True, squeeze=False)
    span = limits or _limits(frame, reference, value, low, high, line_at)
    for axes, name in zip(grid.flat, names, strict=False):
        _draw(axes, frame[frame[panel] == name], dict(zip(order[rows], positions, strict=True)), rows, value, low, high)
        if reference is not None:
            _draw_reference(axes, reference[reference[panel] == name])
        if line_at is not None:
            axes.axvline(line_at, color="#888888", linewidth=0.6, linestyle=(0, (2, 2)), zorder=1)
        axes.set_title(label(title_case(name), 18 if columns > 3 else 40), fontsize=6.5 if columns > 3 else 7.5)
        _rule(axes, span, positions, order, rows, headings, 4 if columns > 2 else 8)
    for axes in list(grid.flat)[len(names) :]:
        axes.set_axis_off()
    figure.supxlabel(axis_label, fontsize=7)
    if reference is not None and reference["value"].notna().any():
        handle = Line2D([], [], color=COLOURS["human"], linewidth=1.2, label=reference_label)
        figure.legend(handles=[handle], loc="outside lower right")
    return figure


def _positions(order: pd.DataFrame, group: str | None) -> tuple[list[float], list[tuple[float, str]]]:
    """Where each row stands, with room for a heading above each group where there are several."""
    if group is None or order[group].nunique() < 2:
        return [float(i) for i in range(len(order))], []
    positions, headings, at = [], [], 0.0
    previous: str | None = None
    for name in order[group].astype(str):
        if name != previous:
            headings.append((at, label(title_case(name), 24)))
            at, previous = at + 1, name
        positions.append(at)
        at += 1
    return positions, headings


def _draw(axes: Axes, part: pd.DataFrame, at: dict[str, float], rows: str, value: str, low: str, high: str) -> None:
    y = part[rows].map(at).to_numpy(dtype=float)
    x, start, end = (part[name].to_numpy(dtype=float) for name in (value, low, high))
    known = ~np.isnan(x)
    bounded = known & ~np.isnan(start) & ~np.isnan(end)
    axes.hlines(y[bounded], start[bounded], end[bounded], color=COLOURS["judge"], linewidth=0.9, gid="intervals")
    axes.plot(x[known], y[known], "o", color=COLOURS["judge"], markersize=2.3, gid="values")
    for height in [*y[~known], *(at[name] for name in at.keys() - set(part[rows]))]:
        axes.text(
            0.5,
            height,
            NOT_AVAILABLE,
            transform=axes.get_yaxis_transform(),
            ha="center",
            va="center",
            color="#777777",
            fontsize=6,
            gid="not-available",
        )


def _draw_reference(axes: Axes, part: pd.DataFrame) -> None:
    for value, low, high in part[["value", "low", "high"]].to_numpy(dtype=float):
        if np.isnan(value):
            continue
        if not np.isnan(low) and not np.isnan(high):
            axes.axvspan(low, high, color=COLOURS["human"], alpha=0.18, linewidth=0, zorder=0)
        axes.axvline(value, color=COLOURS["human"], linewidth=1.2, zorder=1, gid="reference")


def _rule(
    axes: Axes,
    span: tuple[float, float],
    positions: Sequence[float],
    order: pd.DataFrame,
    rows: str,
    headings: Sequence[tuple[float, str]],
    ticks: int,
) -> None:
    axes.set_xlim(*span)
    axes.set_ylim(max(positions, default=0) + 0.7, -0.7)
    axes.set_yticks(
        [*positions, *(at for at, _ in headings)], [*labels(order[rows], 28), *(text for _, text in headings)]
    )
    for text in axes.get_yticklabels()[len(positions) :]:
        text.set_fontweight("bold")
    axes.tick_params(axis="y", length=0)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=ticks, steps=[1, 2, 2.5, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: percent(value)))
    axes.grid(axis="both")


def _limits(
    frame: pd.DataFrame,
    reference: pd.DataFrame | None,
    value: str,
    low: str,
    high: str,
    line_at: float | None,
) -> tuple[float, float]:
    """The range that holds every value and interval drawn, rounded outwards to a twentieth."""
    seen = [frame[[value, low, high]].to_numpy(dtype=float).ravel()]
    if reference is not None:
        seen.append(reference[["value", "low", "high"]].to_numpy(dtype=float).ravel())
    if line_at is not None:
        seen.append(np.array([line_at]))
    values = np.concatenate(seen)
    values = values[~np.isnan(values)]
    if not values.size:
        return 0.0, 1.0
    start, end = np.floor(values.min() * 20) / 20, np.ceil(values.max() * 20) / 20
    margin = 0.03 * max(end - start, 0.1)
    return float(start - margin), float(end + margin)
