"""The table `jury` in words."""

from __future__ import annotations

import pandas as pd

from mrb_lib.stats.core.phrases import interval, main_dimension, main_rows

_SHAPLEY = "Shapley 1953; Castro et al. 2009"
MEANINGS = {
    "part": "jury (of all judges), single, member or curve (accuracy by size) | text",
    "kind": "majority, weighted, dawid_skene, or best_single (the best of other folds) | text"
    " | Nitzan & Paroush 1982; Dawid & Skene 1979",
    "order": "how juries of a size are formed: random, or greedy on the other folds | text",
    "size": "members | count",
    "n": "cases scored | cases",
    "best_judge": "judge that is best over all cases, and so flattered by the choice | text",
    "difference": "accuracy less that of best_judge, same cases | difference",
    "n_difference": "cases scored for both | cases",
    "crossfit_difference": "accuracy less that of best_single, which was chosen on other cases | difference",
    "n_crossfit_difference": "cases scored for both | cases",
    "leave_one_out": "accuracy of the majority less that of the majority without the judge | difference",
    "shapley": f"what the judge adds on joining, averaged over orders; before it a coin | difference | {_SHAPLEY}",
    "monte_carlo_error": "standard error of shapley from the orders being a sample; 0: all were taken | number",
    "n_orderings": "orders of joining | count",
    "seconds": "a case, summed over members | seconds",
    "tokens": "a case, summed over members | tokens",
    "pareto_seconds": "whether none of the others is as fast and as accurate, and better in one | yes/no",
    "pareto_tokens": "whether none of the others takes as few tokens and is as accurate, and better in one | yes/no",
}


def sentence(table: pd.DataFrame) -> str:
    """Whether a jury is better than one judge."""
    juries, dimension = main_rows(table, part="jury").dropna(subset="accuracy"), main_dimension(table)
    known = juries[juries["kind"] != "best_single"]
    if known.empty:
        return f"On {dimension}, no jury can be scored."
    best = known.nlargest(1, "accuracy").iloc[0]
    low, high = best["crossfit_difference_low"], best["crossfit_difference_high"]
    shown = "better than" if low > 0 else "worse than" if high < 0 else "not shown to differ from"
    return (
        f"On {dimension}, the best jury of the {int(best['size'])} judges ({str(best['kind']).replace('_', ' ')}) is "
        f"right in {best['accuracy']:.0%} of {int(best['n']):,} cases{interval(best['low'], best['high'])}, and is "
        f"{shown} the one judge that is best on other cases."
    )
