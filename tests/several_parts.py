"""Runs of several parts, as judges leave them, so that no test opens runs of one part alone."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from math import ceil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import load
from mrb_lib.demo.build import write_demo
from mrb_lib.judges.settings import Settings
from mrb_lib.runs.execute import judge
from mrb_lib.runs.plan import Plan
from mrb_lib.runs.progress import RunProgress
from mrb_lib.verdicts import merge, store
from mrb_lib.verdicts.parts import part_paths
from mrb_lib.verdicts.protocol import PromptlessJudge
from mrb_lib.verdicts.store import run_folders

CASES_PER_PART, PARTS = 5, 3
KINDS = ("several parts", "several processes", "resumed")
"""How runs come to have several parts, see `write_kinds`."""
JUDGES = ("longer", "random")


@contextmanager
def several_parts() -> Iterator[None]:
    """Let imported runs, and runs of judges without weights, have three parts."""
    # `merge` takes `append_part` by name, so that it has to be imported before the patch, and has the usual one.
    append_part, batches, usual = merge.append_part, Plan.batches, PromptlessJudge.cases_per_batch

    def append_parts(folder: Path, verdicts: pd.DataFrame) -> Path:
        rows = np.array_split(np.arange(len(verdicts)), min(PARTS, max(len(verdicts), 1)))
        return [append_part(folder, verdicts.iloc[some]) for some in rows][-1]

    def in_batches(plan: Plan, pending: np.ndarray, cases: int) -> Iterator[np.ndarray]:
        return batches(plan, pending, ceil(len(plan.cases) / PARTS) if cases == usual else cases)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "append_part", append_parts)
        patch.setattr(Plan, "batches", in_batches)
        yield


def write_kinds(folder: Path) -> None:
    """Write `bench`, and runs of several parts on it by the judges `JUDGES`: a folder of runs per kind of `KINDS`.

    By one process; by two at once, both of which have made verdicts of the first judge; and by one that was
    interrupted and resumed.
    """
    bench = folder / "bench"
    write_demo(bench, cases=3 * CASES_PER_PART + 3, seed=3)
    benchmark, in_batches = load(bench), Settings(batch_size=CASES_PER_PART)
    whole, at_once, resumed = (folder / kind for kind in KINDS)
    judge(benchmark, whole, JUDGES, settings=in_batches)

    begins = CASES_PER_PART + 1
    words = ["judge", bench, at_once, "--judge", JUDGES[0], "--batch-size", CASES_PER_PART, "--limit", begins]
    command = [sys.executable, "-m", "mrb_lib.cli.main", *map(str, words)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as other:
        judge(benchmark, at_once, JUDGES[1:], settings=in_batches)
    assert other.returncode == 0
    [done] = judge(benchmark, at_once, JUDGES[:1], settings=in_batches)
    assert done.before * len(benchmark.cases) == (done.before + done.made) * begins

    def stop(status: RunProgress) -> None:
        if status.held and not status.finished:
            raise KeyboardInterrupt

    for name in JUDGES:
        with pytest.raises(KeyboardInterrupt):
            judge(benchmark, resumed, [name], settings=in_batches, progress=stop)
        [done] = judge(benchmark, resumed, [name])
        assert done.before > 0 < done.made
    assert all(len(part_paths(run)) > 1 for kind in KINDS for run in run_folders(folder / kind))
