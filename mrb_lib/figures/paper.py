"""What a benchmark paper prints: what is in the benchmark, and every judge in every subfield."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import ceil

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.lines import Line2D

from mrb_lib.figures.accuracy import colour_range
from mrb_lib.figures.lettering import label, labels, percent, title_case
from mrb_lib.figures.matrix import draw_matrix, scale_bar
from mrb_lib.figures.registry import figure
from mrb_lib.figures.style import (
    COLOURS,
    PAGE,
    SEQUENTIAL,
    SERIES,
    SMALLEST_TYPE,
    Paper,
    canvas,
    ink_on,
    name_rows,
    panel_grid,
    percent_axis,
    rows_height,
    styled,
)

AVERAGE = "average"
MOST_KINDS = 14
_SOURCE = {"dataset": "source"}
_SHEET = (
    "Accuracy (%) of every judge by {by}, a panel a dimension and one for the average over them; judges by group, then "
    "from the highest average over all cases to the lowest. Below each column how many cases were scored. Hatched: no "
    "case scored. The intervals are in the CSV."
)
_READ_SHEET = (
    "Read down a column for who is best on a kind of case, along a row for where a judge is weak. Columns of few cases "
    "hold chance mostly: a cell of 20 cases is known to about 20 points either way."
)
_PROFILES = (
    "Accuracy (%) by {by}, a panel a judge in the order of the heatmaps: in black the average over the dimensions with "
    "the band of its 95% intervals, in colour the dimensions. Along the bottom the values of {by}, by name."
)
_READ_PROFILES = (
    "Compare the height of the black lines between panels and their dents within one. A dent whose band reaches the "
    "judge's usual height may be chance."
)


@figure(
    "cases-by-kind",
    title="What the cases are of",
    caption="Number of cases of each organ, department, modality, question type and source. {note}",
    reading="A score over all cases is mostly a score on the longest bars.",
)
@styled
def kinds(counts: pd.DataFrame) -> Paper:
    """Draw how many cases there are of each kind, a panel a column of the cases.

    Parameters
    ----------
    counts : column, value, n_cases, as `mrb_lib.stats.tables.composition.counts_by` gives them; a null value is drawn
        as "not stated". Of more than `MOST_KINDS` values the first are drawn, and how many are not is written
    """
    columns = counts["column"].drop_duplicates().tolist()
    parts = [counts[counts["column"] == name] for name in columns]
    n_columns = min(2, len(columns))
    rows = [
        max(min(len(part), MOST_KINDS + 1) for part in parts[i : i + n_columns])
        for i in range(0, len(parts), n_columns)
    ]
    figure = canvas(PAGE, sum(rows_height(n, 0.16, 0.5) for n in rows))
    grid = figure.subplots(len(rows), n_columns, squeeze=False, gridspec_kw={"height_ratios": rows})
    for axes in list(grid.flat)[len(parts) :]:
        axes.set_axis_off()
    for axes, name, part in zip(grid.flat, columns, parts, strict=False):
        shown = part.head(MOST_KINDS)
        axes.barh(range(len(shown)), shown["n_cases"], height=0.7, color=COLOURS["cases"], gid="cases")
        for i, n in enumerate(shown["n_cases"]):
            axes.text(n, i, f" {n:,}", va="center", fontsize=SMALLEST_TYPE, gid="n")
        name_rows(axes, [title_case(value) if pd.notna(value) else "not stated" for value in shown["value"]], 30)
        axes.set_xlim(0, float(shown["n_cases"].max()) * 1.18)
        axes.locator_params(axis="x", nbins=4, integer=True)
        axes.xaxis.set_major_formatter("{x:,.0f}")
        more = len(part) - len(shown)
        axes.set_title(
            title_case(_SOURCE.get(name, name)) + (f" (the first {len(shown)} of {len(part)})" if more else ""),
            loc="left",
        )
    return figure


@figure(
    "organs-dimensions",
    title="Every judge in every organ on every dimension",
    caption=_SHEET,
    reading=_READ_SHEET,
    needs=("preferences", "annotations", "verdicts", "organ"),
)
@figure(
    "departments-dimensions",
    title="Every judge in every department on every dimension",
    caption=_SHEET,
    reading=_READ_SHEET,
    needs=("preferences", "annotations", "verdicts", "department"),
)
@styled
def sheets(cells: pd.DataFrame, *, judges: Sequence[str]) -> Paper:
    """Draw a heatmap of judges and subfields for every dimension, in one colour scale.

    Parameters
    ----------
    cells : judge, group, dimension ("average" among them), subfield, n, accuracy; a pair without a row is drawn as
        missing
    judges : those to draw, from top to bottom; a line parts those of a group from the next
    """
    dimensions, subfields = cells["dimension"].drop_duplicates().tolist(), sorted(cells["subfield"].unique())
    n_columns = 2 if len(dimensions) > 1 else 1
    bands = ceil(len(dimensions) / n_columns)
    figure = canvas(PAGE, bands * rows_height(len(judges), 0.125, 1.4))
    grid = panel_grid(figure, len(dimensions), n_columns, shared=False)
    groups = cells.drop_duplicates("judge").set_index("judge")["group"].reindex(list(judges))
    norm, matrices = colour_range(cells["accuracy"].to_numpy(dtype=float)), []
    for i, (axes, name) in enumerate(zip(grid, dimensions, strict=True)):
        part = cells[cells["dimension"] == name]
        wide = part.pivot(index="judge", columns="subfield", values="accuracy").reindex(
            index=list(judges), columns=subfields
        )
        counts = part.groupby("subfield")["n"].max().reindex(subfields).fillna(0)
        values = wide.to_numpy(dtype=float)
        names = labels(judges, 24) if i % n_columns == 0 else [""] * len(judges)
        mesh = draw_matrix(
            axes, values, across=_columns(subfields, counts), down=names, colours=SEQUENTIAL, norm=norm,
            write_missing=False,
        )  # fmt: skip
        matrices.append((axes, mesh, values))
        axes.set_title(title_case(name), loc="left")
        axes.tick_params(axis="both", labelsize=SMALLEST_TYPE)
        _part_groups(axes, groups, named=i % n_columns == n_columns - 1)
        for y, judge in enumerate(judges):
            for x, subfield in enumerate(subfields):
                figure.mark(axes, {"judge": judge, "subfield": subfield, "dimension": name}, (y, y + 1), (x, x + 1))
    for axes, mesh, values in matrices:  # written last: seaborn draws the whole figure for every matrix
        _write(axes, mesh, values)
    if matrices:
        scale_bar(figure, matrices[0][1], grid, "accuracy (%)", percent)
    return figure


def _write(axes: Axes, mesh: QuadMesh, values: np.ndarray) -> None:
    """Write the values into the cells; they take no part in the layout, which thousands of texts would slow."""
    for (y, x), value in np.ndenumerate(values):
        if not np.isnan(value):
            text = axes.text(
                x + 0.5, y + 0.5, percent(value), ha="center", va="center", fontsize=SMALLEST_TYPE,
                color=ink_on(mesh.cmap(mesh.norm(value))), gid="cell",
            )  # fmt: skip
            text.set_in_layout(False)


def _part_groups(axes: Axes, groups: pd.Series, *, named: bool) -> None:
    """Draw a line between the groups of the rows, and write their names beside them."""
    starts = [0, *(np.flatnonzero(groups.to_numpy()[1:] != groups.to_numpy()[:-1]) + 1).tolist(), len(groups)]
    for top, bottom in pairwise(starts):
        if top:
            axes.axhline(top, color="black", linewidth=0.8)
        if named and bottom > top:
            middle, text = (top + bottom) / 2, label(groups.iloc[top], 12)
            axes.text(1.01, middle, text, transform=axes.get_yaxis_transform(), va="center", fontsize=SMALLEST_TYPE)


def _columns(subfields: Sequence[str], counts: pd.Series) -> list[str]:
    return [f"{name} ({n:.0f})" for name, n in zip(labels(map(title_case, subfields), 22), counts, strict=True)]


@figure(
    "organs-profiles",
    title="Every judge's profile over the organs",
    caption=_PROFILES,
    reading=_READ_PROFILES,
    needs=("preferences", "annotations", "verdicts", "organ"),
)
@figure(
    "departments-profiles",
    title="Every judge's profile over the departments",
    caption=_PROFILES,
    reading=_READ_PROFILES,
    needs=("preferences", "annotations", "verdicts", "department"),
)
@styled
def profiles(cells: pd.DataFrame, *, judges: Sequence[str]) -> Paper:
    """Draw the accuracy of every judge over the subfields, a small panel each.

    Parameters
    ----------
    cells : judge, dimension ("average" among them), subfield, accuracy, low, high
    judges : those to draw, row by row
    """
    dimensions = [name for name in cells["dimension"].drop_duplicates() if name != AVERAGE]
    subfields = sorted(cells["subfield"].unique())
    n_columns = min(4, max(1, len(judges)))
    bands = ceil(len(judges) / n_columns)
    figure = canvas(PAGE, bands * 0.95 + 1.6)
    grid = panel_grid(figure, len(judges), n_columns)
    at, x = {name: i for i, name in enumerate(subfields)}, np.arange(len(subfields))
    by_judge = dict(list(cells.groupby("judge")))
    for axes, judge, title in zip(grid, judges, labels(judges, 26), strict=True):
        own = by_judge.get(judge, cells.head(0))
        for i, name in enumerate(dimensions):
            _line(axes, own[own["dimension"] == name], at, color=SERIES[i % len(SERIES)][0], linewidth=0.5, alpha=0.8)
        average = own[own["dimension"] == AVERAGE]
        low, high = (_over(average, end, at) for end in ("low", "high"))
        axes.fill_between(x, low, high, where=~np.isnan(low) & ~np.isnan(high), color="black", alpha=0.13, linewidth=0)
        _line(axes, average, at, color="black", linewidth=1.1, marker="o", markersize=1.6, gid="average")
        axes.set_title(title, fontsize=SMALLEST_TYPE, pad=2)
        axes.grid(axis="y")
    shown = [cells["accuracy"], *(cells.loc[cells["dimension"] == AVERAGE, end] for end in ("low", "high"))]
    ends = np.concatenate([values.to_numpy(dtype=float) for values in shown])
    bottom, top = (0.0, 1.0) if np.isnan(ends).all() else (np.nanmin(ends), np.nanmax(ends))
    for axes in grid:
        axes.set_xlim(-0.5, len(subfields) - 0.5)
        axes.set_ylim(np.floor(bottom * 10) / 10, min(1.0, np.ceil(top * 10) / 10))
        percent_axis(axes.yaxis, 3)
        axes.set_xticks(x, labels(map(title_case, subfields), 22), rotation=90)
        axes.tick_params(axis="both", labelsize=SMALLEST_TYPE, length=1.5)
    figure.supylabel("accuracy (%)", fontsize=SMALLEST_TYPE)
    # The last row alone names the subfields: names above an empty place would push the row below them down.
    for i, axes in enumerate(grid):
        axes.tick_params(labelbottom=i >= (bands - 1) * n_columns)
    handles = [Line2D([], [], color="black", marker="o", markersize=2, label=AVERAGE)]
    handles += [
        Line2D([], [], color=SERIES[i % len(SERIES)][0], label=label(name, 20)) for i, name in enumerate(dimensions)
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), handlelength=1.2, columnspacing=1.0)
    return figure


def _over(rows: pd.DataFrame, column: str, at: dict[str, int]) -> np.ndarray:
    """A column of one judge and dimension over the subfields; NaN where there is no row."""
    out = np.full(len(at), np.nan)
    out[[at[name] for name in rows["subfield"]]] = rows[column].to_numpy(dtype=float)
    return out


def _line(axes: Axes, rows: pd.DataFrame, at: dict[str, int], **how: object) -> None:
    axes.plot(range(len(at)), _over(rows, "accuracy", at), **how)  # type: ignore[arg-type]  # the stubs name each option
