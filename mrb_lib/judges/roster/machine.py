"""This machine, and the way in which it runs each judge: device, options, memory and time."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

import pandas as pd

from mrb_lib.benchmarks.hub import is_offline
from mrb_lib.judges.roster.engines import ENGINES
from mrb_lib.judges.roster.entry import Entry
from mrb_lib.judges.roster.source import is_cached, loaded_bytes
from mrb_lib.judges.settings import Settings
from mrb_lib.verdicts.manifest import library_versions, missing_extras

ROOM: Final = 1.2
"""Memory needed, as a multiple of the weights: a rule of thumb. Long prompts, large images and batches need more."""
BASIS: Final = (
    "estimates: memory is the weights and 20%; time is for 1,000 cases in both orders, 2,300 tokens each, at a quarter "
    "of the GPU's peak (measured for packed on an H200) or 50 GFLOP/s per CPU; written replies take longer"
)
_TOKENS: Final = 1000 * 2 * 2300
_SHARE_OF_PEAK: Final = 0.25
_FLOPS_OF_A_CPU: Final = 50e9
# Multiply-adds count twice; dense, bfloat16, added in float32, for each compute capability (NVIDIA's white papers).
_FLOP_PER_CYCLE: Final = {(8, 0): 2048, (8, 6): 512, (8, 9): 512, (9, 0): 4096, (10, 0): 8192, (12, 0): 512}
_NUMBERED: Final = re.compile(r"cuda:(\d+)")
_GIGA: Final = 1e9


@dataclass(frozen=True)
class Gpu:
    """A GPU: its memory in 10^9 bytes, and its peak of dense bfloat16 in floating-point operations per second.

    The peak is None where it is not known.
    """

    name: str
    total_gb: float
    free_gb: float
    peak: float | None = None


@dataclass(frozen=True)
class Machine:
    """The parts of a machine that judges need; memory in 10^9 bytes, None where it could not be found out.

    Attributes
    ----------
    cpus : that this process may use
    gpus : that torch can use; None where torch is not installed
    versions : of Python and the libraries
    extras : what each extra of this package still lacks here
    notes : what went wrong while looking
    """

    cpus: int
    ram_total_gb: float | None
    gpus: tuple[Gpu, ...] | None
    versions: Mapping[str, str]
    extras: Mapping[str, tuple[str, ...]]
    notes: tuple[str, ...] = field(default=())

    def memory_gb(self, device: str) -> float | None:
        """Return the memory of a device of `Settings.device`, of all GPUs for "auto"; None where unknown."""
        if device == "cpu" or (device == "auto" and self.gpus == ()):
            return self.ram_total_gb
        named = [int(number) for number in _NUMBERED.findall(device)]
        if not self.gpus or any(number >= len(self.gpus) for number in named):
            return None
        return sum(gpu.total_gb for number, gpu in enumerate(self.gpus) if not named or number in named)


@dataclass(frozen=True)
class Way:
    """A way to run a judge on a machine.

    Attributes
    ----------
    device : "GPU", "3 GPUs" or "CPU"
    stored : how weights are held: "bfloat16", "8bit", "4bit" or "float32"
    options : what `mrb judge` is to be told
    memory_gb : the weights and `ROOM`, in 10^9 bytes
    minutes : see `BASIS`; None where the GPU's peak is not known
    """

    device: str
    stored: str
    options: str
    memory_gb: float
    minutes: float | None

    def __str__(self) -> str:
        peak = "50 GFLOP/s per CPU" if self.device == "CPU" else "a quarter of the GPU's peak"
        time = "unknown time" if self.minutes is None else f"{self.minutes:,.0f} minutes per 1,000 cases at {peak}"
        return f"estimate: {self.stored} on {self.device}, {self.memory_gb:.0f} GB (weights and 20%), {time}"


def way(entry: Entry, machine: Machine) -> Way | None:
    """Return the first way in which a judge's weights fit a machine, with `ROOM`; None where none is known to.

    One GPU goes before several, whole weights before rounded ones, and GPUs before the CPU.
    """
    engine = ENGINES[entry.engine]
    if engine.model != "weights" or entry.billions is None or entry.active_billions is None:
        return None
    for device, stored, options, room, peak in _places(machine, is_served=bool(engine.program)):
        needed = ROOM * (entry.weights_gb(stored) or 0.0)
        if needed <= room:
            operations = 2 * entry.active_billions * _GIGA * _TOKENS
            minutes = None if peak is None else operations / (_SHARE_OF_PEAK * peak) / 60
            return Way(device, stored, options, needed, minutes and round(minutes))
    return None


def _places(machine: Machine, *, is_served: bool) -> Iterator[tuple[str, str, str, float, float | None]]:
    """Yield where and how weights may be held, best first: device, form, options, memory, and peak per second."""
    gpus = machine.gpus or ()
    if gpus:
        largest = max(gpus, key=lambda gpu: gpu.total_gb)
        yield "GPU", "bfloat16", "", largest.total_gb, largest.peak
        if len(gpus) > 1:  # layers on several GPUs work one after the other
            every = ",".join(f"cuda:{number}" for number in range(len(gpus)))
            total = sum(gpu.total_gb for gpu in gpus)
            yield f"{len(gpus)} GPUs", "bfloat16", f" --device {every}", total, largest.peak
        for bits in ("4bit",) if is_served else ("8bit", "4bit"):
            yield "GPU", bits, f" --quantize {bits}", largest.total_gb, largest.peak
    if machine.ram_total_gb is not None and not is_served:
        chosen = " --device cpu" if gpus else ""
        peak = machine.cpus * _FLOPS_OF_A_CPU / _SHARE_OF_PEAK
        yield "CPU", "float32", chosen, machine.ram_total_gb, peak
        yield "CPU", "bfloat16", f"{chosen} --dtype bfloat16", machine.ram_total_gb, peak


def command(entry: Entry, found: Way, machine: Machine) -> str:
    """Return the command that runs a judge in a way; BENCH and RUNS are the user's to fill in."""
    lacks = found.stored.endswith("bit") and machine.extras.get("quantized") and not ENGINES[entry.engine].program
    install = "pip install 'mrb-workbench[quantized]' && " if lacks else ""
    download = "" if is_cached(entry) else " --download"
    trust = " --trust-remote-code" if entry.remote_code else ""
    return f"{install}mrb judge BENCH RUNS --judge {entry.name}{download}{trust}{found.options}"


