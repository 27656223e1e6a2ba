"""A damaged part is named by whoever reads it, and judged again by `mrb judge`; rows never go missing unsaid."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.judges.settings import Settings
from mrb_lib.runs.execute import judge
from mrb_lib.tables.errors import InputError, RunError
from mrb_lib.verdicts.parts import part_paths
from mrb_lib.verdicts.store import iter_verdicts, load_verdicts, totals

from .scripted import Said, Scripted, Use, mixed, rows_held

BATCHES = Settings(batch_size=7)
DAMAGED = r"part-00001\.parquet: is truncated or damaged"


def flip(part: Path) -> None:
    """Flip a bit in the middle of a file."""
    content = bytearray(part.read_bytes())
    content[len(content) // 2] ^= 16
    part.write_bytes(content)


def test_a_damaged_part_is_named_kept_and_judged_again(little: Benchmark, tmp_path: Path) -> None:
    [done] = judge(little, tmp_path, ["longer"], settings=BATCHES)
    whole = rows_held(tmp_path)
    assert len(part_paths(done.folder)) > 2
    lost = len(pd.read_parquet(part_paths(done.folder)[1]))
    flip(part_paths(done.folder)[1])
    for read in (
        lambda: load_verdicts(tmp_path),
        lambda: list(iter_verdicts(tmp_path, little.cases, ["judge", "case_id"])),
        lambda: totals(done.folder),
    ):
        with pytest.raises(InputError, match=rf"{DAMAGED} .*mrb judge"):
            read()
    [again] = judge(little, tmp_path, ["longer"], settings=BATCHES)
    assert (again.made, again.before) == (lost, len(whole) - lost)
    [notice] = [text for text in again.notices if "damaged" in text]
    assert "part-00001.parquet" in notice
    assert (done.folder / "damaged-00000.parquet").is_file()
    pd.testing.assert_frame_equal(rows_held(tmp_path), whole)


def test_a_jury_judges_its_damaged_part_again_and_names_that_of_a_member(little: Benchmark, tmp_path: Path) -> None:
    jury = "consensus-of:longer,shorter,first"
    for _ in range(2):
        *_, counted = judge(little, tmp_path, ["longer", "shorter", "first", jury])
    whole = rows_held(tmp_path)
    flip(part_paths(counted.folder)[0])
    [again] = judge(little, tmp_path, [jury])
    assert again.made == again.made + again.before == 160
    assert sum("damaged-00000.parquet" in text for text in again.notices) == 1
    pd.testing.assert_frame_equal(rows_held(tmp_path), whole)
    member = next(path for path in tmp_path.iterdir() if path.name.startswith("longer"))
    flip(part_paths(member)[0])
    with pytest.raises(InputError, match=rf"{member.name}/part-00000\.parquet: is truncated or damaged"):
        judge(little, tmp_path, [jury])


@pytest.mark.parametrize("less", [{"limit": 2}, {"orders": ("AB",)}, {"repeats": 1}])
def test_what_asks_for_less_than_the_run_is_refused_and_told_what_to_ask_for(
    little: Benchmark, tmp_path: Path, less: dict[str, Any]
) -> None:
    judge(little, tmp_path, ["longer"], settings=BATCHES, limit=9)
    [done] = judge(little, tmp_path, ["longer"], settings=BATCHES, limit=20, repeats=2)
    whole = rows_held(tmp_path)
    flip(part_paths(done.folder)[1])
    files = sorted(done.folder.iterdir())
    with pytest.raises(InputError, match=rf"{DAMAGED}.*20 cases, --orders AB,BA --repeats 2 on accuracy, overall"):
        judge(little, tmp_path, ["longer"], settings=BATCHES, **{"limit": 20, "repeats": 2, **less})
    assert sorted(done.folder.iterdir()) == files
    with pytest.raises(InputError, match=DAMAGED):
        load_verdicts(tmp_path)
    judge(little, tmp_path, ["longer"], settings=BATCHES, limit=20, repeats=2)
    pd.testing.assert_frame_equal(rows_held(tmp_path), whole)


def test_a_damaged_part_stops_readers_until_all_of_it_is_made_again(
    little: Benchmark, tmp_path: Path, use: Use
) -> None:
    scripted = Scripted()
    use(scripted)
    [done] = judge(little, tmp_path, ["scripted"], settings=BATCHES)
    whole = rows_held(tmp_path)
    for path in part_paths(done.folder)[1:3]:
        flip(path)

    def lost(key: tuple[object, ...]) -> Said:
        if scripted.asked > 160 + 28:
            raise RunError("the server is gone")
        return mixed(key)

    scripted.say = lost
    for _ in range(2):
        with pytest.raises(RunError, match="the server is gone"):
            judge(little, tmp_path, ["scripted"], settings=BATCHES)
        with pytest.raises(InputError, match=DAMAGED):
            load_verdicts(tmp_path)
    scripted.say = mixed
    statuses = ["unparsed", "error"]
    [again] = judge(little, tmp_path, ["scripted"], settings=BATCHES, retry=statuses)
    assert (again.before, again.made) == (160 - 2 * 28 + 28 - again.retried, 28 + again.retried)
    assert [text.split(" is damaged")[0] for text in again.notices] == ["part-00001.parquet", "part-00002.parquet"]
    pd.testing.assert_frame_equal(rows_held(tmp_path), whole)
