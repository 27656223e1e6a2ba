"""What verdicts add to few labels: intervals beside the classical ones, and the labels they save."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator

from mrb_lib.plots.intervals import rows_of
from mrb_lib.plots.lettering import label, labels, percent
from mrb_lib.plots.registry import figure
from mrb_lib.plots.style import COLOURS, NOT_AVAILABLE, PAGE, SERIES, Paper, canvas, rows_height, styled

SHARE = 0.2
_MOST_JUDGES = 2
_ROW = 0.22
_OFFSET = 0.17


@figure(
    "ppi-win-rates",
    title="Win rates from a fifth of the labels, with and without verdicts",
    caption=(
        "What-if: win rate of each responder on {dimension} from a random 20% of the labelled clusters, alone (green) "
        "and with the verdicts of two judges (grey), with 95% intervals; the bar is the win rate from all labels. The "
        "two judges are those whose verdicts go best with all labels, which who has only a fifth cannot know. "
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
    ppi : rows of the table `ppi` of one dimension, of part "what_if" and the share `SHARE`: judge, responder (null for
        all together), estimate, low, high, classical_estimate, classical_low, classical_high, expected_label_saving
        and, where known, full_estimate; null where undefined
    responders : the rows, from top to bottom; None for the highest win rate from all labels first
    """
    ppi = rows_of(ppi, part="what_if", label_share=SHARE)
    together = ppi[ppi["responder"].isna()].sort_values("expected_label_saving", ascending=False, kind="stable")
    ppi = ppi[ppi["responder"].notna()]
    judges = together["judge"].tolist()[:_MOST_JUDGES] if len(together) else list(dict.fromkeys(ppi["judge"]))
    if responders is None:
        ordered = ppi.sort_values(["full_estimate", "responder"], ascending=[False, True], na_position="last")
        responders = list(dict.fromkeys(ordered["responder"]))
    figure = canvas(min(PAGE, 2.2 + 2.2 * max(len(judges), 1)), rows_height(len(responders), _ROW, 0.5) + 0.35)
    grid = figure.subplots(1, max(len(judges), 1), sharex=True, sharey=True, squeeze=False)
    at = {name: i for i, name in enumerate(responders)}
    for axes, judge in zip(grid.flat, judges, strict=False):
        rows = ppi[(ppi["judge"] == judge) & ppi["responder"].isin(list(at))]
        _intervals(axes, rows, at, "classical_", COLOURS["human"], -_OFFSET)
        _intervals(axes, rows, at, "", COLOURS["judge"], _OFFSET)
        full = rows["full_estimate"].to_numpy(dtype=float)
        axes.plot(
            full, rows["responder"].map(at).to_numpy(dtype=float), "|", color=COLOURS["gold"], markersize=9, gid="full"
        )
        axes.set_title(label(judge, 30))
        axes.set_yticks(range(len(at)), labels(at, 28))
        axes.set_ylim(len(at) - 0.4, -0.6)
        axes.set_xlim(-0.02, 1.02)
        axes.tick_params(axis="y", length=0)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=5))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: percent(value)))
        axes.grid(axis="x")
    figure.supxlabel("win rate by the clinicians (%)", fontsize=7)
    handles = [
        Line2D([], [], marker="o", markersize=3, color=COLOURS["human"], label="labels alone"),
        Line2D([], [], marker="o", markersize=3, color=COLOURS["judge"], label="labels and verdicts"),
    ]
    if ppi["full_estimate"].notna().any():
        handles.append(
            Line2D([], [], marker="|", markersize=8, linestyle="", color=COLOURS["gold"], label="from all labels")
        )
    figure.legend(handles=handles, loc="outside upper center", ncols=3)
    return figure


def _intervals(axes: Axes, rows: pd.DataFrame, at: dict[str, int], prefix: str, colour: str, shift: float) -> None:
    y = rows["responder"].map(at).to_numpy(dtype=float) + shift
    centre = rows["classical_estimate" if prefix else "estimate"].to_numpy(dtype=float)
    low, high = (rows[f"{prefix}{end}"].to_numpy(dtype=float) for end in ("low", "high"))
    known = np.isfinite(centre)
    bounded = known & np.isfinite(low) & np.isfinite(high)
    gid = "classical" if prefix else "estimates"
    axes.hlines(y[bounded], low[bounded], high[bounded], color=colour, linewidth=1.1, gid=f"{gid}-intervals")
    axes.plot(centre[known], y[known], "o", color=colour, markersize=2.8, gid=gid)
    for height in y[~known]:
        axes.text(
            0.5, height, NOT_AVAILABLE, ha="center", va="center", color="#777777", fontsize=6, gid="not-available"
        )


@figure(
    "ppi-label-saving",
    title="Labels that verdicts save",
    caption=(
        "Share of the labels on {dimension} that could be spared for the same precision, against the share of cases "
        "that are labelled, all responders together. Lines: expected from the correlation of verdicts and labels. "
        "Dots: one random subset."
    ),
    reading=(
        "Higher is better. A saving of 20% means that 80 labels with verdicts do what 100 do alone. Dots scatter "
        "around the lines and, where labels are few, tend to lie above them: few labels flatter a judge."
    ),
    needs=("preferences", "annotations", "verdicts"),
)
@styled
def label_saving(ppi: pd.DataFrame) -> Paper:
    """Draw the share of labels that each judge's verdicts save, against the share of cases that are labelled.

    Parameters
    ----------
    ppi : rows of the table `ppi` of one dimension, of part "what_if" and all responders together: judge, label_share,
        expected_label_saving, label_saving. Lines join what is expected; dots are one random subset. The six best are
        told apart.
    """
    ppi = rows_of(ppi, part="what_if")
    ppi = ppi[ppi["responder"].isna()] if "responder" in ppi.columns else ppi
    best = ppi.groupby("judge", sort=False)["expected_label_saving"].max().sort_values(ascending=False, kind="stable")
    figure = canvas(PAGE * 0.75, 3.0)
    axes = figure.subplots()
    told = list(best.dropna().index[: len(SERIES)])
    names = dict(zip(told, labels(told, 28), strict=True))
    for judge in reversed(list(best.index)):
        rows = ppi[ppi["judge"] == judge].sort_values("label_share")
        colour, marker = SERIES[told.index(judge)] if judge in names else ("#BBBBBB", "")
        x = rows["label_share"].to_numpy(dtype=float)
        expected, found = (rows[name].to_numpy(dtype=float) for name in ("expected_label_saving", "label_saving"))
        axes.plot(x, expected, color=colour, linewidth=1.1 if judge in names else 0.6, gid=f"expected {judge}")
        if judge in names:
            axes.plot(x, found, marker, color=colour, markersize=3.6, gid=f"found {judge}")
    handles = [
        Line2D([], [], color=SERIES[i][0], marker=SERIES[i][1], markersize=3.6, label=names[judge])
        for i, judge in enumerate(told)
    ]
    if len(best) > len(told):
        handles.append(Line2D([], [], color="#BBBBBB", linewidth=0.8, label=f"{len(best) - len(told)} other judges"))
    axes.axhline(0, color="#888888", linewidth=0.6)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: percent(value)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: percent(value)))
    axes.set_xlabel("cases that clinicians label (%)")
    axes.set_ylabel("labels saved (%)")
    axes.grid()
    if handles:
        figure.legend(handles=handles, loc="outside right center")
    return figure
