"""A notebook without a kernel, where what is tested is not that one runs it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from IPython.display import display

import mrb_lib

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


def cells_of(path: Path) -> list[nbformat.NotebookNode]:
    """The cells of code of a notebook."""
    return [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]


def parameters_of(path: Path) -> dict[str, object]:
    """The parameters of a notebook with their defaults."""
    [cell] = [cell for cell in cells_of(path) if "parameters" in cell.metadata.get("tags", [])]
    return {
        s.targets[0].id: ast.literal_eval(s.value) for s in ast.parse(cell.source).body if isinstance(s, ast.Assign)
    }


def run_cells(path: Path, parameters: dict[str, Any], **options: Any) -> Iterator[tuple[dict[str, Any], Any]]:
    """Run the cells of code in this process as a report does: the names defined so far, and what each cell shows.

    A cell that does not apply shows the reason, and one that needs what it would have made shows nothing.

    Parameters
    ----------
    parameters : take effect after the cell that is tagged `parameters`
    options : what `mrb_lib.set_defaults` is given there
    """
    names: dict[str, Any] = {"display": display}  # as in a kernel
    lost: set[str] = set()
    for cell in cells_of(path):
        statements = ast.parse(cell.source).body
        last = statements.pop() if isinstance(statements[-1], ast.Expr) else None
        shown = None
        try:
            exec(compile(ast.Module(statements, []), path.name, "exec"), names)  # noqa: S102  # the library's own notebook
            if isinstance(last, ast.Expr):
                shown = eval(compile(ast.Expression(last.value), path.name, "eval"), names)  # noqa: S307  # as above
        except (mrb_lib.NotApplicable, NameError) as error:
            undefined = re.search(r"name '(\w+)' is not defined", str(error))
            if isinstance(error, NameError) and not (undefined and undefined[1] in lost):
                raise
            targets = [each for s in statements if isinstance(s, ast.Assign) for each in ast.walk(s.targets[0])]
            lost |= {each.id for each in targets if isinstance(each, ast.Name)} - names.keys()
            shown = error if isinstance(error, mrb_lib.NotApplicable) else None
        if "parameters" in cell.metadata.get("tags", []):
            assert parameters.keys() <= names.keys()
            names.update(parameters)
            mrb_lib.set_defaults(**options)
        yield names, shown
