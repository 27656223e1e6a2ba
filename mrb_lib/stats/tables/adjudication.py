"""Do reviewers agree on which gold labels are wrong, and why do judges fail?"""

from dataclasses import replace
from typing import Any, Final

import numpy as np
import pandas as pd

from mrb_lib.stats import intervals
from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.annotators import ADJUDICATION_VERDICTS, WITHDRAWN, last_words
from mrb_lib.stats.columns import Column, estimated, shared, table
from mrb_lib.stats.estimation import mean
from mrb_lib.stats.grid import Measure, grid
from mrb_lib.stats.options import with_ends
from mrb_lib.stats.phrases import main_dimension, main_rows, number, opening
from mrb_lib.stats.scoring import score
from mrb_lib.stats.tables.agreement import COEFFICIENTS, agreement_of
from mrb_lib.stats.verdicts import labels_of

REVIEWERS, REASONS, ANSWERS = "reviewers", "reasons", "answers"
_OWN = {
    "adjudication_id", "benchmark", "case_fingerprint", "case_id", "dimension", "reviewer", "verdict", "choice",
    "judge", REASONS, "regions", "note", "supersedes", "created",
}  # fmt: skip
ALL_DIMENSIONS = "all"
NOT_REVIEWED = "no label was reviewed"
NO_REASON = "no reason given"
UNDEFINED = "fewer than two cases have two reviewers, or all marks on them are alike"
SAID_INSTEAD: Final = {
    "gold_right": NO_REASON,
    "gold_wrong": "gold label wrong",
    "ambiguous": "case ambiguous",
    "image_unusable": "image unusable",
}
_SHOWN = ("percent_agreement", "krippendorff_alpha")


def reviewers_agree(rows: pd.DataFrame) -> str:
    """Say how often two reviewers agree on a label, and where the corrected leaderboard is."""
    where, known = opening(main_dimension(rows)), main_rows(rows, part=REVIEWERS).dropna(subset="percent_agreement")
    corrected = "The table gold_rules scores the judges by the corrected labels (rule adjudicated)."
    if rows["part"].isna().all():
        return "No label was reviewed."
    if known.empty:
        return f"{where}, cannot tell whether reviewers agree: two of them reviewed fewer than two cases. {corrected}"
    row = known.iloc[0]
    return (
        f"{where}, two reviewers of the same label agree {row['percent_agreement']:.0%} of the time "
        f"({int(row['n_cases']):,} cases, {int(row['n_reviewers'])} reviewers). Krippendorff's alpha is "
        f"{number(row, 'krippendorff_alpha')}, where 0 is chance and 1 is perfect. {corrected}"
    )


@table(
    "adjudication",
    question="do reviewers agree on which gold labels are wrong, and why do judges fail",
    columns=[
        Column("part", "reviewers, reasons or answers", "text"),
        shared("dimension", "judge"),
        Column("reason_given", "why the judge fails, in the reviewers' words", "text"),
        Column("question", "answers: the question of the review form", "text"),
        Column("answer", "answers: the option chosen", "text"),
        shared("policy"),
        Column("n", "reasons, answers: cases for which it was given", "cases"),
        Column("n_cases", "reasons: cases reviewed; reviewers: by two or more; answers: with any", "cases"),
        shared("clusters"),
        Column("n_reviewers", "reviewers of the dimension", "count"),
        tuple(replace(each, null=UNDEFINED, parts=(REVIEWERS,)) for each in COEFFICIENTS if each.name in _SHOWN),
        estimated("share", "n over n_cases"),
        shared("interval"),
    ],
    sentence=reviewers_agree,
    uses=("gold", "adjudications", "policy", "dimension", "cluster", "resamples", "seed", "probe"),
    headline=("percent_agreement", "krippendorff_alpha", "n", "share"),
    needs_verdicts=False,
    why_no_ratings="",
)
def adjudication(analysis: Analysis) -> pd.DataFrame:
    """Measure how far reviewers agree on each dimension, and count reasons and answers about each judge's failures.

    Marks of all dimensions at once are the dimension `all`. A mark with a judge is about that judge; one without is
    about every judge that is wrong (scores below 1/2) on its dimension, or on any. A mark without a reason counts by
    what it says of the label. Reviewers see the label, so they agree more than people who label blindly. Shares are of
    the cases reviewed, and describe all failures only where these were chosen without regard to the verdicts.
    """
    analysis, marks = replace(analysis, by=None), analysis.adjudications
    if marks is not None:
        marks = marks[marks["case_id"].isin(analysis.cases["case_id"]) & (marks["verdict"] != WITHDRAWN)]
    if marks is None or marks.empty:
        return pd.DataFrame([{"n": 0, "reason": NOT_REVIEWED}])
    sampled = {"cluster": analysis.cluster, "resamples": analysis.resamples, "seed": analysis.seed}
    agreed = reviewer_agreement(marks, analysis.cases, **sampled).rename(columns={"n_annotators": "n_reviewers"})
    agreed = agreed[["dimension", "n_cases", "n_clusters", "n_reviewers", *with_ends(*_SHOWN)]].assign(part=REVIEWERS)
    return pd.concat([agreed, _reasons(analysis, marks), _answers(analysis, marks)], ignore_index=True)


