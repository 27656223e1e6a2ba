"""The notebooks that `mrb lab` opens: the library's own, set to a benchmark and its runs."""

from __future__ import annotations

import json
import re
import sysconfig
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any, Final, NamedTuple

import mrb_lib
from mrb_lib.tables.errors import InputError

_TAG: Final = "parameters"
_BENCHMARK = re.compile(r"^benchmark = .*$", re.MULTILINE)
Notebook = dict[str, Any]


class Written(NamedTuple):
    """A notebook in the folder; `kept` tells that it was there before and is unchanged."""

    path: Path
    kept: bool


def own_notebooks() -> Path:
    """The folder of the library's notebooks: of the checkout, or those that were installed with the library."""
    beside = Path(mrb_lib.__file__).parent.parent / "notebooks"
    return beside if beside.is_dir() else Path(sysconfig.get_path("data")) / "share" / "mrb-workbench" / "notebooks"


def notebooks_in(folder: Path | None = None) -> list[Path]:
    """Return the notebooks of a folder by name, hidden ones left out; None for the library's own."""
    folder = folder or own_notebooks()
    found = sorted(path.absolute() for path in folder.glob("*.ipynb") if not path.name.startswith("."))
    if not found:
        raise InputError(f"{folder}: holds no notebook; add one, name another folder, or install the package again.")
    return found


def prepare(folder: Path, benchmark: str, runs: str = "", *, notebooks: Path | None = None) -> list[Written]:
    """Write the notebooks into a folder; one that is there already is never changed.

    Parameters
    ----------
    folder : made where it is missing
    benchmark, runs : as `mrb_lib.open` takes them; folders have to be absolute. Empty runs are those of the benchmark
    notebooks : the folder of the notebooks; None for the library's own

    Returns
    -------
    list of Written
        By name, the first to open first. A notebook that is there and works on the same benchmark and runs is kept;
        beside one that does not, the new one has a number in its name.

    Raises
    ------
    InputError
        The folder cannot be written, or there are no notebooks.

    Notes
    -----
    Validated by tests/report/test_lab.py.
    """
    sources = notebooks_in(notebooks)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        read = {source.name: json.loads(source.read_text(encoding="utf-8")) for source in sources}
        return [_written(folder, name, opening(notebook, benchmark, runs)) for name, notebook in read.items()]
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror}); name another with --folder.") from error


def opening(notebook: Mapping[str, Any], benchmark: str, runs: str = "") -> Notebook:
    """Return a notebook that opens a benchmark: its parameters cell names it, and the next cell other runs, if any."""
    cells = list[Notebook]()
    for cell in notebook["cells"]:
        is_tagged = _TAG in cell.get("metadata", {}).get("tags", [])
        source = "".join(cell["source"])
        named = _BENCHMARK.sub(lambda _: f"benchmark = {benchmark!r}", source)
        cells.append({**cell, "source": named} if is_tagged else cell)
        if is_tagged and runs:
            cells.append({"cell_type": "code", "execution_count": None, "id": "runs", "metadata": {}, "outputs": [],
                          "source": f"import mrb_lib\n\nmrb_lib.set_defaults(runs={runs!r})"})  # fmt: skip
    return {**notebook, "cells": cells}


def _written(folder: Path, name: str, notebook: Notebook) -> Written:
    """The file of a notebook in a folder where others may lie under its name."""
    stem, wanted = name.removesuffix(".ipynb"), _opened(notebook)
    paths = (folder / (name if number == 1 else f"{stem}-{number}.ipynb") for number in count(1))
    path = next(each for each in paths if not each.exists() or _opens(each) == wanted)
    is_there = path.exists()
    if not is_there:
        with path.open("x", encoding="utf-8") as stream:
            stream.write(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")
    return Written(path, kept=is_there)


def _opened(notebook: Mapping[str, Any]) -> list[str]:
    """The lines by which a notebook says what it opens."""
    sources = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    lines = [line for source in sources for line in source.splitlines()]
    return [line for line in lines if line.startswith(("benchmark = ", "mrb_lib.set_defaults(runs="))]


def _opens(path: Path) -> list[str]:
    """The same of a file; empty for what cannot be read."""
    try:
        return _opened(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError):
        return []
