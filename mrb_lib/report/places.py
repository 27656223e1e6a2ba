"""Where a benchmark and its runs are, and the embedded benchmark, made when it is first opened."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from filelock import FileLock

import mrb_lib
from mrb_lib.benchmarks.benchmark import load, read_table
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import keep_reviews, new_folder_beside, write_atomic
from mrb_lib.tables.schema import SIMULATED
from mrb_lib.verdicts.store import save_imported

DEMO = "demo"
RATINGS = "demo-ratings"
DEMO_JUDGES = ("random", "first", "longer", "shorter", "lexical", "consensus-of")
DEMO_CASES = 1026
RATING_CASES = 400
DEMO_SEED = 0

_STAMP = "stamp.json"
_BENCHMARK_CODE = ("demo/*.py", "demo/*.toml", "benchmarks/benchmark.py", "benchmarks/meta.py", "tables/schema.py")
_RUNS_CODE = ("judges/**/*.py", "judges/**/*.toml", "replies/*.py", "runs/*.py", "verdicts/*.py",
               "demo/judges.py")  # fmt: skip


class DataFolders(NamedTuple):
    """Where a benchmark and its runs are; `runs` is None where there are none."""

    benchmark: Path
    runs: Path | None


def locate(benchmark: str, runs: str = "", *, progress: Callable[[str], None] | None = None) -> DataFolders:
    """The folders that the parameters name, the embedded benchmark made if need be; see `open_workspace`."""
    if not benchmark:
        raise InputError(f'benchmark: no folder is named; give a benchmark folder, or "{DEMO}".')
    folder, default = Path(benchmark), Path(benchmark, "runs")
    if benchmark in (DEMO, RATINGS):
        folder, default = (make_demo if benchmark == DEMO else make_rating_demo)(progress=progress)
    if runs:
        return DataFolders(folder, Path(runs))
    return DataFolders(folder, default if default.is_dir() else None)


def home() -> Path:
    """The folder for what can be made again: `$MRB_HOME`, or `mrb` in the user's cache folder (XDG)."""
    chosen = os.environ.get("MRB_HOME")
    if chosen:
        return Path(chosen).absolute()
    cache = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG standard has relative paths ignored.
    return (Path(cache) if Path(cache).is_absolute() else Path.home() / ".cache") / "mrb"


def make_demo(
    *,
    cases: int = DEMO_CASES,
    seed: int = DEMO_SEED,
    judges: tuple[str, ...] = DEMO_JUDGES,
    progress: Callable[[str], None] | None = None,
) -> tuple[Path, Path]:
    """The embedded benchmark and the weightless judges' runs, made where they are missing or out of date.

    Out of date means that the code that makes them, or a parameter, is not the one
    recorded beside them. Any number of processes may call this at once: one makes
    them, the others wait.

    Parameters
    ----------
    cases, seed : as for `mrb demo`
    judges : the judges to run, in that order
    progress : told, in a sentence, what has to be made first; None writes it to stderr

    Returns
    -------
    benchmark, runs : the folders `demo/benchmark` and `demo/runs` under `home()`

    Raises
    ------
    InputError
        The folder cannot be written.
    """
    benchmark, runs = home() / DEMO / "benchmark", home() / DEMO / "runs"
    drawn = {"code": hash_of_source(*_BENCHMARK_CODE), "cases": cases, "seed": seed}
    judged = {"code": hash_of_source(*_RUNS_CODE), "judges": list(judges), "seed": seed, "benchmark": drawn}
    _renew(
        benchmark, drawn, f"Making the embedded benchmark ({cases} SIMULATED cases), once ...", progress,
        lambda stage: _write_benchmark(stage, cases, seed),
    )  # fmt: skip
    _renew(
        runs, judged, f"Judging it with {', '.join(judges)} ...", progress,
        lambda stage: _judge(benchmark, stage, judges, seed),
    )  # fmt: skip
    return benchmark, runs


def make_rating_demo(*, progress: Callable[[str], None] | None = None) -> tuple[Path, Path]:
    """The SIMULATED benchmark of ratings and the runs of its simulated judges, made as by `make_demo`.

    Returns
    -------
    benchmark, runs : the folder `demo-ratings/benchmark` under `home()`, and `runs` in it
    """
    folder, code = home() / RATINGS / "benchmark", hash_of_source(*_BENCHMARK_CODE, "verdicts/*.py")
    stamp = {"code": code, "cases": RATING_CASES, "seed": DEMO_SEED}
    message = f"Making the benchmark of ratings ({RATING_CASES} SIMULATED cases), once ..."
    _renew(folder, stamp, message, progress, _write_ratings)
    return folder, folder / "runs"


