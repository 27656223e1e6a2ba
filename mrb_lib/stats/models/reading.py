"""The table `models` in words."""

from __future__ import annotations

import pandas as pd

from mrb_lib.stats.core.phrases import interval, main_dimension, main_rows

MEANINGS = {
    "part": "all judges (one model), one judge, or interaction (whether a term differs between judges) | text",
    "model": "gee: averaged over cases; mixed: within a case | text | Liang & Zeger 1986, doi:10.1093/biomet/73.1.13",
    "term": "what correctness may depend on | text",
    "level": "value of the term, against the mean of all its values | text",
    "by": "column of the cases that makes the term subfield | text",
    "n": "verdicts that the row rests on | count",
    "n_clusters": "clusters that the row rests on | count",
    "n_excluded": "cases in no model: no decisive label, no verdict, no subfield or no response | cases",
    "n_gold_tie": "of them, with a tie as label | cases",
    "estimate": "log odds ratio of being right | log odds",
    "se": "standard error of the estimate, robust to clusters | log odds | Mancl & DeRouen 2001",
    "family": "tests of that part and model corrected together | count",
    "marginal_effect": "the same contrast as a difference of probabilities of being right | difference",
    "statistic": "of the interaction: 1 on average by chance | number",
    "df": "contrasts tested | count",
}
_EFFECTS = {
    "gold_first": "showing the better response first",
    "length_difference": "the better response being longer by a standard deviation",
    "length_advantage": "the better response being longer by a standard deviation",
}


def sentence(table: pd.DataFrame) -> str:
    """What order and length do to being right."""
    rows, dimension = main_rows(table, part="all judges", model="gee"), main_dimension(table)
    known = rows[rows["term"].isin(_EFFECTS)].dropna(subset="marginal_effect")
    effects = [
        f"{_EFFECTS[row['term']]} changes the chance that a verdict is right by "
        f"{100 * row['marginal_effect']:+.1f} points"
        + interval(row["marginal_effect_low"], row["marginal_effect_high"], digits=1)
        for _, row in known.iterrows()
    ]
    if not effects:
        return f"On {dimension}, what order and length do to being right is not known."
    return f"On {dimension}, other things equal, {', and '.join(effects)}."
