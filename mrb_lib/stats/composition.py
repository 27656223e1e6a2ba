"""What a benchmark is made of."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mrb_lib.stats.options import typed
from mrb_lib.stats.subfields import By, groups

_PARTS = ["organ", "department", "modality"]


def composition(cases: pd.DataFrame, *, by: By = None) -> pd.DataFrame:
    """Count the cases of each organ, department and imaging modality.

    Parameters
    ----------
    cases : the cases table; a column it lacks is null in the result
    by : also count within each subfield of a cases column, or of several, see `mrb_lib.stats.subfields.groups`

    Returns
    -------
    DataFrame
        One row a combination that occurs: `organ`, `department`, `modality` (null where
        not stated), `subfield` (null: whole benchmark), `by`, `n_cases`, `share` of the
        cases of the benchmark or subfield, `n_unassigned`. Every case is in one row of
        the whole benchmark.

    Raises
    ------
    InputError
        `by` cannot be used.
    """
    described = cases.reindex(columns=_PARTS).astype("str").reset_index(drop=True)
    frames = []
    for part in groups(cases, by):
        counts = described.iloc[part.cases].value_counts(sort=False, dropna=False).rename("n_cases").reset_index()
        counts = counts.sort_values(_PARTS, na_position="last", ignore_index=True)
        counts["share"] = counts["n_cases"] / max(1, len(part.cases))
        counts["by"], counts["subfield"], counts["n_unassigned"] = part.by, part.subfield, part.n_unassigned
        frames.append(counts)
    columns = [*_PARTS, "subfield", "by", "n_cases", "share", "n_unassigned"]
    return typed(pd.concat(frames, ignore_index=True), columns)


def lengths(cases: pd.DataFrame) -> pd.DataFrame:
    """How long the responses are, in words separated by white space.

    Returns
    -------
    DataFrame
        Two rows a case: `case_id`, `side` ("A" or "B"), `words`.
    """
    frames = [
        pd.DataFrame(
            {
                "case_id": cases["case_id"].to_numpy(),
                "side": side,
                "words": np.array([len(text.split()) for text in cases[column].astype("str")], dtype=np.int64),
            }
        )
        for side, column in (("A", "response_a"), ("B", "response_b"))
    ]
    return pd.concat(frames, ignore_index=True).astype({"case_id": "str", "side": "str"})


def sources(cases: pd.DataFrame) -> pd.DataFrame:
    """Count the cases of each source dataset.

    Returns
    -------
    DataFrame
        `dataset` (null where not stated), `n_cases`, `share`; most cases first.
    """
    names = cases.reindex(columns=["dataset"])["dataset"].astype("str")
    counts = names.value_counts(dropna=False).rename("n_cases").rename_axis("dataset").reset_index()
    counts = counts.sort_values(["n_cases", "dataset"], ascending=[False, True], ignore_index=True)
    counts["share"] = counts["n_cases"] / max(1, len(cases))
    return counts
