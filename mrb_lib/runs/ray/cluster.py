"""The Ray that judges are spread over: the cluster that RAY_ADDRESS names, or one on this machine while needed."""

from __future__ import annotations

import logging
import os
import socket
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

from mrb_lib.tables.errors import InputError, RunError

ADDRESS: Final = "RAY_ADDRESS"
# Holds the images of the batches under way; what is more goes to disk.
_OBJECT_STORE_BYTES: Final = 400 * 1024**2
_CPUS_OF_A_WORKER: Final = 2
# On a machine that is busy, Ray's own processes sometimes miss each other's deadlines.
_ATTEMPTS: Final = 2
_CONNECT_S: Final = 10.0
_ROUNDING: Final = 1e-9
_STDERR: Final = 2
# Ray reports to nobody and logs nothing here; without a cluster to join, its processes talk over loopback only.
_ENVIRONMENT: Final = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DATA_USAGE_DISABLED": "1",
    "RAY_BACKEND_LOG_LEVEL": "fatal",
    "RAY_worker_niceness": "0",
}
_LOOPBACK: Final = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
# Ray ends this process at once, with status 1, when its process on this machine dies: another process must say so.
_WATCH: Final = 'read -r _ || { echo "$2" >&2; sleep 3; rm -rf "$1"; }'
_ENDED: Final = (
    "\nRay stopped on this machine, as when one of its processes is killed or memory runs out, and this command with "
    "it. The verdicts that arrived are kept: run the same command again to go on, with fewer --workers or with "
    "--engine local."
)


def check_installed() -> None:
    """Raise `InputError` unless Ray is installed."""
    if find_spec("ray") is None:
        raise InputError("engine ray: needs ray; install it with `pip install 'mrb-workbench[scaleout]'`.")


class WorkerPool(NamedTuple):
    """A number of workers, and the processors and GPUs (or the share of one) that each of them takes."""

    workers: int
    cpus: int
    gpus: float

    def room(self, nodes: Sequence[Mapping[str, float]]) -> int:
        """Return how many such workers the machines hold at once."""
        needs = {"CPU": self.cpus, "GPU": self.gpus}
        return sum(
            min(int(node.get(key, 0) / need + _ROUNDING) for key, need in needs.items() if need) for node in nodes
        )


def size_pool(nodes: Sequence[Mapping[str, float]], workers: int | None, gpus: float | None) -> WorkerPool:
    """Share out the machines of a cluster.

    Parameters
    ----------
    nodes : what each machine has, as `{"CPU": 8.0, "GPU": 2.0}`
    workers : None for as many as there is room for: with GPUs by the share that each
        takes, without them one for every two processors
    gpus : of each worker; None for one GPU each where there are any

    Returns
    -------
    WorkerPool
        It may be larger than the cluster, which may grow.
    """
    if gpus is None:
        gpus = 1.0 if any(node.get("GPU") for node in nodes) else 0.0
    wanted = workers or max(1, WorkerPool(0, 1 if gpus else _CPUS_OF_A_WORKER, gpus).room(nodes))
    most = _CPUS_OF_A_WORKER if gpus else int(max((node.get("CPU", 0) for node in nodes), default=1))
    pools = (WorkerPool(wanted, cpus, gpus) for cpus in range(most, 1, -1))
    return next((pool for pool in pools if pool.room(nodes) >= wanted), WorkerPool(wanted, 1, gpus))


