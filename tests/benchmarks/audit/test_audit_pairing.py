"""Responses under the wrong question: planted ones are found, real data raises no alarm."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mrb_lib.benchmarks.audit.pairing import pairing_findings
from mrb_lib.benchmarks.audit.vocabulary import word_sets
from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.formats import READERS
from mrb_lib.tables.validation import Finding

from .sound_benchmark import Sound, audit_with, places, sound

RESPONSES = ["response_a", "response_b"]


def displaced(cases: pd.DataFrame) -> list[Finding]:
    words = word_sets(cases)
    assert words is not None
    return pairing_findings(cases, words)


def exchange(cases: pd.DataFrame, pairs: list[tuple[int, int]], columns: list[str]) -> pd.DataFrame:
    """The cases with the texts of each pair of rows (from 1) exchanged."""
    out = cases.copy()
    for i, j in pairs:
        for column in columns:
            values = list(out[column])
            values[i - 1], values[j - 1] = values[j - 1], values[i - 1]
            out[column] = values
    return out


@pytest.mark.parametrize("column", RESPONSES)
def test_one_response_exchanged_with_another_case(tmp_path: Path, column: str) -> None:
    def change(b: Sound) -> None:
        b.cases = exchange(b.cases, [(3, 17)], [column])

    findings = audit_with(tmp_path, change)
    assert places(findings) == [("warning", "cases.parquet", 3, column), ("warning", "cases.parquet", 17, column)]
    assert "case-17 in row 17" in findings[0].problem and "case-03 in row 3" in findings[1].problem


def test_both_responses_exchanged_with_another_case(tmp_path: Path) -> None:
    def change(b: Sound) -> None:
        b.cases = exchange(b.cases, [(3, 17)], RESPONSES)

    assert places(audit_with(tmp_path, change)) == [
        ("warning", "cases.parquet", 3, "question"),
        ("warning", "cases.parquet", 17, "question"),
    ]


def test_a_rotation_of_three_cases(tmp_path: Path) -> None:
    def change(b: Sound) -> None:
        b.cases = exchange(exchange(b.cases, [(3, 17)], RESPONSES), [(17, 9)], RESPONSES)

    assert [finding.row for finding in audit_with(tmp_path, change)] == [3, 9, 17]


def test_a_shift_is_one_finding_at_its_first_row(tmp_path: Path) -> None:
    def change(b: Sound) -> None:
        for column in RESPONSES:
            values = list(b.cases[column])
            b.cases[column] = [*values[:5], *values[6:], values[5]]

    shift, wrapped = audit_with(tmp_path, change)
    assert places([shift]) == [("warning", "cases.parquet", 6, "question")]
    assert "at least 18 cases fit the question 1 row below" in shift.problem
    assert wrapped.row == 24 and "row 6" in wrapped.problem


def test_the_same_answer_under_two_questions_is_a_remark(tmp_path: Path) -> None:
    def change(b: Sound) -> None:
        for row in (4, 11):
            b.put("response_b", row, "I am sorry, but this image cannot be interpreted without the clinical history.")

    assert places(audit_with(tmp_path, change)) == [("info", "cases.parquet", 11, "response_b")]


def test_short_stock_answers_are_no_remark(tmp_path: Path) -> None:
    def change(b: Sound) -> None:
        for row in (4, 11):
            b.put("response_b", row, "Not visible.")

    assert audit_with(tmp_path, change) == []


def test_one_case_has_nothing_to_be_exchanged_with() -> None:
    assert displaced(sound().cases.iloc[:1].reset_index(drop=True)) == []


def test_texts_without_words_give_nothing() -> None:
    cases = sound().cases
    for column in ("question", *RESPONSES):
        cases[column] = [f"{i} ?" for i in range(len(cases))]
    assert word_sets(cases) is None


def imported(reference_data: Path, name: str, folder: str) -> Benchmark:
    return READERS[name].convert(reference_data / folder).benchmark


SOURCES = [
    ("pandalm", "pandalm"),
    ("llmfao", "llmfao"),
    ("kqa", "kqa"),
    ("llmbar", "llmbar_casestudy"),
    ("judgebench", "judgebench_pairs"),
]


@pytest.mark.parametrize(("name", "folder"), SOURCES)
def test_published_data_raises_no_alarm(reference_data: Path, name: str, folder: str) -> None:
    findings = displaced(imported(reference_data, name, folder).cases)
    assert [finding for finding in findings if finding.severity != "info"] == []


@pytest.mark.parametrize(("columns", "least"), [(["response_a"], 0.8), (RESPONSES, 0.6)])
def test_exchanges_planted_in_published_data_are_mostly_recovered(
    reference_data: Path, columns: list[str], least: float
) -> None:
    cases = imported(reference_data, "judgebench", "judgebench_pairs").cases
    cases = cases.drop_duplicates("question").reset_index(drop=True)
    rows = np.random.default_rng(0).permutation(len(cases))[:40] + 1
    pairs = [(int(i), int(j)) for i, j in rows.reshape(-1, 2)]
    alarms = {f.row for f in displaced(exchange(cases, pairs, columns)) if f.severity == "warning"}
    planted = {row for pair in pairs for row in pair}
    assert alarms <= planted
    assert len(alarms) >= least * len(planted)
