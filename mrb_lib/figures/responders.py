"""Responders by annotators and by judges: strengths, rankings, and what verdicts add to few labels."""

from collections.abc import Sequence
from math import ceil

import numpy as np
import pandas as pd
from matplotlib.ticker import LogLocator, NullFormatter

from mrb_lib.figures.intervals import draw_estimates, panels, rows_of
from mrb_lib.figures.lettering import label
from mrb_lib.figures.registry import figure
from mrb_lib.figures.style import COLOURS, PAGE, Paper, canvas, name_rows, panel_grid, percent_axis, rows_height, styled

_MOST_COLUMNS = 6
_MOST_PANELS = 24
_MOST_JUDGES = 2
_WIDE = 30
"""How many times the least strength the largest must be for ticks at tens alone."""


@figure("responder-strengths", table="ranking", parts=("strength",), shows="strength")
@styled
def strengths(table: pd.DataFrame, *, dimension: str, judges: Sequence[str]) -> Paper:
    """Draw every responder's strength by each judge, a panel a judge, beside that by the gold labels.

    Parameters
    ----------
    table : rows of the table `ranking`; strengths by the gold labels order the responders
    judges : all judges in the order of the report

    Returns
    -------
    Figure
        The axis is logarithmic: equal distances are equal odds.
    """
    rows = rows_of(table, part="strength", dimension=dimension)
    gold = rows_of(rows, source="gold").sort_values(["strength", "responder"], ascending=[False, True])
    named, heights = set(rows["judge"].dropna()), {responder: i for i, responder in enumerate(gold["responder"])}
    drawn = [judge for judge in judges if judge in named][:_MOST_PANELS]
    shown: list[str | None] = [*drawn] or [None]
    columns = min(len(shown), _MOST_COLUMNS if len(shown) > 4 else 2)
    height = ceil(len(shown) / columns) * rows_height(len(heights), 0.115, 0.32) + 0.55
    figure = canvas(PAGE if columns > 1 else 4.5, height)
    span = _span(rows[rows["source"].eq("gold") | rows["judge"].isin(shown)])
    for axes, judge in zip(panel_grid(figure, len(shown), columns), shown, strict=True):
        y = gold["responder"].map(heights).to_numpy(dtype=float) - 0.2
        draw_estimates(axes, gold, y, value="strength", colour=COLOURS["human"], size=2.2, label="annotators",
                       gid="annotators")  # fmt: skip
        if judge is not None:
            own = rows[rows["judge"] == judge]
            y = own["responder"].map(heights).to_numpy(dtype=float) + 0.2
            draw_estimates(axes, own, y, value="strength", size=2.2, label="judge", gid="judge")
            axes.set_title(label(judge, 20 if columns > 2 else 40), fontsize=6.5)
        name_rows(axes, heights, 24)
        axes.tick_params(axis="y", labelsize=6)
        axes.set_xscale("log")
        axes.set_xlim(*span)
        ticks = [1.0] if columns > 2 else [1.0, 3.0]
        axes.xaxis.set_major_locator(LogLocator(base=10, subs=ticks if span[1] > _WIDE * span[0] else [1.0, 3.0]))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_locator(LogLocator(base=10, numticks=20))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.grid(axis="both", which="both")
    figure.supxlabel("Bradley\u2013Terry strength (sums to 1; logarithmic)", fontsize=7)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower right", ncols=2)
    return figure


def _span(rows: pd.DataFrame) -> tuple[float, float]:
    """The range of all strengths and intervals, but not of an interval that falls below a hundredth of the least."""
    values = rows[["strength", "low", "high"]].to_numpy(dtype=float)
    values = values[values > np.nanmin(values[:, 0], initial=1.0) / 100]
    return (float(values.min() / 1.25), float(values.max() * 1.25)) if values.size else (0.01, 1.0)


@figure("rank-agreement", table="ranking", parts=("agreement",), shows="kendall", is_main=True)
def rank_agreement(table: pd.DataFrame, *, judges: Sequence[str]) -> Paper:
    """Draw Kendall's tau between the annotators' ranking of the responders and each judge's, a panel a dimension.

    Parameters
    ----------
    table : rows of the table `ranking`; those of the gold labels are drawn
    judges : all judges in the order of the report
    """
    return panels(
        rows_of(table, part="agreement", source="gold"),
        value="kendall",
        axis_label="Kendall\u2019s tau with the annotators\u2019 ranking",
        order=judges,
        line_at=0.0,
        limits=(-1.05, 1.05),
        in_percent=False,
    )


@figure("ppi-win-rates", table="ppi", parts=("what_if",), shows="estimate", is_main=True)
@styled
def win_rates(table: pd.DataFrame, *, dimension: str) -> Paper:
    """Draw every responder's win rate with and without the help of the two judges that help most, a panel a judge.

    Parameters
    ----------
    table : rows of the table `ppi`; the highest win rate from all labels is first
    """
    rows = rows_of(table, part="what_if", dimension=dimension)
    best = rows[rows["responder"].isna()].sort_values("expected_label_saving", ascending=False, kind="stable")
    judges = best["judge"].tolist()[:_MOST_JUDGES]
    rows = rows.dropna(subset="responder").sort_values(["full_estimate", "responder"], ascending=[False, True])
    heights = {responder: i for i, responder in enumerate(dict.fromkeys(rows["responder"]))}
    figure = canvas(min(PAGE, 2.2 + 2.2 * len(judges)), rows_height(len(heights), 0.22, 0.85))
    for axes, judge in zip(panel_grid(figure, len(judges), len(judges)), judges, strict=True):
        own = rows[rows["judge"] == judge]
        y = own["responder"].map(heights).to_numpy(dtype=float)
        draw_estimates(
            axes, own, y - 0.17, value="classical_estimate", low="classical_low", high="classical_high",
            colour=COLOURS["human"], size=2.8, label="labels alone", gid="classical",
        )  # fmt: skip
        draw_estimates(axes, own, y + 0.17, value="estimate", size=2.8, label="labels and verdicts", gid="estimates")
        axes.plot(own["full_estimate"], y, "|", color=COLOURS["gold"], markersize=9, label="all labels", gid="full")
        axes.set_title(label(judge, 30))
        name_rows(axes, heights, 28)
        axes.set_xlim(-0.02, 1.02)
        axes.set_xlabel("win rate by the annotators (%)")
        percent_axis(axes.xaxis, 5)
        axes.grid(axis="x")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure
