"""One leak of the gold label at a time; and innocent look-alikes."""

from pathlib import Path

import pytest

from .sound_benchmark import Sound, audit_with, places


def gold_of(b: Sound) -> list[str]:
    votes = b.annotations[(b.annotations["annotator"] == "anna") & (b.annotations["dimension"] == "overall")]
    return list(votes["choice"])


@pytest.mark.parametrize(
    ("column", "spelling", "n_leaks"),
    [("reference", "{}", 1), ("modality", "[[{}]]", 1), ("question_type", "response_{}", 1), ("note", "{}", 0)],
)
def test_a_column_that_spells_the_label_to_judges(tmp_path: Path, column: str, spelling: str, n_leaks: int) -> None:
    def change(b: Sound) -> None:
        b.cases[column] = [spelling.format(label) for label in gold_of(b)]

    assert places(audit_with(tmp_path, change)) == [("warning", "cases.parquet", 1, column)] * n_leaks


def test_a_column_that_mostly_agrees_is_no_leak(tmp_path: Path) -> None:
    def change(b: Sound) -> None:
        b.cases["reference"] = [*gold_of(b)[:-1], "tie"]

    assert audit_with(tmp_path, change) == []


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
