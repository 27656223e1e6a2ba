"""Accuracy: all judges against the human level, by organ or department, and over cases or subfields."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.colors import Normalize
from numpy.typing import NDArray

from mrb_lib.figures.intervals import draw_estimates, judges_of, overall, panels, rows_of
from mrb_lib.figures.lettering import label, labels, percent, title_case
from mrb_lib.figures.matrix import cell_texts, draw_matrix, scale_bar
from mrb_lib.figures.registry import figure
from mrb_lib.figures.style import (
    COLOURS,
    PAGE,
    SEQUENTIAL,
    Paper,
    canvas,
    name_rows,
    percent_axis,
    rows_height,
    styled,
)

_CONSTANTS = ("always tie", "always A", "always B", "most frequent label")  # as decisive as the best constant
_WITH_INTERVALS = 29  # judges: of more, a page has no room for two lines in a cell


@figure("leaderboard", table="accuracy", shows="accuracy", cases="wrong", is_main=True)
def leaderboard(accuracy: pd.DataFrame, *, judges: Sequence[str] = (), dimension: str = "") -> Paper:
    """Draw the quantity that ranks judges, with its interval, in a panel per dimension; naive baselines stand below.

    Parameters
    ----------
    accuracy : the table `accuracy`; rows of subfields are not drawn. It ranks by `decisive_accuracy`, and for ratings,
        which have none, by `accuracy`
    judges : all judges from the first to the last; empty orders them by rank on `dimension`
    """
    rows = overall(accuracy)
    decisive, below = bool(rows["decisive_accuracy"].notna().any()), rows_of(rows, kind="reference")
    return panels(
        rows_of(rows, kind="judge"),
        value="decisive_accuracy" if decisive else "accuracy",
        below=below[~(decisive & below["judge"].isin(_CONSTANTS))],
        axis_label="decisive accuracy (%)" if decisive else "accuracy (%)",
        order=judges,
        order_by=dimension,
        line_at=0.5 if decisive else None,
    )


def _by_subfield(accuracy: pd.DataFrame, order: Sequence[str]) -> pd.DataFrame:
    """A row per judge, from the best to the worst over all cases; the columns of the frame, each by subfield."""
    ranked = judges_of(accuracy)
    judges, parts = overall(ranked)["judge"].tolist(), ranked[ranked["subfield"].notna()]
    if len(order):
        judges = [judge for judge in order if judge in judges]
    wide = parts.pivot(index="judge", columns="subfield", values=["n", "accuracy", "low", "high"])
    return wide.reindex(judges).astype("float64")


@figure("subfields", table="accuracy", by=True, shows="accuracy", cases="wrong", is_main=True)
@styled
def subfields(accuracy: pd.DataFrame, *, dimension: str, by: str = "subfield", judges: Sequence[str] = ()) -> Paper:
    """Draw the accuracy of every judge in every subfield, with its interval written below it where there is room.

    Parameters
    ----------
    accuracy : the table `accuracy` by a column of the cases; references are not drawn, nor other dimensions
    by : what the subfields are
    judges : all judges from the first to the last; empty orders them by rank
    """
    wide = _by_subfield(accuracy[accuracy["dimension"] == dimension], judges)
    values, low, high = (wide[name].to_numpy() for name in ("accuracy", "low", "high"))
    is_roomy = len(wide) <= _WITH_INTERVALS
    figure = canvas(PAGE, rows_height(len(wide), 0.24 if is_roomy else 0.165, 1.6))
    axes = figure.subplots()
    names = labels(map(title_case, wide["n"].columns), 22)
    mesh = draw_matrix(
        axes,
        values,
        across=[f"{name}\n{_range(counts)}" for name, counts in zip(names, wide["n"].to_numpy().T, strict=True)],
        down=labels(wide.index, 28),
        colours=SEQUENTIAL,
        norm=colour_range(values),
        texts=cell_texts(values, *((low, high) if is_roomy else (np.full_like(low, np.nan),) * 2), between="\u2013"),
    )
    for i, judge in enumerate(wide.index):
        for j, subfield in enumerate(wide["n"].columns):
            figure.mark(axes, {"judge": str(judge), "subfield": str(subfield)}, (i, i + 1), (j, j + 1))
    axes.set_xlabel(label(title_case(by)))
    scale_bar(figure, mesh, axes, "accuracy (%)", percent)
    return figure


def _range(counts: NDArray[np.float64]) -> str:
    """How many cases stand behind a column; the smallest and the largest number where the judges differ."""
    scored = counts[~np.isnan(counts)].astype(int)
    if not scored.size:
        return "n = 0"
    few, many = scored.min(), scored.max()
    return f"n = {few:,}" if few == many else f"n = {few:,}\u2013{many:,}"


def colour_range(values: NDArray[np.float64]) -> Normalize:
    """The colour range: the values' own, widened to twentieths; it need not reach 0 or 1."""
    if np.isnan(values).all():
        return Normalize(0, 1)
    low, high = np.floor(np.nanmin(values) * 20) / 20, np.ceil(np.nanmax(values) * 20) / 20
    return Normalize(low, max(high, low + 0.05))


@figure("subfields-mean", table="accuracy", by=True, shows="macro_accuracy", cases="wrong")
@styled
def macro_micro(accuracy: pd.DataFrame, *, dimension: str) -> Paper:
    """Draw the accuracy over all cases beside the mean over subfields, a row per judge.

    Parameters
    ----------
    accuracy : the table `accuracy` by a column of the cases; rows of subfields, references and other dimensions are
        not drawn
    """
    rows = overall(judges_of(accuracy[accuracy["dimension"] == dimension])).reset_index(drop=True)
    figure = canvas(0.75 * PAGE, rows_height(len(rows), 0.19, 0.8))
    axes = figure.subplots()
    y = np.arange(len(rows))
    draw_estimates(axes, rows, y - 0.14, value="accuracy", size=3, label="over cases (micro)", gid="accuracy")
    draw_estimates(
        axes, rows, y + 0.14, value="macro_accuracy",
        colour=COLOURS["cases"], marker="D", size=3, label="mean over subfields (macro)", gid="macro_accuracy",
    )  # fmt: skip
    name_rows(axes, rows["judge"], 30)
    for i, judge in enumerate(rows["judge"]):
        figure.mark(axes, {"judge": judge}, (i - 0.5, i + 0.5))
    axes.set_xlabel("accuracy (%)")
    percent_axis(axes.xaxis)
    axes.grid(axis="both")
    figure.legend(loc="outside upper center", ncols=2)
    return figure
