"""The figure of a benchmark paper: every judge in every subfield."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh

from mrb_lib.figures.accuracy import colour_range
from mrb_lib.figures.intervals import rows_of
from mrb_lib.figures.lettering import label, labels, percent, title_case
from mrb_lib.figures.matrix import draw_matrix, scale_bar
from mrb_lib.figures.registry import figure
from mrb_lib.figures.style import PAGE, SEQUENTIAL, SMALLEST_TYPE, Paper, canvas, ink_on, rows_height, styled

AVERAGE = "average"
_ROW, _TALLEST = 0.165, 6.6  # inches: of a judge, and of all judges on a page
_NAMES, _BAR = 2.1, 0.09  # inches: of the names above and below, and of the colour scale
_LARGE = 5.0  # how much wider the panel with numbers is than one without


@figure("every-dimension", table="accuracy", by=True, shows="accuracy", cases="wrong")
@styled
def every_dimension(
    accuracy: pd.DataFrame, *, by: str = "", judges: Sequence[str] = (), groups: Mapping[str, str] = {}
) -> Paper:
    """Draw a large panel of the average over dimensions, and a small one per dimension, with the same rows and columns.

    Parameters
    ----------
    accuracy : the table `accuracy` by a column of the cases, with its dimension `average`; references are not drawn
    by : what the subfields are
    judges : all judges, from the first to the last
    groups : the group of each judge; rows are parted by group where there are several
    """
    cells = rows_of(accuracy, kind="judge").dropna(subset="subfield")
    present = set(cells["judge"])
    names = [each for each in judges if each in present] or sorted(present)
    place = list(dict.fromkeys(groups.values()))
    names = sorted(names, key=lambda name: place.index(groups[name])) if groups else names
    dimensions = cells["dimension"].drop_duplicates().tolist()
    large = AVERAGE if AVERAGE in dimensions else dimensions[0]
    small = [name for name in dimensions if name != large]
    subfields = sorted(cells["subfield"].unique())
    figure = canvas(PAGE, rows_height(len(names), min(_ROW, _TALLEST / len(names)), _NAMES))
    grid = figure.subplots(1, 1 + len(small), squeeze=False, width_ratios=[_LARGE, *[1] * len(small)])[0]
    norm = colour_range(cells["accuracy"].to_numpy(dtype=float))
    norm.vmin, norm.vmax = min(norm.vmin or 0, 0.5), max(norm.vmax or 1, 0.5)
    counts = cells.groupby("subfield")["n"].max()
    across = [
        f"{each} ({counts[name]:,})"
        for name, each in zip(subfields, labels(map(title_case, subfields), 24), strict=True)
    ]
    meshes = []
    for axes, name in zip(grid, [large, *small], strict=True):
        wide = cells[cells["dimension"] == name].pivot(index="judge", columns="subfield", values="accuracy")
        values = wide.reindex(index=names, columns=subfields).to_numpy(dtype=float)
        is_large = name == large
        mesh = draw_matrix(
            axes, values, across=across if is_large else [""] * len(subfields),
            down=labels(names, 30) if is_large else [""] * len(names),
            colours=SEQUENTIAL, norm=norm, write_missing=False,
        )  # fmt: skip
        mesh.set_linewidth(0.5 if is_large else 0.1)
        meshes.append((axes, mesh, values))
        how: dict[str, Any] = {} if is_large else {"fontsize": SMALLEST_TYPE, "rotation": 90}
        axes.set_title(label(title_case(name), 20), loc="left", **how)
        axes.tick_params(labelsize=SMALLEST_TYPE)
        for y, judge in enumerate(names):
            for x, subfield in enumerate(subfields):
                figure.mark(axes, {"judge": judge, "subfield": subfield, "dimension": name}, (y, y + 1), (x, x + 1))
        _part_groups(axes, [groups.get(judge, "") for judge in names], is_named=axes is grid[-1])
    grid[0].set_xlabel(f"{label(title_case(by or 'subfield'))} (cases)", fontsize=SMALLEST_TYPE)
    _write(*meshes[0])  # last: seaborn draws the whole figure for every matrix
    _scale(figure, meshes[0][1], grid)
    return figure


def _scale(figure: Paper, mesh: QuadMesh, grid: Sequence[Axes]) -> None:
    """Draw the colour scale with a mark at 50%: below the small panels, beside the names of the large one's columns."""
    if len(grid) == 1:
        scale_bar(figure, mesh, grid, "accuracy (%)", percent)
        return
    height = _BAR / (figure.get_figheight() - _NAMES)
    below = grid[1].inset_axes((0, -2.5 * height, len(grid) - 1.6 + 0.2 * (len(grid) - 2), height))
    below.set_in_layout(False)
    bar = figure.colorbar(mesh, cax=below, orientation="horizontal", format=lambda value, _: percent(value))
    bar.set_label("accuracy (%), marked at 50%", fontsize=SMALLEST_TYPE)
    bar.outline.set_visible(False)
    below.tick_params(labelsize=SMALLEST_TYPE, length=2)
    below.axvline(0.5, color="white", linewidth=2)
    below.axvline(0.5, color="black", linewidth=0.8, gid="half")


def _write(axes: Axes, mesh: QuadMesh, values: np.ndarray) -> None:
    """Write the values into the cells; they take no part in the layout, which hundreds of texts would slow."""
    for (y, x), value in np.ndenumerate(values):
        if not np.isnan(value):
            text = axes.text(
                x + 0.5, y + 0.5, percent(value), ha="center", va="center", fontsize=SMALLEST_TYPE,
                color=ink_on(mesh.cmap(mesh.norm(value))), gid="cell",
            )  # fmt: skip
            text.set_in_layout(False)


def _part_groups(axes: Axes, groups: Sequence[str], *, is_named: bool) -> None:
    """Draw a line between the groups of the rows, and write their names beside them."""
    starts = [i for i, name in enumerate(groups) if i == 0 or name != groups[i - 1]]
    for top, bottom in pairwise([*starts, len(groups)]) if len(starts) > 1 else ():
        axes.axhline(top, color="white", linewidth=2.4)
        axes.axhline(top, color="black", linewidth=0.8, gid="group")
        if is_named:
            axes.text(1.08, (top + bottom) / 2, label(groups[top], 14), transform=axes.get_yaxis_transform(),
                      va="center", fontsize=SMALLEST_TYPE)  # fmt: skip
