"""Running judges over a benchmark: resumes, and loses at most the batch in flight."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from mrb_lib.data.benchmark import Benchmark
from mrb_lib.errors import InputError, RunError
from mrb_lib.files import slug
from mrb_lib.judges.base import Judge
from mrb_lib.judges.orders import show, to_case_frame
from mrb_lib.judges.roster import check_name, resolve
from mrb_lib.judges.settings import Settings
from mrb_lib.runs.manifest import (
    FILE_NAME,
    Manifest,
    git_commit,
    library_versions,
    now,
    read_manifest,
    write_manifest,
)
from mrb_lib.runs.plan import Plan
from mrb_lib.runs.progress import Progress, Status
from mrb_lib.runs.store import append_part, exclusive, read_run, run_folders
from mrb_lib.schema import KEYS, ORDERS
from mrb_lib.validation import conform

CASES_PER_BATCH = 2048


@dataclass(frozen=True)
class RunSummary:
    """What became of one judge's run.

    Attributes
    ----------
    made, before : verdicts made now, and found from earlier
    waiting : verdicts that could not be made yet (a jury waits for its members)
    other_runs : runs of the same judge with other settings, beside this one
    """

    judge: str
    folder: Path
    made: int
    before: int
    waiting: int
    seconds: float
    other_runs: tuple[str, ...]


def judge(
    benchmark: Benchmark,
    runs: Path,
    names: Sequence[str],
    *,
    orders: Sequence[str] = ORDERS,
    repeats: int = 1,
    limit: int | None = None,
    settings: Settings | None = None,
    extra: Sequence[Path] = (),
    retry: Sequence[str] = (),
    progress: Progress | None = None,
) -> list[RunSummary]:
    """Run judges over a benchmark and keep their verdicts.

    What is already in the store is not judged again. A judge whose settings, prompt
    or cases changed starts a new run beside the old one.

    Parameters
    ----------
    benchmark : loaded from a folder, with preference labels
    runs : the folder of runs, created if needed
    names : judges of the roster, in the order to run them
    orders : which response is shown first: AB, BA or both
    repeats : verdicts for each case, dimension and order
    limit : judge only the first so many cases; None judges all
    settings : how judges work; None for the defaults
    extra : the user's own roster files
    retry : verdicts of these statuses are made again: unparsed, refused, error
    progress : called with a `Status` at the start, after every batch and at the end

    Raises
    ------
    InputError
        A name is unknown, an option is out of range, or the labels are not preferences.
    RunError
        Another process writes the same run.
    """
    if not benchmark.meta.is_preference:
        raise InputError(
            f"benchmark {benchmark.meta.name}: its labels ({', '.join(benchmark.meta.categories)}) are not "
            "preferences between two responses, so there is nothing to judge; analyse its agreement instead."
        )
    if limit is not None and limit < 1:
        raise InputError(f"limit {limit}: at least 1 case is needed.")
    if not names:
        raise InputError("no judge is named; pass --judge NAME (`mrb judges` lists them).")
    plan = Plan(
        benchmark.cases.head(limit) if limit else benchmark.cases, benchmark.meta.dimensions, tuple(orders), repeats
    )
    fingerprint = benchmark.case_fingerprint()
    for name in names:
        check_name(name, extra)
    settings = settings or Settings()
    return [_run(benchmark, plan, fingerprint, runs, name, settings, extra, progress) for name in dict.fromkeys(names)]


def _run(
    benchmark: Benchmark,
    plan: Plan,
    fingerprint: str,
    runs: Path,
    name: str,
    settings: Settings,
    extra: Sequence[Path],
    progress: Progress | None,
) -> RunSummary:
    judge = resolve(name, runs=runs, images=benchmark.images, settings=settings, extra=extra)
    manifest = _manifest(benchmark, judge, fingerprint, settings.seed)
    folder = runs / manifest.run_id
    start = time.perf_counter()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{runs}: cannot be created ({error.strerror}); name a folder you may write to.") from error
    with exclusive(folder):
        _start(folder, manifest)
        before = read_run(folder, list(KEYS["verdicts"]))
        pending = plan.pending(before)
        held, waiting = len(plan) - len(pending), 0
        if progress is not None:
            progress(Status(name, held, len(plan), 0, len(plan.cases)))
        for numbers in plan.batches(pending, CASES_PER_BATCH):
            verdicts = _judge_batch(judge, plan, numbers)
            if len(verdicts):
                append_part(folder, verdicts)
            held += len(verdicts)
            waiting += len(numbers) - len(verdicts)
            if progress is not None:
                progress(Status(name, held, len(plan), 0, len(plan.cases)))
    others = tuple(
        path.name for path in run_folders(runs) if path != folder and read_manifest(path).judge == judge.name
    )
    return RunSummary(
        judge.name,
        folder,
        len(pending) - waiting,
        len(plan) - len(pending),
        waiting,
        time.perf_counter() - start,
        others,
    )


def _judge_batch(judge: Judge, plan: Plan, numbers: np.ndarray) -> pd.DataFrame:
    start = time.perf_counter()
    shown = show(plan.rows(numbers))
    verdicts = to_case_frame(judge.judge(shown)).assign(judge=judge.name)
    if judge.prompt_id:
        verdicts["prompt_id"] = judge.prompt_id
    if "latency_s" not in verdicts.columns and len(verdicts):
        verdicts["latency_s"] = (time.perf_counter() - start) / len(verdicts)
    if verdicts.duplicated(list(KEYS["verdicts"])).any() or len(verdicts) > len(numbers):
        raise RunError(f"judge {judge.name}: answered a verdict twice; nothing of this batch was kept.")
    return conform(verdicts, "verdicts", f"judge {judge.name}")


def _manifest(benchmark: Benchmark, judge: Judge, fingerprint: str, seed: int) -> Manifest:
    identity = [judge.name, dict(judge.spec), judge.prompt_hash, fingerprint]
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
    return Manifest(
        run_id=f"{slug(judge.name)}-{digest[:8]}",
        judge=judge.name,
        spec=judge.spec,
        prompt_id=judge.prompt_id,
        prompt_hash=judge.prompt_hash,
        benchmark=benchmark.meta.name,
        benchmark_fingerprint=fingerprint,
        kind=benchmark.meta.kind,
        seed=seed,
        device=judge.device,
        versions=library_versions(),
        git_commit=git_commit(),
        created=now(),
    )


def _start(folder: Path, manifest: Manifest) -> None:
    """Write the manifest of a new run; clear what a killed process left of an old one."""
    for leftover in folder.glob(".part-*.partial"):
        leftover.unlink()
    if not (folder / FILE_NAME).is_file():
        write_manifest(folder, manifest)
