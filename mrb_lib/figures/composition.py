"""What a benchmark is made of: how many cases of each kind, and how long their texts are."""

from __future__ import annotations

from typing import cast

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.container import BarContainer
from matplotlib.ticker import PercentFormatter

from mrb_lib.figures.lettering import labels, title_case
from mrb_lib.figures.registry import figure
from mrb_lib.figures.style import COLOURS, COLUMN, Paper, canvas, rows_height, styled

MOST_BARS = 40
_SIDES = {
    "A": ("response A", COLOURS["A"], "-"),
    "B": ("response B", COLOURS["B"], (0, (4, 1))),
}


@figure(
    "composition-organs",
    title="Cases by organ",
    caption="Number of cases of each body region; cases that state none are hatched.",
    reading="The longer the bar, the more a score over all cases is a score on that region.",
    needs=("organ",),
)
@figure(
    "composition-departments",
    title="Cases by department",
    caption="Number of cases of each clinical department; cases that state none are hatched.",
    reading=(
        "Compare with the case mix of the clinic where a judge would be used: weights differ from hospital to hospital."
    ),
    needs=("department",),
)
@figure(
    "composition-modalities",
    title="Cases by imaging modality",
    caption="Number of cases of each imaging modality; cases that state none are hatched.",
    reading="A modality that is rare here says little about judges on it, even if their score over all cases is high.",
    needs=("modality",),
)
@figure(
    "composition-sources",
    title="Cases by source dataset",
    caption="Number of cases of each source dataset ({n_shown} of {n_all} shown, largest first).",
    reading="One dominant source means that results may not carry over to others.",
    needs=("dataset",),
)
@styled
def bars(counts: pd.DataFrame, *, by: str) -> Paper:
    """Draw the number of cases of each kind, the most frequent first.

    Parameters
    ----------
    counts : `by` and n_cases, one row a kind; a null kind is drawn last, in grey, as "not stated". Of more than
        `MOST_BARS` kinds the most frequent are drawn.
    """
    counts = counts.sort_values("n_cases", ascending=False, kind="stable").head(MOST_BARS)
    stated = counts[by].notna()
    kinds = pd.concat([counts[stated].sort_values(["n_cases", by], ascending=[False, True]), counts[~stated]])
    names = [*labels(map(title_case, kinds[by].dropna()), 28), *["not stated"] * int((~stated).sum())]
    figure = canvas(COLUMN, rows_height(len(kinds), 0.17, 0.45))
    axes = figure.subplots()
    sns.barplot(x=kinds["n_cases"].to_numpy(), y=np.arange(len(kinds)), orient="y", errorbar=None, width=0.72,
                color=COLOURS["cases"], saturation=1, ax=axes)  # fmt: skip
    for bar in axes.patches[int(stated.sum()) :]:
        bar.set(facecolor=COLOURS["missing"], edgecolor="#999999", hatch="/////")
    axes.bar_label(cast(BarContainer, axes.containers[0]), fmt="{:,.0f}", padding=2, fontsize=6)
    axes.set_yticks(range(len(kinds)), names)
    axes.set_ylim(max(len(kinds), 3) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(0, max([*kinds["n_cases"], 1]) * 1.15)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.locator_params(axis="x", nbins=5, integer=True)
    axes.grid(axis="x")
    axes.set_xlabel("cases")
    for i, kind in enumerate(kinds[by].dropna()):
        figure.mark(axes, {"row": "cases", "subfield": str(kind)}, (i - 0.5, i + 0.5))
    return figure


@figure(
    "composition-lengths",
    title="Length of the responses",
    caption="Share of the responses with at most the given number of words, for responses A and B.",
    reading="Where the curves lie on one another, neither side is longer; a curve crosses the grey line at its median.",
)
@styled
def lengths(frame: pd.DataFrame) -> Paper:
    """Draw how long the responses are: the share of them with at most so many words.

    Parameters
    ----------
    frame : side ("A" or "B") and words, one row a response
    """
    figure = canvas(COLUMN, 2.4)
    axes = figure.subplots()
    for side, (name, colour, dash) in _SIDES.items():
        words = frame.loc[frame["side"] == side, "words"]
        sns.ecdfplot(x=words, ax=axes, color=colour, linestyle=dash, label=name)
    longest = float(frame["words"].max()) if len(frame) else 1.0
    if longest > 500:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.minorticks_off()
    axes.set_xlim(1 if longest > 500 else 0, max(longest, 1.0))
    axes.axhline(0.5, color="#BBBBBB", linewidth=0.5, zorder=0)
    axes.yaxis.set_major_formatter(PercentFormatter(1))
    axes.set_xlabel("words")
    axes.set_ylabel("responses of at most this length")
    axes.legend(loc="best")
    return figure
