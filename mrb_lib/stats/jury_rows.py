"""The rows of the table `jury`, of one dimension."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
import pandas as pd

from mrb_lib.stats.jury_scores import KINDS, JuryScores
from mrb_lib.stats.options import FloatArray, IntArray, divide, join_reasons
from mrb_lib.stats.panel import Panel
from mrb_lib.stats.resample import Block, block, interval, interval_reason, n_clusters, replicates

ONE_JUDGE = "undefined: a jury takes two judges"
TWO_JUDGES = "undefined: Dawid and Skene's model takes three judges"
NO_CASES = "no case can be scored"
NO_SECONDS, NO_TOKENS = "seconds are unknown of a member", "tokens are unknown of a member"
BEST_SINGLE = "best_single"


class Means(NamedTuple):
    """Means over cases with their intervals; every array has shape (m,)."""

    n: IntArray
    value: FloatArray
    low: FloatArray
    high: FloatArray
    reason: list[str]

    def named(self, name: str, rows: slice) -> dict[str, object]:
        """The columns of some of them; those of an accuracy are plainly `low` and `high`."""
        prefix = "" if name == "accuracy" else f"{name}_"
        return {name: self.value[rows], f"{prefix}low": self.low[rows], f"{prefix}high": self.high[rows]}


def means(value: FloatArray, codes: IntArray, *, resamples: int, seed: int) -> Means:
    """Means of columns, shape (cases, m), over the cases where they are not NaN.

    Columns that count the same cases share one denominator, which halves the work.
    """
    counted = np.isfinite(value)
    alike: dict[bytes, list[int]] = {}
    for i, column in enumerate(np.packbits(counted, axis=0).T):
        alike.setdefault(column.tobytes(), []).append(i)
    columns = [np.array(those) for those in alike.values()]
    blocks: list[Block] = []
    for those in columns:
        rows = np.flatnonzero(counted[:, those[0]])
        sums = np.column_stack([value[np.ix_(rows, those)], np.ones(len(rows))])
        blocks.append(block(codes[rows], sums, _mean))
    out = np.full((3, value.shape[1]), np.nan)
    n, clusters = np.zeros((2, value.shape[1]), dtype=np.int64)
    found = replicates(blocks, n_clusters(codes), resamples=resamples, seed=seed)
    for those, item, replicated in zip(columns, blocks, found, strict=True):
        n[those], clusters[those] = counted[:, those[0]].sum(), len(item.clusters)
        if len(item.clusters):
            out[0, those] = _mean(np.asarray(item.sums).sum(axis=0)[None])[0]
        if len(item.clusters) > 1:
            out[1:, those] = interval(replicated)
    reason = [interval_reason(int(n[i]), int(clusters[i]), resamples, out[1, i], out[2, i]) for i in range(len(n))]
    return Means(n, out[0], out[1], out[2], reason)


def _mean(sums: FloatArray) -> FloatArray:
    return divide(sums[:, :-1], sums[:, -1:])


def costs(panel: Panel) -> FloatArray:
    """Seconds and tokens a case of each judge, shape (2, judges); NaN where unknown."""
    table = panel.costs.reindex(columns=["n_cases", "latency_s", "prompt_tokens", "completion_tokens"])
    seconds, prompt, completion = (
        table[name].to_numpy(dtype=np.float64, na_value=np.nan)
        for name in ("latency_s", "prompt_tokens", "completion_tokens")
    )
    return divide(np.stack([seconds, prompt + completion]), table["n_cases"].to_numpy(dtype=np.float64))


def cheapest(cost: FloatArray, accuracy: FloatArray) -> FloatArray:
    """1 where nobody is as cheap and as accurate and better in one, 0 elsewhere, NaN where a value is missing."""
    no_worse = (cost[:, None] <= cost) & (accuracy[:, None] >= accuracy)
    better = (cost[:, None] < cost) | (accuracy[:, None] > accuracy)
    beaten = (no_worse & better).any(axis=0)
    return np.where(np.isfinite(cost) & np.isfinite(accuracy), 1.0 - beaten, np.nan)


def dimension_rows(
    panel: Panel, i: int, scores: JuryScores, codes: IntArray, *, resamples: int, seed: int
) -> pd.DataFrame:
    """The rows of dimension `i` of a panel."""
    judges, cost = panel.judges, costs(panel)
    juries = np.vstack([scores.kinds[:, i], scores.crossfit[None, i]])
    groups = [
        scores.singles[:, i],
        juries,
        juries - scores.singles[scores.best[i], i],
        juries - scores.crossfit[i],
        scores.without[:, i],
        scores.joined.added[:, i],
        scores.joined.by_size[:, i],
        scores.chosen.score[:, i],
    ]
    found = means(np.vstack(groups).T, codes, resamples=resamples, seed=seed)
    ends = np.cumsum([0, *(len(group) for group in groups)])
    single, kinds, to_best, to_crossfit, without, added, random, greedy = (
        slice(int(first), int(last)) for first, last in itertools.pairwise(ends)
    )
    several = len(judges) > 1
    parts = [_jury_part(panel, i, scores, found, (kinds, to_best, to_crossfit), cost)]
    parts.append(
        _frame("single", found, single, found.named("accuracy", single), cost).assign(
            judge=judges, kind="single", size=1
        )
    )
    if several:
        shares = {**found.named("leave_one_out", without), **found.named("shapley", added)}
        error = scores.joined.error[:, i]
        parts.append(
            _frame("member", found, without, shares, cost).assign(
                judge=judges, kind="majority", monte_carlo_error=error, n_orderings=scores.joined.tried
            )
        )
        parts += _curves(found, random, greedy, scores, cost, i)
    out = pd.concat(parts, ignore_index=True)
    compared = (out["part"].isin(["single", "jury"]) | (out["order"] == "greedy")).to_numpy()
    for name in ("seconds", "tokens"):
        flag = np.full(len(out), np.nan)
        columns = (out.loc[compared, column].to_numpy(dtype=np.float64) for column in (name, "accuracy"))
        flag[compared] = cheapest(*columns)
        out[f"pareto_{name}"] = flag
    out["n_excluded"] = len(codes) - out["n"]
    return out


def _frame(
    part: str, found: Means, rows: slice, columns: dict[str, object], cost: FloatArray, reasons: list[str] | None = None
) -> pd.DataFrame:
    n = found.n[rows]
    said = reasons or [""] * len(n)
    texts = [
        join_reasons(
            NO_CASES if count == 0 and not said_of_row else "",
            said_of_row,
            reason,
            NO_SECONDS if np.isnan(seconds) else "",
            NO_TOKENS if np.isnan(tokens) else "",
        )
        for count, said_of_row, reason, seconds, tokens in zip(n, said, found.reason[rows], *cost, strict=True)
    ]
    shown = {"order": None, "n": n, **columns, "seconds": cost[0], "tokens": cost[1], "reason": texts}
    return pd.DataFrame({"part": part, **shown})


def _jury_part(
    panel: Panel, i: int, scores: JuryScores, found: Means, rows: tuple[slice, slice, slice], cost: FloatArray
) -> pd.DataFrame:
    names = [*KINDS, BEST_SINGLE]
    kinds, to_best, to_crossfit = rows
    one = cost[:, scores.best[i]]
    total = cost.sum(axis=1)
    paid = np.column_stack([total, total, total, one])
    columns = {
        **found.named("accuracy", kinds),
        **found.named("difference", to_best),
        **found.named("crossfit_difference", to_crossfit),
    }
    few = len(panel.judges)
    reasons = [ONE_JUDGE, ONE_JUDGE, ONE_JUDGE, ""] if few < 2 else ["", "", TWO_JUDGES if few < 3 else "", ""]
    out = _frame("jury", found, kinds, columns, paid, reasons)
    out = out.assign(kind=names, size=[few, few, few, 1], best_judge=panel.judges[int(scores.best[i])])
    own = [name for name in out.columns if name.startswith("crossfit")]
    out.loc[out["kind"] == BEST_SINGLE, own] = np.nan
    if few < 2:
        measured = [name for name in columns if name in out.columns]
        out.loc[out["kind"] != BEST_SINGLE, measured] = np.nan
    return out


def _curves(
    found: Means, random: slice, greedy: slice, scores: JuryScores, cost: FloatArray, i: int
) -> list[pd.DataFrame]:
    n_judges, sizes = cost.shape[1], scores.chosen.score.shape[0]
    by_size = cost.mean(axis=1, keepdims=True) * np.arange(1, n_judges + 1)
    members = scores.chosen.members[:, :, i]
    chosen = cost[:, members].mean(axis=1).cumsum(axis=1)
    first = _frame("curve", found, random, found.named("accuracy", random), by_size)
    second = _frame("curve", found, greedy, found.named("accuracy", greedy), chosen)
    return [
        first.assign(order="random", size=np.arange(1, n_judges + 1), n_orderings=scores.joined.tried),
        second.assign(order="greedy", size=np.arange(1, sizes + 1)),
    ]
