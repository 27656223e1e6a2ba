"""The PandaLM importer against the counts the authors published."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from mrb_lib.benchmarks.formats.pandalm import read
from mrb_lib.benchmarks.votes import gold
from mrb_lib.tables.errors import InputError


@pytest.fixture(scope="module")
def folder(reference_data: Path) -> Path:
    return reference_data / "pandalm"


def test_published_label_counts(folder: Path) -> None:
    """README: 999 pairs; majority labels tie 105, first 422, second 472; no three-way split."""
    benchmark = read(folder).benchmark
    label = gold(benchmark)
    assert len(benchmark.cases) == 999
    assert len(benchmark.annotations) == 999 * 3
    assert label["choice"].value_counts().to_dict() == {"B": 472, "A": 422, "tie": 105}
    assert benchmark.meta.categories == ("A", "tie", "B")


def test_published_verdict_counts(folder: Path) -> None:
    imported = read(folder)
    verdicts = imported.verdicts
    counts = verdicts.groupby("judge")["choice"].value_counts(dropna=False)
    raw = [json.loads((folder / f"{judge}-testset-v1.json").read_text()) for judge in ("gpt-3.5-turbo", "pandalm-7b")]
    first = [
        sum(str(row[key]) == "1" for row in rows)
        for rows, key in zip(raw, ("gpt_result", "pandalm_result"), strict=True)
    ]
    assert [counts["gpt-3.5-turbo", "A"], counts["pandalm-7b", "A"]] == first
    unparsed = verdicts[verdicts["status"] == "unparsed"]
    assert (unparsed["judge"] == "gpt-3.5-turbo").all()
    assert len(unparsed) == 25
    assert unparsed["choice"].isna().all()
    assert unparsed["reply"].notna().all()
    assert any("25 verdicts are unparsed" in str(finding) for finding in imported.findings)


def test_boolean_responses_are_their_text(folder: Path) -> None:
    imported = read(folder)
    assert (imported.benchmark.cases[["response_a", "response_b"]] == "True").to_numpy().sum() >= 6
    assert any("6 responses are JSON booleans" in str(finding) for finding in imported.findings)


def test_a_missing_judge_is_a_finding(folder: Path, tmp_path: Path) -> None:
    shutil.copy(folder / "testset-v1.json", tmp_path)
    imported = read(tmp_path)
    assert imported.verdicts.empty
    assert len([finding for finding in imported.findings if "no verdicts of" in finding.problem]) == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"annotator2": "1"}, r"row 1, column annotator2: \"1\" is not a known value; use one of 1, 2, 0"),
        ({"annotator2": True}, "row 1, column annotator2"),
        ({"response1": None}, "row 1, column response1: null where text belongs"),
        ({"cmp_key": "one"}, "row 1, column cmp_key"),
        ({"idx": None}, "row 1, column idx"),
    ],
)
def test_wrong_values_name_row_and_column(tmp_path: Path, change: dict[str, object], message: str) -> None:
    row = {"idx": 0, "motivation_app": "m", "cmp_key": "x_y", "instruction": "i", "input": "", "response1": "r",
           "response2": "s", "annotator1": 1, "annotator2": 1, "annotator3": 0}  # fmt: skip
    (tmp_path / "testset-v1.json").write_text(json.dumps([row | change]))
    with pytest.raises(InputError, match=message):
        read(tmp_path)


def test_a_verdict_on_an_unknown_case_is_refused(tmp_path: Path, folder: Path) -> None:
    shutil.copy(folder / "testset-v1.json", tmp_path)
    row = {"idx": 5000, "pandalm_result": 1, "pandalm_reason": "", "pandalm_reference": ""}
    (tmp_path / "pandalm-7b-testset-v1.json").write_text(json.dumps([row]))
    with pytest.raises(InputError, match="5000"):
        read(tmp_path)


@pytest.mark.parametrize("content", ["", "{}", "[1]", "[", '[{"idx": 0, "idx": 1}]', "\xff"])
def test_other_json_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "testset-v1.json").write_bytes(content.encode("latin-1"))
    with pytest.raises(InputError, match=r"testset-v1\.json"):
        read(tmp_path)
