"""The Ray that judges are spread over: the cluster that RAY_ADDRESS names, or one on this machine while needed."""

from __future__ import annotations

import logging
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, cast

from mrb_lib.runs.ray.ray_logging import environment, own_signals, quiet, silent_stderr
from mrb_lib.tables.errors import InputError, RunError

ADDRESS: Final = "RAY_ADDRESS"
INSTALL: Final = "`pip install 'mrb-workbench[scaleout]'`"
# Holds the cases' texts and the images of the batches under way; what is more goes to disk.
OBJECT_STORE_BYTES: Final = 400 * 1024**2
_CPUS_OF_A_WORKER: Final = 2
# On a machine that is busy, Ray's own processes sometimes miss each other's deadlines.
_ATTEMPTS: Final = 2
_CONNECT_S: Final = 10.0
_ROUNDING: Final = 1e-9
# Nothing is reported to anybody; what goes wrong is said by this library; and workers are all that is wanted here.
_ENVIRONMENT: Final = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DATA_USAGE_DISABLED": "1",
    "RAY_BACKEND_LOG_LEVEL": "fatal",
    "RAY_worker_niceness": "0",
}
# Ray reads it when it is imported: without clusters, its processes talk over loopback only.
_LOOPBACK: Final = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}


@dataclass(frozen=True)
class WorkerPool:
    """How many workers, and the processors and the share of a GPU that each of them takes."""

    workers: int
    cpus: int
    gpus: float


def size_pool(
    nodes: Sequence[Mapping[str, float]],
    workers: int | None,
    gpus_per_worker: float | None,
    device: str = "auto",
    memory: float = 0.0,
) -> WorkerPool:
    """Share out the machines of a cluster.

    Parameters
    ----------
    nodes : what each machine has, as `{"CPU": 8.0, "GPU": 2.0, "memory": 3e10}`
    workers : None for as many as there is room for: with GPUs by the share that each
        takes, without them one for every two processors, as far as the memory suffices
    gpus_per_worker : None for one GPU each where there are any
    device : "cpu" asks for no GPUs
    memory : bytes that a worker needs on a machine without a GPU, as far as is known

    Returns
    -------
    WorkerPool
        It may be larger than the cluster, which may grow; see `capacity`.
    """
    gpus = gpus_per_worker
    if gpus is None:
        gpus = 1.0 if device != "cpu" and any(node.get("GPU", 0) for node in nodes) else 0.0
    usual = WorkerPool(0, 1 if gpus else _CPUS_OF_A_WORKER, gpus)
    wanted = workers or max(1, capacity(nodes, usual, 0.0 if gpus else memory))
    most = _CPUS_OF_A_WORKER if gpus else int(max((node.get("CPU", 0.0) for node in nodes), default=1.0))
    pools = (WorkerPool(wanted, cpus, gpus) for cpus in range(most, 1, -1))
    return next((pool for pool in pools if capacity(nodes, pool) >= wanted), WorkerPool(wanted, 1, gpus))


def capacity(nodes: Sequence[Mapping[str, float]], pool: WorkerPool, memory: float = 0.0) -> int:
    """How many workers of a pool, each with so many bytes of memory, the machines hold at once."""
    needs = {"CPU": pool.cpus, "GPU": pool.gpus, "memory": memory}
    return sum(
        min(int(node.get(name, 0.0) / need + _ROUNDING) for name, need in needs.items() if need) for node in nodes
    )


