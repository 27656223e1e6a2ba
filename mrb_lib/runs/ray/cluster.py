"""The Ray that judges are spread over: the cluster that RAY_ADDRESS names, or one on this machine while needed."""

from __future__ import annotations

import logging
import os
import socket
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from importlib.util import find_spec
from typing import Any, Final, cast

from mrb_lib.tables.errors import InputError, RunError

ADDRESS: Final = "RAY_ADDRESS"
# Holds the images of the batches under way; what is more goes to disk.
_OBJECT_STORE_BYTES: Final = 400 * 1024**2
_CPUS_OF_A_WORKER: Final = 2
_CONNECT_S: Final = 10.0
_ROUNDING: Final = 1e-9
# Ray reports to nobody and logs nothing here; without a cluster to join, its processes talk over loopback only.
_ENVIRONMENT: Final = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DATA_USAGE_DISABLED": "1",
    "RAY_BACKEND_LOG_LEVEL": "fatal",
}
_LOOPBACK: Final = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}


def check_installed() -> None:
    """Raise `InputError` unless Ray is installed."""
    if find_spec("ray") is None:
        raise InputError("engine ray: needs ray; install it with `pip install 'mrb-workbench[scaleout]'`.")


def room(nodes: Sequence[Mapping[str, float]], needs: Mapping[str, float]) -> int:
    """Return how many workers with these needs the machines hold at once; both as `{"CPU": 8.0, "GPU": 2.0}`."""
    return sum(min(int(node.get(key, 0) / need + _ROUNDING) for key, need in needs.items() if need) for node in nodes)


def size_pool(
    nodes: Sequence[Mapping[str, float]], workers: int | None, gpus: float | None
) -> tuple[int, dict[str, float]]:
    """Return the number of workers and the needs of each, see `room`; it may be more than the machines hold.

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
    return wanted, next((needs for needs in choices if room(nodes, needs) >= wanted), choices[-1])


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

    def pool(self, workers: int | None, gpus_per_worker: float | None) -> tuple[int, dict[str, float]]:
        """Return the workers for a judge and their needs, see `size_pool`; `InputError` where there is no room."""
        nodes = self.nodes()
        wanted, needs = size_pool(nodes, workers, gpus_per_worker)
        if (there := room(nodes, needs)) < wanted:
            kind = f"{needs['GPU']:g} GPUs" if needs["GPU"] else f"{needs['CPU']} CPUs"
            raise InputError(f"{wanted} workers with {kind} each: there is room for {there}; use fewer --workers.")
        return wanted, needs

    def _start(self, address: str) -> None:
        """Connect to the cluster at an address, or start a Ray of this process's own where it is "local"."""
        import ray

        options: dict[str, Any] = {}
        if address == "local":
            folder = self.enter_context(tempfile.TemporaryDirectory(prefix="mrb-", ignore_cleanup_errors=True))
            options = {"object_store_memory": _OBJECT_STORE_BYTES, "include_dashboard": False, "_temp_dir": folder}
            if hasattr(os, "sched_getaffinity"):  # Ray counts those, too, that this process may not use
                options["num_cpus"] = len(os.sched_getaffinity(0))
        self.callback(ray.shutdown)
        try:
            if address not in ("local", "auto"):
                # Where nobody listens, Ray would go on trying for minutes.
                host, _, port = address.rpartition(":")
                socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_S).close()
            ray.init(address, logging_level=logging.CRITICAL, log_to_driver=False, **options)
        except Exception as error:
            raise RunError(
                f"Ray cannot be used at {ADDRESS}={address} ({reason_of(error)}); name HOST:PORT of a machine where "
                "`ray start` ran, or use --engine local."
            ) from error


def reason_of(error: BaseException) -> str:
    """Return an error's own words without the traceback that Ray puts before them."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    return lines[-1] if any(line.startswith("Traceback") or "ray::" in line for line in lines) else lines[0]
