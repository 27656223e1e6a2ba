"""The tables `difficulty` and `dif` in words."""

from __future__ import annotations

import pandas as pd

from mrb_lib.stats.phrases import main_dimension, main_rows, opening

_RASCH = "Rasch 1960"
MEANINGS = {
    "part": "case, or judge | text",
    "case_id": "name of the case | text",
    "n": "judges scored on the case; in rows of judges, cases | count",
    "n_excluded": "judges, or cases, that are not scored | count",
    "accuracy": "mean score of the judges on the case, or of the judge over cases | share 0-1",
    "difficulty": "ability of a judge that is right half of the time; 0: the average judge | log odds | " + _RASCH,
    "se": "posterior standard deviation of difficulty, or of ability | log odds",
    "discrimination": "how well the case tells able judges from weak ones; 1: as the others | number | Birnbaum 1968",
    "difficulty_2pl": "difficulty by the model with discrimination | log odds | Birnbaum 1968",
    "ability": "ability of the judge on the scale of difficulty | log odds | " + _RASCH,
    "ability_2pl": "ability by the model with discrimination | log odds | Birnbaum 1968",
    "gold_first": "by how much showing the gold response first raises the judge's log odds | log odds",
    "gold": "label of the annotators | text",
    "n_annotators": "annotators of the case | count",
    "gold_votes": "of them, for the gold label | count",
    "alternative": "other label that most verdicts gave | text",
    "n_alternative": "verdicts that gave it | count",
    "n_verdicts": "verdicts with a choice | count",
    "alternative_share": "n_alternative over n_verdicts | share 0-1",
    "suspicion": "probability, given the verdicts, that the alternative and not the gold label is right | share 0-1",
    "rank": "place in the order of suspicion within the dimension | rank",
}
MEANINGS_OF_DIF = {
    "n": "cases scored, inside and outside the subfield | cases",
    "n_inside": "of them inside | cases",
    "n_strata": "levels of difficulty with cases inside and outside | count",
    "n_matching": "judges that cases are matched by | count",
    "accuracy_inside": "mean score inside the subfield | share 0-1",
    "accuracy_outside": "mean score outside | share 0-1",
    "expected": "mean score inside, if the judge did there as outside on equally hard cases | share 0-1",
    "excess": "accuracy inside less expected, at matched difficulty | difference | Dorans & Kulick 1986",
    "mh_odds_ratio": "odds of being right, inside over outside, at equal difficulty | odds ratio"
    " | Mantel & Haenszel 1959",
    "mh_chi2": "statistic of its test, 1 degree of freedom | number | Mantel & Haenszel 1959",
    "p_value": "two-sided p of no difference at equal difficulty | p 0-1 | Mantel & Haenszel 1959",
    "ets_delta": "2.35 times the log odds ratio; negative: weaker inside than difficulty explains | number"
    " | Holland & Thayer 1988",
    "ets_low": "lower end of the 95% interval of ets_delta | number",
    "ets_high": "upper end of the 95% interval of ets_delta | number",
    "ets_class": "A negligible, B moderate, C large | text | Zieky 1993",
    "logistic_effect": "log odds ratio, inside over outside, given difficulty | log odds | Swaminathan & Rogers 1990",
    "logistic_low": "lower end of the 95% interval of logistic_effect | log odds",
    "logistic_high": "upper end of the 95% interval of logistic_effect | log odds",
    "logistic_chi2": "likelihood ratio of that effect, 1 degree of freedom | number",
    "logistic_p": "its p | p 0-1",
}


def sentence(table: pd.DataFrame) -> str:
    """How many gold labels are suspect, and which case first."""
    cases, dimension = main_rows(table, part="case").dropna(subset="suspicion"), main_dimension(table)
    if cases.empty:
        return f"{opening(dimension)}, which labels are suspect is not known."
    suspect = int((cases["suspicion"] >= 0.5).sum())
    first = cases.nlargest(1, "suspicion").iloc[0]
    return (
        f"{opening(dimension)}, the judges' verdicts make {suspect:,} of {len(cases):,} labels of the annotators more "
        f"probably wrong than right; the first to look at is case {first['case_id']}, labelled {first['gold']}, where "
        f"{int(first['n_alternative'])} of {int(first['n_verdicts'])} verdicts say {first['alternative']}."
    )


def sentence_of_dif(table: pd.DataFrame) -> str:
    """In which subfields judges are weak beyond the cases there being hard."""
    rows, dimension = table[table["dimension"].eq(main_dimension(table))], main_dimension(table)
    known = rows.dropna(subset=["excess", "p_adjusted"])
    if known.empty:
        return f"{opening(dimension)}, no judge can be compared between subfields at equal difficulty."
    weak = known[(known["p_adjusted"] <= 0.05) & (known["excess"] < 0)]
    said = f"{opening(dimension)}, of {len(known):,} combinations of judge and subfield "
    if weak.empty:
        return f"{said}none is shown to be weaker than the difficulty of its cases explains."
    worst = weak.nsmallest(1, "excess").iloc[0]
    verb, which = ("is", "") if len(weak) == 1 else ("are", "most of all ")
    return (
        f"{said}{len(weak):,} {verb} shown to be weaker than the difficulty of the cases explains, {which}"
        f"{worst['judge']} in {worst['subfield']}: an accuracy of {worst['accuracy_inside']:.0%}, "
        f"where {worst['expected']:.0%} would be expected."
    )
