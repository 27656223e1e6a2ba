"""Verdicts that failed are made again, and never lost or doubled on the way."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.judges.settings import Settings
from mrb_lib.runs.execute import judge
from mrb_lib.tables.errors import RunError
from mrb_lib.tables.schema import KEYS
from mrb_lib.verdicts import store
from mrb_lib.verdicts.parts import part_paths
from mrb_lib.verdicts.store import load_verdicts, read_run, set_aside

from .scripted import Scripted, Use, comparable, rows_held

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


def test_a_part_that_becomes_empty_is_removed(tmp_path: Path) -> None:
    _fill(tmp_path)
    assert set_aside(tmp_path, np.array([True, True, False, True])) == 3
    assert [path.name for path in part_paths(tmp_path)] == ["part-00001.parquet"]
    assert read_run(tmp_path)["case_id"].tolist() == ["c"]
    assert set_aside(tmp_path, np.array([False])) == 0
    assert len(list(tmp_path.glob("retried-*"))) == 1


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


def _killed_after(steps: int, act: object, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Return whether an action needs more than so many steps that change files; it is stopped after that many."""
    assert callable(act)
    left = steps

    def counted(original: object) -> object:
        def step(*arguments: object, **options: object) -> object:
            nonlocal left
            if left == 0:
                raise _KilledError
            left -= 1
            assert callable(original)
            return original(*arguments, **options)

        return step

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", counted(os.fsync))
        patch.setattr(Path, "replace", counted(Path.replace))
        patch.setattr(Path, "unlink", counted(Path.unlink))
        try:
            act()
        except _KilledError:
            return True
    return False
