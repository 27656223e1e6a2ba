"""One defect in the texts at a time: that finding, in its row and column, and no other."""

from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from .sound_benchmark import Sound, audit_with, picture, places


def test_a_blank_text(tmp_path: Path) -> None:
    """Whichever text it is, and whatever it consists of."""
    rows = dict(enumerate(product(("question", "response_a", "response_b"), ("", " \n\t", "\u00a0")), start=5))

    def change(b: Sound) -> None:
        for row, (column, blank) in rows.items():
            b.put(column, row, blank)

    findings = audit_with(tmp_path, change)
    assert places(findings) == [("warning", "cases.parquet", row, column) for row, (column, _) in rows.items()]
    assert [finding.case_id for finding in findings] == [f"case-{row:02d}" for row in rows]


def test_identical_responses_whatever_their_case_and_spaces(tmp_path: Path) -> None:
    def change(b: Sound) -> None:
        b.put("response_b", 8, "  " + b.cases["response_a"][7].upper().replace(" ", "\n"))

    assert places(audit_with(tmp_path, change)) == [("warning", "cases.parquet", 8, "response_b")]


def copy_case(b: Sound, *, flip: bool = False, images: str = "same", **changes: str) -> None:
    """Append a copy of case 4 as case 25, annotated like it."""
    row = b.cases.iloc[3].to_dict() | {"case_id": "case-25"}
    if flip:
        row |= {"response_a": row["response_b"], "response_b": row["response_a"]}
    if images != "same":
        row["images"] = ["scan-25.png"]
        b.images["scan-25.png"] = b.images["scan-04.png"] if images == "renamed" else picture(99)
    b.cases = pd.concat([b.cases, pd.DataFrame([row | changes])], ignore_index=True)
    votes = b.annotations[b.annotations["case_id"] == "case-04"].assign(case_id="case-25")
    if flip:
        votes["choice"] = votes["choice"].map({"A": "B", "B": "A"})
    b.annotations = pd.concat([b.annotations, votes], ignore_index=True)


@pytest.mark.parametrize(
    ("how", "is_copy"),
    [({}, True), ({"images": "renamed"}, True), ({"flip": True}, True), ({"images": "other"}, False),
     ({"model_b": "three"}, False)],
    ids=["the same", "another image name", "exchanged responses", "another image", "another responder"],
)  # fmt: skip
def test_a_copied_case_is_found_and_another_case_is_not(tmp_path: Path, how: dict[str, Any], is_copy: bool) -> None:
    def change(b: Sound) -> None:
        if "model_b" in how:
            b.cases["model_a"], b.cases["model_b"] = "one", "two"
        copy_case(b, **how)

    findings = audit_with(tmp_path, change)
    assert places(findings) == [("warning", "cases.parquet", 25, "question")] * is_copy
    assert all("case-04 in row 4" in finding.problem for finding in findings)


DAMAGED = [
    ("a nodule of 3 \ufffdm", "U+FFFD"),
    ("d\u00c3\u00a9bris in the bladder", "Windows-1252"),
    ("the patient\u00e2\u20ac\u2122s lung", "Windows-1252"),
    ("37 \u00c2\u00b0C", "Windows-1252"),
    ("\u00d0\u00bf\u00d1\u20ac\u00d0\u00b8\u00d0\u00b2\u00d0\u00b5\u00d1\u201a", "Windows-1252"),
    ("a lesion\x00 here", "control character"),
    ("\x1b[31mred", "control character"),
    ("\ufeffa lesion", "byte order mark"),
]


@pytest.mark.parametrize("column", ["question", "response_b", "reference"])
def test_damaged_characters(tmp_path: Path, column: str) -> None:
    def change(b: Sound) -> None:
        b.cases["reference"] = "a reference"
        for row, (text, _) in enumerate(DAMAGED, start=6):
            b.put(column, row, f"{b.cases[column][row - 1]} {text}")

    findings = audit_with(tmp_path, change)
    assert places(findings) == [("warning", "cases.parquet", 6 + i, column) for i in range(len(DAMAGED))]
    assert all(what in finding.problem for finding, (_, what) in zip(findings, DAMAGED, strict=True))


def test_other_languages_are_not_damage(tmp_path: Path) -> None:
    texts = (
        "d\u00e9bris, na\u00efve, \u201equoted\u201c, 5 \u00b5m \u00b1 2 \u00b0C, \u00d8 4 mm",
        "\u75be\u60a3\u306e\u753b\u50cf \u4e2d\u6587 \u0440\u0443\u0441\u0441\u043a\u0438\u0439 \u03b1-\u03b2",
        "S\u00c3O PAULO, \u00c2ngulo, CAF\u00c9\u201d, \u00e0 l'\u00e2ge",
        "line\r\nbreaks\tand tabs \U0001fac1",
    )

    def change(b: Sound) -> None:
        for row, text in enumerate(texts, 6):
            b.put("response_a", row, f"{b.cases['response_a'][row - 1]} {text}")

    assert audit_with(tmp_path, change) == []


def test_questions_with_options_of_the_responses_letters_are_warned_of(tmp_path: Path) -> None:
    def change(b: Sound) -> None:
        b.put("question", 3, "Which vessel?\nA) Aorta\nB) Vena cava")
        b.put("question", 9, "Which is it: (A) pus (B) air (C) blood?")

    [found] = audit_with(tmp_path, change)
    assert places([found]) == [("warning", "cases.parquet", 3, "question")]
    assert found.problem.startswith("2 of 24 questions list options")
