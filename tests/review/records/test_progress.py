"""Progress is counted from what was assigned and what was answered, on an example written out by hand."""

from __future__ import annotations

import pandas as pd

from mrb_lib.review.records.exchange import by_annotator, by_dimension, case_states, skipped_cases

DIMENSIONS = ("accuracy", "overall")
ASSIGNED = pd.DataFrame(
    [("c1", "a"), ("c2", "a"), ("c3", "a"), ("c1", "b")], columns=["case_id", "annotator"], dtype="str"
)
ANSWERS = pd.DataFrame(
    [
        ("c1", "a", "accuracy", "A", "", "2026-01-01T10:00:00.000Z"),
        ("c1", "a", "overall", "tie", "", "2026-01-01T10:01:00.000Z"),
        ("c2", "a", "accuracy", "B", "", "2026-01-01T10:02:00.000Z"),
        ("c2", "a", "overall", None, "blurred", "2026-01-01T10:03:00.000Z"),
        ("c3", "a", "accuracy", "B", "", "2026-01-01T10:04:00.000Z"),
        ("c3", "a", "charm", "B", "", "2026-01-01T10:05:00.000Z"),
        ("c9", "b", "accuracy", "A", "", "2026-01-01T10:06:00.000Z"),
    ],
    columns=["case_id", "annotator", "dimension", "choice", "skipped_reason", "created"],
    dtype="str",
)


def test_a_case_is_done_skipped_or_open() -> None:
    states = case_states(ASSIGNED, ANSWERS, DIMENSIONS)
    assert states["state"].tolist() == ["done", "skipped", "open", "open"]
    assert states["answered"].tolist() == [2, 1, 1, 0]
    assert states["n_skipped"].tolist() == [0, 1, 0, 0]


def test_counts_add_up_for_each_annotator() -> None:
    people = by_annotator(case_states(ASSIGNED, ANSWERS, DIMENSIONS)).set_index("annotator")
    assert people.loc["a", ["assigned", "done", "skipped", "open"]].tolist() == [3, 1, 1, 1]
    assert people.loc["b", ["assigned", "done", "skipped", "open"]].tolist() == [1, 0, 0, 1]
    assert people.loc["a", "last"] == "2026-01-01T10:04:00.000Z"
    assert pd.isna(people.loc["b", "last"])


def test_counts_of_each_dimension_are_of_assigned_cases_only() -> None:
    found = by_dimension(ASSIGNED, ANSWERS, DIMENSIONS).set_index("dimension")
    assert found.loc["accuracy"].tolist() == [4, 3, 0]
    assert found.loc["overall"].tolist() == [4, 1, 1]


def test_skipped_cases_are_listed_with_their_reason() -> None:
    found = skipped_cases(ANSWERS, DIMENSIONS)
    assert found.drop(columns="last").to_dict("records") == [
        {"case_id": "c2", "annotator": "a", "dimensions": "overall", "reason": "blurred"}
    ]


def test_nothing_assigned_and_nothing_answered() -> None:
    states = case_states(ASSIGNED.head(0), ANSWERS.head(0), DIMENSIONS)
    assert states.empty
    assert by_annotator(states).empty
    assert by_dimension(ASSIGNED, ANSWERS.head(0), DIMENSIONS)["answered"].tolist() == [0, 0]
    assert skipped_cases(ANSWERS.head(0), DIMENSIONS).empty
