"""Where a benchmark and its runs are, and the embedded benchmark, made when it is first opened."""

import hashlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from filelock import FileLock

import mrb_lib
from mrb_lib.benchmarks.benchmark import load, read_table
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import staged_folder, write_atomic
from mrb_lib.tables.schema import SIMULATED
from mrb_lib.verdicts.store import save_imported

DEMO = "demo"
RATINGS = "demo-ratings"
DEMO_JUDGES = ("random", "first", "longer", "shorter", "lexical", "consensus-of")

_CASES = {DEMO: 1026, RATINGS: 400}
_SEED = 0
_STAMP = "stamp.json"
_CODE = ("demo/*.py", "demo/*.toml", "benchmarks/benchmark.py", "benchmarks/meta.py", "tables/schema.py",
         "judges/**/*.py", "judges/**/*.toml", "replies/*.py", "runs/*.py", "verdicts/*.py")  # fmt: skip


class DataFolders(NamedTuple):
    """Where a benchmark and its runs are; `runs` is None where there are none."""

    benchmark: Path
    runs: Path | None


def locate(benchmark: str, runs: str = "", *, progress: Callable[[str], None] | None = None) -> DataFolders:
    """Return the folders that a user names; an embedded benchmark is made if need be.

    Parameters
    ----------
    benchmark : a benchmark folder, "demo" or "demo-ratings"
    runs : a folder of runs; empty for `runs` inside the benchmark
    progress : see `make_demo`
    """
    if not benchmark:
        raise InputError(f'benchmark: no folder is named; give a benchmark folder, or "{DEMO}".')
    folder = make_demo(benchmark, progress=progress) if benchmark in _CASES else Path(benchmark)
    inside = folder / "runs"
    return DataFolders(folder, Path(runs) if runs else inside if inside.is_dir() else None)


def home() -> Path:
    """The folder for what can be made again: `$MRB_HOME`, or `mrb` in the user's cache folder (XDG)."""
    chosen = os.environ.get("MRB_HOME")
    if chosen:
        return Path(chosen).absolute()
    cache = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG standard has relative paths ignored.
    return (Path(cache) if Path(cache).is_absolute() else Path.home() / ".cache") / "mrb"


def make_demo(
    name: str = DEMO,
    *,
    cases: int = 0,
    judges: Sequence[str] = DEMO_JUDGES,
    progress: Callable[[str], None] | None = None,
) -> Path:
    """Make an embedded benchmark with its runs, unless it is there and was made from the same.

    The stamp in the folder records the code and the parameters it was made from. Any number of processes may call this
    at once: one makes it, the others wait.

    Parameters
    ----------
    name : "demo", or "demo-ratings" for the benchmark of ratings
    cases : how many; 0 for the usual number
    judges : the weightless judges to run on the demo beside its SIMULATED ones, in that order
    progress : is given one sentence before it is made; None writes the sentence to stderr

    Returns
    -------
    Path
        The folder `NAME/benchmark` under `home()`, with `runs` in it. A store of reviews in it is kept.

    Raises
    ------
    InputError
        The folder cannot be written.
    """
    folder, cases = home() / name / "benchmark", cases or _CASES[name]
    stamp = {"code": hash_of_source(*_CODE), "cases": cases, "judges": list(judges), "seed": _SEED}
    if _stamp(folder) == stamp:
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder.parent / ".lock").acquire()
    except OSError as error:
        raise InputError(
            f"{folder.parent}: cannot be written ({error.strerror}); set MRB_HOME to a folder you may write to."
        ) from error
    with lock:
        if _stamp(folder) == stamp:
            return folder
        say = progress or (lambda line: print(line, file=sys.stderr))
        say(f"Making the embedded benchmark {name} ({cases:,} SIMULATED cases) and its verdicts, once ...")
        for leftover in folder.parent.glob(f".{folder.name}.*"):  # an earlier process was killed
            shutil.rmtree(leftover)
        with staged_folder(folder, overwrite=True) as stage:
            _write(stage, name, cases, judges)
            write_atomic(stage / _STAMP, json.dumps(stamp, indent=2) + "\n")
    return folder


def _stamp(folder: Path) -> object:
    """Return what a folder was made from; None where it is missing, unfinished or damaged, so that it is made again."""
    try:
        return json.loads((folder / _STAMP).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _write(folder: Path, name: str, cases: int, judges: Sequence[str]) -> None:
    """Fill an empty folder with an embedded benchmark and its runs."""
    from mrb_lib.demo import write_demo  # drawing and judging are slow to import, and seldom needed
    from mrb_lib.demo.ratings import write_rating_demo
    from mrb_lib.judges.settings import Settings
    from mrb_lib.runs.execute import judge

    draw = write_rating_demo if name == RATINGS else write_demo
    draw(folder, cases=cases, seed=_SEED)
    if name == DEMO:
        judge(load(folder), folder / "runs", judges, settings=Settings(seed=_SEED))
    write_simulated_runs(folder, folder / "runs", seed=_SEED)


def write_simulated_runs(benchmark: Path, runs: Path, *, seed: int, roster: int = 0) -> list[Path]:
    """Write the verdicts of the SIMULATED judges of an embedded benchmark, a run each.

    Parameters
    ----------
    benchmark : a folder that `mrb_lib.demo.write_demo` or `mrb_lib.demo.ratings.write_rating_demo` wrote
    runs : the folder of runs, which may hold others
    roster : how many of the judges of `mrb_lib.demo.roster`, once in both orders; 0 for the five judges of known
        faults, twice in both. A benchmark of ratings has judges of its own.

    Returns
    -------
    list of Path
        The folders written.
    """
    from mrb_lib.demo.judges import simulated_verdicts  # only needed when the runs are made
    from mrb_lib.demo.ratings import simulated_ratings
    from mrb_lib.demo.roster import ROSTER
    from mrb_lib.verdicts.simulated_replies import with_replies

    loaded, truth = load(benchmark), read_table(benchmark / "truth.parquet")
    meta = loaded.meta
    if meta.is_rating:
        verdicts = simulated_ratings(truth, meta.categories, seed=seed)
    elif roster:
        invented = ROSTER[:roster]
        verdicts = simulated_verdicts(truth, loaded.cases, seed=seed, judges=invented, repeats=1)
    else:
        verdicts = with_replies(simulated_verdicts(truth, loaded.cases, seed=seed), seed=seed)
    ratings = meta.categories if meta.is_rating else ()
    return save_imported(verdicts, runs, benchmark=meta.name, kind=meta.kind, source=SIMULATED, ratings=ratings)


def hash_of_source(*patterns: str) -> str:
    """SHA-256 over the library's files that match, with their names."""
    package = Path(mrb_lib.__file__).parent
    digest = hashlib.sha256()
    for path in sorted({path for pattern in patterns for path in package.glob(pattern) if path.is_file()}):
        digest.update(path.relative_to(package).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def simulated_note(name: str) -> str:
    """The sentence to show with simulated data of a benchmark."""
    return (
        f"SIMULATED data: the cases, responses and annotations of {name} were drawn from a seed; "
        "they say nothing about clinicians or models."
    )
