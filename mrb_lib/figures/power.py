"""The differences between judges that a test on these cases can detect."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from mrb_lib.figures.intervals import overall, rows_of
from mrb_lib.figures.lettering import labels, title_case
from mrb_lib.figures.registry import figure
from mrb_lib.figures.style import (
    COLOURS,
    PAGE,
    Paper,
    canvas,
    name_rows,
    percent_axis,
    rows_height,
    styled,
    write_missing,
)

_LEAST = "minimum_detectable_difference"
_POWER = 0.8


@figure("power", table="power", parts=("summary", "curve"), shows=_LEAST, is_main=True)
@figure("power-subfields", table="power", parts=("summary", "curve"), shows=_LEAST, by=True)
@styled
def power(table: pd.DataFrame, *, dimension: str) -> Paper:
    """Draw the power to find a difference between two judges, and the smallest difference that each subfield can show.

    Parameters
    ----------
    table : rows of the table `power`; without rows of subfields, the second panel is left out
    """
    table = rows_of(table, dimension=dimension)
    summary = rows_of(table, part="summary").sort_values("n", ascending=False, kind="stable")
    has_subfields = bool(summary["subfield"].notna().any())
    figure = canvas(PAGE if has_subfields else PAGE / 2, rows_height(len(summary) if has_subfields else 9, 0.19, 0.9))
    left, *rest = figure.subplots(1, 1 + has_subfields, squeeze=False).flat
    _draw_curve(left, rows_of(table, part="curve").sort_values("difference"), overall(summary))
    for axes in rest:
        _draw_detectable(axes, summary)
    return figure


def _draw_curve(axes: Axes, curve: pd.DataFrame, summary: pd.DataFrame) -> None:
    axes.plot(curve["difference"], curve["power"], color=COLOURS["judge"], gid="power")
    for n, smallest in summary[["n", _LEAST]].dropna().to_numpy(dtype=float):
        axes.plot([0, smallest, smallest], [_POWER, _POWER, 0], color=COLOURS["gold"], gid="detectable")
        axes.set_title(f"power {_POWER:.0%} at {100 * smallest:.1f} points, n = {int(n):,}")
    write_missing(axes, [0.5] if curve.empty else [])
    axes.set_ylim(0, 1.02)
    axes.set_xlim(left=0)
    percent_axis(axes.xaxis, 5)
    percent_axis(axes.yaxis, 5)
    axes.set_xlabel("true difference of accuracy (percentage points)")
    axes.set_ylabel("power (%)")
    axes.grid()


def _draw_detectable(axes: Axes, summary: pd.DataFrame) -> None:
    """A row per subfield, that of all cases first."""
    rows = summary.sort_values("subfield", key=lambda names: names.notna(), kind="stable")
    y, smallest = np.arange(len(rows)), rows[_LEAST].to_numpy(dtype=float)
    axes.plot(smallest, y, "o", color=COLOURS["judge"], markersize=3.4, gid="smallest")
    write_missing(axes, y[np.isnan(smallest)])
    names = labels(("all cases" if pd.isna(name) else title_case(name) for name in rows["subfield"]), 26)
    name_rows(axes, [f"{name} (n = {n:,})" for name, n in zip(names, rows["n"], strict=True)], 48)
    axes.set_xlim(left=0)
    percent_axis(axes.xaxis, 8)
    axes.set_xlabel(f"difference found with power {_POWER:.0%}\n(percentage points)")
    axes.grid(axis="x")
