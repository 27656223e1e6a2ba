"""Ways in which a benchmark gives its gold labels away."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from mrb_lib.tables.schema import CHOICES
from mrb_lib.tables.validation import ANNOTATIONS_FILE, Finding, case_finding

MIN_LITERAL = 4  # cases on which a column must spell the gold label out to count as a leak
MIN_CODED = 20  # the same for a column whose values only correspond to the labels one to one
MIN_SECOND = 5  # of these, cases with the second most frequent label
POSITION_LEVEL = 0.001  # family-wise level of the test of position


def leak_findings(cases: pd.DataFrame, gold: pd.DataFrame) -> list[Finding]:
    """Look for gold labels that a judge, or whoever prepares the data, could read off.

    Parameters
    ----------
    cases : the cases table with its required columns, a row a case
    gold : the gold table (see `mrb_lib.benchmarks.votes.gold`) of a benchmark whose labels are preferences

    Returns
    -------
    list of Finding
        Columns that equal the label; and gold that prefers one position beyond chance (two-sided exact
        binomial test, Bonferroni over the dimensions, at 0.001).

    Notes
    -----
    Tested by tests/benchmarks/audit/test_audit_leaks.py.
    """
    if gold.empty:
        return []
    labels = gold.pivot_table(index="case_id", columns="dimension", values="choice", aggfunc="first", sort=False)
    labels = labels.reindex(index=cases["case_id"].to_numpy())
    return [*_leaking_columns(cases, labels), *_position(labels)]


def _leaking_columns(cases: pd.DataFrame, labels: pd.DataFrame) -> Iterator[Finding]:
    for name in cases.columns:
        if name in ("case_id", "question", "response_a", "response_b", "images"):
            continue
        values = cases[name]
        if not isinstance(values.dtype, pd.StringDtype) and not pd.api.types.is_integer_dtype(values.dtype):
            continue
        if (dimension := _equals(values, labels)) is not None:
            i = int(np.flatnonzero(values.notna())[0])
            problem = f"the column determines the gold label on {dimension}"
            cure = "remove the column, or keep it out of everything a judge or a split may use"
            yield case_finding(cases, i, str(name), problem, cure)


def _literal(value: object) -> str | None:
    """The label that a value spells out, if it does."""
    text = str(value).strip().strip("[]").lower()
    text = re.sub(r"^(?:response|answer|assistant)[-_ ]?", "", text)
    return {"a": "A", "b": "B", "tie": "tie"}.get(text)


def _equals(values: pd.Series, labels: pd.DataFrame) -> str | None:
    """The first dimension whose label the values equal or encode one to one, in every case that has both."""
    distinct = values.dropna().unique()
    if not 2 <= len(distinct) <= len(CHOICES):
        return None
    spelled = all(_literal(value) is not None for value in distinct)
    for dimension in labels.columns:
        both = pd.DataFrame({"value": values.to_numpy(), "label": labels[dimension].to_numpy()}).dropna()
        if len(both) < MIN_LITERAL or both["label"].nunique() < 2:
            continue
        if spelled and (both["value"].map(_literal) == both["label"]).all():
            return str(dimension)
        one_to_one = len(both.drop_duplicates()) == both["value"].nunique() == both["label"].nunique()
        if one_to_one and len(both) >= MIN_CODED and both["label"].value_counts().iloc[1] >= MIN_SECOND:
            return str(dimension)
    return None


def _position(labels: pd.DataFrame) -> Iterator[Finding]:
    tested = [name for name in labels.columns if labels[name].isin(["A", "B"]).any()]
    for dimension in tested:
        n_a, n_b = (int((labels[dimension] == side).sum()) for side in ("A", "B"))
        p = float(binomtest(n_a, n_a + n_b).pvalue)
        if p * len(tested) < POSITION_LEVEL:
            more = "response_a" if n_a > n_b else "response_b"
            problem = (
                f"gold on {dimension} prefers {more} in {max(n_a, n_b)} of {n_a + n_b} decided cases "
                f"(binomial p = {p:.2g}), so a judge that always names one side looks good"
            )
            cure = "assign the two responses to A and B by chance, or read the two sides' accuracy separately"
            yield Finding("warning", ANNOTATIONS_FILE, None, "choice", problem, cure)
