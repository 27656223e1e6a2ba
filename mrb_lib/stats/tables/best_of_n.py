"""What is lost where the judge chooses the best of several responses?"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from math import comb
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from mrb_lib.stats import intervals
from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.clusters import clusters_of
from mrb_lib.stats.columns import Column, Option, estimated, shared, table
from mrb_lib.stats.comparisons import from_labels, from_verdicts
from mrb_lib.stats.contrasts import ALPHA, score_test
from mrb_lib.stats.estimation import BoolArray, FloatArray, IntArray, Quantity, Sampling, divide, estimate, mean
from mrb_lib.stats.item_orders import item_responses
from mrb_lib.stats.multiplicity import adjust_families
from mrb_lib.stats.phrases import main_dimension, main_rows, number, opening

MOST_SUBSETS: Final = 1000
_ROUNDING, _AT_ONCE = 1e-9, 2**21
SCORE, WINS = "score", "wins"
NO_ITEMS: Final = "no item has two different responses"
NONE_COMPLETE: Final = "no item with so many responses has a gold label on every pair of them, and verdicts on all"
NO_GAIN: Final = "no gain_share: the responses to each item are equally good"


def sentence(rows: pd.DataFrame) -> str:
    """Say how many judges choose better than chance, and what the choice of the highest loses."""
    known, where = main_rows(rows).dropna(subset="gain_share"), opening(main_dimension(rows))
    if known.empty:
        return f"{where}, cannot tell: no judge has judged all labelled pairs of responses to an item."
    known = known[known["best_of"] == known["best_of"].max()]
    better, n = known[(known["p_adjusted"] <= ALPHA) & (known["gain_share"] > 0)], int(known["best_of"].iloc[0])
    if better.empty:
        return f"{where}, cannot tell whether a judge picks the best of {n} better than chance ({len(known)} judged)."
    best, verb = better.nlargest(1, "gain_share").iloc[0], "picks" if len(better) == 1 else "pick"
    return (
        f"{where}, {len(better)} of {len(known)} judges {verb} the best of {n} significantly better than chance. The "
        f"pick of {best['judge']} ({best['pick_by']}) loses {number(best, 'regret')} of utility over "
        f"{int(best['n_items']):,} items, a random one {best['regret_random']:.2f}, against the best by the "
        "annotators' labels. That best profits from errors in the labels, so that a perfect judge loses something, too."
    )


@table(
    "best_of_n",
    question="what is lost where the judge chooses the best of several responses",
    columns=[
        shared("judge", "dimension", "policy"),
        Column("pick_by", "the judge picks by score, or by wins among the n (unanswered: a tie)", "text"),
        Column("best_of", "number of responses to choose from, drawn at random from those to an item", "count"),
        Column("n_items", "items with so many responses, all labelled and judged", "count"),
        Column("n_excluded", "items with as many that lack a gold label, a verdict or a score", "count"),
        shared("clusters"),
        Column("coverage", "share of the cases of these items to which the judge gave a choice", "share 0-1"),
        Column("utility", "of the pick: share of its pairs won by gold, ties a half", "share 0-1", "Copeland 1951"),
        Column("utility_random", "the same of a response taken at random", "share 0-1"),
        Column("utility_best", "of the best by the same labels, whose errors it profits from: too high", "share 0-1"),
        estimated("regret", "utility_best less utility; a perfect judge loses something, too"),
        Column("regret_random", "utility_best less utility_random: what a coin loses", "share 0-1"),
        Column("regret_worst", "what is lost by always picking the worst of the n", "share 0-1"),
        estimated("gain_share", "gain over a coin as a share of that of utility_best", "coefficient", null=NO_GAIN),
        estimated("picked_best", "probability that the pick is a best of the n by the labels"),
        shared("tests"),
    ],
    sentence=sentence,
    reads=("score_a", "score_b"),
    options={
        "complete": Option(
            "1: only items with a gold label on every pair of responses; 0: utility by the pairs there are",
            is_switch=True,
        )
    },
    headline=("pick_by", "best_of", "n_items", "regret", "regret_random", "gain_share", "p_adjusted"),
    uses=("policy", "dimension", "gold", "cluster", "seed", "correction", "family"),
)
def best_of_n(analysis: Analysis, *, complete: float = 1) -> pd.DataFrame:
    """Estimate the regret of choosing, by each judge, the best of n responses to an item.

    One row per judge, dimension and n, from 2 to the most responses of an item that counts. The utility of a response
    is by the gold labels, over all responses to its item, whatever the n. The judge picks the response with the highest
    mean score where it has scores, else that which wins most pairs among the n; level ones are equally likely.

    Parameters
    ----------
    complete : 0 counts items in which some pairs of responses are not cases, too: each response then needs one case

    Notes
    -----
    Means over subsets are exact up to 1,000 subsets. Items weigh alike. The best of the n is chosen by labels that hold
    errors, so that its utility is too high (a winner's curse): compare `regret` with `regret_random` of the same row.
    The test is of the gain over a random choice, corrected over judges. Coverage: tests/simulation/test_best_of_n.py.
    """
    panel, sizes = analysis.panel, _by_size(analysis)
    if panel is None or not sizes:
        return pd.DataFrame([{"n": 0, "n_items": 0, "reason": NO_ITEMS}])
    labels = from_labels(analysis.labels.T)
    said, judged, rows = from_verdicts(panel, analysis.policy), panel.judged(), list[dict[str, Any]]()
    for i, d in zip(*np.nonzero(panel.takes_part()), strict=True):
        scores = None if panel.scores is None else _mean_scores(panel.scores[i, d])
        scores = scores if scores is not None and np.isfinite(scores).any() else None
        counted = [
            _counted(each, labels[d], said[i, d], judged[i, d], scores, complete=bool(complete)) for each in sizes
        ]
        names = {"judge": panel.judges[i], "dimension": panel.dimensions[d]}
        names["pick_by"] = WINS if scores is None else SCORE
        rows += [names | row for row in _of_judge(counted, analysis.seed)]
    frame = pd.DataFrame(rows)
    if not frame["n_items"].any():
        return pd.DataFrame([{"n": 0, "n_items": 0, "reason": NONE_COMPLETE}])
    numbers = np.asarray(frame.groupby(["dimension", "best_of"]).ngroup(), dtype=np.int64)
    family = numbers if analysis.family == "dimension" else np.zeros_like(numbers)
    p, size = adjust_families(frame["p_value"].to_numpy(np.float64), family, analysis.correction or "holm")
    return frame.assign(p_adjusted=p, family=size)


class _Items(NamedTuple):
    """Items of `size` different responses: their clusters, and the case, item and two responses of each comparison."""

    size: int
    unit: IntArray
    case: IntArray
    item: IntArray
    a: IntArray
    b: IntArray

    def sums(self, values: FloatArray) -> FloatArray:
        """Sum what each response gains from each other one, and count it: shape (2, items, size, size).

        Parameters
        ----------
        values : shape (cases, 2), what A and B of each case gain; NaN where that is unknown
        """
        out = np.zeros((2, len(self.unit), self.size, self.size))
        for one, other, side in ((self.a, self.b, 0), (self.b, self.a, 1)):
            own = values[self.case, side]
            np.add.at(out[0], (self.item, one, other), np.nan_to_num(own))
            np.add.at(out[1], (self.item, one, other), np.isfinite(own))
        return out


class _Counted(NamedTuple):
    """Items of one size that count for a judge, of `total`."""

    size: int
    total: int
    unit: IntArray
    utility: FloatArray
    wins: FloatArray
    coverage: FloatArray


def _by_size(analysis: Analysis) -> list[_Items]:
    """Return the items with two responses or more, those with the same number together, fewer first."""
    found = item_responses(analysis.cases)
    unit = clusters_of(found.item, analysis.sampling.codes)
    first = np.searchsorted(found.of_response, np.arange(found.n_items))
    differ, size = found.a != found.b, found.size
    out = []
    for k in np.unique(size[found.item[differ]]).tolist():
        case = np.flatnonzero(differ & (size[found.item] == k))
        names, item = np.unique(found.item[case], return_inverse=True)
        start = first[found.item[case]]
        out.append(_Items(int(k), unit[names], case, item, found.a[case] - start, found.b[case] - start))
    return out


def _mean_scores(scores: FloatArray) -> FloatArray:
    """Return the mean score of A and B by case, from shape (cases, orders, repeats, 2) to (cases, 2)."""
    given = np.isfinite(scores)
    return divide(np.where(given, scores, 0.0).sum(axis=(1, 2)), given.sum(axis=(1, 2)))


def _counted(
    items: _Items, label: FloatArray, said: FloatArray, judged: BoolArray, scores: FloatArray | None, *, complete: bool
) -> _Counted:
    """Return the items of one size that count for a judge, whose comparisons `said` have shape (cases, 3)."""
    by_gold = divide(*items.sums(_gains(label)))
    met = np.isfinite(by_gold).sum(axis=2)
    utility = divide(np.nansum(by_gold, axis=2), met)
    lacking = np.bincount(items.item, ~judged[items.case], len(items.unit))
    counts = (met >= (items.size - 1 if complete else 1)).all(axis=1) & (lacking == 0)
    total, count = items.sums(_gains(said) if scores is None else scores)
    wins = np.where(count > 0, divide(total, count), 0.5)
    if scores is not None:
        score = divide(total.sum(axis=2), count.sum(axis=2))
        counts &= np.isfinite(score).all(axis=1)
        wins = np.repeat(score[:, :, None], items.size, axis=2)
    answered = np.bincount(items.item, said.sum(axis=1)[items.case] > 0, len(items.unit))
    coverage = answered / np.bincount(items.item)
    return _Counted(items.size, len(counts), items.unit[counts], utility[counts], wins[counts], coverage[counts])


def _gains(outcomes: FloatArray) -> FloatArray:
    """Return what A and B of each case win, a tie being half a win: shape (cases, 2), NaN where nothing is decided."""
    return np.where(outcomes.any(axis=1, keepdims=True), outcomes[:, :2] + outcomes[:, 2:] / 2, np.nan)


def _of_judge(counted: list[_Counted], seed: int) -> Iterator[dict[str, Any]]:
    """Yield the columns of each n, from the items of each size."""
    for n in range(2, max((each.size for each in counted if len(each.unit)), default=2) + 1):
        large = [each for each in counted if each.size >= n]
        total, used = sum(each.total for each in large), [each for each in large if len(each.unit)]
        row: dict[str, Any] = {"best_of": n, "n": 0, "n_items": 0, "n_excluded": total, "p_value": np.nan}
        if used:
            parts = [choose(each.utility, each.wins, n, seed=seed) for each in used]
            unit, coverage = (np.concatenate([getattr(each, name) for each in used]) for name in ("unit", "coverage"))
            row |= estimates(Chosen(*(np.concatenate(each) for each in zip(*parts, strict=True))), unit)
            row |= {"n": len(unit), "n_items": len(unit), "n_excluded": total - len(unit), "coverage": coverage.mean()}
        yield row if used else row | {"reason": NONE_COMPLETE}


def estimates(chosen: Chosen, unit: IntArray) -> dict[str, Any]:
    """Return means over items, with intervals and a test over their clusters, `unit` of shape (items,)."""
    codes = np.unique(unit, return_inverse=True)[1]
    sampling = Sampling(codes, np.empty((0, int(codes.max()) + 1)))
    gained, possible = chosen.utility - chosen.random, chosen.best - chosen.random
    regret, hit, gain = (
        estimate(mean(each[:, None]), sampling) for each in (chosen.best - chosen.utility, chosen.hit, gained)
    )
    share = estimate(Quantity(np.stack([gained, possible], axis=1)[:, None]), sampling)
    made = {
        "regret": (regret, intervals.t(regret, 0.0)),
        "gain_share": (share, intervals.t(share, -np.inf)),
        "picked_best": (hit, intervals.proportion(hit)),
    }
    columns = {
        f"{name}{end}": values[0]
        for name, (e, ends) in made.items()
        for end, values in (("", e.value), ("_low", ends.low), ("_high", ends.high))
    }
    return columns | {
        "n_clusters": regret.clusters[0],
        "largest": regret.largest[0],
        "utility": chosen.utility.mean(),
        "utility_random": chosen.random.mean(),
        "utility_best": chosen.best.mean(),
        "regret_random": possible.mean(),
        "regret_worst": (chosen.best - chosen.worst).mean(),
        "p_value": score_test(gain)[0],
    }


class Chosen(NamedTuple):
    """Means over the subsets of n responses, each of shape (items,).

    Attributes
    ----------
    utility : of the response chosen, a mean over those level at the top
    random, best, worst : the utilities of a choice at random, of the best and of the worst response of the subset
    hit : the probability that the choice is a best response
    """

    utility: FloatArray
    random: FloatArray
    best: FloatArray
    worst: FloatArray
    hit: FloatArray


def choose(utility: FloatArray, wins: FloatArray, n: int, *, seed: int) -> Chosen:
    """Choose the response that wins most among the n: exactly over all subsets, or over `MOST_SUBSETS` random ones.

    Parameters
    ----------
    utility : shape (items, k), true worth of each response
    wins : shape (items, k, k), what the response of the row gains from meeting each other one; its score where the
        judge scores responses. The diagonal does not count
    """
    members = subsets(utility.shape[1], n, seed)
    of_others = np.where(np.eye(utility.shape[1], dtype=bool), 0.0, wins).transpose(0, 2, 1)
    step = max(1, _AT_ONCE // members.size)
    parts = []
    for start in range(0, len(utility), step):
        strength = members.astype(np.float64) @ of_others[start : start + step]
        worth = np.broadcast_to(utility[start : start + step, None, :], strength.shape)
        most = np.where(members, strength, -np.inf).max(axis=2, keepdims=True)
        level = members & (strength >= most - _ROUNDING * np.maximum(1.0, np.abs(most)))
        best = np.where(members, worth, -np.inf).max(axis=2)
        is_best, count = worth >= best[..., None] - _ROUNDING, level.sum(axis=2)
        of_subsets = (
            (worth * level).sum(axis=2) / count,
            (worth * members).sum(axis=2) / n,
            best,
            np.where(members, worth, np.inf).min(axis=2),
            (level & is_best).sum(axis=2) / count,
        )
        parts.append([each.mean(axis=1) for each in of_subsets])
    return Chosen(*(np.concatenate(each) for each in zip(*parts, strict=True)))


def subsets(k: int, n: int, seed: int) -> BoolArray:
    """Return the subsets of n of k as members, shape (subsets, k): all, or `MOST_SUBSETS` of them, drawn."""
    if comb(k, n) <= MOST_SUBSETS:
        members = np.array(list(combinations(range(k), n)))
    else:
        members = np.random.default_rng([seed, k, n]).random((MOST_SUBSETS, k)).argsort(axis=1)[:, :n]
    out = np.zeros((len(members), k), dtype=bool)
    np.put_along_axis(out, members, values=True, axis=1)
    return out
