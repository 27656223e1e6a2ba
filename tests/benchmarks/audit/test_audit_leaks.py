"""One leak of the gold label at a time; and innocent look-alikes."""

from __future__ import annotations

from pathlib import Path

import pytest

from .sound_benchmark import Sound, audit_with, places


def gold_of(b: Sound) -> list[str]:
    votes = b.annotations[(b.annotations["annotator"] == "anna") & (b.annotations["dimension"] == "overall")]
    return list(votes["choice"])


@pytest.mark.parametrize(
    "phrase",
    [
        "Assistant A is better.",
        "assistant B's answer is clearly better",
        "The correct answer is response A.",
        "Overall the better one is Response B.",
        '{"human_answer": "B"}',
        "gold: B",
        "Gold label = A",
        "winner: tie",
        "My final verdict is [[A]]",
    ],
)
def test_a_phrase_that_names_the_label(tmp_path: Path, phrase: str) -> None:
    """In any text, here of three cases."""
    rows = {"question": 6, "response_a": 7, "response_b": 8}

    def change(b: Sound) -> None:
        for column, row in rows.items():
            b.put(column, row, f"{b.cases[column][row - 1]} {phrase}")

    findings = audit_with(tmp_path, change)
    assert places(findings) == [("warning", "cases.parquet", row, column) for column, row in rows.items()]
    assert [finding.case_id for finding in findings] == ["case-06", "case-07", "case-08"]


def test_medicine_and_multiple_choice_are_no_leak(tmp_path: Path) -> None:
    innocent = (
        "The correct answer is B.",
        "Answer A is better supported; option B is worse.",
        "consistent with hepatitis B; vitamin A is better absorbed with fat",
        "the gold standard: A biopsy",
        "The label: a small metal marker",
        "a better response is expected",
        "type A is preferred",
        "The response is better than expected",
    )

    def change(b: Sound) -> None:
        for row, phrase in enumerate(innocent, 6):
            b.put("response_a", row, f"{b.cases['response_a'][row - 1]} {phrase}")

    assert audit_with(tmp_path, change) == []


@pytest.mark.parametrize("spelling", ["{}", "response_{}", "[[{}]]"])
def test_a_column_that_spells_the_label(tmp_path: Path, spelling: str) -> None:
    def change(b: Sound) -> None:
        b.cases["answer_key"] = [spelling.format(label) for label in gold_of(b)]

    findings = audit_with(tmp_path, change)
    assert places(findings) == [("warning", "cases.parquet", 1, "answer_key")]


def test_a_column_that_encodes_the_label(tmp_path: Path) -> None:
    def change(b: Sound) -> None:
        b.cases["code"] = [{"A": 1, "B": 2}[label] for label in gold_of(b)]

    assert places(audit_with(tmp_path, change)) == [("warning", "cases.parquet", 1, "code")]


def test_a_column_that_mostly_agrees_is_no_leak(tmp_path: Path) -> None:
    def change(b: Sound) -> None:
        b.cases["guess"] = [*gold_of(b)[:-1], "tie"]

    assert audit_with(tmp_path, change) == []


def call(b: Sound, names: dict[int, str]) -> None:
    """Give the images of some rows other names."""
    for row, name in names.items():
        b.put("images", row, [name])
        b.images[name] = b.images.pop(f"scan-{row:02d}.png")


def test_a_file_name_that_spells_the_label(tmp_path: Path) -> None:
    names = {5: "gold_A.png", 6: "case5-winner-b.png", 7: "label-tie_3.png", 8: "better_response_a.png"}
    findings = audit_with(tmp_path, lambda b: call(b, names))
    assert places(findings) == [("warning", "cases.parquet", row, "images") for row in names]


def test_an_ordinary_file_name_is_no_leak(tmp_path: Path) -> None:
    names = {5: "label_abdomen.png", 6: "golden-apple.png", 7: "scan_a.png", 8: "5-b.png"}
    assert audit_with(tmp_path, lambda b: call(b, names)) == []


def test_gold_on_one_side_is_reported_with_its_p_value(tmp_path: Path) -> None:
    def change(b: Sound) -> None:
        overall = b.annotations["dimension"] == "overall"
        b.annotations.loc[overall & (b.annotations["case_id"] > "case-02"), "choice"] = "B"
        b.annotations.loc[overall & (b.annotations["case_id"] <= "case-02"), "choice"] = "A"

    (finding,) = audit_with(tmp_path, change)
    assert places([finding]) == [("warning", "annotations.parquet", None, "choice")]
    # 2 * sum(comb(24, k) for k in range(3)) / 2**24
    assert "22 of 24" in finding.problem and "p = 3.6e-05" in finding.problem


def test_gold_a_little_on_one_side_is_not_reported(tmp_path: Path) -> None:
    def change(b: Sound) -> None:
        b.annotations.loc[b.annotations["case_id"] <= "case-16", "choice"] = "A"
        b.annotations.loc[b.annotations["case_id"] > "case-16", "choice"] = "B"

    assert audit_with(tmp_path, change) == []
