"""Probes: what each does to the verdicts of each judge, and how that grows with severity."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Final

import numpy as np
import pandas as pd
from matplotlib.colors import Normalize
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator
from PIL import ImageOps

from mrb_lib.benchmarks.images import thumbnail
from mrb_lib.figures.intervals import rows_of
from mrb_lib.figures.lettering import label, labels, percent
from mrb_lib.figures.matrix import cell_texts, draw_matrix, scale_bar
from mrb_lib.figures.registry import figure
from mrb_lib.figures.style import (
    COLOURS,
    PAGE,
    SEQUENTIAL,
    SERIES,
    Paper,
    canvas,
    panel_grid,
    percent_axis,
    rows_height,
    styled,
    write_mark,
)

_NEEDS: Final = ("preferences",)
_ROW: Final = 0.3
_PANELS_A_ROW: Final = 4
_APART: Final = 0.06
_SPREAD: Final = 0.4
_OTHERS: Final = ("#AAAAAA", ".")
_THUMB: Final = 0.72
_PIXELS: Final = 80
_BITS: Final = 5
"""Of 72 pixels and 8 bits, 165 pictures make an SVG of 1.5 MB; of these, one of 0.5 MB."""


@figure(
    "probe-profile",
    title="What changes verdicts that should not, and what should and does not",
    caption=(
        "{note} Share of verdicts on {dimension} that differ under each probe, at its highest severity, from those on "
        "the plain case, in % with 95% intervals, by judge. Framed: the judge significantly breaks what is expected "
        "(corrected over all judges and probes). n/a: no such verdicts."
    ),
    reading=(
        "Probes stand in the order of what is expected: the same verdicts, worse ones, or choices that flip. Part of "
        "what changes is what repeats differ by anyway. A cell without a frame does not prove that the judge is sound."
    ),
    needs=_NEEDS,
)
@styled
def probe_profile(table: pd.DataFrame, *, dimension: str | None = None, mark: str = "") -> Paper:
    """Draw the share of changed verdicts, a row a probe and a column a judge.

    Parameters
    ----------
    table : rows of `probes`: part, judge, dimension, probe, severity, expected, changed with _low and _high,
        kept_expectation; null where undefined
    dimension : the one to draw
    mark : words for the figure's face
    """
    rows = rows_of(table, part="probe", dimension=dimension)
    rows = rows[rows["probe"].notna()].assign(severity=rows["severity"].astype("float64"))
    rows = rows[rows["severity"].eq(rows.groupby("probe")["severity"].transform("max")) | rows["severity"].isna()]
    order = pd.Categorical(rows["expected"], ["same", "worse", "flips"])
    kinds = rows.assign(place=order.codes % 4).drop_duplicates("probe").sort_values(["place", "probe"])
    judges = sorted(rows["judge"].unique())

    def matrix(column: str) -> np.ndarray:
        wide = rows.pivot(index="probe", columns="judge", values=column).reindex(index=kinds["probe"], columns=judges)
        return wide.to_numpy(dtype=float, na_value=np.nan)

    values = matrix("changed")
    figure = canvas(PAGE, rows_height(len(kinds), _ROW, 1.5))
    axes = figure.subplots()
    known = kinds["expected"].where(kinds["expected"].notna(), "?")
    down = [f"{label(name, 30)} ({what})" for name, what in zip(kinds["probe"], known, strict=True)]
    mesh = draw_matrix(
        axes, values, across=labels(judges, 24), down=down, colours=SEQUENTIAL, norm=Normalize(0, 1),
        texts=cell_texts(values, matrix("changed_low"), matrix("changed_high")),
    )  # fmt: skip
    for i, j in np.argwhere(matrix("kept_expectation") == 0):
        for colour, width in (("white", 2.2), (COLOURS["judge"], 1.0)):
            corner, side = (j + _APART, i + _APART), 1 - 2 * _APART
            axes.add_patch(Rectangle(corner, side, side, fill=False, linewidth=width, edgecolor=colour, gid="broken"))
    scale_bar(figure, mesh, axes, "changed verdicts (%)", percent)
    write_mark(figure, mark)
    return figure


@figure(
    "probe-severity",
    title="How verdicts change as a probe gets more severe",
    caption=(
        "{note} Share of verdicts on {dimension} that differ from those on the plain case, by the severity of each "
        "probe that has steps, with 95% intervals. In colour, six judges at most: those whose share differs "
        "most between severities of a probe. The others are grey."
    ),
    reading=(
        "A line that stays low is a judge that the probe does not touch; one that rises from the first step changes "
        "its verdicts with what a clinician would hardly see. What repeats differ by anyway is part of each point."
    ),
    needs=_NEEDS,
)
@styled
def probe_severity(table: pd.DataFrame, *, dimension: str | None = None, mark: str = "") -> Paper:
    """Draw the share of changed verdicts by severity, a panel a probe and a line a judge.

    Parameters
    ----------
    table : as in `probe_profile`, with group: null where severities are steps
    dimension : the one to draw
    mark : words for the figure's face
    """
    rows = rows_of(table, part="probe", dimension=dimension)
    rows = rows[rows["group"].isna() & (rows.groupby("probe")["severity"].transform("nunique") > 1)]
    names, styles = sorted(rows["probe"].unique()), _styles(rows)
    columns = min(_PANELS_A_ROW, max(1, len(names)))
    figure = canvas(PAGE, 1.7 * ceil(max(1, len(names)) / columns) + 0.5)
    for axes, name in zip(panel_grid(figure, max(1, len(names)), columns), names, strict=False):
        for number, (judge, (colour, marker)) in enumerate(styles.items()):
            own = rows_of(rows, probe=name, judge=judge).sort_values("severity")
            x = own["severity"].to_numpy(dtype=float) + _SPREAD * ((number + 0.5) / len(styles) - 0.5)
            axes.vlines(x, own["changed_low"], own["changed_high"], color=colour, linewidth=0.9, gid="intervals")
            axes.plot(x, own["changed"], marker=marker, markersize=2.6, color=colour, gid="values")
        axes.set_title(label(name, 30), fontsize=6.5)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.tick_params(labelbottom=True)
        axes.set_xlabel("severity")
        percent_axis(axes.yaxis, 5)
        axes.grid(axis="both")
    for judge, (colour, marker) in reversed(styles.items()):
        if colour != _OTHERS[0]:
            figure.axes[0].plot([], [], marker=marker, markersize=2.6, color=colour, label=label(judge, 30))
    grey = sorted(judge for judge, (colour, _) in styles.items() if colour == _OTHERS[0])
    if grey:
        text = grey[0] if len(grey) == 1 else f"{len(grey)} other judges"
        figure.axes[0].plot([], [], marker=_OTHERS[1], markersize=2.6, color=_OTHERS[0], label=label(text, 30))
    figure.supylabel("changed verdicts (%)", fontsize=7)
    if styles:
        figure.legend(loc="outside lower center", ncols=min(4, len(styles)))
    write_mark(figure, mark)
    return figure


def _styles(rows: pd.DataFrame) -> dict[str, tuple[str, str]]:
    """The colour and the marker of each judge, in the order of drawing: colours, which are few, lie above grey."""
    shares = rows.groupby(["judge", "probe"])["changed"]
    rise = (shares.max() - shares.min()).groupby("judge").max()
    most = rise.sort_index().sort_values(ascending=False, kind="stable")
    named = dict(zip(sorted(most.index[: len(SERIES)]), SERIES, strict=False))
    grey = {str(judge): _OTHERS for judge in reversed(most.index[len(SERIES) :])}
    return grey | dict(reversed(named.items()))


@figure(
    "probe-pictures",
    title="What the probes of pictures do",
    caption=(
        "A picture of each modality, plain in the first row and under each probe below, at severity 4 where it has so "
        "many. An empty place: the probe does not apply, or shows no picture."
    ),
    reading=(
        "Ask a radiologist whether the faults are such as pictures have. A sound judge keeps its verdicts under most "
        "of these; what hides the finding should cost it accuracy."
    ),
    needs=(),
)
@styled
def probe_pictures(shown: pd.DataFrame, *, images: Mapping[str, bytes]) -> Paper:
    """Draw pictures in a grid, a row a probe and a column a modality.

    Parameters
    ----------
    shown : probe, severity, modality, image: a name in `images`; a row a picture
    images : the bytes by name
    """
    rows, columns = list(dict.fromkeys(shown["probe"])), sorted(shown["modality"].unique())
    rows = rows[:1] + sorted(rows[1:])
    figure = canvas(PAGE, _THUMB * len(rows) + 0.3)
    grid = figure.subplots(len(rows), len(columns), squeeze=False)
    for axes in grid.ravel():
        axes.set_axis_off()
    for _, row in shown.iterrows():
        picture = np.asarray(ImageOps.posterize(thumbnail(images[row["image"]], _PIXELS), _BITS))
        axes = grid[rows.index(row["probe"]), columns.index(row["modality"])]
        axes.imshow(picture, cmap="gray", vmin=0, vmax=255, interpolation="none")
    for axes, name in zip(grid[0], columns, strict=True):
        axes.set_title(label(name, 18), fontsize=5.5)
    for axes, name in zip(grid[:, 0], rows, strict=True):
        text = label(name.removeprefix("image/"), 18)
        axes.text(-0.08, 0.5, text, transform=axes.transAxes, ha="right", va="center", fontsize=5.5)
    return figure
