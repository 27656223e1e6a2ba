"""Whether a judge's verdict survives showing the responses in the other order."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.ticker import FuncFormatter

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
    parts = {"position_preference": "made by the order", "position_noise": "noise: differ between repeats, too"}
    frame = _stacked(consistency, dimension, parts)
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


def pair_instability(consistency: pd.DataFrame, *, order_by: str = "overall") -> Paper:
    """Draw the share of a question's pairs of responses that a judge turns when they change places (IPI).

    Parameters
    ----------
    consistency : judge, dimension, ipi, ipi_low, ipi_high; null where no case was answered in both orders
    """
    return panels(
        consistency,
        value="ipi",
        low="ipi_low",
        high="ipi_high",
        axis_label="pairs of responses whose verdict turns with the order (%, mean over questions)",
        order_by=order_by,
        line_at=0.0,
    )


def order_violations(consistency: pd.DataFrame, *, dimension: str) -> Paper:
    """Draw, for one dimension, how many verdicts on a question must change until they rank its responses (TOV).

    Parameters
    ----------
    consistency : judge, dimension, tov, tov_intransitive, each with _low and _high; null where no question has three
        responses, every pair of which was answered in both orders
    """
    parts = {"tov": "all violations", "tov_intransitive": "left once unstable pairs are settled"}
    frame = _stacked(consistency, dimension, parts)
    figure = panels(
        frame,
        value="value",
        low="low",
        high="high",
        panel="part",
        axis_label="verdicts to change until they rank the responses (mean over questions)",
        order_by=parts["tov"],
        line_at=0.0,
    )
    for axes in figure.axes:
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    return figure


def _stacked(consistency: pd.DataFrame, dimension: str, parts: Mapping[str, str]) -> pd.DataFrame:
    """Several measures of one dimension one above the other: `judge`, `part` (a title), `value`, `low`, `high`."""
    here = consistency[consistency["dimension"] == dimension]
    numbers = [(name, {name: "value", f"{name}_low": "low", f"{name}_high": "high"}) for name in parts]
    return pd.concat(
        [here[["judge", *names]].rename(columns=names).assign(part=parts[name]) for name, names in numbers]
    )
