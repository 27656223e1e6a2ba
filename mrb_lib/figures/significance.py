"""Every two judges: whether they differ by more than chance, and by how much."""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from matplotlib.colors import BoundaryNorm, Colormap, ListedColormap, Normalize
from numpy.typing import NDArray

from mrb_lib.figures.intervals import overall, rows_of
from mrb_lib.figures.lettering import labels, percent, signed_percent
from mrb_lib.figures.matrix import cell_texts, draw_matrix, scale_bar
from mrb_lib.figures.registry import figure
from mrb_lib.figures.style import COLUMN, DIVERGING, PAGE, Paper, canvas, styled

P_BOUNDS = (0.0, 0.001, 0.01, 0.05, 1.0)
_P_COLOURS = ("#08306B", "#2171B5", "#9ECAE1", "#F4F4F4")
_MOST_WITH_TEXT = 11


@figure("significance-p", table="significance", parts=("pair",), shows="p_adjusted", is_main=True)
@styled
def p_values(table: pd.DataFrame, *, dimension: str, judges: Sequence[str]) -> Paper:
    """Draw the adjusted p-value of every pair in four steps of colour, with = where two judges are equivalent.

    Parameters
    ----------
    table : rows of the table `significance` with part "pair"; those of subfields and other dimensions are not drawn
    judges : all judges in the order of the report
    """
    pairs, judges = _pairs(table, dimension, judges)
    values, alike = (_half(pairs, name, judges) for name in ("p_adjusted", "equivalent"))
    wordy = len(judges) <= _MOST_WITH_TEXT
    texts = [
        [(_written(p) if wordy else "") + (" =" if same == 1 else "") for p, same in zip(*row, strict=True)]
        for row in zip(values, alike, strict=True)
    ]
    steps = BoundaryNorm(P_BOUNDS, len(_P_COLOURS))
    return _draw(values, judges, texts=texts, colours=ListedColormap(_P_COLOURS), norm=steps, bar="adjusted p-value")


def _written(p: float) -> str:
    return "" if np.isnan(p) else "<.001" if p < P_BOUNDS[1] else f"{p:.3f}".removeprefix("0")


@figure("significance-differences", table="significance", parts=("pair",), shows="difference")
@styled
def differences(table: pd.DataFrame, *, dimension: str, judges: Sequence[str]) -> Paper:
    """Draw by how much the judge of a column is more accurate than that of a row, and which pairs differ significantly.

    Parameters
    ----------
    table, judges : see `p_values`
    """
    pairs, judges = _pairs(table, dimension, judges)
    values, *ends = (_half(pairs, name, judges, turned=-1.0) for name in ("difference", "low", "high"))
    significant = _half(pairs, "p_adjusted", judges) <= P_BOUNDS[-2]
    texts = np.where(significant, "\u25cf", "").tolist()
    if len(judges) <= _MOST_WITH_TEXT:
        written = cell_texts(values, np.fmin(*ends), np.fmax(*ends), signed_percent, bound=percent)
        texts = [[_starred(*cell) for cell in zip(*row, strict=True)] for row in zip(written, significant, strict=True)]
    widest = max(float(np.nanmax(np.abs(values), initial=0.0)), 0.01)
    return _draw(
        values, judges, texts=texts, colours=DIVERGING, norm=Normalize(-widest, widest), write=signed_percent,
        bar="column minus row (points)",
    )  # fmt: skip


def _starred(text: str, is_significant: bool) -> str:
    value, *interval = text.split("\n")
    return "\n".join([f"{value}*" if is_significant else value, *interval])


def _pairs(table: pd.DataFrame, dimension: str, judges: Sequence[str]) -> tuple[pd.DataFrame, list[str]]:
    """The pairs to draw, and the judges among them in the order of the report."""
    pairs = overall(rows_of(table, part="pair", dimension=dimension))
    named = {*pairs["judge_1"], *pairs["judge_2"]}
    return pairs, [judge for judge in judges if judge in named]


def _half(pairs: pd.DataFrame, value: str, judges: Sequence[str], *, turned: float = 1.0) -> NDArray[np.float64]:
    """The lower half of a matrix of pairs, the column's judge first; `turned` multiplies pairs of the other order."""
    place = {judge: i for i, judge in enumerate(judges)}
    values = np.full((len(judges), len(judges)), np.nan)
    for one, other, x in zip(pairs["judge_1"], pairs["judge_2"], pairs[value].astype("Float64"), strict=True):
        first, second = place[one], place[other]
        values[max(first, second), min(first, second)] = (
            np.nan if pd.isna(x) else x * (1.0 if first < second else turned)
        )
    return values[1:, :-1]


def _draw(
    values: NDArray[np.float64],
    judges: Sequence[str],
    *,
    texts: list[list[str]],
    colours: str | Colormap,
    norm: Normalize,
    bar: str,
    write: Callable[[float], str] = "{:g}".format,
) -> Paper:
    """Draw the lower half of a matrix of pairs of judges."""
    names = labels(judges, 28)
    side = COLUMN if len(judges) <= 3 else min(PAGE, 1.9 + 0.55 * len(judges))
    figure = canvas(side, 0.86 * side)
    axes = figure.subplots()
    mesh = draw_matrix(
        axes,
        values,
        across=names[:-1],
        down=names[1:],
        colours=colours,
        norm=norm,
        texts=texts,
        blank=np.triu(np.ones(values.shape, dtype=bool), k=1),
        write_missing=len(judges) <= _MOST_WITH_TEXT,
    )
    axes.set_xlabel("judge, ranked higher")
    axes.set_ylabel("judge, ranked lower")
    scale_bar(figure, mesh, axes, bar, write)
    return figure
