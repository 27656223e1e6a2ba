"""Notebooks run several at a time, in a few processes that are stopped when we are."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mrb_lib.report.execute import NotebookFailure, Task, execute
from mrb_lib.report.places import home

_THREADS: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
_OF_THE_USER: Final = ("MPLBACKEND", "MATPLOTLIBRC")
_KERNEL: Final = "jupyter"


@dataclass(frozen=True)
class Finished:
    """A notebook that has run, in the working folder it left its files in."""

    notebook: Path
    folder: Path
    failure: NotebookFailure | None
    seconds: float


def run_notebooks(notebooks: Sequence[Path], folder: Path, tasks: Mapping[str, Task], jobs: int) -> Iterator[Finished]:
    """Run notebooks in parallel processes and yield each as it finishes.

    Parameters
    ----------
    notebooks : their files
    folder : to work in; each notebook gets a folder of its name there
    tasks : `parameters` and `options` of each notebook by its name, see `mrb_lib.report.execute.execute`
    jobs : how many run at a time

    Notes
    -----
    When the caller stops early, or is interrupted, the running ones are stopped too.
    """
    folder.mkdir(parents=True, exist_ok=True)
    pool = ProcessPoolExecutor(
        jobs,
        multiprocessing.get_context("spawn"),
        initializer=_prepare,
        initargs=(_environment(jobs, folder), folder / "log.txt"),
    )
    places = {path: folder / path.stem for path in notebooks}
    try:
        started = {pool.submit(_run_one, path, place, tasks[path.stem]): path for path, place in places.items()}
        for done in as_completed(started):
            path = started[done]
            try:
                yield done.result()
            except BrokenProcessPool as error:
                failure = NotebookFailure(path.stem, None, "", "ProcessDied", str(error))
                yield Finished(path, places[path], failure, 0.0)
    finally:
        at_work = list((pool._processes or {}).values())  # no public name before Python 3.14
        pool.shutdown(wait=False, cancel_futures=True)
        for process in at_work:
            process.terminate()


def _run_one(notebook: Path, folder: Path, task: Task) -> Finished:
    start = time.perf_counter()
    folder.mkdir(parents=True)
    os.chdir(folder)
    failure = execute(notebook, folder, task["parameters"], task["options"])
    return Finished(notebook, folder, failure, time.perf_counter() - start)


def _prepare(environment: Mapping[str, str], log: Path) -> None:
    """Take over the environment of notebooks, and keep what kernels print apart from what the report does.

    Ctrl-C reaches the report alone, which then stops us.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with log.open("ab") as stream:
        for printed in (1, 2):
            os.dup2(stream.fileno(), printed)
    os.environ.clear()
    os.environ.update(environment)


def _environment(jobs: int, folder: Path) -> dict[str, str]:
    """Ours, with the cores shared out, widgets plain, and no setting of the user's own that would change a figure.

    The kernel `python3` is the interpreter that runs the report, whatever kernels the machine has registered.
    """
    kernel, fonts = folder / _KERNEL / "kernels" / "python3", home() / "matplotlib"
    for needed in (kernel, fonts):
        needed.mkdir(parents=True, exist_ok=True)
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec = {"argv": argv, "display_name": "Python 3", "language": "python"}
    (kernel / "kernel.json").write_text(json.dumps(spec), encoding="utf-8")
    paths = [str(folder / _KERNEL), os.environ.get("JUPYTER_PATH", "")]
    return {
        **{name: value for name, value in os.environ.items() if name not in _OF_THE_USER},
        **dict.fromkeys(_THREADS, str(max(1, (os.cpu_count() or 1) // jobs))),
        "MPLCONFIGDIR": str(fonts),
        "PYTHONHASHSEED": "0",
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        "MRB_STATIC": "1",
        "JUPYTER_PATH": os.pathsep.join(filter(None, paths)),
        "IPYTHONDIR": str(folder / _KERNEL / "ipython"),
        "JUPYTER_RUNTIME_DIR": str(folder / _KERNEL / "runtime"),
    }
