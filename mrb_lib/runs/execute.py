"""Running judges over a benchmark: resumes, and loses at most the batch in flight and the one being written.

Ctrl-C and SIGTERM finish the batch in flight; a second one stops at once.
"""

from __future__ import annotations

import gc
import time
import traceback
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.judges.budget import Budget
from mrb_lib.judges.jury import Jury
from mrb_lib.judges.prompted import PromptedJudge
from mrb_lib.judges.roster.roster import resolve
from mrb_lib.judges.settings import Settings
from mrb_lib.probes import ProbedImages
from mrb_lib.runs.beside import beside_of
from mrb_lib.runs.interruption import InterruptedRunError, stop_on_signals
from mrb_lib.runs.items import by_items
from mrb_lib.runs.juries import check_known, common_dimensions, convene
from mrb_lib.runs.local import Backend, HoldsWeights, Job, StreamingJudge, run_locally
from mrb_lib.runs.outcomes import FailedRun, FailedRunsError, Outcome, RunSummary
from mrb_lib.runs.plan import Plan, ProbeOptions
from mrb_lib.runs.planned import HELD, PlannedJudge, check_suits, plan_of, restricted, settings_for
from mrb_lib.runs.preflight import problems
from mrb_lib.runs.progress import ReportProgress, Tracker
from mrb_lib.runs.record import check_covers, check_probes, mark_trained_on, record, run_options, with_records
from mrb_lib.runs.scaleout import Cluster, on_ray
from mrb_lib.tables.errors import InputError, MrbError, without_secrets
from mrb_lib.tables.schema import ORDERS
from mrb_lib.verdicts.manifest import FILE_NAME, Manifest, git_commit, library_versions, now, run_id
from mrb_lib.verdicts.parts import damaged_parts, move_aside
from mrb_lib.verdicts.protocol import Judge
from mrb_lib.verdicts.store import append_part, clear_leftovers, exclusive, other_runs, read_run, set_aside
from mrb_lib.verdicts.training import read_record, seen_notice

# The verdicts of a run that are to be made again, as an array of bool with shape (rows,).
Redo = Callable[[pd.DataFrame], np.ndarray]
ReportPlanned = Callable[[PlannedJudge, Outcome], None]


@dataclass(frozen=True)
class _Session:
    """Everything that all judges of one call have in common; those whose settings name the same budget share it."""

    benchmark: Benchmark
    runs: Path
    extra: Sequence[Path]
    backend: Backend
    progress: ReportProgress | None
    cluster: Cluster
    budgets: Mapping[float | None, Budget]
    fingerprint: str

    def attempt(self, one: PlannedJudge) -> Outcome:
        """Run a judge; whatever goes wrong is what became of it."""
        folder = None
        try:
            call = self._call(one)
            judge = call.make(one.name)
            if isinstance(judge, Jury):
                return _run_jury(call, judge)
            folder = call.folder(judge)
            plan = restricted(call.plan, judge.name, judge.dimensions)
            return _execute(call, judge, plan, plan.all_numbers, call.redo)
        except BaseException as error:  # noqa: BLE001  # a library may raise anything; that of one judge is raised again
            _forget_locals(error)
            return FailedRun(one.name, error, folder)

    def _call(self, one: PlannedJudge) -> _Call:
        benchmark, settings, backend = self.benchmark, one.settings, self.backend
        check_suits(one, benchmark)
        if one.engine == "ray":
            settings, backend = on_ray(self.cluster, one)
        beside = beside_of(benchmark, settings)
        plan = plan_of(benchmark, one, beside)
        return _Call(
            **vars(self) | {"backend": backend},
            usual=one,
            settings=settings_for(benchmark, settings, one.repeats, beside),
            plan=plan,
            n_cases=len(beside.judged(benchmark.cases)),
            images=benchmark.images if plan.probing is None else ProbedImages(benchmark.images, benchmark.cases),
            records=[] if settings.trained_on is None else [read_record(Path(settings.trained_on))],
        )


