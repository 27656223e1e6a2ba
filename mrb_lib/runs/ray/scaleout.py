"""Running judges on many GPUs and machines with Ray Data: same rows, same store, same resuming as in one process.

This process plans, and keeps what arrives; see `mrb_lib.runs.ray.remote` for what the
workers do, and `mrb_lib.runs.ray.cluster` for where they are.
"""

from __future__ import annotations

import math
import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

import numpy as np
import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.judges.roster.engines import ENGINES
from mrb_lib.judges.roster.machine import ROOM
from mrb_lib.judges.settings import Settings
from mrb_lib.probes import ProbedImages
from mrb_lib.runs import execute
from mrb_lib.runs.local import Job, run_locally
from mrb_lib.runs.outcomes import Outcome, ReportOutcome, RunSummary
from mrb_lib.runs.plan import ProbeOptions
from mrb_lib.runs.progress import ReportProgress
from mrb_lib.runs.ray.cluster import INSTALL, Cluster, WorkerPool, reason_of, size_pool
from mrb_lib.runs.ray.image_server import RemoteImageServer
from mrb_lib.runs.ray.remote import (
    GREETING,
    Assignment,
    WithWeights,
    Worker,
    assignment,
    batch_table,
    decode_frame,
    memory_of,
    weights_bytes,
)
from mrb_lib.tables.errors import InputError, MrbError, RunError
from mrb_lib.tables.schema import ORDERS

if TYPE_CHECKING:
    import pyarrow as pa

AnswerTables = Generator["pa.Table", None, None]
# What each worker last had to say.
WorkerNotices = dict[str, list[str]]

_COUNTED: Final = re.compile(r"(\d+) of (\d+)( .*)")
_NOT_SPREAD: Final = "worked in this process: it asks a server, and workers would not make that faster"
# One batch is answered while the next is prepared.
_BATCHES_OF_A_WORKER: Final = 2


def judge_on_ray(
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
    progress: ReportProgress | None = None,
    finished: ReportOutcome | None = None,
    workers: int | None = None,
    gpus_per_worker: float | None = None,
) -> list[RunSummary]:
    """Run judges over a benchmark with several workers, and keep their verdicts as `mrb_lib.runs.execute.judge` does.

    Uses the Ray that this process is connected to, or the cluster that RAY_ADDRESS
    names, or starts one on this machine for the time of the call, on loopback. A
    worker that dies is started anew and its batches are answered again. Judges that
    ask a server, and juries, work in this process.

    Validated by tests/runs/test_scaleout.py.

    Parameters
    ----------
    benchmark, runs, names, orders, repeats, limit, probes, settings, extra, retry, progress, finished :
        see `mrb_lib.runs.execute.judge`. The folders need not be seen by the workers.
    workers : models loaded at once; None is one for each GPU, or for every two CPUs
    gpus_per_worker : a share of one from 0 to 1, or several whole ones; None is as many as a judge's weights need, by
        the memory of this machine's GPUs, where there are any

    Returns
    -------
    list of RunSummary
        One for each name, in their order, names that are given again left out.

    Raises
    ------
    InputError
        As `mrb_lib.runs.execute.judge`; or Ray is not installed, or the machine has no room for the workers.
    InterruptedRunError
        SIGINT or SIGTERM came; what had arrived is kept.
    RunError
        As `mrb_lib.runs.execute.judge`; or Ray does not start, or a worker has other versions or weights.
    """
    chosen = settings or Settings()
    _check(chosen, workers, gpus_per_worker)
    with Cluster(workers) as cluster:
        images = ProbedImages(benchmark.images, benchmark.cases)
        spread = _RayBackend(cluster, images, workers, gpus_per_worker, chosen.device)

        def report(outcome: Outcome) -> None:
            if finished is not None:
                if isinstance(outcome, RunSummary):
                    outcome = _with_notices(outcome, spread.notices_of, cluster.notices)
                finished(outcome)

        done = execute.judge(
            benchmark,
            runs,
            names,
            orders=orders,
            repeats=repeats,
            limit=limit,
            probes=probes,
            settings=_for_workers(chosen, cluster, gpus_per_worker),
            extra=extra,
            retry=retry,
            backend=spread,
            progress=progress,
            finished=report,
        )
        return [_with_notices(one, spread.notices_of, cluster.notices) for one in done]


