"""Judges that rate single responses against clinicians: how near, how lenient, how safe."""

from collections.abc import Sequence
from typing import Final

import pandas as pd

from mrb_lib.figures.intervals import overall, panels, rows_of, stacked
from mrb_lib.figures.registry import figure
from mrb_lib.figures.style import Paper

NEARNESS: Final = {
    "exact": "same category",
    "weighted_kappa": "weighted kappa",
    "icc": "ICC(2,1)",
    "spearman": "Spearman",
}
SAFETY: Final = {"sensitivity": "sensitivity", "specificity": "specificity", "f1_unacceptable": "F1"}


@figure("rating-agreement", table="ratings", parts=("rating",), shows="exact", is_main=True)
def rating_agreement(table: pd.DataFrame, *, dimension: str, judges: Sequence[str] = ()) -> Paper:
    """Draw the table `ratings` for one dimension: a panel a measure of `NEARNESS`, a row a judge."""
    here = overall(rows_of(table, dimension=dimension))
    return panels(
        stacked(here, NEARNESS), value="value", panel="measure", order=judges, line_at=0.0,
        axis_label="agreement with clinicians (1: perfect)", in_percent=False, limits=(-1.05, 1.05),
    )  # fmt: skip


@figure("rating-leniency", table="ratings", parts=("rating",), shows="mean_difference")
def rating_leniency(table: pd.DataFrame, *, dimension: str = "", judges: Sequence[str] = ()) -> Paper:
    """Draw the table `ratings`: the mean difference, a panel a dimension, a row a judge."""
    return panels(
        overall(table), value="mean_difference", order=judges, order_by=dimension, line_at=0.0, in_percent=False,
        axis_label="judge's rating minus the clinicians' (categories)",
    )  # fmt: skip


@figure("rating-safety", table="ratings", parts=("rating",), shows="sensitivity")
def rating_safety(table: pd.DataFrame, *, dimension: str, judges: Sequence[str] = ()) -> Paper:
    """Draw the table `ratings` for one dimension: a panel a measure of `SAFETY`, a row a judge."""
    here = overall(rows_of(table, dimension=dimension))
    return panels(
        stacked(here, SAFETY), value="value", panel="measure", order=judges, limits=(-0.02, 1.02),
        axis_label="share (%)",
    )  # fmt: skip
