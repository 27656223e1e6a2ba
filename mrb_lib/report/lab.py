"""The notebooks that `mrb lab` opens: the library's own, set to a benchmark and its runs."""

import ast
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any, Final

import mrb_lib
from mrb_lib.tables.errors import InputError

_TAG: Final = "parameters"
_BENCHMARK = re.compile(r"^benchmark = .*$", re.MULTILINE)
Notebook = dict[str, Any]
Value = str | int | float
Task = Mapping[str, Mapping[str, Value]]
"""`parameters` of a notebook, and `options`, which `mrb_lib.set_defaults` is given in its first cell."""


def own_notebooks() -> Path:
    """The folder of the library's notebooks: those in the wheel, or those of the checkout."""
    library = Path(mrb_lib.__file__).parent
    inside = library / "notebooks"  # where a wheel puts them
    return inside if inside.is_dir() else library.parent / "notebooks"


def notebooks_in(folder: Path | None = None) -> list[Path]:
    """Return the notebooks of a folder by name, hidden ones left out; None for the library's own."""
    folder = folder or own_notebooks()
    found = sorted(path.absolute() for path in folder.glob("*.ipynb") if not path.name.startswith("."))
    if not found:
        raise InputError(f"{folder}: holds no notebook; add one, name another folder, or install the package again.")
    return found


def parameters_of(path: Path) -> dict[str, object]:
    """The parameters that a notebook takes, with their defaults; None for one that is not a literal.

    None at all for what is no notebook: it fails when it is run.
    """
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        return assigned("".join(next(cell["source"] for cell in cells if is_parameters(cell))))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, StopIteration):
        return {}


def is_parameters(cell: Mapping[str, Any]) -> bool:
    """Return whether a cell of a notebook holds its parameters."""
    return _TAG in cell.get("metadata", {}).get("tags", [])


def assigned(source: str) -> dict[str, object]:
    """The names that a cell sets, with their values; None for a value that is not a literal."""
    values: dict[str, object] = {}
    with suppress(SyntaxError):
        for statement in ast.parse(source).body:
            if isinstance(statement, ast.Assign):
                names = [target.id for target in statement.targets if isinstance(target, ast.Name)]
                values.update(dict.fromkeys(names))
                with suppress(ValueError):
                    values.update(dict.fromkeys(names, ast.literal_eval(statement.value)))
    return values


def prepare(folder: Path, benchmark: str, runs: str = "", *, notebooks: Path | None = None) -> dict[Path, bool]:
    """Write the notebooks into a folder; one that is there already is never changed.

    Parameters
    ----------
    folder : made where it is missing
    benchmark, runs : as `mrb_lib.open` takes them; folders have to be absolute. Empty runs are those of the benchmark
    notebooks : the folder of the notebooks; None for the library's own

    Returns
    -------
    dict
        The notebooks by name, the first to open first, each with whether it was there before: one that works on the
        same benchmark and runs is kept; beside one that does not, the new one has a number in its name.

    Raises
    ------
    InputError
        The folder cannot be written, or there are no notebooks.

    Notes
    -----
    Validated by tests/report/test_places.py.
    """
    sources = notebooks_in(notebooks)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        read = {source.name: json.loads(source.read_text(encoding="utf-8")) for source in sources}
        return dict(_written(folder, name, opening(each, benchmark, runs)) for name, each in read.items())
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror}); name another with --folder.") from error


def opening(notebook: Mapping[str, Any], benchmark: str, runs: str = "") -> Notebook:
    """Return a notebook that opens a benchmark: its parameters cell names it, and the next cell other runs, if any."""
    cells = list[Notebook]()
    for cell in notebook["cells"]:
        is_tagged = is_parameters(cell)
        source = "".join(cell["source"])
        named = _BENCHMARK.sub(lambda _: f"benchmark = {benchmark!r}", source)
        cells.append({**cell, "source": named} if is_tagged else cell)
        if is_tagged and runs:
            cells.append({"cell_type": "code", "execution_count": None, "id": "runs", "metadata": {}, "outputs": [],
                          "source": f"import mrb_lib\n\nmrb_lib.set_defaults(runs={runs!r})"})  # fmt: skip
    return {**notebook, "cells": cells}


def _written(folder: Path, name: str, notebook: Notebook) -> tuple[Path, bool]:
    """Write a notebook where others may lie under its name; whether it was there already."""
    stem, text = name.removesuffix(".ipynb"), json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
    paths = (folder / (name if number == 1 else f"{stem}-{number}.ipynb") for number in count(1))
    wanted = _opens(text)
    path = next(each for each in paths if not each.exists() or _opens(each.read_bytes()) == wanted)
    is_there = path.exists()
    if not is_there:
        with path.open("x", encoding="utf-8") as stream:
            stream.write(text)
    return path, is_there


def _opens(text: str | bytes) -> list[str]:
    """The lines by which a notebook says what it opens; none for what is no notebook."""
    try:
        sources = ["".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError):
        return []
    lines = [line for source in sources for line in source.splitlines()]
    return [line for line in lines if line.startswith(("benchmark = ", "mrb_lib.set_defaults(runs="))]
