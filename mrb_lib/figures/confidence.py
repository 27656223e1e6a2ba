"""Whether judges are as sure as they should be, and what they gain by answering only where they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter

from mrb_lib.figures.intervals import overall, panels, rows_of
from mrb_lib.figures.lettering import labels, percent
from mrb_lib.figures.registry import figure
from mrb_lib.figures.style import COLOURS, NOT_AVAILABLE, PAGE, Paper, canvas, panel_grid, percent_axis, styled

MOST_COLUMNS = 6
_SHARE_HEIGHT = 0.22
_MARK = "D"


@figure(
    "reliability",
    title="Reliability diagrams",
    caption=(
        "Share of verdicts that name the gold label, by confidence in bins a twentieth wide; dimension {dimension}, "
        "with 95% intervals robust to clusters. n: verdicts; ECE: expected calibration error less its bias, in "
        "percentage points. Columns at the foot: share of the verdicts in each bin."
    ),
    reading=(
        "On the dashed line the judge is right as often as it says. Points below it: it is too sure; above it: it is "
        "too modest. A tall column far right with a point far below the line is the dangerous kind: often certain, "
        "often wrong."
    ),
    needs=("preferences", "annotations", "verdicts"),
)
@styled
def reliability(calibration: pd.DataFrame, *, dimension: str | None = None) -> Paper:
    """Draw how often each judge is right at each level of its confidence, a panel a judge.

    Parameters
    ----------
    calibration : rows of the table `calibration`. Part "bin": judge, n, confidence, accuracy, low, high; a null
        interval draws the point alone. Part "summary": judge, n, ece_debiased, the numbers above the panels; the judge
        with the smallest error comes first, those without a bin are left out.
    dimension : the one to draw; None where the table has one only

    Returns
    -------
    Figure
        Points with intervals against the diagonal of the calibrated judge; columns at the foot show the share of
        the verdicts in each bin. Validated by tests/figures/test_calibration.py.
    """
    bins = rows_of(calibration, part="bin", dimension=dimension)
    summary = rows_of(calibration, part="summary", dimension=dimension).sort_values("ece_debiased")
    judges = [name for name in dict.fromkeys(summary["judge"]) if name in set(bins["judge"])]
    columns = min(max(len(judges), 1), MOST_COLUMNS)
    side = min((PAGE - 0.5) / columns, 2.2)
    figure = canvas(columns * side + 0.5, ceil(max(len(judges), 1) / columns) * (side + 0.4) + 0.35)
    for axes, judge, name in _panels(figure, judges, columns):
        _diagram(axes, bins[bins["judge"] == judge])
        own = summary[summary["judge"] == judge].iloc[0]
        axes.set_title(f"{name}\n{_numbers(own)}", fontsize=6.5)
        figure.mark(axes, {"judge": judge})
    figure.supxlabel("confidence (%)", fontsize=7)
    figure.supylabel("right (%)", fontsize=7)
    return figure


def _panels(figure: Paper, judges: Sequence[str], columns: int) -> Iterator[tuple[Axes, str, str]]:
    """A panel a judge with the judge's name shortened; the lowest panel of each column shows its numbers."""
    panels = panel_grid(figure, len(judges), columns)
    for axes in panels[-columns:]:
        axes.tick_params(axis="x", labelbottom=True)
    return zip(panels, judges, labels(judges, 18 if columns > 4 else 26), strict=True)


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


