"""A changed table is noticed: a flipped bit at every opening, an edit until it is accepted."""

import logging
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mrb_lib.benchmarks.audit.folder import audit
from mrb_lib.benchmarks.benchmark import load, save
from mrb_lib.benchmarks.splits import split, write_split
from mrb_lib.benchmarks.table_digests import SUMS, record_digests
from mrb_lib.tables.errors import InputError

from .near_copies import bench


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save(bench([{} for _ in range(40)]), tmp_path / "b")
    return tmp_path / "b"


def test_every_flipped_bit_is_noticed(folder: Path) -> None:
    rng = np.random.default_rng(5)
    whole = (folder / "cases.parquet").read_bytes()
    for place in rng.integers(0, len(whole), 40):
        spoilt = bytearray(whole)
        spoilt[place] ^= 1 << int(rng.integers(8))
        (folder / "cases.parquet").write_bytes(spoilt)
        with pytest.raises(InputError, match=r"cases\.parquet"):
            load(folder)
        assert any(finding.severity == "error" for finding in audit(folder) if finding.file == "cases.parquet")
    (folder / "cases.parquet").write_bytes(whole)
    load(folder)


def test_an_edit_is_said_until_it_is_accepted(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    cases = pd.read_parquet(folder / "cases.parquet")
    cases.assign(organ="eye").to_parquet(folder / "cases.parquet")
    with caplog.at_level(logging.WARNING):
        assert load(folder).cases["organ"].eq("eye").all()
    assert f"run `mrb check {folder} --accept` if you changed it on purpose" in caplog.text
    assert any("was rewritten by another program" in finding.problem for finding in audit(folder))
    record_digests(folder)
    caplog.clear()
    load(folder)
    assert not caplog.records


def test_a_split_records_its_own_change(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    before = (folder / SUMS).read_text()
    write_split(split(load(folder)).benchmark)
    assert (folder / SUMS).read_text() != before
    load(folder)
    assert not caplog.records


def test_a_benchmark_without_a_record_opens(folder: Path) -> None:
    (folder / SUMS).unlink()
    load(folder)
    (folder / SUMS).write_text("nonsense")
    with pytest.raises(InputError, match="SHA256SUMS: is damaged"):
        load(folder)
    assert [finding.file for finding in audit(folder) if finding.severity == "error"] == [SUMS]
    record_digests(folder)
    load(folder)
