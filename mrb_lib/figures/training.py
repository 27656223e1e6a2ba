"""Training: its curves, what it changed, how accuracy grows with cases, and where it holds."""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.patches import Rectangle

from mrb_lib.figures.accuracy import colour_range
from mrb_lib.figures.intervals import overall, panels, rows_of
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
    panel_grid,
    percent_axis,
    rows_height,
    styled,
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
_DIFFERENCE: Final = "difference of accuracy (percentage points)"


@figure("training-curves")
@styled
def training_curves(curves: pd.DataFrame) -> Paper:
    """Draw loss, validation accuracy and order consistency by step, a line per judge.

    Parameters
    ----------
    curves : see `mrb_lib.report.study.Study.training_curves`; null where a step did not measure it. At most as many
        judges as there are `SERIES`. A later stage goes on where the one before ended, behind a dashed line
    """
    shown = [name for name in _CURVES if curves[name].notna().any()] or ["loss"]
    judges = list(dict.fromkeys(curves["judge"]))[: len(SERIES)]
    figure = canvas(PAGE if len(shown) > 1 else COLUMN, 2.2)
    for axes, name in zip(panel_grid(figure, len(shown), len(shown), shared=False), shown, strict=True):
        for judge, (colour, marker) in zip(judges, SERIES, strict=False):
            style: dict[str, Any] = {"marker": marker, "markersize": 2.6, "color": colour}
            for start, stage in _stages(curves[curves["judge"] == judge]):
                points = stage.dropna(subset=name)
                axes.plot(points["step"] + start, points[name], gid=name, **style)
                if start:
                    axes.axvline(start, color=colour, linewidth=0.6, linestyle=(0, (2, 2)), gid="stage")
            axes.plot([], [], label=label(judge, 30), **style)
        axes.set_xlabel("step")
        axes.set_ylabel(_CURVES[name])
        axes.grid(axis="both")
        if name != "loss":
            percent_axis(axes.yaxis, 6)
            axes.set_ylim(top=min(axes.get_ylim()[1], 1.01))
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=min(4, len(judges)))
    return figure


def _stages(curves: pd.DataFrame) -> Iterator[tuple[float, pd.DataFrame]]:
    """After how many steps each stage of a judge's training begins, and its rows."""
    start = 0.0
    for _, rows in curves.groupby("stage"):
        yield start, rows
        start += float(rows["step"].max())


@figure("training-gains", table="gains", parts=("accuracy",), shows="gain")
def gains_by_dimension(table: pd.DataFrame, *, dimension: str | None = None) -> Paper:
    """Draw the part "accuracy" of the table `gains`: a panel per dimension, a row per pair; `dimension` orders them."""
    return panels(_named(overall(table)), value="gain", axis_label=_DIFFERENCE, rows="pair", order_by=dimension,
                  line_at=0.0)  # fmt: skip


@figure("training-changes", table="gains", parts=tuple(QUANTITIES), shows="gain")
def changes(table: pd.DataFrame, *, dimension: str | None = None) -> Paper:
    """Draw what else training changed on a dimension: a panel per quantity of the table `gains`, a row per pair."""
    rows = overall(rows_of(table, dimension=dimension))
    return _by_quantity(_named(rows))


@figure("training-ingredients", table="gains", parts=("ingredient",), shows="gain")
def ingredients(table: pd.DataFrame, *, dimension: str | None = None) -> Paper:
    """Draw the part "ingredient" of the table `gains`: a panel per quantity, a row per pair of settings.

    Where several pairs of judges differ in the same setting, the judges are named instead.
    """
    rows = rows_of(table, dimension=dimension)
    values = rows["ingredient"] + ": " + rows["setting_tuned"] + " \u2212 " + rows["setting_base"]
    judges = rows["ingredient"] + ": " + rows["tuned"] + " \u2212 " + rows["base"]
    alone = judges.groupby(values).transform("nunique").eq(1)
    return _by_quantity(rows.assign(pair=values.where(alone, judges)))


def _named(table: pd.DataFrame) -> pd.DataFrame:
    """The rows with the `pair`: the tuned judge, and where it has several bases also the base."""
    alone = table.groupby("tuned")["base"].transform("nunique").eq(1)
    return table.assign(pair=table["tuned"].where(alone, table["tuned"] + " \u2212 " + table["base"]))