@figure(
    "calibration-error",
    title="Calibration error of the judges",
    caption=(
        "Expected calibration error over bins of confidence a twentieth wide, debiased, with 95% intervals robust to "
        "clusters; judges ordered by {dimension}. n/a: no probabilities."
    ),
    reading=(
        "0 is a calibrated judge; an interval that reaches 0 does not show that it is calibrated, only that the data "
        "cannot tell. A small error is not a merit by itself: a coin that says 50% is calibrated."
    ),
    needs=("preferences", "annotations", "verdicts"),
)
def calibration_error(summary: pd.DataFrame, *, order_by: str = "overall") -> Paper:
    """Draw the expected calibration error of every judge and dimension, debiased, with its interval.

    Parameters
    ----------
    summary : judge, dimension, ece_debiased, ece_low, ece_high, null where a judge gives no probabilities: the rows of
        part "summary" of the table `calibration`
    """
    return panels(
        rows_of(summary, part="summary"),
        value="ece_debiased",
        low="ece_low",
        high="ece_high",
        axis_label="expected calibration error (percentage points; 0: calibrated)",
        order_by=order_by,
        line_at=0.0,
    )


@figure(
    "overconfidence",
    title="Overconfidence of the judges",
    caption=(
        "Mean confidence less accuracy, in percentage points, with 95% intervals robust to clusters; judges ordered by "
        "{dimension}. n/a: no probabilities."
    ),
    reading="Right of the dashed line the judge is too sure of itself on average, left of it too modest.",
    needs=("preferences", "annotations", "verdicts"),
)
def overconfidence(summary: pd.DataFrame, *, order_by: str = "overall") -> Paper:
    """Draw how far mean confidence lies above accuracy (right of zero: too sure).

    Parameters
    ----------
    summary : judge, dimension, overconfidence, overconfidence_low, overconfidence_high, null without probabilities:
        the rows of part "summary" of the table `calibration`
    """
    return panels(
        rows_of(summary, part="summary"),
        value="overconfidence",
        axis_label="mean confidence less accuracy (percentage points; above 0: too sure)",
        order_by=order_by,
        line_at=0.0,
    )


@figure(
    "calibration-shift",
    title="Shift of calibration between probes",
    caption=(
        "Change of mean confidence less accuracy under each probe, over verdicts given with and without it; dimension "
        "{dimension}, with paired 95% intervals robust to clusters."
    ),
    reading="Right of the dashed line the probe makes the judge surer than its accuracy warrants.",
    needs=("preferences", "annotations", "verdicts"),
)
def calibration_shift(shift: pd.DataFrame, *, dimension: str | None = None) -> Paper:
    """Draw what each probe does to each judge's overconfidence, a panel a probe.

    Parameters
    ----------
    shift : judge, probe, overconfidence_difference with _low and _high: the rows of part "shift" of the table
        `calibration`
    dimension : the one to draw; None where the table has one only
    """
    return panels(
        rows_of(shift, part="shift", dimension=dimension),
        value="overconfidence_difference",
        axis_label="change of overconfidence under the probe (percentage points)",
        panel="probe",
        line_at=0.0,
    )


