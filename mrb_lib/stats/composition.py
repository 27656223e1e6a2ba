"""What a benchmark is made of."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from mrb_lib.stats.core.table import register_table
from mrb_lib.stats.options import typed
from mrb_lib.stats.subfields import By, groups

_PARTS = ["organ", "department", "modality"]


COLUMNS = [*_PARTS, "subfield", "by", "n_cases", "share", "n_unassigned"]

MEANINGS = {
    "organ": "organ or region that the case is about | text",
    "department": "clinical department of the case | text",
    "modality": "kind of image | text",
    "n_cases": "cases of this kind | cases",
    "share": "of the cases of the benchmark or subfield | share 0-1",
}


def sentence(table: pd.DataFrame) -> str:
    """How many cases there are, and which kind is the commonest."""
    rows = table[table["subfield"].isna()]
    first = rows.nlargest(1, "n_cases").iloc[0]
    said = f"The benchmark has {int(rows['n_cases'].sum()):,} cases"
    if rows[_PARTS].isna().all(axis=None):
        return f"{said}, whose organ, department and modality are not stated."
    kind = ", ".join(str(first[name]) for name in _PARTS if pd.notna(first[name])) or "not stated"
    kinds = f"{len(rows):,} kinds" if len(rows) > 1 else "one kind"
    return f"{said} of {kinds}; the commonest, {kind}, has {int(first['n_cases']):,} ({first['share']:.0%})."


@register_table(
    "composition",
    question="what is in the benchmark",
    columns=COLUMNS,
    needs_verdicts=False,
    meanings=MEANINGS,
    sentence=sentence,
)
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
    described = cases.reindex(columns=_PARTS).astype("str")
    frames = []
    for part in groups(cases, by):
        counts = described.iloc[part.cases].groupby(list(_PARTS), dropna=False).size().rename("n_cases").reset_index()
        share = counts["n_cases"] / max(1, len(part.cases))
        frames.append(counts.assign(subfield=part.subfield, by=part.by, share=share, n_unassigned=part.n_unassigned))
    return typed(pd.concat(frames, ignore_index=True), COLUMNS)


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


def counts_by(cases: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Count the cases of each value of some columns, a column after another.

    Returns
    -------
    DataFrame
        `column`, `value` (null where not stated), `n_cases`, `share` of all cases; of each column most cases first,
        what is not stated last. A column that states nothing anywhere has no rows.
    """
    frames = []
    for name in columns:
        values = cases.reindex(columns=[name])[name].astype("str")
        if values.notna().any():
            counts = values.value_counts(dropna=False).rename("n_cases").rename_axis("value").reset_index()
            counts = counts.assign(column=name, unstated=counts["value"].isna())
            frames.append(counts.sort_values(["unstated", "n_cases", "value"], ascending=[True, False, True]))
    table = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=["column", "value", "n_cases"])
    return typed(table.assign(share=table["n_cases"] / max(1, len(cases))), ["column", "value", "n_cases", "share"],
                 column="str", value="str")  # fmt: skip
