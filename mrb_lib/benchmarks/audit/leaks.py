"""Ways in which a benchmark gives its gold labels away."""

import re
from collections.abc import Iterator

import pandas as pd
from scipy.stats import binomtest

from mrb_lib.tables.validation import ANNOTATIONS_FILE, Finding, case_finding

_SHOWN = ("reference", "organ", "department", "modality", "question_type")  # beside the texts
MIN_LITERAL = 4  # cases on which a column must spell the gold label out to count as a leak
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
        Columns that judges may see and that spell the label; and gold that prefers one position beyond chance
        (two-sided exact binomial test, Bonferroni over the dimensions, at 0.001).

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
    """Find columns that judges may see and that spell the label in every case that has both."""
    for name in (column for column in _SHOWN if column in cases):
        spelled = cases[name].map(_literal, na_action="ignore").to_numpy()
        for dimension in labels.columns:
            both = pd.DataFrame({"value": spelled, "label": labels[dimension].to_numpy()}).dropna(subset="label")
            both = both[cases[name].notna().to_numpy()[both.index]]
            if len(both) >= MIN_LITERAL and both["label"].nunique() > 1 and (both["value"] == both["label"]).all():
                problem = f"the column, which judges may see, spells the gold label on {dimension}"
                yield case_finding(cases, both.index[0], name, problem, "remove the column")
                break


def _literal(value: object) -> str | None:
    """Return the label that a value spells out, if it does."""
    text = str(value).strip().strip("[]").lower()
    text = re.sub(r"^(?:response|answer|assistant)[-_ ]?", "", text)
    return {"a": "A", "b": "B", "tie": "tie"}.get(text)


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
