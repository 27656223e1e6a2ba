"""Running judges on many GPUs and machines with Ray Data: same rows, same store, same resuming as in one process.

This process plans, and keeps what arrives. Workers load one judge each, and answer batches. Cases and images come with
the batches, so a worker needs nothing but the library and the weights.
"""

from __future__ import annotations

import math
import os
import pickle
import platform
import re
import threading
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Protocol, Unpack, cast, runtime_checkable

import numpy as np
import pandas as pd
import pyarrow as pa

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.judges.roster.engines import ENGINES, JudgeRequest
from mrb_lib.judges.roster.machine import ROOM
from mrb_lib.judges.roster.source import loaded_bytes, locate_weights
from mrb_lib.judges.settings import Settings
from mrb_lib.runs import execute
from mrb_lib.runs.local import Job, answer_rows, prepare_rows, run_locally
from mrb_lib.runs.outcomes import RunSummary
from mrb_lib.runs.plan import Plan
from mrb_lib.runs.ray.cluster import INSTALL, Cluster, reason_of
from mrb_lib.tables.errors import InputError, MrbError, RunError
from mrb_lib.verdicts.manifest import differences, identity, in_words, library_versions
from mrb_lib.verdicts.orders import to_shown_frame
from mrb_lib.verdicts.protocol import Judge

GREETING: Final = -1
"""The number of a batch without verdicts, which a worker answers as soon as its judge is loaded."""
RESTARTS: Final = 4
"""The number of workers replaced after they die, before one answers a batch."""
_COUNTED: Final = re.compile(r"(\d+) of (\d+)( .*)")
_NOT_SPREAD: Final = "worked in this process: it asks a server, and workers would not make that faster"
_BESIDE: Final = 1.2  # of the weights in main memory, with what is read beside them
# One batch is answered while the next is prepared.
_BATCHES_OF_A_WORKER: Final = 2

Images = Mapping[str, bytes | InputError]
"""The images of a batch that are there; an error where one cannot be read."""


def judge_on_ray(
    benchmark: Benchmark,
    runs: Path,
    names: Sequence[str],
    *,
    settings: Settings | None = None,
    workers: int | None = None,
    gpus_per_worker: float | None = None,
    **options: Unpack[execute.JudgeOptions],
) -> list[RunSummary]:
    """Run judges over a benchmark with several workers, and keep their verdicts as `mrb_lib.runs.execute.judge` does.

    Uses the Ray that this process is connected to, or the cluster that RAY_ADDRESS
    names, or starts one on this machine for the time of the call, on loopback. A
    worker that dies is started anew and its batches are answered again. Judges that
    ask a server, and juries, work in this process.

    Validated by tests/runs/test_scaleout.py.

    Parameters
    ----------
    benchmark, runs, names, settings, options : see `mrb_lib.runs.execute.judge`. Workers need not see the folders.
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
    if find_spec("ray") is None:
        raise InputError(f"engine ray: needs ray; install it with {INSTALL}.")
    if workers is not None and workers < 1:
        raise InputError(f"workers {workers}: at least 1 is needed.")
    if gpus_per_worker is not None and (gpus_per_worker < 0 or (gpus_per_worker > 1 and gpus_per_worker % 1)):
        raise InputError(f"GPUs per worker {gpus_per_worker:g}: must be a share of one, or a whole number.")
    if ":" in chosen.device:
        raise InputError(
            f"device {chosen.device!r}: with engine ray, Ray chooses the GPU of each worker; use auto, cuda or cpu."
        )
    with Cluster(workers) as cluster:
        backend = partial(_spread, cluster, workers, gpus_per_worker)
        chosen = _for_workers(chosen, cluster, gpus_per_worker)
        return execute.judge(benchmark, runs, names, settings=chosen, backend=backend, **options)


def _for_workers(settings: Settings, cluster: Cluster, gpus_per_worker: float | None) -> Settings:
    """Return settings that mean the same here and on the workers: this machine may have no GPU, or the only one."""
    if settings.device == "cpu" or gpus_per_worker == 0:
        return replace(settings, device="cpu")
    if not cluster.is_given:
        return settings
    if gpus_per_worker is None and not any(node.get("GPU") for node in cluster.nodes()):
        if settings.device == "auto":
            return replace(settings, device="cpu")
        raise InputError(f"device {settings.device!r}: Ray has no GPU; add one, or use --device cpu.")
    return replace(settings, device="auto", dtype="bfloat16" if settings.dtype == "auto" else settings.dtype)


@runtime_checkable
class WithWeights(Protocol):
    """A judge that reads weights, and can be built anew from the request that it was made from."""

    request: JudgeRequest


def _spread(
    cluster: Cluster, workers: int | None, gpus_per_worker: float | None, job: Job
) -> Generator[pd.DataFrame, None, None]:
    """Start the workers, and return the answers once the first is ready; see `mrb_lib.runs.local.Backend`."""
    engine = job.judge.spec.get("engine")
    if engine in ENGINES and ENGINES[str(engine)].model == "server":
        job.notices.append(_NOT_SPREAD)
        return run_locally(job)
    gpus: float | None = 0.0
    memory = 0.0
    if isinstance(job.judge, WithWeights):
        source, settings = job.judge.request.weights, job.judge.request.settings
        gpus = 0.0 if settings.device == "cpu" else gpus_per_worker
        n_bytes = {
            usual: loaded_bytes(source.folder, usual if settings.dtype == "auto" else settings.dtype, settings.quantize)
            for usual in ("float32", "bfloat16")
        }
        memory = _BESIDE * n_bytes["float32"]
        if gpus is None:
            gpus = gpus_needed(n_bytes["bfloat16"])
    pool = cluster.pool(workers, gpus, memory)
    pool = pool._replace(workers=min(pool.workers, len(job.batches)))
    answers = _answers(job, pool.workers, {"num_cpus": pool.cpus, "num_gpus": pool.gpus})
    first = next(answers)
    job.devices.append(f"{pool.workers} x {first.device}")
    job.notices.extend(cluster.notices)
    return _collected(job, answers, {first.worker: first.notices})


def gpus_needed(n_bytes: float) -> float | None:
    """Return how many of this machine's GPUs hold so many bytes of weights; None where one does, or there are none."""
    import torch

    memory = [torch.cuda.mem_get_info(number)[1] for number in range(torch.cuda.device_count())]
    if not memory or ROOM * n_bytes <= min(memory):
        return None
    return float(math.ceil(ROOM * n_bytes / min(memory)))


