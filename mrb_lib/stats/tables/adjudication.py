"""Do reviewers agree on which gold labels are wrong, and why do judges fail?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np
import pandas as pd

from mrb_lib.stats import intervals
from mrb_lib.stats.adjudicated import last_words, records
from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.columns import Column, estimated, shared, table
from mrb_lib.stats.estimation import mean
from mrb_lib.stats.grid import Measure, grid
from mrb_lib.stats.phrases import interval, main_dimension, main_rows, opening
from mrb_lib.stats.scoring import score
from mrb_lib.stats.tables.agreement import COEFFICIENTS, ONE_CATEGORY, agreement_of
from mrb_lib.stats.verdicts import labels_of
from mrb_lib.tables.schema import ADJUDICATION_VERDICTS, WITHDRAWN

REVIEWERS, REASONS = "reviewers", "reasons"
ALL_DIMENSIONS = "all"
NOT_REVIEWED = "no label was reviewed"
NO_REASON = "no reason given"
SAID_INSTEAD: Final = {
    "gold_wrong": "gold label wrong",
    "ambiguous": "case ambiguous",
    "image_unusable": "image unusable",
}
_SHOWN = ("percent_agreement", "krippendorff_alpha", "gwet_ac1")


def reviewers_agree(rows: pd.DataFrame) -> str:
    """Say how often two reviewers agree on a label, and where the corrected leaderboard is."""
    where, known = opening(main_dimension(rows)), main_rows(rows, part=REVIEWERS).dropna(subset="percent_agreement")
    moved = "The table gold_rules shows the judges by the corrected labels, in the rows of rule adjudicated."
    if rows["part"].isna().all():
        return "No label was reviewed."
    if known.empty:
        return f"{where}, cannot tell whether reviewers agree: two of them reviewed fewer than two cases. {moved}"
    row = known.iloc[0]
    alpha, ends = row["krippendorff_alpha"], (row["krippendorff_alpha_low"], row["krippendorff_alpha_high"])
    beyond = (
        "How much of that is beyond chance is not known."
        if pd.isna(alpha)
        else f"Krippendorff's alpha is {alpha:.2f}{interval(*ends, scale=1, digits=2)}; 0 is chance, 1 is perfect."
    )
    return (
        f"{where}, two reviewers of the same label agree {row['percent_agreement']:.0%} of the time "
        f"({int(row['n_cases']):,} cases, {int(row['n_reviewers'])} reviewers). {beyond} {moved}"
    )


@table(
    "adjudication",
    question="do reviewers agree on which gold labels are wrong, and why do judges fail",
    columns=[
        Column("part", "reviewers or reasons", "text"),
        shared("dimension", "judge"),
        Column("reason_given", "why the judge fails, in the reviewers' words", "text"),
        shared("policy"),
        Column("n", "reasons: cases for which the reason was given", "cases"),
        Column("n_cases", "reasons: cases reviewed; reviewers: cases with two reviewers or more", "cases"),
        shared("clusters"),
        Column("n_reviewers", "reviewers of the dimension", "count"),
        tuple(replace(each, null="") for each in COEFFICIENTS if each.name in _SHOWN),
        Column("n_failures", "cases on which the judge is wrong, reviewed or not", "cases"),
        estimated("share", "n over n_cases"),
        Column("interval", "method of the interval of share: percentile (bootstrap), t, or deff (Wilson's)", "text"),
    ],
    sentence=reviewers_agree,
    uses=("gold", "adjudications", "policy", "dimension", "cluster", "resamples", "seed", "probe"),
    headline=("percent_agreement", "krippendorff_alpha", "n", "share"),
    needs_verdicts=False,
    why_no_ratings="",
)
def adjudication(analysis: Analysis) -> pd.DataFrame:
    """Measure how far reviewers agree on each dimension, and count the reasons for each judge's failures.

    Marks of all dimensions at once are the dimension `all`. A mark with a judge is about that judge; one without is
    about every judge that is wrong (scores below 1/2) on its dimension, or on any. A mark without a reason counts by
    what it says of the label. Reviewers see the label, so they agree more than people who label blindly. Shares are of
    the cases reviewed, and describe all failures only where these were chosen without regard to the verdicts.
    """
    analysis = replace(analysis, by=None)
    said = analysis.adjudications
    known = None if said is None else said[said["case_id"].isin(analysis.cases["case_id"])]
    if known is None or known.empty:
        return pd.DataFrame([{"n": 0, "reason": NOT_REVIEWED}])
    options = {"cluster": analysis.cluster, "resamples": analysis.resamples, "seed": analysis.seed}
    agreed = reviewer_agreement(known, analysis.cases, **options)
    absent = agreed["reason"].str.replace("annotators", REVIEWERS)
    reason = np.select([agreed["n_cases"] < 2, agreed["krippendorff_alpha"].isna()], [absent, ONE_CATEGORY], "")
    agreed = agreed.assign(part=REVIEWERS, n_reviewers=agreed["n_annotators"], reason=reason)
    shown = [f"{name}{end}" for name in _SHOWN for end in ("", "_low", "_high")]
    agreed = agreed[["part", "dimension", "n_cases", "n_clusters", "n_reviewers", *shown, "reason"]]
    return pd.concat([agreed, _reasons(analysis, known)], ignore_index=True)


def reviewer_agreement(adjudications: pd.DataFrame, cases: pd.DataFrame, **options: Any) -> pd.DataFrame:
    """Make the table `agreement` of reviewers: their last verdicts on each case and dimension for labels.

    Parameters
    ----------
    adjudications : as in `mrb_lib.stats.adjudicated.adjudicated_gold`; marks of all dimensions are dimension "all"
    options : as in `mrb_lib.stats.tables.agreement.agreement_of`
    """
    case_ids = set(cases["case_id"])
    words = [word for word in last_words(adjudications) if word["case_id"] in case_ids]
    people = {name: f"reviewer {i}" for i, name in enumerate(sorted({str(word["reviewer"]) for word in words}))}
    rows = [
        (word["case_id"], people[str(word["reviewer"])], word["dimension"] or ALL_DIMENSIONS, word["verdict"])
        for word in words
    ]
    labels = pd.DataFrame(rows, columns=["case_id", "annotator", "dimension", "choice"]).astype("str")
    categories = [verdict for verdict in ADJUDICATION_VERDICTS if verdict != WITHDRAWN]
    dimensions = list(dict.fromkeys(labels["dimension"]))
    return agreement_of(labels, cases, categories=categories, dimensions=dimensions, **options)


def _reasons(analysis: Analysis, adjudications: pd.DataFrame) -> pd.DataFrame:
    """Make one row per judge and reason, the commonest first; none where no mark is about a judge."""
    verdicts, case_ids = analysis.verdicts, analysis.cases["case_id"]
    labels = labels_of(analysis.annotated_gold, case_ids, analysis.names, verdicts.categories)
    judge, judges = pd.factorize(verdicts.cells["judge"])
    wrong = np.zeros((len(judges), len(case_ids), len(analysis.names)), dtype=bool)
    wrong[judge, :, verdicts.dimension] = score(verdicts, labels, analysis.policy).score.T < 0.5
    place = {case: i for i, case in enumerate(case_ids)}
    reviewed = np.zeros((len(judges), len(case_ids)), dtype=bool)
    given: dict[tuple[int, str], set[int]] = {}
    for word in records(adjudications[adjudications["verdict"] != WITHDRAWN]):
        case = place[str(word["case_id"])]
        reasons = word["reasons"] if isinstance(word["reasons"], list | tuple) else ()
        of_dimension = [word["dimension"] in (None, name) for name in analysis.names]
        failing = wrong[:, case, of_dimension].any(axis=1)
        for who in np.flatnonzero(failing if word["judge"] is None else judges == word["judge"]):
            reviewed[who, case] = True
            for reason in reasons or (SAID_INSTEAD.get(str(word["verdict"]), NO_REASON),):
                given.setdefault((int(who), str(reason)), set()).add(case)
    if not given:
        return pd.DataFrame()
    order = sorted(given, key=lambda key: (key[0], -len(given[key]), key[1]))
    shares = np.where(reviewed[[who for who, _ in order]].T, 0.0, np.nan)
    for column, key in enumerate(order):
        shares[list(given[key]), column] = 1.0
    cells = pd.DataFrame([(judges[who], reason) for who, reason in order], columns=["judge", "reason_given"])
    rows, _ = grid(analysis, cells, {"share": Measure(mean(shares), intervals.share)})
    failures = wrong.any(axis=2).sum(axis=1)[[who for who, _ in order]]
    return rows.assign(part=REASONS, n_cases=rows["n"], n=[len(given[key]) for key in order], n_failures=failures)
