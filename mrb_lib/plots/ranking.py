"""Strengths of responders by clinicians and by judges, and how far their rankings agree."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from mrb_lib.plots.intervals import panels, rows_of
from mrb_lib.plots.lettering import label, labels
from mrb_lib.plots.registry import figure
from mrb_lib.plots.style import COLOURS, NOT_AVAILABLE, PAGE, Paper, canvas, rows_height, styled

_MOST_COLUMNS = 6
_ROW = 0.115
_OFFSET = 0.2
_DECADE_AND_A_HALF = 30


@figure(
    "responder-strengths",
    title="Strength of the responders by clinicians and judges",
    caption=(
        "Bradley-Terry strengths on {dimension} from the gold labels (green) and from each judge (grey), with 95% "
        "cluster-bootstrap intervals; responders ordered by the labels, judges by Kendall's tau with them."
    ),
    reading=(
        "A judge whose points follow the green ones from top to bottom ranks as the clinicians do. Points that are "
        "squeezed together belong to a judge that tells the responders apart less than clinicians do; a single point "
        "far off, to a responder it favours or slights. Intervals are for one responder each."
    ),
    needs=("preferences", "annotations", "verdicts"),
)
@styled
def strengths(
    ranking: pd.DataFrame,
    *,
    dimension: str | None = None,
    judges: Sequence[str] | None = None,
    clinicians: str = "gold",
) -> Paper:
    """Draw every responder's strength by each judge, a panel a judge, beside that by the clinicians.

    Parameters
    ----------
    ranking : rows of the table `ranking`. Part "strength": source, judge, responder, strength, low, high; null where
        undefined. Part "agreement": source, judge, kendall, which orders the judges.
    dimension : the one to draw; None where the table has one only
    judges : the panels, in this order; None for all from the best agreement to the worst
    clinicians : the source drawn in every panel, "gold" or "annotations"; its strengths order the responders

    Returns
    -------
    Figure
        The axis is logarithmic: equal distances are equal odds.
    """
    agreement = rows_of(ranking, part="agreement", source=clinicians, dimension=dimension)
    ranking = rows_of(ranking, part="strength", dimension=dimension)
    if judges is None:
        judges = agreement.sort_values(["kendall", "judge"], ascending=[False, True])["judge"].tolist()
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


@figure(
    "rank-agreement",
    title="Agreement of the rankings with the clinicians'",
    caption=(
        "Kendall's tau-b between the ranking of the responders by the gold labels and by each judge, by dimension, "
        "with intervals that hold the truth with at least 95%; judges ordered by {dimension}."
    ),
    reading=(
        "100: the same ranking; 0: unrelated; below: reversed. An interval that reaches below the dashed line does not "
        "say that the judge is useless: it says that too few pairs of responders can be told apart for more. The point "
        "is too low on average, because both rankings hold noise."
    ),
    needs=("preferences", "annotations", "verdicts"),
)
def rank_agreement(ranking: pd.DataFrame, *, order_by: str = "overall", clinicians: str = "gold") -> Paper:
    """Draw Kendall's tau between the clinicians' ranking of the responders and each judge's, a panel a dimension.

    Parameters
    ----------
    ranking : source, judge, dimension, kendall, kendall_low, kendall_high: the rows of part "agreement" of the table
        `ranking`
    clinicians : the source to compare with, "gold" or "annotations"
    """
    return panels(
        rows_of(ranking, part="agreement", source=clinicians),
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
