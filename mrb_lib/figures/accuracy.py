"""Accuracy: all judges against the human level, by organ or department, and over cases or subfields."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import cast

import numpy as np
import pandas as pd
from matplotlib.colors import Normalize
from matplotlib.projections.polar import PolarAxes
from matplotlib.ticker import FuncFormatter
from numpy.typing import NDArray

from mrb_lib.figures.intervals import draw_estimates, judges_of, overall, panels, rows_of
from mrb_lib.figures.lettering import label, labels, paragraph, percent, title_case
from mrb_lib.figures.matrix import cell_texts, draw_matrix, scale_bar
from mrb_lib.figures.registry import figure
from mrb_lib.figures.style import (
    COLOURS,
    COLUMN,
    PAGE,
    SEQUENTIAL,
    SERIES,
    Paper,
    canvas,
    name_rows,
    panel_grid,
    percent_axis,
    rows_height,
    styled,
)

DECISIVE = "decisive accuracy"
HUMAN_LEVEL = "human\u2013human level"
FEWEST_SPOKES = 3
_HEATMAP = (
    "Accuracy (%) of every judge on {dimension} by {by}, with the 95% interval below it (percentiles of the "
    "cluster bootstrap; Student's t where clusters are few, Wilson's with the design effect where few cases decide). "
    "Hatched: no case scored."
)
_READ_HEATMAP = (
    "Compare along a row, and read the intervals: of many subfields some are low by chance alone. Worth a closer "
    "look is a subfield whose whole interval lies below the judge's accuracy over all cases."
)
_RADAR = (
    "Accuracy (%) on {dimension} by {by}: the judges with the highest decisive accuracy over all cases, at most six, a "
    "panel each with the band of the 95% intervals, the others in grey; a cross at the centre where it is undefined."
)
_READ_RADAR = (
    "A dent with a wide band may be chance. Whether two judges differ is not seen from their bands: they answer "
    "the same cases, and a paired test of their differences tells more."
)


@figure(
    "leaderboard",
    title="Leaderboard",
    caption=(
        "Accuracy of every judge against the annotators' majority, by dimension, with 95% intervals (percentiles of "
        "the cluster bootstrap; Student's t where clusters are few, Wilson's with the design effect where few cases "
        "decide); grouped by kind of judge and ordered by the decisive accuracy on {dimension}. Diamonds: decisive "
        "accuracy, on the cases where gold names a winner, a tie worth one half, both sides weighing alike: every "
        "constant has 50%. Grey, under the line: what constants and the longer response reach; they do not compete. "
        "Green: the human\u2013human level, the mean annotator against the majority of the others, with its interval."
    ),
    reading=(
        "A judge left of the grey rows is beaten by a rule that understands nothing, however it ranks. "
        "A judge whose interval lies left of the green band chooses as the majority does less often than the mean "
        "annotator. One whose interval reaches the band is not shown to be worse, which is not the same as shown to be "
        "as good: a wide interval reaches it easily. The band is a high bar: it leaves out the cases on which the "
        "other annotators are split. It is not drawn where that leaves fewer than 30 cases or under half; the figure "
        "of distances sets judges and annotators against the same labels."
    ),
    needs=("preferences", "annotations", "verdicts"),
)
def leaderboard(
    accuracy: pd.DataFrame,
    *,
    ceiling: pd.DataFrame | None = None,
    order_by: str = "overall",
    group: str | None = None,
) -> Paper:
    """Draw the accuracy of every judge on every dimension with its interval.

    Parameters
    ----------
    accuracy : judge, dimension, accuracy, low, high, as the table `accuracy` has them, and a `group` column if named;
        the rows of subfields are not drawn. With `kind`, references are drawn below the judges; with `rank` and
        `decisive_accuracy`, the judges are in that order, and that accuracy is drawn beside
    ceiling : dimension, accuracy, low, high, as the table `ceiling` has them: the rows of the annotator "mean", scored
        against the others' label, are drawn where they are `representative`; None draws none
    order_by : the dimension that orders the judges within their group

    Returns
    -------
    Figure
        Validated by tests/figures/test_values.py (what is drawn equals the frame).
    """
    human = None
    if ceiling is not None:
        human = overall(rows_of(ceiling, part="annotator", annotator="mean", representative=True))
    whole = overall(accuracy)
    return panels(
        rows_of(whole, kind="judge"),
        value="accuracy",
        below=rows_of(whole, kind="reference") if "kind" in whole.columns else None,
        beside="decisive_accuracy" if "decisive_accuracy" in whole.columns else None,
        beside_label=DECISIVE,
        axis_label="accuracy (%)",
        order_by=order_by,
        group=group,
        reference=None if human is None else human.rename(columns={"accuracy": "value"}),
        reference_label=HUMAN_LEVEL,
    )


def _by_subfield(accuracy: pd.DataFrame) -> pd.DataFrame:
    """A row a judge, from the best to the worst over all cases; the columns of the frame, each by subfield."""
    ordered = judges_of(accuracy)
    judges, parts = overall(ordered)["judge"], ordered[ordered["subfield"].notna()]
    wide = parts.pivot(index="judge", columns="subfield", values=["n", "accuracy", "low", "high"])
    return wide.reindex(judges).astype("float64")


@figure(
    "organs-heatmap",
    title="Accuracy by organ",
    caption=_HEATMAP,
    reading=_READ_HEATMAP,
    needs=("preferences", "annotations", "verdicts", "organ"),
)
@figure(
    "departments-heatmap",
    title="Accuracy by department",
    caption=_HEATMAP,
    reading=_READ_HEATMAP,
    needs=("preferences", "annotations", "verdicts", "department"),
)
@figure(
    "subfields-heatmap",
    title="Accuracy by subfield",
    caption=_HEATMAP,
    reading=_READ_HEATMAP,
    needs=("preferences", "annotations", "verdicts", "modality"),
)
@styled
def heatmap(accuracy: pd.DataFrame) -> Paper:
    """Draw the accuracy of every judge in every subfield, with its interval written below it.

    Parameters
    ----------
    accuracy : judge, subfield, n, accuracy, low, high for one dimension; judges are drawn from the best to the worst
        over all cases, subfields by name; a judge without a row over all cases is not drawn, a pair without a row is
        drawn as missing
    """
    wide = _by_subfield(accuracy)
    values, low, high = (wide[name].to_numpy() for name in ("accuracy", "low", "high"))
    figure = canvas(PAGE, rows_height(len(wide), 0.24, 1.6))
    axes = figure.subplots()
    names = labels(map(title_case, wide["n"].columns), 22)
    mesh = draw_matrix(
        axes,
        values,
        across=[f"{name}\n{_range(counts)}" for name, counts in zip(names, wide["n"].to_numpy().T, strict=True)],
        down=labels(wide.index, 28),
        colours=SEQUENTIAL,
        norm=colour_range(values),
        texts=cell_texts(values, low, high, between="\u2013"),
    )
    for i, judge in enumerate(wide.index):
        for j, subfield in enumerate(wide["n"].columns):
            figure.mark(axes, {"judge": str(judge), "subfield": str(subfield)}, (i, i + 1), (j, j + 1))
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


@figure(
    "organs-radar",
    title="Profiles of the best judges by organ",
    caption=_RADAR,
    reading=_READ_RADAR,
    needs=("preferences", "annotations", "verdicts", "organ"),
)
@figure(
    "departments-radar",
    title="Profiles of the best judges by department",
    caption=_RADAR,
    reading=_READ_RADAR,
    needs=("preferences", "annotations", "verdicts", "department"),
)
@styled
def radar(accuracy: pd.DataFrame) -> Paper:
    """Draw the best judges over the subfields, a panel each, the others behind it in grey.

    Parameters
    ----------
    accuracy : judge, subfield, n, accuracy, low, high for one dimension; at most six judges are drawn, from the best to
        the worst over all cases. The spokes are the subfields, by name

    Raises
    ------
    ValueError
        Fewer than three spokes.
    """
    wide = _by_subfield(accuracy).head(len(SERIES))
    judges, subfields = wide.index, wide["n"].columns.tolist()
    if len(subfields) < FEWEST_SPOKES:
        raise ValueError(f"a radar needs {FEWEST_SPOKES} subfields, not {len(subfields)}")
    values, low, high = (wide[name].to_numpy() for name in ("accuracy", "low", "high"))
    columns = min(_columns(subfields), len(judges))
    figure = canvas(COLUMN if columns == 1 else PAGE, ceil(len(judges) / columns) * {1: 3.2, 2: 2.35, 3: 2.2}[columns])
    spokes = np.linspace(0, 2 * np.pi, len(subfields), endpoint=False)
    panels = panel_grid(figure, len(judges), columns, shared=False, polar=True)
    for i, (axes, name) in enumerate(zip(panels, labels(judges, 30), strict=True)):
        _panel(cast(PolarAxes, axes), spokes, values, low[i], high[i], i)
        axes.set_title(name, pad=4)
        figure.mark(axes, {"judge": str(judges[i])})
        axes.set_xticks(spokes, [_spoke(text) for text in subfields])
        axes.tick_params(axis="x", pad=-1, labelsize=6)
        for tick, angle in zip(axes.get_xticklabels(), spokes, strict=True):
            side = np.sin(angle)
            tick.set_horizontalalignment("center" if abs(side) < 0.2 else "left" if side > 0 else "right")
    return figure


def _columns(subfields: Sequence[str]) -> int:
    """Three panels side by side where the names to the left and right of a radar are short, otherwise two."""
    sides = np.abs(np.sin(np.linspace(0, 2 * np.pi, len(subfields), endpoint=False))) > 0.5
    widest = max(len(word) for name, side in zip(subfields, sides, strict=True) if side for word in _words(name))
    return 3 if widest <= 9 else 2


def _words(name: str) -> list[str]:
    return label(title_case(name)).split()


def _spoke(name: str) -> str:
    """The name at the end of a spoke, on two lines where it has several words."""
    return paragraph(title_case(name), min(max(8, *map(len, _words(name))), 18), 2)


def _panel(
    axes: PolarAxes,
    spokes: NDArray[np.float64],
    values: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    i: int,
) -> None:
    """One judge: a closed line that breaks where a value is missing, and the band of its intervals."""
    axes.set_theta_zero_location("N")
    axes.set_theta_direction(-1)
    around = np.append(spokes, 2 * np.pi)
    closed = np.column_stack([values, values[:, :1]])
    for other in np.delete(closed, i, axis=0):
        axes.plot(around, other, color="#C8C8C8", linewidth=0.5, zorder=1)
    colour, marker = SERIES[i]
    start, end = np.append(low, low[0]), np.append(high, high[0])
    axes.fill_between(
        around, start, end, where=~np.isnan(start) & ~np.isnan(end), color=colour, alpha=0.22, linewidth=0, zorder=2
    )
    axes.plot(around, closed[i], color=colour, marker=marker, markersize=2.4, linewidth=1.1, zorder=3, gid="values")
    missing = spokes[np.isnan(values[i])]
    axes.plot(missing, np.full(missing.shape, 0.04), "x", color="#777777", markersize=3, gid="not-available")
    axes.set_ylim(0, 1)
    axes.set_yticks([0.25, 0.5, 0.75, 1.0])
    axes.set_rlabel_position(180 / len(spokes))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.0f}"))
    axes.tick_params(axis="y", labelsize=6, colors="#666666")
    axes.spines["polar"].set_color("#CCCCCC")
    axes.grid(visible=True, color="#DDDDDD", linewidth=0.4)


@figure(
    "organs-macro",
    title="Accuracy over cases and over organs",
    caption=(
        "Accuracy on {dimension} over all cases, and the unweighted mean of the accuracies of the organs "
        "({n_subfields} at most), each with its 95% interval: percentiles of the cluster bootstrap, or over all cases "
        "Student's t where clusters are few and Wilson's with the design effect where few cases decide."
    ),
    reading=(
        "A diamond left of its dot: the judge is better on the common organs than on the rare ones. Both are made of "
        "the same cases, so that overlapping intervals do not say that they are equal."
    ),
    needs=("preferences", "annotations", "verdicts", "organ"),
)
@styled
def macro_micro(accuracy: pd.DataFrame) -> Paper:
    """Draw the accuracy over all cases beside the mean over subfields, a row a judge.

    Parameters
    ----------
    accuracy : judge, accuracy, low, high, macro_accuracy, macro_accuracy_low, macro_accuracy_high of one dimension;
        judges are drawn from the best to the worst over all cases, the rows of subfields are not
    """
    rows = overall(judges_of(accuracy)).reset_index(drop=True)
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
