"""What this machine can run: its processors and memory, the libraries, the Hub's cache, and which judges fit."""

from __future__ import annotations

import os
import re
import shutil
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Final, Literal

import pandas as pd

from mrb_lib.benchmarks.hub import hub_endpoint, is_offline, without_credentials
from mrb_lib.judges.roster import hub
from mrb_lib.judges.roster.engines import reads_weights
from mrb_lib.judges.roster.entry import Entry
from mrb_lib.judges.roster.source import is_complete
from mrb_lib.verdicts.manifest import library_versions

FitsMemory = Literal["yes", "no", "unknown"]

ROOM: Final = 1.2
"""Memory needed, as a multiple of the weights: a rule of thumb. Long prompts, large images and batches take more."""
_PACKAGE: Final = "mrb-workbench"
_EXTRA: Final = re.compile(r"([A-Za-z0-9._-]+).*extra\s*==\s*['\"]([\w-]+)['\"]")
_GIGA: Final = 1e9


@dataclass(frozen=True)
class Gpu:
    """A GPU; memory in 10^9 bytes."""

    name: str
    total_gb: float
    free_gb: float


@dataclass(frozen=True)
class HubState:
    """How this machine stands to the Hub; nothing here asked the network.

    Attributes
    ----------
    offline : HF_HUB_OFFLINE is set
    endpoint : its address, without a user name or password
    token : whether one is set; never which
    cache, writable, free_gb : where weights are kept, whether more can be, and the room there
    """

    offline: bool
    endpoint: str
    token: bool
    cache: Path
    writable: bool
    free_gb: float | None


@dataclass(frozen=True)
class Machine:
    """What a machine has to run judges with; memory in 10^9 bytes, None where it could not be found out.

    Attributes
    ----------
    cpus : that this process may use
    gpus : that torch can use; None where torch is not installed
    versions : of Python and the libraries
    extras : what each extra of this package still lacks here
    hub : see `HubState`
    notes : what went wrong while looking
    """

    cpus: int
    ram_total_gb: float | None
    ram_available_gb: float | None
    gpus: tuple[Gpu, ...] | None
    versions: Mapping[str, str]
    extras: Mapping[str, tuple[str, ...]]
    hub: HubState
    notes: tuple[str, ...] = field(default=())

    def fits_gpu(self, entry: Entry) -> FitsMemory | None:
        """Whether a judge's weights fit one GPU in bfloat16, with `ROOM`; None for a judge without weights."""
        if not reads_weights(entry):
            return None
        if self.gpus is None:
            return "unknown"
        return _fits(entry.weights_gb("bfloat16"), max((gpu.total_gb for gpu in self.gpus), default=0.0))

    def fits_cpu(self, entry: Entry) -> FitsMemory | None:
        """Whether a judge's weights fit the main memory in float32, with `ROOM`; None for one without weights."""
        return _fits(entry.weights_gb("float32"), self.ram_total_gb) if reads_weights(entry) else None


def inspect_machine() -> Machine:
    """Look at this machine. Asks no network; reads no key and no token further than whether it is set.

    Notes
    -----
    Tested by tests/judges/roster/test_machine.py.
    """
    gpus, notes = _gpus()
    total, available = _memory()
    try:
        cpus = len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS
        cpus = os.cpu_count() or 1
    return Machine(cpus, total, available, gpus, library_versions(), missing_extras(), _hub_state(), notes)


def survey(entries: Sequence[Entry], machine: Machine) -> pd.DataFrame:
    """Which judges this machine can run.

    Returns
    -------
    DataFrame
        One row an entry: `name`, `engine`, `size`, `weights_gb` (in bfloat16, 10^9 bytes;
        null where nothing tells the size), `size_from` ("parameters", or "name" where their
        number is unknown and the size in a name is taken), `fits_gpu` and `fits_cpu`
        (`yes`, `no`, `unknown`; null for a judge without weights), `cached` (`yes` where
        its weights are on this machine, `no`; null without weights), `key` (`yes` where the
        key of its server is set, `no`; null without a server), `needs`.
    """
    rows = [
        (
            entry.name,
            entry.engine,
            entry.size,
            entry.weights_gb(),
            entry.size_from,
            machine.fits_gpu(entry),
            machine.fits_cpu(entry),
            _yes(is_cached(entry)) if reads_weights(entry) else None,
            _yes(bool(os.environ.get(entry.key_env))) if entry.key_env else None,
            entry.needs,
        )
        for entry in entries
    ]
    names = ["name", "engine", "size", "weights_gb", "size_from", "fits_gpu", "fits_cpu", "cached", "key", "needs"]
    types = {name: "float" if name == "weights_gb" else "str" for name in names}
    return pd.DataFrame(rows, columns=names).astype(types)


