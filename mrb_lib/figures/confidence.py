"""Whether judges are as confident as they should be, and what they gain by answering only where they are confident."""

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from mrb_lib.figures.intervals import overall, panels, rows_of
from mrb_lib.figures.lettering import labels, percent
from mrb_lib.figures.registry import figure
from mrb_lib.figures.style import COLOURS, PAGE, TALLEST, Paper, canvas, panel_grid, percent_axis, styled

_FEW = 20
_SHARE_HEIGHT = 0.22
_PROMISE: Final[Mapping[str, Any]] = {"color": COLOURS["gold"], "marker": "D", "markersize": 3.5}


def _panels(rows: pd.DataFrame, order: Sequence[str], x: str, y: str) -> tuple[Paper, dict[str, Axes]]:
    """A figure with an empty panel per judge of the rows, and the panels by judge."""
    judges = list(dict.fromkeys(rows["judge"]))
    judges = [judge for judge in order if judge in judges] or judges
    columns = min(max(len(judges), 1), 5 if len(judges) <= _FEW else 7)
    side = min((PAGE - 0.5) / columns, 2.2)
    height = min(ceil(max(len(judges), 1) / columns) * (side + 0.4) + 0.45, TALLEST)
    figure = canvas(max(columns * side + 0.5, 4.0), height)
    figure.supxlabel(x, fontsize=7)
    figure.supylabel(y, fontsize=7)
    grid = panel_grid(figure, len(judges), columns)
    for axes, judge, name in zip(grid, judges, labels(judges, {5: 21, 7: 18}.get(columns, 26)), strict=True):
        axes.set_title(name, fontsize=6.5)
        axes.grid(axis="both")
        percent_axis(axes.xaxis, 4)
        percent_axis(axes.yaxis, 4)
        figure.mark(axes, {"judge": judge})
    for axes in grid[-columns:]:  # the lowest of each column, also above an empty place
        axes.tick_params(axis="x", labelbottom=True)
    return figure, dict(zip(judges, grid, strict=True))


@figure(
    "reliability", table="calibration", parts=("bin", "summary"), shows="confidence", cases="surely wrong", is_main=True
)
@styled
def reliability(calibration: pd.DataFrame, *, dimension: str, judges: Sequence[str] = ()) -> Paper:
    """Draw how often each judge is right at each level of its confidence, a panel per judge.

    Parameters
    ----------
    calibration : rows of the table `calibration`. Part "bin" is drawn; of part "summary" the numbers above the panels
    judges : all judges from the first to the last; those without a bin are left out
    """
    rows = overall(rows_of(calibration, dimension=dimension))
    bins, summary = rows_of(rows, part="bin"), rows_of(rows, part="summary").set_index("judge")
    figure, panel_of = _panels(bins, judges, "confidence (%)", "right (%)")
    for judge, axes in panel_of.items():
        _diagram(axes, bins[bins["judge"] == judge], min(bins["confidence"].min(), 0.5))
        n, error = (float(summary[name][judge]) for name in ("n", "ece_debiased"))
        said = "" if np.isnan(error) else f", ECE {100 * error:.1f}"
        axes.set_title(f"{axes.get_title()}\nn {n:,.0f}{said}", fontsize=6.5)
    return figure


def _diagram(axes: Axes, rows: pd.DataFrame, least: float) -> None:
    """Bins against the line of a calibrated judge, from the least confidence of all judges on."""
    x, y, low, high, n = rows[["confidence", "accuracy", "low", "high", "n"]].to_numpy(dtype=float).T
    axes.plot([least, 1], [least, 1], color="#888888", linewidth=0.6, linestyle=(0, (2, 2)), zorder=1, gid="calibrated")
    axes.bar(x, _SHARE_HEIGHT * n / n.sum(), width=0.025, color=COLOURS["cases"], alpha=0.45, linewidth=0, gid="shares")
    bounded = ~np.isnan(low)
    axes.vlines(x[bounded], low[bounded], high[bounded], color=COLOURS["judge"], linewidth=0.8, gid="intervals")
    axes.plot(x, y, "o", color=COLOURS["judge"], markersize=2.6, gid="values")
    axes.set_xlim(least - 0.03, 1.03)
    axes.set_ylim(0, 1.03)


