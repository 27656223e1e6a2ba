"""Accuracy then and now, and the paired difference."""

import numpy as np
import pandas as pd

from mrb_lib.figures.intervals import draw_estimates
from mrb_lib.figures.registry import figure
from mrb_lib.figures.style import COLOURS, PAGE, Paper, canvas, draw_zero, name_rows, percent_axis, rows_height, styled


@figure("comparison")
@styled
def then_and_now(table: pd.DataFrame) -> Paper:
    """Draw two accuracies per judge, joined, and beside them their difference with its interval.

    Parameters
    ----------
    table : judge, judge_now, accuracy_then, accuracy_now, difference, low, high, p_adjusted, of one dimension, a row
        per judge from top to bottom; a null difference is drawn as n/a, a null interval leaves the point alone
    """
    rows = table.reset_index(drop=True)
    drawn = canvas(PAGE, rows_height(len(rows), 0.165, 0.9))
    left, right = drawn.subplots(1, 2, sharey=True, width_ratios=(5, 4))
    y = np.arange(len(rows), dtype=float)
    left.hlines(y, rows["accuracy_then"], rows["accuracy_now"], color=COLOURS["judge"], linewidth=0.8, gid="moves")
    left.plot(rows["accuracy_then"], y, "o", color=COLOURS["cases"], markersize=5.5, markerfacecolor="none",
              markeredgewidth=1.0, label="then", gid="accuracy_then")  # fmt: skip
    left.plot(rows["accuracy_now"], y, "o", color=COLOURS["judge"], markersize=2.8, label="now", gid="accuracy_now")
    draw_zero(right)
    draw_estimates(right, rows, y, value="difference")
    for height, judge, p_value in zip(y, rows["judge_now"], rows["p_adjusted"], strict=True):
        drawn.mark(left, {"judge": judge}, (height - 0.5, height + 0.5))
        if p_value <= 0.05:
            right.text(
                1.01, height, "*", transform=right.get_yaxis_transform(), va="center_baseline", gid="significant"
            )
    name_rows(left, rows["judge"], 32)
    left.set_xlabel("accuracy (%)")
    right.set_xlabel("now minus then (percentage points)")
    right.tick_params(axis="y", length=0)
    percent_axis(left.xaxis, 6)
    percent_axis(right.xaxis, 6)
    right.xaxis.set_major_formatter(lambda value, _: f"{100 * value:+.3g}" if value else "0")
    for axes in (left, right):
        axes.grid(axis="both")
    drawn.legend(loc="outside lower right", ncols=2)
    return drawn
