"""Training: its curves, what it changed, how accuracy grows with cases, and where it holds."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from mrb_lib.figures.accuracy import colour_range
from mrb_lib.figures.intervals import draw_estimates, overall, panels, rows_of
from mrb_lib.figures.lettering import label, labels, percent, title_case
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
    draw_zero,
    name_rows,
    panel_grid,
    percent_axis,
    rows_height,
    styled,
    write_mark,
    write_missing,
)

_NEEDS: Final = ("preferences", "annotations")
QUANTITIES: Final = {
    "accuracy": "Accuracy",
    "consistency": "Order consistency",
    "first_rate": "Chose the first",
    "brier": "Brier score",
    "longer_rate": "Chose the longer",
}
_CURVES: Final = {
    "loss": "loss",
    "accuracy": "validation accuracy (%)",
    "consistency": "order consistency (%)",
}
_ROW: Final = 0.2
_NEITHER: Final = 0.5
_BAND: Final = 0.15
_TOP: Final = 1.01


@figure(
    "training-curves",
    title="Training, step by step",
    caption=(
        "{note} Loss (mean over the steps since the evaluation before), and accuracy and order consistency on the "
        "validation cases, by step; step 0 is before training. A dashed line begins a later stage. At most six judges."
    ),
    reading=(
        "The weights that are kept are those of the highest validation accuracy, so that this point flatters: what "
        "training gained is read off unseen cases. A loss that falls while accuracy does not is learning by heart."
    ),
    needs=_NEEDS,
)
@styled
def training_curves(curves: pd.DataFrame, *, mark: str = "") -> Paper:
    """Draw loss, validation accuracy and order consistency by step, a line a judge.

    Parameters
    ----------
    curves : see `mrb_lib.verdicts.training.training_curves`: judge, stage, step, loss, accuracy, consistency; null
        where a step did not measure it. At most as many judges as there are `SERIES`. A later stage goes on where the
        one before ended, behind a dashed line.
    mark : words for the figure's face, in the colour of warnings
    """
    shown = [name for name in _CURVES if curves[name].notna().any()] or ["loss"]
    judges = list(dict.fromkeys(curves["judge"]))[: len(SERIES)]
    figure = canvas(PAGE if len(shown) > 1 else COLUMN, 2.2)
    for axes, name in zip(panel_grid(figure, len(shown), len(shown), shared=False), shown, strict=True):
        for judge, (colour, marker) in zip(judges, SERIES, strict=False):
            style: dict[str, Any] = {"marker": marker, "markersize": 2.6, "color": colour}
            for at, stage in _one_after_another(curves[curves["judge"] == judge]):
                points = stage.dropna(subset=name)
                axes.plot(points["step"] + at, points[name], gid=name, **style)
                if at:
                    axes.axvline(at, color=colour, linewidth=0.6, linestyle=(0, (2, 2)), gid="stage")
            axes.plot([], [], label=label(judge, 30), **style)
        axes.set_xlabel("step")
        axes.set_ylabel(_CURVES[name])
        axes.grid(axis="both")
        if name != "loss":
            percent_axis(axes.yaxis, 6)
            axes.set_ylim(top=min(axes.get_ylim()[1], _TOP))
    starts, ends = zip(*(axes.get_xlim() for axes in figure.axes), strict=True)
    for axes in figure.axes:
        axes.set_xlim(min(starts), max(ends))
    handles, names = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=min(4, max(1, len(judges))))
    write_mark(figure, mark)
    return figure


def _one_after_another(own: pd.DataFrame) -> list[tuple[float, pd.DataFrame]]:
    """The steps of each stage, and after how many steps it begins."""
    stages: list[tuple[float, pd.DataFrame]] = []
    start = 0.0
    for _, rows in own.groupby("stage"):
        stages.append((start, rows))
        start += float(rows["step"].max())
    return stages


@figure(
    "training-gains",
    title="What training gained on each dimension",
    caption=(
        "{note} Accuracy of judges that were trained further less that of the judge they were trained from, in "
        "percentage points, with 95% paired intervals, on the cases scored for both that neither was trained on; "
        "ordered by {dimension}. n/a: undefined."
    ),
    reading=(
        "Right of the dashed line training helped. An interval that holds the line shows no gain, and does not show "
        "that there is none."
    ),
    needs=_NEEDS,
)
@figure(
    "training-images",
    title="What the images contribute",
    caption=(
        "{note} Accuracy of trained judges with images less their accuracy with images blanked, in percentage points, "
        "with 95% paired intervals, on the cases scored for both that the judge was not trained on; ordered by "
        "{dimension}. n/a: undefined."
    ),
    reading=(
        "Right of the dashed line the judge uses the image, rightly or not. Where an interval holds the line, it is "
        "not shown to look: what it gained it may have learnt from the texts."
    ),
    needs=_NEEDS,
)
@styled
def gains_by_dimension(table: pd.DataFrame, *, order_by: str | None = None, mark: str = "") -> Paper:
    """Draw the gains of the table `gains`: a panel a dimension, a row a pair.

    Parameters
    ----------
    table : rows of `gains`: part, base, tuned, dimension, subfield, gain, low, high; null where undefined. A row is
        named by the tuned judge, and where it has several bases by both
    order_by : the dimension that orders the rows
    mark : words for the figure's face
    """
    rows = overall(rows_of(table, part="accuracy"))
    bases = rows.groupby("tuned")["base"].transform("nunique")
    names = rows["tuned"].where(bases.eq(1), rows["tuned"] + " \u2212 " + rows["base"])
    figure = panels(
        rows.assign(pair=names), value="gain", axis_label="difference of accuracy (percentage points)", rows="pair",
        order_by=order_by, line_at=0.0,
    )  # fmt: skip
    write_mark(figure, mark)
    return figure


@figure(
    "training-changes",
    title="What training changed besides accuracy",
    caption=(
        "{note} Judges that were trained further (filled) and those they were trained from (open), on {dimension}, on "
        "cases that neither was trained on, with 95% intervals: accuracy, the same choice in both orders, choices for "
        "the response shown first, the squared error of the probability (Brier score), and choices for the longer "
        "response. n/a: undefined."
    ),
    reading=(
        "A gain in accuracy beside a move away from 50 in the third or fifth panel may be bought with a bias. A lower "
        "Brier score is better. A reward model rates each response alone, so that it is consistent by construction."
    ),
    needs=_NEEDS,
)
@styled
def before_and_after(table: pd.DataFrame, *, dimension: str | None = None, mark: str = "") -> Paper:
    """Draw what training changed: a panel a quantity, the base (open) and the tuned judge (filled) of every pair.

    Parameters
    ----------
    table : rows of `gains`: part, base, tuned, dimension, subfield, value_base, value_tuned, both with _low and _high;
        null where undefined
    dimension : the one to draw
    mark : words for the figure's face
    """
    rows = overall(rows_of(table, dimension=dimension))
    parts = [part for part in QUANTITIES if (rows["part"] == part).any()]
    pairs = rows[rows["part"] == parts[0]].sort_values(["gain", "tuned", "base"], ascending=[False, True, True])
    keys = pairs[["base", "tuned"]].reset_index(drop=True)
    figure = canvas(PAGE, rows_height(len(keys), 1.6 * _ROW, 0.95))
    grid = figure.subplots(1, len(parts), sharey=True, squeeze=False)[0]
    y = np.arange(len(keys), dtype=float)
    for axes, part in zip(grid, parts, strict=True):
        own = keys.merge(rows[rows["part"] == part], on=["base", "tuned"], how="left")
        _pair_of_estimates(axes, own, y)
        axes.set_title(QUANTITIES[part], fontsize=6.5)
        percent_axis(axes.xaxis, 3)
        axes.grid(axis="both")
        if part == "first_rate":
            draw_zero(axes, _NEITHER)
        if own["value_tuned"].isna().all():
            axes.set_xlim(0, 1)
    names = [f"{label(tuned, 24)} over {label(base, 24)}" for base, tuned in keys.itertuples(index=False)]
    name_rows(grid[0], names, 52)
    for axes in grid[1:]:
        axes.tick_params(axis="y", length=0)
    figure.supxlabel("% of cases; Brier score \u00d7 100", fontsize=7)
    figure.legend(*grid[0].get_legend_handles_labels(), loc="outside lower right", ncols=2)
    write_mark(figure, mark)
    return figure


def _pair_of_estimates(axes: Axes, rows: pd.DataFrame, y: np.ndarray) -> None:
    """The base above, the tuned judge below, each with its interval."""
    colour = COLOURS["cases"]
    draw_estimates(axes, rows, y - _BAND, value="value_base", colour=colour, size=3, gid="base", missing="")
    axes.plot(rows["value_base"], y - _BAND, "o", color="white", markeredgecolor=colour, markersize=3)
    draw_estimates(axes, rows, y + _BAND, value="value_tuned", colour=colour, size=3, gid="tuned", missing="")
    axes.plot([], [], "o", color="white", markeredgecolor=colour, markersize=3, label="base")
    axes.plot([], [], "o", color=colour, markersize=3, label="trained further")
    write_missing(axes, y[rows["value_tuned"].isna().to_numpy()])


@figure(
    "training-ingredients",
    title="What each ingredient of training contributes",
    caption=(
        "{note} Judges of one base whose recipes differ in one entry, on {dimension}: the first value minus the "
        "second, on cases that neither was trained on. 95% intervals where each recipe has two runs; n/a: undefined."
    ),
    reading=(
        "A point without an interval is one training against one other: another seed would move it, so it cannot tell. "
        "Choices for the first response move the other way where the order comes to matter less."
    ),
    needs=_NEEDS,
)
@styled
def ingredients(table: pd.DataFrame, *, dimension: str | None = None, mark: str = "") -> Paper:
    """Draw what each ingredient of training changes: a panel a quantity, a row a pair of judges.

    Parameters
    ----------
    table : rows of `gains` with part "ingredient": ingredient, setting_tuned, setting_base, tuned, base, quantity,
        dimension, gain, low, high; null where undefined, ends where each recipe was run once
    dimension : the one to draw
    mark : words for the figure's face
    """
    rows = rows_of(table, part="ingredient", dimension=dimension)
    values = rows["ingredient"] + ": " + rows["setting_tuned"] + " \u2212 " + rows["setting_base"]
    judges = rows["ingredient"] + ": " + rows["tuned"] + " \u2212 " + rows["base"]
    pairs = judges.groupby(values).transform("nunique")  # where several differ in the same, the judges tell them apart
    short = values.where(pairs.eq(1), judges)
    known = [name for name in QUANTITIES if (rows["quantity"] == name).any()]
    named = rows.assign(
        contrast=short, quantity=pd.Categorical(rows["quantity"].map(QUANTITIES), [QUANTITIES[name] for name in known])
    )
    named = named.sort_values("quantity", kind="stable").astype({"quantity": "str"})
    figure = panels(
        named, value="gain", axis_label="difference (percentage points; Brier score \u00d7 100)", rows="contrast",
        panel="quantity", order_by=QUANTITIES[known[0]], line_at=0.0,
    )  # fmt: skip
    write_mark(figure, mark)
    return figure


@figure(
    "learning-curve",
    title="Accuracy by the number of training cases",
    caption=(
        "{note} Accuracy on {dimension} of judges that differ in the number of training cases alone, on cases that "
        "none of them was trained on, with 95% intervals; the line joins the means by size."
    ),
    reading=(
        "Where the line is still rising, more labels may pay. The intervals are over test cases. One training per size "
        "cannot tell: another training moves a point as well."
    ),
    needs=_NEEDS,
)
@styled
def learning_curve(table: pd.DataFrame, *, dimension: str | None = None, mark: str = "") -> Paper:
    """Draw accuracy against the number of training cases, of judges with intervals.

    Parameters
    ----------
    table : rows of `gains` with part "size": recipe, dimension, n_training, value_tuned with _low and _high; null
        where undefined. A colour per recipe, at most as many as `SERIES`.
    dimension : the one to draw
    mark : words for the figure's face
    """
    rows = rows_of(table, part="size", dimension=dimension)
    figure = canvas(COLUMN * 1.4, 2.6)
    axes = figure.subplots()
    recipes = list(dict.fromkeys(rows["recipe"]))[: len(SERIES)]
    for recipe, (colour, marker) in zip(recipes, SERIES, strict=False):
        points = rows[rows["recipe"] == recipe]
        sizes = points["n_training"].to_numpy(dtype=float)
        axes.plot(points.groupby(sizes)["value_tuned"].mean(), color=colour, linewidth=0.8, gid="means")
        ends = points["value_tuned_low"], points["value_tuned_high"]
        axes.vlines(sizes, *ends, color=colour, linewidth=0.9, gid="intervals")
        axes.plot(
            sizes, points["value_tuned"], marker, color=colour, markersize=3.2, gid="values", label=label(recipe, 60)
        )
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(base=10, subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("training cases")
    axes.set_ylabel("accuracy (%)")
    percent_axis(axes.yaxis, 6)
    axes.grid(axis="both")
    figure.legend(loc="outside lower center")
    write_mark(figure, mark)
    return figure


@figure(
    "transfer-trained",
    title="Trained on against tested on",
    caption=(
        "{note} Accuracy on {dimension} of judges that were trained without one {by} (rows) on the cases of each "
        "(columns) that they were not trained on, with 95% intervals. Framed: left out of training. n/a: no case."
    ),
    reading=(
        "Compare a framed cell with the cells above and below it, which are the same cases judged by judges that were "
        "trained with their like; a row that is low throughout is a training that went badly."
    ),
    needs=_NEEDS,
)
@styled
def trained_and_tested(table: pd.DataFrame, *, dimension: str | None = None, mark: str = "") -> Paper:
    """Draw the matrix of what judges were trained on and what they are tested on, cells outside of training framed.

    Parameters
    ----------
    table : rows of `gains` with part "trained": tuned, dimension, subfield, value_tuned with _low and _high,
        trained_on, in_training; null where undefined
    dimension : the one to draw
    mark : words for the figure's face
    """
    rows = rows_of(table, part="trained", dimension=dimension)
    by = ["trained_on", "tuned"]
    order = rows[by].drop_duplicates().sort_values(by)
    tested = sorted(rows["subfield"].unique())
    ends = ("value_tuned", "value_tuned_low", "value_tuned_high")
    wide = {
        name: rows.pivot(index="tuned", columns="subfield", values=name).reindex(index=order["tuned"], columns=tested)
        for name in (*ends, "in_training")
    }
    values, low, high = (wide[name].to_numpy(dtype=float) for name in ends)
    figure = canvas(PAGE, rows_height(len(order), 0.26, 1.5))
    axes = figure.subplots()
    down = [f"{label(judge, 26)}: {label(trained_on, 30)}" for trained_on, judge in order.itertuples(index=False)]
    mesh = draw_matrix(
        axes, values, across=labels(map(title_case, tested), 24), down=down, colours=SEQUENTIAL,
        norm=colour_range(values), texts=cell_texts(values, low, high, between="\u2013"),
    )  # fmt: skip
    for i, j in np.argwhere(wide["in_training"].eq(False).to_numpy(dtype=bool)):
        axes.add_patch(
            Rectangle(
                (j + 0.04, i + 0.06), 0.92, 0.88, fill=False, edgecolor=COLOURS["B"], linewidth=1.4, gid="outside"
            )
        )
    axes.set_xlabel("tested on")
    axes.set_ylabel("judge: trained on")
    scale_bar(figure, mesh, axes, "accuracy (%)", percent)
    write_mark(figure, mark)
    return figure


@figure(
    "transfer-losses",
    title="What leaving a domain out of training costs",
    caption=(
        "{note} Accuracy of judges that were trained without a {by} on its cases, less that of judges of the same "
        "recipe that were trained with it, in percentage points, with 95% paired intervals; below the line over the "
        "cases of all that were left out; ordered by {dimension}. n/a: undefined."
    ),
    reading=(
        "Left of the dashed line the judge does not travel: it is worse where it was not trained. The intervals are "
        "over cases; how a training turned out moves a row as well, and the mean below the line less."
    ),
    needs=_NEEDS,
)
@styled
def domain_losses(table: pd.DataFrame, *, order_by: str | None = None, mark: str = "") -> Paper:
    """Draw what judges lose on the domain they were trained without: a panel a dimension, a row a domain.

    Parameters
    ----------
    table : rows of `gains` with part "out_of_domain": dimension, subfield (null: all), gain, low, high; null where
        undefined
    order_by : the dimension that orders the rows
    mark : words for the figure's face
    """
    rows = rows_of(table, part="out_of_domain")
    own = rows.dropna(subset="subfield")
    whole = rows[rows["subfield"].isna()].assign(subfield="all left out")
    figure = panels(
        own, value="gain", axis_label="difference of accuracy (percentage points)", rows="subfield",
        order_by=order_by, below=whole, line_at=0.0,
    )  # fmt: skip
    write_mark(figure, mark)
    return figure
