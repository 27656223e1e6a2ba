"""Gold labels as reviewers corrected them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pandas as pd

from mrb_lib.tables.schema import WITHDRAWN

ANNOTATORS, REVIEWERS = "annotators", "reviewers"
UNDECIDED = "reviewers disagree"
UNUSABLE = {"ambiguous": "reviewers found it ambiguous", "image_unusable": "reviewers found the image unusable"}
NO_LABEL = "annotators gave no label, and reviewers confirmed that"


def adjudicated_gold(gold: pd.DataFrame, adjudications: pd.DataFrame) -> pd.DataFrame:
    """Return the gold labels as reviewers corrected them.

    Parameters
    ----------
    gold : the gold table, by any rule; its labels are A, B or tie
    adjudications : those that count, as `mrb_lib.review.records.store.Store.adjudications` gives them

    Returns
    -------
    DataFrame
        The rows and columns of `gold`, `choice` replaced where reviewers say so, and: `label_source` ("annotators" or
        "reviewers"), `n_reviewers`, `annotated_choice` (the label before), `reason` (why reviewers left none).
        Each reviewer has one vote on a case and dimension: their last word on that dimension, or else on all
        dimensions. "gold_right" votes for the label there is, "gold_wrong" for the reviewer's choice, "ambiguous" and
        "image_unusable" for no label. The votes' majority decides; where two outcomes share the most votes there is
        no label. Adjudications of cases and dimensions that are not in `gold` change nothing.

    Notes
    -----
    Reviewers who look only at cases that a judge got wrong can only ever help that judge: where the size of a move is
    to mean anything, choose the cases without regard to the verdicts. Validated in
    `tests/stats/tables/test_adjudication.py`.
    """
    words = last_words(adjudications)
    by_key: dict[tuple[object, object], dict[object, dict[str, object]]] = {}
    for word in words:
        key = (word["case_id"], word["dimension"])
        by_key.setdefault(key, {})[word["reviewer"]] = word
    choices, sources, counts, reasons = [], [], [], []
    before = gold["choice"].astype(object).where(gold["choice"].notna(), None)
    for case, dimension, label in zip(gold["case_id"], gold["dimension"], before, strict=True):
        said = by_key.get((case, None), {}) | by_key.get((case, dimension), {})
        choice, reason = _decided(label, list(said.values())) if said else (label, None)
        choices.append(choice)
        reasons.append(reason)
        sources.append(REVIEWERS if said else ANNOTATORS)
        counts.append(len(said))
    return gold.assign(
        choice=pd.Series(choices, index=gold.index, dtype="str"),
        label_source=pd.Series(sources, index=gold.index, dtype="str"),
        n_reviewers=pd.Series(counts, index=gold.index, dtype="int64"),
        annotated_choice=gold["choice"],
        reason=pd.Series(reasons, index=gold.index, dtype="str"),
    )


def records(adjudications: pd.DataFrame) -> list[dict[str, object]]:
    """The rows with None for what is missing."""
    plain = adjudications.astype(object).where(adjudications.notna(), None)
    return [{str(name): value for name, value in row.items()} for row in plain.to_dict("records")]


def last_words(adjudications: pd.DataFrame) -> list[dict[str, object]]:
    """The last adjudication of each reviewer on each case and dimension, whichever judge was in view."""
    ordered = adjudications[adjudications["verdict"] != WITHDRAWN].sort_values("created", kind="stable")
    return records(ordered.drop_duplicates(["case_id", "dimension", "reviewer"], keep="last"))


def _decided(label: str | None, said: Sequence[dict[str, object]]) -> tuple[str | None, str | None]:
    """The label that the reviewers' votes leave, and why where they leave none."""
    kinds = {"gold_right": label or NO_LABEL}
    votes = Counter(str(word["choice"] or kinds.get(str(word["verdict"]), word["verdict"])) for word in said)
    (first, n), *rest = votes.most_common()
    if rest and rest[0][1] == n:
        return None, UNDECIDED
    if first in {label, *(word["choice"] for word in said)}:
        return first, None
    return None, UNUSABLE.get(first, first)