class Cluster(ExitStack):
    """A Ray that is started, or connected to, when it is first needed, and ends with the block if it was started.

    A Ray that this process is connected to already is used, and left as it is.

    Parameters
    ----------
    workers : the least number of processors that a Ray on this machine is to count
    """

    def __init__(self, workers: int | None) -> None:
        super().__init__()
        self._workers = workers
        self._connected = self._is_mine = False

    @property
    def is_given(self) -> bool:
        """True where there is a Ray to use, so that none is to be started."""
        ray = sys.modules.get("ray")
        return os.environ.get(ADDRESS, "") not in ("", "local") or (ray is not None and bool(ray.is_initialized()))

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
        address = os.environ.get(ADDRESS, "")
        if "://" in address:
            raise InputError(
                f"{ADDRESS}={address}: a cluster is used from one of its machines; run the command there, for one with "
                "`ray job submit -- mrb judge ...`."
            )
        for name, value in (_ENVIRONMENT if self.is_given else _ENVIRONMENT | _LOOPBACK).items():
            os.environ.setdefault(name, value)
        # Copying its settings, Ray Data touches those that it has deprecated itself.
        self.enter_context(warnings.catch_warnings(action="ignore", category=DeprecationWarning))
        import ray.data
        from ray._private import worker

        log = logging.getLogger("ray.data")
        self.callback(log.setLevel, log.level)
        log.setLevel(logging.CRITICAL + 1)
        # What Ray's own processes report would be printed among this command's results, on stdout.
        for place, name in (
            (ray.data.DataContext.get_current(), "enable_progress_bars"),
            (worker, "_worker_logs_enabled"),
        ):
            self.callback(setattr, place, name, getattr(place, name))
            setattr(place, name, False)
        if not ray.is_initialized():
            self._start(address)
        self._connected = True

    def nodes(self) -> list[Mapping[str, float]]:
        """Return what each machine has, with the name of its address."""
        import ray

        self.connect()
        nodes = cast("Callable[[], list[dict[str, Mapping[str, float]]]]", ray.nodes)()
        return [node["Resources"] for node in nodes if node["Alive"]]

    def pool(self, workers: int | None, gpus_per_worker: float | None) -> WorkerPool:
        """Return the pool for a judge; see `size_pool`.

        Raises
        ------
        InputError
            This machine has no room for it. A cluster may grow, so there a word on stderr must do.
        """
        nodes = self.nodes()
        pool = size_pool(nodes, workers, gpus_per_worker)
        there = pool.room(nodes)
        if there < pool.workers:
            kind = f"{pool.gpus:g} GPUs" if pool.gpus else f"{pool.cpus} CPUs"
            text = f"{pool.workers} workers with {kind} each: there is room for {there}"
            if self._is_mine:
                raise InputError(f"{text} on this machine; use fewer.")
            logging.getLogger(__name__).warning("Ray: %s; the others wait until there is more.", text)
        return pool

    def _start(self, address: str) -> None:
        """Connect to the cluster at an address, or start a Ray of this process's own where it is empty or "local"."""
        import ray

        self._is_mine = address in ("", "local")
        options: dict[str, Any] = {}
        if self._is_mine:
            folder = self.enter_context(tempfile.TemporaryDirectory(prefix="mrb-", ignore_cleanup_errors=True))
            watch = subprocess.Popen(
                ["sh", "-c", _WATCH, "sh", folder, _ENDED], stdin=subprocess.PIPE, start_new_session=True
            )
            self.callback(watch.communicate, b"ended as it should\n")
            cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
            options = {"num_cpus": max(cpus, self._workers or 1), "object_store_memory": _OBJECT_STORE_BYTES}
            options |= {"include_dashboard": False, "_temp_dir": folder}
        self.callback(ray.shutdown)
        where = "on this machine" if self._is_mine else f"at {ADDRESS}={address}"
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                if address not in ("", "local", "auto"):
                    # Where nobody listens, Ray would go on trying for minutes.
                    host, _, port = address.rpartition(":")
                    socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_S).close()
                with _silent_stderr():
                    ray.init(address or "local", logging_level=logging.CRITICAL, log_to_driver=False, **options)
                return
            except Exception as error:
                if attempt == _ATTEMPTS:
                    raise RunError(
                        f"Ray cannot be used {where} ({reason_of(error)}); use --engine local, or run `ray start`."
                    ) from error


@contextmanager
def _silent_stderr() -> Iterator[None]:
    """Hide what Ray's compiled part announces past Python: that it logs nothing."""
    sys.stderr.flush()
    kept = os.dup(_STDERR)
    try:
        with Path(os.devnull).open("w") as nowhere:
            os.dup2(nowhere.fileno(), _STDERR)
        yield
    finally:
        os.dup2(kept, _STDERR)
        os.close(kept)


def reason_of(error: BaseException) -> str:
    """Return an error's own words without the traceback that Ray puts before them."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    return lines[-1] if any(line.startswith("Traceback") or "ray::" in line for line in lines) else lines[0]
