"""Whether judges are as sure as they should be: reliability diagrams, calibration error, overconfidence, shift."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter

from mrb_lib.plots.intervals import panels
from mrb_lib.plots.lettering import labels, percent
from mrb_lib.plots.style import COLOURS, PAGE, Paper, canvas, styled

MOST_COLUMNS = 6
_SHARE_HEIGHT = 0.22


@styled
def reliability(bins: pd.DataFrame, summary: pd.DataFrame) -> Paper:
    """Draw how often each judge is right at each level of its confidence, a panel a judge.

    Parameters
    ----------
    bins : rows `bin` of `mrb_lib.stats.confidence.calibration.calibration`, of one dimension and binning: judge, n,
        confidence, accuracy, low, high; a null interval draws the point alone
    summary : judge, n, ece_debiased, of the same dimension: the numbers above the panels; judges in its order,
        those without a bin are left out

    Returns
    -------
    Figure
        Points with intervals against the diagonal of the calibrated judge; columns at the foot show the share of
        the verdicts in each bin. Validated by tests/plots/test_calibration.py.
    """
    judges = [name for name in dict.fromkeys(summary["judge"]) if name in set(bins["judge"])]
    columns = min(max(len(judges), 1), MOST_COLUMNS)
    bands = ceil(max(len(judges), 1) / columns)
    side = min((PAGE - 0.5) / columns, 2.2)
    figure = canvas(columns * side + 0.5, bands * (side + 0.4) + 0.35)
    grid = figure.subplots(bands, columns, sharex=True, sharey=True, squeeze=False)
    known = summary.drop_duplicates("judge").set_index("judge")
    width = 18 if columns > 4 else 26
    for axes, name, title in zip(grid.flat, judges, labels(judges, width), strict=False):
        _diagram(axes, bins[bins["judge"] == name])
        axes.set_title(f"{title}\n{_numbers(known.loc[name])}", fontsize=6.5)
    trim(list(grid.flat), len(judges), columns)
    figure.supxlabel("confidence (%)", fontsize=7)
    figure.supylabel("right (%)", fontsize=7)
    return figure


def _diagram(axes: Axes, rows: pd.DataFrame) -> None:
    x, y, low, high = (rows[name].to_numpy(dtype=float) for name in ("confidence", "accuracy", "low", "high"))
    n = rows["n"].to_numpy(dtype=float)
    axes.plot([0.5, 1], [0.5, 1], color="#888888", linewidth=0.6, linestyle=(0, (2, 2)), zorder=1, gid="calibrated")
    axes.bar(x, _SHARE_HEIGHT * n / n.sum(), width=0.025, color=COLOURS["cases"], alpha=0.45, linewidth=0, gid="shares")
    bounded = ~np.isnan(low) & ~np.isnan(high)
    axes.vlines(x[bounded], low[bounded], high[bounded], color=COLOURS["judge"], linewidth=0.8, gid="intervals")
    axes.plot(x, y, "o", color=COLOURS["judge"], markersize=2.6, gid="values")
    axes.set_xlim(0.47, 1.03)
    axes.set_ylim(0, 1.03)
    axes.xaxis.set_major_locator(FixedLocator([0.5, 0.75, 1.0]))
    axes.yaxis.set_major_locator(FixedLocator([0.0, 0.25, 0.5, 0.75, 1.0]))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: percent(value)))
    axes.grid(axis="both")


def _numbers(row: pd.Series) -> str:
    error = "" if np.isnan(row["ece_debiased"]) else f", ECE {100 * row['ece_debiased']:.1f}"
    return f"n {int(row['n'])}{error}"


def trim(axes: Sequence[Axes], used: int, columns: int) -> None:
    """Take away the panels of a grid that nothing is drawn in; the lowest of each column shows its numbers."""
    for i, each in enumerate(axes):
        if i >= used:
            each.set_axis_off()
        elif i + columns >= used:
            each.tick_params(axis="x", labelbottom=True)


def calibration_error(summary: pd.DataFrame, *, order_by: str = "overall") -> Paper:
    """Draw the expected calibration error of every judge and dimension, debiased, with its interval.

    Parameters
    ----------
    summary : judge, dimension, ece_debiased, ece_low, ece_high; null where a judge gives no probabilities
    """
    return panels(
        summary,
        value="ece_debiased",
        low="ece_low",
        high="ece_high",
        axis_label="expected calibration error (percentage points; 0: calibrated)",
        order_by=order_by,
        line_at=0.0,
    )


def overconfidence(summary: pd.DataFrame, *, order_by: str = "overall") -> Paper:
    """Draw how far mean confidence lies above accuracy (right of zero: too sure).

    Parameters
    ----------
    summary : judge, dimension, overconfidence, overconfidence_low, overconfidence_high; null without probabilities
    """
    return panels(
        summary,
        value="overconfidence",
        low="overconfidence_low",
        high="overconfidence_high",
        axis_label="mean confidence less accuracy (percentage points; above 0: too sure)",
        order_by=order_by,
        line_at=0.0,
    )


def calibration_shift(shift: pd.DataFrame) -> Paper:
    """Draw what each probe does to each judge's overconfidence, a panel a probe.

    Parameters
    ----------
    shift : rows `shift` of one dimension: judge, probe, overconfidence_difference with _low and _high
    """
    return panels(
        shift,
        value="overconfidence_difference",
        low="overconfidence_difference_low",
        high="overconfidence_difference_high",
        axis_label="change of overconfidence under the probe (percentage points)",
        panel="probe",
        line_at=0.0,
    )
