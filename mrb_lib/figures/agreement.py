"""How far the annotators agree: by dimension and coefficient, and pair by pair."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import ceil

import numpy as np
import pandas as pd
from matplotlib.colors import Normalize
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from mrb_lib.figures.intervals import draw_estimates
from mrb_lib.figures.lettering import label, labels, title_case
from mrb_lib.figures.matrix import draw_matrix, scale_bar
from mrb_lib.figures.registry import figure
from mrb_lib.figures.style import (
    COLOURS,
    NOT_AVAILABLE,
    PAGE,
    SEQUENTIAL,
    SERIES,
    Paper,
    canvas,
    name_rows,
    panel_grid,
    styled,
)

COEFFICIENTS: dict[str, str] = {
    "percent_agreement": "percent agreement",
    "cohen_kappa": "Cohen\u2019s kappa, mean of pairs",
    "fleiss_kappa": "Fleiss\u2019 kappa",
    "krippendorff_alpha": "Krippendorff\u2019s alpha",
    "gwet_ac1": "Gwet\u2019s AC1",
}
ORDERED: dict[str, str] = {
    "linear_kappa": "linear kappa, mean of pairs",
    "quadratic_kappa": "quadratic kappa, mean of pairs",
    "gwet_ac2": "Gwet\u2019s AC2, quadratic",
    "icc_2_1": "ICC(2,1)",
    "icc_2_k": "ICC(2,k)",
}
_MORE = (("#44AA99", "<"), ("#AA4499", ">"), ("#DDCC77", "p"), ("#661100", "h"), ("#6699CC", "X"))
_KAPPA, _AC1, _PERCENT = SERIES[1], SERIES[4], SERIES[0]
_MOST_WITH_TEXT = 10
_NEAR_CHANCE = 0.15


@figure(
    "agreement-dimensions",
    title="Agreement between annotators by dimension",
    caption="Coefficients of agreement with 95% cluster-bootstrap intervals, over all {n_annotators} annotators.",
    reading="1 is perfect agreement, 0 what chance gives (except for percent agreement). Compare within a coefficient.",
    needs=("annotations", "annotators"),
)
@styled
def coefficients(agreement: pd.DataFrame) -> Paper:
    """Draw every coefficient of every dimension with its interval.

    Parameters
    ----------
    agreement : dimension, and each of `COEFFICIENTS` with `_low` and `_high`; overall rows only; null where undefined.
        Those of `ORDERED` are drawn where any dimension has one.
    """
    names = COEFFICIENTS | ORDERED
    shown = [name for name in COEFFICIENTS if name in agreement.columns]
    shown += [name for name in ORDERED if name in agreement.columns and agreement[name].notna().any()]
    looks = dict(zip(names, (*SERIES[: len(COEFFICIENTS)], *_MORE), strict=True))
    figure = canvas(PAGE, 0.72 + 0.1 * len(shown) * max(len(agreement), 1) + 0.1 * len(agreement))
    axes = figure.subplots()
    step = 0.8 / len(shown)
    for i, name in enumerate(shown):
        y = np.arange(len(agreement)) + step * (i - (len(shown) - 1) / 2)
        colour, marker = looks[name]
        draw_estimates(
            axes, agreement, y, value=name, colour=colour, marker=marker,
            size=3.4, label=names[name], gid=name, missing=f"{names[name]}: {NOT_AVAILABLE}", missing_x=0.995,
        )  # fmt: skip
    for boundary in range(1, len(agreement)):
        axes.axhline(boundary - 0.5, color="#DDDDDD", linewidth=0.4)
    name_rows(axes, [title_case(name) for name in agreement["dimension"]], 28)
    axes.set_ylim(len(agreement) - 0.45, -0.55)
    for i, dimension in enumerate(agreement["dimension"]):
        figure.mark(axes, {"row": "annotators", "dimension": str(dimension)}, (i - 0.5, i + 0.5))
    axes.xaxis.set_major_locator(MaxNLocator(nbins=8, steps=[1, 2, 2.5, 5, 10]))
    axes.grid(axis="x")
    axes.set_xlabel("agreement (1 is perfect; for the chance-corrected coefficients 0 is chance)")
    if axes.get_legend_handles_labels()[0]:
        figure.legend(loc="outside lower center", ncols=min(len(shown), 5), columnspacing=1.2, handletextpad=0.3)
    return figure


@figure(
    "agreement-paradox",
    title="Agreement against prevalence and bias",
    caption=(
        "Percent agreement, Fleiss' kappa and Gwet's AC1 of each dimension (large) and each dimension in each {by} "
        "(small); a line joins kappa and AC1 of the same cases."
    ),
    reading=(
        "Long lines to the right of the left panel are the paradox: labels are uneven and kappa falls though percent "
        "agreement does not. Low points of both kinds are disagreement. To the right of the right panel, annotators "
        "use the labels differently."
    ),
    needs=("annotations", "annotators"),
)
@styled
def paradox(frame: pd.DataFrame) -> Paper:
    """Draw kappa and AC1 of each row against how unevenly the labels are used, and how far apart annotators use them.

    Parameters
    ----------
    frame : dimension, subfield (null for the whole), percent_agreement, fleiss_kappa, gwet_ac1,
        prevalence_index, bias_index; rows without a kappa and an index are counted, not drawn
    """
    figure = canvas(PAGE, 2.9)
    left, right = figure.subplots(1, 2, sharey=True)
    whole = frame["subfield"].isna().to_numpy(dtype=bool)
    for axes, index, text in (
        (left, "prevalence_index", "prevalence index (0: labels used evenly, 1: one label only)"),
        (right, "bias_index", "bias index (0: annotators use labels alike)"),
    ):
        x = frame[index].to_numpy(dtype=float)
        kappa, ac1 = (frame[name].to_numpy(dtype=float) for name in ("fleiss_kappa", "gwet_ac1"))
        both = ~np.isnan(x) & ~np.isnan(kappa) & ~np.isnan(ac1)
        axes.vlines(x[both], kappa[both], ac1[both], color="#BBBBBB", linewidth=0.5, zorder=1, gid="gaps")
        for name, (colour, marker), text_of in (
            ("percent_agreement", _PERCENT, "percent agreement"),
            ("gwet_ac1", _AC1, "Gwet\u2019s AC1"),
            ("fleiss_kappa", _KAPPA, "Fleiss\u2019 kappa"),
        ):
            y = frame[name].to_numpy(dtype=float)
            for part, size, alpha in ((both & ~whole, 2.6, 0.55), (both & whole, 5.0, 1.0)):
                drawn = axes.plot(x[part], y[part], marker, color=colour, markersize=size, alpha=alpha, zorder=2)
                drawn[0].set_gid(f"{name}-{index}")
                drawn[0].set_markeredgewidth(0)
            axes.plot([], [], marker, color=colour, markersize=4, label=text_of)
        left_out = int((~both).sum())
        if left_out:
            axes.set_title(f"{left_out} of {len(frame)} rows {NOT_AVAILABLE}", fontsize=6, color="#777777")
        if both.any() and kappa[both].min() < _NEAR_CHANCE:
            axes.axhline(0, color="#888888", linewidth=0.6, linestyle=(0, (2, 2)), zorder=0)
        axes.grid(axis="both")
        axes.xaxis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10]))
        axes.set_xlabel(text)
    left.set_ylabel("agreement")
    handles, names = left.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=3, columnspacing=1.6, handletextpad=0.3)
    return figure


@figure(
    "agreement-pairs",
    title="Agreement of every two annotators",
    caption=(
        "Cohen's kappa of every two annotators with its 95% cluster-bootstrap interval and the number of shared cases; "
        "{n_shown} of {n_all} annotators, those with the most annotations. Hatched: undefined."
    ),
    reading=(
        "A row or column darker than the rest points to an annotator who differs from all others; pairs whose "
        "intervals overlap widely may differ by chance."
    ),
    needs=("annotations", "annotators"),
)
@styled
def pairs(frame: pd.DataFrame, *, annotators: Sequence[str] | None = None) -> Paper:
    """Draw Cohen's kappa of every pair of annotators, a panel a dimension.

    Parameters
    ----------
    frame : dimension, annotator_1, annotator_2, n_cases, cohen_kappa, cohen_kappa_low, cohen_kappa_high
    annotators : the rows and columns, in this order; None for all by name
    """
    if annotators is None:
        annotators = sorted({*frame["annotator_1"], *frame["annotator_2"]})
    dimensions = list(dict.fromkeys(frame["dimension"]))
    wordy = len(annotators) <= _MOST_WITH_TEXT
    columns = min(len(dimensions), 3 if len(annotators) <= 4 else 2 if wordy else 1)
    width = min(PAGE, columns * (1.0 + (0.6 if wordy else 0.3) * len(annotators)) + 0.5)
    height = ceil(len(dimensions) / columns) * (0.7 + (0.42 if wordy else 0.22) * len(annotators))
    figure = canvas(max(width, 3.5), height)
    numbers = {name: i for i, name in enumerate(annotators)}
    names = labels(annotators, 16)
    least = frame["cohen_kappa"].min()
    norm = Normalize(min(0.0, 0.0 if np.isnan(least) else least), 1.0)
    panels = panel_grid(figure, len(dimensions), columns, shared=False)
    for axes, dimension in zip(panels, dimensions, strict=True):
        values, texts = _cells(frame[frame["dimension"] == dimension], numbers)
        mesh = draw_matrix(
            axes,
            values[1:, :-1],
            across=names[:-1],
            down=names[1:],
            colours=SEQUENTIAL,
            norm=norm,
            texts=[row[:-1] for row in texts[1:]] if wordy else None,
            blank=np.triu(np.ones((len(names) - 1, len(names) - 1), dtype=bool), k=1),
            write_missing=wordy,
        )
        axes.set_title(label(title_case(dimension), 30), color=COLOURS["judge"])
        for (j, one), (i, two) in combinations(enumerate(annotators), 2):
            figure.mark(axes, {"row": pair_name(one, two), "dimension": str(dimension)}, (i - 1, i), (j, j + 1))
        if wordy and max(map(len, names)) <= 12:
            axes.tick_params(axis="x", rotation=0)
    scale_bar(figure, mesh, figure.axes, "Cohen\u2019s kappa")
    return figure


def pair_name(one: str, two: str) -> str:
    """What a pair of annotators is called, whoever comes first."""
    return " and ".join(sorted((one, two)))


def _cells(kappas: pd.DataFrame, numbers: dict[str, int]) -> tuple[NDArray[np.float64], list[list[str]]]:
    """Kappas below the diagonal, and what is written on them, of annotators by their numbers."""
    values = np.full((len(numbers), len(numbers)), np.nan)
    texts = [["" for _ in numbers] for _ in numbers]
    columns = ("annotator_1", "annotator_2", "n_cases", "cohen_kappa", "cohen_kappa_low", "cohen_kappa_high")
    for first, second, n, kappa, low, high in zip(*(kappas[name] for name in columns), strict=True):
        if first in numbers and second in numbers and not pd.isna(kappa):
            i, j = sorted((numbers[first], numbers[second]), reverse=True)
            values[i, j] = kappa
            bounds = "" if pd.isna(low) or pd.isna(high) else f"\n{_short(low)} to {_short(high)}"
            texts[i][j] = f"{_short(kappa)}{bounds}\nn = {n:,.0f}"
    return values, texts


def _short(value: float) -> str:
    """A coefficient with two decimals, without the zero that all have before the point."""
    return f"{value:.2f}".replace("0.", ".", 1).replace("-", "\u2212")
