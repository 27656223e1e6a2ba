"""Running judges over a benchmark: resumes, and loses at most the batch in flight and the one being written.

Ctrl-C and SIGTERM finish the batch in flight; a second one stops at once.
"""

from __future__ import annotations

import gc
import time
import traceback
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypedDict, Unpack

import numpy as np
import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.judges.budget import Budget
from mrb_lib.judges.jury import Jury, is_jury
from mrb_lib.judges.prompted import PromptedJudge
from mrb_lib.judges.roster.roster import check_name, resolve
from mrb_lib.judges.settings import Settings, for_repeats
from mrb_lib.probes import ProbedImages
from mrb_lib.runs.beside import beside
from mrb_lib.runs.interruption import InterruptedRunError, stop_on_signals
from mrb_lib.runs.items import by_items, digest_of_items
from mrb_lib.runs.juries import check_members, common_dimensions, convene
from mrb_lib.runs.local import Backend, Job, StreamingJudge, free, run_locally
from mrb_lib.runs.outcomes import FailedRun, FailedRunsError, Outcome, ReportOutcome, RunSummary
from mrb_lib.runs.plan import Plan, ProbeOptions, check_retry, make_plan
from mrb_lib.runs.progress import ReportProgress, Tracker
from mrb_lib.runs.record import check_covers, check_probes, mark_trained_on, record, run_options, with_records
from mrb_lib.tables.errors import InputError, without_secrets
from mrb_lib.tables.schema import ANSWER, KEYS, ORDERS
from mrb_lib.verdicts.manifest import FILE_NAME, Manifest, git_commit, library_versions, now, run_id
from mrb_lib.verdicts.parts import damaged_parts, move_aside
from mrb_lib.verdicts.protocol import Judge
from mrb_lib.verdicts.store import append_part, clear_leftovers, exclusive, iter_run, other_runs, read_run, set_aside
from mrb_lib.verdicts.training import read_record, seen_notice

_HELD = [*KEYS["verdicts"][1:], "status"]

# Which of the verdicts held are to be made again, as an array of bool with shape (rows,).
Redo = Callable[[pd.DataFrame], np.ndarray]


class JudgeOptions(TypedDict, total=False):
    """The options of `judge` that do not depend on where it runs."""

    orders: Sequence[str]
    repeats: int
    limit: int | None
    probes: ProbeOptions | None
    extra: Sequence[Path]
    retry: Sequence[str]
    progress: ReportProgress | None
    finished: ReportOutcome | None


@dataclass(frozen=True)
class _Call:
    """Everything that the judges of one call have in common."""

    benchmark: Benchmark
    runs: Path
    plan: Plan
    n_cases: int
    limit: int | None
    settings: Settings
    images: Mapping[str, bytes]
    make: Callable[[str], Judge]
    backend: Backend
    progress: ReportProgress | None
    fingerprint: str
    records: Sequence[Mapping[str, object]]

    def folder(self, judge: Judge) -> Path:
        return self.runs / run_id(judge, self.fingerprint)

    def manifest(self, judge: Judge, plan: Plan) -> Manifest:
        meta, url = self.benchmark.meta, judge.spec.get("url")
        return Manifest(
            run_id=run_id(judge, self.fingerprint),
            judge=judge.name,
            spec=judge.spec,
            provenance=with_records(judge.provenance, self.records),
            prompt_id=judge.prompt_id,
            prompt_hash=judge.prompt_hash,
            prompt_text=judge.prompt_text,
            benchmark=meta.name,
            benchmark_fingerprint=self.fingerprint,
            kind=meta.kind,
            seed=self.settings.seed,
            device=judge.device,
            versions=library_versions(),
            git_commit=git_commit(),
            created=now(),
            options=run_options(plan, self.limit, self.settings),
            sent_to=without_secrets(url) if isinstance(url, str) else "",
        )


