"""A damaged part is named by whoever reads it, and judged again by `mrb judge`; rows never go missing unsaid."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from mrb_lib.data.benchmark import Benchmark
from mrb_lib.errors import InputError
from mrb_lib.judges.settings import Settings
from mrb_lib.runs.execute import judge
from mrb_lib.verdicts.parts import part_paths
from mrb_lib.verdicts.run_totals import totals
from mrb_lib.verdicts.store import iter_verdicts, load_verdicts

from .scripted import comparable

BATCHES = Settings(batch_size=7)


def flip(part: Path) -> None:
    """Flip a bit in the middle of a file."""
    content = bytearray(part.read_bytes())
    content[len(content) // 2] ^= 16
    part.write_bytes(content)


def test_a_damaged_part_is_named_kept_and_judged_again(little: Benchmark, tmp_path: Path) -> None:
    [done] = judge(little, tmp_path, ["longer"], settings=BATCHES)
    whole = comparable(load_verdicts(tmp_path, replies=True))
    assert len(part_paths(done.folder)) > 2
    lost = len(pd.read_parquet(part_paths(done.folder)[1]))
    flip(part_paths(done.folder)[1])
    for read in (
        lambda: load_verdicts(tmp_path),
        lambda: list(iter_verdicts(tmp_path, little.cases, ["judge", "case_id"])),
        lambda: totals(done.folder),
    ):
        with pytest.raises(InputError, match=r"part-00001\.parquet: is truncated or damaged .*mrb judge"):
            read()
    [again] = judge(little, tmp_path, ["longer"], settings=BATCHES)
    assert (again.made, again.before) == (lost, len(whole) - lost)
    [notice] = [text for text in again.notices if "damaged" in text]
    assert "part-00001.parquet" in notice
    assert (done.folder / "damaged-00000.parquet").is_file()
    pd.testing.assert_frame_equal(comparable(load_verdicts(tmp_path, replies=True)), whole)


def test_a_jury_judges_its_damaged_part_again_and_names_that_of_a_member(little: Benchmark, tmp_path: Path) -> None:
    jury = "consensus-of:longer,shorter,first"
    for _ in range(2):
        *_, counted = judge(little, tmp_path, ["longer", "shorter", "first", jury])
    whole = comparable(load_verdicts(tmp_path, replies=True))
    flip(part_paths(counted.folder)[0])
    [again] = judge(little, tmp_path, [jury])
    assert again.made == again.made + again.before == 160
    assert sum("damaged-00000.parquet" in text for text in again.notices) == 1
    pd.testing.assert_frame_equal(comparable(load_verdicts(tmp_path, replies=True)), whole)
    member = next(path for path in tmp_path.iterdir() if path.name.startswith("longer"))
    flip(part_paths(member)[0])
    with pytest.raises(InputError, match=rf"{member.name}/part-00000\.parquet: is truncated or damaged"):
        judge(little, tmp_path, [jury])
