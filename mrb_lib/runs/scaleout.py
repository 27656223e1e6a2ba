"""Running judges on many GPUs and machines with Ray Data: same rows, same store, same resuming as in one process.

This process plans, and keeps what arrives. Workers load one judge each, and answer batches. Cases and images come with
the batches, so a worker needs nothing but the library and the weights. The Ray is the cluster that RAY_ADDRESS names,
or one on this machine while needed.
"""

from __future__ import annotations

import logging
import os
import pickle
import platform
import re
import socket
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.util import find_spec
from itertools import chain
from typing import Any, Final, cast

import numpy as np
import pandas as pd
import pyarrow as pa

from mrb_lib.judges.roster.engines import ENGINES, JudgeRequest
from mrb_lib.judges.roster.source import locate_weights
from mrb_lib.judges.settings import Settings
from mrb_lib.runs.local import Backend, Job, prepared, run_locally
from mrb_lib.runs.plan import Plan
from mrb_lib.runs.planned import PlannedModel
from mrb_lib.tables.errors import InputError, MrbError, RunError
from mrb_lib.tables.validation import Rules
from mrb_lib.verdicts.manifest import differences, identity
from mrb_lib.verdicts.orders import to_shown_frame
from mrb_lib.verdicts.protocol import Judge

ADDRESS: Final = "RAY_ADDRESS"
# Times that a worker that dies is started anew, and that each of its batches is answered anew.
_LASTING: Final[dict[str, Any]] = {"max_restarts": 4, "max_task_retries": 4}
_CPUS_OF_A_WORKER: Final = 2
# Ray reports to nobody and logs nothing here; without a cluster to join, its processes talk over loopback only.
_ENVIRONMENT: Final = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_DATA_USAGE_DISABLED": "1", "RAY_BACKEND_LOG_LEVEL": "fatal"}
_LOOPBACK: Final = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
_COUNTED: Final = re.compile(r"(\d+) of (\d+)( .*)")


def check_installed() -> None:
    """Raise `InputError` unless Ray is installed."""
    if find_spec("ray") is None:
        raise InputError("engine ray: needs ray; install it with `pip install 'mrb-workbench[scaleout]'`.")


def room(nodes: Sequence[Mapping[str, float]], needs: Mapping[str, float]) -> int:
    """Return how many workers with these needs the machines hold at once; both as `{"CPU": 8.0, "GPU": 2.0}`."""
    return sum(min(int(node.get(key, 0) / need + 1e-9) for key, need in needs.items() if need) for node in nodes)


def size_pool(
    nodes: Sequence[Mapping[str, float]], workers: int | None, gpus: float | None
) -> tuple[int, dict[str, float]]:
    """Return the number of workers and the needs of each, see `room`; `InputError` where machines lack the room.

    Parameters
    ----------
    workers : None for as many as there is room for: with GPUs by the share that each
        takes, without them one for every two processors
    gpus : of each worker; None for one GPU each where there are any
    """
    if gpus is None:
        gpus = 1.0 if any(node.get("GPU") for node in nodes) else 0.0
    wanted = workers or max(1, room(nodes, {"CPU": 1 if gpus else _CPUS_OF_A_WORKER, "GPU": gpus}))
    most = _CPUS_OF_A_WORKER if gpus else int(max((node.get("CPU", 0) for node in nodes), default=1))
    choices = [{"CPU": cpus, "GPU": gpus} for cpus in range(max(most, 1), 0, -1)]
    needs = next((needs for needs in choices if room(nodes, needs) >= wanted), choices[-1])
    if (there := room(nodes, needs)) < wanted:
        kind = f"{needs['GPU']:g} GPUs" if needs["GPU"] else f"{needs['CPU']} CPUs"
        raise InputError(f"{wanted} workers with {kind} each: there is room for {there}; use fewer --workers.")
    return wanted, needs


