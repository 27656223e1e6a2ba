"""The rows of the table `jury`, of one dimension."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy import special

from mrb_lib.stats.accuracy.decisive import NO_DECISIVE, ONE_SIDE, RARE_SIDE, RATINGS
from mrb_lib.stats.core.panel import ABSENT, BATCH, COST_COLUMNS, COUNTS, Panel
from mrb_lib.stats.core.scoring import columns_used
from mrb_lib.stats.juries.scores import BEST_SINGLE, JuryScores
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, divide, join_reasons
from mrb_lib.stats.resampling.resample import CONFIDENCE, ratios
from mrb_lib.tables.schema import ORDERS

ONE_JUDGE = "undefined: a jury takes two judges"
TWO_JUDGES = "undefined: Dawid and Skene's model takes three judges"
NO_CASES = "no case can be scored"
NO_OTHERS = "undefined: no other cluster has a labelled case to choose on"
NO_SECONDS = "seconds are not recorded for at least one member"
NO_TOKENS = "tokens are not recorded for at least one member"
_Z = float(special.ndtri((1 + CONFIDENCE) / 2))

DECISIVE = ("decisive_accuracy", "decisive_accuracy_low", "decisive_accuracy_high")

Rows = dict[str, object]
"""Columns by name: arrays or lists of one length, or a value that all rows have."""


class JuryMeans(NamedTuple):
    """JuryMeans over cases with their intervals; every array has shape (m,)."""

    n: IntArray
    value: FloatArray
    low: FloatArray
    high: FloatArray
    reason: list[str]

    def rows(self, kept: slice) -> JuryMeans:
        return JuryMeans(self.n[kept], self.value[kept], self.low[kept], self.high[kept], self.reason[kept])

    def over(self, divisor: FloatArray | IntArray) -> JuryMeans:
        """The means of columns that are each to be divided by something; NaN where that is 0."""
        value, low, high = (divide(values, divisor) for values in (self.value, self.low, self.high))
        return JuryMeans(self.n, value, low, high, self.reason)

    def widened(self, error: FloatArray) -> JuryMeans:
        """With intervals that allow for another, independent, standard error of the values, shape (m,)."""
        below, above = (np.hypot(end - self.value, _Z * error) for end in (self.low, self.high))
        return self._replace(low=self.value - below, high=self.value + above)

    def named(self, name: str) -> Rows:
        """The columns; those of an accuracy are plainly `low` and `high`."""
        prefix = "" if name == "accuracy" else f"{name}_"
        return {name: self.value, f"{prefix}low": self.low, f"{prefix}high": self.high}


def means(
    groups: Sequence[FloatArray], codes: IntArray, *, shares: Sequence[BoolArray], resamples: int, seed: int
) -> list[JuryMeans]:
    """JuryMeans over the cases where columns are not NaN; each group has shape (m, cases).

    `shares` says which columns are scores from 0 to 1, see `mrb_lib.stats.resampling.resample.ratios`.
    """
    every = np.arange(len(codes))
    parts = []
    for value in groups:
        counted = np.isfinite(value.T)
        parts.append((every, np.where(counted, value.T, 0.0), counted.astype(np.float64)))
    return [
        JuryMeans(each.n, each.value, each.low, each.high, each.reason)
        for each in ratios(parts, codes, shares=shares, resamples=resamples, seed=seed)
    ]


def costs(panel: Panel, policy: str) -> FloatArray:
    """Seconds and tokens a case of each judge, shape (2, judges, dimensions); NaN where unknown.

    Those of the verdicts that the panel still has and the policy reads: the mean a verdict of a dimension, order and
    repeat, times the verdicts in it, over the cases that have one. A judge `NAME+batch` answers several cases in a
    reply, which one of them counts, so what it counts is all.
    """
    used = columns_used(panel, policy)
    present = np.asarray(panel.choice[..., *used] != ABSENT)
    each = np.full((2 * len(COST_COLUMNS), *panel.choice.shape[:2], *panel.choice.shape[3:]), np.nan)
    keys: dict[str, Sequence[object]] = {
        "judge": panel.judges, "dimension": panel.dimensions, "order": ORDERS, "repeat": panel.repeats
    }  # fmt: skip
    if len(panel.costs):
        positions = np.stack([_positions(panel.costs[key].tolist(), names) for key, names in keys.items()])
        rows = (positions >= 0).all(axis=0)
        names = [*COST_COLUMNS, *COUNTS.values()]
        each[:, *positions[:, rows]] = panel.costs[names].to_numpy(dtype=np.float64)[rows].T
    seconds, prompt, completion, n_seconds, n_prompt, _ = each[..., *used]
    cells = np.stack([seconds, prompt + completion])
    in_batches = np.array([f"{BATCH}@" in f"{judge}@" for judge in panel.judges])[:, None, None, None]  # or judge@run
    count = np.where(in_batches, np.stack([n_seconds, n_prompt]), present.sum(axis=2))
    total = np.where(present.any(axis=2), cells * count, 0.0).sum(axis=(3, 4))
    return divide(total, present.any(axis=(3, 4)).sum(axis=2))


def _positions(values: Sequence[object], names: Sequence[object]) -> IntArray:
    index = {name: i for i, name in enumerate(names)}
    return np.array([index.get(value, -1) for value in values], dtype=np.int64)


def cheapest(cost: FloatArray, accuracy: FloatArray) -> FloatArray:
    """1 where nobody is as cheap and as accurate and better in one, 0 elsewhere, NaN where a value is missing."""
    no_worse = (cost[:, None] <= cost) & (accuracy[:, None] >= accuracy)
    better = (cost[:, None] < cost) | (accuracy[:, None] > accuracy)
    beaten = (no_worse & better).any(axis=0)
    return np.where(np.isfinite(cost) & np.isfinite(accuracy), 1.0 - beaten, np.nan)


def dimension_rows(
    panel: Panel, i: int, scores: JuryScores, cost: FloatArray, codes: IntArray, *, resamples: int, seed: int
) -> list[Rows]:
    """The rows of dimension `i` of a panel, of which `cost` has shape (2, judges)."""
    juries = np.vstack([scores.kinds[:, i], scores.crossfit[None, i]])
    groups = [
        scores.singles[:, i],
        juries,
        juries - scores.singles[scores.best[i], i],
        juries - scores.crossfit[i],
        scores.without[:, i],
        scores.chosen.score[:, i],
    ]
    joined = np.vstack([scores.joined.added[:, i], scores.joined.by_size[:, i]])
    is_share = np.repeat([True, True, False, False, False, True], [len(group) for group in groups])
    shares = [is_share, np.zeros(len(joined), dtype=bool)]
    estimates, summed = means([np.vstack(groups), joined], codes, shares=shares, resamples=resamples, seed=seed)
    ends = np.cumsum([0, *(len(group) for group in groups)])
    single, kinds, to_best, to_crossfit, without, greedy = (
        estimates.rows(slice(int(first), int(last))) for first, last in itertools.pairwise(ends)
    )
    judges = panel.judges
    shown: Rows = {**single.named("accuracy"), **_decisive(scores, i, slice(0, len(judges)))}
    shown |= {"judge": judges, "kind": "single", "size": 1}
    parts = [
        _jury_part(panel, i, scores, (kinds, to_best, to_crossfit), cost),
        _part("single", single, shown, cost, _undecided(scores, i, slice(0, len(judges)))),
    ]
    if len(judges) > 1:
        tried, error = np.full(len(judges), scores.joined.tried), scores.joined.error[:, i]
        added = summed.rows(slice(0, len(judges))).widened(error)
        random = summed.rows(slice(len(judges), None)).over(scores.joined.formed[:, i])
        said: Rows = {"judge": judges, "kind": "majority", "n_orderings": tried}
        said["monte_carlo_error"] = error
        parts += [
            _part("member", without, {**without.named("leave_one_out"), **added.named("shapley"), **said}, cost),
            *_curves(random, greedy, scores, cost, i),
        ]
    _mark_cheapest([rows for rows in parts if rows["part"] in ("jury", "single") or rows.get("order") == "greedy"])
    for rows in parts:
        rows["n_excluded"] = len(codes) - np.asarray(rows["n"])
    return parts


def _mark_cheapest(parts: Sequence[Rows]) -> None:
    """Say of all rows that are compared which are on the front."""
    accuracy = np.concatenate([np.asarray(rows["accuracy"], dtype=np.float64) for rows in parts])
    ends = np.cumsum([len(np.asarray(rows["accuracy"])) for rows in parts])[:-1]
    for name in ("seconds", "tokens"):
        paid = np.concatenate([np.asarray(rows[name], dtype=np.float64) for rows in parts])
        for rows, flags in zip(parts, np.split(cheapest(paid, accuracy), ends), strict=True):
            rows[f"pareto_{name}"] = flags


def _part(
    part: str, estimates: JuryMeans, columns: Mapping[str, object], cost: FloatArray, said: Sequence[str] = ()
) -> Rows:
    reasons = [
        join_reasons(
            NO_CASES if count == 0 and not why else "",
            why,
            reason,
            NO_SECONDS if np.isnan(seconds) else "",
            NO_TOKENS if np.isnan(tokens) else "",
        )
        for count, why, reason, seconds, tokens in zip(
            estimates.n, said or [""] * len(estimates.n), estimates.reason, *cost, strict=True
        )
    ]
    return {"part": part, "n": estimates.n, **columns, "seconds": cost[0], "tokens": cost[1], "reason": reasons}


def _jury_part(
    panel: Panel, i: int, scores: JuryScores, means_of: tuple[JuryMeans, JuryMeans, JuryMeans], cost: FloatArray
) -> Rows:
    kinds, to_best, to_crossfit = means_of
    names, few = [*scores.names, BEST_SINGLE], len(panel.judges)
    total, chosen = cost.sum(axis=1), scores.crossfit_judge[i][np.isfinite(scores.crossfit[i])]
    one = cost[:, chosen].mean(axis=1) if len(chosen) else np.full(2, np.nan)
    columns: Rows = {
        **kinds.named("accuracy"),
        **_decisive(scores, i, slice(few, None)),
        **to_best.named("difference"),
        "n_difference": to_best.n,
        **to_crossfit.named("crossfit_difference"),
        "n_crossfit_difference": to_crossfit.n,
    }
    itself = [name for name in columns if "crossfit" in name]
    for name in columns:
        values = np.asarray(columns[name], dtype=np.float64)
        if few < 2:
            values[:-1] = np.nan
        if name in itself:
            values[-1] = np.nan
        columns[name] = values
    lost = np.isnan(scores.crossfit[i]).all()
    weighted, best = (NO_OTHERS if lost and kinds.n[k] == 0 and kinds.n[0] else "" for k in (1, -1))
    own = {"weighted": weighted, "dawid_skene": TWO_JUDGES if few < 3 else ""}
    said = [*(ONE_JUDGE if few < 2 else own.get(name, "") for name in scores.names), best]
    why = [join_reasons(*both) or "" for both in zip(said, _undecided(scores, i, slice(few, None)), strict=True)]
    sizes = [*(few for _ in scores.names), 1]
    rows = _part("jury", kinds, columns, np.column_stack([*(total for _ in scores.names), one]), why)
    return {**rows, "kind": names, "size": sizes, "best_judge": panel.judges[int(scores.best[i])]}


def _decisive(scores: JuryScores, i: int, kept: slice) -> Rows:
    return {name: scores.decisive[name][kept, i] for name in DECISIVE}


def _undecided(scores: JuryScores, i: int, kept: slice) -> list[str]:
    """Why there is no decisive accuracy, or no interval of it; empty where no case is scored."""
    scored = np.isfinite(np.vstack([scores.singles[:, i], scores.kinds[:, i], scores.crossfit[None, i]])).any(axis=1)
    n, value, low = (scores.decisive[name][:, i] for name in ("n_decisive", *DECISIVE[:2]))
    undefined = np.select([scores.of_ratings, n == 0], [RATINGS, NO_DECISIVE], ONE_SIDE)
    why = np.where(np.isnan(value), undefined, np.where(np.isnan(low), RARE_SIDE, ""))
    return [str(each) for each in np.where(scored, why, "")[kept]]


def _curves(random: JuryMeans, greedy: JuryMeans, scores: JuryScores, cost: FloatArray, i: int) -> list[Rows]:
    sizes = np.arange(1, cost.shape[1] + 1)
    members = scores.chosen.members[:, :, i]
    chosen = cost[:, members].mean(axis=1).cumsum(axis=1)
    lost = [NO_OTHERS if n == 0 and random.n[0] else "" for n in greedy.n]
    first = _part("curve", random, random.named("accuracy"), cost.mean(axis=1, keepdims=True) * sizes)
    second = _part("curve", greedy, greedy.named("accuracy"), chosen, lost)
    return [
        {**first, "order": "random", "size": sizes, "n_orderings": scores.joined.formed[:, i]},
        {**second, "order": "greedy", "size": sizes[: len(greedy.n)]},
    ]