def _check(settings: Settings, workers: int | None, gpus_per_worker: float | None) -> None:
    if find_spec("ray") is None:
        raise InputError(f"engine ray: needs ray; install it with {INSTALL}.")
    if workers is not None and workers < 1:
        raise InputError(f"workers {workers}: at least 1 is needed.")
    if gpus_per_worker is not None and not (
        0 <= gpus_per_worker <= 1 or (gpus_per_worker > 0 and gpus_per_worker % 1 == 0)
    ):
        raise InputError(f"GPUs per worker {gpus_per_worker:g}: must be a share of one, or a whole number.")
    if ":" in settings.device:
        raise InputError(
            f"device {settings.device!r}: with engine ray, Ray chooses the GPU of each worker; use auto, cuda or cpu."
        )


def gpus_needed(n_bytes: float) -> float | None:
    """How many of this machine's GPUs hold so many bytes of weights; None where one does, or there are none to ask."""
    import torch

    memory = [torch.cuda.mem_get_info(number)[1] for number in range(torch.cuda.device_count())]
    if not memory or ROOM * n_bytes <= min(memory):
        return None
    return float(math.ceil(ROOM * n_bytes / min(memory)))


def _for_workers(settings: Settings, cluster: Cluster, gpus_per_worker: float | None) -> Settings:
    """Settings that mean the same here and where the judges work: this machine may have no GPU, or the only one."""
    if settings.device == "cpu" or gpus_per_worker == 0:
        return replace(settings, device="cpu")
    if not cluster.is_given:
        return settings
    if size_pool(cluster.nodes(), 1, gpus_per_worker).gpus == 0:
        if settings.device == "auto":
            return replace(settings, device="cpu")
        raise InputError(f"device {settings.device!r}: Ray has no GPU; add one, or use --device cpu.")
    return replace(settings, device="auto", dtype="bfloat16" if settings.dtype == "auto" else settings.dtype)


def _with_notices(summary: RunSummary, notices_of: Mapping[str, WorkerNotices], more: Sequence[str] = ()) -> RunSummary:
    notices = dict.fromkeys((*summary.notices, *_together(notices_of.get(summary.judge, {})), *more))
    return replace(
        summary, notices=tuple(notices), members=tuple(_with_notices(member, notices_of) for member in summary.members)
    )


def _together(notices_of: WorkerNotices) -> list[str]:
    """What all workers have to say; what they count, as "3 of 12 verdicts ...", is added up."""
    counts: dict[str, np.ndarray] = {}
    for text in (text for notices in notices_of.values() for text in notices):
        match = _COUNTED.match(text)
        count, rest = (np.array([int(match[1]), int(match[2])]), match[3]) if match else (np.zeros(2, dtype=int), text)
        counts[rest] = counts.get(rest, 0) + count
    return [f"{some} of {every}{rest}" if every else rest for rest, (some, every) in counts.items()]


