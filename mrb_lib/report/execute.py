"""Notebooks run headless by papermill, several at a time."""

import multiprocessing
import os
import re
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import nbformat
import papermill
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode
from papermill.engines import Engine, papermill_engines

from mrb_lib.report.clean import without_colours
from mrb_lib.report.lab import Task, assigned, is_parameters, parameters_of
from mrb_lib.report.places import home
from mrb_lib.report.records import ARTEFACTS, EXECUTED, NotebookFailure
from mrb_lib.tables.errors import InputError

_ADDED = {"injected-parameters", "options"}
_THREADS: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
_OF_THE_USER: Final = ("MPLBACKEND", "MATPLOTLIBRC")


@dataclass(frozen=True)
class Finished:
    """A notebook that has run, in the working folder it left its files in."""

    notebook: Path
    folder: Path
    failure: NotebookFailure | None
    seconds: float


def read_notebook(path: Path) -> NotebookNode:
    """Read a notebook and check that it takes the benchmark of the report.

    Raises
    ------
    InputError
        It is not a notebook, or its parameters cell is missing or does not set `benchmark`
        (papermill would only warn, and the notebook would run on its default).
    """
    try:
        notebook: NotebookNode = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]  # it has no hints
        nbformat.validate(notebook)
    except (OSError, ValueError, AttributeError, KeyError, nbformat.ValidationError) as error:
        raise InputError(f"{path.name}: is not a notebook ({str(error).splitlines()[0]}); restore it.") from error
    if sum(map(is_parameters, notebook.cells)) != 1:
        raise InputError(f"{path.name}: tag exactly one cell `parameters`.")
    if "benchmark" not in parameters_of(path):
        raise InputError(f"{path.name}: the parameters cell does not set benchmark; add it there.")
    return notebook


def run_notebooks(notebooks: Sequence[Path], folder: Path, tasks: Mapping[str, Task], jobs: int) -> Iterator[Finished]:
    """Run notebooks in parallel processes and yield each as it finishes.

    Parameters
    ----------
    notebooks : their files
    folder : to work in; each notebook gets a folder of its name there, and `log.txt` what kernels print
    tasks : of each notebook by its name
    jobs : how many run at a time

    Notes
    -----
    When the caller stops early, or is interrupted, those that run are stopped too.
    """
    folder.mkdir(parents=True, exist_ok=True)
    pool = ProcessPoolExecutor(
        jobs, multiprocessing.get_context("spawn"), initializer=_prepare,
        initargs=(_environment(jobs, folder), folder / "log.txt"),
    )  # fmt: skip
    try:
        started = [pool.submit(_run_one, path, folder / path.stem, tasks[path.stem]) for path in notebooks]
        for done in as_completed(started):
            yield done.result()
    finally:
        at_work = list((pool._processes or {}).values())  # no public name before Python 3.14
        pool.shutdown(wait=False, cancel_futures=True)
        for process in at_work:
            process.terminate()


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


def _run_one(source: Path, folder: Path, task: Task) -> Finished:
    """Run a notebook; its executed copy is `folder/executed.ipynb`."""
    start, failure = time.perf_counter(), None
    at: list[Any] = [None, ""]
    folder.mkdir(parents=True)
    os.chdir(folder)
    try:
        notebook = read_notebook(source)
        given = ", ".join(f"{name}={value!r}" for name, value in {**task["options"], "out": str(folder)}.items())
        options = nbformat.v4.new_code_cell(f"import mrb_lib\n\nmrb_lib.set_defaults({given})")  # type: ignore[no-untyped-call]  # it has no hints
        options.metadata["tags"] = ["options"]
        notebook.cells.insert([*map(is_parameters, notebook.cells)].index(True) + 1, options)
        papermill.execute_notebook(
            notebook, None, dict(task["parameters"]), engine_name="watching", kernel_name="python3",
            language="python", progress_bar=False, folder=folder, at=at,
        )  # fmt: skip
    except Exception as error:  # noqa: BLE001  # a kernel that dies raises whatever jupyter meets first
        name, value = getattr(error, "ename", type(error).__name__), getattr(error, "evalue", str(error))
        failure = NotebookFailure(source.stem, at[0], at[1], name, without_colours(value))
    return Finished(source, folder, failure, time.perf_counter() - start)


