"""Juries of judges: accuracy by size, against cost, and what each member adds."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.ticker import EngFormatter, MaxNLocator

from mrb_lib.figures.intervals import panels, rows_of
from mrb_lib.figures.lettering import label
from mrb_lib.figures.registry import figure
from mrb_lib.figures.style import COLOURS, PAGE, SERIES, Paper, canvas, percent_axis, styled
from mrb_lib.tables.errors import NotApplicable

NAMES = {
    "majority": "majority of all",
    "weighted": "weighted jury of all",
    "dawid_skene": "Dawid\u2013Skene jury of all",
    "best_single": "best judge (chosen on other cases)",
}
_STYLE = dict(zip((*NAMES, "random"), SERIES, strict=False))
_FEW, _SPREAD = 3, 20.0
_TWO = "a jury takes two judges with verdicts on the same cases."


@figure("jury-sizes", table="jury", parts=("jury", "curve"), shows="accuracy", cases="missed", is_main=True)
@styled
def sizes(table: pd.DataFrame, *, dimension: str) -> Paper:
    """Draw accuracy by the number of members, beside the juries of all judges.

    Parameters
    ----------
    table : rows of parts "jury" and "curve" of the table `jury`; other dimensions are not drawn
    """
    rows = rows_of(table, dimension=dimension)
    curve = rows_of(rows, part="curve").dropna(subset="accuracy").sort_values("size")
    if curve.empty:
        raise NotApplicable(_TWO)
    figure = canvas(PAGE * 0.72, 2.9)
    axes = figure.subplots()
    members = curve["size"].astype(float)
    colour, marker = _STYLE["random"]
    axes.fill_between(members, curve["low"], curve["high"], color=colour, alpha=0.18, linewidth=0)
    axes.plot(members, curve["accuracy"], color=colour, marker=marker, markersize=2.6, label="random members",
              gid="random")  # fmt: skip
    step = 0.03 * max(members.max(), 8.0)
    for i, (kind, name) in enumerate(NAMES.items()):
        row = rows_of(rows, part="jury", kind=kind).dropna(subset="accuracy")
        x = 1.0 - step if kind == "best_single" else members.max() + (i + 1) * step
        colour, marker = _STYLE[kind]
        axes.vlines([x] * len(row), row["low"], row["high"], color=colour, linewidth=0.9)
        for value, low, high in row[["accuracy", "low", "high"]].itertuples(index=False):
            axes.plot([x], [value], marker, color=colour, markersize=4, label=name, gid=kind)
            ends = (value, value) if pd.isna(low) else (low, high)
            figure.mark(axes, {"row": kind}, (ends[0] - 0.005, ends[1] + 0.005), (x - step / 2, x + step / 2))
    axes.set_xlabel("members")
    axes.set_ylabel("accuracy (%)")
    ticks = MaxNLocator(nbins=10, integer=True).tick_values(1.0, members.max())
    axes.set_xticks([tick for tick in ticks if 1.0 <= tick <= members.max()])
    percent_axis(axes.yaxis, 7)
    axes.grid(axis="y")
    figure.legend(loc="outside right center")
    return figure


@figure("jury-cost", table="jury", parts=("jury", "single"))
@styled
def cost(table: pd.DataFrame, *, dimension: str) -> Paper:
    """Draw accuracy against time; a line joins those to which nothing faster is equal.

    Parameters
    ----------
    table : rows of parts "jury" and "single" of the table `jury`; other dimensions are not drawn, nor what has no time
    """
    rows = rows_of(table, dimension=dimension).dropna(subset=["seconds", "accuracy"])
    rows = rows[rows["kind"] != "best_single"].sort_values(["seconds", "accuracy"], ascending=[True, False])
    if not rows["part"].eq("jury").any():
        raise NotApplicable("time is not recorded for every judge, so that of a jury is unknown.")
    figure = canvas(PAGE * 0.78, 3.1)
    axes = figure.subplots()
    styles = {"single": (COLOURS["judge"], "o"), **_STYLE}
    for kind in [kind for kind in styles if kind in set(rows["kind"])]:
        own, (colour, marker) = rows_of(rows, kind=kind), styles[kind]
        axes.plot(own["seconds"], own["accuracy"], marker, color=colour, markersize=4,
                  label=NAMES.get(kind, "one judge"), gid=kind)  # fmt: skip
    best = rows[rows["accuracy"] > rows["accuracy"].cummax().shift(fill_value=-1.0)]
    axes.plot(best["seconds"], best["accuracy"], color=COLOURS["gold"], zorder=0, label="most accurate for the time",
              gid="best")  # fmt: skip
    if 0 < rows["seconds"].min() < rows["seconds"].max() / _SPREAD:
        axes.set_xscale("log")
    axes.margins(x=0.12, y=0.1)
    for row in rows_of(best, part="single").nlargest(_FEW, "accuracy").to_dict("records"):
        axes.annotate(label(row["judge"], 24), (row["seconds"], row["accuracy"]), xytext=(4, -3), fontsize=6,
                      va="top", textcoords="offset points", color="#555555")  # fmt: skip
    axes.set_xlabel("time per case")
    axes.set_ylabel("accuracy (%)")
    axes.xaxis.set_major_formatter(EngFormatter(unit="s"))
    percent_axis(axes.yaxis, 7)
    axes.grid(axis="y")
    figure.legend(loc="outside right center")
    return figure


@figure("jury-members", table="jury", parts=("member",))
def members(table: pd.DataFrame, *, dimension: str, judges: Sequence[str] = ()) -> Paper:
    """Draw what each member adds to the majority of all.

    Parameters
    ----------
    table : rows of part "member" of the table `jury`; other dimensions are not drawn
    judges : all judges from the first to the last; empty orders them by what they add
    """
    rows = rows_of(table, part="member", dimension=dimension)
    if rows["shapley"].isna().all():
        raise NotApplicable(_TWO)
    return panels(
        rows,
        value="shapley",
        order=judges,
        axis_label="added to the accuracy of the majority (percentage points)",
        line_at=0.0,
    )
