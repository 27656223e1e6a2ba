"""What is in the benchmark?"""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.columns import Column, shared, table

_PARTS = ["organ", "department", "modality"]


def commonest_kind(rows: pd.DataFrame) -> str:
    """Say how many cases there are, and which kind is the commonest."""
    whole = rows[rows["subfield"].isna()]
    first = whole.nlargest(1, "n_cases").iloc[0]
    said = f"The benchmark has {int(whole['n_cases'].sum()):,} cases"
    if whole[_PARTS].isna().all(axis=None):
        return f"{said}, whose organ, department and modality are not stated."
    kind = ", ".join(str(first[name]) for name in _PARTS if pd.notna(first[name])) or "not stated"
    kinds = f"{len(whole):,} kinds" if len(whole) > 1 else "one kind"
    return f"{said} of {kinds}; the most common ({kind}) has {int(first['n_cases']):,} ({first['share']:.0%})."


@table(
    "composition",
    question="what is in the benchmark",
    columns=[
        Column("organ", "organ or region that the case is about", "text"),
        Column("department", "clinical department of the case", "text"),
        Column("modality", "kind of image", "text"),
        shared("subfield", "by"),
        Column("n_cases", "cases of this kind", "cases"),
        Column("share", "share of the cases of the benchmark or subfield", "share 0-1"),
        shared("n_unassigned"),
    ],
    sentence=commonest_kind,
    uses=("by",),
    needs_verdicts=False,
    why_no_ratings="",
)
def composition(analysis: Analysis) -> pd.DataFrame:
    """Count the cases of each organ, department and imaging modality, a row per combination that occurs.

    A column that the cases lack is null. Every case is in one row of the whole benchmark.
    """
    described = analysis.cases.reindex(columns=_PARTS).astype("str")
    frames = []
    for part in analysis.parts:
        counts = described.iloc[part.cases].groupby(_PARTS, dropna=False).size().rename("n_cases").reset_index()
        label: dict[str, Any] = dict(part.label())
        frames.append(counts.assign(**label, share=counts["n_cases"] / max(1, len(part.cases))))
    return pd.concat(frames, ignore_index=True)


def lengths(cases: pd.DataFrame) -> pd.DataFrame:
    """Count the words of the responses: `case_id`, `side` (A or B), `words`; two rows per case."""
    sides = cases.rename(columns={"response_a": "A", "response_b": "B"}).melt("case_id", ["A", "B"], "side", "words")
    sides["words"] = [len(text.split()) for text in sides["words"].astype("str")]
    return sides.astype({"case_id": "str", "side": "str", "words": "int64"})


def counts_by(cases: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Count the cases of each value of some columns: `column`, `value`, `n_cases`, `share`; one column after another.

    Most cases come first, and cases whose value is not stated (null) last. A column that states nothing has no rows.
    """
    values = cases.reindex(columns=list(columns)).astype("str").dropna(axis="columns", how="all")
    counts = values.melt(var_name="column").value_counts(dropna=False).reset_index(name="n_cases")
    place, unstated = counts["column"].map(list(columns).index), counts["value"].isna()
    counts = counts.assign(place=place, unstated=unstated, share=counts["n_cases"] / max(1, len(cases)))
    order = {"place": True, "unstated": True, "n_cases": False, "value": True}
    counts = counts.sort_values(list(order), ascending=list(order.values()), ignore_index=True)
    return counts[["column", "value", "n_cases", "share"]].astype({"value": "str"})
