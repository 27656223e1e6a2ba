"""The human level: annotators and judges by the label of the others, and whether a judge may stand in for one."""

from collections.abc import Sequence

import pandas as pd

from mrb_lib.figures.intervals import overall, panels
from mrb_lib.figures.registry import figure
from mrb_lib.figures.style import Paper

MOST_ANNOTATORS = 10


@figure("ceiling-annotators", table="ceiling", parts=("annotator",), shows="accuracy")
def annotators(table: pd.DataFrame, *, dimension: str = "") -> Paper:
    """Draw the accuracy of each annotator against the majority of the others; their mean is a line and a band.

    Parameters
    ----------
    table : of more than `MOST_ANNOTATORS` those with the most cases are drawn
    dimension : the one that orders the annotators
    """
    rows = overall(table)
    is_mean = rows["annotator"] == "mean"
    busiest = rows[~is_mean].groupby("annotator")["n"].sum().nlargest(MOST_ANNOTATORS, keep="first").index
    return panels(
        rows[rows["annotator"].isin(busiest)],
        value="accuracy",
        axis_label="accuracy against the others' majority (%)",
        rows="annotator",
        order_by=dimension,
        reference=rows[is_mean].rename(columns={"accuracy": "value"}),
        reference_label="average annotator",
    )


@figure("ceiling-distances", table="ceiling", parts=("judge",), shows="difference", cases="wrong", is_main=True)
def distances(table: pd.DataFrame, *, dimension: str = "", judges: Sequence[str] = ()) -> Paper:
    """Draw how far each judge is from an average annotator, by the same labels on the same cases.

    Parameters
    ----------
    dimension, judges : what orders the judges
    """
    unclear = table["difference"].where(table["verdict"] == "cannot tell")
    return panels(
        overall(table.assign(unclear=unclear)),
        value="difference",
        axis_label="judge minus average annotator (percentage points)",
        order=judges,
        order_by=dimension,
        line_at=0.0,
        beside="unclear" if unclear.notna().any() else None,
        beside_label="cannot tell, after correction over all judges",
    )


@figure("ceiling-alternative", table="ceiling", parts=("alt_test",), shows="advantage_probability")
def alternative(table: pd.DataFrame, *, dimension: str = "", judges: Sequence[str] = ()) -> Paper:
    """Draw each judge's advantage probability, marked where it passes the alternative annotator test.

    Parameters
    ----------
    dimension, judges : what orders the judges
    """
    passing = table["advantage_probability"].where(table["passes"].eq(True).fillna(False))
    return panels(
        overall(table.assign(passing=passing)),
        value="advantage_probability",
        axis_label="advantage probability (%)",
        order=judges,
        order_by=dimension,
        beside="passing" if passing.notna().any() else None,
        beside_label="passes the test",
    )
