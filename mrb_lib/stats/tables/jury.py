"""Is a panel of judges better than its best member, what does each member add, and what does it cost?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np
import pandas as pd
from scipy.special import ndtri

from mrb_lib.stats import intervals
from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.columns import Column, estimated, shared, table
from mrb_lib.stats.estimation import FloatArray, divide, mean
from mrb_lib.stats.grid import Measure, grid
from mrb_lib.stats.juries import BEST_SINGLE, DAWID_SKENE, WEIGHTED, Members, best_member, folds, joined, juries_of
from mrb_lib.stats.panel import BATCH, COST_COLUMNS, COUNTS
from mrb_lib.stats.phrases import interval, main_dimension, main_rows, opening
from mrb_lib.stats.scoring import balanced_mean, decisive_worth, ranking, read_by, score
from mrb_lib.stats.tables.accuracy import decisive_ends
from mrb_lib.tables.schema import ORDERS, category_numbers

COMPARED, ONE_JUDGE = ("jury", "single"), "undefined: a jury takes two judges"
TWO_JUDGES: Final = "undefined: Dawid and Skene's model takes three judges"
NO_OTHERS: Final = "undefined: no other cluster has a labelled case to choose on"
_Z = float(ndtri(0.975))


def best_jury(rows: pd.DataFrame) -> str:
    """Say whether the jury that ranks first is better than a constant, and than one judge chosen on other cases."""
    where, known = opening(main_dimension(rows)), main_rows(rows, part="jury").dropna(subset="accuracy")
    juries = known[known["kind"] != BEST_SINGLE]
    if juries.empty:
        return f"{where}, no jury can be scored."
    ranked = juries.dropna(subset="rank")
    if ranked.empty:
        return f"{where}, gold does not name both sides: no jury can be compared with a constant."
    best = ranked.sort_values("rank", kind="stable").iloc[0]
    size, name = int(best["size"]), str(best["kind"]).replace("_", " ")
    decisive = pd.notna(best["decisive_accuracy"])
    if decisive and not best["decisive_accuracy_low"] > 0.5:
        return f"{where}, no jury of the {size} judges is shown to be better than a constant."
    by = " by decisive accuracy" if decisive else ""
    ends = interval(best["low"], best["high"])
    return (
        f"{where}, the best jury of the {size} judges{by} ({name}) has an accuracy of {best['accuracy']:.0%} over "
        f"{int(best['n']):,} cases{ends}, and is {against_one(best, known)} the one judge that is best on other cases."
    )


def against_one(best: pd.Series, juries: pd.DataFrame) -> str:
    """Say how a jury compares with the judge that is best on other cases: by accuracy, and not against the decisive.

    Parameters
    ----------
    juries : the rows of part `jury` of the dimension
    """
    one = juries.loc[juries["kind"] == BEST_SINGLE, "decisive_accuracy"]
    ahead = best["decisive_accuracy"] - (float(one.iloc[0]) if len(one) else np.nan)
    if best["crossfit_difference_low"] > 0 and not ahead <= 0:
        return "better than"
    return "worse than" if best["crossfit_difference_high"] < 0 and not ahead >= 0 else "not shown to differ from"


@table(
    "jury",
    question="is a panel of judges better than its best member, and what is each member worth",
    columns=[
        Column("part", "jury (of all judges), single, member or curve (accuracy by size)", "text"),
        shared("dimension", "policy"),
        Column("kind", "majority, weighted, dawid_skene, median, mean; best_single: of other folds", "text"),
        shared("judge"),
        Column("size", "members", "count"),
        Column("rank", "place by decisive accuracy on cases that juries and judges share", "rank"),
        shared("n", "n_excluded", "clusters"),
        Column("accuracy", "mean score over cases: agreement with the gold label", "share 0-1", ends=("low", "high")),
        estimated(
            "decisive_accuracy",
            "balanced accuracy on cases with a clear winner, half credit for ties",
            source="Brodersen et al. 2010",
            null="decisive_accuracy: gold names one side only, or none",
            parts=COMPARED,
        ),
        Column("best_judge", "judge that ranks first, and so is flattered by the choice", "text"),
        estimated("difference", "accuracy less that of best_judge, same cases", "difference"),
        Column("n_difference", "cases scored for both", "cases"),
        estimated("crossfit_difference", "accuracy less that of best_single, chosen on other cases", "difference"),
        Column("n_crossfit_difference", "cases scored for both", "cases"),
        estimated("leave_one_out", "accuracy of the majority less that without the judge", "difference"),
        estimated(
            "shapley",
            "what the judge adds on joining, mean over orders, a coin first",
            "difference",
            "Shapley 1953; Castro et al. 2009",
        ),
        Column("monte_carlo_error", "standard error of shapley from sampled orders; 0: all were taken"),
        Column("n_orderings", "orders of joining, or juries of the size", "count"),
        Column("seconds", "a case, summed over members", "seconds", null="seconds are not recorded for some member"),
        Column("tokens", "a case, summed over members", "tokens", null="tokens are not recorded for some member"),
        Column("pareto_seconds", "whether no other is as fast and as accurate, and better in one", "yes/no"),
        Column("pareto_tokens", "whether no other takes as few tokens and is as accurate", "yes/no"),
    ],
    sentence=best_jury,
    uses=("policy", "dimension", "gold", "level", "cluster", "resamples", "seed"),
    reads=COST_COLUMNS,
    headline=("accuracy", "crossfit_difference", "shapley"),
    why_no_ratings="",
    nothing="no judge has a verdict",
)
def jury(analysis: Analysis) -> pd.DataFrame:
    """Make rows of the juries of all judges, of the judges, of what each adds, and of juries by size.

    Notes
    -----
    A jury is a judge: its verdict in an order and repeat is that of its members, and it is scored as they are. All are
    read in the orders and repeats that every judge of the dimension has (in any, where none is common). A member
    without a choice abstains; where several choices have most votes the jury ties, of ratings it has none.
    Nothing is chosen or weighted on the cluster that is scored: `weighted` votes and `best_single` come from the other
    of five folds, which keep clusters whole (of two columns that cross, those of the first). Weights are decisive, so
    that a judge that always ties has none; where no vote has a weight, all count alike. Best means first in the one
    ranking, by decisive accuracy on common cases.
    `shapley` is over all juries of up to eight judges, of more over 64 random orders, whose Monte-Carlo error widens
    the interval; values sum to the accuracy of the majority less that of a coin. The interval of accuracy is
    `intervals.share`, of decisive accuracy as in `accuracy`, of the others `intervals.difference`. Those of what was
    chosen or weighted are about the choice that was made, not about making it anew. Coverage and Condorcet's
    accuracies: tests/simulation/test_jury.py.
    """
    whole = replace(analysis, by=None)
    fold = folds(whole.sampling.codes, whole.seed)
    frames = [pd.DataFrame(columns=["part", "dimension"])]
    for dimension in range(len(whole.names)):
        members = Members.of(whole.verdicts, dimension)
        if len(members.said):
            made = [_compared(whole, members, fold)]
            if len(members.said) > 1:
                made += _joining(whole, members)
            frames.append(pd.concat(made, ignore_index=True).assign(dimension=whole.names[dimension]))
    return pd.concat(frames[1:] or frames, ignore_index=True)


def _compared(analysis: Analysis, members: Members, fold: np.ndarray) -> pd.DataFrame:
    """The rows of parts `jury` and `single`."""
    m, labels, policy = len(members.said), analysis.labels, analysis.policy
    judges, chosen = juries_of(members, labels, policy, fold, _numbers(analysis))
    values = score(judges, labels, policy).score
    best = best_member(members, labels, policy, np.arange(len(fold)))
    to_best, to_single = values - values[:, [best]], values - values[:, [-1]]
    to_best[:, :m], to_single[:, :m], to_single[:, -1] = np.nan, np.nan, np.nan
    if m < 2 or best < 0:
        to_best[:] = np.nan
    worth, sides = decisive_worth(judges, labels, policy)
    if judges.tie < 0:
        worth, sides = np.full_like(worth, np.nan), np.zeros_like(sides)
    rows, _ = grid(
        analysis,
        judges.cells[["judge", "kind"]],
        {
            "accuracy": Measure(mean(values), intervals.share),
            "decisive_accuracy": Measure(balanced_mean(worth, sides)),
            "difference": Measure(mean(to_best), intervals.difference),
            "crossfit_difference": Measure(mean(to_single), intervals.difference),
        },
    )
    rows = rows.join(decisive_ends(analysis, worth, sides))
    is_single = np.arange(len(rows)) < m
    names = rows["judge"].to_numpy()
    rows = rows.assign(
        part=np.where(is_single, "single", "jury"),
        kind=np.where(is_single, "single", names),
        judge=pd.Series(names, rows.index).where(is_single),
        size=np.where(is_single | (names == BEST_SINGLE), 1, m),
        rank=ranking(judges, labels, policy).rank,
        best_judge=pd.Series(members.names[best] if best >= 0 else None, rows.index, dtype=object).mask(is_single),
        n_difference=np.where(is_single, np.nan, np.isfinite(to_best).sum(axis=0)),
        n_crossfit_difference=np.where(is_single | (names == BEST_SINGLE), np.nan, np.isfinite(to_single).sum(axis=0)),
        reason=_why_none(names, is_single, m),
    )
    cost = costs(analysis, members)
    own = chosen[fold[np.isfinite(values[:, -1])]]
    one = cost[own].mean(axis=0) if len(own) else np.full(2, np.nan)
    paid = np.vstack([cost, np.repeat(cost.sum(axis=0)[None], len(rows) - m - 1, axis=0), one])
    for number, name in enumerate(("seconds", "tokens")):
        rows[name] = paid[:, number]
        rows[f"pareto_{name}"] = cheapest(paid[:, number], rows["accuracy"].to_numpy(np.float64))
    return pd.concat([rows[~is_single], rows[is_single]], ignore_index=True)


def _why_none(names: np.ndarray, is_single: np.ndarray, members: int) -> list[str]:
    """Why a jury cannot be scored where it has no case; empty for judges, and for a jury that can be."""
    own = {WEIGHTED: NO_OTHERS, BEST_SINGLE: NO_OTHERS, DAWID_SKENE: TWO_JUDGES}
    alone = {name: ONE_JUDGE for name in names if name != BEST_SINGLE} if members < 2 else {}
    said = own | alone
    return ["" if single else said.get(name, "") for name, single in zip(names, is_single, strict=True)]


def _joining(analysis: Analysis, members: Members) -> list[pd.DataFrame]:
    """The rows of parts `member` and `curve`."""
    m, found = len(members.said), joined(members, analysis.labels, analysis.policy, analysis.seed)
    cost = costs(analysis, members)
    added, _ = grid(
        analysis,
        pd.DataFrame({"judge": members.names, "kind": "majority"}),
        {
            "leave_one_out": Measure(mean(found.without), intervals.difference),
            "shapley": Measure(mean(found.shapley), intervals.difference),
        },
    )
    for name, sign in (("shapley_low", -1), ("shapley_high", 1)):
        added[name] = added["shapley"] + sign * np.hypot(added[name] - added["shapley"], _Z * found.error)
    added = added.drop(columns=["low", "high"]).assign(
        part="member", monte_carlo_error=found.error, n_orderings=found.n_orders, seconds=cost[:, 0], tokens=cost[:, 1]
    )
    sizes = np.arange(1, m + 1)
    curve, _ = grid(
        analysis, pd.DataFrame({"size": sizes}), {"accuracy": Measure(mean(found.by_size), intervals.share)}
    )
    average = cost.mean(axis=0) * sizes[:, None]
    curve = curve.assign(part="curve", n_orderings=found.formed, seconds=average[:, 0], tokens=average[:, 1])
    return [added, curve]


def _numbers(analysis: Analysis) -> list[float] | None:
    """The numbers that categories of ratings count as, or their places; None where they have no order."""
    if analysis.verdicts.tie >= 0 or analysis.level == "nominal":
        return None
    places = dict(zip(analysis.categories, range(len(analysis.categories)), strict=True))
    numbers = category_numbers(analysis.categories) if analysis.level == "interval" else list(places.values())
    return [float(numbers[places[name]]) for name in analysis.verdicts.categories]


def costs(analysis: Analysis, members: Members) -> FloatArray:
    """Return seconds and tokens a case of each member, shape (members, 2); NaN where unknown.

    The mean a verdict of an order and repeat, times the verdicts in it that the policy reads, over the cases that have
    one. A judge `NAME+batch` answers several cases in a reply, so that its replies are counted, not its verdicts.
    """
    out, read = np.full((len(members.said), 2), np.nan), read_by(members.verdicts, analysis.policy)
    keys = ["cell", "order", "repeat"]
    counts = pd.DataFrame({name: getattr(read, name) for name in keys}).value_counts().rename("verdicts").reset_index()
    known = analysis.panel.costs if analysis.panel is not None else pd.DataFrame()
    if not len(known) or not len(counts):
        return out
    known = known[known["dimension"] == members.verdicts.cells["dimension"].iloc[0]]
    place = {name: number for number, name in enumerate(members.names)}
    known = known.assign(
        cell=known["judge"].map(place), order=known["order"].map(dict(zip(ORDERS, (0, 1), strict=True)))
    )
    rows = counts.merge(known.dropna(subset="cell").astype({"cell": np.int64}), on=keys, how="left")
    in_batches = np.array([f"{BATCH}@" in f"{members.names[cell]}@" for cell in rows["cell"]])  # or judge@run
    each: dict[str, Any] = {"seconds": (rows["latency_s"], "latency_s")}
    each["tokens"] = rows["prompt_tokens"] + rows["completion_tokens"], "prompt_tokens"
    cases = (read.total() > 0).sum(axis=0)
    for number, (cost, counted) in enumerate(each.values()):
        paid = (cost.astype(np.float64) * np.where(in_batches, rows[COUNTS[counted]], rows["verdicts"])).to_numpy()
        sums = np.bincount(rows["cell"], paid.astype(np.float64), len(out))
        out[:, number] = divide(sums, cases)
    return out


def cheapest(cost: FloatArray, accuracy: FloatArray) -> FloatArray:
    """Return 1 where nobody is as cheap and as accurate and better in one, else 0; NaN where a value is missing."""
    no_worse = (cost[:, None] <= cost) & (accuracy[:, None] >= accuracy)
    better = (cost[:, None] < cost) | (accuracy[:, None] > accuracy)
    return np.where(np.isfinite(cost) & np.isfinite(accuracy), 1.0 - (no_worse & better).any(axis=0), np.nan)


def missed_by_juries(
    verdicts: pd.DataFrame, gold: pd.DataFrame, cases: pd.DataFrame, *, dimension: str, **options: Any
) -> pd.DataFrame:
    """Return the cases that the juries of all judges get wrong.

    Parameters
    ----------
    options : policy, cluster and seed of an analysis

    Returns
    -------
    `kind` of jury; `n` cases scored, `n_half_right` and `n_wrong` of them, so that n (1 - `accuracy`) of the table is
    n_wrong + n_half_right / 2 where scores are 0, 1/2 and 1; `wrong`, the ids of those scored below one half
    """
    analysis = Analysis.from_frames(cases, verdicts, gold, dimensions=[dimension], resamples=0, **options)
    members, rows, ids = Members.of(analysis.verdicts, 0), [], cases["case_id"].to_numpy()
    if len(members.said):
        fold = folds(analysis.sampling.codes, analysis.seed)
        judges, _ = juries_of(members, analysis.labels, analysis.policy, fold, None)
        scores = score(judges, analysis.labels, analysis.policy).score.T
        is_jury = (judges.cells["kind"] == "jury").to_numpy()
        for name, own in zip(judges.cells.loc[is_jury, "judge"], scores[is_jury], strict=True):
            n, half, wrong = np.isfinite(own).sum(), (own == 0.5).sum(), own < 0.5
            rows.append((name, int(n), int(half), int(wrong.sum()), tuple(ids[wrong])))
    return pd.DataFrame(rows, columns=["kind", "n", "n_half_right", "n_wrong", "wrong"])
