"""The table `best_of_n` in words."""

from __future__ import annotations

import pandas as pd

from mrb_lib.stats.phrases import main_dimension, main_rows, number, opening

_COPELAND = "Copeland 1951"
MEANINGS = {
    "pick_by": "how the judge picks: score (of each response) or wins (of the pairs among the n; unanswered: a tie)"
    " | text",
    "best_of": "responses to choose from, drawn at random from those to an item; null: no item has two | count",
    "n_items": "items that the row rests on: at least best_of responses, all labelled and judged | count",
    "n_excluded": "items with as many responses that lack a gold label, a verdict or a score | count",
    "n_clusters": "clusters of the items | count",
    "coverage": "share of the cases of these items to which the judge gave a choice | share 0-1",
    "utility": "of the response picked: share of the item's pairs that it wins by the gold labels, ties a half"
    f" | share 0-1 | {_COPELAND}",
    "utility_random": "the same of a response taken at random | share 0-1",
    "utility_best": "the same of the best of the n: what an oracle picks | share 0-1",
    "regret": "utility_best less utility: what the judge's choice loses | share 0-1",
    "regret_random": "utility_best less utility_random: what a coin loses | share 0-1",
    "regret_worst": "what is lost by always picking the worst of the n | share 0-1",
    "gain_share": "gain over a random choice as a share of the oracle's; 1: the oracle, 0: a coin | coefficient",
    "picked_best": "probability that the response picked is a best of the n | share 0-1",
}


def sentence(table: pd.DataFrame) -> str:
    """How much of the possible gain the best judge's choice brings, where most responses are at hand."""
    rows, dimension = main_rows(table).dropna(subset="gain_share"), main_dimension(table)
    if rows.empty:
        return f"{opening(dimension)}, no judge has judged all labelled pairs of responses to an item."
    n = int(rows["best_of"].max())
    best = rows[rows["best_of"] == n].nlargest(1, "gain_share").iloc[0]
    return (
        f"{opening(dimension)}, picking the best of {n} by {best['judge']} ({best['pick_by']}) loses "
        f"{number(best, 'regret')} of utility over {int(best['n_items']):,} items where a random choice loses "
        f"{best['regret_random']:.2f}: {number(best, 'gain_share')} of what an oracle gains."
    )