def _write_ratings(folder: Path) -> None:
    from mrb_lib.demo.ratings import write_rating_demo

    write_rating_demo(folder, cases=RATING_CASES, seed=DEMO_SEED)
    write_simulated_ratings(folder, folder / "runs", seed=DEMO_SEED)


def _write_benchmark(folder: Path, cases: int, seed: int) -> None:
    from mrb_lib.demo import write_demo  # drawing images is slow to import, and seldom needed

    write_demo(folder, cases=cases, seed=seed)


def _judge(benchmark: Path, runs: Path, judges: tuple[str, ...], seed: int) -> None:
    from mrb_lib.judges.settings import Settings  # only needed when the runs are made
    from mrb_lib.runs.execute import judge

    judge(load(benchmark), runs, judges, settings=Settings(seed=seed))
    write_simulated_runs(benchmark, runs, seed=seed)


def write_simulated_runs(benchmark: Path, runs: Path, *, seed: int, roster: int = 0) -> list[Path]:
    """Write the verdicts of the embedded benchmark's SIMULATED judges, a run each.

    Parameters
    ----------
    benchmark : a folder that `mrb_lib.demo.write_demo` wrote
    runs : the folder of runs, which may hold others
    roster : how many of the judges of `mrb_lib.demo.roster`, once in both orders; 0 for the five judges of known
        faults, twice in both

    Returns
    -------
    list of Path
        The folders written.
    """
    from mrb_lib.demo.judges import MARK, simulated_verdicts  # only needed when the runs are made
    from mrb_lib.demo.roster import ROSTER
    from mrb_lib.verdicts.simulated_replies import with_replies

    loaded, truth = load(benchmark), read_table(benchmark / "truth.parquet")
    if roster:
        invented = [each.judge() for each in ROSTER[:roster]]
        verdicts = simulated_verdicts(truth, loaded.cases, seed=seed, judges=invented, repeats=1)
    else:
        verdicts = with_replies(simulated_verdicts(truth, loaded.cases, seed=seed), seed=seed)
    return save_imported(verdicts, runs, benchmark=loaded.meta.name, kind=loaded.meta.kind, source=MARK)


def write_simulated_ratings(benchmark: Path, runs: Path, *, seed: int) -> list[Path]:
    """Write the verdicts of SIMULATED judges of ratings, a run each, on a folder of `write_rating_demo`."""
    from mrb_lib.demo.ratings import simulated_ratings  # only needed when the runs are made

    meta = load(benchmark).meta
    verdicts = simulated_ratings(read_table(benchmark / "truth.parquet"), meta.categories, seed=seed)
    return save_imported(verdicts, runs, benchmark=meta.name, kind=meta.kind, source=SIMULATED, ratings=meta.categories)


def hash_of_source(*patterns: str) -> str:
    """SHA-256 over the library's files that match, with their names."""
    package = Path(mrb_lib.__file__).parent
    digest = hashlib.sha256()
    for path in sorted({path for pattern in patterns for path in package.glob(pattern) if path.is_file()}):
        digest.update(path.relative_to(package).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _stamp(folder: Path) -> object:
    """What a folder was made from; None where it is missing, unfinished or damaged, so that it is made again."""
    try:
        return json.loads((folder / _STAMP).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _renew(
    folder: Path, stamp: Mapping[str, object], message: str, progress: Callable[[str], None] | None,
    write: Callable[[Path], None],
) -> None:  # fmt: skip
    """Make a folder unless it was made from the same; of several processes one makes it, and the others wait.

    Parameters
    ----------
    stamp : what it is made from
    message : told before it is made; to stderr where `progress` is None
    write : fills an empty folder, which takes the place of `folder` when that succeeds
    """
    if _stamp(folder) == stamp:
        return
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder.parent / ".lock").acquire()
    except OSError as error:
        raise InputError(
            f"{folder.parent}: cannot be written ({error.strerror}); set MRB_HOME to a folder you may write to."
        ) from error
    with lock:
        if _stamp(folder) == stamp:
            return
        (progress or (lambda line: print(line, file=sys.stderr)))(message)
        for leftover in folder.parent.glob(f".{folder.name}.*"):  # an earlier process was killed
            shutil.rmtree(leftover)
        stage = new_folder_beside(folder)
        try:
            write(stage)
            write_atomic(stage / _STAMP, json.dumps(stamp, indent=2) + "\n")
            if folder.exists():
                keep_reviews(folder, stage)
                shutil.rmtree(folder)
            stage.rename(folder)
        finally:
            shutil.rmtree(stage, ignore_errors=True)


def simulated_note(name: str) -> str:
    """The sentence to show with simulated data of a benchmark."""
    return (
        f"SIMULATED data: the cases, responses and annotations of {name} were drawn from a seed; "
        "they say nothing about clinicians or models."
    )