@dataclass(frozen=True)
class _Call(_Session):
    """Everything that a judge and its members, if it is a jury, have in common.

    Attributes
    ----------
    usual : how a judge is run; of a jury also its members
    settings : with all that the benchmark states
    n_cases : of the benchmark that may be judged
    records : of training, given by the user
    """

    usual: PlannedJudge
    settings: Settings
    plan: Plan
    n_cases: int
    images: Mapping[str, bytes]
    records: Sequence[Mapping[str, object]]

    def make(self, name: str) -> Judge:
        shared = partial(resolve, runs=self.runs, images=self.images, settings=self.settings, extra=self.extra)
        return shared(name, budget=self.budgets.get(self.settings.budget), fingerprint=self.fingerprint)

    def folder(self, judge: Judge) -> Path:
        return self.runs / run_id(judge, self.fingerprint)

    def redo(self, held: pd.DataFrame) -> np.ndarray:
        return held["status"].isin(self.usual.retry).to_numpy()

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
            options=run_options(plan, self.usual.limit, self.settings),
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
    engine: Literal["local", "ray"] = "local",
    workers: int | None = None,
    gpus_per_worker: float | None = None,
    progress: ReportProgress | None = None,
) -> list[RunSummary]:
    """Run judges over a benchmark, all in the same way, and keep their verdicts; see `judge_plan`.

    Validated by tests/runs/test_execute.py and tests/runs/test_interruption.py.

    Parameters
    ----------
    benchmark : loaded from a folder, with preference labels
    runs : the folder of runs, created if needed
    names : judges of the roster, in the order to run them; one that is named again is run once
    orders : which response is shown first: AB, BA or both
    repeats : verdicts for each case, dimension and order
    limit : judge only the first so many cases; None judges all
    probes : judge the cases as these probes change them, too; what a probe does not apply to is not judged
    settings : how judges work; None for the defaults
    extra : the user's own roster files
    retry : verdicts of these statuses are made again: unparsed, refused, error
    engine, workers, gpus_per_worker : see `mrb_lib.runs.planned.PlannedModel`
    progress : called with a `RunProgress` at the start, after every batch and at the end

    Returns
    -------
    list of RunSummary
        One for each name, in their order.

    Raises
    ------
    InputError
        A name is unknown, an option is out of range, or the labels are not preferences.
    InterruptedRunError, RunError
        As `judge_plan`.
    """
    if not names:
        raise InputError("no judge is named; pass --judge NAME (`mrb judges` lists them).")
    probes = probes or ProbeOptions()
    usual = PlannedJudge(
        settings=settings or Settings(),
        engine=engine,
        workers=workers,
        gpus_per_worker=gpus_per_worker,
        orders=tuple(orders),
        repeats=repeats,
        limit=limit,
        retry=tuple(retry),
        probe=probes.names,
        probe_file=probes.files,
        probe_cases=probes.cases,
    )
    for name in names:
        check_known(name, runs, extra)
    judges = [replace(usual, name=name) for name in names]
    return judge_plan(benchmark, runs, judges, extra=extra, progress=progress, check_first=False)


def judge_plan(
    benchmark: Benchmark,
    runs: Path,
    judges: Sequence[PlannedJudge],
    *,
    extra: Sequence[Path] = (),
    backend: Backend = run_locally,
    progress: ReportProgress | None = None,
    finished: ReportPlanned | None = None,
    check_first: bool = True,
) -> list[RunSummary]:
    """Run judges over a benchmark, each in its own way, and keep their verdicts.

    What is already in the store is not judged again. A judge whose settings, prompt or cases changed starts a new run
    beside the old one. A jury that names its members first has them judge what it needs of them, each in its own run.
    Of several judges one that fails does not keep the next from running; the weights of one are forgotten before those
    of the next are read.

    Validated by tests/runs/test_planned.py.

    Parameters
    ----------
    benchmark : loaded from a folder
    runs : the folder of runs, created if needed
    judges : equal ones are run once; those whose settings name the same budget spend it together
    extra : the user's own roster files
    backend : where batches are answered that are not spread over Ray; a jury always counts in this process
    progress : called with a `RunProgress` at the start, after every batch and at the end
    finished : called with what became of each judge as soon as that is known, of those that could not run at first
    check_first : of several judges, those with `mrb_lib.runs.preflight.problems` are not tried

    Returns
    -------
    list of RunSummary
        In the order of the judges.

    Raises
    ------
    InputError
        One judge is given, and cannot be run in this way.
    InterruptedRunError
        SIGINT or SIGTERM came; the batch in flight was finished and kept.
    RunError
        Another process writes the same run, or a judge failed. Of several judges `FailedRunsError`, once all have
        run; of one whatever was raised.
    """
    distinct = [one for number, one in enumerate(judges) if one not in judges[:number]]
    outcomes, ready = list[Outcome](), list[PlannedJudge]()

    def report(one: PlannedJudge, outcome: Outcome) -> None:
        outcomes.append(outcome)
        if finished is not None:
            finished(one, outcome)

    for one in distinct:
        try:
            wrong = problems(benchmark, runs, one, extra) if check_first and len(distinct) > 1 else []
        except MrbError as error:
            wrong = [str(error)]
        if wrong:
            report(one, FailedRun(one.name, InputError(" ".join(wrong))))
        else:
            ready.append(one)
    with Cluster() as cluster:
        budgets: dict[float | None, Budget] = {usd: Budget(usd) for one in ready if (usd := one.settings.budget)}
        fingerprint = benchmark.case_fingerprint() if ready else ""  # reads every image
        session = _Session(benchmark, runs, extra, backend, progress, cluster, budgets, fingerprint)
        for one in ready:
            outcome = session.attempt(one)
            report(one, outcome)
            if isinstance(outcome, FailedRun) and (outcome.is_interrupted or len(distinct) == 1):
                raise outcome.error
    if failed := [one for one in outcomes if isinstance(one, FailedRun)]:
        raise FailedRunsError(failed, len(distinct))
    return [one for one in outcomes if isinstance(one, RunSummary)]


