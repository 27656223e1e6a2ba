"""The tables `significance` and `letters` in words."""

from __future__ import annotations

import pandas as pd

from mrb_lib.stats.phrases import main_dimension, main_rows, opening

_SCHUIRMANN = "Schuirmann 1987, doi:10.1007/BF01068419"
_MCNEMAR = "McNemar 1947"
MEANINGS = {
    "part": "pair (of judges) or omnibus (all judges at once) | text",
    "n": "cases scored for both, or for all judges | cases",
    "n_excluded": "the other cases | cases",
    "n_seen": "those of them left out only since one of the two was trained on them | cases",
    "difference": "mean score of judge_1 less that of judge_2 on the same cases | difference",
    "only_1": "cases on which judge_1 has the higher score | cases",
    "only_2": "cases on which judge_2 has the higher score | cases",
    "quantity": "what interval, tests and verdicts are about: difference of two judges, or accuracy of all | text",
    "exact_p": f"sign test of which judge wins more cases, taken as independent | p 0-1 | {_MCNEMAR}",
    "mid_p": "the sign test, counting half of what is as likely as the data | p 0-1 | Fagerland et al. 2013",
    "permutation_p": "test of the mean difference by flipping the signs of clusters | p 0-1 | Fisher 1935",
    "bootstrap_p": "test of the mean difference by the cluster bootstrap | p 0-1 | Efron 1979",
    "t_p": "test of the mean difference by Student's t, robust to clusters | p 0-1",
    "margin": "largest difference that does not matter, stated beforehand; null: none stated, and no test against it"
    " | difference",
    "equivalence_p": f"of the two being further apart than the margin | p 0-1 | {_SCHUIRMANN}",
    "equivalent": "whether they are shown to differ by less than the margin, adjusted, at .05 | yes/no",
    "noninferiority_p": f"of judge_1 being worse than judge_2 by the margin | p 0-1 | {_SCHUIRMANN}",
    "noninferior": "whether judge_1 is shown to be not worse by the margin, adjusted, at .05 | yes/no",
    "noninferiority_2_p": f"of judge_2 being worse than judge_1 by the margin | p 0-1 | {_SCHUIRMANN}",
    "noninferior_2": "whether judge_2 is shown to be not worse by the margin, adjusted, at .05 | yes/no",
    "statistic": "of the test of all judges at once | number",
    "df_error": "degrees of freedom of the error | number",
    "judges": "judges compared at once | count",
}
MEANINGS_OF_LETTERS = {
    "n": "cases scored | cases",
    "quantity": "what order, interval and letters are about: accuracy | text",
    "above_constant": "accuracy less that of the label that does best if always given | difference",
    "n_common": "cases scored for every judge | cases",
    "mean_rank": "mean place over these cases, 1 the best, ties sharing theirs | number | Friedman 1937",
    "with_best": "whether it is not shown to differ from the most accurate judge at .05, adjusted | yes/no",
    "letters": "two judges that share a letter are not shown to differ at .05, adjusted | text | Piepho 2004",
    "critical_difference": "of mean ranks, at .05 | number | Nemenyi 1963; Demsar 2006",
}


def sentence(table: pd.DataFrame) -> str:
    """How many pairs of judges are shown to differ."""
    pairs, dimension = main_rows(table, part="pair").dropna(subset="p_adjusted"), main_dimension(table)
    if pairs.empty:
        return f"{opening(dimension)}, no two judges can be compared on the same cases."
    differ = pairs[pairs["p_adjusted"] <= 0.05]
    if len(pairs) == 1:
        shown = "are shown to differ" if len(differ) else "are not shown to differ"
        return f"{opening(dimension)}, {pairs['judge_1'].iloc[0]} and {pairs['judge_2'].iloc[0]} {shown} in accuracy."
    said = f"{opening(dimension)}, {len(differ):,} of {len(pairs):,} pairs of judges are shown to differ in accuracy"
    if differ.empty:
        return f"{said}: the differences could be chance."
    if len(differ) == len(pairs):
        return f"{said}."
    near = differ.iloc[int(differ["difference"].abs().to_numpy().argmin())]
    first, second = ("judge_1", "judge_2") if near["difference"] > 0 else ("judge_2", "judge_1")
    return (
        f"{said}, down to {near[first]} over {near[second]} by {100 * abs(near['difference']):.1f} points; the other "
        "differences could be chance."
    )


def sentence_of_letters(table: pd.DataFrame) -> str:
    """Which judges share the first place."""
    known, dimension = main_rows(table).dropna(subset="accuracy"), main_dimension(table)
    if known.empty or known["letters"].isna().all():
        return f"{opening(dimension)}, judges cannot be grouped."
    best = known.nlargest(1, "accuracy").iloc[0]
    if len(known) == 1:
        return f"{opening(dimension)}, {best['judge']} is the only judge, with an accuracy of {best['accuracy']:.0%}."
    shared = set(str(best["letters"]))
    others = [str(row["judge"]) for _, row in known.iterrows()
              if row["judge"] != best["judge"] and shared & set(str(row["letters"]))]  # fmt: skip
    alone = (
        "is shown to differ from every other judge" if not others else f"is not shown to differ from {_list(others)}"
    )
    return f"{opening(dimension)}, {best['judge']}, which has the highest accuracy ({best['accuracy']:.0%}), {alone}."


def _list(names: list[str]) -> str:
    if len(names) > 3:
        return f"{len(names)} others"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