@dataclass(frozen=True)
class _RayBackend:
    """The backend: see `mrb_lib.runs.local.Backend`.

    Attributes
    ----------
    notices_of : for each judge, what each of its workers has to say; filled in
    """

    cluster: Cluster
    images: Mapping[str, bytes]
    workers: int | None
    gpus_per_worker: float | None
    device: str
    notices_of: dict[str, WorkerNotices] = field(default_factory=dict)

    def __call__(self, job: Job) -> Generator[pd.DataFrame, None, None]:
        """Start the workers, and return the answers once the first of them is ready."""
        engine = job.judge.spec.get("engine")
        if engine in ENGINES and ENGINES[str(engine)].model == "server":
            self.notices_of[job.judge.name] = {"": [_NOT_SPREAD]}
            return run_locally(job)
        gpus = self.gpus_per_worker if isinstance(job.judge, WithWeights) else 0.0
        if gpus is None and self.device != "cpu":
            gpus = gpus_needed(weights_bytes(job.judge, "bfloat16"))
        pool = self.cluster.pool(self.workers, gpus, self.device, memory_of(job.judge))
        pool = replace(pool, workers=min(pool.workers, len(job.batches)))
        with _plain_errors(job.judge.name), ExitStack() as undo:
            answers = _start(job, assignment(job.judge, job.plan, pool), RemoteImageServer(self.images), pool)
            undo.callback(answers.close)
            first = next(answers)
            notices_of = self.notices_of.setdefault(job.judge.name, {})
            _note(first, notices_of)
            undo.pop_all()
        job.devices.append(f"{pool.workers} x {first.column('device')[0].as_py()}")
        return _collect(job, answers, first, notices_of)


def _start(job: Job, assigned: Assignment, server: RemoteImageServer, pool: WorkerPool) -> AnswerTables:
    """The answers to the greeting and to all batches, one row each, as they come."""
    import ray.data

    tables = [batch_table(job.plan, GREETING, np.array([], dtype=np.int64))]
    tables += [batch_table(job.plan, number, verdicts) for number, verdicts in enumerate(job.batches)]
    # `from_arrow` would have another worker look at every batch before any is answered.
    answers = ray.data.from_blocks(tables).map_batches(
        Worker,
        fn_constructor_args=(assigned, server),
        batch_size=1,
        batch_format="pyarrow",
        num_cpus=pool.cpus,
        num_gpus=pool.gpus,
        compute=ray.data.ActorPoolStrategy(
            size=pool.workers,
            max_tasks_in_flight_per_actor=_BATCHES_OF_A_WORKER,
            max_concurrent_calls_per_actor=_BATCHES_OF_A_WORKER,
            enable_true_multi_threading=True,
        ),
    )
    return cast("AnswerTables", iter(answers.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0)))


def _collect(
    job: Job, answers: AnswerTables, first: pa.Table, notices_of: WorkerNotices
) -> Generator[pd.DataFrame, None, None]:
    """The verdicts of every batch, once each."""
    missing = set(range(len(job.batches)))
    try:
        for table in _then(first, answers, job.judge.name):
            _note(table, notices_of)
            for row in table.to_pylist():
                number = row["batch"]
                if number in missing:
                    missing.remove(number)
                    yield _checked(job, number, decode_frame(row["verdicts"]))
    finally:
        answers.close()
    if missing:
        raise RunError(f"judge {job.judge.name}: {len(missing)} batches did not come back; run the same command again.")


def _then(first: pa.Table, answers: AnswerTables, name: str) -> Iterator[pa.Table]:
    yield first
    while True:
        with _plain_errors(name):
            table = next(answers, None)
        if table is None:
            return
        yield table


def _note(answer: pa.Table, notices_of: WorkerNotices) -> None:
    """Raise what went wrong with a worker, and note what its judge has to say."""
    for row in answer.to_pylist():
        if row["failure"] is not None:
            raise (InputError if row["bad_input"] else RunError)(row["failure"])
        notices_of[row["worker"]] = row["notices"]


def _checked(job: Job, number: int, verdicts: pd.DataFrame) -> pd.DataFrame:
    if not np.isin(job.plan.numbers(verdicts), job.batches[number]).all():
        raise RunError(f"judge {job.judge.name}: a worker answered what was not asked; nothing of its batch was kept.")
    return verdicts


@contextmanager
def _plain_errors(name: str) -> Iterator[None]:
    """Say in one line what Ray says in pages."""
    try:
        yield
    except MrbError:
        raise
    except Exception as error:
        raise RunError(
            f"judge {name}: the workers cannot go on ({reason_of(error)}); every machine needs mrb-workbench with "
            "[judges,scaleout], in the same versions. Run the same command again to go on."
        ) from error
