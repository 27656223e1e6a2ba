"""A paired cluster bootstrap of any function of a frame, for questions that no table answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd

from mrb_lib.errors import InputError
from mrb_lib.stats.core.options import IntArray
from mrb_lib.stats.resampling.draws import draws
from mrb_lib.stats.resampling.resample import cluster_codes, interval, interval_reason, n_clusters

Estimates = float | Mapping[str, float] | pd.Series
UNDEFINED = "undefined on these rows"


def bootstrap(
    frame: pd.DataFrame,
    statistic: Callable[[pd.DataFrame], Estimates],
    *,
    by: str | None = None,
    cluster: str | pd.DataFrame | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Estimate any function of a frame, with a 95% interval that resamples clusters of cases.

    Parameters
    ----------
    frame : any number of rows a case. All rows of a cluster are drawn together, so that a difference between judges
        that `statistic` computes within the frame is paired
    statistic : what to estimate: a number, or several with their names, of a frame with the columns of `frame`.
        NaN where it is undefined. It is called once for every resample
    by : a column to break down by, after the whole frame; the same draws serve every group. Rows without a value are
        in the whole frame only
    cluster : the column of `frame` whose values are drawn. None takes `cluster` where there is one, else `case_id`,
        else draws rows. The cases table of a benchmark gives its own clusters, by `case_id`: the draws are then those
        of the tables of `mrb_lib.analyze`, also where `frame` holds some of the cases only. A row without a value is a
        cluster of its own.
    resamples, seed : of the bootstrap; 0 resamples give no intervals

    Returns
    -------
    DataFrame
        One row a group and quantity: `subfield` (null for the whole frame), `quantity` (null where `statistic` gives a
        number), `n` rows, `n_clusters`, `estimate`, `low`, `high` (percentiles; null where the statistic is undefined
        in most resamples), `reason` (why a value is null or an interval has no width).

    Raises
    ------
    InputError
        A column does not exist, or a row's case is not in the cases table.

    Notes
    -----
    Percentiles cover too little with few clusters (fewer than about 30), and near the ends of a bounded scale; see
    `mrb_lib.stats.resampling.intervals`. Validated by `tests/stats/resampling/test_bootstrap.py`: equal to the table
    `accuracy` to the last digits, and coverage in simulation.
    """
    if by is not None and by not in frame.columns:
        raise InputError(f"by {by!r}: the frame has no such column; use one of {', '.join(map(str, frame.columns))}.")
    codes, total = _clusters(frame, cluster)
    groups: dict[str | None, IntArray] = {None: np.arange(len(frame))}
    if by is not None:
        groups |= {str(value): np.asarray(positions) for value, positions in frame.groupby(by).indices.items()}
    rows = []
    drawn = np.concatenate([*draws(total, resamples, seed), np.empty((total, 0))], axis=1)
    for name, positions in groups.items():
        group = frame.iloc[positions]
        estimates = _named(statistic(group))
        times = drawn[codes[positions]].astype(np.int64)
        replicates = [_named(statistic(group.iloc[np.repeat(np.arange(len(group)), column)])) for column in times.T]
        clusters = len(np.unique(codes[positions]))
        for quantity, estimate in estimates.items():
            values = np.array([found.get(quantity, np.nan) for found in replicates], dtype=np.float64)
            low, high = (float(end[0]) for end in interval(values[:, None]))
            if np.isnan(estimate) or len(group) < 2 or clusters < 2:
                low, high = np.nan, np.nan
            reason = UNDEFINED if np.isnan(estimate) else interval_reason(len(group), clusters, resamples, low, high)
            rows.append((name, quantity, len(group), clusters, estimate, low, high, reason or None))
    columns = ["subfield", "quantity", "n", "n_clusters", "estimate", "low", "high", "reason"]
    return pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(("subfield", "quantity", "reason"), "str"))


def _clusters(frame: pd.DataFrame, cluster: str | pd.DataFrame | None) -> tuple[IntArray, int]:
    """The cluster of each row, and how many clusters there are to draw from."""
    if isinstance(cluster, pd.DataFrame):
        codes = cluster_codes(cluster)
        position = pd.Index(cluster["case_id"]).get_indexer(pd.Index(frame["case_id"]))
        if (position < 0).any():
            unknown = frame["case_id"].iloc[int(np.flatnonzero(position < 0)[0])]
            raise InputError(f"case {unknown!r}: is in the frame and not in the cases table.")
        return codes[position], n_clusters(codes)
    if cluster is None:
        cluster = next((name for name in ("cluster", "case_id") if name in frame.columns), None)
    codes = np.arange(len(frame), dtype=np.int64) if cluster is None else cluster_codes(frame, cluster)
    return codes, n_clusters(codes)


def _named(estimates: Estimates) -> dict[str | None, float]:
    if isinstance(estimates, (pd.Series, Mapping)):
        return {str(name): float(value) for name, value in estimates.items()}
    return {None: float(estimates)}
