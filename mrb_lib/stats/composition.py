"""What a benchmark is made of."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mrb_lib.stats.core.options import typed
from mrb_lib.stats.core.subfields import By, groups

_PARTS = ["organ", "department", "modality"]


def composition(cases: pd.DataFrame, *, by: By = None) -> pd.DataFrame:
    """Count the cases of each organ, department and imaging modality.

    Parameters
    ----------
    cases : the cases table; a column it lacks is null in the result
    by : also count within each subfield of a cases column, or of several, see `mrb_lib.stats.core.subfields.groups`

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
    described = cases.reindex(columns=_PARTS).astype("str")
    found = [pd.factorize(described[name], sort=True) for name in _PARTS]
    shape = tuple(len(names) + 1 for _, names in found)  # the last of each is "not stated"
    kind = np.ravel_multi_index([np.where(codes < 0, len(names), codes) for codes, names in found], shape)
    parts = groups(cases, by)
    kinds, counts = zip(*(np.unique(kind[part.cases], return_counts=True) for part in parts), strict=True)
    each = np.repeat(np.arange(len(parts)), [len(count) for count in counts])
    n_cases, size = np.concatenate(counts), np.array([max(1, len(part.cases)) for part in parts])
    places = np.unravel_index(np.concatenate(kinds), shape)
    stated = [
        names.append(pd.Index([None], dtype="str")).take(at) for (_, names), at in zip(found, places, strict=True)
    ]
    frame = pd.DataFrame(
        {
            **dict(zip(_PARTS, stated, strict=True)),
            "subfield": pd.Index([part.subfield for part in parts], dtype="str").take(each),
            "by": pd.Index([part.by for part in parts], dtype="str").take(each),
            "n_cases": n_cases,
            "share": n_cases / size[each],
            "n_unassigned": np.array([part.n_unassigned for part in parts])[each],
        }
    )
    return typed(frame, list(frame.columns))


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
