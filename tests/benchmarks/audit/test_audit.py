"""The audit as a whole: silent on sound data, and collecting what is structurally wrong."""

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mrb_lib.benchmarks.audit.folder import audit
from mrb_lib.benchmarks.benchmark import load, save
from mrb_lib.benchmarks.formats import READERS
from mrb_lib.replies.labels import lists_options
from mrb_lib.tables.errors import InputError

from .sound_benchmark import Sound, audit_with, places, sound


def test_sound_data_gives_no_finding_and_progress_counts_the_images(tmp_path: Path) -> None:
    folder, steps = sound().write(tmp_path / "bench"), list[tuple[str, int, int]]()
    load(folder)
    assert audit(folder, progress=lambda *step: steps.append(step)) == []
    assert steps == [("images", i, 24) for i in range(1, 25)]


def test_a_folder_that_is_not_there_is_a_wrong_argument(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        audit(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("file", "content", "problem"),
    [
        ("benchmark.toml", None, "missing"),
        ("benchmark.toml", b"name = ", "not valid TOML"),
        ("cases.parquet", None, "missing"),
        ("cases.parquet", b"", "empty"),
        ("cases.parquet", b"PAR1 and no more", "not a parquet file"),
        ("annotations.parquet", None, "missing"),
        ("annotations.parquet", b"", "empty"),
    ],
)
def test_a_damaged_file_is_a_finding_with_a_cure(
    tmp_path: Path, file: str, content: bytes | None, problem: str
) -> None:
    folder = sound().write(tmp_path / "bench")
    if content is None:
        (folder / file).unlink()
    else:
        (folder / file).write_bytes(content)
    (finding,) = audit(folder)
    assert (finding.severity, finding.file, finding.row) == ("error", file, None)
    assert problem in finding.problem
    assert len(finding.cure) > 5
    assert str(tmp_path) not in str(finding)


def test_bytes_that_are_not_utf8_are_an_error_of_their_table(tmp_path: Path) -> None:
    folder = sound().write(tmp_path / "bench")
    table = pq.read_table(folder / "cases.parquet")
    raw = [text.encode() for text in table.column("response_a").to_pylist()]
    raw[4] += b" \xed\xa0\x80"  # a lone surrogate, which UTF-8 does not allow
    bad = pa.Array.from_buffers(pa.string(), len(raw), pa.array(raw, pa.binary()).buffers())
    index = table.schema.get_field_index("response_a")
    pq.write_table(table.set_column(index, "response_a", bad), folder / "cases.parquet")
    (finding,) = audit(folder)
    assert (finding.severity, finding.file) == ("error", "cases.parquet")
    assert "Invalid UTF8" in finding.problem and "string index 4" in finding.problem


def test_what_is_damaged_comes_before_what_is_wrong_in_it(tmp_path: Path) -> None:
    """Both tables are read, whatever is wrong with one; images are looked at once they are sound."""
    folder = sound().write(tmp_path / "bench")
    whole = (folder / "annotations.parquet").read_bytes()
    (folder / "annotations.parquet").write_bytes(whole[: len(whole) // 2])
    (folder / "images" / "scan-03.png").unlink()
    cases = pd.read_parquet(folder / "cases.parquet")
    cases.assign(response_a=[None, *cases["response_a"][1:]]).to_parquet(folder / "cases.parquet")
    assert places(audit(folder)) == [
        ("error", "annotations.parquet", None, None),
        ("error", "cases.parquet", 1, "response_a"),
    ]
    (folder / "annotations.parquet").write_bytes(whole)
    cases.to_parquet(folder / "cases.parquet")
    assert places(audit(folder)) == [("error", "cases.parquet", 3, "images")]


def test_an_annotation_of_an_unknown_case_is_listed(tmp_path: Path) -> None:
    def change(b: Sound) -> None:
        extra = pd.DataFrame([("case-99", "anna", "overall", "A")], columns=b.annotations.columns)
        b.annotations = pd.concat([b.annotations, extra])

    (finding,) = audit_with(tmp_path, change)
    assert places([finding]) == [("error", "annotations.parquet", 24 * 6 + 1, "case_id")]


def test_a_table_without_rows_is_an_error(tmp_path: Path) -> None:
    def change(b: Sound) -> None:
        b.cases, b.annotations = b.cases.iloc[:0], b.annotations.iloc[:0]

    assert places(audit_with(tmp_path, change)) == [("error", "cases.parquet", None, None)]


def test_a_name_that_leaves_the_folder_is_an_error_and_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / "secret.png").write_bytes(b"not an image")
    findings = audit_with(tmp_path, lambda b: b.put("images", 2, ["../../secret.png", "scan-02.png"]))
    assert places(findings) == [("error", "cases.parquet", 2, "images")]
    assert "leads out" in findings[0].problem


def test_errors_come_before_warnings_before_infos(tmp_path: Path) -> None:
    def change(b: Sound) -> None:
        b.put("response_a", 3, " ")
        b.cases["question_id"] = ["q1", *(f"q{i}" for i in range(1, 24))]
        b.images["scan-09.png"] = b""

    severities = [finding.severity for finding in audit_with(tmp_path, change)]
    assert severities == ["error", "warning", "info"]


def test_published_data_gives_no_error_and_only_warnings_that_are_so(reference_data: Path, tmp_path: Path) -> None:
    imported = READERS["pandalm"].convert(reference_data / "pandalm")
    save(imported.benchmark, tmp_path)
    cases = imported.benchmark.cases
    warned = [finding for finding in audit(tmp_path) if finding.severity != "info"]
    for finding in warned:
        assert finding.severity == "warning" and finding.row is not None
        row = cases.iloc[finding.row - 1]
        if "blank" in finding.problem:
            assert row[finding.column].strip() == ""
        elif "same text" in finding.problem:
            assert row["response_a"].split() == row["response_b"].split()
        elif "options by letter" in finding.problem:
            assert lists_options(row["question"])
        else:
            assert "control character" in finding.problem and not row[finding.column].isprintable()
    assert len(warned) == 55
