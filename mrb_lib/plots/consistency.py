"""Whether a judge's verdict survives showing the responses in the other order."""

from __future__ import annotations

import pandas as pd

from mrb_lib.plots.intervals import panels
from mrb_lib.plots.style import Paper


def order_consistency(consistency: pd.DataFrame, *, order_by: str = "overall") -> Paper:
    """Draw the share of cases that got the same choice in both orders.

    Parameters
    ----------
    consistency : judge, dimension, consistency, consistency_low, consistency_high; null where no case was
        answered in both orders
    """
    return panels(
        consistency,
        value="consistency",
        low="consistency_low",
        high="consistency_high",
        axis_label="same choice in both orders (% of the cases answered in both)",
        order_by=order_by,
    )


def position_bias(consistency: pd.DataFrame, *, order_by: str = "overall") -> Paper:
    """Draw the preference for the response shown first (right of zero) or second (left of zero).

    Parameters
    ----------
    consistency : judge, dimension, position_bias, position_bias_low, position_bias_high; from -1 to 1,
        null where no case was answered in both orders
    """
    return panels(
        consistency,
        value="position_bias",
        low="position_bias_low",
        high="position_bias_high",
        axis_label="position bias (percentage points; above 0: prefers the first shown)",
        order_by=order_by,
        line_at=0.0,
    )


def preference_and_noise(consistency: pd.DataFrame, *, dimension: str) -> Paper:
    """Draw, for one dimension, what the order makes of the verdicts that differ between orders, and what chance does.

    Parameters
    ----------
    consistency : judge, dimension, position_preference, position_noise, each with _low and _high; null where no case
        was answered twice in each order
    """
    here = consistency[consistency["dimension"] == dimension]
    parts = {"position_preference": "made by the order", "position_noise": "noise: differ between repeats, too"}
    frame = pd.concat(
        [
            pd.DataFrame(
                {
                    "judge": here["judge"],
                    "part": title,
                    "value": here[name],
                    "low": here[f"{name}_low"],
                    "high": here[f"{name}_high"],
                }
            )
            for name, title in parts.items()
        ]
    )
    return panels(
        frame,
        value="value",
        low="low",
        high="high",
        panel="part",
        axis_label="verdicts that differ between the two orders (%)",
        order_by=parts["position_preference"],
        line_at=0.0,
    )
