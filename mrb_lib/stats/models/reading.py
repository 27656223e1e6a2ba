"""The table `models` in words."""

from __future__ import annotations

import pandas as pd

from mrb_lib.stats.core.phrases import interval, main_dimension, main_rows, opening

MEANINGS = {
    "part": "all judges (one model), one judge, or interaction (whether a term differs between judges) | text",
    "model": "gee: averaged over cases; mixed: within case and judge | text "
    "| Liang & Zeger 1986, doi:10.1093/biomet/73.1.13",
    "term": "what correctness may depend on | text",
    "level": "value of the term, against the mean of those with 5 clusters or more; of two values, against the other"
    " | text",
    "by": "column of the cases that makes the term subfield | text",
    "n": "verdicts that the row rests on | count",
    "n_clusters": "clusters that the row rests on | count",
    "n_excluded": "cases in no model: no decisive label, no verdict, no subfield or no response | cases",
    "n_gold_tie": "of them, with a tie as label | cases",
    "estimate": "log odds ratio of being right | log odds",
    "se": "standard error of the estimate, robust to clusters | log odds | of gee: Mancl & DeRouen 2001",
    "family": "tests of that part and model corrected together | count",
    "marginal_effect": "the same contrast as a difference of probabilities of being right | difference",
    "statistic": "of the interaction: 1 on average by chance | number",
    "df": "contrasts tested | count",
}
_LENGTH = "length_difference"


def sentence(table: pd.DataFrame) -> str:
    """What showing the better response first does to being right, and how its length goes with it."""
    rows, dimension = main_rows(table, part="all judges", model="gee"), main_dimension(table)
    known = rows[rows["term"].isin(["gold_first", _LENGTH])].dropna(subset="marginal_effect")
    if not table["term"].isin(["gold_first", _LENGTH]).any():
        return _of_judges(rows, dimension)
    if known.empty:
        return f"{opening(dimension)}, what order and length have to do with being right is not known."
    effects = []
    for _, row in known.iterrows():
        change = 100 * row["marginal_effect"]
        ends = (row["marginal_effect_low"], row["marginal_effect_high"])
        said = (
            f"the better response being longer by one standard deviation goes with a chance of a right verdict that is "
            f"{'higher' if change > 0 else 'lower'} by {abs(change):.1f} points"
            if row["term"] == _LENGTH
            else f"showing the better response first changes the chance of a right verdict by {change:+.1f} points"
        )
        effects.append(said + interval(*ends, digits=1, name="unadjusted 95% interval"))
    return f"{opening(dimension)}, other things equal, {', and '.join(effects)}."


def _of_judges(rows: pd.DataFrame, dimension: str) -> str:
    """Of ratings, which have no order of responses: how far apart the judges are."""
    known = rows[rows["term"] == "judge"].dropna(subset="marginal_effect")
    if known.empty:
        return f"{opening(dimension)}, what judge and subfield have to do with being right is not known."
    best, worst = known.nlargest(1, "marginal_effect").iloc[0], known.nsmallest(1, "marginal_effect").iloc[0]
    each = (f"{row['level']} {100 * row['marginal_effect']:+.1f} points" for row in (best, worst))
    return f"{opening(dimension)}, other things equal, judges differ from their mean chance of a right verdict by " + (
        f"{' to '.join(each)}."
    )