@figure("overconfidence", table="calibration", parts=("summary",), shows="overconfidence", cases="surely wrong")
def overconfidence(calibration: pd.DataFrame, *, judges: Sequence[str] = ()) -> Paper:
    """Draw how far mean confidence is above accuracy, a panel per dimension.

    Parameters
    ----------
    calibration : rows of part "summary" of the table `calibration`; judges without probabilities are left out
    """
    rows = overall(calibration)
    known = rows.groupby("judge")["overconfidence"].transform("count") > 0
    return panels(
        rows[known], value="overconfidence", axis_label="mean confidence minus accuracy (percentage points)",
        order=judges, line_at=0.0,
    )  # fmt: skip


@figure("calibration-shift", table="calibration", parts=("shift",), shows="overconfidence_difference")
def calibration_shift(calibration: pd.DataFrame, *, dimension: str, judges: Sequence[str] = ()) -> Paper:
    """Draw how each probe changes the overconfidence of each judge: part "shift" of the table `calibration`."""
    return panels(
        rows_of(calibration, dimension=dimension), value="overconfidence_difference", panel="probe", order=judges,
        axis_label="change of overconfidence under the probe (percentage points)", line_at=0.0,
    )  # fmt: skip


def promised(selective: pd.DataFrame) -> pd.DataFrame:
    """The promises over all cases that hold for all judges together: rows of part "guarantee" of `selective`."""
    rows = overall(rows_of(selective, part="guarantee"))
    alone = rows.loc[rows["n"] > 0, "judge"].nunique() == 1
    return rows_of(rows, delta=rows["delta"].max() if alone else rows["delta"].min())


@figure("risk-coverage", table="selective", parts=("curve", "guarantee"), shows="risk", cases="unsure", is_main=True)
@styled
def risk_coverage(selective: pd.DataFrame, *, dimension: str, judges: Sequence[str] = (), target: float = 0.9) -> Paper:
    """Draw the agreement of each judge on the cases it is most confident on, against the share of cases answered.

    Parameters
    ----------
    selective : the table `selective`; of part "guarantee" what is `promised`, and a panel says where nothing is
    judges : all judges from the first to the last; those without a curve are left out
    target : the agreement wanted, as a line
    """
    rows = rows_of(selective, dimension=dimension)
    curve, promises = rows_of(rows, part="curve").sort_values("coverage"), promised(rows).set_index("judge")
    promises = promises.reindex(curve["judge"].unique())
    least = float(np.nanmin([1 - curve["risk"].max(), promises["agreement"].min(), target]))
    figure, panel_of = _panels(curve, judges, "cases answered (%)", "agreement with the gold label (%)")
    for judge, axes in panel_of.items():
        _curve(axes, curve[curve["judge"] == judge])
        axes.axhline(target, color=COLOURS["human"], linewidth=1.0, zorder=1, gid="target")
        names = ("coverage", "agreement", "low", "high")
        coverage, agreement, low, high = (float(promises[name][judge]) for name in names)
        axes.vlines([coverage], [low], [high], color=COLOURS["gold"], linewidth=0.9, zorder=3, gid="promise-interval")
        axes.plot([coverage], [agreement], **_PROMISE, zorder=4, gid="promise")
        axes.set_xlim(0, 1.03)
        axes.set_ylim(floor := max(np.floor(10 * least - 1) / 10, 0.0), 1.02)
        if np.isnan(agreement):
            y = 0.04 if 1 - curve["risk"][curve["judge"] == judge].max() > floor + 0.12 else 0.6  # not over the curve
            axes.text(0.96, y, "nothing promised", transform=axes.transAxes, ha="right", fontsize=6, color="#777777")
    handles = [
        Line2D([], [], color=COLOURS["human"], linewidth=1.0, label=f"wanted: {percent(target)}%"),
        Line2D([], [], **_PROMISE, linewidth=0.9, label="promised"),
    ]
    figure.legend(handles=handles, loc="outside upper left", ncols=2)
    return figure


def _curve(axes: Axes, rows: pd.DataFrame) -> None:
    axes.fill_between(rows["coverage"], 1 - rows["risk_high"], 1 - rows["risk_low"], color=COLOURS["judge"],
                      alpha=0.15, linewidth=0, gid="band")  # fmt: skip
    axes.plot(rows["coverage"], 1 - rows["risk"], color=COLOURS["judge"], linewidth=0.9, marker="o", markersize=1.2,
              gid="values")  # fmt: skip
