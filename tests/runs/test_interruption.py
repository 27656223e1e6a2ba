"""Tests of what is promised about runs that end before they are done."""

import multiprocessing
import os
import random
import signal
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path

import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.judges.settings import Settings
from mrb_lib.runs.execute import judge
from mrb_lib.runs.interruption import InterruptedRunError, stop_on_signals
from mrb_lib.runs.progress import RunProgress
from mrb_lib.tables.errors import RunError
from mrb_lib.tables.schema import KEYS
from mrb_lib.verdicts.parts import part_paths
from mrb_lib.verdicts.store import load_verdicts, run_folders

from . import scripted
from .scripted import Said, Scripted, Use, comparable, little_benchmark, mixed, rows_held

KEY = list(KEYS["verdicts"])
KILLS = 10
CLEAN = multiprocessing.get_context("forkserver")
"""Processes are copies of one without threads, which imports the libraries once."""
CLEAN.set_forkserver_preload([scripted.__name__])


def start(bench: Benchmark, runs: Path, name: str, batch_size: int) -> BaseProcess:
    """A process that judges, and can be killed."""
    process = CLEAN.Process(target=scripted.judge_alone, args=(bench.path, runs, name, batch_size))
    process.start()
    return process


def kill(process: BaseProcess) -> None:
    process.kill()
    process.join()
    assert process.exitcode == -signal.SIGKILL, "it was killed before it was done"


def parts(runs: Path) -> list[Path]:
    return [part for folder in run_folders(runs) for part in part_paths(folder)] if runs.is_dir() else []


def until_parts(process: BaseProcess, runs: Path, number: int) -> None:
    while len(parts(runs)) < number and process.is_alive():
        process.join(0.002)


@pytest.mark.slow
def test_a_run_killed_ten_times_at_random_holds_the_rows_of_one_go(tmp_path: Path, use: Use) -> None:
    rng, name = random.Random(3), "scripted"
    bench = little_benchmark(tmp_path / "bench", cases=400)
    use(Scripted())
    judge(bench, tmp_path / "whole", [name])
    whole = rows_held(tmp_path / "whole")
    runs, kept = tmp_path / "runs", 0
    for number in range(KILLS):
        process = start(bench, runs, name, rng.randint(1, 7))
        if number % 2:
            until_parts(process, runs, len(parts(runs)) + rng.randint(1, 4))
        else:
            process.join(rng.uniform(0.0, 0.3))
        seen = len(load_verdicts(runs)) if parts(runs) else 0
        kill(process)
        if runs.is_dir():
            held = rows_held(runs)
            assert len(held) >= max(kept, seen), "what was kept stays"
            kept = len(held)
            matching = whole.merge(held[KEY], on=KEY) if kept else held
            pd.testing.assert_frame_equal(held, comparable(matching), check_dtype=kept > 0)
    assert 0 < kept < len(whole)
    judge(bench, runs, [name], settings=Settings(batch_size=50))
    pd.testing.assert_frame_equal(rows_held(runs), whole)


def test_what_a_power_cut_left_half_written_is_cleared(little: Benchmark, tmp_path: Path) -> None:
    [done] = judge(little, tmp_path / "runs", ["first"], limit=3)
    leftovers = [".part-00007.parquet.partial", ".retried-00000.parquet.partial", ".manifest.json.x1y2"]
    for name in leftovers:
        (done.folder / name).write_bytes(b"PAR1 half")
    assert len(load_verdicts(tmp_path / "runs")) == 12
    judge(little, tmp_path / "runs", ["first"])
    assert [path.name for path in done.folder.iterdir() if path.name in leftovers] == []
    assert len(load_verdicts(tmp_path / "runs")) == 160


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_finishes_the_batch_in_flight_and_says_how_to_go_on(
    little: Benchmark, tmp_path: Path, use: Use, number: signal.Signals
) -> None:
    handlers = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    reports: list[RunProgress] = []
    judge_3 = Scripted(say=_signalling("c3", lambda: os.kill(os.getpid(), number)))
    use(judge_3)
    with pytest.raises(InterruptedRunError, match=r"24 of 160 verdicts are kept in .*; run the same command again"):
        judge(little, tmp_path, ["scripted", "first"], settings=Settings(batch_size=3), progress=reports.append)
    assert len(judge_3.batches) == 2, "no further batch was begun, and no further judge"
    assert [folder.name.split("-")[0] for folder in run_folders(tmp_path)] == ["scripted"]
    assert len(load_verdicts(tmp_path)) == 24
    assert (reports[-1].held, reports[-1].finished) == (24, True)
    assert {each: signal.getsignal(each) for each in handlers} == handlers
    judge_3.say = mixed
    [done] = judge(little, tmp_path, ["scripted"])
    assert (done.before, done.made) == (24, 136)


def test_a_second_interrupt_stops_at_once_and_loses_the_batch_in_flight_only(
    little: Benchmark, tmp_path: Path, use: Use
) -> None:
    def twice() -> None:
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGINT)

    scripted = Scripted(say=_signalling("c3", twice))
    use(scripted)
    with pytest.raises(KeyboardInterrupt):
        judge(little, tmp_path, ["scripted"], settings=Settings(batch_size=3))
    assert len(load_verdicts(tmp_path)) == 12
    scripted.say = mixed
    assert judge(little, tmp_path, ["scripted"])[0].before == 12, "the run is free again"


def test_a_signal_that_is_ignored_stays_so() -> None:
    old = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with stop_on_signals() as stop:
            os.kill(os.getpid(), signal.SIGINT)
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        assert not stop.asked
    finally:
        signal.signal(signal.SIGINT, old)


def test_two_processes_on_one_run_refuse_each_other_and_a_killed_one_frees_it(tmp_path: Path) -> None:
    bench, runs = little_benchmark(tmp_path / "bench", cases=400), tmp_path / "runs"
    process = start(bench, runs, "random", 1)
    until_parts(process, runs, 1)
    with pytest.raises(RunError, match="another process is writing this run; wait for it or stop it"):
        judge(bench, runs, ["random"])
    [first] = judge(bench, runs, ["first"])
    assert first.made == 1600, "another run is free"
    kill(process)
    [done] = judge(bench, runs, ["random"])
    assert done.made + done.before == 1600
    assert done.before > 0


def _signalling(case: str, act: Callable[[], None]) -> Callable[[tuple[object, ...]], Said]:
    """Says the usual, and acts once, at the first verdict on a case."""
    done = []

    def say(key: tuple[object, ...]) -> Said:
        if key[0] == case and not done:
            done.append(key)
            act()
        return mixed(key)

    return say
