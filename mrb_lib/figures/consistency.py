"""Whether a judge's verdicts survive showing the responses in the other order."""

from collections.abc import Sequence

import pandas as pd

from mrb_lib.figures.intervals import overall, panels, rows_of, stacked
from mrb_lib.figures.registry import figure
from mrb_lib.figures.style import Paper


@figure("order-consistency", table="consistency", shows="consistency", cases="turned", is_main=True)
def order_consistency(consistency: pd.DataFrame, *, judges: Sequence[str] = (), dimension: str = "") -> Paper:
    """Draw the share of cases that got the same choice in both orders.

    Parameters
    ----------
    consistency : the table `consistency`; rows of subfields are not drawn
    judges : all judges from the first to the last; empty orders them by their value on `dimension`
    """
    return panels(
        overall(consistency),
        value="consistency",
        axis_label="same choice in both orders (% of the cases answered in both)",
        order=judges,
        order_by=dimension,
    )


@figure("position-bias", table="consistency", shows="position_bias", cases="turned")
def position_bias(consistency: pd.DataFrame, *, judges: Sequence[str] = (), dimension: str = "") -> Paper:
    """Draw the preference for the response shown first (right of zero) or second (left of zero).

    Parameters
    ----------
    consistency, judges, dimension : as in `order_consistency`
    """
    return panels(
        overall(consistency),
        value="position_bias",
        axis_label="position bias (percentage points; above 0: prefers the first shown)",
        order=judges,
        order_by=dimension,
        line_at=0.0,
    )


@figure("position-split", table="consistency", shows="position_noise", n="n_repeated")
def preference_and_noise(consistency: pd.DataFrame, *, dimension: str, judges: Sequence[str] = ()) -> Paper:
    """Draw, for one dimension, what the order makes of the verdicts that differ between orders, and what chance does.

    Parameters
    ----------
    consistency : the table `consistency`; rows of subfields are not drawn, nor other dimensions
    judges : all judges from the first to the last; empty orders them by what the order makes
    """
    measures = {"position_preference": "due to the order", "position_noise": "noise, as between repeats"}
    return panels(
        stacked(rows_of(overall(consistency), dimension=dimension), measures),
        value="value",
        panel="measure",
        axis_label="verdicts that differ between the two orders (%)",
        order=judges,
        order_by=measures["position_preference"],
        line_at=0.0,
    )
