"""How often judges are right on all dimensions together: the mean of the accuracies, with an interval of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import pandas as pd

from mrb_lib.stats.accuracy.references import with_references
from mrb_lib.stats.accuracy.table import JUDGE, NO_CASES, REFERENCE
from mrb_lib.stats.core.panel import Panel, as_panel
from mrb_lib.stats.core.scoring import encode_gold, score
from mrb_lib.stats.options import TINY, FloatArray, IntArray, divide, join_reasons, mean_of_defined, typed
from mrb_lib.stats.phrases import main_rows, percent
from mrb_lib.stats.resampling.distinct import distinct_rows
from mrb_lib.stats.resampling.resample import cluster_codes, cluster_sums, n_clusters, resampled_sums, share_reasons
from mrb_lib.stats.resampling.shares import ShareIntervals, share_intervals
from mrb_lib.stats.subfields import By, Group, groups

UNSCORED: Final = "no case can be scored on {}"
COLUMNS: Final = (
    "judge", "subfield", "by", "policy", "rank", "n", "n_excluded", "n_unassigned", "n_clusters", "n_dimensions",
    "coverage", "average", "low", "high", "interval", "kind", "reason",
)  # fmt: skip
MEANINGS: Final = {
    "kind": "judge, or reference: a rule that understands nothing and does not compete | text",
    "rank": "place by average; references have none | rank",
    "n": "cases scored on one of the dimensions at least | cases",
    "n_dimensions": "dimensions that the average is over | count",
    "coverage": "share of the verdicts read that have a choice, a mean over cases and dimensions | share 0-1",
    "average": "unweighted mean of the accuracies on the dimensions | share 0-1",
    "interval": "how low and high are made: percentile (of the bootstrap), t, or deff (Wilson's) | text",
}


class _Averages(NamedTuple):
    """The averages over one group of cases; every array has shape (judges,)."""

    value: FloatArray
    ends: ShareIntervals
    n_by_dimension: IntArray
    """Cases scored, shape (judges, dimensions)."""


def sentence(table: pd.DataFrame) -> str:
    """Which judge is right most often over all dimensions."""
    rows = main_rows(table)
    known = rows[rows["kind"] == JUDGE].dropna(subset="average")
    if known.empty:
        return "No judge's average over the dimensions is known."
    best = known.sort_values(["rank", "judge"]).iloc[0]
    over = f"over {int(best['n_dimensions'])} dimensions" if best["n_dimensions"] > 1 else "on the one dimension"
    first = f"is first of {len(known)} judges" if len(known) > 1 else "is the only judge"
    value = percent(best, "average", "low", "high")
    return f"{best['judge']} {first}: its mean accuracy {over}, under policy {best['policy']}, is {value}."


def average(
    verdicts: pd.DataFrame | Panel,
    gold: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    offered: Sequence[str] = (),
    references: float = 1,
    policy: str = "balanced",
    by: By = None,
    dimensions: Sequence[str] | None = None,
    cluster: str | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """The mean over the dimensions of each judge's accuracy, as published tables have it in their last column.

    Parameters
    ----------
    verdicts, gold, cases, offered, references, policy, by, cluster, resamples, seed : as of
        `mrb_lib.stats.accuracy.accuracy`
    dimensions : those to average over; None takes all that were judged

    Returns
    -------
    DataFrame
        One row a judge, over all cases (`subfield` null) and for every subfield, and below them the references.
        `average`: the unweighted mean of the accuracies on the `n_dimensions` dimensions, each over the cases scored
        on it; null, with the reason, where one of them has none, since means over other dimensions do not compare. Its
        95% interval `low`, `high` is of this mean: the draws of clusters are shared by the dimensions, whose verdicts
        on a case go up and down together, so that it is not the mean of their intervals' ends. It is made as that of
        an accuracy (`interval`), of the linearised contributions of cases. `rank` is by `average` among judges.

    Raises
    ------
    InputError
        As `mrb_lib.stats.accuracy.accuracy`.

    Notes
    -----
    Validated by tests/stats/tables/test_accuracy.py; coverage by tests/simulation/test_average.py.
    """
    panel = as_panel(verdicts, cases["case_id"], dimensions)
    labels = encode_gold(gold, cases["case_id"], panel.dimensions, panel.categories)
    n_judges = len(panel.judges)
    panel, _ = with_references(panel, labels, cases, offered, policy)
    scores, parts, codes = score(panel, labels, policy), groups(cases, by), cluster_codes(cases, cluster)
    frames = []
    for part, each in zip(parts, _averages(scores.score, parts, codes, resamples, seed), strict=True):
        scored = np.isfinite(scores.score[:, :, part.cases]).any(axis=1).sum(axis=1)
        answered = scores.answered[:, :, part.cases].reshape(len(panel.judges), -1)
        frames.append(
            pd.DataFrame(
                {
                    "judge": panel.judges,
                    **part.label(),
                    "n": scored,
                    "n_excluded": len(part.cases) - scored,
                    "n_clusters": each.ends.clusters,
                    "n_dimensions": len(panel.dimensions),
                    "coverage": mean_of_defined(answered)[:, 0],
                    "average": each.value,
                    "low": each.ends.recommended.low,
                    "high": each.ends.recommended.high,
                    "interval": each.ends.method,
                    "kind": [JUDGE if i < n_judges else REFERENCE for i in range(len(panel.judges))],
                    "reason": _reasons(each, scored, panel.dimensions, resamples),
                }
            )
        )
    return typed(_ranked(frames).assign(policy=policy), COLUMNS, kind="str", rank="Int64").pipe(
        lambda table: table if references else table[table["kind"] == JUDGE].reset_index(drop=True)
    )


def _averages(score: FloatArray, parts: Sequence[Group], codes: IntArray, resamples: int, seed: int) -> list[_Averages]:
    """The mean of the accuracies on the dimensions over each group of cases.

    Parameters
    ----------
    score : shape (judges, dimensions, cases), 0 to 1; NaN where a case is not scored
    """
    shape, scored = score.shape[:2], np.isfinite(score)
    value = np.where(scored, score, 0.0).reshape(-1, len(codes)).T
    columns, which = distinct_rows(scored.reshape(-1, len(codes)))
    counted = scored.reshape(-1, len(codes))[columns].T.astype(np.float64)
    both, m = np.hstack([value, counted]), len(which)
    sums = [cluster_sums(codes[part.cases], both[part.cases]) for part in parts]
    drawn = resampled_sums(sums, n_clusters(codes), resamples=resamples, seed=seed)
    out = []
    for part, item, weighted in zip(parts, sums, drawn, strict=True):
        bottom = np.where(weighted[m:] > TINY, weighted[m:], np.nan)
        replicates = (weighted[:m] / bottom[which]).reshape(*shape, resamples).mean(axis=1)
        top, count = item.values[:, :m].reshape(-1, *shape), item.values[:, m:][:, which].reshape(-1, *shape)
        n = count.sum(axis=0)
        accuracy = divide(top.sum(axis=0), n)
        mean = accuracy.mean(axis=1)
        # Of each dimension what its accuracy moves by where a case is weighted more; weights add up to the cases.
        share = np.nan_to_num(divide(np.broadcast_to(n.mean(axis=1, keepdims=True) / shape[1], n.shape), n))
        moved = top - np.nan_to_num(accuracy - mean[:, None]) * count
        of_case = (value[part.cases].reshape(-1, *shape) * share).sum(axis=2)
        weight = (counted[part.cases][:, which].reshape(-1, *shape) * share).sum(axis=2)
        square = np.nan_to_num(divide(of_case**2, weight)).sum(axis=0)
        ends = share_intervals((moved * share).sum(axis=2), (count * share).sum(axis=2), square, replicates.T)
        out.append(_Averages(mean, _without(ends, np.isnan(mean)), n.astype(np.int64)))
    return out


def _without(ends: ShareIntervals, undefined: np.ndarray) -> ShareIntervals:
    """The intervals, none where the average is undefined."""
    for bound in ends.recommended:
        bound[undefined] = np.nan
    return ends


def _reasons(each: _Averages, scored: IntArray, dimensions: Sequence[str], resamples: int) -> list[str | None]:
    """Why an average or its interval is null."""
    out = []
    for row, n, why in zip(each.n_by_dimension, scored, share_reasons(scored, each.ends, resamples), strict=True):
        lacking = [name for name, count in zip(dimensions, row, strict=True) if not count]
        missing = UNSCORED.format(", ".join(lacking)) if lacking else ""
        out.append(join_reasons(NO_CASES) if not n else join_reasons(missing or why))
    return out


def _ranked(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The rows of all groups, in each by rank and name, references last as they come."""
    out = []
    for frame in frames:
        is_judge = frame["kind"] == JUDGE
        rank = frame["average"].where(is_judge).rank(ascending=False, method="min")
        order = pd.DataFrame({"last": ~is_judge, "rank": rank, "name": frame["judge"].where(is_judge, "")})
        order = order.sort_values(["last", "rank", "name"], na_position="last", kind="stable")
        out.append(frame.assign(rank=rank).reindex(order.index))
    return pd.concat(out, ignore_index=True)