def judge(
    benchmark: Benchmark,
    runs: Path,
    names: Sequence[str],
    *,
    orders: Sequence[str] = ORDERS,
    repeats: int = 1,
    limit: int | None = None,
    probes: ProbeOptions | None = None,
    settings: Settings | None = None,
    extra: Sequence[Path] = (),
    retry: Sequence[str] = (),
    backend: Backend = run_locally,
    progress: ReportProgress | None = None,
    finished: ReportOutcome | None = None,
    budget: Budget | None = None,
) -> list[RunSummary]:
    """Run judges over a benchmark and keep their verdicts.

    What is already in the store is not judged again. A judge whose settings, prompt
    or cases changed starts a new run beside the old one. A jury that names its
    members first has them judge what it needs of them, each in its own run. Of several
    judges one that fails does not keep the next from running; the weights of one are
    forgotten before those of the next are read.

    Validated by tests/runs/test_execute.py and tests/runs/test_interruption.py.

    Parameters
    ----------
    benchmark : loaded from a folder, with preference labels
    runs : the folder of runs, created if needed
    names : judges of the roster, in the order to run them
    orders : which response is shown first: AB, BA or both
    repeats : verdicts for each case, dimension and order
    limit : judge only the first so many cases; None judges all
    probes : judge the cases as these probes change them, too; what a probe does not apply to is not judged
    settings : how judges work; None for the defaults
    extra : the user's own roster files
    retry : verdicts of these statuses are made again: unparsed, refused, error
    backend : where batches are answered; a jury always counts in this process
    progress : called with a `RunProgress` at the start, after every batch and at the end
    budget : what these judges may spend together with others; None is that of the settings, for these alone
    finished : called with what became of each judge, a failed or interrupted one too, as soon as that is known

    Returns
    -------
    list of RunSummary
        One for each name, in their order, names that are given again left out.

    Raises
    ------
    InputError
        A name is unknown, an option is out of range, or the labels are not preferences.
    InterruptedRunError
        SIGINT or SIGTERM came; the batch in flight was finished and kept.
    RunError
        Another process writes the same run, or a judge failed. Of several judges `FailedRunsError`, once all have
        run; of one whatever was raised.
    """
    settings = settings or Settings()
    _check(benchmark, names, settings, probed=probes is not None and bool(probes.names or probes.files))
    check_retry(retry)
    plan = _plan(benchmark, settings, orders=orders, repeats=repeats, limit=limit, probes=probes)
    for name in names:
        check_name(name, extra)
        check_members(name, runs, partial(check_name, extra=extra))
    n_cases = len(beside(benchmark, settings).judged(benchmark.cases))
    settings = settings_for(benchmark, settings, repeats)
    if budget is None and settings.budget is not None:
        budget = Budget(settings.budget)
    images = benchmark.images if plan.probing is None else ProbedImages(benchmark.images, benchmark.cases)
    make = partial(resolve, runs=runs, images=images, settings=settings, extra=extra, budget=budget)
    fingerprint = benchmark.case_fingerprint()
    records = [] if settings.trained_on is None else [read_record(Path(settings.trained_on))]
    call = _Call(benchmark, runs, plan, n_cases, limit, settings, images, make, backend, progress, fingerprint, records)
    redo = partial(_has_status, statuses=retry)
    distinct, done, failed = list(dict.fromkeys(names)), list[RunSummary](), list[FailedRun]()
    for name in distinct:
        outcome = _attempt(call, name, redo)
        if finished is not None:
            finished(outcome)
        if isinstance(outcome, RunSummary):
            done.append(outcome)
        elif outcome.is_interrupted or len(distinct) == 1:
            raise outcome.error
        else:
            failed.append(outcome)
    if failed:
        raise FailedRunsError(failed, len(distinct))
    return done


def _has_status(held: pd.DataFrame, statuses: Sequence[str]) -> np.ndarray:
    return held["status"].isin(list(statuses)).to_numpy()


def _plan(benchmark: Benchmark, settings: Settings, **options: Unpack[JudgeOptions]) -> Plan:
    meta = benchmark.meta
    return make_plan(
        benchmark.cases, meta.dimensions, orders=options.get("orders", ORDERS), repeats=options.get("repeats", 1),
        limit=options.get("limit"), probes=options.get("probes"), seed=settings.seed,
        ratings=meta.categories if meta.is_rating else (), labels=meta.labels, beside=beside(benchmark, settings),
    )  # fmt: skip


def is_complete(
    benchmark: Benchmark, runs: Path, judge: Judge, *, settings: Settings | None = None, **options: Unpack[JudgeOptions]
) -> bool:
    """Return whether the run of a judge holds all that these options ask for, so that nobody need be asked."""
    folder = runs / run_id(judge, benchmark.case_fingerprint())
    if not folder.is_dir():
        return False
    plan = _restricted(_plan(benchmark, settings or Settings(), **options), judge.name, judge.dimensions)
    parts = iter_run(folder, _HELD, without=damaged_parts(folder))
    held = _held(parts, plan, plan.all_numbers, partial(_has_status, statuses=options.get("retry", ())))
    return bool(held.kept[plan.all_numbers].all())


def settings_for(benchmark: Benchmark, settings: Settings, repeats: int) -> Settings:
    """Return the settings with which judges work on a benchmark: what it says of itself, and repeats that differ."""
    meta = benchmark.meta
    return replace(
        for_repeats(settings, repeats),
        dimensions=meta.dimensions,
        choices=meta.choices,
        task=meta.task,
        is_ordered=meta.level != "nominal",
        definitions=dict(meta.definitions),
        shown=dict(beside(benchmark, settings).shown),
        items=digest_of_items(benchmark.cases) if "item" in benchmark.cases else "",
        labels=dict(meta.labels),
    )


