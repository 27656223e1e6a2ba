"""A notebook without a kernel, where what is tested is not that one runs it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat


def run_cells(path: Path, parameters: dict[str, Any]) -> Iterator[tuple[dict[str, Any], Any]]:
    """Run the cells of code in this process, one a step: the names defined by then, and what a cell's last line gives.

    Parameters take effect after the cell that is tagged `parameters`, and only those that it has.
    """
    names: dict[str, Any] = {}
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "code":
            statements = ast.parse(cell.source).body
            is_shown = isinstance(statements[-1], ast.Expr) and not cell.source.rstrip().endswith(";")
            last = statements.pop() if is_shown else None
            exec(compile(ast.Module(statements, []), path.name, "exec"), names)  # noqa: S102  # the library's own notebook
            shown = eval(compile(ast.Expression(last.value), path.name, "eval"), names) if last else None  # noqa: S307  # as above
            if "parameters" in cell.metadata.get("tags", []):
                assert parameters.keys() <= names.keys()
                names.update(parameters)
            yield names, shown
