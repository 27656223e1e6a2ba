"""What a judge gains by answering only where it is sure, and what can be promised."""

from __future__ import annotations

from math import ceil

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator

from mrb_lib.plots.calibration import MOST_COLUMNS, trim
from mrb_lib.plots.intervals import overall, rows_of
from mrb_lib.plots.lettering import labels, percent
from mrb_lib.plots.registry import figure
from mrb_lib.plots.style import COLOURS, NOT_AVAILABLE, PAGE, Paper, canvas, styled

_MARK = "D"


@figure(
    "risk-coverage",
    title="Agreement against the share of cases answered",
    caption=(
        "Agreement with gold on the cases a judge is surest of; dimension {dimension}, with 95% intervals robust to "
        "clusters. Diamond: the threshold that promises {target} agreement at {confidence} confidence (fixed-sequence "
        "testing), as it does on cases it was not chosen on."
    ),
    reading=(
        "A curve that falls to the right: its confidence tells right from wrong. A flat one: it does not. The diamond "
        "stands at the share of such cases, with a decisive gold label, that may be left to the judge; where there is "
        "none, no threshold can be promised with these many cases. Each judge is promised by itself: of many, one in "
        "ten may be promised too much."
    ),
    needs=("preferences", "annotations", "verdicts"),
)
@styled
def risk_coverage(
    selective: pd.DataFrame, *, dimension: str | None = None, target: float = 0.9, delta: float = 0.1
) -> Paper:
    """Draw the agreement of each judge on the cases it is surest of, against the share of cases answered.

    Parameters
    ----------
    selective : rows of the table `selective`. Part "curve": judge, coverage, agreement, risk_low, risk_high; judges in
        the order of their first rows. Part "guarantee", method "fixed_sequence", overall: judge, delta, coverage,
        agreement, low, high; null where nothing can be promised, which the panel says.
    dimension : the one to draw; None where the table has one only
    target : the agreement wanted, as a line
    delta : the risk at which the guarantee that is drawn may fail

    Returns
    -------
    Figure
        Validated by tests/plots/test_selective.py.
    """
    curve = rows_of(selective, part="curve", dimension=dimension)
    guarantee = overall(rows_of(selective, part="guarantee", method="fixed_sequence", delta=delta, dimension=dimension))
    judges = list(dict.fromkeys(curve["judge"]))
    columns = min(max(len(judges), 1), MOST_COLUMNS)
    bands = ceil(max(len(judges), 1) / columns)
    side = min((PAGE - 0.5) / columns, 2.2)
    figure = canvas(max(columns * side + 0.5, 4.0), bands * (side + 0.3) + 0.55)
    grid = figure.subplots(bands, columns, sharex=True, sharey=True, squeeze=False)
    floor = _floor(curve, guarantee, target)
    promised = guarantee.drop_duplicates("judge").set_index("judge")
    for axes, name, title in zip(grid.flat, judges, labels(judges, 18 if columns > 4 else 26), strict=False):
        _curve(axes, curve[curve["judge"] == name], target, floor)
        if name in promised.index:
            _promise(axes, promised.loc[name])
        axes.set_title(title, fontsize=6.5)
    trim(list(grid.flat), len(judges), columns)
    figure.supxlabel("cases answered (%)", fontsize=7)
    figure.supylabel("agreement with gold (%)", fontsize=7)
    handles = [
        Line2D([], [], color=COLOURS["human"], linewidth=1.0, label=f"wanted: {percent(target)}%"),
        Line2D([], [], color=COLOURS["gold"], marker=_MARK, markersize=3.5, linewidth=0.9, label="promised, held out"),
    ]
    figure.legend(handles=handles, loc="outside upper left", ncols=2)
    return figure


def _floor(curve: pd.DataFrame, guarantee: pd.DataFrame, target: float) -> float:
    """The lowest agreement to show, rounded down to a tenth."""
    values = [1 - curve["risk"].to_numpy(dtype=float), guarantee["agreement"].to_numpy(dtype=float), np.array([target])]
    seen = np.concatenate(values)
    return float(max(np.floor(10 * np.nanmin(seen) - 1) / 10, 0.0))


def _curve(axes: Axes, rows: pd.DataFrame, target: float, floor: float) -> None:
    x, y, low, high = (rows[name].to_numpy(dtype=float) for name in ("coverage", "agreement", "risk_low", "risk_high"))
    order = np.argsort(x)
    x, y, low, high = x[order], y[order], 1 - high[order], 1 - low[order]
    axes.fill_between(x, low, high, color=COLOURS["judge"], alpha=0.15, linewidth=0, gid="band")
    axes.plot(x, y, color=COLOURS["judge"], linewidth=0.9, marker="o", markersize=1.2, gid="values")
    axes.axhline(target, color=COLOURS["human"], linewidth=1.0, zorder=1, gid="target")
    axes.set_xlim(0, 1.03)
    axes.set_ylim(floor, 1.02)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(nbins=4, steps=[1, 2, 2.5, 5, 10]))
        axis.set_major_formatter(FuncFormatter(lambda value, _: percent(value)))
    axes.grid(axis="both")


def _promise(axes: Axes, row: pd.Series) -> None:
    x, y, low, high = (float(row[name]) for name in ("coverage", "agreement", "low", "high"))
    if np.isnan(x) or np.isnan(y):
        axes.text(
            0.96,
            0.04,
            f"promise: {NOT_AVAILABLE}",
            transform=axes.transAxes,
            ha="right",
            va="bottom",
            fontsize=6,
            color="#777777",
            gid="not-available",
        )
        return
    if not np.isnan(low) and not np.isnan(high):
        axes.vlines([x], [low], [high], color=COLOURS["gold"], linewidth=0.9, zorder=3, gid="promise-interval")
    axes.plot([x], [y], _MARK, color=COLOURS["gold"], markersize=3.5, zorder=4, gid="promise")