class WatchingEngine(Engine):  # type: ignore[misc]  # papermill has no type hints
    """Runs the cells of a notebook and notes in each what it published, or why it made nothing.

    Each cell that published figures or tables carries their names under `metadata.mrb.published`. A cell whose table
    does not apply to the data says so in its place, under `metadata.mrb.not_applicable` too, and so does each cell that
    needs what it would have made; the others run.
    """

    @classmethod
    def execute_managed_notebook(
        cls, nb_man: Any, kernel_name: str, *, folder: Path, at: list[Any], **options: object
    ) -> None:
        """Run the cells in order until one fails.

        Parameters
        ----------
        folder : where figures and tables are published
        at : is given the number and the source of the cell at work
        """
        notebook, number = nb_man.nb, 0
        # Without a folder of kernels, `python3` is this interpreter, whatever the machine has registered.
        kernel = AsyncKernelManager(kernel_name=kernel_name, kernel_spec_manager=KernelSpecManager(kernel_dirs=[]))
        client = NotebookClient(notebook, km=kernel, record_timing=False)
        seen: set[str] = set()
        lost: dict[str, str] = {}
        try:
            with client.setup_kernel(cleanup_kc=True):
                for place, cell in enumerate(notebook.cells):
                    number += not _ADDED & {*cell.metadata.get("tags", [])}  # the cells of the notebook itself
                    at[:] = number, cell.source
                    try:
                        client.execute_cell(cell, place)
                    except CellExecutionError as error:
                        if not _mend(cell, error, lost):
                            raise
                    made = {f"{kind}/{path.stem}" for kind in ARTEFACTS for path in (folder / kind).glob("*.json")}
                    if made - seen:
                        cell.metadata.setdefault("mrb", {})["published"] = sorted(made - seen)
                        seen |= made
        finally:
            executed = deepcopy(notebook)  # papermill needs its notes until the end
            for part in (executed, *executed.cells):
                part.metadata.pop("papermill", None)
            nbformat.write(executed, folder / EXECUTED)  # type: ignore[no-untyped-call]  # it has no hints


papermill_engines.register("watching", WatchingEngine)


def _mend(cell: NotebookNode, error: CellExecutionError, lost: dict[str, str]) -> bool:
    """Turn an error that says that a table does not apply into that sentence; False for any other error.

    Parameters
    ----------
    lost : the names that earlier cells did not make for that reason, with the reason; added to
    """
    undefined = re.search(r"name '(\w+)' is not defined", error.evalue) if error.ename == "NameError" else None
    reason = error.evalue if error.ename == "NotApplicable" else lost.get(undefined[1]) if undefined else None
    if reason is None:
        return False
    lost.update(dict.fromkeys(assigned(cell.source), reason))
    cell.outputs = [output for output in cell.outputs if output["output_type"] != "error"]
    if not undefined:  # else the cell before says why
        text = {"text/plain": f"Not applicable: {reason}"}
        cell.outputs.append(nbformat.v4.new_output("display_data", text))  # type: ignore[no-untyped-call]  # it has no hints
        cell.metadata.setdefault("mrb", {})["not_applicable"] = reason
    return True


def _environment(jobs: int, folder: Path) -> dict[str, str]:
    """Ours, with the cores shared out, widgets plain, and no setting of the user's own that would change a figure."""
    fonts = home() / "matplotlib"
    fonts.mkdir(parents=True, exist_ok=True)
    return {
        **{name: value for name, value in os.environ.items() if name not in _OF_THE_USER},
        **dict.fromkeys(_THREADS, str(max(1, (os.cpu_count() or 1) // jobs))),
        "MPLCONFIGDIR": str(fonts),
        "PYTHONHASHSEED": "0",
        "MRB_STATIC": "1",
        "IPYTHONDIR": str(folder / "ipython"),
        "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
    }