def _forget_locals(error: BaseException | None) -> None:
    """Clear the frames that an error went through: they hold the weights, whose room the next judge needs."""
    cleared: list[BaseException] = []
    while error is not None and error not in cleared:
        traceback.clear_frames(error.__traceback__)
        cleared.append(error)
        error = error.__cause__ or error.__context__
    gc.collect()


def _run_jury(call: _Call, unseated: Jury) -> RunSummary:
    """Ask the members for what the jury lacks, then count; members judge with the settings of the call."""
    seats = convene(unseated, call.runs, call.fingerprint, call.make)
    jury = Jury(unseated.name, {seat.name: seat.folder for seat in seats})
    plan = restricted(call.plan, jury.name, common_dimensions(seats, call.plan.dimensions))
    everything = plan.all_numbers
    for seat in seats:
        check_probes(seat.folder, plan, call.settings.seed)

    def redo_or_outdated(held: pd.DataFrame) -> np.ndarray:
        jury.load()
        again: np.ndarray = call.redo(held) | jury.outdated(held)
        return again

    folder = call.folder(jury)
    damaged = damaged_parts(folder)
    check_covers(folder, plan, call.n_cases, damaged)
    held = read_run(folder, [*HELD, "reply"], without=damaged)
    lacking = np.setdiff1d(everything, plan.numbers(held[~redo_or_outdated(held)]))
    asked = []
    for member, seat in enumerate(seats):
        if seat.judge is None:
            continue
        jury.load()
        wanted = lacking[jury.needs(plan.keys(lacking), member)]
        if len(wanted):
            asked.append(_execute(call, seat.judge, plan, wanted, lambda held: np.zeros(len(held), dtype=bool)))
    local = replace(call, backend=run_locally, settings=replace(call.settings, batch_size=None))
    done = _execute(local, jury, plan, everything, redo_or_outdated)
    notices = (*done.notices, *(seat.notice for seat in seats if seat.notice))
    return replace(done, notices=notices, members=tuple(asked))


def _execute(call: _Call, judge: Judge, plan: Plan, wanted: np.ndarray, redo: Redo) -> RunSummary:
    """Make those of the wanted verdicts that the judge's run does not hold, or that are to be made again."""
    start = time.perf_counter()
    if isinstance(judge, PromptedJudge):
        judge.check_cases(plan.cases, plan.probes)
    folder = call.folder(judge)
    plan = by_items(plan, judge, call.benchmark.cases)
    with exclusive(folder):
        clear_leftovers(folder)
        damaged = damaged_parts(folder)
        check_covers(folder, plan, call.n_cases, damaged)
        check_probes(folder, plan, call.settings.seed)
        held = read_run(folder, [*HELD, "reply"] if isinstance(judge, Jury) else HELD, without=damaged)
        numbers = plan.numbers(held)
        again = np.isin(numbers, wanted) & redo(held)
        stays = np.isin(numbers, wanted) & ~again
        pending = np.setdiff1d(wanted, numbers[stays])
        tracker = Tracker(judge.name, len(wanted), Counter(held["status"][stays].tolist()), call.progress)
        before = tracker.held
        tracker.start()
        numbers = plan.longest_first(pending) if judge.sorts_by_length else pending
        batches = plan.batches(numbers, call.settings.batch_size or judge.cases_per_batch)
        job = Job(judge, plan, list(batches), call.images)
        try:
            if job.batches:
                _make(call, job, folder, again, damaged, tracker)
            elif not (folder / FILE_NAME).is_file():
                record(folder, call.manifest(judge, plan))
            if call.records:
                mark_trained_on(folder, call.records)
            # Only now: what stopped on the way leaves them where every reader stops at them.
            moved = move_aside(damaged)
        finally:
            tracker.finish()
            if isinstance(judge, HoldsWeights):
                judge.unload()
    made, told = tracker.held - before, seen_notice(call.records, call.benchmark)
    if (drawn := judge.spec.get("temperature")) and call.usual.settings.temperature is None:
        told.append(
            f"temperature {drawn} for all repeats: greedy replies would be the same (--temperature sets another)"
        )
    return RunSummary(
        judge=judge.name,
        folder=folder,
        made=made,
        before=before,
        waiting=len(pending) - made,
        seconds=time.perf_counter() - start,
        other_runs=other_runs(call.runs, call.manifest(judge, plan)),
        retried=int(again.sum()),
        notices=tuple(dict.fromkeys((*plan.notices, *moved, *judge.notices, *job.notices, *told))),
    )


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
