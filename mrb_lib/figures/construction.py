"""The making of a benchmark: what each step kept, how hard items are, who answered, and who meets whom."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd
from matplotlib.colors import Normalize

from mrb_lib.figures.lettering import label, labels, title_case
from mrb_lib.figures.matrix import draw_matrix, scale_bar
from mrb_lib.figures.registry import figure
from mrb_lib.figures.style import (
    COLOURS,
    COLUMN,
    PAGE,
    SEQUENTIAL,
    SERIES,
    SMALLEST_TYPE,
    Paper,
    canvas,
    name_rows,
    percent_axis,
    rows_height,
    styled,
    write_mark,
)

_FUNNEL: Final = "What each step of the construction took in, kept and left out by reason: from {n_all} to {n_shown}."
_READ_FUNNEL: Final = "A step that leaves out most decides what the benchmark is about: look at its reasons first."
_MOST_RESPONDERS: Final = 20
_ROW: Final = 0.2


@figure("construction-funnel", title="How the benchmark was made", caption=_FUNNEL, reading=_READ_FUNNEL)
@figure("construction-steps", title="The construction step by step", caption="{note} " + _FUNNEL, reading=_READ_FUNNEL)
@styled
def funnel(steps: pd.DataFrame, *, mark: str = "") -> Paper:
    """Draw what each step of the construction took in and kept, and why it left out the rest.

    Parameters
    ----------
    steps : step, n_in, n_out, reason, n: a row a step and reason, in order; reason and n are null where nothing is
        left out
    mark : words to write on the face of the figure; empty for none
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
        why = "; ".join(f"{reason}: {int(n):,}" for reason, n in zip(stated["reason"], stated["n"], strict=True))
        if why:
            axes.text(widest * 1.02, i + 0.2, label(why, 70), va="center", fontsize=SMALLEST_TYPE, color="#555555")
    name_rows(axes, names, 24)
    axes.set_xlim(0, widest * 1.9)
    axes.set_xticks([tick for tick in axes.get_xticks() if 0 <= tick <= widest])
    axes.spines["bottom"].set_bounds(0, widest)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlabel("items or cases (grey: taken in, blue: kept)", loc="left")
    write_mark(figure, mark)
    return figure


@figure(
    "construction-organs",
    title="Items left after each step",
    caption=(
        "{note} Items of each {by} after each step of the construction; colour: the share of those there were at first."
    ),
    reading="Rows that pale sooner than others lose more: the benchmark ends with fewer of them than the source had.",
)
@styled
def counts(left: pd.DataFrame, *, mark: str = "") -> Paper:
    """Draw how many items of each value are left after each step.

    Parameters
    ----------
    left : value, step, n, share: a row a value and step, in the order to draw them; share is of the items at first
    mark : see `funnel`
    """
    values, steps = left["value"].drop_duplicates().tolist(), left["step"].drop_duplicates().tolist()
    wide = left.pivot(index="value", columns="step").loc[values]
    figure = canvas(PAGE, rows_height(len(values), 0.2, 0.9))
    axes = figure.subplots()
    mesh = draw_matrix(
        axes,
        wide["share"][steps].to_numpy(dtype=float),
        across=labels(steps, 14),
        down=labels([title_case(str(value)) for value in values], 26),
        colours=SEQUENTIAL,
        norm=Normalize(0, 1),
        texts=[[f"{int(n):,}" for n in row] for row in wide["n"][steps].to_numpy()],
    )
    axes.set_xticklabels(labels(steps, 14), rotation=0)
    axes.xaxis.tick_top()
    scale_bar(figure, mesh, axes, "share left (%)", lambda share: f"{100 * share:.0f}")
    write_mark(figure, mark)
    return figure


