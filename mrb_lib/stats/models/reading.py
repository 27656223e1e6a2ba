"""The table `models` in words."""

from __future__ import annotations

import pandas as pd

from mrb_lib.stats.phrases import interval, main_dimension, main_rows, of_judges, on, opening, points

MEANINGS = {
    "part": "all judges (one model), one judge, interaction (does a term differ between judges), or knowledge | text",
    "model": "gee: averaged over cases; mixed: within case and judge | text "
    "| Liang & Zeger 1986, doi:10.1093/biomet/73.1.13",
    "answered_by": "the model behind the judge, by its name among those that answered the items | text",
    "term": "what correctness may depend on | text",
    "level": "value of the term, against the mean of those with 5 clusters or more; of two values, against the other"
    " | text",
    "by": "column of the cases that makes the term subfield | text",
    "policy": "of knowledge: how the verdicts on a case become its score | text",
    "n": "verdicts that the row rests on; of knowledge, cases: n_right and n_wrong | count",
    "n_clusters": "clusters that the row rests on | count",
    "n_excluded": "cases in no model: no decisive label, no verdict, no subfield or no response; of knowledge, all "
    "cases not in n | cases",
    "n_gold_tie": "of them, with a tie as label | cases",
    "n_right": "scored cases whose item the judge's own model answered right | cases",
    "n_wrong": "scored cases whose item it answered wrong | cases",
    "n_unscored": "of n_excluded, cases without score whose item has a marked answer, but for those of n_seen | cases",
    "n_seen": "of n_excluded, cases whose verdicts are left out since the judge was trained on them | cases",
    "estimate": "log odds ratio of being right | log odds",
    "se": "standard error of the estimate, robust to clusters | log odds | of gee: Mancl & DeRouen 2001",
    "accuracy_right": "accuracy where the judge's own model answered the item right | share 0-1",
    "accuracy_wrong": "accuracy where it answered the item wrong | share 0-1",
    "difference": "accuracy_right less accuracy_wrong; its p_value is by Welch's t test over clusters | difference",
    "difference_se": "standard error of the difference, robust to clusters | number",
    "family": "tests of that part and model corrected together | count",
    "marginal_effect": "the same contrast as a difference of probabilities of being right | difference",
    "statistic": "of the interaction: 1 on average by chance | number",
    "df": "of the interaction: contrasts tested; of knowledge: Welch's degrees of freedom | number",
}
_LENGTH = "length_difference"


def sentence(table: pd.DataFrame) -> str:
    """What order and length do to being right; and whether judges judge better what their own model can answer."""
    effects = _of_effects(table)
    return f"{effects} {_of_knowledge(table)}" if table["part"].eq("knowledge").any() else effects


def _of_effects(table: pd.DataFrame) -> str:
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


def _of_knowledge(table: pd.DataFrame) -> str:
    """How many judges are more accurate where their model knows the answer, and how much more at most."""
    rows, dimension = main_rows(table, part="knowledge"), main_dimension(table)
    known = rows.dropna(subset=["difference", "p_adjusted"])
    if known.empty:
        return f"{opening(dimension)}, whether judges judge better what they can answer themselves is not known."
    better = known[(known["p_adjusted"] <= 0.05) & (known["difference"] > 0)]
    what = f"shown to judge better {on(dimension)} where their model answers the question right itself"
    said = of_judges(len(better), len(known), what)
    if better.empty:
        return f"{said}."
    top = better.sort_values("difference").iloc[-1]
    return f"{said}, {top['judge']} most: {points(top, 'difference')}."