class Cluster:
    """A Ray that is started, or connected to, when it is first needed, and ends with the block if it was started.

    A Ray that this process is connected to already is used, and left as it is.

    Parameters
    ----------
    workers : the least number of processors that a Ray on this machine is to count
    """

    def __init__(self, workers: int | None) -> None:
        self._workers = workers
        self._ends = ExitStack()
        self._connected = self._is_mine = False

    def __enter__(self) -> Cluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ends.close()

    @property
    def is_given(self) -> bool:
        """Whether there is a Ray to use, so that none is to be started."""
        ray = sys.modules.get("ray")
        return os.environ.get(ADDRESS, "") not in ("", "local") or (ray is not None and bool(ray.is_initialized()))

    @property
    def notices(self) -> list[str]:
        """What the user should know about the choice."""
        recorded = Path(tempfile.gettempdir(), "ray", "ray_current_cluster")
        if not (self._is_mine and recorded.is_file()):
            return []
        return [f"a Ray cluster that runs on this machine was not used; {ADDRESS}=auto would use it"]

    def connect(self) -> None:
        """Start Ray, or connect to it, unless that is done.

        Raises
        ------
        InputError
            RAY_ADDRESS cannot be used from here.
        RunError
            Ray does not start, or no cluster answers.
        """
        if self._connected:
            return
        joins = self.is_given
        with environment({} if joins or "ray" in sys.modules else _LOOPBACK):
            import ray
        self._ends.enter_context(environment(_ENVIRONMENT))
        self._ends.enter_context(quiet())
        if not ray.is_initialized():
            with own_signals():
                if joins:
                    self._ends.callback(ray.shutdown)
                    _join(os.environ[ADDRESS])
                else:
                    self._start()
        self._connected = True

    def nodes(self) -> list[Mapping[str, float]]:
        """What each machine has, with the name of its address."""
        import ray

        self.connect()
        nodes = cast("Callable[[], list[dict[str, Mapping[str, float]]]]", ray.nodes)()
        return [node["Resources"] for node in nodes if node["Alive"]]

    def pool(self, workers: int | None, gpus_per_worker: float | None, device: str, memory: float) -> WorkerPool:
        """The pool for a judge; see `size_pool`.

        Raises
        ------
        InputError
            This machine has no room for it. A cluster may grow, so there a word on stderr must do.
        """
        nodes = self.nodes()
        pool = size_pool(nodes, workers, gpus_per_worker, device, memory)
        there = capacity(nodes, pool)
        if there >= pool.workers:
            return pool
        kind = f"{pool.gpus:g} GPUs" if pool.gpus else f"{pool.cpus} CPUs"
        if self._is_mine:
            raise InputError(f"{pool.workers} workers with {kind} each: this machine has room for {there}; use fewer.")
        logging.getLogger(__name__).warning(
            "Ray has room for %d of %d workers with %s each; the others wait until it has.", there, pool.workers, kind
        )
        return pool

    def _start(self) -> None:
        import ray

        self._is_mine = True
        folder = Path(tempfile.mkdtemp(prefix="mrb-"))
        self._ends.callback(shutil.rmtree, folder, ignore_errors=True)
        self._ends.callback(ray.shutdown)
        try:
            cpus = len(os.sched_getaffinity(0))
        except AttributeError:  # not on macOS
            cpus = os.cpu_count() or 1
        options: dict[str, Any] = {
            "address": "local",
            "num_cpus": max(cpus, self._workers or 1),
            "include_dashboard": False,
            "object_store_memory": OBJECT_STORE_BYTES,
            "_temp_dir": str(folder),
        }
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                with silent_stderr():
                    ray.init(**options, logging_level=logging.CRITICAL, log_to_driver=False)
                return
            except Exception as error:
                if attempt == _ATTEMPTS:
                    raise RunError(
                        f"Ray does not start on this machine ({reason_of(error)}); use --engine local."
                    ) from error


def _join(address: str) -> None:
    import ray

    if "://" in address:
        raise InputError(
            f"{ADDRESS}={address}: a cluster is used from one of its machines; run the command there, for one with "
            "`ray job submit -- mrb judge ...`."
        )
    host, _, port = address.rpartition(":")
    try:
        if address != "auto":
            # Where nobody listens, Ray would go on trying for minutes.
            socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_S).close()
        with silent_stderr():
            ray.init(address=address, logging_level=logging.CRITICAL, log_to_driver=False)
    except Exception as error:
        raise RunError(
            f"{ADDRESS}={address}: no Ray cluster can be used there ({reason_of(error)}); start one with `ray start`, "
            f"or unset {ADDRESS} to use this machine alone."
        ) from error


def reason_of(error: BaseException) -> str:
    """An error's own words without the traceback that Ray puts before them."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    return lines[-1] if any(line.startswith("Traceback") or "ray::" in line for line in lines) else lines[0]
