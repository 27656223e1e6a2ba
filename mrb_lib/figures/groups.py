"""Groups of judges against one another, and judges against those whose weights they were trained further from."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from mrb_lib.figures.intervals import draw_estimates, overall, panels, rows_of
from mrb_lib.figures.lettering import label
from mrb_lib.figures.registry import figure
from mrb_lib.figures.style import (
    COLOURS,
    PAGE,
    Paper,
    canvas,
    draw_zero,
    name_rows,
    percent_axis,
    rows_height,
    styled,
    write_missing,
)

_ROW = 0.2


@figure("group-contrasts", table="groups", shows="difference", is_main=True)
@styled
def group_contrasts(table: pd.DataFrame, *, dimension: str) -> Paper:
    """Draw the table `groups`: a row per contrast, a panel per dimension; `dimension` orders the rows."""
    rows = overall(table)
    most = rows.groupby(["part", "group_1", "group_2"])[["n_judges_1", "n_judges_2"]].transform("max")
    descended = rows["part"].eq("descendants")
    other = rows["group_2"].where(~descended, "their bases")
    sides = (group + " " + most[n].astype(str) for group, n in ((rows["group_1"], "n_judges_1"), (other, "n_judges_2")))
    named = rows.assign(contrast=[" \u2212 ".join(pair) for pair in zip(*sides, strict=True)])
    return panels(
        named, value="difference", axis_label="difference of accuracy (percentage points)", rows="contrast",
        order_by=dimension, line_at=0.0,
    )  # fmt: skip


@figure("gains", table="gains", parts=("accuracy",), shows="gain", is_main=True)
@styled
def gains(table: pd.DataFrame, *, dimension: str) -> Paper:
    """Draw the part "accuracy" of the table `gains`: two accuracies per pair, and their difference beside them."""
    rows = overall(rows_of(table, dimension=dimension))
    rows = rows.sort_values(["gain", "tuned", "base"], ascending=[False, True, True], na_position="last")
    figure = canvas(PAGE, rows_height(len(rows), _ROW, 0.85))
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=[3, 2])
    names = [
        f"{label(tuned, 30)} over {label(base, 30)}" for tuned, base in zip(rows["tuned"], rows["base"], strict=True)
    ]
    _dumbbells(left, rows)
    left.set_xlabel("accuracy (%)")
    shown = rows["p_adjusted"].le(0.05).to_numpy(dtype=bool)
    y = np.arange(len(rows), dtype=float)
    draw_estimates(right, rows, y, value="gain", size=3.2)
    right.plot(rows["gain"][~shown], y[~shown], "o", color="white", markeredgecolor=COLOURS["judge"], markersize=3.2,
               markeredgewidth=0.8, gid="not-shown")  # fmt: skip
    draw_zero(right)
    right.set_xlabel("gain (percentage points)")
    percent_axis(left.xaxis, 6)
    percent_axis(right.xaxis, 6, signed=True)
    for axes in (left, right):
        axes.grid(axis="both")
    name_rows(left, names, 64)
    right.tick_params(axis="y", length=0)
    figure.legend(*left.get_legend_handles_labels(), loc="outside upper left", ncols=2)
    return figure


def _dumbbells(axes: Axes, rows: pd.DataFrame) -> None:
    """Both accuracies of every pair, joined."""
    y = np.arange(len(rows), dtype=float)
    base, tuned = (rows[name].to_numpy(dtype=float) for name in ("accuracy_base", "accuracy_tuned"))
    axes.hlines(y, base, tuned, color=COLOURS["cases"], linewidth=1.2, zorder=1, gid="joined")
    axes.plot(base, y, "o", color="white", markeredgecolor=COLOURS["cases"], markersize=4, label="base", gid="base")
    axes.plot(tuned, y, "o", color=COLOURS["cases"], markersize=4, label="trained further", gid="tuned")
    write_missing(axes, y[np.isnan(base)])