def next_step(entries: Sequence[Entry], machine: Machine) -> str:
    """What to do next on this machine, given what it has: one line, with the command.

    Of the judges that fit the GPU or, without one, the main memory, the largest whose weights are here is named; to be
    fetched, the largest for the GPU, the smallest without one, of those that take images and need nothing else; else a
    server whose key is set. MODEL, URL and DIR are the user's to fill in.
    """
    run = "mrb judge BENCH RUNS --judge"
    served = next((_served(e) for e in entries if e.key_env and os.environ.get(e.key_env)), "endpoint:MODEL --url URL")
    if machine.gpus is None or machine.extras.get("judges"):
        return f"pip install 'mrb-workbench[judges]', or {run} {served}"
    on_gpu = bool(machine.gpus)
    fitting = [e for e in entries if (machine.fits_gpu(e) if on_gpu else machine.fits_cpu(e)) == "yes"]
    fitting.sort(key=lambda entry: entry.weights_gb() or 0.0)
    here = [entry for entry in fitting if is_cached(entry)]
    if here:
        option = " --trust-remote-code" if here[-1].remote_code else ""
        return f"{run} {here[-1].name}{option} (its weights are here)"
    if machine.hub.offline or not machine.hub.writable:
        why = "HF_HUB_OFFLINE is set" if machine.hub.offline else "its cache cannot be written to"
        return f"{run} path:DIR or {served} (no weights are here, and nothing can be fetched: {why})"
    room = machine.hub.free_gb if machine.hub.free_gb is not None else float("inf")
    wanted = [e for e in fitting if e.vision and e.needs is None and (e.weights_gb() or 0.0) < room and e.model]
    if not wanted:
        return f"{run} {served} (no judge that takes images fits this machine)"
    if on_gpu:
        return f"{run} {wanted[-1].name} --download (the largest that fits this GPU)"
    return f"{run} {wanted[0].name} --download (small, as there is no GPU), or {served}"


def _served(entry: Entry) -> str:
    """A judge of a server, with the option that it does not run without."""
    return f"{entry.name} --allow-remote" if entry.base_url else f"{entry.name} --url URL"


def is_cached(entry: Entry) -> bool:
    """Whether some revision of a judge's weights is complete on this machine."""
    if entry.path is not None:
        return (entry.path / "config.json").is_file()
    return entry.model is not None and any(
        is_complete(path, entry.model, subfolder=entry.subfolder) for path in hub.snapshots(entry.model).values()
    )


def missing_extras() -> dict[str, tuple[str, ...]]:
    """For each extra of this package, the packages of it that are not installed."""
    try:
        wanted = metadata.requires(_PACKAGE) or []
    except metadata.PackageNotFoundError:
        return {}
    missing: dict[str, list[str]] = {}
    for requirement in wanted:
        match = _EXTRA.match(requirement)
        if match is None or match[1] == _PACKAGE:
            continue
        absent = missing.setdefault(match[2], [])
        if not _is_installed(match[1]):
            absent.append(match[1])
    return {extra: tuple(absent) for extra, absent in missing.items()}


def _is_installed(package: str) -> bool:
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return True


def _fits(weights_gb: float | None, memory_gb: float | None) -> FitsMemory:
    if memory_gb == 0:
        return "no"
    if weights_gb is None or memory_gb is None:
        return "unknown"
    return _yes(weights_gb * ROOM <= memory_gb)


def _yes(value: bool) -> Literal["yes", "no"]:
    return "yes" if value else "no"


def _gpus() -> tuple[tuple[Gpu, ...] | None, tuple[str, ...]]:
    """The GPUs that torch can use, None without torch; and what torch complained of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            import torch
        except ImportError as error:
            absent = isinstance(error, ModuleNotFoundError) and error.name == "torch"
            return None, () if absent else (f"torch cannot be imported ({error})",)
        gpus = []
        try:
            for number in range(torch.cuda.device_count() if torch.cuda.is_available() else 0):
                free, total = torch.cuda.mem_get_info(number)
                gpus.append(Gpu(torch.cuda.get_device_name(number), total / _GIGA, free / _GIGA))
        except RuntimeError as error:
            return tuple(gpus), (f"a GPU does not answer ({str(error).splitlines()[0]})",)
    return tuple(gpus), tuple(dict.fromkeys(" ".join(str(one.message).split())[:200] for one in caught))


def _memory() -> tuple[float | None, float | None]:
    """Total and available main memory, within the limit that a container may set."""
    try:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return None, None
    available: int | None = None
    meminfo = Path("/proc/meminfo")
    if meminfo.is_file():
        match = re.search(r"MemAvailable:\s+(\d+) kB", meminfo.read_text(encoding="ascii"))
        available = int(match[1]) * 1024 if match else None
    limit = Path("/sys/fs/cgroup/memory.max")
    if limit.is_file():
        text = limit.read_text(encoding="ascii").strip()
        if text.isdecimal() and int(text) < total:
            total = int(text)
            available = None if available is None else min(available, total)
    return total / _GIGA, None if available is None else available / _GIGA


def _hub_state() -> HubState:
    from huggingface_hub import constants, get_token

    cache = Path(constants.HF_HUB_CACHE).expanduser()
    there = next(path for path in (cache, *cache.parents) if path.exists())
    return HubState(
        offline=is_offline(),
        endpoint=without_credentials(hub_endpoint()),
        token=get_token() is not None,
        cache=cache,
        writable=os.access(there, os.W_OK),
        free_gb=shutil.disk_usage(there).free / _GIGA,
    )
