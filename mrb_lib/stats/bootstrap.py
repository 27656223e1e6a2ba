"""A paired cluster bootstrap of any function of a frame, for questions that no table answers."""

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from mrb_lib.stats.clusters import ResamplingUnit, n_clusters, resampling_unit
from mrb_lib.stats.estimation import FloatArray, IntArray, drawn, satterthwaite
from mrb_lib.stats.intervals import ENOUGH_DF
from mrb_lib.tables.errors import InputError

Estimates = float | Mapping[str, float] | pd.Series
UNDEFINED = "undefined on these rows"
NO_RESAMPLES = "no interval: no resamples were asked for"
ONE_CLUSTER = "no interval: all rows are in one cluster"
FEW_DEFINED = "no interval: undefined in most resamples"
NO_WIDTH = "the interval has no width because the rows do not differ, which is not certainty"
_NO_SPREAD = 1e-12
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
    Percentiles take the variance over m clusters to be (m - 1) / m of what it is, and as known: with 8 clusters they
    cover 86% to 88% of the time. Student's t takes its degrees of freedom from the sizes of the clusters (Bell and
    McCaffrey 2002). Both cover too little near the ends of a bounded scale, which t may overstep.
    """
    if by is not None and by not in frame.columns:
        raise InputError(f"by {by!r}: the frame has no such column; use one of {', '.join(map(str, frame.columns))}.")
    unit, total = _clusters(frame, cluster)
    codes = unit.codes
    groups: dict[str | None, IntArray] = {None: np.arange(len(frame))}
    if by is not None:
        groups |= {str(value): np.asarray(positions) for value, positions in frame.groupby(by).indices.items()}
    rows = []
    draws = drawn(total, resamples, seed).astype(np.int64)
    for name, positions in groups.items():
        group = frame.iloc[positions]
        times = draws[:, codes[positions]]
        replicates = [_named(statistic(group.iloc[np.repeat(np.arange(len(group)), each)])) for each in times]
        sizes = np.bincount(codes[positions], minlength=1)
        for quantity, estimate in _named(statistic(group)).items():
            values = np.array([found.get(quantity, np.nan) for found in replicates], dtype=np.float64)
            of_quantity = {"subfield": name, "quantity": quantity, "n": len(group), "cluster": unit.name}
            rows.append(of_quantity | {"estimate": estimate} | _interval(estimate, values, sizes))
    return pd.DataFrame(rows, columns=_COLUMNS).astype(
        dict.fromkeys(("subfield", "quantity", "cluster", "interval", "reason"), "str")
    )


def _interval(estimate: float, replicates: FloatArray, sizes: IntArray) -> dict[str, object]:
    """The interval of an estimate, how it was made, and why it is null; `sizes` are the rows of each cluster."""
    clusters = int((sizes > 0).sum())
    row: dict[str, object] = {"n_clusters": clusters}
    usable = len(replicates) > 0 and np.isfinite(replicates).mean() >= 0.5
    low = high = np.nan
    if usable:
        low, high = np.nanquantile(replicates, [0.025, 0.975])
        row["interval"] = "percentile"
    if usable and clusters > 1 and not np.isnan(estimate):
        error = float(np.nanstd(replicates, ddof=1)) * np.sqrt(clusters / (clusters - 1))
        df = float(satterthwaite(sizes[:, None].astype(np.float64), np.array([np.nan]))[0])
        row |= {"standard_error": error, "df": df}
        if df < ENOUGH_DF and error > _NO_SPREAD:
            half = stdtrit(df, 0.975) * error
            low, high, row["interval"] = estimate - half, estimate + half, "t"
    whether = [np.isnan(estimate), len(replicates) == 0, clusters < 2, not usable, high - low < _NO_SPREAD]
    why = np.select(whether, [UNDEFINED, NO_RESAMPLES, ONE_CLUSTER, FEW_DEFINED, NO_WIDTH], "").item()
    return row | {"low": low, "high": high, "reason": why or None}


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
        case = resampling_unit(frame, "case_id").codes
        unit = resampling_unit(frame.iloc[np.unique(case, return_index=True)[1]])
        unit = unit._replace(codes=unit.codes[case])
    elif unit.name not in frame.columns:
        unit = unit._replace(name="row")
    return unit, n_clusters(unit.codes)


def _named(estimates: Estimates) -> dict[str | None, float]:
    if isinstance(estimates, (pd.Series, Mapping)):
        return {str(name): float(value) for name, value in estimates.items()}
    return {None: float(estimates)}
