"""Strengths of responders by clinicians and by judges, and how far their rankings agree."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from mrb_lib.plots.intervals import panels
from mrb_lib.plots.lettering import label, labels
from mrb_lib.plots.style import COLOURS, NOT_AVAILABLE, PAGE, Paper, canvas, rows_height, styled

_MOST_COLUMNS = 6
_ROW = 0.115
_OFFSET = 0.2
_DECADE_AND_A_HALF = 30


@styled
def strengths(ranking: pd.DataFrame, *, judges: Sequence[str], clinicians: str = "gold") -> Paper:
    """Draw every responder's strength by each judge, a panel a judge, beside that by the clinicians.

    Parameters
    ----------
    ranking : the rows "strength" of one dimension: source, judge, responder, strength, low, high; null where undefined
    judges : the panels, in this order
    clinicians : the source drawn in every panel, "gold" or "annotations"; its strengths order the responders

    Returns
    -------
    Figure
        The axis is logarithmic: equal distances are equal odds.
    """
    base = ranking[ranking["source"] == clinicians]
    names = base.sort_values(["strength", "responder"], ascending=[False, True], na_position="last")["responder"]
    at = {name: i for i, name in enumerate(names)}
    columns = min(max(len(judges), 1), _MOST_COLUMNS if len(judges) > 4 else 2)
    bands = ceil(max(len(judges), 1) / columns)
    figure = canvas(PAGE if columns > 1 else 4.5, bands * rows_height(len(at), _ROW, 0.32) + 0.55)
    grid = figure.subplots(bands, columns, sharex=True, sharey=True, squeeze=False)
    shown = ranking[ranking["source"].eq(clinicians) | ranking["judge"].isin(list(judges))]
    span = _span(shown)
    for axes, judge in zip(grid.flat, judges or [""], strict=False):
        _points(axes, base, at, COLOURS["human"], -_OFFSET, "clinicians")
        _points(axes, ranking[ranking["judge"] == judge], at, COLOURS["judge"], _OFFSET, "judge")
        axes.set_title(label(judge, 20 if columns > 2 else 40) if judge else "", fontsize=6.5)
        _rule(axes, list(at), span, columns)
    for axes in list(grid.flat)[max(len(judges), 1) :]:
        axes.set_axis_off()
    figure.supxlabel("Bradley\u2013Terry strength (sums to 1; logarithmic)", fontsize=7)
    handles = [
        Line2D([], [], marker="o", markersize=3, color=COLOURS[kind], label=text)
        for kind, text in (("human", "clinicians"), ("judge", "judge"))
    ]
    figure.legend(handles=handles if judges else handles[:1], loc="outside lower right", ncols=2)
    return figure


def rank_agreement(ranking: pd.DataFrame, *, order_by: str = "overall") -> Paper:
    """Draw Kendall's tau between the clinicians' ranking of the responders and each judge's, a panel a dimension.

    Parameters
    ----------
    ranking : the rows "agreement" of one source: judge, dimension, kendall, kendall_low, kendall_high
    """
    return panels(
        ranking,
        value="kendall",
        low="kendall_low",
        high="kendall_high",
        axis_label="Kendall\u2019s tau with the clinicians\u2019 ranking, times 100",
        order_by=order_by,
        line_at=0.0,
        limits=(-1.05, 1.05),
    )


def _span(ranking: pd.DataFrame) -> tuple[float, float]:
    """The range of all strengths and intervals, but not of an interval that falls below a hundredth of the least."""
    values = ranking["strength"].to_numpy(dtype=float)
    values = values[np.isfinite(values) & (values > 0)]
    if not values.size:
        return 0.01, 1.0
    ends = ranking[["low", "high"]].to_numpy(dtype=float)
    ends = ends[np.isfinite(ends) & (ends > values.min() / 100)]
    everything = np.concatenate([values, ends])
    return float(everything.min() / 1.25), float(everything.max() * 1.25)


def _points(axes: Axes, rows: pd.DataFrame, at: dict[str, int], colour: str, shift: float, gid: str) -> None:
    y = rows["responder"].map(at).to_numpy(dtype=float) + shift
    x, low, high = (rows[name].to_numpy(dtype=float) for name in ("strength", "low", "high"))
    known = np.isfinite(x)
    bounded = known & np.isfinite(low) & np.isfinite(high)
    axes.hlines(y[bounded], low[bounded], high[bounded], color=colour, linewidth=0.9, gid=f"{gid}-intervals")
    axes.plot(x[known], y[known], "o", color=colour, markersize=2.2, gid=gid)
    for height in y[~known]:
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


def _rule(axes: Axes, names: Sequence[str], span: tuple[float, float], columns: int) -> None:
    axes.set_xscale("log")
    axes.set_xlim(*span)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_yticks(range(len(names)), labels(names, 24))
    axes.tick_params(axis="y", length=0, labelsize=6)
    wide = span[1] > _DECADE_AND_A_HALF * span[0]
    between = ((1.0,) if wide else (1.0, 3.0)) if columns > 2 else (1.0, 3.0) if wide else (1.0, 2.0, 5.0)
    axes.xaxis.set_major_locator(LogLocator(base=10, subs=between))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.grid(axis="both")
