"""Notebooks run several at a time, each in a process of its own, all of them stopped when we are."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from mrb_lib.report.clean import without_colours
from mrb_lib.report.execute import RESULT, TASK, NotebookFailure, Value
from mrb_lib.report.places import home
from mrb_lib.report.preloaded import KERNEL, command, preloaded

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
_PATIENCE_S = 10
_LOADED = (
    *KERNEL, "papermill", "nbclient", "matplotlib.backends.backend_agg", "matplotlib.backends.backend_svg",
    "matplotlib.backends.backend_pdf", "seaborn", "scipy.stats", "scipy.optimize", "mrb_lib.report.notebook.opening",
    "mrb_lib.report.notebook.workspace", "mrb_lib.report.study", "mrb_lib.report.notebook.live.figures",
    "mrb_lib.review.boards", "mrb_lib.figures.style:draw_once",
)  # fmt: skip


@dataclass(frozen=True)
class Finished:
    """A notebook that has run, in the working folder it left its files in."""

    notebook: Path
    folder: Path
    failure: NotebookFailure | None
    seconds: float


def run_notebooks(
    notebooks: Sequence[Path], folder: Path, tasks: Mapping[str, Mapping[str, Mapping[str, Value]]], jobs: int
) -> Iterator[Finished]:
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
    crew = _Crew()
    with preloaded(_environment(jobs), _LOADED) as environment, ThreadPoolExecutor(max_workers=jobs) as pool:
        try:
            started = [
                pool.submit(_run_one, notebook, folder / notebook.stem, tasks[notebook.stem], environment, crew)
                for notebook in notebooks
            ]
            for task in as_completed(started):
                yield task.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            crew.dismiss()


def _run_one(
    notebook: Path, folder: Path, own: Mapping[str, Mapping[str, Value]], environment: Mapping[str, str], crew: _Crew
) -> Finished:
    start = time.perf_counter()
    folder.mkdir(parents=True)
    task = folder / TASK
    task.write_text(json.dumps({"notebook": str(notebook), **own}), encoding="utf-8")
    log = folder / "log.txt"
    status = crew.run(command("mrb_lib.report.execute", str(task), environment=environment), folder, environment, log)
    failure: NotebookFailure | None
    if (folder / RESULT).is_file():
        raw = json.loads((folder / RESULT).read_text(encoding="utf-8"))["failure"]
        failure = None if raw is None else NotebookFailure(**raw)
    else:
        last_lines = "\n".join(
            without_colours(log.read_text(encoding="utf-8", errors="replace")).strip().splitlines()[-5:]
        )
        failure = NotebookFailure(notebook.stem, None, "", "ProcessDied", f"exit status {status}. {last_lines}".strip())
    return Finished(notebook, folder, failure, time.perf_counter() - start)


class _Crew:
    """The processes at work; once dismissed, none is started any more."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._at_work: set[subprocess.Popen[bytes]] = set()
        self._dismissed = False

    def run(self, command: Sequence[str], folder: Path, environment: Mapping[str, str], log: Path) -> int:
        with log.open("wb") as stream:
            with self._lock:
                if self._dismissed:
                    return -1
                # A session of its own: Ctrl-C reaches us alone, and we stop it in order.
                process = subprocess.Popen(
                    command,
                    cwd=folder,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=stream,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
                self._at_work.add(process)
            status = process.wait()
        with self._lock:
            self._at_work.discard(process)
        return status

    def dismiss(self) -> None:
        with self._lock:
            self._dismissed = True
            leaving = list(self._at_work)
        for process in leaving:
            process.terminate()
        for process in leaving:
            try:
                process.wait(timeout=_PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.kill()


def _environment(jobs: int) -> dict[str, str]:
    """Ours, with the cores shared out, widgets plain, and no setting of the user's own that would change a figure."""
    threads = str(max(1, (os.cpu_count() or 1) // jobs))
    fonts = home() / "matplotlib"
    fonts.mkdir(parents=True, exist_ok=True)
    ours = {
        **dict.fromkeys(_THREADS, threads),
        "MPLCONFIGDIR": str(fonts),
        "PYTHONHASHSEED": "0",
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        "MRB_STATIC": "1",
    }
    kept = {name: value for name, value in os.environ.items() if name not in ("MPLBACKEND", "MATPLOTLIBRC")}
    return {**kept, **ours}
