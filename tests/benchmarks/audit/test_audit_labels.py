"""One defect in annotations, subfields or clusters at a time: that finding and no other."""

from pathlib import Path

import numpy as np
import pandas as pd

from mrb_lib.benchmarks.audit.labels import annotation_findings, cluster_findings

from .sound_benchmark import Sound, audit_with, places


def drop(b: Sound, **where: str) -> None:
    mask = np.logical_and.reduce([b.annotations[name] == value for name, value in where.items()])
    b.annotations = b.annotations[~mask].reset_index(drop=True)


def test_a_missing_rater(tmp_path: Path) -> None:
    findings = audit_with(tmp_path, lambda b: drop(b, case_id="case-05", annotator="ben", dimension="overall"))
    assert places(findings) == [("warning", "annotations.parquet", 25, "annotator")]
    assert findings[0].problem == "2 of 3 annotators on overall"
    assert findings[0].case_id == "case-05"


def test_a_case_without_any_annotation(tmp_path: Path) -> None:
    findings = audit_with(tmp_path, lambda b: drop(b, case_id="case-05"))
    assert places(findings) == [("warning", "cases.parquet", 5, "case_id")]


def test_no_annotations_at_all_is_a_remark(tmp_path: Path) -> None:
    def change(b: Sound) -> None:
        b.annotations = b.annotations.iloc[:0]

    assert places(audit_with(tmp_path, change)) == [("info", "annotations.parquet", None, None)]


def pool(sizes: list[int]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Cases labelled by the next annotators of a pool of ten, as many as `sizes` says."""
    cases = pd.DataFrame({"case_id": [f"c{i}" for i in range(len(sizes))]})
    rows = [(f"c{i}", f"r{(3 * i + k) % 10}", "overall", "A") for i, n in enumerate(sizes) for k in range(n)]
    return cases, pd.DataFrame(rows, columns=["case_id", "annotator", "dimension", "choice"])


def test_a_pool_of_annotators_is_judged_by_their_number() -> None:
    assert annotation_findings(*pool([3] * 40), ("overall",)) == []
    (finding,) = annotation_findings(*pool([3] * 39 + [2]), ("overall",))
    assert places([finding]) == [("warning", "annotations.parquet", 118, "annotator")]
    assert finding.problem == "2 of 3 annotators on overall"


def test_varying_numbers_of_annotators_are_a_remark() -> None:
    (finding,) = annotation_findings(*pool([1, 2, 3, 4] * 10), ("overall",))
    assert finding.severity == "info"
    assert "1 in 10, 2 in 10, 3 in 10, 4 in 10" in finding.problem


UNKNOWN = {
    ("organ", "Lungs"): "write lung", ("organ", "knee"): "keep it", ("department", "cardiology"): "write Cardiology",
    ("department", "Radiologie"): "keep it", ("department", "Urology"): "keep it",
}  # fmt: skip


def test_each_unknown_subfield_is_one_finding_with_the_name_to_write(tmp_path: Path) -> None:
    def change(b: Sound) -> None:
        for row, (column, value) in enumerate(UNKNOWN, start=10):
            b.put(column, row, value)
        b.put("organ", 20, "knee")

    findings = audit_with(tmp_path, change)
    assert [each.row for each in findings] == [10, 11, 12, 13, 14]
    for finding, cure in zip(findings, UNKNOWN.values(), strict=True):
        assert finding.cure.startswith(cure)
    assert "(2 cases)" in findings[1].problem


def test_an_id_that_repeats_suggests_a_cluster() -> None:
    cases = pd.DataFrame({"question": ["one", "two", "three"], "patient_id": [7, 7, 8]})
    (finding,) = cluster_findings(cases)
    assert finding.column == "patient_id"
    merged = cases.rename(columns={"patient_id": "original_id"}).assign(benchmark=["x", "y", "y"])
    assert cluster_findings(merged) == []
    assert cluster_findings(cases.assign(cluster=["x", "y", "x"])) == []
