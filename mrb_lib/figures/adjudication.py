"""Adjudicated gold: how the leaderboard moves, how far reviewers agree, and why judges fail in their words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.ticker import FuncFormatter, MaxNLocator

from mrb_lib.figures.intervals import draw_estimates, panels, rows_of, stacked
from mrb_lib.figures.lettering import labels, percent, title_case
from mrb_lib.figures.matrix import draw_matrix, scale_bar
from mrb_lib.figures.registry import figure
from mrb_lib.figures.style import (
    COLOURS,
    PAGE,
    SEQUENTIAL,
    Paper,
    canvas,
    draw_zero,
    name_rows,
    percent_axis,
    rows_height,
    styled,
)

MOST_REASONS = 12
MEASURES = {
    "percent_agreement": "Agreement of pairs",
    "krippendorff_alpha": "Krippendorff's alpha",
}


@figure(
    "adjudication-moves",
    title="The leaderboard by the labels of annotators and of reviewers",
    caption=(
        "Accuracy on {dimension} by the annotators' labels and by the labels as reviewers left them, and the "
        "difference with its 95% interval. Reviewers changed {n_changed} and removed {n_removed} of the "
        "{n_adjudicated} labels that they reviewed. {note}"
    ),
    reading=(
        "A judge right of zero gains from the corrections. If its interval includes zero, we cannot tell. The numbers "
        "at the right are the ranks by decisive accuracy, with an arrow where they change."
    ),
    needs=("preferences", "annotations", "verdicts"),
)
@styled
def moves(table: pd.DataFrame, *, dimension: str | None = None) -> Paper:
    """Draw the accuracy of each judge by the annotators' labels and by the reviewers', and the difference.

    Parameters
    ----------
    table : rows of the table `gold_rules` of the rule "adjudicated": judge, majority_accuracy, accuracy, difference,
        difference_low, difference_high, majority_rank, rank
    dimension : the one to draw; None where the table has one only
    """
    rows = rows_of(table, part="rule", rule="adjudicated", dimension=dimension)
    rows = rows.sort_values(["majority_rank", "judge"], na_position="last").reset_index(drop=True)
    figure = canvas(PAGE, rows_height(len(rows), 0.175, 0.55) + 0.35)
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(5, 4))
    y = np.arange(len(rows), dtype=float)
    left.hlines(y, rows["majority_accuracy"], rows["accuracy"], color=COLOURS["judge"], linewidth=0.8, gid="moves")
    # A ring around a smaller diamond, so that both are seen where nothing moves.
    left.plot(rows["majority_accuracy"], y, "o", color=COLOURS["gold"], markersize=5.5, markerfacecolor="none",
              markeredgewidth=1.0, label="annotators' labels", gid="majority_accuracy")  # fmt: skip
    left.plot(rows["accuracy"], y, "D", color=COLOURS["human"], markersize=2.8, label="reviewers' labels",
              gid="accuracy")  # fmt: skip
    draw_zero(right)
    draw_estimates(right, rows, y, value="difference")
    _write_ranks(right, rows, y)
    name_rows(left, rows["judge"], 28)
    left.set_xlabel("accuracy (%)")
    right.set_xlabel("difference (percentage points)")
    right.tick_params(axis="y", length=0)
    percent_axis(left.xaxis, 6)
    right.xaxis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10]))
    right.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:+.3g}" if value else "0"))
    left.grid(axis="both")
    right.grid(axis="both")
    figure.legend(loc="outside lower right", ncols=2)
    return figure


def _write_ranks(axes: Axes, rows: pd.DataFrame, y: np.ndarray) -> None:
    """Beside each row the rank before and, where it changes, after."""
    style: dict[str, Any] = {"transform": axes.get_yaxis_transform(), "va": "center", "fontsize": 6, "clip_on": False}
    axes.text(1.02, -0.9, "rank", color="#555555", **style)
    for height, before, after in zip(y, rows["majority_rank"], rows["rank"], strict=True):
        if pd.notna(before) and pd.notna(after):
            text = str(before) if before == after else f"{before} \u2192 {after}"
            axes.text(1.02, height, text, gid="rank", **style)


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
    return panels(
        stacked(rows_of(table, part="reviewers"), MEASURES, rows="dimension"),
        value="value",
        axis_label="agreement (%); alpha (100 = perfect, 0 = chance)",
        rows="dimension",
        panel="measure",
        line_at=0.0,
    )


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
