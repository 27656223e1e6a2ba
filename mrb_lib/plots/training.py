"""Training: its curves, what it changed, how accuracy grows with cases, and where it holds."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from mrb_lib.plots.accuracy import colour_range
from mrb_lib.plots.intervals import draw_estimates, overall, panels, rows_of
from mrb_lib.plots.lettering import label, labels, percent, title_case
from mrb_lib.plots.matrix import cell_texts, draw_matrix, scale_bar
from mrb_lib.plots.style import (
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
    write_missing,
)

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


@styled
def training_curves(curves: pd.DataFrame) -> Paper:
    """Draw loss, validation accuracy and order consistency by step, a line a judge.

    Parameters
    ----------
    curves : as of `mrb_lib.verdicts.training.training_curves`: judge, stage, step, loss, accuracy, consistency; null
        where a step did not measure it. At most as many judges as there are `SERIES`. A later stage goes on where the
        one before ended, behind a dashed line.
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
    handles, names = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=min(3, max(1, len(judges))))
    return figure


def _one_after_another(own: pd.DataFrame) -> list[tuple[float, pd.DataFrame]]:
    """The steps of each stage, and after how many steps it begins."""
    stages: list[tuple[float, pd.DataFrame]] = []
    start = 0.0
    for _, rows in own.groupby("stage"):
        stages.append((start, rows))
        start += float(rows["step"].max())
    return stages


@styled
def before_and_after(table: pd.DataFrame, *, dimension: str | None = None) -> Paper:
    """Draw what training changed: a panel a quantity, the base (open) and the tuned judge (filled) of every pair.

    Parameters
    ----------
    table : rows of `gains`: part, base, tuned, dimension, subfield, value_base, value_tuned, both with _low and _high;
        null where undefined
    dimension : the one to draw
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
    figure.legend(*grid[0].get_legend_handles_labels(), loc="outside upper left", ncols=2)
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


@styled
def ingredients(table: pd.DataFrame, *, dimension: str | None = None) -> Paper:
    """Draw what each ingredient of training changes: a panel a quantity, a row a pair of judges.

    Parameters
    ----------
    table : rows of `learning` with part "ingredient": ingredient, value_1, value_2, judge_1, judge_2, quantity,
        dimension, difference, low, high; null where undefined
    dimension : the one to draw
    """
    rows = rows_of(table, part="ingredient", dimension=dimension)
    values = rows["ingredient"] + ": " + rows["value_1"] + " \u2212 " + rows["value_2"]
    judges = rows["ingredient"] + ": " + rows["judge_1"] + " \u2212 " + rows["judge_2"]
    pairs = judges.groupby(values).transform("nunique")  # where several differ in the same, the judges tell them apart
    short = values.where(pairs.eq(1), judges)
    known = [name for name in QUANTITIES if (rows["quantity"] == name).any()]
    named = rows.assign(
        contrast=short, quantity=pd.Categorical(rows["quantity"].map(QUANTITIES), [QUANTITIES[name] for name in known])
    )
    named = named.sort_values("quantity", kind="stable").astype({"quantity": "str"})
    return panels(
        named, value="difference", axis_label="difference (percentage points; Brier score \u00d7 100)", rows="contrast",
        panel="quantity", order_by=QUANTITIES[known[0]], line_at=0.0,
    )  # fmt: skip


@styled
def learning_curve(table: pd.DataFrame, *, dimension: str | None = None) -> Paper:
    """Draw accuracy against the number of training cases: the judges with intervals, the fitted curve with its band.

    Parameters
    ----------
    table : rows of `learning` with parts "size", "fit" and "curve": recipe, dimension, n_training, accuracy, low, high,
        target, cases_needed; null where undefined. A colour a recipe, at most as many as there are `SERIES`.
    dimension : the one to draw
    """
    rows = rows_of(table, dimension=dimension)
    rows = rows[rows["part"].isin(["size", "fit", "curve"])]
    figure = canvas(COLUMN * 1.4, 2.6)
    axes = figure.subplots()
    recipes = list(dict.fromkeys(rows["recipe"]))[: len(SERIES)]
    for recipe, (colour, marker) in zip(recipes, SERIES, strict=False):
        own = rows[rows["recipe"] == recipe]
        points, fit = rows_of(own, part="size"), rows_of(own, part="fit").sort_values("n_training")
        x = fit["n_training"].to_numpy(dtype=float)
        if fit["low"].notna().any():
            axes.fill_between(x, fit["low"], fit["high"], color=colour, alpha=0.15, linewidth=0, gid="band")
        axes.plot(x, fit["accuracy"], color=colour, gid="fit")
        sizes = points["n_training"].to_numpy(dtype=float)
        axes.vlines(sizes, points["low"], points["high"], color=colour, linewidth=0.9, gid="intervals")
        axes.plot(
            sizes, points["accuracy"], marker, color=colour, markersize=3.2, gid="values", label=label(recipe, 60)
        )
        _needed(axes, rows_of(own, part="curve"), colour)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(base=10, subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("training cases")
    axes.set_ylabel("accuracy (%)")
    percent_axis(axes.yaxis, 6)
    axes.grid(axis="both")
    figure.legend(loc="outside lower center")
    return figure


def _needed(axes: Axes, curve: pd.DataFrame, colour: str) -> None:
    """The wanted accuracy as a line, and where the curve reaches it."""
    for target, needed in curve[["target", "cases_needed"]].dropna(subset="target").to_numpy(dtype=float):
        axes.axhline(target, color=COLOURS["gold"], linewidth=0.8, linestyle=(0, (2, 2)), zorder=1, gid="target")
        if not np.isnan(needed):
            axes.plot([needed], [target], "*", color=colour, markersize=7, gid="needed")


@styled
def trained_and_tested(table: pd.DataFrame, *, dimension: str | None = None) -> Paper:
    """Draw the matrix of what judges were trained on and what they are tested on, cells outside of training framed.

    Parameters
    ----------
    table : rows of `transfer` with part "trained": judge, dimension, subfield, accuracy, low, high, in_training; null
        where undefined
    dimension : the one to draw
    """
    rows = rows_of(table, part="trained", dimension=dimension)
    by = ["trained_on", "judge"]
    order = rows[by].drop_duplicates().sort_values(by)
    tested = sorted(rows["subfield"].unique())
    wide = {
        name: rows.pivot(index="judge", columns="subfield", values=name).reindex(index=order["judge"], columns=tested)
        for name in ("accuracy", "low", "high", "in_training")
    }
    values, low, high = (wide[name].to_numpy(dtype=float) for name in ("accuracy", "low", "high"))
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
    return figure
