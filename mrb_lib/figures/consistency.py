"""Whether a judge's verdicts, and its probabilities, survive showing the responses in the other order."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from mrb_lib.figures.intervals import panels, rows_of, stacked
from mrb_lib.figures.lettering import label, labels, title_case
from mrb_lib.figures.registry import figure
from mrb_lib.figures.style import COLOURS, PAGE, SERIES, Paper, canvas, panel_grid, styled, write_mark

_PANELS_A_ROW = 3
_CROWDED = 500
_MANY = 2000
_NARROWEST = 1e-3
# The line on which points lie where the order changes nothing, and where nothing else counts: name, words, dashes.
_LINES: tuple[tuple[str, str, tuple[float, tuple[float, ...]]], ...] = (
    ("diagonal", "the order does not matter", (0, ())),
    ("antidiagonal", "only the order matters", (0, (1, 1.5))),
)


@figure(
    "order-consistency",
    title="Order consistency of the judges",
    caption=(
        "Share of the cases answered in both orders that got the same choice, by dimension, with 95% intervals "
        "(Wilson's, robust to clusters); judges ordered by {dimension}."
    ),
    reading=(
        "100 is a judge whose verdicts do not depend on the order. Below it stands bias or noise; the next figure "
        "tells which. Consistency is not accuracy: a judge can be consistently wrong."
    ),
    needs=("verdicts", "orders"),
)
def order_consistency(consistency: pd.DataFrame, *, order_by: str = "overall") -> Paper:
    """Draw the share of cases that got the same choice in both orders.

    Parameters
    ----------
    consistency : judge, dimension, consistency, consistency_low, consistency_high; null where no case was
        answered in both orders
    """
    return panels(
        consistency,
        value="consistency",
        axis_label="same choice in both orders (% of the cases answered in both)",
        order_by=order_by,
    )


@figure(
    "position-bias",
    title="Position bias of the judges",
    caption=(
        "Share of verdicts for the response shown first minus share for the one shown second, in percentage points, "
        "over cases answered in both orders, with 95% score intervals, robust to clusters; ordered by {dimension}."
    ),
    reading=(
        "Right of the dashed line: prefers what is shown first; left: what is shown last. Where an interval holds the "
        "line, the data do not show a preference on balance."
    ),
    needs=("verdicts", "orders"),
)
def position_bias(consistency: pd.DataFrame, *, order_by: str = "overall") -> Paper:
    """Draw the preference for the response shown first (right of zero) or second (left of zero).

    Parameters
    ----------
    consistency : judge, dimension, position_bias, position_bias_low, position_bias_high; from -1 to 1,
        null where no case was answered in both orders
    """
    return panels(
        consistency,
        value="position_bias",
        axis_label="position bias (percentage points; above 0: prefers the first shown)",
        order_by=order_by,
        line_at=0.0,
    )


@figure(
    "position-split",
    title="What makes verdicts differ between orders",
    caption=(
        "Share of pairs of verdicts in different orders that differ, in two parts that add up to it, over cases "
        "answered twice in each order; dimension {dimension}, with 95% intervals, robust to clusters."
    ),
    reading=(
        "Left: what showing the other response first does to a case, in either direction; where an interval holds the "
        "dashed line, the data do not show that order does anything. Right: noise, which repeats average out and "
        "swapping does not."
    ),
    needs=("verdicts", "orders"),
)
def preference_and_noise(consistency: pd.DataFrame, *, dimension: str) -> Paper:
    """Draw, for one dimension, what the order makes of the verdicts that differ between orders, and what chance does.

    Parameters
    ----------
    consistency : judge, dimension, position_preference, position_noise, each with _low and _high; null where no case
        was answered twice in each order
    """
    measures = {"position_preference": "made by the order", "position_noise": "noise: differ between repeats, too"}
    frame = stacked(rows_of(consistency, dimension=dimension), measures)
    return panels(
        frame,
        value="value",
        panel="measure",
        axis_label="verdicts that differ between the two orders (%)",
        order_by=measures["position_preference"],
        line_at=0.0,
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
    width = min(PAGE, 0.6 + 2.2 * max(columns, 2))
    figure = canvas(width, ceil(len(judges) / columns) * (width / max(columns, 2) - 0.15) + 0.7)
    dimensions = list(dict.fromkeys(pairs["dimension"])) if dimensions is None else dimensions
    looks = dict(zip(dimensions, SERIES, strict=False)) if len(dimensions) <= len(SERIES) else {}
    panels = panel_grid(figure, len(judges), columns, shared=False)
    for axes, judge, name in zip(panels, judges, labels(judges, 34), strict=True):
        _draw_probabilities(axes, pairs[pairs["judge"] == judge], looks)
        axes.set_title(name)
        axes.set_xlabel("probability of A, A shown first")
    for axes in panels[::columns]:
        axes.set_ylabel("probability of A, B shown first")
    handles, names = panels[0].get_legend_handles_labels()
    legend = figure.legend(handles, names, loc="outside lower center", ncols=4)
    for handle in legend.legend_handles:
        if handle is not None:
            handle.set_alpha(1)
    write_mark(figure, mark)
    return figure


def _draw_probabilities(axes: Axes, pairs: pd.DataFrame, looks: dict[str, tuple[str, str]]) -> None:
    farthest = float(np.abs(pairs[["p_ab", "p_ba"]].to_numpy(dtype=float) - 0.5).max())
    reach = max(_NARROWEST, min(1.08 * farthest, 0.52))
    span = (0.5 - reach, 0.5 + reach)
    for (name, text, dashes), ends in zip(_LINES, (span, span[::-1]), strict=True):
        axes.plot(span, ends, color="#555555", linewidth=0.8, linestyle=dashes, zorder=3, label=text, gid=name)
    axes.axhline(0.5, color="#DDDDDD", linewidth=0.6, zorder=0)
    axes.axvline(0.5, color="#DDDDDD", linewidth=0.6, zorder=0)
    series = [(name, pairs[pairs["dimension"] == name], look) for name, look in looks.items()]
    for name, points, (colour, marker) in series or [("all", pairs, (COLOURS["judge"], "o"))]:
        axes.plot(
            points["p_ab"],
            points["p_ba"],
            marker,
            color=colour,
            markersize=3.2 if len(pairs) < _CROWDED else 2.2,
            markeredgewidth=0,
            alpha=0.75 if len(pairs) < _MANY else 0.3,
            label=label(title_case(name), 20) if looks else None,
            gid=f"values {name}",
            rasterized=len(pairs) >= _MANY,  # so many outlines make a file that opens slowly
        )
    axes.set_xlim(*span)
    axes.set_ylim(*span)
    axes.set_aspect("equal", adjustable="box")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(nbins=4, steps=[1, 2, 2.5, 5, 10]))
