"""What annotators did as tables: how far and how fast they are, what they skipped, and everything as one log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.review.records.store import Store
from mrb_lib.verdicts.orders import choice_to_shown

DONE, SKIPPED, OPEN = "done", "skipped", "open"
CHOICE, SKIP, COMMENT = "choice", "skip", "comment"
_KEY, _AS_SHOWN = ("case_id", "annotator", "dimension"), ("order", "shown_as", "seconds")
LOG_COLUMNS: Final = ("kind", *_KEY, "choice", *_AS_SHOWN, "skipped_reason", "comment", "counts", "created")


def case_states(assignments: pd.DataFrame, answers: pd.DataFrame, dimensions: Sequence[str]) -> pd.DataFrame:
    """Each assigned case of each annotator: done, skipped or open.

    Parameters
    ----------
    assignments : `case_id, annotator` and others
    answers : those that count now, see `mrb_lib.review.records.store.Store.answers`
    dimensions : those that are asked for

    Returns
    -------
    DataFrame
        The rows of `assignments`, with `answered` (dimensions with a choice), `n_skipped` (dimensions skipped), `state`
        (done: every dimension has a choice; skipped: every dimension has a choice or was skipped; open) and `last`
        (when the annotator last answered to it; null: never).
    """
    asked = answers[answers["dimension"].isin(list(dimensions))]
    counts = asked.assign(answered=asked["choice"].notna(), n_skipped=asked["choice"].isna(), last=asked["created"])
    of_case = counts.groupby(["case_id", "annotator"], as_index=False)
    counts = of_case.agg({"answered": "sum", "n_skipped": "sum", "last": "max"})
    out = assignments.merge(counts, how="left", on=["case_id", "annotator"], validate="many_to_one")
    out = out.fillna({"answered": 0, "n_skipped": 0}).astype({"answered": "int64", "n_skipped": "int64"})
    is_done, is_complete = (count >= len(dimensions) for count in (out["answered"], out["answered"] + out["n_skipped"]))
    return out.assign(state=np.select([is_done, is_complete], [DONE, SKIPPED], OPEN)).astype({"state": "str"})


def by_annotator(states: pd.DataFrame) -> pd.DataFrame:
    """`annotator, assigned, done, skipped, open, last` of each annotator, from `case_states`; sorted by name."""
    is_so = {name: states["state"] == name for name in (DONE, SKIPPED, OPEN)}
    each = states.assign(assigned=1, **is_so).groupby("annotator", as_index=False)
    return each.agg({"assigned": "sum", DONE: "sum", SKIPPED: "sum", OPEN: "sum", "last": "max"})


def by_dimension(assignments: pd.DataFrame, answers: pd.DataFrame, dimensions: Sequence[str]) -> pd.DataFrame:
    """`dimension, assigned, answered, skipped` over the assigned cases, in the order of `dimensions`."""
    here = answers.merge(assignments[["case_id", "annotator"]], on=["case_id", "annotator"])
    here = here.assign(answered=here["choice"].notna(), skipped=here["choice"].isna())
    counts = here.groupby("dimension")[["answered", "skipped"]].sum().reindex(list(dimensions), fill_value=0)
    counts.insert(0, "assigned", len(assignments))
    return counts.rename_axis("dimension").reset_index()


def pace(history: pd.DataFrame) -> pd.DataFrame:
    """Return how fast each annotator works, from the time that their cases were in sight.

    Parameters
    ----------
    history : `annotator, case_id, choice, seconds` of every answer and skip, changed ones included: the time of an
        answer starts where that of the one before it ends, so that only all of them add up

    Returns
    -------
    DataFrame
        A row an annotator, sorted by name: `answers` (choices with a known time), `untimed` (rows without one), `hours`
        (the sum of all times), `answers_per_hour` (null without a time), `cases` (of which every time is known), and
        the `median_seconds` of these. A case that lies open while nobody looks counts as in sight, so that long rests
        at an open page slow the pace; the median feels few of them little.
    """
    untimed = history["seconds"].isna()
    sums = ["answers", "untimed", "seconds"]
    rows = history.assign(answers=history["choice"].notna() & ~untimed, untimed=untimed)
    cases = rows.groupby(["annotator", "case_id"], as_index=False)[sums].sum()
    out = cases.groupby("annotator", as_index=False)[sums].sum().rename(columns={"seconds": "hours"})
    out["hours"] /= 3600
    out["answers_per_hour"] = out["answers"] / out["hours"].where(out["hours"] > 0)
    whole = cases["seconds"].where(cases["untimed"] == 0).groupby(cases["annotator"])
    return out.assign(cases=out["annotator"].map(whole.count()), median_seconds=out["annotator"].map(whole.median()))


def skipped_cases(answers: pd.DataFrame, dimensions: Sequence[str]) -> pd.DataFrame:
    """`case_id, annotator, dimensions, reason, last` of what was skipped, the latest first.

    `dimensions` names those that were skipped, in the order of the benchmark, separated by commas.
    """
    position = {name: number for number, name in enumerate(dimensions)}
    rows = answers[answers["choice"].isna() & answers["dimension"].isin(position)]
    rows = rows.sort_values("dimension", key=lambda names: names.map(position), kind="stable")
    each = rows.rename(columns={"skipped_reason": "reason"}).groupby(["case_id", "annotator", "reason"], sort=False)
    skipped = each.agg(dimensions=("dimension", ", ".join), last=("created", "max")).reset_index()
    skipped = skipped.sort_values("last", ascending=False, kind="stable", ignore_index=True)
    return skipped[["case_id", "annotator", "dimensions", "reason", "last"]]


def answer_log(benchmark: Benchmark, store: Store) -> tuple[pd.DataFrame, int]:
    """Return what annotators chose, skipped and remarked on the cases of a benchmark, in the order of time.

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
    """Return whether each answer is a choice that the benchmark has on its dimension."""
    return pd.Series(list(map(meta.offers, answers["dimension"], answers["choice"])), answers.index, dtype=bool)


def counting_choices(log: pd.DataFrame) -> pd.DataFrame:
    """The rows of an answer log that are the annotations: choices that no later answer replaced."""
    return log[log["counts"] & (log["kind"] == CHOICE)].reset_index(drop=True)
