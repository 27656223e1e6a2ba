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
    answers : those that count now, see `mrb_lib.reviews.store.Store.answers`
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
