"""Juries of judges: accuracy by size, against cost, and what each member adds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.ticker import EngFormatter, MaxNLocator

from mrb_lib.figures.intervals import panels, rows_of, stacked
from mrb_lib.figures.lettering import label
from mrb_lib.figures.registry import figure
from mrb_lib.figures.style import COLOURS, PAGE, SERIES, Paper, canvas, percent_axis, styled

NAMES = {
    "majority": "majority of all",
    "weighted": "weighted jury of all",
    "dawid_skene": "Dawid\u2013Skene jury of all",
    "best_single": "best judge (chosen on other cases)",
}
UNITS = {"seconds": "time a case", "tokens": "tokens a case", "size": "members"}
_RANDOM = "random members"
_STYLE = dict(zip((*NAMES, _RANDOM), SERIES, strict=False))
_COST_STYLE = {
    "single judge": (COLOURS["judge"], "o"),
    **{text: _STYLE[kind] for kind, text in NAMES.items() if kind != "best_single"},
}


@figure(
    "jury-sizes",
    title="Accuracy of juries by size",
    caption=(
        "Accuracy on {dimension} of juries by majority, the mean over random members, and of the juries of all judges "
        "at the right; 95% cluster-bootstrap intervals."
    ),
    reading=(
        "Where the curve of random members is flat, more judges buy nothing: they err together. A weighted jury above "
        "the majority says that the judges differ in skill; one below it, that the weights are noise."
    ),
    needs=("preferences", "annotations", "verdicts", "judges"),
)
@styled
def sizes(table: pd.DataFrame) -> Paper:
    """Draw accuracy by the number of members, beside the juries of all judges.

    Parameters
    ----------
    table : rows of `jury` of one dimension: part, kind, size, accuracy, low, high
    """
    figure = canvas(PAGE * 0.72, 2.9)
    axes = figure.subplots()
    largest = int(table["size"].max()) if table["size"].notna().any() else 1
    rows = table[(table["part"] == "curve") & table["accuracy"].notna()].sort_values("size")
    colour, marker = _STYLE[_RANDOM]
    size, value, low, high = (rows[name].to_numpy(dtype=float) for name in ("size", "accuracy", "low", "high"))
    axes.fill_between(size, low, high, color=colour, alpha=0.18, linewidth=0)
    axes.plot(size, value, color=colour, marker=marker, markersize=2.6, label=_RANDOM, gid="random")
    _levels(figure, axes, table[table["part"] == "jury"], largest)
    axes.set_xlabel("members")
    axes.xaxis.set_major_locator(MaxNLocator(nbins=10, integer=True))
    _accuracy_axis(axes)
    figure.legend(loc="outside right center")
    return figure


def _levels(figure: Paper, axes: Axes, juries: pd.DataFrame, largest: int) -> None:
    """The juries of all judges at the right, side by side, and the best judge at the left."""
    kinds = [kind for kind in NAMES if kind in set(juries.loc[juries["accuracy"].notna(), "kind"])]
    for i, kind in enumerate(kinds):
        row = juries[juries["kind"] == kind].iloc[0]
        colour, marker = _STYLE[kind]
        x = 1.0 - 0.02 * largest if kind == "best_single" else largest + (i + 1) * 0.03 * max(largest, 8)
        if not np.isnan(row["low"]):
            axes.vlines([x], row["low"], row["high"], color=colour, linewidth=0.9)
        axes.plot([x], [row["accuracy"]], marker, color=colour, markersize=4, label=NAMES[kind], gid=kind)
        ends = (row["accuracy"], row["accuracy"]) if np.isnan(row["low"]) else (row["low"], row["high"])
        half = 0.015 * max(largest, 8)
        figure.mark(axes, {"row": NAMES[kind]}, (ends[0] - 0.005, ends[1] + 0.005), (x - half, x + half))


def _accuracy_axis(axes: Axes) -> None:
    axes.set_ylabel("accuracy (%)")
    percent_axis(axes.yaxis, 7)
    axes.grid(axis="y")


def cost_measure(table: pd.DataFrame) -> str:
    """What the cost of a jury is measured in: `seconds` where they are known, else `tokens`, else its `size`."""
    return next((name for name in ("seconds", "tokens") if table[name].notna().any()), "size")


@figure(
    "jury-cost",
    title="Accuracy against cost",
    caption=(
        "Accuracy on {dimension} against {cost}, summed over the members of a jury. Judges and juries whose cost is "
        "unknown are left out; where no cost is known, the number of members stands for it."
    ),
    reading=(
        "What is on the line is not beaten in both: everything else can be had cheaper, or better for the same. The "
        "line joins estimates, whose intervals may overlap."
    ),
    needs=("preferences", "annotations", "verdicts", "judges"),
)
@styled
def cost(table: pd.DataFrame) -> Paper:
    """Draw accuracy against cost; a line joins what nothing else beats in both.

    Parameters
    ----------
    table : rows of the table `jury` of one dimension: part, kind, judge, size, accuracy, seconds and tokens;
        see `cost_measure` for which of them is drawn
    """
    measure = cost_measure(table)
    figure = canvas(PAGE * 0.78, 3.1)
    axes = figure.subplots()
    kind = table["kind"].where(table["part"] == "jury").replace(NAMES)
    kind = kind.mask(table["part"] == "single", "single judge")
    points = table.assign(kind=kind)[table[measure].notna() & table["accuracy"].notna() & kind.isin(list(_COST_STYLE))]
    styles = {name: style for name, style in _COST_STYLE.items() if name in set(points["kind"])}
    if len(points):
        sns.scatterplot(
            points,
            x=measure,
            y="accuracy",
            hue="kind",
            style="kind",
            hue_order=list(styles),
            style_order=list(styles),
            palette={name: colour for name, (colour, _) in styles.items()},
            markers={name: marker for name, (_, marker) in styles.items()},
            s=20,
            linewidth=0,
            gid="values",
            ax=axes,
        )
    best = points.sort_values([measure, "accuracy"], ascending=[True, False])
    best = best[(best["accuracy"] > best["accuracy"].cummax().shift(fill_value=-1.0)) & (measure != "size")]
    if len(best):
        axes.plot(best[measure], best["accuracy"], color=COLOURS["gold"], zorder=0, label="not beaten in both",
                  gid="pareto")  # fmt: skip
    if len(points) and points[measure].min() > 0 and points[measure].max() > 20 * points[measure].min():
        axes.set_xscale("log")
    axes.margins(x=0.12, y=0.1)
    _name_the_best(axes, best[best["part"] == "single"], measure)
    axes.set_xlabel(UNITS[measure])
    if measure == "seconds":
        axes.xaxis.set_major_formatter(EngFormatter(unit="s"))
    _accuracy_axis(axes)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside right center")
    if axes.legend_ is not None:
        axes.legend_.remove()
    return figure


def _name_the_best(axes: Axes, rows: pd.DataFrame, measure: str) -> None:
    """The names of the single judges that nothing beats, the three most accurate of them, off the line that rises."""
    axes.autoscale_view()
    for _, row in rows.nlargest(3, "accuracy").iterrows():
        point = (float(row[measure]), float(row["accuracy"]))
        across = axes.transAxes.inverted().transform(axes.transData.transform(point))[0]
        axes.annotate(
            label(row["judge"], 24),
            point,
            xytext=(4, -3) if across < 0.5 else (-3, 4),
            ha="left" if across < 0.5 else "right",
            va="top" if across < 0.5 else "bottom",
            textcoords="offset points",
            fontsize=6,
            color="#555555",
        )


@figure(
    "jury-members",
    title="What each member adds to the jury",
    caption=(
        "On {dimension}: what a judge adds to the accuracy of the majority on joining, averaged over orders of joining "
        "that begin with a coin (Shapley); 95% cluster-bootstrap intervals, which allow for orders that were not tried."
    ),
    reading=(
        "Left of zero: the jury is better off without the judge. A judge may add much on joining early where later "
        "ones say the same."
    ),
    needs=("preferences", "annotations", "verdicts", "judges"),
)
def members(table: pd.DataFrame) -> Paper:
    """Draw what each member adds to the majority of all.

    Parameters
    ----------
    table : rows of `jury` with part "member" of one dimension: judge, shapley, shapley_low, shapley_high
    """
    return panels(
        stacked(rows_of(table, part="member"), {"shapley": "Added on joining (Shapley)"}),
        value="value",
        axis_label="accuracy of the majority (percentage points)",
        panel="measure",
        line_at=0.0,
    )
