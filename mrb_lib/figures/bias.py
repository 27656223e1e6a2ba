"""What sways a judge besides quality, and its accuracy with and without the help of length."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.ticker import FuncFormatter

from mrb_lib.figures.intervals import draw_estimates, ordered_rows, panels
from mrb_lib.figures.registry import figure
from mrb_lib.figures.style import COLOURS, NOT_AVAILABLE, Paper, canvas, name_rows, percent_axis, rows_height, styled

_ROW = 0.165
_OFF_SCALE = 4.0
_NUMBERS = ("estimate", "low", "high")
_WIDTH = 5.2


@figure(
    "bias-errors",
    title="Errors towards longer and own responses",
    caption=(
        "Share choosing a kind of response where gold prefers the other, minus share choosing the other where gold "
        "prefers that kind; dimension {dimension}, with 95% intervals that are robust to clusters."
    ),
    reading=(
        "On the dashed line errors fall on both sides alike. Right of it the judge errs towards longer responses (or "
        "its own). This is an association: where longer responses are better and gold is fallible, a judge without "
        "any bias stands right of the line. n/a: it met no such response, or gold never prefers one kind; the data "
        "state the reason."
    ),
    needs=("preferences", "verdicts"),
)
def error_asymmetries(bias: pd.DataFrame, *, dimension: str) -> Paper:
    """Draw how much more often each judge errs towards a kind of response than away from it; a panel a kind.

    Parameters
    ----------
    bias : judge, dimension, subfield, bias, error_asymmetry, error_asymmetry_low, error_asymmetry_high, as the table
        `bias` gives them; the overall rows are drawn, kinds without any estimate left out
    """
    here = _overall(bias, dimension)
    here = here[here["bias"] != "style"]
    return panels(
        here[_has_estimates(here, "bias", "error_asymmetry") | (here["bias"] == "length")],
        value="error_asymmetry",
        panel="bias",
        order_by="length",
        axis_label="errors towards minus errors away from it (percentage points)",
        line_at=0.0,
    )


@figure(
    "bias-pull",
    title="The pull of length and style",
    caption=(
        "Log-odds of choosing the response with more of a property, for one standard deviation of the difference, "
        "{given} (and at equal length, for style); dimension {dimension}, with 95% intervals robust to clusters."
    ),
    reading=(
        "0 is no pull; 0.7 doubles the odds. Beyond quality, an interval that leaves out 0 is evidence of a bias; "
        "given a fallible gold label alone it is an association. Values beyond 4 are written at the edge. Markers that "
        "hardly any response has are left out."
    ),
    needs=("preferences", "verdicts"),
)
def log_odds(bias: pd.DataFrame, *, dimension: str) -> Paper:
    """Draw the pull of length and of each marker of style, in log-odds for one standard deviation.

    Parameters
    ----------
    bias : judge, dimension, subfield, bias, marker, estimate, low, high: the table `bias`, or its associations under
        these names; the overall rows for length and style are drawn, markers without any estimate left out. Estimates
        beyond 4 are written at the edge.
    """
    here = _overall(bias, dimension)
    here = here[here["bias"].isin(["length", "style"])]
    here = here.assign(marker=here["marker"].where(here["bias"] == "style", "length"))
    here = here[_has_estimates(here, "marker", "estimate") | (here["marker"] == "length")]
    off = here["estimate"].abs() > _OFF_SCALE
    edge = np.sign(here["estimate"]) * np.inf
    shown = here.assign(**{name: here[name].where(~off, edge) for name in _NUMBERS})
    order = ordered_rows(shown, rows="judge", value="estimate", panel="marker", by="length", group=None)["judge"]
    figure = panels(
        shown,
        value="estimate",
        panel="marker",
        order_by="length",
        axis_label="log-odds of choosing the response with more of it, for one standard deviation",
        line_at=0.0,
        limits=_limits(here.loc[~off, list(_NUMBERS)].to_numpy(dtype=float)),
    )
    heights = {judge: float(i) for i, judge in enumerate(order)}
    for axes, marker in zip(figure.axes, dict.fromkeys(here["marker"]), strict=False):
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _number(value)))
        beyond = here.loc[off & (here["marker"] == marker), ["judge", "estimate"]]
        for judge, estimate in beyond.itertuples(index=False):
            text = _number(round(estimate, 1))
            axes.text(
                1.0 if estimate > 0 else 0.0, heights[judge],
                f"{text} \u25b6" if estimate > 0 else f"\u25c0 {text}", transform=axes.get_yaxis_transform(),
                ha="right" if estimate > 0 else "left", va="center", fontsize=6, gid="off-scale",
            )  # fmt: skip
    return figure


def _number(value: float) -> str:
    return f"{value:g}".replace("-", "\u2212")


def _has_estimates(here: pd.DataFrame, by: str, value: str) -> pd.Series:
    """Tell of each row whether its panel has an estimate at all."""
    return here.groupby(by)[value].transform("count") > 0


def _limits(values: np.ndarray) -> tuple[float, float]:
    """A range about zero that holds all values; at least a half on either side."""
    values = values[np.isfinite(values)]
    reach = 1.08 * max(0.5, float(np.abs(values).max(initial=0.0)))
    return -reach, reach


@figure(
    "bias-length-controlled",
    title="Accuracy at equal length",
    caption=(
        "Accuracy on cases with a decisive gold label, as the responses are and as it would be at equal length "
        "(logistic regression on the length advantage of the better response); dimension {dimension}, 95% intervals."
    ),
    reading=(
        "A dot left of its bar: length helped the judge. Right of it: length misled it. n/a: length alone decides, so "
        "that nothing can be said about equal length."
    ),
    needs=("preferences", "verdicts"),
)
@styled
def length_controlled(bias: pd.DataFrame, *, dimension: str) -> Paper:
    """Draw each judge's accuracy at equal length, with its interval, beside that of the same cases as they are.

    Parameters
    ----------
    bias : judge, dimension, subfield, bias, accuracy, equal_length_accuracy with `_low` and `_high`, as in the table
        `bias`; the overall rows for length are drawn
    """
    here = _overall(bias, dimension)
    here = here[here["bias"] == "length"].sort_values(
        ["accuracy", "judge"], ascending=[False, True], na_position="last"
    )
    y = np.arange(len(here), dtype=float)
    figure = canvas(_WIDTH, rows_height(len(here), _ROW, 0.75))
    axes = figure.subplots()
    axes.hlines(y, here["accuracy"], here["equal_length_accuracy"], color="#BBBBBB", linewidth=2.4, gid="shifts")
    axes.plot(here["accuracy"], y, "|", color=COLOURS["cases"], markersize=7, markeredgewidth=1.4,
              label="as the responses are", gid="uncontrolled")  # fmt: skip
    draw_estimates(axes, here, y, value="equal_length_accuracy", label="at equal length", gid="controlled",
                   missing=f"{NOT_AVAILABLE} at equal length", missing_x=1.01)  # fmt: skip
    name_rows(axes, here["judge"], 28)
    percent_axis(axes.xaxis)
    axes.grid(axis="both")
    axes.set_xlabel("accuracy (%)")
    figure.legend(loc="outside lower right", ncols=2)
    return figure


def _overall(bias: pd.DataFrame, dimension: str) -> pd.DataFrame:
    return bias[(bias["dimension"] == dimension) & bias["subfield"].isna()]
