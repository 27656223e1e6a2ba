"""Verdicts that failed, or whose file is damaged, are made again, and never lost, doubled or missing unsaid."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.judges.settings import Settings
from mrb_lib.runs.execute import judge
from mrb_lib.tables.errors import InputError, RunError
from mrb_lib.tables.schema import KEYS
from mrb_lib.verdicts import store
from mrb_lib.verdicts.parts import part_paths
from mrb_lib.verdicts.store import iter_verdicts, load_verdicts, read_run, set_aside, totals

from .scripted import Said, Scripted, Use, comparable, mixed, rows_held

KEY = list(KEYS["verdicts"])
FAILED = ("unparsed", "refused", "error")
EVERY = Settings(batch_size=7)


def test_only_the_verdicts_of_those_statuses_are_made_again(little: Benchmark, tmp_path: Path, use: Use) -> None:
    scripted = Scripted()
    use(scripted)
    [done] = judge(little, tmp_path, ["scripted"], settings=EVERY)
    before = load_verdicts(tmp_path, replies=True)
    wanted = before["status"].isin(["unparsed", "error"])
    scripted.batches.clear()
    scripted.say = lambda key: {"pick": "tie", "status": "ok", "reply": "now"}
    [again] = judge(little, tmp_path, ["scripted"], settings=EVERY, retry=["unparsed", "error"])
    assert (again.retried, again.made, again.before) == (wanted.sum(), wanted.sum(), 160 - wanted.sum())
    assert scripted.asked == wanted.sum() > 10
    after = load_verdicts(tmp_path, replies=True)
    kept = after.merge(before.loc[~wanted, KEY], on=KEY)
    pd.testing.assert_frame_equal(comparable(kept), comparable(before[~wanted]))
    made = after.merge(before.loc[wanted, KEY], on=KEY)
    assert len(after) == 160
    assert set(made["reply"]) == {"now"}
    old = pq.ParquetFile(done.folder / "retried-00000.parquet").read().to_pandas()
    pd.testing.assert_frame_equal(comparable(old), comparable(before[wanted]), check_dtype=False)


def test_what_fails_again_is_kept_again_and_every_round_has_its_own_file(
    little: Benchmark, tmp_path: Path, use: Use
) -> None:
    use(Scripted())
    [done] = judge(little, tmp_path, ["scripted"])
    whole = rows_held(tmp_path)
    for _ in range(2):
        [again] = judge(little, tmp_path, ["scripted"], retry=FAILED)
        assert again.retried == again.made == whole["status"].isin(FAILED).sum()
    pd.testing.assert_frame_equal(rows_held(tmp_path), whole)
    assert len(list(done.folder.glob("retried-*.parquet"))) == 2


def test_a_smaller_plan_leaves_failed_verdicts_outside_it_alone(little: Benchmark, tmp_path: Path, use: Use) -> None:
    use(Scripted(say=lambda key: {"pick": None, "status": "error"}))
    judge(little, tmp_path, ["scripted"])
    [again] = judge(little, tmp_path, ["scripted"], limit=5, orders=("BA",), retry=["error"])
    assert again.retried == 10
    assert len(load_verdicts(tmp_path)) == 160


def test_killed_at_any_moment_no_verdict_is_lost_or_doubled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = 0
    while True:
        folder = tmp_path / str(steps)
        folder.mkdir()
        _fill(folder)
        chosen = np.array([True, True, True, False])
        if not _killed_after(steps, lambda folder=folder, chosen=chosen: set_aside(folder, chosen), monkeypatch):
            break
        held = read_run(folder)["case_id"].tolist()
        assert len(set(held)) == len(held), "doubled"
        put = [pq.ParquetFile(path).read().to_pandas() for path in folder.glob("retried-*.parquet")]
        assert {*held, *(case for table in put for case in table["case_id"])} == {"a", "b", "c", "d"}, "lost"
        steps += 1
    assert steps >= 5, "there were moments to be killed at"


def test_a_judge_that_cannot_be_loaded_leaves_its_failed_verdicts(little: Benchmark, tmp_path: Path, use: Use) -> None:
    class Broken(Scripted):
        def load(self) -> None:
            raise RunError("no weights")

    use(Scripted())
    judge(little, tmp_path, ["scripted"])
    use(Broken())
    with pytest.raises(RunError, match="no weights"):
        judge(little, tmp_path, ["scripted"], retry=FAILED)
    assert len(load_verdicts(tmp_path)) == 160


def _fill(folder: Path) -> None:
    for cases in ("ab", "cd"):
        rows = {"judge": "j", "case_id": list(cases), "dimension": "overall", "order": "AB", "repeat": 0}
        store.append_part(folder, pd.DataFrame({**rows, "probe": "none", "choice": None, "status": "error"}))


class _KilledError(BaseException):
    pass


def _killed_after(steps: int, act: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> bool:
    """Return whether an action needs more than so many steps that change files; it is stopped after that many."""
    left = iter(range(steps))

    def counted(original: Callable[..., object]) -> Callable[..., object]:
        def step(*arguments: object, **options: object) -> object:
            if next(left, None) is None:
                raise _KilledError
            return original(*arguments, **options)

        return step

    with monkeypatch.context() as patch:
        for owner, name in ((os, "fsync"), (Path, "replace"), (Path, "unlink")):
            patch.setattr(owner, name, counted(getattr(owner, name)))
        try:
            act()
        except _KilledError:
            return True
    return False


DAMAGED = r"part-00001\.parquet: is truncated or damaged"


def flip(part: Path) -> None:
    """Flip a bit in the middle of a file."""
    content = bytearray(part.read_bytes())
    content[len(content) // 2] ^= 16
    part.write_bytes(content)


def test_a_damaged_part_is_named_kept_and_judged_again(little: Benchmark, tmp_path: Path) -> None:
    [done] = judge(little, tmp_path, ["longer"], settings=EVERY)
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
    [again] = judge(little, tmp_path, ["longer"], settings=EVERY)
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
    judge(little, tmp_path, ["longer"], settings=EVERY, limit=9)
    [done] = judge(little, tmp_path, ["longer"], settings=EVERY, limit=20, repeats=2)
    whole = rows_held(tmp_path)
    flip(part_paths(done.folder)[1])
    files = sorted(done.folder.iterdir())
    with pytest.raises(InputError, match=rf"{DAMAGED}.*20 cases, --orders AB,BA --repeats 2 on accuracy, overall"):
        judge(little, tmp_path, ["longer"], settings=EVERY, **{"limit": 20, "repeats": 2, **less})
    assert sorted(done.folder.iterdir()) == files
    with pytest.raises(InputError, match=DAMAGED):
        load_verdicts(tmp_path)
    judge(little, tmp_path, ["longer"], settings=EVERY, limit=20, repeats=2)
    pd.testing.assert_frame_equal(rows_held(tmp_path), whole)


def test_a_damaged_part_stops_readers_until_all_of_it_is_made_again(
    little: Benchmark, tmp_path: Path, use: Use
) -> None:
    scripted = Scripted()
    use(scripted)
    [done] = judge(little, tmp_path, ["scripted"], settings=EVERY)
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
            judge(little, tmp_path, ["scripted"], settings=EVERY)
        with pytest.raises(InputError, match=DAMAGED):
            load_verdicts(tmp_path)
    scripted.say = mixed
    statuses = ["unparsed", "error"]
    [again] = judge(little, tmp_path, ["scripted"], settings=EVERY, retry=statuses)
    assert (again.before, again.made) == (160 - 2 * 28 + 28 - again.retried, 28 + again.retried)
    assert [text.split(" is damaged")[0] for text in again.notices] == ["part-00001.parquet", "part-00002.parquet"]
    pd.testing.assert_frame_equal(rows_held(tmp_path), whole)
