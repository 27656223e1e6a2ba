"""The mean ranks of judges, Nemenyi's critical difference, and the letters of the pairwise tests."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from mrb_lib.plots.lettering import labels
from mrb_lib.plots.registry import figure
from mrb_lib.plots.style import COLOURS, NOT_AVAILABLE, PAGE, Paper, canvas, rows_height, styled

_BAR = "#7A7A7A"


@figure(
    "critical-difference",
    title="Mean ranks, critical difference and letters",
    caption=(
        "Mean rank of every judge on {dimension} over the cases scored for all of them, with half the critical "
        "difference (CD, Nemenyi, level .05) to either side; bars join judges within one CD; judges that share a "
        "letter do not differ by the Holm-adjusted pairwise tests."
    ),
    reading=(
        "Judges joined by a bar, or with a letter in common, are not shown to differ, which is not proof that they are "
        "alike. Bars and letters need not agree: a bar compares ranks among all judges and is wide where many ranks "
        "are tied; a letter rests on the two judges alone."
    ),
    needs=("preferences", "annotations", "verdicts", "judges"),
)
@styled
def critical_difference(letters: pd.DataFrame) -> Paper:
    """Draw judges by mean rank, the groups within one critical difference, and the letters.

    Parameters
    ----------
    letters : judge, mean_rank, critical_difference (the same in all rows), letters; of one dimension, the most
        accurate judge first. Null ranks are drawn as n/a; a null critical difference draws none, and no groups.
    """
    rows = letters.sort_values(["mean_rank", "judge"], na_position="last").reset_index(drop=True)
    ranks = rows["mean_rank"].to_numpy(dtype=float)
    width = float(rows["critical_difference"].max()) if len(rows) else np.nan
    bars = groups_within(ranks, width)
    names = list(dict.fromkeys(letter for text in letters["letters"].dropna() for letter in split_letters(text)))
    figure = canvas(PAGE, rows_height(len(rows), 0.165, 0.75))
    shares = [9.0, 0.6 + 0.14 * len(bars), 0.6 + 0.22 * len(names)]
    axes, side, written = figure.subplots(1, 3, sharey=True, width_ratios=shares)
    _draw_ranks(axes, ranks, width)
    axes.set_yticks(np.arange(len(rows)), labels(rows["judge"], 30))
    axes.set_ylim(len(rows) - 0.3, -1.6)
    for number, (first, last) in enumerate(bars):
        side.plot([number, number], [first - 0.2, last + 0.2], color=_BAR, linewidth=2.2, gid="bar")
    side.set_xlim(-0.8, max(len(bars), 1) - 0.2)
    _head(side, "within CD" if not np.isnan(width) else "CD n/a")
    for at, text in enumerate(rows["letters"]):
        for letter in split_letters(text) if isinstance(text, str) else []:
            written.text(names.index(letter), at, letter, ha="center", va="center", gid="letter")
        if not isinstance(text, str):
            written.text(0, at, NOT_AVAILABLE, ha="center", va="center", color="#777777", gid="not-available")
    written.set_xlim(-0.8, max(len(names), 1) - 0.2)
    _head(written, "letters")
    return figure


def groups_within(ranks: NDArray[np.float64], width: float) -> list[tuple[int, int]]:
    """The longest runs of ascending ranks that span less than `width`, as positions of first and last; NaN in none."""
    known = ranks[~np.isnan(ranks)]
    if np.isnan(width):
        return []
    out: list[tuple[int, int]] = []
    for first, rank in enumerate(known):
        last = int(np.searchsorted(known, rank + width, side="left")) - 1
        if last > first and (not out or last > out[-1][1]):
            out.append((first, last))
    return out


def split_letters(text: str) -> list[str]:
    """The letters of a display, one by one; a number in parentheses is one letter."""
    return re.findall(r"\(\d+\)|.", text)


def _draw_ranks(axes: Axes, ranks: NDArray[np.float64], width: float) -> None:
    known = np.flatnonzero(~np.isnan(ranks))
    if not np.isnan(width) and len(known):
        half = width / 2
        axes.hlines(known, ranks[known] - half, ranks[known] + half, color="#BDBDBD", linewidth=1.6, gid="halves")
        start = float(ranks[known].min()) - half
        axes.plot([start, start + width], [-1, -1], "|-", color=COLOURS["judge"], linewidth=1.0, gid="ruler")
        axes.text(start + width, -1, f"  CD = {width:.2f}", va="center", gid="ruler-text")
    axes.plot(ranks[known], known, "o", color=COLOURS["judge"], markersize=3, gid="values")
    for at in np.flatnonzero(np.isnan(ranks)).tolist():
        axes.text(
            0.5,
            at,
            NOT_AVAILABLE,
            transform=axes.get_yaxis_transform(),
            ha="center",
            va="center",
            color="#777777",
            gid="not-available",
        )
    axes.margins(x=0.08)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=8, steps=[1, 2, 5, 10]))
    axes.set_xlabel("mean rank (1 is the best)")
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="both")


def _head(axes: Axes, text: str) -> None:
    """A column beside the ranks: a title, and nothing else of an axis."""
    axes.set_title(text, fontsize=6.5)
    axes.tick_params(left=False, labelleft=False, bottom=False, labelbottom=False)
    axes.spines[:].set_visible(False)
