"""The making of a benchmark: what each step kept, of what, and how hard the items were."""

from typing import Final

import numpy as np
import pandas as pd
from matplotlib.colors import Normalize

from mrb_lib.figures.lettering import label, labels, percent, title_case
from mrb_lib.figures.matrix import draw_matrix, scale_bar
from mrb_lib.figures.registry import figure
from mrb_lib.figures.style import (
    COLOURS,
    COLUMN,
    PAGE,
    SEQUENTIAL,
    SMALLEST_TYPE,
    Paper,
    canvas,
    name_rows,
    percent_axis,
    rows_height,
    styled,
)

_LONGEST: Final = 66  # letters of the reasons beside a bar


@figure("construction-funnel")
@styled
def funnel(steps: pd.DataFrame) -> Paper:
    """Draw what each step of the construction took in and kept, and why it left out the rest.

    Parameters
    ----------
    steps : step, n_in, n_out, reason, n_items: a row per step and reason, in order; the last two are null where nothing
        is left out
    """
    names = steps["step"].drop_duplicates().tolist()
    figure = canvas(PAGE, rows_height(len(names), 0.36, 0.6))
    axes = figure.subplots()
    widest = max([*steps["n_in"], 1])
    for i, name in enumerate(names):
        rows = steps[steps["step"] == name]
        n_in, n_out = int(rows["n_in"].iloc[0]), int(rows["n_out"].iloc[0])
        axes.barh(i, n_in, height=0.6, color=COLOURS["missing"], edgecolor="#BBBBBB", linewidth=0.4, gid="n_in")
        axes.barh(i, n_out, height=0.6, color=COLOURS["cases"], gid="n_out")
        axes.text(widest * 1.02, i - 0.16, f"{n_in:,} \u2192 {n_out:,}", va="center", fontsize=6.5, gid="counts")
        stated = rows.dropna(subset="reason")
        axes.text(widest * 1.02, i + 0.2, _reasons(stated), va="center", fontsize=SMALLEST_TYPE, color="#555555")
    name_rows(axes, names, 24)
    axes.set_xlim(0, widest * 1.9)
    axes.set_xticks([tick for tick in axes.get_xticks() if 0 <= tick <= widest])
    axes.spines["bottom"].set_bounds(0, widest)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlabel("items or cases (grey: taken in, blue: kept)", loc="left")
    return figure


def _reasons(stated: pd.DataFrame) -> str:
    """Whole reasons with their counts, as many as there is room for, and how many more there are."""
    told: list[str] = []
    for reason, n in zip(stated["reason"], stated["n_items"], strict=True):
        text = f"{label(reason, 40)}: {int(n):,}"
        if told and len("; ".join([*told, text])) > _LONGEST:
            return f"{'; '.join(told)}; {int(stated['n_items'].iloc[len(told) :].sum()):,} for other reasons"
        told.append(text)
    return "; ".join(told)


@figure("construction-left")
@styled
def items_left(left: pd.DataFrame) -> Paper:
    """Draw how many items of each value are left after each step.

    Parameters
    ----------
    left : value, step, n_items, share (of the items at first): a row per value and step, in the order to draw them
    """
    values, steps = left["value"].drop_duplicates().tolist(), left["step"].drop_duplicates().tolist()
    wide = left.pivot(index="value", columns="step").loc[values]
    figure = canvas(PAGE, rows_height(len(values), 0.2, 0.9))
    axes = figure.subplots()
    mesh = draw_matrix(
        axes,
        wide["share"][steps].to_numpy(dtype=float),
        across=[name.replace(" by ", "\nby ") for name in labels(steps, 24)],
        down=labels(map(title_case, values), 26),
        colours=SEQUENTIAL,
        norm=Normalize(0, 1),
        texts=[[f"{int(n):,}" for n in row] for row in wide["n_items"][steps].to_numpy()],
    )
    axes.tick_params(axis="x", rotation=0)
    axes.xaxis.tick_top()
    scale_bar(figure, mesh, axes, "share left (%)", percent)
    return figure


@figure("construction-difficulty")
@styled
def difficulty(bins: pd.DataFrame, *, chance: float = np.nan) -> Paper:
    """Draw how many items were answered rightly how often.

    Parameters
    ----------
    bins : low, high, kept, left_out: a row per bin of shares of right answers, with numbers of items
    chance : what guessing gets right; NaN where nobody knows
    """
    figure = canvas(COLUMN, 2.2)
    axes = figure.subplots()
    width = bins["high"] - bins["low"]
    for name, colour, bottom in (("kept", COLOURS["cases"], 0), ("left_out", COLOURS["missing"], bins["kept"])):
        axes.bar(bins["low"], bins[name], width, bottom=bottom, align="edge", color=colour, edgecolor="#BBBBBB",
                 linewidth=0.4, label=name.replace("_", " "), gid=name)  # fmt: skip
    if np.isfinite(chance):
        axes.axvline(chance, color="black", linestyle="--", linewidth=0.8, gid="chance")
    percent_axis(axes.xaxis)
    axes.set_xlim(0, 1)
    axes.set_xlabel("right answers (%)")
    axes.set_ylabel("items")
    axes.locator_params(axis="y", integer=True)
    axes.legend(loc="best")
    return figure
