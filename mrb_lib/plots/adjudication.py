"""Adjudicated gold: how the leaderboard moves, how far reviewers agree, and why judges fail in their words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator

from mrb_lib.plots.intervals import panels, rows_of
from mrb_lib.plots.lettering import labels, percent, title_case
from mrb_lib.plots.matrix import draw_matrix, scale_bar
from mrb_lib.plots.registry import figure
from mrb_lib.plots.style import COLOURS, NOT_AVAILABLE, PAGE, SEQUENTIAL, Paper, canvas, rows_height, styled

MOST_REASONS = 12
MEASURES = {
    "percent_agreement": "Agreement of pairs",
    "krippendorff_alpha": "Krippendorff's alpha",
}
_LABELS = {"accuracy": ("annotators' labels", "gold", "o"), "adjudicated_accuracy": ("reviewers' labels", "human", "D")}


@figure(
    "adjudication-moves",
    title="The leaderboard by the labels of annotators and of reviewers",
    caption=(
        "Accuracy on {dimension} by the annotators' labels and by the labels as reviewers left them, and the "
        "difference with its 95% cluster-bootstrap interval (both from the same draws). Of the labels {n_adjudicated} "
        "were reviewed: {n_changed} became another label and {n_removed} none. {note}"
    ),
    reading=(
        "A judge right of zero was marked down by labels that reviewers found wrong. An interval that holds zero: the "
        "corrections do not tell the judge apart from one that they leave alone. The numbers at the right are the "
        "ranks, with an arrow where they change."
    ),
    needs=("preferences", "annotations", "verdicts"),
)
@styled
def moves(table: pd.DataFrame, *, dimension: str | None = None) -> Paper:
    """Draw the accuracy of each judge by the annotators' labels and by the reviewers', and the difference.

    Parameters
    ----------
    table : rows of the table `adjudication` of the part "leaderboard": judge, accuracy, adjudicated_accuracy,
        difference, difference_low, difference_high, rank, adjudicated_rank
    dimension : the one to draw; None where the table has one only
    """
    rows = rows_of(table, part="leaderboard", dimension=dimension)
    rows = rows.sort_values(["rank", "judge"], na_position="last").reset_index(drop=True)
    figure = canvas(PAGE, rows_height(len(rows), 0.175, 0.55) + 0.35)
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(5, 4))
    y = np.arange(len(rows), dtype=float)
    both = [rows[name].to_numpy(dtype=float) for name in _LABELS]
    left.hlines(y, *both, color=COLOURS["judge"], linewidth=0.8, gid="moves")
    for (name, (_, colour, marker)), value in zip(_LABELS.items(), both, strict=True):
        left.plot(value, y, color=COLOURS[colour], linestyle="none", gid=name, **_look(marker))
    _differences(right, rows, y)
    left.set_yticks(y, labels(rows["judge"], 28))
    left.set_ylim(len(rows) - 0.4, -0.6)
    left.set_xlabel("accuracy (%)")
    right.set_xlabel("difference (percentage points)")
    for axes in (left, right):
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="both")
        axes.xaxis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10]))
    left.xaxis.set_major_formatter(FuncFormatter(lambda value, _: percent(value)))
    right.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:+.3g}" if value else "0"))
    handles = [
        Line2D([], [], color=COLOURS[colour], linestyle="none", label=text, **_look(marker))
        for text, colour, marker in _LABELS.values()
    ]
    figure.legend(handles=handles, loc="outside lower right", ncols=2)
    return figure


def _look(marker: str) -> dict[str, Any]:
    """A circle around a smaller diamond, so that both are seen where nothing moves."""
    ring = marker == "o"
    look: dict[str, Any] = {"marker": marker, "markersize": 5.5 if ring else 2.8}
    return look | ({"markerfacecolor": "none", "markeredgewidth": 1.0} if ring else {})


def _differences(axes: Axes, rows: pd.DataFrame, y: np.ndarray) -> None:
    """The differences with their intervals, and at the right the rank before and after, where it changes."""
    value, low, high = (rows[name].to_numpy(dtype=float) for name in _NAMES)
    known = ~np.isnan(value)
    bounded = known & ~np.isnan(low) & ~np.isnan(high)
    axes.axvline(0, color="#888888", linewidth=0.6, linestyle=(0, (2, 2)), zorder=1)
    axes.hlines(y[bounded], low[bounded], high[bounded], color=COLOURS["judge"], linewidth=0.9, gid="intervals")
    axes.plot(value[known], y[known], "o", color=COLOURS["judge"], markersize=2.6, linestyle="none", gid="values")
    at = axes.get_yaxis_transform()
    for height in y[~known]:
        axes.text(0.5, height, NOT_AVAILABLE, transform=at, ha="center", va="center", color="#777777", fontsize=6)
    axes.text(1.02, -0.9, "rank", transform=at, ha="left", va="center", fontsize=6, color="#555555", clip_on=False)
    for height, before, after in zip(y, rows["rank"], rows["adjudicated_rank"], strict=True):
        if pd.notna(before) and pd.notna(after):
            text = str(before) if before == after else f"{before} \u2192 {after}"
            axes.text(1.02, height, text, transform=at, ha="left", va="center", fontsize=6, gid="rank", clip_on=False)


_NAMES = ("difference", "difference_low", "difference_high")


@figure(
    "adjudication-reviewers",
    title="Agreement between reviewers",
    caption=(
        "How often two reviewers of a label say the same of it (right, wrong, ambiguous, image unusable), and "
        "Krippendorff's alpha, both with 95% cluster-bootstrap intervals, on the cases that two or more reviewed. "
        "Marks of a whole case are the row all. {note}"
    ),
    reading=(
        "Most labels are found right, so that agreement is high by itself: alpha says how far it goes beyond chance. "
        "Where alpha is near zero, the reviewers do not correct the same labels, and the corrected labels are no "
        "better founded than the ones before."
    ),
    needs=("preferences", "annotations", "verdicts"),
)
def reviewers(table: pd.DataFrame) -> Paper:
    """Draw how far reviewers agree on what is wrong with the labels, a row a dimension, a panel a measure.

    Parameters
    ----------
    table : rows of `adjudication` of the part "reviewers": dimension, percent_agreement, krippendorff_alpha,
        krippendorff_alpha_low, krippendorff_alpha_high
    """
    table = rows_of(table, part="reviewers")
    parts = [
        table[["dimension"]].assign(
            measure=title,
            value=table[name].to_numpy(dtype=float),
            low=table[f"{name}_low"].to_numpy(dtype=float) if f"{name}_low" in table.columns else np.nan,
            high=table[f"{name}_high"].to_numpy(dtype=float) if f"{name}_high" in table.columns else np.nan,
        )
        for name, title in MEASURES.items()
    ]
    long = pd.concat(parts, ignore_index=True)
    return panels(
        long, value="value", low="low", high="high", axis_label="agreement (%); alpha (100 = perfect, 0 = chance)",
        rows="dimension", panel="measure", line_at=0.0,
    )  # fmt: skip


@figure(
    "adjudication-reasons",
    title="Reasons that reviewers give for a judge's failures",
    caption=(
        "Cases for which a reviewer gave the reason, over all dimensions, and their share of the cases reviewed for "
        "that judge (in brackets); a case may have several reasons, and an adjudication without one counts by what it "
        "found. The commonest reasons come first, at most twelve. {note}"
    ),
    reading=(
        "A column that stands out in one row is that judge's own weakness; one that is bright all the way down is what "
        "the cases make hard for every judge. With few cases reviewed, neighbouring shades do not differ."
    ),
    needs=("preferences", "annotations", "verdicts"),
)
@styled
def reasons(table: pd.DataFrame) -> Paper:
    """Draw why judges fail: a row a judge, a column a reason; the share of the cases reviewed for that judge.

    Parameters
    ----------
    table : rows of `adjudication` of the part "reasons": judge, reason_given, n, n_cases, share. The `MOST_REASONS`
        commonest reasons are drawn.
    """
    table = rows_of(table, part="reasons")
    total = table.groupby("reason_given", sort=False)["n"].sum()
    common = total.sort_values(ascending=False, kind="stable").index[:MOST_REASONS]
    judges = list(dict.fromkeys(table["judge"]))
    share = table.pivot(index="judge", columns="reason_given", values="share").reindex(index=judges, columns=common)
    count = table.pivot(index="judge", columns="reason_given", values="n").reindex(index=judges, columns=common)
    values = share.fillna(0.0).to_numpy(dtype=float)
    texts = [[str(int(n)) for n in row] for row in count.fillna(0).to_numpy(dtype=float)]
    reviewed = table.groupby("judge")["n_cases"].first()
    down = [f"{name} ({reviewed[judge]})" for name, judge in zip(labels(judges, 24), judges, strict=True)]
    figure = canvas(PAGE, max(rows_height(len(judges), 0.19, 1.5), 2.3))
    axes = figure.subplots()
    top = float(values.max()) if values.size else 1.0
    mesh = draw_matrix(
        axes, values, across=[title_case(name) for name in labels(common, 30)], down=down, colours=SEQUENTIAL,
        norm=Normalize(0, top or 1.0), texts=texts,
    )  # fmt: skip
    axes.set_ylabel("judge (cases reviewed)")
    scale_bar(figure, mesh, axes, "share of the cases reviewed (%)", percent)
    return figure
