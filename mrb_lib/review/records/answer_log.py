"""Everything that annotators did as one table: choices, skips and comments, with what was shown and how long."""

from __future__ import annotations

from typing import Final

import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.review.records.store import Store
from mrb_lib.verdicts.orders import choice_to_shown

CHOICE, SKIP, COMMENT = "choice", "skip", "comment"
_KEY: Final = ("case_id", "annotator", "dimension")
LOG_COLUMNS: Final = (
    "kind",
    *_KEY,
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
    answers = store.answers(benchmark.meta.name, history=True)
    skipped = answers["choice"].isna()
    answers = answers.assign(
        kind=skipped.map({True: SKIP, False: CHOICE}),
        shown_as=choice_to_shown(answers["order"], answers["choice"]),
        skipped_reason=answers["skipped_reason"].where(skipped),
        counts=~answers.duplicated(list(_KEY), keep="last"),
    )
    known = offered(benchmark.meta, answers) | (skipped & answers["dimension"].isin(benchmark.meta.dimensions))
    comments = store.comments(benchmark.meta.name).rename(columns={"text": "comment"})
    rows = pd.concat([answers[known], comments.assign(kind=COMMENT, counts=True)], ignore_index=True)
    rows = rows[rows["case_id"].isin(benchmark.cases["case_id"])].reindex(columns=list(LOG_COLUMNS))
    rows = rows.astype(dict.fromkeys(LOG_COLUMNS, "str") | {"seconds": "float64", "counts": "bool"})
    left_out = len(answers) + len(comments) - len(rows)
    return rows.sort_values("created", kind="stable", ignore_index=True), left_out


def offered(meta: BenchmarkMeta, answers: pd.DataFrame) -> pd.Series:
    """Whether each answer is a choice that the benchmark has on its dimension."""
    return pd.Series(list(map(meta.offers, answers["dimension"], answers["choice"])), answers.index, dtype=bool)


def counting_choices(log: pd.DataFrame) -> pd.DataFrame:
    """The rows of an answer log that are the annotations: choices that no later answer replaced."""
    return log[log["counts"] & (log["kind"] == CHOICE)].reset_index(drop=True)
