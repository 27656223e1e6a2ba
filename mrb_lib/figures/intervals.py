"""Estimates with their intervals: the rows of a table to draw, points in rows, and panels of them."""

from collections.abc import Iterable, Mapping, Sequence
from math import ceil
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike

from mrb_lib.figures.lettering import label, labels, title_case
from mrb_lib.figures.registry import figure
from mrb_lib.figures.style import (
    COLOURS,
    NOT_AVAILABLE,
    PAGE,
    Paper,
    canvas,
    draw_zero,
    panel_grid,
    percent_axis,
    rows_height,
    styled,
    write_missing,
)

_PANELS_A_ROW, _PANELS_AT_MOST = 6, 8  # usually, and where two rows of panels are higher than a page
_TALLEST = 8.3
_ROW = 0.165
_BELOW = "#777777"
_OPEN: Mapping[str, Any] = {
    "color": COLOURS["cases"], "markersize": 4.6, "markerfacecolor": "none", "markeredgewidth": 0.8,
}  # fmt: skip


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


def judges_of(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of the table `accuracy` that are of judges, in the order of their ranks over all cases."""
    judges = rows_of(table, kind="judge")
    keys = ["rank", "judge"] if "rank" in judges.columns else ["accuracy", "judge"]
    place = overall(judges).sort_values(keys, ascending=[keys[0] == "rank", True])["judge"].drop_duplicates()
    number = {name: i for i, name in enumerate(place)}
    return judges.sort_values("judge", key=lambda names: names.map(number), kind="stable")


def bounds_of(table: pd.DataFrame, value: str) -> tuple[str, str]:
    """The columns of a value's interval: `value`_low and `value`_high, or low and high in a table without those."""
    own = (f"{value}_low", f"{value}_high")
    return own if own[0] in table.columns else ("low", "high")


def ordered_rows(frame: pd.DataFrame, *, rows: str, value: str, panel: str, by: str, group: str | None) -> pd.DataFrame:
    """The rows of a figure from top to bottom: by group, then from the best in one panel to the last.

    The best has the lowest `rank` where the frame has ranks, else the highest value.

    Returns
    -------
    DataFrame
        `rows` and, where there is one, `group`; one row each, rows without a value last in their group.
    """
    keep = [rows] if group is None else [rows, group]
    names = frame[keep].drop_duplicates(rows)
    here = frame.loc[frame[panel] == by].drop_duplicates(rows).set_index(rows)
    names = names.assign(_value=names[rows].map(-here["rank"] if "rank" in here.columns else here[value]))
    keys = ["_value", rows] if group is None else [group, "_value", rows]
    ascending = [False, True] if group is None else [True, False, True]
    return names.sort_values(keys, ascending=ascending, na_position="last")[keep].reset_index(drop=True)


def stacked(table: pd.DataFrame, measures: Mapping[str, str], rows: str = "judge") -> pd.DataFrame:
    """Several measures one above the other: `rows`, `measure` (its title), `value`, `low`, `high`, null if not there.

    Parameters
    ----------
    measures : columns of the table, each with `_low` and `_high`, and their titles
    """
    parts = []
    for name, title in measures.items():
        one = table.reindex(columns=[rows, name, f"{name}_low", f"{name}_high"])
        parts.append(one.set_axis([rows, "value", "low", "high"], axis=1).assign(measure=title))
    return pd.concat(parts, ignore_index=True)


@styled
def panels(
    frame: pd.DataFrame,
    *,
    value: str,
    low: str | None = None,
    high: str | None = None,
    axis_label: str,
    rows: str = "judge",
    panel: str = "dimension",
    order_by: str | None = None,
    order: Sequence[str] = (),
    group: str | None = None,
    reference: pd.DataFrame | None = None,
    reference_label: str = "reference",
    below: pd.DataFrame | None = None,
    beside: str | None = None,
    beside_label: str = "",
    line_at: float | None = None,
    limits: tuple[float, float] | None = None,
    in_percent: bool = True,
) -> Paper:
    """Draw a value and its interval for every row in every panel.

    Parameters
    ----------
    frame : one row a `rows` x `panel`; `value`, `low`, `high` as fractions, null where undefined
        (a null interval draws the point alone, a null value the words n/a)
    value, low, high : columns of the frame; see `bounds_of` for the bounds that are not named
    order_by : the panel whose values order the rows; default the last one
    order : the rows from top to bottom, within their groups; empty leaves it to `order_by`
    group : a column that groups the rows, drawn as headings
    reference : `panel`, `value`, `low`, `high`: a level to compare with, drawn as a line and a band in its panel
    below : rows as those of `frame`, drawn in grey under a line, in their own order; None or empty draws none
    beside : a second column of the frames, drawn as rings, with its name in the legend; None draws none
    line_at : a vertical line in all panels, for a meaningful zero
    in_percent : the axis counts hundredths

    Returns
    -------
    Figure
    """
    ends = bounds_of(frame, value)
    low, high = low or ends[0], high or ends[1]
    names = list(dict.fromkeys(frame[panel]))
    by = order_by if order_by is not None and order_by in names else names[-1]
    table = ordered_rows(frame, rows=rows, value=value, panel=panel, by=by, group=group)
    if len(order):
        place = {name: i for i, name in enumerate(order)}
        table = table.sort_values(rows, key=lambda names: names.map(place), kind="stable", ignore_index=True)
        table = table if group is None else table.sort_values(group, kind="stable", ignore_index=True)
    positions, headings = _positions(table, group)
    others = frame.head(0) if below is None else below
    apart = others[[rows]].drop_duplicates()
    line = max(positions, default=0) + 0.8
    lower = [line + 0.8 + i for i in range(len(apart))]
    bands = ceil(len(names) / _PANELS_A_ROW)
    each = rows_height(ceil(max([*positions, *lower], default=0)) + 1, _ROW, 0.5)
    bands = 1 if bands * each > _TALLEST and len(names) <= _PANELS_AT_MOST else bands
    columns = ceil(len(names) / bands)
    height = ceil(len(names) / columns) * min(each, _TALLEST) + 0.35
    height += 0.2 * (beside is not None or reference is not None)  # the legend
    figure = canvas(PAGE if columns > 2 else min(PAGE, 2.2 + 2.2 * columns), height)
    span = limits or _limits(pd.concat([frame, others]), reference, value, low, high, line_at)
    for axes, name in zip(panel_grid(figure, len(names), columns), names, strict=True):
        here = table[[rows]].merge(frame[frame[panel] == name], on=rows, how="left")
        draw_estimates(axes, here, positions, value=value, low=low, high=high, size=2.3)
        for row, height in zip(table[rows], positions, strict=True):
            figure.mark(axes, {rows: str(row), panel: str(name)}, (height - 0.5, height + 0.5))
        if lower:
            under = apart.merge(others[others[panel] == name], on=rows, how="left")
            draw_estimates(axes, under, lower, value=value, low=low, high=high, size=2.3, colour=_BELOW, gid="below")
            axes.axhline(line, color=_BELOW, linewidth=0.6, gid="line-above-references")
        if beside is not None:
            second = pd.concat([here[beside], under[beside]]) if lower else here[beside]
            axes.plot(second, [*positions, *lower], "o", **_OPEN, gid="beside")
        if reference is not None:
            _draw_reference(axes, reference[reference[panel] == name])
        if line_at is not None:
            draw_zero(axes, line_at)
        title = axes.set_title(label(title_case(name), 18 if columns > 3 else 40), fontsize=6.5 if columns > 3 else 7.5)
        if columns > _PANELS_A_ROW:
            title.set(rotation=20, ha="left", x=0)
        _name_rows_and_headings(axes, [*positions, *lower], [*table[rows], *apart[rows]], headings)
        axes.set_xlim(*span)
        if in_percent:
            percent_axis(axes.xaxis, 4 if columns > 2 else 8)
        axes.grid(axis="both")
    figure.supxlabel(axis_label, fontsize=7)
    handles = []
    if beside is not None:
        handles.append(Line2D([], [], linestyle="", marker="o", label=beside_label, **_OPEN))
    if reference is not None and reference["value"].notna().any():
        handles.append(Line2D([], [], color=COLOURS["human"], linewidth=1.2, label=reference_label))
    if handles:
        figure.legend(handles=handles, loc="outside upper left", ncols=2)
    return figure


@figure("estimates")
def estimates(
    frame: pd.DataFrame, *, what: str, judges: Sequence[str] = (), line_at: float | None = None, in_percent: bool = True
) -> Paper:
    """Draw what `Study.bootstrap` returns: a row per quantity, a panel per subfield.

    Parameters
    ----------
    what : the title of the axis, with its unit
    judges : the order of quantities that are judges
    line_at, in_percent : see `panels`
    """
    rows = frame.assign(quantity=frame["quantity"].fillna("estimate"), subfield=frame["subfield"].fillna("all cases"))
    return panels(
        rows, value="estimate", rows="quantity", panel="subfield", order=judges, order_by="all cases", axis_label=what,
        line_at=line_at, in_percent=in_percent,
    )  # fmt: skip


def _positions(order: pd.DataFrame, group: str | None) -> tuple[list[float], list[tuple[float, str]]]:
    """Where each row stands, with room for a heading above each group where there are several."""
    if group is None or order[group].nunique() < 2:
        return [float(i) for i in range(len(order))], []
    number = order[group].astype(str).rank(method="dense").astype(int)
    positions = (np.arange(len(order)) + number).astype(float)
    first = ~order[group].duplicated()
    texts = [label(title_case(name), 24) for name in order.loc[first, group]]
    return positions.tolist(), list(zip(positions[first] - 1, texts, strict=True))


def draw_estimates(
    axes: Axes,
    rows: pd.DataFrame,
    y: ArrayLike,
    *,
    value: str,
    low: str | None = None,
    high: str | None = None,
    colour: str = COLOURS["judge"],
    marker: str = "o",
    size: float = 2.6,
    label: str | None = None,
    gid: str = "values",
    missing: str = NOT_AVAILABLE,
    missing_x: float = 0.5,
) -> None:
    """Draw a point with its interval for each row; a null interval draws the point alone, a null value `missing`.

    Parameters
    ----------
    y : shape (N,), the heights of the rows
    value, low, high : columns of `rows`; see `bounds_of` for the bounds that are not named
    label : the name in the legend; None for none
    missing, missing_x : see `mrb_lib.figures.style.write_missing`
    gid : names what is drawn: the points `gid`, the intervals `gid`-intervals, for "values" just intervals
    """
    heights = np.asarray(y, dtype=float)
    ends = bounds_of(rows, value)
    columns = (value, low or ends[0], high or ends[1])
    x, start, end = (rows[name].to_numpy(dtype=float) for name in columns)
    defined = ~np.isnan(x)
    bounded = defined & ~np.isnan(start) & ~np.isnan(end)
    spans = "intervals" if gid == "values" else f"{gid}-intervals"
    axes.hlines(heights[bounded], start[bounded], end[bounded], color=colour, linewidth=0.9, gid=spans)
    axes.plot(x[defined], heights[defined], marker, color=colour, markersize=size, gid=gid)
    if label is not None:
        axes.plot([], [], color=colour, marker=marker, markersize=size, linewidth=0.9, label=label)
    write_missing(axes, heights[~defined], missing, x=missing_x)


def _draw_reference(axes: Axes, level: pd.DataFrame) -> None:
    for value, low, high in level[["value", "low", "high"]].dropna(subset="value").to_numpy(dtype=float):
        if not np.isnan(low) and not np.isnan(high):
            axes.axvspan(low, high, color=COLOURS["human"], alpha=0.18, linewidth=0, zorder=0)
        axes.axvline(value, color=COLOURS["human"], linewidth=1.2, zorder=1, gid="reference")


def _name_rows_and_headings(
    axes: Axes, positions: Sequence[float], names: Iterable[object], headings: Sequence[tuple[float, str]]
) -> None:
    heights = [*positions, *(height for height, _ in headings)]
    axes.set_ylim(max(heights) + 0.7, -0.7)
    axes.set_yticks(heights, [*labels(names, 28), *(text for _, text in headings)])
    for text in axes.get_yticklabels()[len(positions) :]:
        text.set_fontweight("bold")
    axes.tick_params(axis="y", length=0)


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