@dataclass(frozen=True)
class Assignment:
    """Everything that all workers are told about one judge.

    Attributes
    ----------
    make : makes the judge from the images it is to see
    identity : what shapes its verdicts, see `mrb_lib.verdicts.manifest.identity`
    ratings, labels : see `mrb_lib.runs.plan.Plan`
    workers, on_gpu : how many there are, and whether each has a GPU
    versions : of the libraries where the run was started
    """

    name: str
    make: Callable[[Mapping[str, bytes]], Judge]
    identity: Mapping[str, object]
    ratings: Sequence[str]
    labels: Mapping[str, Sequence[str]]
    workers: int
    on_gpu: bool
    versions: Mapping[str, str]


@dataclass(frozen=True)
class Answer:
    """A worker's answer: the verdicts of a batch, None for the greeting; or an error."""

    batch: int
    worker: str
    verdicts: pd.DataFrame | None = None
    device: str = ""
    notices: tuple[str, ...] = ()
    error: MrbError | None = None


class Source:
    """Hands out batches on the machine where the run started, where its images lie."""

    def __init__(self, plan: Plan, batches: Sequence[np.ndarray], images: Mapping[str, bytes]) -> None:
        self._plan, self._batches, self._images, self._begun = plan, batches, images, 0

    def begin(self) -> int:
        """Return how many workers have begun since one answered a batch, with this one."""
        self._begun += 1
        return self._begun

    def batch(self, number: int, *, answered: bool) -> tuple[pd.DataFrame, Images]:
        """Return the rows of a batch as a judge is shown them, and their images.

        Parameters
        ----------
        answered : the worker that asks has answered another batch
        """
        self._begun *= not answered
        shown = to_shown_frame(self._plan.rows(self._batches[number]))
        images: dict[str, bytes | InputError] = {}
        for name in {name for listed in shown.get("images", ()) for name in listed}:
            try:
                images[name] = self._images[name]
            except KeyError:
                continue  # the judge says that it is missing
            except (InputError, OSError) as error:
                images[name] = InputError(str(error))
        return shown, images


