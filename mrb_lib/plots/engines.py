"""What the order of the responses does to a judge's probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from mrb_lib.plots.lettering import label, labels, title_case
from mrb_lib.plots.registry import figure
from mrb_lib.plots.style import COLOURS, PAGE, SERIES, Paper, canvas, styled

_PANELS_A_ROW = 3
_CROWDED = 500
_MANY = 2000
_NARROWEST = 1e-3
_GREY = "#555555"
# The line on which points lie where the order changes nothing, and where nothing else counts: name, words, dashes.
_LINES: tuple[tuple[str, str, tuple[float, tuple[float, ...]]], ...] = (
    ("diagonal", "the order does not matter", (0, ())),
    ("antidiagonal", "only the order matters", (0, (1, 1.5))),
)


@figure(
    "engine-orders",
    title="Probabilities in the two orders",
    caption=(
        "{note} Probability of response A with A shown first, against that with B shown first; {n_pairs} pairs, one a "
        "case and dimension; every panel has its own range. Without probabilities, and therefore not drawn: {silent}."
    ),
    reading=(
        "On the solid diagonal the order does not matter. On the dotted one only the order does: the judge gives the "
        "place shown first the same probability, whatever stands there. Read the axes first: a wide cloud in a narrow "
        "range is a judge that hardly prefers anything. Ratings of each response alone have no order, so their points "
        "lie on the diagonal by construction."
    ),
    needs=("preferences",),
)
@styled
def order_probabilities(pairs: pd.DataFrame, *, dimensions: Sequence[str] | None = None, mark: str = "") -> Paper:
    """Draw the probability of A with A shown first against that with B shown first, a panel a judge.

    Every panel is a square about one half that just holds its own points: judges that
    hardly differ from chance are seen as well as those that are sure.

    Parameters
    ----------
    pairs : judge, dimension, p_ab (A shown first), p_ba (B shown first), one row a point; none null
    dimensions : those to tell apart by colour and sign, in order, None for all; where there are more than
        `len(SERIES)` of them all points look alike
    mark : words for the figure's face, in the colour of warnings

    Raises
    ------
    ValueError
        There is no point to draw.
    """
    if pairs.empty:
        raise ValueError("no case has a probability in both orders; say so instead of drawing it")
    judges = list(dict.fromkeys(pairs["judge"]))
    columns = min(len(judges), _PANELS_A_ROW)
    rows = ceil(len(judges) / columns)
    width = min(PAGE, 0.6 + 2.2 * max(columns, 2))
    figure = canvas(width, rows * (width / max(columns, 2) - 0.15) + 0.7)
    grid = figure.subplots(rows, columns, squeeze=False)
    looks = _looks(list(dict.fromkeys(pairs["dimension"])) if dimensions is None else dimensions)
    for axes, judge, title in zip(grid.flat, judges, labels(judges, 34), strict=False):
        _panel(axes, pairs[pairs["judge"] == judge], looks)
        axes.set_title(title)
        axes.set_xlabel("probability of A, A shown first")
    for axes in list(grid.flat)[len(judges) :]:
        axes.set_axis_off()
    for axes in grid[:, 0]:
        axes.set_ylabel("probability of A, B shown first")
    figure.legend(handles=_handles(looks), loc="outside lower center", ncols=4)
    if mark:
        figure.suptitle(label(mark), x=0.01, ha="left", fontsize=7.5, weight="bold", color=COLOURS["simulated"])
    return figure


def _looks(dimensions: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Colour and marker of each dimension; empty where there are too many to tell apart."""
    return dict(zip(dimensions, SERIES, strict=False)) if len(dimensions) <= len(SERIES) else {}


def _panel(axes: Axes, part: pd.DataFrame, looks: dict[str, tuple[str, str]]) -> None:
    reach = _reach(part)
    span = (0.5 - reach, 0.5 + reach)
    for (name, _, dashes), ends in zip(_LINES, (span, span[::-1]), strict=True):
        axes.plot(span, ends, color=_GREY, linewidth=0.8, linestyle=dashes, zorder=3, gid=name)
    axes.axhline(0.5, color="#DDDDDD", linewidth=0.6, zorder=0)
    axes.axvline(0.5, color="#DDDDDD", linewidth=0.6, zorder=0)
    shown = [(name, part[part["dimension"] == name], look) for name, look in looks.items()]
    for name, points, (colour, marker) in shown or [("all", part, (COLOURS["judge"], "o"))]:
        axes.plot(
            points["p_ab"],
            points["p_ba"],
            marker,
            color=colour,
            markersize=3.2 if len(part) < _CROWDED else 2.2,
            markeredgewidth=0,
            alpha=0.75 if len(part) < _MANY else 0.3,
            gid=f"values {name}",
            rasterized=len(part) >= _MANY,  # so many outlines make a file that opens slowly
        )
    axes.set_xlim(*span)
    axes.set_ylim(*span)
    axes.set_aspect("equal", adjustable="box")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(nbins=4, steps=[1, 2, 2.5, 5, 10]))


def _reach(part: pd.DataFrame) -> float:
    """Half the side of a square about one half that holds every point, and no more than all probabilities."""
    farthest = float(np.abs(part[["p_ab", "p_ba"]].to_numpy(dtype=float) - 0.5).max())
    return max(_NARROWEST, min(1.08 * farthest, 0.52))


def _handles(looks: dict[str, tuple[str, str]]) -> list[Line2D]:
    lines = [Line2D([], [], label=words, color=_GREY, linewidth=0.8, linestyle=dashes) for _, words, dashes in _LINES]
    points = [
        Line2D([], [], linestyle="", marker=marker, color=colour, markersize=3.5, label=label(title_case(name), 20))
        for name, (colour, marker) in looks.items()
    ]
    return [*lines, *points]
