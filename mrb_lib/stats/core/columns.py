"""What the columns of tables mean, one line each: the shared ones once, composed names by rule.

A line is `meaning | unit` or `meaning | unit | source of the method`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

UNITS: Final = frozenset({
    "text", "yes/no", "cases", "count", "rank", "share 0-1", "difference", "p 0-1", "coefficient", "log odds",
    "odds ratio", "number", "seconds", "tokens",
})  # fmt: skip
"""A `difference` is one of two shares, from -1 to 1; a `coefficient` is at most 1, 0 being chance."""

YES_OR_NO: Final = "yes/no"

SHARED: Final[Mapping[str, str]] = {
    "part": "kind of row; columns that do not belong to it are null | text",
    "judge": "name of the judge | text",
    "judge_1": "first judge of the pair | text",
    "judge_2": "second judge of the pair | text",
    "annotator": "name of the annotator (clinician) | text",
    "annotator_1": "first annotator of the pair | text",
    "annotator_2": "second annotator of the pair | text",
    "responder": "model that wrote the responses | text",
    "dimension": "what was judged, such as accuracy, relevance or overall | text",
    "subfield": "group of cases, such as an organ; null: all cases | text",
    "by": "column of the cases that makes the subfields; null in rows of all cases | text",
    "policy": "scoring policy: how the verdicts on a case become its score | text",
    "level": "level of measurement at which the labels are read | text",
    "cluster": "column of the cases whose values are taken as clusters | text",
    "n": "cases that the row rests on | cases",
    "n_cases": "cases that the row rests on | cases",
    "n_excluded": "cases that are left out, for want of a label or of a verdict that the policy can read | cases",
    "n_seen": "cases with verdicts that are left out since the judge was trained on them | cases",
    "n_unassigned": "cases in no subfield | cases",
    "n_unpaired": "cases that do not name two different responders | cases",
    "n_clusters": "clusters of cases that vary independently | count",
    "n_judges": "judges compared | count",
    "n_annotators": "annotators that the row rests on | count",
    "accuracy": "mean score over cases: agreement with the gold label, by the policy | share 0-1",
    "coverage": "share of the cases that have an answer | share 0-1",
    "difference": "accuracy of the first less that of the second | difference",
    "standard_error": "standard error of the estimate, robust to clusters | number",
    "se": "standard error of the estimate | number",
    "df": "degrees of freedom | number",
    "design_effect": "how many times clusters enlarge the variance; 1: not at all | number | Kish 1965",
    "binomial_ratio": "sampling variance over that of as many independent right-or-wrong answers | number",
    "interval": "how the interval is made | text",
    "test": "test that gives p_value | text",
    "quantity": "what the estimate, interval and test of the row are of | text",
    "p_value": "probability of data as far from the null hypothesis, if it is true; two-sided | p 0-1",
    "p_adjusted": "p_value corrected for the number of tests, see correction and family | p 0-1",
    "correction": "correction for the number of tests | text",
    "family": "number of tests corrected together | count",
    "family_scope": "tests corrected together: those of one dimension and subfield, or all | text",
    "alpha": "significance level | p 0-1",
    "rank": "place in the order, 1 the first; equals share the better place | rank",
    "krippendorff_alpha": "agreement beyond chance, any number of annotators | coefficient | Krippendorff 2011",
    "cohen_kappa": "agreement of two beyond chance | coefficient | Cohen 1960, doi:10.1177/001316446002000104",
    "gwet_ac1": "agreement beyond chance, stable where one label dominates | coefficient"
    " | Gwet 2008, doi:10.1348/000711006X126600",
    "percent_agreement": "share of pairs of labels of a case that are equal | share 0-1",
    "reason": "why a value is null, or what to mind in reading the row | text",
}  # fmt: skip

_COMPOSED: Final = (
    ("_generalized_low", "lower end of the 95% generalized interval of {}"),
    ("_generalized_high", "upper end of the 95% generalized interval of {}"),
    ("_analytic_low", "lower end of the 95% interval of {}, by a formula"),
    ("_analytic_high", "upper end of the 95% interval of {}, by a formula"),
    ("_low", "lower end of the 95% interval of {}"),
    ("_high", "upper end of the 95% interval of {}"),
    ("_adjusted", "{} corrected for the number of tests, see correction and family"),
)


@dataclass(frozen=True)
class Meaning:
    """What a column holds.

    Attributes
    ----------
    text : in words, on one line
    unit : one of `UNITS`
    source : of the method, author and year; empty where it takes none
    """

    text: str
    unit: str
    source: str = ""


def meaning(name: str, own: Mapping[str, str], columns: Sequence[str]) -> Meaning | None:
    """What a column of a table means; None where nobody says so.

    Parameters
    ----------
    own : the lines of the table, which go before the shared ones
    columns : of the table, in order: `low` and `high` bound the column before them
    """
    line = own.get(name) or SHARED.get(name)
    if line:
        return Meaning(*line.split(" | "))
    if name in ("low", "high"):
        of = next(column for column in reversed(columns[: columns.index("low")]) if column not in ("low", "high"))
        composed, text = of, dict(_COMPOSED)[f"_{name}"]
    else:
        ending, text = next(((end, text) for end, text in _COMPOSED if name.endswith(end)), ("", ""))
        if not ending:
            return None
        composed = name.removesuffix(ending)
    base = meaning(composed, own, columns)
    return base and Meaning(text.format(composed), base.unit)