def reviewer_agreement(adjudications: pd.DataFrame, cases: pd.DataFrame, **options: Any) -> pd.DataFrame:
    """Make the table `agreement` of reviewers: their last verdicts on each case and dimension for labels.

    Parameters
    ----------
    adjudications : as in `mrb_lib.stats.annotators.adjudicated_gold`; marks of all dimensions are dimension "all"
    options : as in `mrb_lib.stats.tables.agreement.agreement_of`
    """
    words = last_words(adjudications[adjudications["case_id"].isin(cases["case_id"])])
    reviewers = [f"reviewer {number}" for number in pd.factorize(words["reviewer"], sort=True)[0]]
    labels = words[["case_id", "dimension"]].assign(annotator=reviewers, choice=words["verdict"]).astype("str")
    labels["dimension"] = labels["dimension"].fillna(ALL_DIMENSIONS)
    categories = [verdict for verdict in ADJUDICATION_VERDICTS if verdict != WITHDRAWN]
    dimensions = list(dict.fromkeys(labels["dimension"]))
    return agreement_of(labels, cases, categories=categories, dimensions=dimensions, **options)


def _reasons(analysis: Analysis, marks: pd.DataFrame) -> pd.DataFrame:
    """Make one row per judge and reason, the commonest first; none where no mark is about a judge."""
    verdicts, case_ids = analysis.verdicts, analysis.cases["case_id"]
    labels = labels_of(analysis.annotated_gold, case_ids, analysis.names, verdicts.categories)
    case, cell = np.nonzero(score(verdicts, labels, analysis.policy).score < 0.5)
    failures = verdicts.cells[["judge", "dimension"]].iloc[cell].assign(case_id=case_ids.to_numpy()[case])
    general = marks[marks["judge"].isna()].drop(columns="judge").merge(failures, on="case_id", suffixes=("", "_failed"))
    general = general[general["dimension"].isna() | (general["dimension"] == general["dimension_failed"])]
    about = pd.concat([marks[marks["judge"].isin(verdicts.cells["judge"])], general], ignore_index=True)
    instead = about["verdict"].map(SAID_INSTEAD)
    about["reason_given"] = [given or [other] for given, other in zip(about["reasons"], instead, strict=True)]
    return _shares(analysis, about.explode("reason_given"), ["judge"], "reason_given").assign(part=REASONS)


def _answers(analysis: Analysis, marks: pd.DataFrame) -> pd.DataFrame:
    """Make one row per judge, question of the form and option, beside the reasons; without a judge, `judge` is null.

    Each column of the reviews that is not one of `_OWN` is a question.
    """
    asked = [name for name in marks if name not in _OWN]
    about = marks.melt(["case_id", "judge"], asked, "question", "answer").explode("answer").dropna(subset="answer")
    rows = _shares(analysis, about.fillna({"judge": ""}), ["judge", "question"], "answer")
    return rows.assign(judge=rows["judge"].replace("", None), part=ANSWERS)


def _shares(analysis: Analysis, given: pd.DataFrame, within: list[str], name: str) -> pd.DataFrame:
    """Count the cases with each value of a column, the commonest first, and their share of the cases with any."""
    if given.empty:
        return pd.DataFrame(columns=[*within, name])
    has = pd.crosstab(given["case_id"], [given[one] for one in (*within, name)])
    has = has.reindex(analysis.cases["case_id"], fill_value=0) > 0
    cells = has.sum().rename("n").reset_index().sort_values("n", ascending=False, kind="stable")
    cells = cells.sort_values(within, kind="stable", ignore_index=True)
    has = has[pd.MultiIndex.from_frame(cells[[*within, name]])]
    reviewed = has.T.groupby(level=within).transform("any").T
    shares = np.where(reviewed, has.astype("float64"), np.nan)
    rows, _ = grid(analysis, cells[[*within, name]], {"share": Measure(mean(shares), intervals.share)})
    return rows.assign(n_cases=rows["n"], n=cells["n"])
