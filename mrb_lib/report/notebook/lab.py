"""The notebooks that `mrb lab` opens: a first one with everything set, and the library's own with their parameters."""

from __future__ import annotations

import ast
import json
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import mrb_lib
from mrb_lib.tables.errors import InputError

START: Final = "start.ipynb"
_TAG = "parameters"
_MOST = 1000

Notebook = dict[str, Any]

_OPENING = """\
# Start here

The benchmark, its runs and the store of reviews are set below. Run all cells (*Run*, *Run All Cells*), then read on; \
this notebook is yours to change."""
_LOAD = """\
from mrb_lib.report.notebook import open_workspace
from mrb_lib.report.places import home, locate
from mrb_lib.review.failures.index import cached_index
from mrb_lib.review.boards import browse_heatmap, browse_leaderboard
from mrb_lib.review.explorer import explore
from mrb_lib.review.progress import live_steps

w = open_workspace(benchmark, runs, dimension=dimension, policy=policy, seed=seed)
folders = locate(benchmark, runs)
store = os.environ.get("MRB_STORE") or str(folders.benchmark / "reviews.sqlite")
index = cached_index(w.benchmark, folders.benchmark, folders.runs, home() / "review", progress=live_steps())
needs = ["preferences", "annotations", "verdicts"]
options = {"policy": policy, "dimension": w.dimension, "seed": seed, "needs": needs}
print(w.summary, w.missing(*needs), sep="\\n")"""
_COMPOSITION = """\
w.figure("composition", w.analyze("composition"))"""
_LEADERBOARD = """\
w.apply(browse_leaderboard, w.benchmark, w.verdicts, groups=w.groups(), **options)"""
_HEATMAP = """\
explorer = explore(w.benchmark, index, store=store)
w.apply(browse_heatmap, w.benchmark, index, by="organ", explorer=explorer, **options)"""
_SECTIONS: Final = (
    (
        "## What the benchmark is made of\n\nCases by organ, department and modality; a score over all cases is mostly "
        "a score on the longest bars.",
        _COMPOSITION,
    ),
    (
        "## Which judges choose as the annotators do?\n\nChoose the policy, the dimension and the cases; a click on a "
        "column's name sorts by it.",
        _LEADERBOARD,
    ),
    (
        "## Where are they strong, and where weak?\n\nA click on a cell, or Enter, lists the cases behind it; *Open "
        "these in the explorer* filters the explorer below by them.",
        _HEATMAP,
    ),
    ("## Case by case\n\nFilter, sort, read, and adjudicate as a reviewer.", "explorer"),
)


class Written(NamedTuple):
    """A notebook in the folder; `kept` says that it was there before and is as it was."""

    path: Path
    kept: bool


def own_notebooks() -> Path:
    """The folder of the library's notebooks: of the checkout, or those that were installed with the library."""
    beside = Path(mrb_lib.__file__).parent.parent / "notebooks"
    return beside if beside.is_dir() else Path(sysconfig.get_path("data")) / "share" / "mrb-workbench" / "notebooks"


def prepare(folder: Path, benchmark: str, runs: str, *, notebooks: Path | None = None) -> tuple[Written, list[Written]]:
    """Write the notebooks into a folder; one that is there already is never changed.

    Parameters
    ----------
    folder : made if need be
    benchmark, runs : as `mrb_lib.report.notebook.open_workspace` takes them; folders have to be absolute
    notebooks : the folder of the others; None for the library's own

    Returns
    -------
    start, others
        A notebook that is there and works on the same benchmark and runs is kept; beside one that does not, the new
        one has a number in its name.

    Raises
    ------
    InputError
        The folder cannot be written, or there are no notebooks.

    Notes
    -----
    Validated by tests/report/notebook/test_lab.py.
    """
    sources = sorted((notebooks or own_notebooks()).glob("*.ipynb"))
    if not sources:
        raise InputError(f"{notebooks or own_notebooks()}: holds no notebook; install the package again.")
    values = {"benchmark": benchmark, "runs": runs}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        others = []
        titles = []
        for source in sources:
            read: Notebook = json.loads(source.read_text(encoding="utf-8"))
            titles.append(_title(read, source.stem))
            others.append(_written(folder, source.name, with_parameters(read, values), values))
        links = [(title, made.path.name) for title, made in zip(titles, others, strict=True)]
        start = _written(folder, START, start_notebook(benchmark, runs, links), values)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror}); name another with --folder.") from error
    return start, others


