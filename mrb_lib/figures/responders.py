"""Responders by annotators and by judges: strengths, rankings, and what verdicts add to few labels."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullLocator

from mrb_lib.figures.intervals import draw_estimates, panels, rows_of
from mrb_lib.figures.lettering import label
from mrb_lib.figures.registry import figure
from mrb_lib.figures.style import (
    COLOURS,
    PAGE,
    Paper,
    canvas,
    name_rows,
    panel_grid,
    percent_axis,
    rows_height,
    styled,
)

_MOST_COLUMNS = 6
_ROW = 0.115
_OFFSET = 0.2
_DECADE_AND_A_HALF = 30
_MOST_JUDGES = 2
_RATE_ROW = 0.22
_RATE_OFFSET = 0.17


@figure(
    "responder-strengths",
    title="Strength of the responders by annotators and judges",
    caption=(
        "Bradley-Terry strengths on {dimension} from the gold labels (green) and from each judge (grey), with 95% "
        "intervals; responders ordered by the labels, judges by Kendall's tau with them."
    ),
    reading=(
        "A judge whose points follow the green ones from top to bottom ranks as the annotators do. Points that are "
        "squeezed together belong to a judge that tells the responders apart less than the annotators do; a single "
        "point far off, to a responder it favours or slights. Intervals are for one responder each."
    ),
    needs=("preferences", "annotations", "verdicts"),
)
@styled
def strengths(ranking: pd.DataFrame, *, dimension: str | None = None) -> Paper:
    """Draw every responder's strength by each judge, a panel a judge, beside that by the gold labels.

    Parameters
    ----------
    ranking : rows of the table `ranking`. Part "strength": source, judge, responder, strength, low, high; null where
        undefined; those by the gold labels order the responders. Part "agreement": source, judge, kendall, which
        orders the judges.
    dimension : the one to draw; None where the table has one only

    Returns
    -------
    Figure
        The axis is logarithmic: equal distances are equal odds.
    """
    agreement = rows_of(ranking, part="agreement", source="gold", dimension=dimension)
    ranking = rows_of(ranking, part="strength", dimension=dimension)
    judges = agreement.sort_values(["kendall", "judge"], ascending=[False, True])["judge"].tolist()
    base = ranking[ranking["source"] == "gold"]
    order = base.sort_values(["strength", "responder"], ascending=[False, True], na_position="last")["responder"]
    heights = {responder: i for i, responder in enumerate(order)}
    columns = min(max(len(judges), 1), _MOST_COLUMNS if len(judges) > 4 else 2)
    bands = ceil(max(len(judges), 1) / columns)
    figure = canvas(PAGE if columns > 1 else 4.5, bands * rows_height(len(heights), _ROW, 0.32) + 0.55)
    span = _span(ranking[ranking["source"].eq("gold") | ranking["judge"].isin(judges)])
    for axes, judge in zip(panel_grid(figure, max(len(judges), 1), columns), judges or [None], strict=True):
        y = base["responder"].map(heights).to_numpy(dtype=float) - _OFFSET
        draw_estimates(axes, base, y, value="strength", colour=COLOURS["human"], size=2.2, label="annotators",
                       gid="annotators")  # fmt: skip
        if judge is not None:
            own = ranking[ranking["judge"] == judge]
            y = own["responder"].map(heights).to_numpy(dtype=float) + _OFFSET
            draw_estimates(axes, own, y, value="strength", size=2.2, label="judge", gid="judge")
            axes.set_title(label(judge, 20 if columns > 2 else 40), fontsize=6.5)
        name_rows(axes, heights, 24)
        axes.tick_params(axis="y", labelsize=6)
        _strength_axis(axes, span, columns)
        axes.grid(axis="both")
    figure.supxlabel("Bradley\u2013Terry strength (sums to 1; logarithmic)", fontsize=7)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower right", ncols=2)
    return figure


@figure(
    "rank-agreement",
    title="Agreement of the rankings with the annotators'",
    caption=(
        "Kendall's tau-b between the ranking of the responders by the gold labels and by each judge, by dimension, "
        "with 95% intervals of the tau of the true strengths; judges ordered by {dimension}."
    ),
    reading=(
        "100: the same ranking; 0: unrelated; below: reversed. An interval that reaches below the dashed line does not "
        "say that the judge is useless: it may say that too little is known. The point holds the noise of both "
        "rankings, which the interval takes off, so that it need not lie in the middle."
    ),
    needs=("preferences", "annotations", "verdicts"),
)
def rank_agreement(ranking: pd.DataFrame, *, order_by: str = "overall") -> Paper:
    """Draw Kendall's tau between the annotators' ranking of the responders and each judge's, a panel a dimension.

    Parameters
    ----------
    ranking : source, judge, dimension, kendall, kendall_low, kendall_high: the rows of part "agreement" of the table
        `ranking`; those with the gold labels are drawn
    """
    return panels(
        rows_of(ranking, part="agreement", source="gold"),
        value="kendall",
        axis_label="Kendall\u2019s tau with the annotators\u2019 ranking, times 100",
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


def _strength_axis(axes: Axes, span: tuple[float, float], columns: int) -> None:
    """A logarithmic axis with as many ticks as there is room for."""
    axes.set_xscale("log")
    axes.set_xlim(*span)
    wide = span[1] > _DECADE_AND_A_HALF * span[0]
    between = ((1.0,) if wide else (1.0, 3.0)) if columns > 2 else (1.0, 3.0) if wide else (1.0, 2.0, 5.0)
    axes.xaxis.set_major_locator(LogLocator(base=10, subs=between))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_locator(NullLocator())


@figure(
    "ppi-win-rates",
    title="Win rates from a fifth of the labels, with and without verdicts",
    caption=(
        "What-if: win rate of each responder on {dimension} from a random 20% of the labelled clusters, alone (green) "
        "and with the verdicts of two judges (grey), with 95% intervals; the bar is the win rate from all labels. The "
        "two judges are those whose verdicts agree best with all labels; with only a fifth one would not know which. "
        "Undecided: {n_undecided} of the {n_cases} cases kept."
    ),
    reading=(
        "A grey interval shorter than the green one above it shows what the verdicts add. Both should hold the bar 19 "
        "times in 20; a bar outside is chance as often as that, not the judge's fault. Equal lengths: the judge's "
        "verdicts say too little about the labels to help."
    ),
    needs=("preferences", "annotations", "verdicts"),
)
@styled
def win_rates(ppi: pd.DataFrame, *, responders: Sequence[str] | None = None) -> Paper:
    """Draw every responder's win rate with and without the help of the two judges that help most, a panel a judge.

    Parameters
    ----------
    ppi : rows of the table `ppi` of one dimension, of part "what_if": judge, responder (null for
        all together), estimate, low, high, classical_estimate, classical_low, classical_high, expected_label_saving
        and, where all cases are labelled, full_estimate; null where undefined
    responders : the rows, from top to bottom; None for the highest win rate from all labels first
    """
    ppi = rows_of(ppi, part="what_if")
    together = ppi[ppi["responder"].isna()].sort_values("expected_label_saving", ascending=False, kind="stable")
    ppi = ppi[ppi["responder"].notna()]
    judges = together["judge"].tolist()[:_MOST_JUDGES] if len(together) else list(dict.fromkeys(ppi["judge"]))
    if responders is None:
        ordered = ppi.sort_values(["full_estimate", "responder"], ascending=[False, True], na_position="last")
        responders = list(dict.fromkeys(ordered["responder"]))
    heights = {responder: i for i, responder in enumerate(responders)}
    figure = canvas(min(PAGE, 2.2 + 2.2 * max(len(judges), 1)), rows_height(len(heights), _RATE_ROW, 0.5) + 0.35)
    for axes, judge in zip(panel_grid(figure, len(judges), max(len(judges), 1)), judges, strict=True):
        rows = ppi[(ppi["judge"] == judge) & ppi["responder"].isin(responders)]
        y = rows["responder"].map(heights).to_numpy(dtype=float)
        draw_estimates(
            axes, rows, y - _RATE_OFFSET, value="classical_estimate", low="classical_low", high="classical_high",
            colour=COLOURS["human"], size=2.8, label="labels alone", gid="classical",
        )  # fmt: skip
        draw_estimates(axes, rows, y + _RATE_OFFSET, value="estimate", size=2.8, label="labels and verdicts",
                       gid="estimates")  # fmt: skip
        text = "from all labels" if rows["full_estimate"].notna().any() else None
        axes.plot(rows["full_estimate"], y, "|", color=COLOURS["gold"], markersize=9, label=text, gid="full")
        axes.set_title(label(judge, 30))
        name_rows(axes, heights, 28)
        axes.set_xlim(-0.02, 1.02)
        percent_axis(axes.xaxis, 5)
        axes.grid(axis="x")
    figure.supxlabel("win rate by the annotators (%)", fontsize=7)
    if judges:
        figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure
