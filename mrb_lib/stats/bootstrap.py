"""A paired cluster bootstrap of any function of a frame, for questions that no table answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd

from mrb_lib.stats.clusters import ResamplingUnit, cluster_codes, n_clusters, resampling_unit
from mrb_lib.stats.options import FloatArray, IntArray
from mrb_lib.stats.resampling.draws import draws
from mrb_lib.stats.resampling.resample import interval, interval_reason
from mrb_lib.stats.resampling.robust import Estimate, effective_clusters, few_clusters, t_interval
from mrb_lib.tables.errors import InputError

Estimates = float | Mapping[str, float] | pd.Series
UNDEFINED = "undefined on these rows"
_COLUMNS = [
    "subfield", "quantity", "n", "cluster", "n_clusters", "estimate", "low", "high", "standard_error", "df", "interval",
    "reason",
]  # fmt: skip


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
    cluster : the column of `frame` whose values are drawn. None takes the unit that
        `mrb_lib.stats.clusters.resampling_unit` finds among the cases of the frame (its rows, where it has
        no `case_id`). The cases table of a benchmark gives its own clusters, by `case_id`: the draws are then those of
        the tables of `mrb_lib.analyze`, also where `frame` holds some of the cases only, or not the columns that
        repeat. A row without a value is a cluster of its own.
    resamples, seed : of the bootstrap; 0 resamples give no intervals

    Returns
    -------
    DataFrame
        One row a group and quantity: `subfield` (null for the whole frame), `quantity` (null where `statistic` gives a
        number), `n` rows, `cluster` (what was drawn: a column, "case_id" for cases, "row" for rows), `n_clusters`,
        `estimate`, `low`, `high` (null where the statistic is undefined in most resamples), `interval` how they were
        made: "t", by Student's t with `df` degrees of freedom (`n_clusters` - 1 where they have equally many rows, else
        fewer) and the `standard_error` (that of the resamples, times the root of m / (m - 1) for m clusters), where
        these are fewer than 49, else "percentile"; `reason` (why a value is null or an interval has no width).

    Raises
    ------
    InputError
        A column does not exist, or a row's case is not in the cases table.

    Notes
    -----
    See `mrb_lib.stats.resampling.robust.few_clusters` for the rule. Either kind covers too little near the ends of a
    bounded scale, which t may overstep; see `mrb_lib.stats.resampling.intervals`. Validated by
    `tests/stats/test_bootstrap.py`: percentiles are those of the table `accuracy` to the last digits,
    and t covers with 8 clusters.
    """
    if by is not None and by not in frame.columns:
        raise InputError(f"by {by!r}: the frame has no such column; use one of {', '.join(map(str, frame.columns))}.")
    unit, total = _clusters(frame, cluster)
    codes = unit.codes
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
        rows_of_cluster = np.bincount(codes[positions], minlength=1)
        clusters = int((rows_of_cluster > 0).sum())
        effective = effective_clusters(rows_of_cluster[:, None].astype(np.float64))
        for quantity, estimate in estimates.items():
            values = np.array([found.get(quantity, np.nan) for found in replicates], dtype=np.float64)
            error, low, high, few = _interval(estimate, values, clusters, effective)
            reason = UNDEFINED if np.isnan(estimate) else interval_reason(len(group), clusters, resamples, low, high)
            df = float(effective[0]) - 1 if np.isfinite(error) else np.nan
            kind = "t" if few else "percentile"
            rows.append(
                (name, quantity, len(group), unit.name, clusters, estimate, low, high, error, df, kind, reason or None)
            )
    return pd.DataFrame(rows, columns=_COLUMNS).astype(
        dict.fromkeys(("subfield", "quantity", "cluster", "interval", "reason"), "str")
    )


def _interval(
    estimate: float, replicates: FloatArray, clusters: int, effective: FloatArray
) -> tuple[float, float, float, bool]:
    """The standard error of an estimate, both ends of its interval, and whether that is by t."""
    low, high = (float(end[0]) for end in interval(replicates[:, None]))
    if np.isnan(estimate) or np.isnan(low) or clusters < 2:
        return np.nan, np.nan, np.nan, False
    error = float(np.nanstd(replicates, ddof=1)) * np.sqrt(clusters / (clusters - 1))
    by_t = Estimate(np.array([estimate]), np.array([error]), effective)
    if not few_clusters(by_t)[0]:
        return error, low, high, False
    low, high = (float(end[0]) for end in t_interval(by_t))
    return error, low, high, True


def _clusters(frame: pd.DataFrame, cluster: str | pd.DataFrame | None) -> tuple[ResamplingUnit, int]:
    """The cluster of each row, and how many clusters there are to draw from."""
    if isinstance(cluster, pd.DataFrame):
        unit = resampling_unit(cluster)
        position = pd.Index(cluster["case_id"]).get_indexer(pd.Index(frame["case_id"]))
        if (position < 0).any():
            unknown = frame["case_id"].iloc[int(np.flatnonzero(position < 0)[0])]
            raise InputError(f"case {unknown!r}: is in the frame and not in the cases table.")
        return unit._replace(codes=unit.codes[position]), n_clusters(unit.codes)
    unit = resampling_unit(frame, cluster)
    if cluster is None and "case_id" in frame.columns:
        case = cluster_codes(frame, "case_id")
        unit = resampling_unit(frame.iloc[np.unique(case, return_index=True)[1]])
        unit = unit._replace(codes=unit.codes[case])
    elif unit.name not in frame.columns:
        unit = unit._replace(name="row")
    return unit, n_clusters(unit.codes)


def _named(estimates: Estimates) -> dict[str | None, float]:
    if isinstance(estimates, (pd.Series, Mapping)):
        return {str(name): float(value) for name, value in estimates.items()}
    return {None: float(estimates)}
