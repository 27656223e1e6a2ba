"""Every two judges: how far apart they are, whether that could be chance, and the order of all."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm, ListedColormap, Normalize
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from mrb_lib.plots.intervals import rows_of
from mrb_lib.plots.lettering import labels, percent, signed_percent
from mrb_lib.plots.matrix import cell_texts, draw_matrix, scale_bar
from mrb_lib.plots.registry import figure
from mrb_lib.plots.style import (
    COLOURS,
    COLUMN,
    DIVERGING,
    PAGE,
    Paper,
    canvas,
    rows_height,
    styled,
    write_missing,
)

TESTS: dict[str, str] = {
    "mcnemar_exact": "exact McNemar tests",
    "sign_exact": "exact sign tests, on the cases whose scores differ,",
    "permutation_cluster": "permutation tests, which flip the signs of whole clusters,",
}
P_BOUNDS = (0.0, 0.001, 0.01, 0.05, 1.0)
_P_COLOURS = ("#08306B", "#2171B5", "#9ECAE1", "#F4F4F4")
_MOST_WITH_TEXT = 10
OUTCOMES: dict[str, str] = {
    "better": "row's judge better",
    "worse": "row's judge worse",
    "equivalent": "equivalent within the margin",
    "open": "neither shown",
}
_OUTCOME_COLOURS = ("#1B7837", "#762A83", "#9ECAE1", "#F4F4F4")
_BAR = "#7A7A7A"


def _pairs(table: pd.DataFrame, judges: Sequence[str] | None) -> tuple[pd.DataFrame, list[str]]:
    """The pairs of a table `significance`, and the judges from the one that is farthest ahead of the others."""
    pairs = rows_of(table, part="pair")
    if judges is None:
        ahead = pd.concat([pairs.set_index("judge_1")["difference"], -pairs.set_index("judge_2")["difference"]])
        lead = ahead.groupby(level=0).sum().rename_axis("judge").rename("lead").reset_index()
        judges = lead.sort_values(["lead", "judge"], ascending=[False, True])["judge"].tolist()
    return pairs, list(judges)


def _square(frame: pd.DataFrame, value: str, judges: Sequence[str], *, sign: float) -> NDArray[np.float64]:
    """The pairs as a full matrix, row judge against column judge; `sign` -1 negates the mirrored half."""
    half = frame[["judge_1", "judge_2"]].assign(value=frame[value])
    mirrored = half.rename(columns={"judge_1": "judge_2", "judge_2": "judge_1"}).assign(value=sign * half["value"])
    square = pd.concat([half, mirrored]).pivot(index="judge_1", columns="judge_2", values="value")
    return square.reindex(index=list(judges), columns=list(judges)).to_numpy(dtype=float)


def _canvas(count: int) -> Paper:
    side = COLUMN if count <= 3 else min(PAGE, 1.9 + 0.55 * count)
    return canvas(side, 0.86 * side)


@figure(
    "significance-p",
    title="Significance of the differences between judges",
    caption=(
        "Two-sided {tests} of every two judges on {dimension}, Holm-adjusted over these {n_tests} tests; judges "
        "from the best to the worst. Hatched: undefined."
    ),
    reading=(
        "Darker cells: the two judges differ. Pale cells: these cases do not tell them apart, which does not show them "
        "equal. Read the sizes of the differences beside them."
    ),
    needs=("preferences", "annotations", "verdicts", "judges"),
)
@styled
def p_values(pairs: pd.DataFrame, *, judges: Sequence[str] | None = None) -> Paper:
    """Draw the adjusted p-value of every pair, in four steps of colour.

    Parameters
    ----------
    pairs : judge_1, judge_2, p_adjusted of one dimension; null where undefined
    judges : rows and columns, in this order; None for the one that is farthest ahead of the others first
    """
    pairs, judges = _pairs(pairs, judges)
    values = _square(pairs, "p_adjusted", judges, sign=1.0)[1:, :-1]
    wordy = len(judges) <= _MOST_WITH_TEXT
    texts = [["" if np.isnan(p) else "<.001" if p < 0.001 else f"{p:.3f}".lstrip("0") for p in row] for row in values]
    names = labels(judges, 28)
    figure = _canvas(len(judges))
    axes = figure.subplots()
    mesh = draw_matrix(
        axes,
        values,
        across=names[:-1],
        down=names[1:],
        colours=ListedColormap(_P_COLOURS),
        norm=BoundaryNorm(P_BOUNDS, len(_P_COLOURS)),
        texts=texts if wordy else None,
        blank=np.triu(np.ones(values.shape, dtype=bool), k=1),
        write_missing=wordy,
    )
    scale_bar(figure, mesh, axes, "adjusted p")
    return figure


@figure(
    "significance-differences",
    title="Differences of accuracy between judges",
    caption=(
        "Accuracy of the row's judge minus that of the column's on {dimension}, in percentage points, with 95% paired "
        "intervals of the cluster bootstrap, or of Student's t where clusters are few (with more than ten judges: a "
        "dot where the interval leaves out zero); judges from the best to the worst."
    ),
    reading=(
        "Green: the row's judge is better. Differences whose interval holds zero are not established. An interval is "
        "for one pair at a time; the adjusted p-values are for all pairs together."
    ),
    needs=("preferences", "annotations", "verdicts", "judges"),
)
@styled
def differences(pairs: pd.DataFrame, *, judges: Sequence[str] | None = None) -> Paper:
    """Draw the difference of accuracy of every pair, row minus column, with its interval.

    Where there are too many judges for text, a dot marks the pairs whose interval leaves out zero.

    Parameters
    ----------
    pairs : judge_1, judge_2, difference (judge_1 minus judge_2, as a fraction), low, high of one dimension
    judges : rows and columns, in this order; None for the one that is farthest ahead of the others first
    """
    pairs, judges = _pairs(pairs, judges)
    values = _square(pairs, "difference", judges, sign=-1.0)
    ends = np.stack([_square(pairs, end, judges, sign=-1.0) for end in ("low", "high")])
    low, high = ends.min(axis=0), ends.max(axis=0)
    wordy = len(judges) <= _MOST_WITH_TEXT
    texts = np.where((low > 0) | (high < 0), "\u25cf", "").tolist()
    if wordy:
        texts = cell_texts(values, low, high, signed_percent, bound=percent)
    widest = float(np.nanmax(np.abs(values))) if np.isfinite(values).any() else 1.0
    names = labels(judges, 28)
    figure = _canvas(len(judges))
    axes = figure.subplots()
    mesh = draw_matrix(
        axes,
        values,
        across=names,
        down=names,
        colours=DIVERGING,
        norm=Normalize(-max(widest, 0.01), max(widest, 0.01)),
        texts=texts,
        blank=np.eye(len(judges), dtype=bool),
        write_missing=wordy,
    )
    scale_bar(figure, mesh, axes, "row minus column (percentage points)", signed_percent)
    return figure


@figure(
    "significance-outcomes",
    title="What is shown of every two judges",
    caption=(
        "Every two judges on {dimension}: a difference (Holm-adjusted p of the {tests} at most .05, and the mean "
        "pointing the same way), or equivalence within {margin} of accuracy (two one-sided tests, Holm-adjusted), or "
        "neither; = marks equivalence, also where there is a difference as well; judges from the best to the worst. "
        "Hatched: undefined."
    ),
    reading=(
        "Green and purple: one judge is better. Blue: the two may stand in for each other, as far as the margin goes. "
        "Pale: these cases decide neither. A coloured cell with = differs, but by less than the margin."
    ),
    needs=("preferences", "annotations", "verdicts", "judges"),
)
@styled
def outcomes(pairs: pd.DataFrame, *, judges: Sequence[str] | None = None) -> Paper:
    """Draw what is shown of every pair: that one judge is better, that both are equivalent, or neither.

    Where two judges differ significantly and by less than the margin, the cell has the colour of the difference
    and the sign of equivalence.

    Parameters
    ----------
    pairs : judge_1, judge_2, difference, only_1, only_2, test, p_adjusted, equivalent (nullable) of one dimension.
        Where the test counts cases, the judge that wins more of them must be the one with the higher mean.
    judges : rows and columns, in this order; None for the one that is farthest ahead of the others first
    """
    pairs, judges = _pairs(pairs, judges)
    means = np.sign(pairs["difference"].to_numpy(dtype=float))
    wins = np.sign((pairs["only_1"] - pairs["only_2"]).to_numpy(dtype=float))
    wins = np.where(pairs["test"] == "permutation_cluster", means, wins)
    tested = pairs.assign(
        sign=np.where((pairs["p_adjusted"] <= 0.05) & (wins == means), wins, 0.0),
        alike=pairs["equivalent"].astype("boolean").astype("Float64").to_numpy(dtype=float, na_value=np.nan),
    ).dropna(subset="p_adjusted")
    sign = _square(tested, "sign", judges, sign=-1.0)
    alike = _square(tested, "alike", judges, sign=1.0) == 1
    code = np.select([np.isnan(sign), sign > 0, sign < 0, alike], [np.nan, 0.0, 1.0, 2.0], default=3.0)
    names = labels(judges, 28)
    figure = _canvas(len(judges))
    figure.set_figheight(figure.get_figheight() + 0.3)
    axes = figure.subplots()
    draw_matrix(
        axes,
        code,
        across=names,
        down=names,
        colours=ListedColormap(_OUTCOME_COLOURS),
        norm=BoundaryNorm(np.arange(-0.5, 4), len(_OUTCOME_COLOURS)),
        texts=[["=" if same else "" for same in row] for row in alike],
        blank=np.eye(len(judges), dtype=bool),
        write_missing=len(judges) <= _MOST_WITH_TEXT,
    )
    handles = [
        Patch(facecolor=colour, edgecolor="#BBBBBB", linewidth=0.4, label=text)
        for colour, text in zip(_OUTCOME_COLOURS, OUTCOMES.values(), strict=True)
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=4 if len(judges) > 7 else 2)
    return figure


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
    for height, text in rows["letters"].dropna().items():
        for letter in split_letters(text):
            written.text(names.index(letter), height, letter, ha="center", va="center", gid="letter")
    write_missing(written, np.flatnonzero(rows["letters"].isna()))
    written.set_xlim(-0.8, max(len(names), 1) - 0.2)
    _head(written, "letters")
    return figure


def groups_within(ranks: NDArray[np.float64], width: float) -> list[tuple[int, int]]:
    """The longest runs of ascending ranks that span less than `width`, as positions of first and last; NaN in none."""
    ascending = ranks[~np.isnan(ranks)]
    if np.isnan(width):
        return []
    out: list[tuple[int, int]] = []
    for first, rank in enumerate(ascending):
        last = int(np.searchsorted(ascending, rank + width, side="left")) - 1
        if last > first and (not out or last > out[-1][1]):
            out.append((first, last))
    return out


def split_letters(text: str) -> list[str]:
    """The letters of a display, one by one; a number in parentheses is one letter."""
    return re.findall(r"\(\d+\)|.", text)


def _draw_ranks(axes: Axes, ranks: NDArray[np.float64], width: float) -> None:
    ranked = np.flatnonzero(~np.isnan(ranks))
    if not np.isnan(width) and len(ranked):
        half = width / 2
        axes.hlines(ranked, ranks[ranked] - half, ranks[ranked] + half, color="#BDBDBD", linewidth=1.6, gid="halves")
        start = float(ranks[ranked].min()) - half
        axes.plot([start, start + width], [-1, -1], "|-", color=COLOURS["judge"], linewidth=1.0, gid="ruler")
        axes.text(start + width, -1, f"  CD = {width:.2f}", va="center", gid="ruler-text")
    axes.plot(ranks[ranked], ranked, "o", color=COLOURS["judge"], markersize=3, gid="values")
    write_missing(axes, np.flatnonzero(np.isnan(ranks)))
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
