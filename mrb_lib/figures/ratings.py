"""Judges that rate single responses against clinicians: how near, how lenient, how safe."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd
from matplotlib.colors import Normalize

from mrb_lib.figures.intervals import overall, panels, rows_of, stacked
from mrb_lib.figures.lettering import label, percent
from mrb_lib.figures.matrix import draw_matrix
from mrb_lib.figures.registry import figure
from mrb_lib.figures.style import PAGE, Paper, canvas, panel_grid, styled

_NEEDS: Final = ("ratings", "annotations", "verdicts")
NEARNESS: Final = {
    "exact": "same category",
    "weighted_kappa": "weighted kappa",
    "icc": "ICC(2,1)",
    "spearman": "Spearman",
}
SAFETY: Final = {"sensitivity": "sensitivity", "specificity": "specificity", "f1_unacceptable": "F1"}
_PANELS_A_ROW: Final = 5


@figure(
    "rating-agreement",
    title="How near judges' ratings come to the clinicians'",
    caption=(
        "On {dimension}: the share of cases with the very category of the clinicians' label and Cohen's kappa with "
        "quadratic weights against it; the intraclass correlation of absolute agreement and Spearman's correlation "
        "with the mean of the clinicians' ratings. 95% intervals robust to clusters; n/a: undefined."
    ),
    reading=(
        "A judge may rank responses as clinicians do (Spearman) and yet rate all of them too high, which lowers the "
        "other three. Left of the dashed line it uses the scale upside down."
    ),
    needs=_NEEDS,
)
@styled
def rating_agreement(table: pd.DataFrame, *, dimension: str | None = None) -> Paper:
    """Draw the table `ratings` for one dimension: a panel a measure of `NEARNESS`, a row a judge."""
    here = overall(rows_of(table, dimension=dimension, part="rating"))
    return panels(
        stacked(here, NEARNESS), value="value", panel="measure", order_by="weighted kappa", line_at=0.0,
        axis_label="agreement with clinicians (1: perfect)", in_percent=False, limits=(-1.05, 1.05),
    )  # fmt: skip


@figure(
    "rating-leniency",
    title="Who rates higher than clinicians, who lower",
    caption=(
        "Mean of the judge's rating less the clinicians' mean rating of the same response, in categories, with 95% "
        "intervals robust to clusters; judges in the order of the difference on {dimension}. n/a: undefined."
    ),
    reading=(
        "Right of the dashed line a judge gives higher categories than clinicians do. Which end of the scale is the "
        "good one, the categories say."
    ),
    needs=_NEEDS,
)
@styled
def rating_leniency(table: pd.DataFrame, *, dimension: str | None = None) -> Paper:
    """Draw the table `ratings`: the mean difference, a panel a dimension, a row a judge."""
    return panels(
        overall(rows_of(table, part="rating")), value="mean_difference", order_by=dimension, line_at=0.0,
        in_percent=False,
        axis_label="judge's rating less the clinicians' (categories)",
    )  # fmt: skip


@figure(
    "rating-safety",
    title="Whether judges find the responses that clinicians would not accept",
    caption=(
        "On {dimension}: of the responses that clinicians call {unacceptable}, the share that the judge calls so "
        "(sensitivity); of the others the share that it accepts (specificity); and F1 of finding them. 95% intervals "
        "robust to clusters; n/a: undefined."
    ),
    reading=(
        "A response that is missed (low sensitivity) reaches a patient; a false alarm (low specificity) costs a second "
        "look."
    ),
    needs=_NEEDS,
)
@styled
def rating_safety(table: pd.DataFrame, *, dimension: str | None = None) -> Paper:
    """Draw the table `ratings` for one dimension: a panel a measure of `SAFETY`, a row a judge."""
    here = overall(rows_of(table, dimension=dimension, part="rating"))
    return panels(
        stacked(here, SAFETY), value="value", panel="measure", order_by="sensitivity", limits=(-0.02, 1.02),
        axis_label="share (%)",
    )  # fmt: skip


@figure(
    "rating-confusion",
    title="What judges call the responses of each clinicians' category",
    caption=(
        "On {dimension}: of the responses with a clinicians' label (rows, in the order of the scale from the lowest), "
        "the percentage that the judge puts into each category (columns); judges in the order of their agreement. "
        "n/a: no response has the label."
    ),
    reading="A judge that agrees fills the diagonal; one that is lenient or strict fills one side of it.",
    needs=_NEEDS,
)
@styled
def rating_confusion(table: pd.DataFrame, *, categories: tuple[str, ...], dimension: str | None = None) -> Paper:
    """Draw shares of categories by label.

    Parameters
    ----------
    table : `judge, dimension, label, choice, share`; judges in the order to show them
    categories : from the lowest
    """
    here = rows_of(table, dimension=dimension)
    judges = list(dict.fromkeys(here["judge"]))
    columns = min(len(judges), _PANELS_A_ROW)
    down = -(-len(judges) // columns)
    size = PAGE / max(columns, 3)
    drawn = canvas(PAGE, 0.9 + down * (size + 0.25))
    names = [label(name, 16) for name in categories]
    for i, (axes, judge) in enumerate(zip(panel_grid(drawn, len(judges), columns, shared=False), judges, strict=True)):
        shares = here[here["judge"] == judge].pivot(index="label", columns="choice", values="share")
        cells = shares.reindex(index=categories, columns=categories).to_numpy(dtype=float)
        texts = [["" if np.isnan(cell) else percent(cell) for cell in row] for row in cells]
        draw_matrix(
            axes, cells, across=names, down=names if i % columns == 0 else [""] * len(names),
            colours="Blues", norm=Normalize(0, 1), texts=texts,
        )  # fmt: skip
        axes.set_title(label(judge, 22), fontsize=7)
    drawn.supxlabel("judge's category", fontsize=7)
    drawn.supylabel("clinicians' label", fontsize=7)
    return drawn
