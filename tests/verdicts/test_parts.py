"""A part is what was written, to the last bit, or is named as damaged."""

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mrb_lib.tables.errors import InputError
from mrb_lib.verdicts.parts import DamagedPartError, damaged_parts, move_aside, next_path, read_part, write_part

TABLE = pa.table({"case_id": [str(i) for i in range(30)], "p_a": [i / 30 for i in range(30)], "reply": ["well"] * 30})


@pytest.fixture
def part(tmp_path: Path) -> Path:
    path = tmp_path / "part-00000.parquet"
    write_part(path, TABLE)
    return path


def test_a_part_is_ordinary_parquet_and_reads_back(part: Path) -> None:
    assert read_part(part).equals(TABLE)
    assert pq.read_table(part).equals(TABLE)
    assert read_part(part, ["p_a", "nowhere"]).column_names == ["p_a"]
    assert pd.read_parquet(part)["reply"].tolist() == ["well"] * 30


def test_no_flipped_bit_changes_a_value_unseen(part: Path) -> None:
    content = part.read_bytes()
    for position in range(len(content)):
        damaged = bytearray(content)
        damaged[position] ^= 1 << position % 8
        part.write_bytes(damaged)
        with pytest.raises(DamagedPartError, match=r"part-00000\.parquet"):
            read_part(part, ["case_id"])


def test_a_footer_whose_end_is_lost_does_not_hide_the_digest(part: Path) -> None:
    content = part.read_bytes()
    start = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    # A zero is the end of a structure to a reader of parquet, which would take the file for an empty one.
    part.write_bytes(content[:start] + bytes(64) + content[start + 64 :])
    with pytest.raises(DamagedPartError):
        read_part(part)


def test_damaged_parts_are_renamed_and_kept_byte_by_byte(part: Path, tmp_path: Path) -> None:
    for number in (1, 2):
        write_part(tmp_path / f"part-0000{number}.parquet", TABLE)
    (tmp_path / "damaged-00004.parquet").write_bytes(b"an earlier one")
    broken = part.read_bytes()[:-5] + b"XXXXX"
    for number in (0, 2):
        (tmp_path / f"part-0000{number}.parquet").write_bytes(broken)
    damaged = damaged_parts(tmp_path)
    assert [path.name for path in damaged] == ["part-00000.parquet", "part-00002.parquet"]
    first, second = move_aside(damaged)
    assert first.startswith("part-00000.parquet is damaged")
    assert "damaged-00005.parquet" in first
    assert second.startswith("part-00002.parquet is damaged")
    assert "\n" not in first + second
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "damaged-00004.parquet", "damaged-00005.parquet", "damaged-00006.parquet", "part-00001.parquet",
    ]  # fmt: skip
    assert (tmp_path / "damaged-00005.parquet").read_bytes() == broken
    assert damaged_parts(tmp_path) == {}
    assert next_path(tmp_path, "part").name == "part-00002.parquet"


def test_a_part_that_may_not_be_read_is_not_taken_for_damaged(part: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(InputError, match=r"cannot be read \(Permission denied"):
        damaged_parts(part.parent)
    assert part.is_file()