@figure(
    "risk-coverage",
    title="Agreement against the share of cases answered",
    caption=(
        "Agreement with the {reference} on the cases a judge is surest of, of all that it answers: where the panel is "
        "split, no answer agrees; dimension {dimension}, with 95% intervals robust to clusters. Diamond: the threshold "
        "that promises {target} agreement at {confidence} confidence (fixed-sequence testing), as it does on cases it "
        "was not chosen on."
    ),
    reading=(
        "A curve that falls to the right: its confidence tells right from wrong. A flat one: it does not. The diamond "
        "stands at the share of all cases that may be left to the judge; where there is none, no threshold can be "
        "promised with this many cases. Each promise is for one judge chosen beforehand, at {confidence} confidence: "
        "of several, some may fail. One annotator would not agree with the others everywhere either: the table sets "
        "both against the same labels."
    ),
    needs=("preferences", "annotations", "verdicts"),
)
@styled
def risk_coverage(
    selective: pd.DataFrame,
    *,
    dimension: str | None = None,
    target: float = 0.9,
    delta: float = 0.1,
    reference: str = "majority",
) -> Paper:
    """Draw the agreement of each judge on the cases it is surest of, against the share of cases answered.

    Parameters
    ----------
    selective : rows of the table `selective`. Part "curve": judge, coverage, risk, risk_low, risk_high; judges in
        the order of their first rows. Part "guarantee", overall: judge, delta, coverage,
        agreement, low, high; null where nothing can be promised, which the panel says.
    dimension : the one to draw; None where the table has one only
    target : the agreement wanted, as a line
    delta : the risk at which the guarantee that is drawn may fail
    reference : what agreement is with, as in the table

    Returns
    -------
    Figure
        Validated by tests/figures/test_selective.py.
    """
    own = rows_of(selective, reference=reference, dimension=dimension)
    curve = rows_of(own, part="curve")
    guarantee = overall(rows_of(own, part="guarantee", delta=delta))
    judges = list(dict.fromkeys(curve["judge"]))
    columns = min(max(len(judges), 1), MOST_COLUMNS)
    side = min((PAGE - 0.5) / columns, 2.2)
    figure = canvas(max(columns * side + 0.5, 4.0), ceil(max(len(judges), 1) / columns) * (side + 0.3) + 0.55)
    floor = _floor(curve, guarantee, target)
    for axes, judge, name in _panels(figure, judges, columns):
        _curve(axes, curve[curve["judge"] == judge], target, floor)
        for _, promise in guarantee[guarantee["judge"] == judge].head(1).iterrows():
            _promise(axes, promise)
        axes.set_title(name, fontsize=6.5)
        figure.mark(axes, {"judge": judge})
    figure.supxlabel("cases answered (%)", fontsize=7)
    figure.supylabel(f"agreement with the {reference} (%)", fontsize=7)
    handles = [
        Line2D([], [], color=COLOURS["human"], linewidth=1.0, label=f"wanted: {percent(target)}%"),
        Line2D([], [], color=COLOURS["gold"], marker=_MARK, markersize=3.5, linewidth=0.9, label="promised, held out"),
    ]
    figure.legend(handles=handles, loc="outside upper left", ncols=2)
    return figure


def _floor(curve: pd.DataFrame, guarantee: pd.DataFrame, target: float) -> float:
    """The lowest agreement to show, rounded down to a tenth."""
    values = [1 - curve["risk"].to_numpy(dtype=float), guarantee["agreement"].to_numpy(dtype=float), np.array([target])]
    seen = np.concatenate(values)
    return float(max(np.floor(10 * np.nanmin(seen) - 1) / 10, 0.0))


def _curve(axes: Axes, rows: pd.DataFrame, target: float, floor: float) -> None:
    rows = rows.sort_values("coverage")
    axes.fill_between(rows["coverage"], 1 - rows["risk_high"], 1 - rows["risk_low"], color=COLOURS["judge"],
                      alpha=0.15, linewidth=0, gid="band")  # fmt: skip
    axes.plot(rows["coverage"], 1 - rows["risk"], color=COLOURS["judge"], linewidth=0.9, marker="o", markersize=1.2,
              gid="values")  # fmt: skip
    axes.axhline(target, color=COLOURS["human"], linewidth=1.0, zorder=1, gid="target")
    axes.set_xlim(0, 1.03)
    axes.set_ylim(floor, 1.02)
    percent_axis(axes.xaxis, 4)
    percent_axis(axes.yaxis, 4)
    axes.grid(axis="both")


def _promise(axes: Axes, row: pd.Series) -> None:
    x, y, low, high = (float(row[name]) for name in ("coverage", "agreement", "low", "high"))
    if np.isnan(x) or np.isnan(y):
        axes.text(
            0.96,
            0.04,
            f"promise: {NOT_AVAILABLE}",
            transform=axes.transAxes,
            ha="right",
            va="bottom",
            fontsize=6,
            color="#777777",
            gid="not-available",
        )
        return
    if not np.isnan(low) and not np.isnan(high):
        axes.vlines([x], [low], [high], color=COLOURS["gold"], linewidth=0.9, zorder=3, gid="promise-interval")
    axes.plot([x], [y], _MARK, color=COLOURS["gold"], markersize=3.5, zorder=4, gid="promise")
