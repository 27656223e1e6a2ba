"""Is a panel of judges better than its best member, what does each member add, and what does it cost?"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.polynomial.polynomial import polypow
from numpy.typing import NDArray
from scipy.special import comb, ndtri

from mrb_lib.stats import intervals
from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.columns import Column, estimated, shared, table
from mrb_lib.stats.dawid_skene import em, label_counts
from mrb_lib.stats.estimation import BoolArray, FloatArray, IntArray, average, divide, mean
from mrb_lib.stats.grid import Measure, grid
from mrb_lib.stats.panel import ABSENT, BATCH, COST_COLUMNS, COUNTS, NULL
from mrb_lib.stats.phrases import interval, main_dimension, main_rows, opening
from mrb_lib.stats.scoring import BINARY, decisive_worth, on_common_cases, ranking, read_by, score
from mrb_lib.stats.tables.accuracy import DECISIVE, decisive
from mrb_lib.stats.verdicts import REFERENCE, STATED, Verdicts
from mrb_lib.tables.schema import ORDERS

JURIES = MAJORITY, WEIGHTED, DAWID_SKENE = "majority", "weighted", "dawid_skene"
BEST_SINGLE = "best_single"
FOLDS, EXACT_UP_TO, ORDERINGS = 5, 8, 64
COMPARED = ("jury", "single")
TWO_JUDGES: Final = "undefined: Dawid and Skene's model needs three judges"
NO_OTHERS: Final = "undefined: no other cluster has a labelled case to choose on"
_ROUNDING, _Z = 1e-9, float(ndtri(0.975))
_AT_ONCE = 500_000  # verdicts of juries, which fit the processor's cache: a quarter quicker than 2 million
Choices = NDArray[np.int64]


def best_jury(rows: pd.DataFrame) -> str:
    """Say whether the jury that ranks first is better than a constant, and than one judge chosen on other cases."""
    where, known = opening(main_dimension(rows)), main_rows(rows, part="jury").dropna(subset="accuracy")
    ranked = known[known["kind"] != BEST_SINGLE].dropna(subset="rank").sort_values("rank", kind="stable")
    if ranked.empty:
        return f"{where}, no jury can be compared with a constant: it takes two judges and gold labels for either side."
    best = ranked.iloc[0]
    size, by_decisive = int(best["size"]), pd.notna(best["decisive_accuracy"])
    if by_decisive and not best["decisive_accuracy_low"] > 0.5:
        return f"{where}, cannot tell whether any jury of the {size} judges is better than a constant."
    return (
        f"{where}, the best jury of the {size} judges{' by decisive accuracy' if by_decisive else ''} "
        f"({best['kind'].replace('dawid_skene', 'Dawid-Skene')}) has an accuracy of {best['accuracy']:.0%} over "
        f"{int(best['n']):,} cases{interval(best['low'], best['high'])}, and is {against_one(best, known)} the one "
        "judge that is best on other cases."
    )


def against_one(best: pd.Series, juries: pd.DataFrame) -> str:
    """Say how a jury compares with the judge that is best on other cases: by accuracy, and not against the decisive.

    Parameters
    ----------
    juries : the rows of part `jury` of the dimension
    """
    ahead = best["decisive_accuracy"] - juries.loc[juries["kind"] == BEST_SINGLE, "decisive_accuracy"].max()
    if best["crossfit_difference_low"] > 0 and not ahead <= 0:
        return "better than"
    is_worse = best["crossfit_difference_high"] < 0 and not ahead >= 0
    return "worse than" if is_worse else "not significantly different from"


@table(
    "jury",
    question="is a panel of judges better than its best member, and what is each member worth",
    columns=[
        Column("part", "jury (of all judges), single, member or curve (accuracy by size)", "text"),
        shared("dimension", "policy"),
        Column("kind", "majority, weighted, dawid_skene; best_single: of other folds", "text"),
        shared("judge"),
        Column("size", "members", "count"),
        Column("rank", "place by decisive accuracy on cases that juries and judges share", "rank"),
        shared("n", "n_excluded", "clusters"),
        Column("accuracy", "mean score over cases: agreement with the gold label", "share 0-1", ends=("low", "high")),
        replace(DECISIVE, parts=COMPARED),
        Column("best_judge", "judge that ranks first, and so is flattered by the choice", "text"),
        estimated("crossfit_difference", "accuracy less that of best_single, chosen on other cases", "difference"),
        estimated("shapley", "what the judge adds on joining, mean over orders", "difference", "Shapley 1953"),
        Column("seconds", "a case, summed over members", "seconds", null="seconds are not recorded", parts=COMPARED),
        Column("tokens", "a case, summed over members", "tokens", null="tokens are not recorded", parts=COMPARED),
    ],
    sentence=best_jury,
    uses=("policy", "dimension", "gold", "cluster", "resamples", "seed"),
    reads=COST_COLUMNS,
    headline=("accuracy", "crossfit_difference", "shapley"),
    why_no_ratings="",
    nothing="a jury takes two judges with verdicts on the same dimension",
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
    whole, frames = replace(analysis, by=None), []
    for number, dimension in enumerate(whole.names):
        members = Members.of(whole.verdicts, number)
        made = [_compared(whole, members), *_joining(whole, members)] if len(members.said) > 1 else []
        frames += [rows.assign(dimension=dimension) for rows in made]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def _compared(analysis: Analysis, members: Members) -> pd.DataFrame:
    """The rows of parts `jury` and `single`."""
    m, labels, policy = len(members.said), analysis.labels, analysis.policy
    fold = folds(analysis.sampling.codes, analysis.seed)
    judges, chosen = juries_of(members, labels, policy, fold)
    values = score(judges, labels, policy).score
    best = best_member(members, labels, policy, np.arange(len(fold)))
    to_single = values - values[:, [-1]]
    to_single[:, [*range(m), -1]] = np.nan
    measures = {
        "accuracy": Measure(mean(values), intervals.share),
        "decisive_accuracy": decisive(*decisive_worth(judges, labels, policy)),
        "crossfit_difference": Measure(mean(to_single), intervals.difference),
    }
    rows, _ = grid(analysis, judges.cells, measures)
    kind = rows["kind"].replace(REFERENCE, BEST_SINGLE)
    is_single = kind == "single"
    cost = costs(analysis, members)
    asked = chosen[fold[np.isfinite(values[:, -1])]]
    paid = np.vstack([cost, *[cost.sum(axis=0)] * len(JURIES), pd.DataFrame(cost[asked]).mean(skipna=False)])
    rows = rows.assign(
        part=np.where(is_single, "single", "jury"),
        kind=kind,
        judge=rows["judge"].where(is_single),
        seconds=paid[:, 0],
        tokens=paid[:, 1],
        size=np.where(kind.isin(["single", BEST_SINGLE]), 1, m),
        rank=ranking(judges, labels, policy).rank,
        best_judge=pd.Series(members.names[best] if best >= 0 else None, rows.index, dtype=object).mask(is_single),
        reason=kind.map({WEIGHTED: NO_OTHERS, BEST_SINGLE: NO_OTHERS, DAWID_SKENE: TWO_JUDGES}).where(rows["n"] == 0),
    )
    return pd.concat([rows[~is_single], rows[is_single]])


def _joining(analysis: Analysis, members: Members) -> list[pd.DataFrame]:
    """The rows of parts `member` and `curve`."""
    shapley, by_size, error = joined(members, analysis.labels, analysis.policy, analysis.seed)
    measures = {"shapley": Measure(mean(shapley), intervals.difference)}
    added, _ = grid(analysis, pd.DataFrame({"judge": members.names, "kind": MAJORITY}), measures)
    for name, sign in (("shapley_low", -1), ("shapley_high", 1)):
        added[name] = added["shapley"] + sign * np.hypot(added[name] - added["shapley"], _Z * error)
    sizes = pd.DataFrame({"size": np.arange(1, len(members.said) + 1)})
    curve, _ = grid(analysis, sizes, {"accuracy": Measure(mean(by_size), intervals.share)})
    return [added.drop(columns=["low", "high"]).assign(part="member"), curve.assign(part="curve")]


@dataclass(frozen=True)
class Members:
    """Verdicts of the members of a jury in one dimension, in the orders and repeats that all of them have.

    Attributes
    ----------
    verdicts : of the members alone, one cell each
    asked : one verdict per item, which is what at least one of them was asked
    said : shape (members, items), a position in the categories; `NULL` without a choice, `ABSENT` without a verdict
    """

    verdicts: Verdicts
    asked: Verdicts
    said: Choices

    @classmethod
    def of(cls, verdicts: Verdicts, dimension: int) -> Members:
        """Return the members of a dimension, which may be none; all orders and repeats where none is common."""
        own = verdicts.of_cells((verdicts.dimension == dimension) & (verdicts.total().sum(axis=0) > 0))
        slot = 2 * own.repeat + own.order
        present = np.zeros((len(own.cells), int(slot.max(initial=-1)) + 1), dtype=bool)
        present[own.cell, slot] = True
        common = np.asarray(present.all(axis=0), dtype=bool)
        if common.any():
            own, slot = own.where(common[slot]), slot[common[slot]]
        _, first, item = np.unique(own.case * len(common) + slot, return_index=True, return_inverse=True)
        said = np.full((len(own.cells), len(first)), ABSENT, dtype=np.int64)
        said[own.cell, item] = own.choice
        return cls(own, own.where(first), said)

    @property
    def names(self) -> list[str]:
        """The names of the members."""
        return [str(name) for name in self.verdicts.cells["judge"]]

    def judges(self, choice: Choices, cells: pd.DataFrame) -> Verdicts:
        """Return judges that say something of each item, as cells of this dimension.

        Parameters
        ----------
        choice : shape (judges, items), coded as `said`
        cells : the columns `judge` and `kind`, one row each
        """
        of, item = np.nonzero(choice != ABSENT)
        place: dict[str, Any] = {name: getattr(self.asked, name)[item] for name in ("case", "order", "repeat")}
        return replace(
            self.asked,
            **place | dict.fromkeys(STATED, np.broadcast_to(np.nan, of.shape)),
            cells=cells,
            dimension=np.repeat(self.verdicts.dimension[:1], len(choice)),
            seen=np.zeros((self.verdicts.n_cases, len(choice)), dtype=bool),
            cell=of,
            choice=choice[of, item],
        )

    def score(self, choice: Choices, labels: IntArray, policy: str) -> FloatArray:
        """Score judges that say something of each item, shape (cases, judges)."""
        return score(self.judges(choice, pd.DataFrame(index=range(len(choice)))), labels, policy).score

    def majority(self, who: BoolArray | FloatArray) -> Choices:
        """Return the majority of each of some juries, shape (juries, items).

        Parameters
        ----------
        who : shape (juries, members), the votes of each member: one if it is in the jury, or its weight
        """
        votes = np.stack([who.astype(float) @ (self.said == code) for code in range(len(self.verdicts.categories))])
        return largest(votes, who.astype(float) @ (self.said != ABSENT) > 0, self.verdicts.tie)


def largest(counts: FloatArray, somebody: BoolArray, tie: int) -> Choices:
    """Return the choice with most votes: the tie where several have them, of ratings none.

    Parameters
    ----------
    counts : shape (k, ...), the votes for each choice
    somebody : shape (...), whether any member has a verdict; where not, the jury has none
    """
    top = counts.max(axis=0)
    leads = counts >= top - _ROUNDING
    leader = np.einsum("k...,k->...", leads, np.arange(len(counts)))  # a quarter of the time of argmax
    return np.select([~somebody, top <= 0, leads.sum(axis=0) == 1], [ABSENT, NULL, leader], tie)


def folds(codes: IntArray, seed: int) -> IntArray:
    """Return the fold of each case; the cases of a cluster are in one."""
    clusters, position = np.unique(codes, return_inverse=True)
    order = np.random.default_rng([seed, 2]).permutation(len(clusters))
    return np.asarray(order[position.reshape(-1)] % max(1, min(FOLDS, len(clusters))), dtype=np.int64)


def weights(members: Members, gold: IntArray, fold: IntArray) -> FloatArray:
    """Return log-odds weights of members from the other folds, shape (folds, members).

    Independent members with probability p of the right one of K labels, errors spread evenly, are best weighted by
    log(p (K - 1) / (1 - p)) (Nitzan and Paroush 1982, doi:10.2307/2526438, for K = 2). p is estimated with one success
    more, and K more trials, than were seen; who is no better than chance has no weight. Of preferences p is decisive:
    over cases whose gold is A or B, with half credit for a tie, so that every constant is at chance.

    Parameters
    ----------
    gold : shape (cases,), codes of gold labels, -1 where there is none
    fold : shape (cases,)
    """
    tie = members.verdicts.tie
    label, own = gold[members.asked.case], fold[members.asked.case]
    used = (members.said >= 0) & (label >= 0) & (label != tie)
    right = used * ((members.said == label) + 0.5 * (members.said == tie) * (tie >= 0))
    kinds = 2.0 if tie >= 0 else max(2.0, float(len(np.unique(gold[gold >= 0]))))
    outside = (own[:, None] != np.arange(fold.max(initial=0) + 1)).astype(np.float64)
    share = ((right @ outside + 1.0) / (used @ outside + kinds)).T
    return np.asarray(np.maximum(np.log(share * (kinds - 1.0) / (1.0 - share)), 0.0))


def dawid_skene(members: Members) -> Choices:
    """Return the most probable label of each item by Dawid and Skene's model, which sees no gold label."""
    counts = label_counts(members.said.T, len(members.verdicts.categories))
    posterior = np.nan_to_num(em(counts, tolerance=1e-6, iterations=500).posterior[0])
    return largest(posterior.T, np.ones(len(counts), dtype=bool), members.verdicts.tie)