def plan_text(entry: Entry) -> str:
    """Return the command that runs a judge on this machine, with its estimate and needs, to be added to a message.

    Empty where the roster states no size.
    """
    machine = inspect_machine()
    found = way(entry, machine)
    if found is not None:
        needs = f"; it needs {entry.needs}" if entry.needs else ""
        return f" This should work here: `{command(entry, found, machine)}` ({found}{needs})."
    if entry.billions is None:
        return ""
    return " It does not fit this machine: `mrb judges --fits` lists those that do, or name a server with --url."


def misfit(entry: Entry, settings: Settings, folder: Path | None = None) -> str | None:
    """Return what is wrong where a judge's weights alone are larger than its device; None where they may fit.

    Parameters
    ----------
    folder : holds the weights; None takes the roster's size
    """
    machine = inspect_machine()
    on_cpu = settings.device == "cpu" or (settings.device == "auto" and not machine.gpus)
    dtype = settings.dtype if settings.dtype != "auto" else "float32" if on_cpu else "bfloat16"
    stored, room = settings.quantize or dtype, machine.memory_gb(settings.device)
    size = entry.weights_gb(stored) if folder is None else loaded_bytes(folder, dtype, settings.quantize) / _GIGA
    if room is None or size is None or size <= room:
        return None
    where = "this machine" if on_cpu else f"device {settings.device!r}"
    return (
        f"judge {entry.name!r}: the weights of {entry.model or entry.path} take {size:.0f} GB in {stored}, and {where} "
        f"has {room:.0f} GB.{plan_text(entry)}"
    )


def inspect_machine() -> Machine:
    """Return what this machine has. Asks no network; of keys and tokens it sees whether they are set.

    Notes
    -----
    Tested by tests/judges/roster/test_machine.py.
    """
    gpus, notes = _gpus()
    has_affinity = hasattr(os, "sched_getaffinity")  # not on macOS
    cpus = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    return Machine(cpus, _memory(), gpus, library_versions(), missing_extras(), notes)