class ArrivedImages(Mapping[str, bytes]):
    """The images of the batches under way, by name."""

    def __init__(self) -> None:
        self.of_batch: dict[int, Images] = {}

    def __getitem__(self, name: str) -> bytes:
        content = next((images[name] for images in tuple(self.of_batch.values()) if name in images), None)
        if content is None:
            raise KeyError(name)
        if isinstance(content, InputError):
            raise content
        return content

    def __iter__(self) -> Iterator[str]:
        return iter({name for images in tuple(self.of_batch.values()) for name in images})

    def __len__(self) -> int:
        return len(set(self))


class Worker:
    """One judge, loaded once. Called by two threads, it prepares a batch while it answers another.

    Whatever goes wrong is an answer, too: Ray would wrap it in pages of its own. Ray starts a worker that died anew,
    and gives it the same batches, without end; the source counts, so that there is one.

    Parameters
    ----------
    source : `Source`, wherever that is; called with the name of its method
    """

    def __init__(self, assigned: Assignment, source: Callable[..., Any]) -> None:
        self._assigned, self._source = assigned, source
        self._images, self._answered, self._error = ArrivedImages(), False, None
        self._preparing, self._answering = threading.Lock(), threading.Lock()
        name = assigned.name
        try:
            if source("begin") > assigned.workers + RESTARTS:
                raise RunError(
                    f"judge {name}: its workers died {RESTARTS + 1} times before one answered a batch, as when the "
                    "memory does not suffice; use fewer workers or a smaller --batch-size."
                )
            self._judge = assigned.make(self._images)
            changes = differences(assigned.identity, identity(self._judge.spec, self._judge.prompt_hash))
            if changes:
                raise RunError(
                    f"judge {name}: is not the same there ({in_words(changes)}); install the same versions of the "
                    "libraries on every machine, and the same weights."
                )
            if assigned.on_gpu and self._judge.device.startswith("cpu"):
                raise RunError(f"judge {name}: has a GPU that torch cannot use; `mrb doctor` says more there.")
            self._judge.load()
        except Exception as error:  # noqa: BLE001  # reported with the first batch
            self._error = self._plain(error, "cannot be loaded")

    def __call__(self, row: Mapping[str, int]) -> dict[str, bytes]:
        """Return the pickled `Answer` to one batch."""
        return {"answer": pickle.dumps(self.answer(row["batch"]))}

    def answer(self, number: int) -> Answer:
        """Answer one batch, by its number."""
        worker = f"{platform.node()} {os.getpid()}"
        if self._error is not None:
            return Answer(number, worker, error=self._error)
        try:
            verdicts = None if number == GREETING else self._verdicts(number)
        except Exception as error:  # noqa: BLE001  # whatever a judge raises
            return Answer(number, worker, error=self._plain(error, "failed"))
        notices = (*_other_versions(self._assigned.versions), *self._judge.notices)
        return Answer(number, worker, verdicts, self._judge.device, notices)

    def _verdicts(self, number: int) -> pd.DataFrame:
        with self._preparing:
            shown, self._images.of_batch[number] = self._source("batch", number, answered=self._answered)
            prepared = prepare_rows(self._judge, shown)
        with self._answering:
            verdicts = answer_rows(self._judge, prepared, self._assigned.ratings, self._assigned.labels)
        del self._images.of_batch[number]
        self._answered = True
        return verdicts

    def _plain(self, error: Exception, what: str) -> MrbError:
        """Return an error that says in a line what happened on which machine."""
        error = getattr(error, "cause", error)  # of one that the source raised
        if isinstance(error, MrbError):
            return (InputError if isinstance(error, InputError) else RunError)(f"{error} (on {platform.node()})")
        text = f"{what} on {platform.node()} ({type(error).__name__}: {' '.join(str(error).split())})"
        return RunError(f"judge {self._assigned.name}: {text}; --engine local shows where.")


def _other_versions(versions: Mapping[str, str]) -> list[str]:
    """Return a notice about libraries that are in another version here."""
    here = {name: version for name, version in library_versions().items() if name in versions}
    other = in_words(differences({name: versions[name] for name in here}, here))
    return [f"{platform.node()} has other libraries ({other}): its verdicts may differ a little"] if other else []


