"""The grid of a table: every quantity of every cell in every group of cases, as tidy rows."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mrb_lib.stats.analysis import MOST_AT_ONCE, Analysis
from mrb_lib.stats.estimation import BoolArray, Estimate, IntArray, Quantity, estimate
from mrb_lib.stats.intervals import Interval


class Measure(NamedTuple):
    """A quantity with the rule of its interval; None where only its value is shown.

    A quantity that is not a function of sums, such as an area under a curve, is made from the positions of cases.
    """

    quantity: Quantity | Callable[[IntArray], Quantity]
    interval: Callable[[Estimate], Interval] | None = None


def grid(
    analysis: Analysis,
    cells: pd.DataFrame,
    measures: Mapping[str, Measure],
    seen: BoolArray | None = None,
    tallies: Mapping[str, NDArray[Any]] | None = None,
) -> tuple[pd.DataFrame, dict[str, list[Estimate]]]:
    """Estimate measures in every cell, over all cases and in each subfield.

    Parameters
    ----------
    cells : the columns that name the cells, one row each
    measures : by the column they fill. The first gives the row its `n`, `n_excluded`, `n_clusters`, `largest` (the
        share of the cases that the largest cluster holds), `standard_error` and `df`; the ends of its interval are
        `low` and `high`, its method `interval`. Those of others are `NAME_low` and `NAME_high`
    seen : shape (cases, cells), cases left out because a judge was trained on them, for `n_seen`; None without it
    tallies : shape (cases, cells), what is summed over cases, by the column it fills

    Returns
    -------
    The rows by `group_number`, and for the first measure and those with an interval the estimates, one per group.
    """
    frames, kept = [], {name: list[Estimate]() for name in measures}
    names = dict(cells.reset_index(drop=True).items())
    first = next(iter(measures))
    for number, part in enumerate(analysis.parts):
        sampling = analysis.sampling.take(part.cases)
        columns: dict[str, Any] = {"group_number": number, **part.label()}
        if seen is not None:
            columns["n_seen"] = seen[part.cases].sum(axis=0)
        for name, measure in measures.items():
            q = measure.quantity
            own = q(part.cases) if callable(q) else q.take(part.cases) if part.by else q  # without a copy
            if name != first and not measure.interval:
                columns[name] = own.statistic(own.adds.sum(axis=0))
                continue
            e = estimate(own, sampling)
            kept[name].append(e)
            columns[name] = e.value
            if name == first:
                n = e.quantity.adds.any(axis=2).sum(axis=0)
                columns |= {"n": n, "n_excluded": len(part.cases) - n, "n_clusters": e.clusters, "largest": e.largest}
                columns |= {"standard_error": e.error, "df": e.df}
            if measure.interval:
                made = measure.interval(e)
                unknown = np.isnan(e.value) | np.isnan(e.error) | (e.clusters < 2)
                low, high = (np.where(unknown, np.nan, end) for end in (made.low, made.high))
                if name == first:
                    method = pd.Series(made.method).where(~np.isnan(low))
                    columns |= {"low": low, "high": high, "interval": method.to_numpy()}
                columns |= {f"{name}_low": low, f"{name}_high": high}
        columns |= {name: values[part.cases].sum(axis=0) for name, values in (tallies or {}).items()}
        frames.append(pd.DataFrame(names | columns))
    return pd.concat(frames, ignore_index=True), kept


def in_blocks(analysis: Analysis, shape: tuple[int, ...], make: Callable[[slice], pd.DataFrame]) -> pd.DataFrame:
    """Return rows of `grid` that are made some cells at a time, as many as memory is enough for.

    Parameters
    ----------
    shape : the number of cells, and from how many values of a case each is made
    """
    n, values = shape
    at_once = max(MOST_AT_ONCE // max(len(analysis.cases) * values, 1), 1)
    frames = [make(slice(first, first + at_once)) for first in range(0, max(n, 1), at_once)]
    return pd.concat(frames).sort_values("group_number", kind="stable", ignore_index=True)
