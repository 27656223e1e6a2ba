"""Cases and judges on one scale, and the cases whose gold label is to be looked at again."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.ticker import FuncFormatter, MaxNLocator

from mrb_lib.plots.intervals import rows_of
from mrb_lib.plots.lettering import labels, percent
from mrb_lib.plots.registry import figure
from mrb_lib.plots.style import COLOURS, PAGE, SEQUENTIAL, Paper, canvas, rows_height, styled

_MOST_NAMES = 34
_MANY = 300


@figure(
    "models-difficulty",
    title="Difficulty of cases and ability of judges",
    caption=(
        "Posterior mean difficulty of the cases on {dimension} and ability of the judges with 95% intervals, in log "
        "odds by the Rasch model, 0 being the average judge."
    ),
    reading=(
        "Cases to the right of a judge are those it gets wrong more often than right. Cases to the right of all judges "
        "are beyond them, or carry a wrong gold label."
    ),
    needs=("preferences", "annotations", "verdicts", "judges"),
)
@styled
def item_map(frame: pd.DataFrame) -> Paper:
    """Draw judges by ability beside cases by difficulty, on the same scale of log odds.

    Parameters
    ----------
    frame : rows of `difficulty` of one dimension: part, judge, ability, ability_low, ability_high (judges),
        difficulty (cases); null values are not drawn, and counted below the axis
    """
    judges = frame[(frame["part"] == "judge") & frame["ability"].notna()].sort_values(["ability", "judge"])
    cases = frame.loc[frame["part"] == "case", "difficulty"].to_numpy(dtype=float)
    known = cases[~np.isnan(cases)]
    figure = canvas(PAGE * 0.75, rows_height(len(judges), 0.165, 2.0))
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[1.1, max(len(judges), 3) * 0.165])
    span = _span([known, judges[["ability_low", "ability_high", "ability"]].to_numpy(dtype=float).ravel()])
    above.hist(known, bins=np.linspace(*span, 41), color=COLOURS["cases"], gid="cases")
    above.set_ylabel("cases")
    above.set_title(
        f"Difficulty of {len(known):,} cases"
        + (f", {len(cases) - len(known):,} n/a" if len(cases) > len(known) else "")
    )
    y = np.arange(len(judges))
    value, low, high = (judges[name].to_numpy(dtype=float) for name in ("ability", "ability_low", "ability_high"))
    bounded = ~np.isnan(low) & ~np.isnan(high)
    below.hlines(y[bounded], low[bounded], high[bounded], color=COLOURS["judge"], linewidth=0.9, gid="intervals")
    below.plot(value, y, "o", color=COLOURS["judge"], markersize=2.6, gid="values")
    below.set_yticks(y, labels(judges["judge"], _MOST_NAMES))
    below.set_ylim(-0.7, max(len(judges), 1) - 0.3)
    below.tick_params(axis="y", length=0)
    below.set_title("Ability of the judges")
    below.set_xlabel("log odds (0: the average judge)")
    for axes in (above, below):
        axes.set_xlim(*span)
        axes.grid(axis="x")
    return figure


def _span(values: list[np.ndarray]) -> tuple[float, float]:
    known = np.concatenate(values)
    known = known[~np.isnan(known)]
    if not known.size:
        return -1.0, 1.0
    low, high = float(np.floor(known.min() * 2) / 2), float(np.ceil(known.max() * 2) / 2)
    return low, max(high, low + 1.0)


@figure(
    "models-suspicion",
    title="Difficulty, discrimination and doubtful gold labels",
    caption=(
        "Each case on {dimension}: accuracy of the judges against its difficulty (Rasch model) and its discrimination "
        "(2PL). Colour and size: the posterior probability that the gold label is wrong, 5% before any verdict."
    ),
    reading=(
        "Large bright points are cases to review: able judges give the other label. A low discrimination says that "
        "able judges do little better on the case than weak ones."
    ),
    needs=("preferences", "annotations", "verdicts", "judges"),
)
@styled
def suspicion(frame: pd.DataFrame) -> Paper:
    """Draw, for every case, the share of verdicts for the other label against its discrimination.

    Parameters
    ----------
    frame : rows of `difficulty` of one dimension and part "case": accuracy, difficulty, suspicion, discrimination
    """
    frame = rows_of(frame, part="case")
    figure = canvas(PAGE, 2.9)
    left, right = figure.subplots(1, 2)
    known = frame[frame["difficulty"].notna()].sort_values("suspicion", na_position="first")
    colours = known["suspicion"].fillna(0.0).to_numpy(dtype=float)
    norm = Normalize(0, 1)
    for axes, y, text in (
        (left, "difficulty", "difficulty (log odds)"),
        (right, "discrimination", "discrimination (2PL)"),
    ):
        axes.scatter(
            known["accuracy"],
            known[y],
            c=colours,
            cmap=SEQUENTIAL,
            norm=norm,
            s=6 + 24 * colours,
            linewidth=0,
            alpha=0.85,
            gid="cases",
            rasterized=len(known) >= _MANY,  # so many outlines make a file that opens slowly
        )
        _share_axis(axes)
        axes.set_ylabel(text)
        axes.grid(axis="both")
    bar = figure.colorbar(ScalarMappable(norm, SEQUENTIAL), ax=[left, right], fraction=0.03, pad=0.015, aspect=30)
    bar.set_label("probability that the gold label is wrong")
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=2)
    return figure


def _share_axis(axes: Axes) -> None:
    axes.set_xlim(-0.03, 1.03)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: percent(value)))
    axes.set_xlabel("accuracy of the judges on the case (%)")
