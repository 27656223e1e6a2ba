"""How far annotation has come: counted from what was assigned and what was answered."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

DONE, SKIPPED, OPEN = "done", "skipped", "open"


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
    relevant = answers[answers["dimension"].isin(list(dimensions))]
    counts = (
        relevant.assign(answered=relevant["choice"].notna(), n_skipped=relevant["choice"].isna())
        .groupby(["case_id", "annotator"], as_index=False)
        .agg(answered=("answered", "sum"), n_skipped=("n_skipped", "sum"), last=("created", "max"))
    )
    out = assignments.merge(counts, how="left", on=["case_id", "annotator"], validate="many_to_one")
    for name in ("answered", "n_skipped"):
        out[name] = out[name].fillna(0).astype("int64")
    complete = out["answered"] + out["n_skipped"] >= len(dimensions)
    state = pd.Series(OPEN, index=out.index, dtype="str").mask(complete, SKIPPED)
    out["state"] = state.mask(out["answered"] >= len(dimensions), DONE)
    return out


def by_annotator(states: pd.DataFrame) -> pd.DataFrame:
    """`annotator, assigned, done, skipped, open, last` of each annotator, from `case_states`; sorted by name."""
    counts = states.groupby("annotator").agg(
        assigned=("case_id", "size"),
        done=("state", lambda states: int((states == DONE).sum())),
        skipped=("state", lambda states: int((states == SKIPPED).sum())),
        open=("state", lambda states: int((states == OPEN).sum())),
        last=("last", "max"),
    )
    return counts.reset_index()


def by_dimension(assignments: pd.DataFrame, answers: pd.DataFrame, dimensions: Sequence[str]) -> pd.DataFrame:
    """`dimension, assigned, answered, skipped` over the assigned cases, in the order of `dimensions`."""
    assigned = answers.merge(assignments[["case_id", "annotator"]], on=["case_id", "annotator"])
    chosen = assigned["choice"].notna()
    rows = []
    for name in dimensions:
        of_dimension = assigned["dimension"] == name
        rows.append((name, len(assignments), int((of_dimension & chosen).sum()), int((of_dimension & ~chosen).sum())))
    return pd.DataFrame(rows, columns=["dimension", "assigned", "answered", "skipped"])


def pace(history: pd.DataFrame) -> pd.DataFrame:
    """How fast each annotator works, from the time that their cases were in sight.

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
    timed = history["seconds"].notna()
    rows = history.assign(chosen=history["choice"].notna() & timed, untimed=~timed)
    cases = rows.groupby(["annotator", "case_id"], as_index=False).agg(
        answers=("chosen", "sum"), untimed=("untimed", "sum"), seconds=("seconds", "sum")
    )
    each = cases.assign(whole=cases["seconds"].where(cases["untimed"] == 0)).groupby("annotator")
    out = each.agg(
        answers=("answers", "sum"), untimed=("untimed", "sum"), hours=("seconds", lambda seconds: seconds.sum() / 3600),
        cases=("whole", "count"), median_seconds=("whole", "median"),
    ).reset_index()  # fmt: skip
    out.insert(4, "answers_per_hour", out["answers"] / out["hours"].where(out["hours"] > 0))
    return out


def skipped_cases(answers: pd.DataFrame, dimensions: Sequence[str]) -> pd.DataFrame:
    """`case_id, annotator, dimensions, reason, last` of what was skipped, the latest first.

    `dimensions` names those that were skipped, in the order of the benchmark, separated by commas.
    """
    position = {name: number for number, name in enumerate(dimensions)}
    rows = answers[answers["choice"].isna() & answers["dimension"].isin(list(dimensions))]
    rows = rows.sort_values("dimension", key=lambda names: names.map(position), kind="stable")
    if rows.empty:
        return pd.DataFrame(columns=["case_id", "annotator", "dimensions", "reason", "last"], dtype="str")
    skipped = rows.groupby(["case_id", "annotator", "skipped_reason"], as_index=False, sort=False).agg(
        dimensions=("dimension", ", ".join), last=("created", "max")
    )
    skipped = skipped.rename(columns={"skipped_reason": "reason"}).sort_values("last", ascending=False, kind="stable")
    return skipped[["case_id", "annotator", "dimensions", "reason", "last"]].reset_index(drop=True)