def _check(benchmark: Benchmark, names: Sequence[str], settings: Settings, *, probed: bool) -> None:
    if not benchmark.meta.is_judged:
        raise InputError(
            f"benchmark {benchmark.meta.name}: its labels ({', '.join(benchmark.meta.categories)}) are not "
            'preferences between two responses, and it does not say task = "rating" in benchmark.toml, so there is '
            "nothing to judge; say so, or analyse its agreement instead."
        )
    if benchmark.meta.is_preference and not {"A", "B"} <= set(benchmark.meta.categories):
        raise InputError(
            f"benchmark {benchmark.meta.name}: its categories are {', '.join(benchmark.meta.categories)}, and a judge "
            "must be able to choose A or B; correct benchmark.toml."
        )
    if not names:
        raise InputError("no judge is named; pass --judge NAME (`mrb judges` lists them).")
    juries = [name for name in names if is_jury(name)]
    if benchmark.meta.is_rating and juries:
        raise InputError(
            f"judge {juries[0]!r}: a jury votes between two responses, and the benchmark has ratings of one; the table "
            "jury takes the median and the mean of ratings."
        )
    if benchmark.meta.is_rating and probed:
        raise InputError("probes: change pairs of responses, and the benchmark has ratings of one; leave them out.")
    if settings.prompt is None:
        return
    from mrb_lib.judges.prompt_files import builtin_ids, load_prompt

    prompt, answers = load_prompt(settings.prompt), benchmark.meta.dimensions == (ANSWER,)
    if prompt.asks == "answer" and not answers:
        raise InputError(f"prompt {prompt.id}: asks for an answer, and responses are to be judged; name another.")
    if prompt.asks != "answer" and answers:
        known = " or ".join(builtin_ids("answering"))
        raise InputError(
            f"prompt {prompt.id}: asks for verdicts, and answers are wanted; name {known}, or a template that begins "
            "{# asks: answer #}."
        )


def _attempt(call: _Call, name: str, redo: Redo) -> Outcome:
    folder = None
    try:
        judge = call.make(name)
        if isinstance(judge, Jury):
            return _run_jury(call, judge, redo)
        folder = call.folder(judge)
        plan = _restricted(call.plan, judge.name, judge.dimensions)
        return _execute(call, judge, plan, plan.all_numbers, redo)
    except BaseException as error:  # noqa: BLE001  # a library may raise anything; whoever asked for one judge gets it
        _forget_locals(error)
        return FailedRun(name, error, folder)


def _forget_locals(error: BaseException | None) -> None:
    """Clear the frames that an error went through: they hold the weights, whose room the next judge needs."""
    cleared: list[BaseException] = []
    while error is not None and error not in cleared:
        traceback.clear_frames(error.__traceback__)
        cleared.append(error)
        error = error.__cause__ or error.__context__
    gc.collect()


def _run_jury(call: _Call, unseated: Jury, redo: Redo) -> RunSummary:
    """Ask the members for what the jury lacks, then count; members judge with the settings of the call."""
    seats = convene(unseated, call.runs, call.fingerprint, call.make)
    jury = Jury(unseated.name, {seat.name: seat.folder for seat in seats})
    plan = _restricted(call.plan, jury.name, common_dimensions(seats, call.plan.dimensions))
    everything = plan.all_numbers
    for seat in seats:
        check_probes(seat.folder, plan, call.settings.seed)

    def redo_or_outdated(held: pd.DataFrame) -> np.ndarray:
        jury.load()
        again: np.ndarray = redo(held) | jury.outdated(held)
        return again

    folder = call.folder(jury)
    damaged = damaged_parts(folder)
    check_covers(folder, plan, call.n_cases, damaged)
    held = read_run(folder, [*_HELD, "reply"], without=damaged)
    lacking = np.setdiff1d(everything, plan.numbers(held[~redo_or_outdated(held)]))
    asked = []
    for member, seat in enumerate(seats):
        if seat.judge is None:
            continue
        jury.load()
        wanted = lacking[jury.needs(plan.keys(lacking), member)]
        if len(wanted):
            asked.append(_execute(call, seat.judge, plan, wanted, partial(_has_status, statuses=())))
    local = replace(call, backend=run_locally, settings=replace(call.settings, batch_size=None))
    done = _execute(local, jury, plan, everything, redo_or_outdated)
    notices = (*done.notices, *(seat.notice for seat in seats if seat.notice))
    return replace(done, notices=notices, members=tuple(asked))


def _restricted(plan: Plan, name: str, dimensions: Sequence[str] | None) -> Plan:
    if dimensions is None:
        return plan
    common = tuple(dimension for dimension in plan.dimensions if dimension in dimensions)
    if not common:
        raise InputError(
            f"judge {name}: judges {', '.join(dimensions) or 'no dimension'}, and the benchmark has "
            f"{', '.join(plan.dimensions)}; choose another judge."
        )
    return replace(plan, dimensions=common)


