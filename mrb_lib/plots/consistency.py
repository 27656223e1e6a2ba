"""Whether a judge's verdict survives showing the responses in the other order."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.ticker import FuncFormatter

from mrb_lib.plots.intervals import panels
from mrb_lib.plots.registry import figure
from mrb_lib.plots.style import Paper


@figure(
    "order-consistency",
    title="Order consistency of the judges",
    caption=(
        "Share of the cases answered in both orders that got the same choice, by dimension, with 95% intervals "
        "(Wilson's, robust to clusters); judges ordered by {dimension}."
    ),
    reading=(
        "100 is a judge whose verdicts do not depend on the order. Below it stands bias or noise; the next figure "
        "tells which. Consistency is not accuracy: a judge can be consistently wrong."
    ),
    needs=("verdicts", "orders"),
)
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


@figure(
    "position-bias",
    title="Position bias of the judges",
    caption=(
        "Share of verdicts for the response shown first minus share for the one shown second, in percentage points, "
        "over cases answered in both orders, with 95% score intervals, robust to clusters; ordered by {dimension}."
    ),
    reading=(
        "Right of the dashed line: prefers what is shown first; left: what is shown last. Where an interval holds the "
        "line, the data do not show a preference on balance."
    ),
    needs=("verdicts", "orders"),
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


@figure(
    "position-split",
    title="What makes verdicts differ between orders",
    caption=(
        "Share of pairs of verdicts in different orders that differ, in two parts that add up to it, over cases "
        "answered twice in each order; dimension {dimension}, with 95% intervals, robust to clusters."
    ),
    reading=(
        "Left: what showing the other response first does to a case, in either direction; where an interval holds the "
        "dashed line, the data do not show that order does anything. Right: noise, which repeats average out and "
        "swapping does not."
    ),
    needs=("verdicts", "orders"),
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


@figure(
    "instability",
    title="Pairs of responses that a judge turns",
    caption=(
        "Intra-pair instability (IPI, Sage): share of a question's pairs of responses that got another choice in the "
        "other order, a mean over questions, with 95% intervals, robust to clusters; ordered by {dimension}."
    ),
    reading=(
        "0 is a judge that never contradicts itself, a half what a coin reaches that knows A and B only. Where every "
        "question has one pair, as where responses are compared once, it is what consistency lacks to 100."
    ),
    needs=("verdicts", "orders"),
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


@figure(
    "order-violations",
    title="Verdicts that form no ranking",
    caption=(
        "Weak total order violation (TOV, Sage): the fewest of a question's verdicts, two a pair of responses, to "
        "change until they rank them, ties allowed; dimension {dimension}, with 95% intervals, robust to clusters."
    ),
    reading=(
        "0 is a judge whose verdicts on a question always form a ranking. Right: what is left when every pair that the "
        "order turns has been settled: preferences that go in a circle."
    ),
    needs=("verdicts", "orders"),
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
