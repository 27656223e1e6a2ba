"""`mrb construct start` and `status` in a shell: counts in, one line for bad input, and nothing lost."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mrb_lib.construct.work import begin, open_work

from ..construct.sources import write_source
from .conftest import Result

Mrb = Callable[..., Result]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_source(tmp_path_factory.mktemp("source") / "hospital")


def test_a_folder_becomes_a_work_folder(mrb: Mrb, source: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    result = mrb("construct", "start", source, work)
    assert result.code == 0, result.err
    assert "start kept 50 of 56 items" in result.out and "2 left out: the image cannot be read" in result.out
    assert "patients were named in DICOM files (PatientID 1, PatientName 1)" in result.err
    before = (work / "items.parquet").read_bytes()

    assert "start is done already" in mrb("construct", "start", source, work).err
    refused = mrb("construct", "start", source, work, "--min-side", 90)
    assert refused.code == 2 and "--again" in refused.err and (work / "items.parquet").read_bytes() == before

    status = mrb("construct", "status", work)
    assert status.code == 0 and "next: mrb construct filter" in status.out
    shown = json.loads(mrb("construct", "status", work, "--json").out)
    assert shown["steps"][0]["state"] == "finished" and shown["counts"][0] == {
        "organ": "chest",
        "items": 26,
        "start": 26,
    }


def test_a_changed_choice_shows_as_stale(mrb: Mrb, source: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    mrb("construct", "start", source, work)
    with begin(open_work(work), "filter", {}, seed=0):
        pass
    mrb("construct", "start", source, work, "--again", "--where", "organ == 'eye'")
    status = mrb("construct", "status", work)
    assert "start was run again since" in status.out and f"next: mrb construct filter {work}" in status.out
    assert "not organ == 'eye'" in status.out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--layout", "nonsense"], "layout 'nonsense' is unknown"),
        (["--kind", "odd"], "--kind odd"),
        (["--map", "missing=question"], "there is no column missing"),
        (["--where", "organ =="], "cannot be read"),
        (["--not-in", "nowhere"], "is not a benchmark"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(
    mrb: Mrb,
    source: Path,
    tmp_path: Path,
    options: list[str],
    message: str,
) -> None:
    result = mrb("construct", "start", source, tmp_path / "work", *options)
    assert result.code == 2 and message in result.err and result.err.count("\n") == 1
    assert not (tmp_path / "work").exists()