def start_notebook(benchmark: str, runs: str, links: Sequence[tuple[str, str]] = ()) -> Notebook:
    """The first notebook, as the JSON of nbformat 4.5.

    Parameters
    ----------
    links : title and file name of other notebooks in the same folder
    """
    parameters = _parameters({"benchmark": benchmark, "runs": runs, "dimension": "overall", "policy": "balanced",
                              "seed": 0})  # fmt: skip
    cells = [_markdown(_OPENING), _code(parameters, [_TAG]), _code(f"import os\n\n{_LOAD}")]
    for text, code in _SECTIONS:
        cells += [_markdown(text), _code(code)]
    if links:
        listed = "\n".join(f"- [{_plain(title)}](<{quote(name)}>)" for title, name in links)
        cells.append(_markdown(f"## One notebook a question\n\nTheir parameters are set as here.\n\n{listed}"))
    for i, cell in enumerate(cells):
        cell["id"] = f"start-{i}"
    spec = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": spec, "language_info": {"name": "python"}}
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def with_parameters(notebook: Mapping[str, Any], values: Mapping[str, str]) -> Notebook:
    """A notebook whose parameters cell sets `values`, each as the literal of its text; all else is as it was."""
    cells = []
    for cell in notebook["cells"]:
        if _TAG in cell.get("metadata", {}).get("tags", []):
            parameters = {**_set_in("".join(cell["source"])), **values}
            cell = {**cell, "source": _parameters(parameters)}
        cells.append(cell)
    return {**notebook, "cells": cells}


def _parameters(values: Mapping[str, object]) -> str:
    return "\n".join(f"{name} = {value!r}" for name, value in values.items())


def _set_in(source: str) -> dict[str, object]:
    """The names that a parameters cell sets to literals; those that it computes are not there."""
    values: dict[str, object] = {}
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            values[statement.targets[0].id] = ast.literal_eval(statement.value)
    return values


def _written(folder: Path, name: str, notebook: Notebook, values: Mapping[str, str]) -> Written:
    """The file of a notebook in a folder where others may lie under its name."""
    content = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
    stem = name.removesuffix(".ipynb")
    for count in range(1, _MOST):
        path = folder / (name if count == 1 else f"{stem}-{count}.ipynb")
        try:
            with path.open("x", encoding="utf-8") as stream:
                stream.write(content)
        except FileExistsError:
            if _works_on(path, values):
                return Written(path, kept=True)
        else:
            return Written(path, kept=False)
    raise InputError(f"{folder}: holds {_MOST} notebooks named {name}; name another folder with --folder.")


def _works_on(path: Path, values: Mapping[str, str]) -> bool:
    """Whether a notebook's parameters cell sets the same benchmark and runs; False for what cannot be read."""
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        tagged = [cell for cell in cells if _TAG in cell["metadata"].get("tags", [])]
        parameters = _set_in("".join(tagged[0]["source"]))
    except (OSError, ValueError, KeyError, IndexError, TypeError, SyntaxError):
        return False
    return {name: parameters.get(name) for name in values} == dict(values)


def _title(notebook: Mapping[str, Any], otherwise: str) -> str:
    """The heading that a notebook begins with."""
    first = "".join(notebook["cells"][0]["source"]).splitlines()
    return first[0].removeprefix("# ") if first and first[0].startswith("# ") else otherwise


def _plain(text: str) -> str:
    """Text as Markdown that shows it."""
    return "".join(f"\\{sign}" if sign in r"\`*_[]<>#&!" else sign for sign in text)


def _markdown(text: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "id": "", "metadata": {}, "source": text}


def _code(text: str, tags: Sequence[str] = ()) -> dict[str, Any]:
    metadata = {"tags": list(tags)} if tags else {}
    return {"cell_type": "code", "execution_count": None, "id": "", "metadata": metadata, "outputs": [], "source": text}
