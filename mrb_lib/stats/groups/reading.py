"""The table `groups` in words."""

from __future__ import annotations

import pandas as pd

from mrb_lib.stats.phrases import main_dimension, main_rows, opening, points

_CROSSED = "Cornfield and Tukey 1956, doi:10.1214/aoms/1177728067"
_SCHUIRMANN = "Schuirmann 1987, doi:10.1007/BF01068419"
MEANINGS = {
    "part": "contrast (of two groups) or descendants (medical models against their bases) | text",
    "group_1": "first group of judges | text",
    "group_2": "second group of judges; base: the models that group_1 was trained from | text",
    "n": "cases scored for a judge of either group | cases",
    "n_excluded": "the other cases | cases",
    "n_judges_1": "judges of group_1 with a score, one a model, as draws from those that could be in it | count",
    "n_judges_2": "judges of group_2 with a score, likewise; of descendants, different bases | count",
    "quantity": "what interval and tests are about: difference of the mean accuracies of two groups | text",
    "accuracy_1": "mean over the judges of group_1 of their accuracy by the policy | share 0-1",
    "accuracy_2": "mean over the judges of group_2 of their accuracy by the policy | share 0-1",
    "difference": f"accuracy_1 less accuracy_2 | difference | {_CROSSED}",
    "standard_error": "of the difference, for judges and cases not seen so far; robust to clusters | number",
    "df": "degrees of freedom of the standard error | number | Satterthwaite 1946, doi:10.2307/3002019",
    "judge_sd_1": "spread of accuracies in group_1, less the noise of cases; of descendants, that of gains | number",
    "judge_sd_2": "spread of the accuracies in group_2, less the noise of cases | number",
    "p_value": "test of the two groups being as accurate, by Student's t; two-sided | p 0-1",
    "margin": "largest difference that does not matter, stated beforehand; null: none stated, and no test against it"
    " | difference",
    "equivalence_p": f"of the two being further apart than the margin | p 0-1 | {_SCHUIRMANN}",
    "equivalent": "whether they are shown to differ by less than the margin, adjusted, at .05 | yes/no",
}


def sentence(table: pd.DataFrame) -> str:
    """Which groups are shown to differ; and whether medical training is shown to help."""
    rows, dimension = main_rows(table), main_dimension(table)
    tested = rows[rows["part"] == "contrast"].dropna(subset="p_adjusted")
    said = []
    if tested.empty:
        said.append(f"{opening(dimension)}, no two groups of judges can be compared: that takes two judges in each.")
    else:
        said.append(f"{opening(dimension)}, {_contrasts(tested)}.")
    descended = rows[rows["part"] == "descendants"].dropna(subset="p_value")
    if len(descended):
        row = descended.iloc[0]
        shown = "differ" if row["p_adjusted"] <= 0.05 else "are not shown to differ"
        said.append(f"Medical models {shown} from the models they were trained from ({points(row, 'difference')}).")
    return " ".join(said)


def _contrasts(tested: pd.DataFrame) -> str:
    differ = tested[tested["p_adjusted"] <= 0.05]
    if differ.empty:
        few = "the two groups of judges are" if len(tested) == 1 else "groups of judges are"
        return f"{few} not shown to differ in accuracy: a difference could be chance of which judges were taken"
    named = []
    for row in differ.to_dict("records"):
        better, worse = ("group_1", "group_2") if row["difference"] > 0 else ("group_2", "group_1")
        named.append(f"{row[better]} judges are more accurate than {row[worse]} ones by "
                     f"{100 * abs(row['difference']):.1f} points")  # fmt: skip
    rest = len(tested) - len(differ)
    return "; ".join(named) + (f"; {rest} other contrasts could be chance" if rest > 1 else
                               "; the other contrast could be chance" if rest else "")  # fmt: skip
