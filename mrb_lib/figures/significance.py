"""Every two judges: how far apart they are, whether that could be chance, and the order of all."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.colors import BoundaryNorm, ListedColormap, Normalize
from matplotlib.patches import Patch
from numpy.typing import NDArray

from mrb_lib.figures.intervals import rows_of
from mrb_lib.figures.lettering import labels, percent, signed_percent
from mrb_lib.figures.matrix import cell_texts, draw_matrix, scale_bar
from mrb_lib.figures.registry import figure
from mrb_lib.figures.style import (
    COLOURS,
    COLUMN,
    DIVERGING,
    PAGE,
    Paper,
    canvas,
    percent_axis,
    rows_height,
    styled,
    write_missing,
)

TESTS: dict[str, str] = {
    "mcnemar_exact": "exact McNemar tests",
    "permutation": "permutation tests of the mean difference, which flip the signs of the cases' differences,",
    "permutation_cluster": "permutation tests of the mean difference, which flip the signs of whole clusters,",
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
        "Every two judges on {dimension}: a difference of mean accuracy (Holm-adjusted p of the {tests} at most .05), "
        "or equivalence of the same mean within {margin} (two one-sided tests, Holm-adjusted), or "
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
    pairs : judge_1, judge_2, difference, p_adjusted, equivalent (nullable) of one dimension
    judges : rows and columns, in this order; None for the one that is farthest ahead of the others first
    """
    pairs, judges = _pairs(pairs, judges)
    tested = pairs.assign(
        sign=np.where(pairs["p_adjusted"] <= 0.05, np.sign(pairs["difference"].to_numpy(dtype=float)), 0.0),
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
        for colour, (name, text) in zip(_OUTCOME_COLOURS, OUTCOMES.items(), strict=True)
        if name != "equivalent" or tested["alike"].notna().any()
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=4 if len(judges) > 7 else 2)
    return figure


@figure(
    "judge-order",
    title="Judges in order of accuracy, with letters",
    caption=(
        "Accuracy of every judge on {dimension} with the 95% interval that the table recommends, the most accurate "
        "first; judges that share a letter are not shown to differ in accuracy (Holm-adjusted {tests})."
    ),
    reading=(
        "Judges with a letter in common are not shown to differ, which is not proof that they are alike. Read the "
        "letters, not overlapping intervals: judges answer the same cases, and a pair may differ clearly where their "
        "intervals overlap."
    ),
    needs=("preferences", "annotations", "verdicts", "judges"),
)
@styled
def judge_order(letters: pd.DataFrame) -> Paper:
    """Draw judges by accuracy, with interval and letters.

    Parameters
    ----------
    letters : judge, accuracy, low, high, letters; of one dimension, the most accurate judge first. A null accuracy is
        drawn as n/a, null letters as well; a null interval draws the point alone
    """
    rows = letters.reset_index(drop=True).reset_index()
    names = list(dict.fromkeys(letter for text in rows["letters"].dropna() for letter in split_letters(text)))
    figure = canvas(PAGE, rows_height(len(rows), 0.165, 0.75))
    axes, written = figure.subplots(1, 2, sharey=True, width_ratios=[9.0, 0.6 + 0.22 * len(names)])
    y, value, low, high = (rows[name].to_numpy(dtype=float) for name in ("index", "accuracy", "low", "high"))
    axes.hlines(y, low, high, color=COLOURS["judge"], linewidth=0.9, gid="intervals")
    axes.plot(value, y, "o", color=COLOURS["judge"], markersize=3, gid="values")
    write_missing(axes, np.flatnonzero(np.isnan(value)))
    axes.set_yticks(y, labels(rows["judge"], 30))
    axes.set_ylim(len(rows) - 0.3, -0.7)
    for height, judge in zip(y, rows["judge"], strict=True):
        figure.mark(axes, {"judge": judge}, (height - 0.5, height + 0.5))
    axes.tick_params(axis="y", length=0)
    percent_axis(axes.xaxis, 8)
    axes.set_xlabel("accuracy (%)")
    axes.grid(axis="both")
    for height, text in rows["letters"].dropna().items():
        for letter in split_letters(text):
            written.text(names.index(letter), height, letter, ha="center", va="center", gid="letter")
    write_missing(written, np.flatnonzero(rows["letters"].isna()))
    written.set_xlim(-0.8, max(len(names), 1) - 0.2)
    written.set_title("letters", fontsize=6.5)
    written.tick_params(left=False, labelleft=False, bottom=False, labelbottom=False)
    written.spines[:].set_visible(False)
    return figure


def split_letters(text: str) -> list[str]:
    """The letters of a display, one by one; a number in parentheses is one letter."""
    return re.findall(r"\(\d+\)|.", text)