@figure(
    "construction-difficulty",
    title="How hard the items are",
    caption=(
        "{note} Items by the share of right answers of the models that filtered them, kept and left out. Dashed: what "
        "blind guessing would get right on average, where items have options."
    ),
    reading=(
        "What is kept is what the models found hard. Kept items at or below the dashed line are hard for all of them, "
        "or their reference is wrong: the screening has to tell."
    ),
)
@styled
def difficulty(bins: pd.DataFrame, *, chance: float = np.nan, mark: str = "") -> Paper:
    """Draw how many items were answered rightly how often.

    Parameters
    ----------
    bins : low, high, kept, left_out: a row a bin of shares of right answers, with numbers of items
    chance : what guessing gets right; NaN where nothing is known of it
    mark : see `funnel`
    """
    figure = canvas(COLUMN, 2.2)
    axes = figure.subplots()
    width = bins["high"] - bins["low"]
    axes.bar(bins["low"], bins["left_out"], width, align="edge", color=COLOURS["missing"], edgecolor="white",
             bottom=bins["kept"], label="left out", gid="left_out")  # fmt: skip
    axes.bar(bins["low"], bins["kept"], width, align="edge", color=COLOURS["cases"], edgecolor="white", label="kept",
             gid="kept")  # fmt: skip
    if np.isfinite(chance):
        axes.axvline(chance, color="black", linestyle="--", linewidth=0.8, gid="chance")
    percent_axis(axes.xaxis)
    axes.set_xlim(0, 1)
    axes.set_xlabel("right answers (%)")
    axes.set_ylabel("items")
    axes.locator_params(axis="y", integer=True)
    axes.legend(frameon=False, loc="best")
    write_mark(figure, mark)
    return figure


@figure(
    "construction-responses",
    title="Who answered what",
    caption="{note} Responses of each responder: those that can be paired, and those flagged, by flag. At most twenty.",
    reading="A responder that refuses much is compared on the questions it chose: its strength is about these alone.",
)
@styled
def responses(counted: pd.DataFrame, *, mark: str = "") -> Paper:
    """Draw how many responses of each responder there are, by flag.

    Parameters
    ----------
    counted : model, n, and a column of counts for each flag, as `respond.responder_counts` gives them
    mark : see `funnel`
    """
    flags = [name for name in counted.columns if name not in ("model", "n", "usable") and counted[name].any()]
    rows = counted.head(_MOST_RESPONDERS)
    figure = canvas(PAGE, rows_height(len(rows), _ROW, 0.8))
    axes = figure.subplots()
    plain = rows["n"] - rows[flags].sum(axis=1)
    start = np.zeros(len(rows))
    colours = [COLOURS["cases"], *(colour for colour, _ in SERIES)]
    counts = {"without a flag": plain, **{flag: rows[flag] for flag in flags}}
    for (name, n), colour in zip(counts.items(), colours, strict=False):
        axes.barh(range(len(rows)), n, left=start, height=0.7, color=colour, label=name, gid=name)
        start = start + n.to_numpy()
    name_rows(axes, rows["model"].tolist(), 30)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlabel("responses", loc="left")
    axes.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.4 / (_ROW * max(len(rows), 3))), ncols=3)
    write_mark(figure, mark)
    return figure


@figure(
    "construction-meetings",
    title="Who meets whom",
    caption="{note} Cases in which the responses of two responders are compared.",
    reading=(
        "Even numbers let a ranking know all responders equally well. Where two groups never meet, no ranking of both "
        "can be made."
    ),
)
@styled
def meetings(met: pd.DataFrame, *, mark: str = "") -> Paper:
    """Draw how often every two responders meet.

    Parameters
    ----------
    met : model_1, model_2, n, as `mrb_lib.build.construct.pairing.design.meetings` gives them
    mark : see `funnel`
    """
    names = sorted({*met["model_1"], *met["model_2"]})
    place = {name: i for i, name in enumerate(names)}
    values = np.full((len(names), len(names)), np.nan)
    for one, other, n in met[["model_1", "model_2", "n"]].itertuples(index=False):
        values[place[other], place[one]] = n
    figure = canvas(PAGE, rows_height(len(names), 0.22, 1.1))
    axes = figure.subplots()
    shown = values[1:, :-1]
    mesh = draw_matrix(
        axes,
        shown,
        across=labels(names[:-1], 18),
        down=labels(names[1:], 24),
        colours=SEQUENTIAL,
        norm=Normalize(0, max(1.0, float(np.nanmax(values)))),
        texts=[["" if np.isnan(n) else f"{int(n):,}" for n in row] for row in shown],
        blank=np.triu(np.ones(shown.shape, dtype=bool), 1),
    )
    scale_bar(figure, mesh, axes, "cases", lambda n: f"{n:,.0f}" if n == round(n) else "")
    write_mark(figure, mark)
    return figure