def best_member(members: Members, labels: IntArray, policy: str, cases: IntArray) -> int:
    """Return the member that is best on some cases by decisive accuracy on those that all share; -1 where none is.

    Where gold names one side only, or none, by accuracy.
    """
    place = ranking(members.verdicts, labels, policy, cases).rank
    if np.isnan(place).all():
        scores = score(members.verdicts, labels, policy).score[cases]
        place = on_common_cases(members.verdicts, mean(scores), None).rank
    return -1 if np.isnan(place).all() else int(np.nanargmin(place))


def coin(members: Members, gold: IntArray, policy: str) -> FloatArray:
    """Return the expected score of a judge that draws every verdict, shape (cases,); NaN where it cannot be scored.

    A, B and, where some gold label is a tie, tie are equally probable; of ratings all categories.

    Parameters
    ----------
    gold : shape (cases,), codes of gold labels, -1 where there is none
    """
    tie = members.verdicts.tie
    is_tie = (gold == tie) & (tie >= 0)
    ties = int(is_tie.any())
    k = len(members.verdicts.categories) - (tie >= 0) + ties
    asked = np.bincount(read_by(members.asked, policy).case, minlength=len(gold))
    if policy == "net":  # a sum of draws of 1 and -1, and of 0 for a tie that gold is not
        kinds, place = np.unique(np.stack([asked, ties * ~is_tie]), axis=1, return_inverse=True)
        more = [polypow(np.array([k - 1 - free, free, 1]) / k, n)[n + 1 :].sum() for n, free in kinds.T]
        value = np.array(more)[place.ravel()]
    elif policy in BINARY:
        value = 1 / float(k) ** asked
    else:
        value = (1 + ties * np.where(is_tie, k - 1, 1) / 2) / k
    return np.where((asked > 0) & (gold >= 0), value, np.nan)