class Cluster(ExitStack):
    """A Ray that is started, or connected to, when it is first needed, and ends with the block if it was started.

    A Ray that this process is connected to already is used, and left running.
    """

    @property
    def is_given(self) -> bool:
        """True where there is a Ray to use, so that none is to be started."""
        ray = sys.modules.get("ray")
        return os.environ.get(ADDRESS, "") not in ("", "local") or (ray is not None and bool(ray.is_initialized()))

    def nodes(self) -> list[Mapping[str, float]]:
        """Return what each machine has, with the name of its address; starts Ray, or connects to it, if need be.

        Raises
        ------
        RunError
            Ray does not start, or no cluster answers.
        """
        for name, value in (_ENVIRONMENT if self.is_given else _ENVIRONMENT | _LOOPBACK).items():
            os.environ.setdefault(name, value)
        # Copying its settings, Ray Data touches those that it has deprecated itself.
        self.enter_context(warnings.catch_warnings(action="ignore", category=DeprecationWarning))
        import ray.data

        logging.getLogger("ray.data").setLevel(logging.CRITICAL + 1)
        ray.data.DataContext.get_current().enable_progress_bars = False
        if not ray.is_initialized():
            self._start(os.environ.get(ADDRESS) or "local")
        nodes = cast("Callable[[], list[dict[str, Mapping[str, float]]]]", ray.nodes)()
        return [node["Resources"] for node in nodes if node["Alive"]]

    def _start(self, address: str) -> None:
        """Connect to the cluster at an address, or start a Ray of this process's own where it is "local"."""
        import ray

        options: dict[str, Any] = {}
        if address == "local":
            folder = self.enter_context(tempfile.TemporaryDirectory(prefix="mrb-", ignore_cleanup_errors=True))
            # The store holds the images of the batches under way; what is more goes to disk.
            options = {"object_store_memory": 400 * 1024**2, "include_dashboard": False, "_temp_dir": folder}
            if hasattr(os, "sched_getaffinity"):  # Ray counts those, too, that this process may not use
                options["num_cpus"] = len(os.sched_getaffinity(0))
        self.callback(ray.shutdown)
        try:
            if address not in ("local", "auto"):
                # Where nobody listens, Ray would go on trying for minutes.
                host, _, port = address.rpartition(":")
                socket.create_connection((host.strip("[]"), int(port)), timeout=10.0).close()
            ray.init(address, logging_level=logging.CRITICAL, log_to_driver=False, **options)
        except Exception as error:
            raise RunError(
                f"Ray cannot be used at {ADDRESS}={address} ({_reason_of(error)}); name HOST:PORT of a machine where "
                "`ray start` ran, or use --engine local."
            ) from error


def _reason_of(error: BaseException) -> str:
    """Return an error's own words without the traceback that Ray puts before them."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    return lines[-1 if any(line.startswith("Traceback") or "ray::" in line for line in lines) else 0]


def on_ray(cluster: Cluster, one: PlannedModel) -> tuple[Settings, Backend]:
    """Return the settings and the backend with which a judge is spread over the machines of a cluster.

    Judges that ask a server, and juries, work in this process. A worker that dies is started anew and its batches are
    answered again.

    Validated by tests/runs/test_scaleout.py.

    Parameters
    ----------
    cluster : connected to when the first batch is to be answered, or to find out if it has GPUs
    one : its `workers` is the number of models loaded at once, None for one per worker's GPUs or per two CPUs; its
        `gpus_per_worker` is None for one where there are any

    Raises
    ------
    InputError
        Ray is not installed, or the device is none that Ray can choose.
    """
    check_installed()
    if ":" in (device := one.settings.device):
        raise InputError(
            f"device {device!r}: with engine ray, Ray chooses the GPU of each worker; use auto, cuda or cpu."
        )
    return for_workers(one.settings, cluster, one.gpus_per_worker), partial(_spread, cluster, one)


def for_workers(settings: Settings, cluster: Cluster, gpus_per_worker: float | None) -> Settings:
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


def _spread(cluster: Cluster, one: PlannedModel, job: Job) -> Generator[pd.DataFrame, None, None]:
    """Start the workers, and return the answers once the first is there; see `mrb_lib.runs.local.Backend`."""
    engine = job.judge.spec.get("engine")
    if engine in ENGINES and ENGINES[str(engine)].model == "server":
        job.notices.append("worked in this process: it asks a server, and workers would not make that faster")
        return run_locally(job)
    request: JudgeRequest | None = getattr(job.judge, "request", None)
    on_gpu = request is not None and request.settings.device != "cpu"
    most, needs = size_pool(cluster.nodes(), one.workers, one.gpus_per_worker if on_gpu else 0.0)
    workers = min(most, len(job.batches))
    answers = _answers(job, workers, {"num_cpus": needs["CPU"], "num_gpus": needs["GPU"]})
    first = next(answers)
    job.devices.append(f"{workers} x {first.device}")
    return _collected(job, answers, first)


Make = Callable[[Mapping[str, bytes]], Judge]
"""Makes a judge from the images that it is to see."""


@dataclass(frozen=True)
class Answer:
    """A worker's answer: the verdicts of a batch, or an error."""

    worker: str
    batch: int
    verdicts: pd.DataFrame = field(default_factory=pd.DataFrame)
    device: str = ""
    notices: Sequence[str] = ()
    error: MrbError | None = None


