"""Adjudicated gold: how the leaderboard moves, and why judges fail in the reviewers' words."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.ticker import FuncFormatter, MaxNLocator

from mrb_lib.figures.intervals import draw_estimates, rows_of
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


@figure("adjudication-moves", table="gold_rules", parts=("rule",), shows="n_adjudicated", cases="wrong")
@styled
def moves(table: pd.DataFrame, *, dimension: str, judges: Sequence[str] = ()) -> Paper:
    """Draw the accuracy of each judge by the annotators' labels and by the reviewers', and the difference.

    Parameters
    ----------
    table : the rows of rule "adjudicated" are drawn; their labels that were reviewed, changed and removed are counted
        above
    judges : all judges from the first to the last
    """
    rows = in_order(rows_of(table, rule="adjudicated", dimension=dimension), judges)
    figure = canvas(PAGE, rows_height(len(rows), 0.17, 0.55) + 0.55)
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
    for i, judge in enumerate(rows["judge"]):
        figure.mark(left, {"judge": str(judge)}, (i - 0.5, i + 0.5))
    seen, changed, removed = (int(rows[f"n_{what}"].max()) for what in ("adjudicated", "changed", "removed"))
    left.set_title(f"labels reviewed: {seen:,}, changed: {changed:,}, removed: {removed:,}")
    left.set_xlabel("accuracy (%)")
    right.set_xlabel("difference (percentage points)")
    right.tick_params(axis="y", length=0)
    percent_axis(left.xaxis, 6)
    right.xaxis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10]))
    written = FuncFormatter(lambda value, _: (f"{100 * value:+.3g}" if value else "0").replace("-", "\u2212"))
    right.xaxis.set_major_formatter(written)
    left.grid(axis="both")
    right.grid(axis="both")
    figure.legend(loc="outside upper left", ncols=2)
    return figure


def in_order(rows: pd.DataFrame, judges: Sequence[str]) -> pd.DataFrame:
    """The rows in the order of the judges, those of others last."""
    place = {name: i for i, name in enumerate(judges)}
    return rows.sort_values("judge", key=lambda names: names.map(place), kind="stable", ignore_index=True)


def _write_ranks(axes: Axes, rows: pd.DataFrame, y: np.ndarray) -> None:
    """Beside each row the rank before and, where it changes, after."""
    style: dict[str, Any] = {"transform": axes.get_yaxis_transform(), "va": "center", "fontsize": 6, "clip_on": False}
    axes.text(1.02, -0.9, "rank", color="#555555", **style)
    for height, before, after in zip(y, rows["majority_rank"], rows["rank"], strict=True):
        if pd.notna(before) and pd.notna(after):
            text = str(before) if before == after else f"{before} \u2192 {after}"
            axes.text(1.02, height, text, gid="rank", **style)


@figure("adjudication-reasons", table="adjudication", parts=("reasons",), shows="share", is_main=True)
@styled
def reasons(table: pd.DataFrame, *, judges: Sequence[str] = ()) -> Paper:
    """Draw why judges fail: a row a judge, a column a reason; the share of the cases reviewed for that judge.

    Parameters
    ----------
    table : the `MOST_REASONS` commonest reasons are drawn
    judges : all judges from the first to the last
    """
    rows = in_order(table, judges)
    total = rows.groupby("reason_given", sort=False)["n"].sum()
    common = total.sort_values(ascending=False, kind="stable").index[:MOST_REASONS]
    wide = rows.astype({"n": "float64"}).pivot(index="judge", columns="reason_given", values=["share", "n"])
    wide = wide.reindex(rows["judge"].unique()).fillna(0.0)
    share, count = (wide[name][common].to_numpy(dtype=float) for name in ("share", "n"))
    reviewed = rows.groupby("judge")["n_cases"].first()
    down = [f"{name} ({reviewed[judge]})" for name, judge in zip(labels(wide.index, 28), wide.index, strict=True)]
    figure = canvas(PAGE, max(rows_height(len(wide), 0.19, 1.5), 2.3))
    axes = figure.subplots()
    mesh = draw_matrix(
        axes, share, across=[title_case(name) for name in labels(common, 30)], down=down, colours=SEQUENTIAL,
        norm=Normalize(0, share.max() or 1.0), texts=[[f"{n:.0f}" for n in row] for row in count],
    )  # fmt: skip
    axes.set_ylabel("judge (cases reviewed)")
    scale_bar(figure, mesh, axes, "share of the cases reviewed (%)", percent)
    return figure
