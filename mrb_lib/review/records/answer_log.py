"""Everything that annotators did as one table: choices, skips and comments, with what was shown and how long."""

from __future__ import annotations

from typing import Final

import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.review.records.store import Store
from mrb_lib.verdicts.orders import choice_to_shown

CHOICE, SKIP, COMMENT = "choice", "skip", "comment"
LOG_COLUMNS: Final = (
    "kind",
    "case_id",
    "annotator",
    "dimension",
    "choice",
    "order",
    "shown_as",
    "seconds",
    "skipped_reason",
    "comment",
    "counts",
    "created",
)


def answer_log(benchmark: Benchmark, store: Store) -> tuple[pd.DataFrame, int]:
    """What annotators chose, skipped and remarked on the cases of a benchmark, in the order of time.

    Returns
    -------
    frame : a row a choice, skip or comment (`kind`): `case_id, annotator, dimension` (null: a comment, which is on the
        case), `choice` (in the case's own frame), `order` ("AB" or "BA": which response was shown first), `shown_as`
        ("first", "second" or "tie": what was picked on the page), `seconds` (how long the case had been in sight since
        it was shown or since the answer before; null where unknown), `skipped_reason`, `comment`, `counts` (false: a
        later answer took its place) and `created` (UTC)
    left_out : rows that are not in it, since the benchmark has no such case, dimension or category (any more)
    """
    meta = benchmark.meta
    answers = store.answers(meta.name, history=True)
    last = ~answers.duplicated(["case_id", "annotator", "dimension"], keep="last")
    answers = answers.assign(
        kind=answers["choice"].isna().map({True: SKIP, False: CHOICE}),
        shown_as=choice_to_shown(answers["order"], answers["choice"]),
        skipped_reason=answers["skipped_reason"].mask(answers["choice"].notna()),
        counts=last,
    )
    offered = pd.Series(list(map(meta.offers, answers["dimension"], answers["choice"])), answers.index, dtype=bool)
    known = answers["dimension"].isin(meta.dimensions) & (answers["choice"].isna() | offered)
    comments = store.comments(meta.name).rename(columns={"text": "comment"}).assign(kind=COMMENT, counts=True)
    rows = pd.concat([answers[known], comments], ignore_index=True).reindex(columns=list(LOG_COLUMNS))
    rows = rows[rows["case_id"].isin(benchmark.cases["case_id"])]
    left_out = len(answers) + len(comments) - len(rows)
    rows = rows.sort_values("created", kind="stable", ignore_index=True)
    texts = dict.fromkeys(set(LOG_COLUMNS) - {"seconds", "counts"}, "str")
    return rows.astype({**texts, "seconds": "float64", "counts": "bool"}), left_out


def counting_choices(log: pd.DataFrame) -> pd.DataFrame:
    """The rows of an answer log that are the annotations: choices that no later answer replaced."""
    return log[log["counts"] & (log["kind"] == CHOICE)].reset_index(drop=True)