class Source:
    """Hands out batches on the machine where the run started, where its images lie."""

    def __init__(self, plan: Plan, batches: Sequence[np.ndarray], images: Mapping[str, bytes]) -> None:
        self._plan, self._batches, self._images = plan, batches, images

    def batch(self, number: int) -> tuple[pd.DataFrame, ArrivedImages, Rules]:
        """Return a batch's rows as a judge is shown them, their images, and what the benchmark allows in verdicts."""
        shown = to_shown_frame(self._plan.rows(self._batches[number]))
        images = ArrivedImages()
        for name in {name for listed in shown.get("images", ()) for name in listed}:
            with suppress(KeyError, OSError):  # the judge says that it is missing
                try:
                    images[name] = self._images[name]
                except InputError as error:
                    images[name] = error
        return shown, images, self._plan.rules


class ArrivedImages(dict[str, Any]):
    """The images of a batch by name; of one that cannot be shown the error, which is raised here as it was there."""

    def __getitem__(self, name: str) -> bytes:
        content: bytes | InputError = super().__getitem__(name)
        if isinstance(content, InputError):
            raise content
        return content


class Worker:
    """One judge, loaded once, that answers a batch at a time.

    Whatever goes wrong is an answer, too: Ray would wrap it in pages of its own.

    Parameters
    ----------
    name : of the judge, for messages
    same : what shapes its verdicts, see `mrb_lib.verdicts.manifest.identity`
    on_gpu : each worker has one
    batch : gives a batch by its number, see `Source.batch`
    """

    def __init__(
        self, name: str, make: Make, same: Mapping[str, object], on_gpu: bool, batch: Callable[[int], Any]
    ) -> None:
        self._name, self._batch, self._error = name, batch, None
        self._images = ArrivedImages()
        try:
            self._judge = make(self._images)
            if changes := differences(same, identity(self._judge.spec, self._judge.prompt_hash)):
                raise RunError(
                    f"judge {name}: is not the same there ({changes}); install the same versions of the "
                    "libraries on every machine, and the same weights."
                )
            if on_gpu and self._judge.device.startswith("cpu"):
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
            return Answer(worker, number, error=self._error)
        try:
            shown, images, rules = self._batch(number)
            self._images.clear()
            self._images.update(images)
            verdicts = prepared(self._judge, shown, rules)()
        except Exception as error:  # noqa: BLE001  # whatever a judge raises
            return Answer(worker, number, error=self._plain(error, "failed"))
        return Answer(worker, number, verdicts, self._judge.device, self._judge.notices)

    def _plain(self, error: Exception, what: str) -> MrbError:
        """Return an error that says in a line what happened on which machine."""
        error = getattr(error, "cause", error)  # of one that the source raised
        if isinstance(error, MrbError):
            return (InputError if isinstance(error, InputError) else RunError)(f"{error} (on {platform.node()})")
        text = f"{what} on {platform.node()} ({type(error).__name__}: {' '.join(str(error).split())})"
        return RunError(f"judge {self._name}: {text}; --engine local shows where.")