def assignment(job: Job, workers: int, *, on_gpu: bool) -> Assignment:
    """Return what workers must know to answer for a judge that is not loaded yet."""
    judge, plan = job.judge, job.plan
    make: Callable[[Mapping[str, bytes]], Judge] = lambda _: judge  # noqa: E731
    if isinstance(judge, WithWeights):
        make = partial(_rebuilt, type(judge), replace(judge.request, images={}))
    same = identity(judge.spec, judge.prompt_hash)
    return Assignment(judge.name, make, same, plan.ratings, plan.labels, workers, on_gpu, library_versions())


def _rebuilt(build: Callable[[JudgeRequest], Judge], request: JudgeRequest, images: Mapping[str, bytes]) -> Judge:
    """Build a judge from the weights that lie here, whose revision is in its spec."""
    revision, trust = request.weights.revision, request.settings.trust_remote_code
    here = locate_weights(request.entry, revision=revision, download=False, trust_remote_code=trust)
    return build(replace(request, source=here, images=images))


def _answers(job: Job, workers: int, resources: dict[str, Any]) -> Generator[Answer, None, None]:
    """Yield the answers to the greeting and to all batches as they come; raises what went wrong with a worker."""
    try:
        import ray.data

        numbers = [{"batch": number} for number in range(GREETING, len(job.batches))]
        data = ray.data.from_items(numbers, override_num_blocks=len(numbers)).map(
            cast("Callable[[dict[str, Any]], dict[str, Any]]", Worker),  # Ray makes it on each machine
            fn_constructor_args=(assignment(job, workers, on_gpu=resources["num_gpus"] > 0), _shared(job)),
            compute=ray.data.ActorPoolStrategy(
                size=workers,
                max_tasks_in_flight_per_actor=_BATCHES_OF_A_WORKER,
                max_concurrent_calls_per_actor=_BATCHES_OF_A_WORKER,
                enable_true_multi_threading=True,
            ),
            **resources,
        )
        batches = data.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0)
        for table in cast("Iterable[pa.Table]", batches):
            for cell in table.column("answer"):
                answer: Answer = pickle.loads(cell.as_py())  # noqa: S301  # made by a worker of this run
                if answer.error is not None:
                    raise answer.error
                yield answer
    except MrbError:
        raise
    except Exception as error:
        raise RunError(
            f"judge {job.judge.name}: the workers cannot go on ({reason_of(error)}); every machine needs mrb-workbench "
            "with [judges,scaleout], in the same versions. Run the same command again to go on."
        ) from error


def _shared(job: Job) -> Callable[..., object]:
    """Start the source of a job's batches on this machine, and return how workers ask it."""
    import ray

    here = {"ray.io/node-id": ray.get_runtime_context().get_node_id()}
    lasting = ray.remote(num_cpus=0, label_selector=here, max_restarts=RESTARTS, max_task_retries=RESTARTS)(Source)
    return partial(_ask, lasting.remote(job.plan, job.batches, job.images))


def _ask(source: Any, method: str, *arguments: object, **options: object) -> object:
    import ray

    return ray.get(getattr(source, method).remote(*arguments, **options))


def _collected(
    job: Job, answers: Generator[Answer, None, None], notices_of: dict[str, tuple[str, ...]]
) -> Generator[pd.DataFrame, None, None]:
    """Yield the verdicts of every batch, once each."""
    missing = set(range(len(job.batches)))
    try:
        for answer in answers:
            notices_of[answer.worker] = answer.notices
            if answer.verdicts is None or answer.batch not in missing:
                continue
            missing.remove(answer.batch)
            if not np.isin(job.plan.numbers(answer.verdicts), job.batches[answer.batch]).all():
                raise RunError(f"judge {job.judge.name}: a worker answered what was not asked; its batch is not kept.")
            yield answer.verdicts
    finally:
        answers.close()
    if missing:
        raise RunError(f"judge {job.judge.name}: {len(missing)} batches did not come back; run the same command again.")
    job.notices.extend(added_up(text for notices in notices_of.values() for text in notices))


def added_up(notices: Iterable[str]) -> list[str]:
    """Return the notices of all workers, once each; counts, as "3 of 12 verdicts ...", are added up."""
    counts: dict[str, Counter[str]] = {}
    for text in notices:
        some, every, rest = match.groups() if (match := _COUNTED.match(text)) else ("0", "0", text)
        counts.setdefault(rest, Counter()).update(some=int(some), every=int(every))
    return [f"{n['some']} of {n['every']}{rest}" if n["every"] else rest for rest, n in counts.items()]
