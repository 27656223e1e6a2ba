"""The table `jury` in words."""

from __future__ import annotations

import pandas as pd

from mrb_lib.stats.accuracy.decisive import RATINGS
from mrb_lib.stats.phrases import interval, main_dimension, main_rows, opening

_SHAPLEY = "Shapley 1953; Castro et al. 2009"
MEANINGS = {
    "part": "jury (of all judges), single, member or curve (accuracy by size) | text",
    "kind": "majority, weighted, dawid_skene, median, mean; best_single: of other folds | text"
    " | Nitzan & Paroush 1982; Dawid & Skene 1979",
    "order": "how juries of a size are formed: random, or greedy on the other folds | text",
    "size": "members | count",
    "n": "cases scored | cases",
    "decisive_accuracy": "where gold is A or B: 1 for it, 1/2 for a tie, mean of both sides; a constant has 1/2"
    " | share 0-1 | Brodersen et al. 2010",
    "best_judge": "judge that is best over all cases, and so flattered by the choice | text",
    "difference": "accuracy less that of best_judge, same cases | difference",
    "n_difference": "cases scored for both | cases",
    "crossfit_difference": "accuracy less that of best_single, which was chosen on other cases | difference",
    "n_crossfit_difference": "cases scored for both | cases",
    "leave_one_out": "accuracy of the majority less that of the majority without the judge | difference",
    "shapley": "what the judge adds on joining, mean over orders, a coin first; saying tie may add"
    f" | difference | {_SHAPLEY}",
    "monte_carlo_error": "standard error of shapley from the orders being a sample; 0: all were taken | number",
    "n_orderings": "orders of joining | count",
    "seconds": "a case, summed over members | seconds",
    "tokens": "a case, summed over members | tokens",
    "pareto_seconds": "whether none of the others is as fast and as accurate, and better in one | yes/no",
    "pareto_tokens": "whether none of the others takes as few tokens and is as accurate, and better in one | yes/no",
}


def sentence(table: pd.DataFrame) -> str:
    """Whether a jury is better than one judge; a jury not shown to be better than a constant is not named."""
    juries, dimension = main_rows(table, part="jury").dropna(subset="accuracy"), main_dimension(table)
    known = juries[juries["kind"] != "best_single"]
    if known.empty:
        return f"{opening(dimension)}, no jury can be scored."
    if known["reason"].str.contains(RATINGS, regex=False).all():
        return _of_ratings(known, dimension)
    if known["decisive_accuracy"].isna().all():
        return f"{opening(dimension)}, gold does not name both sides: no jury can be compared with a constant."
    best = known.nlargest(1, "decisive_accuracy").iloc[0]
    if not best["decisive_accuracy_low"] > 0.5:
        return f"{opening(dimension)}, no jury of the {int(best['size'])} judges is shown to be better than a constant."
    return _best(best, dimension, " by decisive accuracy")


def _of_ratings(known: pd.DataFrame, dimension: str) -> str:
    return _best(known.nlargest(1, "accuracy").iloc[0], dimension, "")


def _best(best: pd.Series, dimension: str, by: str) -> str:
    low, high = best["crossfit_difference_low"], best["crossfit_difference_high"]
    shown = "better than" if low > 0 else "worse than" if high < 0 else "not shown to differ from"
    kind, ends = str(best["kind"]).replace("_", " "), interval(best["low"], best["high"])
    return (
        f"{opening(dimension)}, the best jury of the {int(best['size'])} judges{by} ({kind}) has an "
        f"accuracy of {best['accuracy']:.0%} over {int(best['n']):,} cases{ends}, and is {shown} the one judge that is "
        "best on other cases."
    )