def assignment(job: Job, *, on_gpu: bool) -> tuple[str, Make, Mapping[str, object], bool]:
    """Return what workers must know to answer for a judge that is not loaded yet, see `Worker`."""
    judge = job.judge
    request: JudgeRequest | None = getattr(judge, "request", None)  # of one that reads weights
    # Ray pickles a judge without weights as it is.
    make: Make = partial(_rebuilt, type(judge), replace(request, images={})) if request else lambda _: judge
    return judge.name, make, identity(judge.spec, judge.prompt_hash), on_gpu


def _rebuilt(build: Callable[[JudgeRequest], Judge], request: JudgeRequest, images: Mapping[str, bytes]) -> Judge:
    """Build a judge from the weights that lie here, whose revision is in its spec."""
    revision, trust = request.weights.revision, request.settings.trust_remote_code
    here = locate_weights(request.entry, revision=revision, download=False, trust_remote_code=trust)
    return build(replace(request, source=here, images=images))


def _answers(job: Job, workers: int, resources: dict[str, Any]) -> Generator[Answer, None, None]:
    """Yield the answers to all batches as they come; raises what went wrong with a worker."""
    try:
        import ray.data

        numbers = [{"batch": number} for number in range(len(job.batches))]
        data = ray.data.from_items(numbers, override_num_blocks=len(numbers)).map(
            cast("Callable[[dict[str, Any]], dict[str, Any]]", Worker),  # Ray makes it on each machine
            fn_constructor_args=(*assignment(job, on_gpu=resources["num_gpus"] > 0), _shared(job)),
            compute=ray.data.ActorPoolStrategy(size=workers),
            **resources,
            **_LASTING,
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
            f"judge {job.judge.name}: the workers cannot go on ({_reason_of(error)}); every machine needs "
            "mrb-workbench with [judges,scaleout], in the same versions, and memory for its workers (fewer --workers, "
            "more --gpus-per-worker, a smaller --batch-size). Run the same command again to go on."
        ) from error


def _shared(job: Job) -> Callable[[int], Any]:
    """Start the source of a job's batches on this machine, and return how workers ask it for one."""
    import ray

    here = {"ray.io/node-id": ray.get_runtime_context().get_node_id()}
    lasting: Any = ray.remote(num_cpus=0, label_selector=here, **_LASTING)(Source)
    source = lasting.remote(job.plan, job.batches, job.images)
    return lambda number: ray.get(source.batch.remote(number))


def _collected(job: Job, answers: Generator[Answer, None, None], first: Answer) -> Generator[pd.DataFrame, None, None]:
    """Yield the verdicts of every batch, once each; raises `RunError` where one did not come back."""
    notices_of: dict[str, Sequence[str]] = {}
    missing = set(range(len(job.batches)))
    with closing(answers):
        for answer in chain([first], answers):
            notices_of[answer.worker] = answer.notices
            if answer.batch in missing:
                missing.remove(answer.batch)
                yield answer.verdicts
    if missing:
        raise RunError(f"judge {job.judge.name}: {len(missing)} batches did not come back; run the same command again.")
    job.notices.extend(added_up(chain.from_iterable(notices_of.values())))


def added_up(notices: Iterable[str]) -> list[str]:
    """Merge the notices of all workers, adding up counts such as "3 of 12 verdicts ..."."""
    counts: dict[str, Counter[str]] = {}
    for text in notices:
        some, every, rest = match.groups() if (match := _COUNTED.match(text)) else ("0", "0", text)
        counts.setdefault(rest, Counter()).update(some=int(some), every=int(every))
    return [f"{n['some']} of {n['every']}{rest}" if n["every"] else rest for rest, n in counts.items()]
