"""What is lost where the judge chooses the best of several responses?"""

from typing import Any, Final

import numpy as np
import pandas as pd

from mrb_lib.stats import intervals
from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.clusters import clusters_of
from mrb_lib.stats.columns import Column, estimated, shared, table
from mrb_lib.stats.contrasts import ALPHA, score_test
from mrb_lib.stats.estimation import IntArray, Quantity, Sampling, divide, estimate, mean
from mrb_lib.stats.methods.comparisons import from_labels, from_verdicts, shares
from mrb_lib.stats.methods.item_orders import item_responses, picks
from mrb_lib.stats.multiplicity import adjust_rows
from mrb_lib.stats.phrases import main_dimension, main_rows, number, opening

SCORE, WINS = "score", "wins"
NONE_COMPLETE: Final = "no item has so many responses with a gold label on every pair of them, and verdicts on all"
NO_GAIN: Final = "no gain_share: the responses to each item are equally good"


def sentence(rows: pd.DataFrame) -> str:
    """Say how many judges choose better than chance, and what the choice of the highest loses."""
    known, where = main_rows(rows).dropna(subset="gain_share"), opening(main_dimension(rows))
    known = known[known["best_of"] == known["best_of"].max()]
    better = known[(known["p_adjusted"] <= ALPHA) & (known["gain_share"] > 0)].sort_values("gain_share")
    if better.empty:
        return f"{where}, cannot tell whether any of {len(known)} judges picks the best response better than chance."
    best = better.iloc[-1]
    return (
        f"{where}, {len(better)} of {len(known)} judges pick the best of {best['best_of']} significantly better than "
        f"chance. The pick of {best['judge']} ({best['pick_by']}) loses {number(best, 'regret')} of utility over "
        f"{int(best['n_items']):,} items, a random one {best['regret_random']:.2f}. The best response is chosen by the "
        "annotators' labels and profits from their errors, so that a perfect judge loses something, too."
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
        estimated("regret", "utility lost by the pick; a perfect judge loses something, too"),
        Column("regret_random", "utility lost by a random pick", "share 0-1"),
        estimated("gain_share", "gain over a coin as a share of that of the best", "coefficient", null=NO_GAIN),
        estimated("picked_best", "probability that the pick is a best of the n by the labels"),
        shared("tests"),
    ],
    sentence=sentence,
    reads=("score_a", "score_b"),
    headline=("pick_by", "best_of", "n_items", "regret", "regret_random", "gain_share", "p_adjusted"),
    uses=("policy", "dimension", "gold", "cluster", "seed", "correction", "family"),
)
def best_of_n(analysis: Analysis) -> pd.DataFrame:
    """Estimate the regret of choosing, by each judge, the best of n responses to an item.

    One row per judge, dimension and n, from 2 to the most responses of an item that counts. The utility of a response
    is the share of its pairs that it wins by the gold labels, over all responses to its item, whatever the n; a tie is
    half a win. The judge picks the response with the highest mean score where it has scores, else that which wins most
    pairs among the n; level ones are equally likely.

    Notes
    -----
    Means over subsets are exact up to 1,000 subsets. Items weigh alike. The best of the n is chosen by labels that hold
    errors, so that its utility is too high (a winner's curse): compare `regret` with `regret_random` of the same row.
    The test is of the gain over a random choice, corrected over judges. Coverage: tests/stats/tables/test_best_of_n.py.
    """
    verdicts, items = analysis.verdicts, item_responses(analysis.cases)
    unit, judged = clusters_of(items.item, analysis.sampling.codes), verdicts.total() > 0
    label, said = shares(from_labels(analysis.labels.T)), shares(from_verdicts(verdicts, analysis.policy))
    sides = verdicts.score_a, verdicts.score_b
    totals = [(verdicts.total(np.nan_to_num(side)), verdicts.total(np.isfinite(side))) for side in sides]
    scores = np.stack([divide(*each) for each in totals], axis=2)
    rows = list[dict[str, Any]]()
    for i, d in enumerate(verdicts.dimension if (items.a != items.b).any() else []):
        own = scores[:, i] if np.isfinite(scores[:, i]).any() else None
        picked = picks(items, label[d], said[i], judged[:, i], own, analysis.seed)
        most = picked.loc[picked["is_complete"], "best_of"].to_numpy().max(initial=2)
        names = {**verdicts.cells.loc[i, ["judge", "dimension"]], "pick_by": WINS if own is None else SCORE}
        of_n = picked[picked["best_of"] <= most].groupby("best_of")
        rows += [names | {"best_of": n} | _row(each, unit) for n, each in of_n]
    frame = pd.DataFrame(rows)
    if frame.empty or not frame["n_items"].any():
        return pd.DataFrame([{"n": 0, "n_items": 0, "reason": NONE_COMPLETE}])
    return adjust_rows(frame, analysis, ("dimension", "best_of"))


def _row(picked: pd.DataFrame, unit: IntArray) -> dict[str, Any]:
    """Return the columns of one n, from the `picks` of one judge and the cluster of each item."""
    kept = picked[picked["is_complete"]]
    row = {"n": len(kept), "n_items": len(kept), "n_excluded": len(picked) - len(kept)}
    if kept.empty:
        return row | {"reason": NONE_COMPLETE}
    return row | {"coverage": kept["coverage"].mean()} | estimates(kept, unit[kept["item"]])


def estimates(chosen: pd.DataFrame, unit: IntArray) -> dict[str, Any]:
    """Return means over items, with intervals and a test over their clusters.

    Parameters
    ----------
    chosen : one row per item, see `choose`
    unit : shape (items,), the cluster of each item
    """
    codes = np.unique(unit, return_inverse=True)[1]
    sampling = Sampling(codes, np.empty((0, int(codes.max()) + 1)))
    utility, random, best, hit = chosen[["utility", "random", "best", "hit"]].to_numpy().T
    gained, possible = utility - random, best - random
    regret, picked, gain = (estimate(mean(each[:, None]), sampling) for each in (possible - gained, hit, gained))
    share = estimate(Quantity(np.stack([gained, possible], axis=1)[:, None]), sampling)
    row = {"regret_random": possible.mean(), "p_value": score_test(gain)[0]}
    for name, e, ends in (
        ("regret", regret, intervals.t(regret, 0.0)),
        ("gain_share", share, intervals.t(share, -np.inf)),
        ("picked_best", picked, intervals.proportion(picked)),
    ):
        row |= {name: e.value[0], f"{name}_low": ends.low[0], f"{name}_high": ends.high[0]}
    return row | {"n_clusters": regret.clusters[0], "largest": regret.largest[0]}
