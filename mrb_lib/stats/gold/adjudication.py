"""What reviewers said of the gold labels: how far they agree, why judges fail, and how the leaderboard moves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from mrb_lib.stats.adjudicated import REVIEWERS, last_words
from mrb_lib.stats.adjudicated import adjudicated_gold as adjudicated_gold
from mrb_lib.stats.core.panel import Panel, as_panel
from mrb_lib.stats.core.scoring import encode_gold, score
from mrb_lib.stats.core.table import register_table
from mrb_lib.stats.gold import reading
from mrb_lib.stats.gold.failure_reasons import reasons_by_judge as reasons_by_judge
from mrb_lib.stats.gold.rankings import ranks
from mrb_lib.stats.options import FloatArray, IntArray, check_policy, join_reasons, typed, with_ends
from mrb_lib.stats.resampling.quantiles import interval
from mrb_lib.stats.resampling.resample import block, cluster_codes, interval_reason, n_clusters, ratio, resampled
from mrb_lib.stats.tables.agreement import agreement_of
from mrb_lib.tables.schema import ADJUDICATION_VERDICTS, WITHDRAWN

ALL_DIMENSIONS = "all"
NOT_REVIEWED = "no label of the dimension was reviewed"
NOT_SCORED = "no case that the judge is scored on has a label"
COLUMNS = [
    "part",
    "dimension",
    "judge",
    "reason_given",
    "policy",
    "n",
    "n_adjudicated",
    "n_changed",
    "n_removed",
    "accuracy",
    "adjudicated_accuracy",
    "adjudicated_n",
    *with_ends("difference"),
    "rank",
    "adjudicated_rank",
    "n_reviewers",
    "n_cases",
    *with_ends("percent_agreement", "krippendorff_alpha", "gwet_ac1"),
    "n_failures",
    *with_ends("share"),
    "share_interval",
    "reason",
]


def reviewer_agreement(
    adjudications: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    cluster: str | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """How far reviewers agree on what is wrong with gold labels.

    Parameters
    ----------
    adjudications : as in `adjudicated_gold`
    cases, cluster, resamples, seed : as in `mrb_lib.stats.tables.agreement.agreement_of`

    Returns
    -------
    DataFrame
        As of `mrb_lib.stats.tables.agreement.agreement_of`, with reviewers for annotators and the verdicts for labels;
        marks of all dimensions at once are a dimension of their own, "all". Without rows where nobody reviewed a case.

    Notes
    -----
    Reviewers saw the label they judge, so that they agree more than people who label blindly do. Validated in
    `tests/stats/gold/test_adjudication.py`.
    """
    case_ids = set(cases["case_id"])
    words = [word for word in last_words(adjudications) if word["case_id"] in case_ids]
    people = {name: f"reviewer {i}" for i, name in enumerate(sorted({str(word["reviewer"]) for word in words}))}
    rows = [
        (word["case_id"], people[str(word["reviewer"])], word["dimension"] or ALL_DIMENSIONS, word["verdict"])
        for word in words
    ]
    labels = pd.DataFrame(rows, columns=["case_id", "annotator", "dimension", "choice"]).astype("str")
    wanted = list(dict.fromkeys(labels["dimension"]))
    categories = [verdict for verdict in ADJUDICATION_VERDICTS if verdict != WITHDRAWN]
    return agreement_of(
        labels, cases, categories=categories, dimensions=wanted, cluster=cluster, resamples=resamples, seed=seed
    )


@register_table(
    "adjudication",
    question="how do corrected labels move the leaderboard, do reviewers agree, why do judges fail",
    columns=COLUMNS,
    meanings=reading.MEANINGS_OF_ADJUDICATION,
    sentence=reading.sentence_of_adjudication,
)
def adjudication(
    verdicts: pd.DataFrame | Panel,
    annotated_gold: pd.DataFrame,
    adjudications: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    policy: str = "balanced",
    dimensions: Sequence[str] | None = None,
    cluster: str | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """How the leaderboard moves when gold labels are as reviewers say; how far they agree; why judges fail.

    Parameters
    ----------
    annotated_gold : the gold table that the annotators' votes give
    adjudications : as in `adjudicated_gold`
    verdicts, cases, policy, dimensions, cluster, resamples, seed : as in `mrb_lib.stats.accuracy.accuracy`

    Returns
    -------
    DataFrame
        Rows of `part` "leaderboard", one a judge and dimension: `accuracy` by the annotators' labels over `n` cases,
        `adjudicated_accuracy` by the reviewers' over `adjudicated_n`, their `difference` with its 95%
        cluster-bootstrap interval `difference_low`, `difference_high` (both by the same draws), `rank` and
        `adjudicated_rank`; of the dimension's labels `n_adjudicated` were reviewed, `n_changed` became another label
        (or one where there was none), `n_removed` none.
        `part` "reviewers", one a dimension reviewed ("all": of the whole case): `n_reviewers`, `n_cases` with two or
        more, `percent_agreement`, `krippendorff_alpha` and `gwet_ac1`, each with its 95% cluster-bootstrap interval
        (`_low`, `_high`).
        `part` "reasons": see `reasons_by_judge`; `reason_given`, `n`, `n_cases` reviewed, `n_failures`, `share`,
        `share_low`, `share_high`, and `share_interval`, how these were made.
        `reason` says why a value is null, or why an interval has no width.

    Raises
    ------
    InputError
        As in `mrb_lib.stats.accuracy.accuracy`.

    Notes
    -----
    Validated in `tests/stats/gold/test_adjudication.py`.
    """
    check_policy(policy)
    panel = as_panel(verdicts, cases["case_id"], dimensions)
    codes = cluster_codes(cases, cluster)
    moved = _moves(panel, annotated_gold, adjudications, cases, codes, policy, resamples, seed)
    agreed = reviewer_agreement(adjudications, cases, cluster=cluster, resamples=resamples, seed=seed)
    agreed = agreed.rename(columns={"n_annotators": "n_reviewers"}).assign(part="reviewers")
    # Agreement also says why measures are null that are not shown here.
    shown = agreed[[name for name in COLUMNS if name in agreed and name != "reason"]]
    agreed["reason"] = agreed["reason"].where(shown.isna().any(axis=1)).str.replace("annotators", "reviewers")
    why = reasons_by_judge(
        adjudications, panel, annotated_gold, cases, policy=policy, cluster=cluster, resamples=resamples, seed=seed
    )
    why = why.assign(part="reasons", policy=policy)
    parts = (moved, agreed, why)
    rows = [row for part in parts for row in part.reindex(columns=COLUMNS).astype(object).to_dict("records")]
    ranked = dict.fromkeys(("rank", "adjudicated_rank", "adjudicated_n"), "Int64")
    return typed(pd.DataFrame(rows), COLUMNS, counts="Int64", **ranked)


def _moves(
    panel: Panel,
    gold: pd.DataFrame,
    adjudications: pd.DataFrame,
    cases: pd.DataFrame,
    codes: IntArray,
    policy: str,
    resamples: int,
    seed: int,
) -> pd.DataFrame:
    """The rows of the part "leaderboard"."""
    corrected = adjudicated_gold(gold, adjudications)
    labels = [encode_gold(frame, cases["case_id"], panel.dimensions, panel.categories) for frame in (gold, corrected)]
    both = [score(panel, codes_of_gold, policy).score for codes_of_gold in labels]
    rows: list[dict[str, object]] = []
    for index, dimension in enumerate(panel.dimensions):
        head: dict[str, object] = {"part": "leaderboard", "dimension": dimension, "policy": policy}
        head |= _changes(corrected[corrected["dimension"] == dimension])
        scores = np.hstack([by_rule[:, index].T for by_rule in both])
        more = _compared(scores, codes, resamples, seed)
        if not head["n_adjudicated"]:
            more = [row | {"reason": join_reasons(NOT_REVIEWED, _undefined(row))} for row in more]
        rows.extend(head | {"judge": judge} | row for judge, row in zip(panel.judges, more, strict=True))
    return pd.DataFrame(rows, columns=COLUMNS)


def _undefined(row: dict[str, object]) -> str:
    """Why a row has no accuracy; where it has one and no label was reviewed, no other remark is due."""
    return str(row["reason"] or "") if not row["n"] else ""


def _changes(corrected: pd.DataFrame) -> dict[str, object]:
    """How many labels of one dimension reviewers looked at, changed and took away."""
    kept, had = corrected["choice"].notna(), corrected["annotated_choice"].notna()
    return {
        "n_adjudicated": int((corrected["label_source"] == REVIEWERS).sum()),
        "n_changed": int((kept & (corrected["choice"] != corrected["annotated_choice"])).sum()),
        "n_removed": int((~kept & had).sum()),
    }


def _compared(scores: FloatArray, codes: IntArray, resamples: int, seed: int) -> list[dict[str, object]]:
    """The accuracies of each judge by both labels, and their difference, one row a judge.

    Parameters
    ----------
    scores : shape (cases, 2 x judges), by the annotators' labels and then by the reviewers'; NaN where not scored
    """
    judges = scores.shape[1] // 2
    counted = np.isfinite(scores)
    sums = np.hstack([np.nan_to_num(scores), counted])
    value = ratio(sums.sum(axis=0, keepdims=True))[0]
    [drawn] = resampled([block(codes, sums, _differences)], n_clusters(codes), resamples=resamples, seed=seed)
    low, high = interval(drawn.replicates)
    clusters = (np.asarray(drawn.sums)[:, 2 * judges :] > 0).sum(axis=0)
    first, second = value[:judges], value[judges:]
    rank_pairs, n = (ranks(first), ranks(second)), counted.sum(axis=0)
    rows: list[dict[str, object]] = []
    for j in range(judges):
        fewest = int(min(n[j], n[judges + j]))
        least = int(min(clusters[j], clusters[judges + j]))
        row: dict[str, object] = {"n": int(n[j]), "accuracy": first[j]}
        row |= {"adjudicated_n": int(n[judges + j]), "adjudicated_accuracy": second[j]}
        row |= {"difference": second[j] - first[j], "rank": rank_pairs[0][j], "adjudicated_rank": rank_pairs[1][j]}
        if fewest > 1 and least > 1:
            row |= {"difference_low": low[j], "difference_high": high[j]}
        remark = "" if fewest else NOT_SCORED
        row["reason"] = join_reasons(remark, interval_reason(fewest, least, resamples, low[j], high[j]))
        rows.append(row)
    return rows


def _differences(sums: FloatArray) -> FloatArray:
    means = ratio(sums)
    half = means.shape[1] // 2
    difference: FloatArray = means[:, half:] - means[:, :half]
    return difference