def orders_of(members: int, seed: int, exact_up_to: int = EXACT_UP_TO) -> tuple[BoolArray, FloatArray, IntArray | None]:
    """Return the juries that arise as members join in all orders where they are few, else in random ones.

    The place in a random order makes the largest difference to what a member adds (a jury of even size is tied more
    often), so that what all add in a place is taken out and given back as if each had been in every place alike.
    Shapley (1953), doi:10.1515/9781400881970-018; by random orders: Castro, Gomez and Tejada (2009),
    doi:10.1016/j.cor.2008.04.004.

    Returns
    -------
    who : shape (juries, members); the jury of nobody is among them
    gain : shape (juries, members), how the accuracy of each jury counts in Shapley's value of each member
    orders : shape (orders, members), those tried, each followed by its reverse; None where all juries were formed
    """
    if members <= exact_up_to:
        who = np.array(list(itertools.product([False, True], repeat=members)))
        others = who.sum(axis=1, keepdims=True) - who
        return who, np.where(who, 1, -1) / (members * comb(members - 1, others)), None
    drawn = np.random.default_rng([seed, 3]).permuted(np.tile(np.arange(members), (ORDERINGS // 2, 1)), axis=1)
    orders = np.stack([drawn, drawn[:, ::-1]], axis=1).reshape(-1, members)
    place = np.argsort(orders, axis=1)[:, None]
    size = np.arange(members + 1)[:, None]
    step = place == size[:-1]  # whose step each place of each order is: (orders, places, members)
    share = (step - step.mean(axis=0) + 1 / members) / len(orders)
    gain = -np.diff(share, axis=1, prepend=0.0, append=0.0)
    return (place < size).reshape(-1, members), gain.reshape(-1, members), orders


def error_of_orders(accuracy: FloatArray, orders: IntArray) -> FloatArray:
    """Return the Monte-Carlo standard error of Shapley's values from the accuracies of juries, shape (members,)."""
    steps = np.diff(accuracy.reshape(len(orders), -1), axis=1)
    rest = np.take_along_axis(steps - steps.mean(axis=0), np.argsort(orders, axis=1), axis=1)
    pairs = rest.reshape(-1, 2, rest.shape[1]).mean(axis=1)  # an order and its reverse are not independent
    return np.asarray(pairs.std(axis=0, ddof=1) / np.sqrt(len(pairs)))


def joined(
    members: Members, labels: IntArray, policy: str, seed: int, exact_up_to: int = EXACT_UP_TO
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Let the members join one after the other; a coin stands for nobody, and for juries that are not scored.

    Returns
    -------
    shapley : shape (cases, members), what each adds on average over the orders of joining; NaN where the jury of all is
        not scored
    by_size : shape (cases, members), the mean score of the juries of 1, 2, ... members; NaN likewise
    error : shape (members,), the Monte-Carlo standard error of the mean of `shapley`
    """
    m, gold = len(members.said), labels[:, members.verdicts.dimension[0]]
    who, gain, orders = orders_of(m, seed, exact_up_to)
    counted = np.isfinite(members.score(members.majority(np.ones((1, m))), labels, policy)[:, 0])
    of_coin = coin(members, gold, policy)[counted]
    shapley, by_size = np.zeros((2, len(of_coin), m))
    formed, accuracy = np.zeros(m, dtype=np.int64), np.empty(len(who))
    for some in np.array_split(np.arange(len(who)), 1 + len(who) * len(members.asked.case) // _AT_ONCE):
        scores, has = spread(members.score(members.majority(who[some]), labels, policy)[counted])
        of_size = (who[some].sum(axis=1)[:, None] == np.arange(1, m + 1)) & has[:, None]
        by_size += scores @ of_size
        formed += of_size.sum(axis=0)
        worth = np.where(has, scores, of_coin[:, None])
        shapley += worth @ gain[some]
        accuracy[some] = average(worth)
    out = np.full((2, len(gold), m), np.nan)
    out[:, counted] = shapley, divide(by_size, formed)
    error = np.zeros(m) if orders is None else error_of_orders(accuracy, orders)
    return out[0], out[1], error


def spread(value: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Spread scores on some of the cases over all, so that their mean stays what it is.

    A case without a score gets the mean, and one with, mean + (value - mean) N / n, for n of N cases scored: the values
    of the infinitesimal jackknife of a ratio of sums (Efron 1982, doi:10.1137/1.9781611970319).

    Parameters
    ----------
    value : shape (cases, juries), NaN where not scored

    Returns
    -------
    the scores, 0 where a jury is scored on no case; and whether it is scored on any, shape (juries,)
    """
    there = np.isfinite(value)
    n = there.sum(axis=0)
    middle = np.nan_to_num(average(value))
    scale = np.nan_to_num(divide(np.full(len(n), float(len(value))), n))
    return middle + np.where(there, value - middle, 0.0) * scale, n > 0


def juries_of(members: Members, labels: IntArray, policy: str, fold: IntArray) -> tuple[Verdicts, IntArray]:
    """Return the members, the juries of all of them and the judge that is best on other folds, as judges.

    Parameters
    ----------
    labels : shape (cases, dimensions)
    fold : shape (cases,)

    Returns
    -------
    verdicts : a cell each, of the kinds "single", those of juries and, of the best on other folds, "reference"
    chosen : shape (folds,), which member that is; -1 where the other folds have no labelled case
    """
    m, gold = len(members.said), labels[:, members.verdicts.dimension[0]]
    every = range(fold.max(initial=0) + 1)
    chosen = np.array([best_member(members, labels, policy, np.flatnonzero(fold != number)) for number in every])
    of_item, item = fold[members.asked.case], np.arange(len(members.asked.case))
    juries = dict.fromkeys(JURIES, np.full(len(item), ABSENT, dtype=np.int64))
    juries[MAJORITY] = members.majority(np.ones((1, m)))[0]
    weight, labelled = weights(members, gold, fold), np.bincount(fold[gold >= 0], minlength=len(every))
    has_weight = ((members.said >= 0) * weight[of_item].T).sum(axis=0) > 0
    votes = np.where(has_weight, members.majority(weight)[of_item, item], juries[MAJORITY])
    juries[WEIGHTED] = np.where((labelled < labelled.sum())[of_item], votes, ABSENT)
    if m > 2:
        juries[DAWID_SKENE] = dawid_skene(members)
    single = np.where(chosen[of_item] >= 0, members.said[chosen[of_item], item], ABSENT)
    names, kinds = [*members.names, *juries, BEST_SINGLE], [*["single"] * m, *juries, REFERENCE]
    cells = pd.DataFrame({"judge": names, "kind": kinds})
    return members.judges(np.vstack([members.said, *juries.values(), single]), cells), chosen


def costs(analysis: Analysis, members: Members) -> FloatArray:
    """Return seconds and tokens a case of each member, shape (members, 2); NaN where unknown.

    The mean a verdict of an order and repeat, times the verdicts in it that the policy reads, over the cases that have
    one. A judge `NAME+batch` answers several cases in a reply, so that its replies are counted, not its verdicts.
    """
    read, known = read_by(members.verdicts, analysis.policy), analysis.probes[analysis.probe].costs
    if not len(known):
        return np.full((len(members.said), 2), np.nan)
    names, orders = (np.array(each, dtype=object) for each in (members.names, ORDERS))
    asked = pd.DataFrame({"judge": names[read.cell], "order": orders[read.order], "repeat": read.repeat})
    asked = asked.value_counts().rename("verdicts").reset_index()
    known = known[known["dimension"] == members.verdicts.cells["dimension"].iloc[0]]
    rows = asked.merge(known, on=["judge", "order", "repeat"], how="left")
    in_batches = (rows["judge"] + "@").str.contains(f"{BATCH}@", regex=False)  # or judge+batch@run
    latencies, prompts = (rows[COUNTS[name]].where(in_batches, rows["verdicts"]) for name in COST_COLUMNS[:2])
    rows["seconds"] = rows["latency_s"] * latencies
    rows["tokens"] = (rows["prompt_tokens"] + rows["completion_tokens"]) * prompts
    sums = rows.groupby("judge")[["seconds", "tokens"]].sum(skipna=False).reindex(names).to_numpy(np.float64)
    return divide(sums, (read.total() > 0).sum(axis=0)[:, None])


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
    members, ids = Members.of(analysis.verdicts, 0), cases["case_id"].to_numpy()
    if len(members.said) < 2:
        return pd.DataFrame(columns=["kind", "n", "n_half_right", "n_wrong", "wrong"])
    judges, _ = juries_of(members, analysis.labels, analysis.policy, folds(analysis.sampling.codes, analysis.seed))
    scores = score(judges, analysis.labels, analysis.policy).score[:, len(members.said) : -1]
    counts = {"n": np.isfinite(scores), "n_half_right": scores == 0.5, "n_wrong": scores < 0.5}
    wrong = [tuple(ids[own]) for own in (scores < 0.5).T]
    return pd.DataFrame({"kind": JURIES, **{name: some.sum(axis=0) for name, some in counts.items()}, "wrong": wrong})