def _execute(call: _Call, judge: Judge, plan: Plan, wanted: np.ndarray, redo: Redo) -> RunSummary:
    """Make those of the wanted verdicts that the judge's run does not hold, or that are to be made again."""
    start = time.perf_counter()
    if isinstance(judge, PromptedJudge):
        judge.check_cases(plan.cases, plan.probes)
    folder = call.folder(judge)
    plan = by_items(plan, judge, call.benchmark.cases)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{call.runs}: cannot be created ({error.strerror}); name a folder you may write to."
        ) from error
    with exclusive(folder):
        clear_leftovers(folder)
        damaged = damaged_parts(folder)
        check_covers(folder, plan, call.n_cases, damaged)
        check_probes(folder, plan, call.settings.seed)
        # A jury holds its members' verdicts in memory, and looks them up for all of its own at once.
        is_jury = isinstance(judge, Jury)
        read = [*_HELD, "reply"]
        parts = iter([read_run(folder, read, without=damaged)]) if is_jury else iter_run(folder, _HELD, without=damaged)
        held = _held(parts, plan, wanted, redo)
        pending = wanted[~held.kept[wanted]]
        tracker = Tracker(judge.name, len(wanted), held.statuses, call.progress)
        before = tracker.held
        tracker.start()
        numbers = plan.longest_first(pending) if judge.sorts_by_length else pending
        batches = plan.batches(numbers, call.settings.batch_size or judge.cases_per_batch)
        job = Job(judge, plan, list(batches), call.images)
        try:
            if job.batches:
                _make(call, job, folder, held.again, damaged, tracker)
            elif not (folder / FILE_NAME).is_file():
                record(folder, call.manifest(judge, plan))
            if call.records:
                mark_trained_on(folder, call.records)
            # Only now: what stopped on the way leaves them where every reader stops at them.
            moved = move_aside(damaged)
        finally:
            tracker.finish()
            free(judge)
    made, seen = tracker.held - before, seen_notice(call.records, call.benchmark)
    return RunSummary(
        judge=judge.name,
        folder=folder,
        made=made,
        before=before,
        waiting=len(pending) - made,
        seconds=time.perf_counter() - start,
        other_runs=other_runs(call.runs, call.manifest(judge, plan)),
        retried=int(held.again.sum()),
        notices=tuple(dict.fromkeys((*plan.notices, *moved, *judge.notices, *job.notices, *seen))),
    )


class _Held(NamedTuple):
    """The part of a plan that a run holds.

    Attributes
    ----------
    kept : array of bool with shape (verdicts of the plan,), those that are there and stay
    again : array of bool with shape (rows of the run,), those to be made again
    statuses : how many of those that stay have each status
    """

    kept: np.ndarray
    again: np.ndarray
    statuses: Mapping[str, int]


def _held(parts: Iterable[pd.DataFrame], plan: Plan, wanted: np.ndarray, redo: Redo) -> _Held:
    # The place after the last, where -1 points, is that of rows outside the plan, which nobody wants.
    is_wanted = np.zeros(len(plan) + 1, dtype=bool)
    is_wanted[wanted] = True
    kept, again, statuses = np.zeros(len(plan), dtype=bool), [np.zeros(0, dtype=bool)], Counter[str]()
    for part in parts:
        numbers = plan.numbers(part)
        again.append(is_wanted[numbers] & redo(part))
        stays = is_wanted[numbers] & ~again[-1]
        kept[numbers[stays]] = True
        statuses.update(part["status"][stays].value_counts().to_dict())
    return _Held(kept, np.concatenate(again), statuses)


def _make(call: _Call, job: Job, folder: Path, again: np.ndarray, damaged: Collection[Path], tracker: Tracker) -> None:
    """Answer the batches of a job and keep each; what is to be made again leaves only once the judge is ready.

    A batch is written while the next one is answered.
    """
    tell = job.judge.stop if isinstance(job.judge, StreamingJudge) else None
    with closing(call.backend(job)) as answers, stop_on_signals(tell) as stop, ThreadPoolExecutor(1) as writer:
        manifest = call.manifest(job.judge, job.plan)
        record(folder, replace(manifest, device=", ".join(job.devices)) if job.devices else manifest)
        written: Future[object] = writer.submit(set_aside, folder, again, damaged)
        try:
            tracker.start_clock()
            for verdicts in answers:
                written.result()
                if len(verdicts):
                    written = writer.submit(append_part, folder, verdicts)
                    tracker.add(verdicts)
                if stop.asked:
                    break
        finally:
            written.result()
        if stop.asked:
            raise InterruptedRunError(
                f"judge {job.judge.name}: interrupted; {tracker.held} of {tracker.planned} verdicts are kept in "
                f"{folder}; run the same command again to go on."
            )