def survey(entries: Sequence[Entry], machine: Machine) -> pd.DataFrame:
    """Return how this machine runs each judge.

    Returns
    -------
    DataFrame
        One row per entry: `name`, `engine`, `size`, `weights_gb` (in bfloat16, 10^9 bytes), `device`, `stored`,
        `memory_gb`, `minutes` and `options` (see `Way`; `device` is "no" where the weights do not fit, "unknown"
        where a size or a memory is not known, null for a judge without weights), `cached` (`yes` where the weights
        are on this machine, `no`), `key` (`yes` where the key of its server is set, `no`), `needs`.
    """
    rows = []
    for entry in entries:
        found, has_weights = way(entry, machine), ENGINES[entry.engine].model == "weights"
        is_known = entry.billions is not None and machine.gpus is not None
        row: dict[str, object] = {name: getattr(entry, name) for name in ("name", "engine", "size", "needs")}
        row |= {"device": "no" if is_known else "unknown", "cached": _yes(is_cached(entry))} if has_weights else {}
        row |= {"weights_gb": entry.weights_gb(), "key": _yes(os.environ.get(entry.key_env)) if entry.key_env else None}
        rows.append(row | (asdict(found) if found is not None else {}))
    names = ("name", "engine", "size", "device", "stored", "options", "cached", "key", "needs")
    types = dict.fromkeys(names, "str") | dict.fromkeys(("weights_gb", "memory_gb", "minutes"), "float")
    return pd.DataFrame(rows).reindex(columns=list(types)).astype(types)


def next_step(entries: Sequence[Entry], machine: Machine) -> str:
    """Return what to do next on this machine, given what it has: one line, with the command.

    Of the judges that fit the GPU or, without one, the main memory, the largest whose weights are here is named; to be
    fetched, the largest for the GPU, the smallest without one, of those that take images and need nothing else; else a
    server. MODEL, URL and DIR are the user's to fill in.
    """
    run = "mrb judge BENCH RUNS --judge"
    served = "endpoint:MODEL --url URL"
    if machine.gpus is None or machine.extras.get("judges"):
        return f"pip install 'mrb-workbench[judges]', or {run} {served}"
    ways = [(entry, found) for entry in entries if (found := way(entry, machine)) is not None]
    fitting = [pair for pair in ways if pair[1].device != "CPU" or not machine.gpus]
    here = [pair for pair in fitting if is_cached(pair[0])]
    if is_offline() and not here:
        return f"{run} path:DIR or {served} (no weights are here, and HF_HUB_OFFLINE is set)"
    wanted = here or [(entry, found) for entry, found in fitting if entry.vision and entry.model]
    if not wanted:
        return f"{run} {served} (no judge that takes images fits this machine)"

    def order(pair: tuple[Entry, Way]) -> tuple[bool, bool, float]:
        """Order judges that need something besides their weights last, and before them those that fit with options."""
        entry, how = pair
        needs = entry.needs is not None or bool(ENGINES[entry.engine].program)
        size = entry.billions or 0.0
        return needs and not here, bool(how.options) and not here, -size if machine.gpus or here else size

    entry, how = min(wanted, key=order)
    why = "the largest that fits this GPU" if machine.gpus else "small, as there is no GPU"
    return f"{command(entry, how, machine)} ({'its weights are here' if here else f'{why}; {how}'})"


def _yes(value: object) -> str:
    return "yes" if value else "no"


def _gpus() -> tuple[tuple[Gpu, ...] | None, tuple[str, ...]]:
    """Return the GPUs that torch can use, None without torch; and what went wrong."""
    try:
        import torch
    except ImportError as error:
        absent = isinstance(error, ModuleNotFoundError) and error.name == "torch"
        return None, () if absent else (f"torch cannot be imported ({error})",)
    gpus = []
    try:
        for number in range(torch.cuda.device_count() if torch.cuda.is_available() else 0):
            free, total = torch.cuda.mem_get_info(number)
            chip = torch.cuda.get_device_properties(number)
            per_cycle = _FLOP_PER_CYCLE.get((chip.major, chip.minor))
            peak = None if per_cycle is None else per_cycle * chip.multi_processor_count * 1000.0 * chip.clock_rate
            gpus.append(Gpu(chip.name, total / _GIGA, free / _GIGA, peak))
    except RuntimeError as error:
        return tuple(gpus), (f"a GPU does not answer ({str(error).splitlines()[0]})",)
    return tuple(gpus), ()


def _memory() -> float | None:
    """Return the main memory in 10^9 bytes, within the limit that a container may set."""
    try:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return None
    limit = Path("/sys/fs/cgroup/memory.max")
    text = limit.read_text(encoding="ascii").strip() if limit.is_file() else ""
    return min(total, int(text)) / _GIGA if text.isdecimal() else total / _GIGA