def _by_quantity(table: pd.DataFrame) -> Paper:
    """The gains of a table with `pair`, a panel per quantity in one order."""
    known = [name for name in QUANTITIES if (table["quantity"] == name).any()]
    named = pd.concat(table[table["quantity"] == name].assign(quantity=QUANTITIES[name]) for name in known)
    return panels(
        named, value="gain", axis_label="difference (percentage points; Brier score \u00d7 100)", rows="pair",
        panel="quantity", order_by=QUANTITIES[known[0]], line_at=0.0,
    )  # fmt: skip


@figure("learning-curve", table="gains", parts=("size",), shows="value_tuned")
@styled
def learning_curve(table: pd.DataFrame, *, dimension: str | None = None) -> Paper:
    """Draw the part "size" of the table `gains`: accuracy by the number of training cases, a colour per recipe."""
    rows = rows_of(table, dimension=dimension)
    figure = canvas(COLUMN * 1.4, 2.6)
    axes = figure.subplots()
    for recipe, (colour, marker) in zip(rows["recipe"].unique(), SERIES, strict=False):
        own = rows[rows["recipe"] == recipe].astype({"n_training": "float64"})
        x, ends = own["n_training"], (own["value_tuned_low"], own["value_tuned_high"])
        axes.plot(own.groupby("n_training")["value_tuned"].mean(), color=colour, linewidth=0.9, gid="means")
        axes.vlines(x, *ends, color=colour, linewidth=0.9, gid="intervals")
        axes.plot(x, own["value_tuned"], marker, color=colour, markersize=3.2, gid="values", label=label(recipe, 60))
    axes.set_xscale("log")
    sizes = sorted(rows["n_training"].unique())
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.minorticks_off()
    axes.set_xlabel("training cases")
    axes.set_ylabel("accuracy (%)")
    percent_axis(axes.yaxis, 6)
    axes.grid(axis="both")
    figure.legend(loc="outside lower center")
    return figure


@figure("transfer-trained", table="gains", parts=("trained",), shows="value_tuned")
@styled
def trained_and_tested(table: pd.DataFrame, *, dimension: str | None = None, by: str | None = None) -> Paper:
    """Draw the part "trained" of the table `gains`: what judges were trained on by what they are tested on.

    Cells of domains that were left out of training are framed; `by` is the column of the domains.
    """
    rows = rows_of(table, dimension=dimension, by=by)
    order = rows[["trained_on", "tuned"]].drop_duplicates().sort_values(["trained_on", "tuned"])
    tested = sorted(rows["subfield"].unique())
    values, low, high, inside = (
        rows.pivot(index="tuned", columns="subfield", values=name)
        .reindex(index=order["tuned"], columns=tested)
        .to_numpy(dtype=float, na_value=np.nan)
        for name in ("value_tuned", "value_tuned_low", "value_tuned_high", "in_training")
    )
    figure = canvas(PAGE, rows_height(len(order), 0.26, 1.5))
    axes = figure.subplots()
    mesh = draw_matrix(
        axes,
        values,
        across=labels(map(title_case, tested), 24),
        down=[f"{label(judge, 26)}: {label(trained_on, 30)}" for trained_on, judge in order.to_numpy()],
        colours=SEQUENTIAL,
        norm=colour_range(values),
        texts=cell_texts(values, low, high, between="\u2013"),
    )
    for i, j in np.argwhere(inside == 0):
        frame: dict[str, Any] = {"fill": False, "edgecolor": COLOURS["B"], "linewidth": 1.4, "gid": "outside"}
        axes.add_patch(Rectangle((j + 0.04, i + 0.06), 0.92, 0.88, **frame))
    axes.set_xlabel("tested on")
    axes.set_ylabel("judge: trained on")
    scale_bar(figure, mesh, axes, "accuracy (%)", percent)
    return figure


@figure("transfer-losses", table="gains", parts=("out_of_domain",), shows="gain")
def domain_losses(table: pd.DataFrame, *, dimension: str | None = None, by: str | None = None) -> Paper:
    """Draw the part "out_of_domain" of the table `gains`: a panel per dimension, a row per domain, ordered by one."""
    rows = rows_of(table, by=by)
    whole = rows[rows["subfield"].isna()].assign(subfield="all left out")
    return panels(
        rows.dropna(subset="subfield"), value="gain", axis_label=_DIFFERENCE, rows="subfield", order_by=dimension,
        below=whole, line_at=0.0,
    )  # fmt: skip
