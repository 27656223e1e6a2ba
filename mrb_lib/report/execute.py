"""One notebook, run headless by papermill."""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mrb_lib.report.clean import without_colours
from mrb_lib.tables.errors import InputError

if TYPE_CHECKING:
    from nbformat import NotebookNode

PARAMETERS = ("benchmark",)
"""What every notebook takes; a notebook may take more."""
EXECUTED = "executed.ipynb"
Value = str | int | float
Task = Mapping[str, Mapping[str, Value]]
"""`parameters` and `options` of a notebook, see `execute`."""
ARTEFACTS = ("figures", "tables")
_ADDED = {"injected-parameters", "papermill-error-cell-tag", "options"}
_NOT_APPLICABLE = "NotApplicable"
_UNDEFINED = re.compile(r"name '(\w+)' is not defined")
_EXCERPT_LINES = 12


@dataclass(frozen=True)
class NotebookFailure:
    """Why a notebook did not run to its end.

    Attributes
    ----------
    notebook : its name, without the suffix
    cell : the cell that failed, counted from 1 over all cells; None where no cell is to blame
    source : the beginning of that cell's source
    error : the name of the error
    value : what it said
    """

    notebook: str
    cell: int | None
    source: str
    error: str
    value: str

    def __str__(self) -> str:
        where = self.notebook if self.cell is None else f"{self.notebook}, cell {self.cell}"
        return f"{where}: {self.error}: {self.value}"


def read_notebook(path: Path) -> NotebookNode:
    """Read a notebook and check that it takes the report's parameters.

    Raises
    ------
    InputError
        It is not a notebook, or its parameters cell is missing or lacks a parameter
        (papermill would only warn, and the notebook would run on its defaults).
    """
    import nbformat

    try:
        notebook: NotebookNode = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]  # it has no hints
        nbformat.validate(notebook)
    except (OSError, ValueError, AttributeError, KeyError, nbformat.ValidationError) as error:
        raise InputError(f"{path.name}: is not a notebook ({str(error).splitlines()[0]}); restore it.") from error
    tagged = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
    if len(tagged) != 1:
        raise InputError(f"{path.name}: {len(tagged)} cells are tagged `parameters`; tag exactly one.")
    declared = _assigned(tagged[0].source)
    missing = [name for name in PARAMETERS if name not in declared]
    if missing:
        raise InputError(f"{path.name}: the parameters cell does not set {', '.join(missing)}; add it there.")
    return notebook


def parameters_of(path: Path) -> dict[str, object]:
    """The parameters that a notebook takes, with their defaults; None where a default is not a literal.

    Raises
    ------
    InputError
        As in `read_notebook`.
    """
    return parameters_in(read_notebook(path))


def parameters_in(notebook: NotebookNode) -> dict[str, object]:
    """The parameters that a notebook takes, with their defaults."""
    return _assigned(next(cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])).source)


def _insert_options(notebook: NotebookNode, options: Mapping[str, Value]) -> None:
    """Put a cell after the parameters that sets what `mrb_lib.open` takes in this report."""
    import nbformat

    given = ", ".join(f"{name}={value!r}" for name, value in options.items())
    cell = nbformat.v4.new_code_cell(f"import mrb_lib\n\nmrb_lib.set_defaults({given})")  # type: ignore[no-untyped-call]  # it has no hints
    cell.metadata["tags"] = ["options"]
    places = [i for i, own in enumerate(notebook.cells) if "parameters" in own.metadata.get("tags", [])]
    notebook.cells.insert(places[0] + 1, cell)


def _mend(cell: NotebookNode, lost: dict[str, str]) -> None:
    """Turn an error that says that a table does not apply into that sentence; note the names the cell did not make.

    Parameters
    ----------
    lost : the names that earlier cells did not make for that reason, with the reason; added to
    """
    import nbformat

    for output in [each for each in cell.get("outputs", []) if each["output_type"] == "error"]:
        undefined = _UNDEFINED.search(output["evalue"]) if output["ename"] == "NameError" else None
        reason = lost.get(undefined[1]) if undefined else None
        if output["ename"] == _NOT_APPLICABLE:
            reason = output["evalue"]
        if reason is None:
            continue
        lost.update(dict.fromkeys(_assigned(cell.source), reason))
        shown = [each for each in cell.outputs if each is not output]
        if undefined:  # the cell before says why
            cell.outputs = shown
            continue
        text = {"text/plain": f"Not applicable: {reason}"}
        cell.outputs = [*shown, nbformat.v4.new_output("display_data", text)]  # type: ignore[no-untyped-call]  # it has no hints
        cell.metadata.setdefault("mrb", {})["not_applicable"] = reason


def _assigned(source: str) -> dict[str, object]:
    """The names that a cell sets, with their values."""
    try:
        statements = ast.parse(source).body
    except SyntaxError:
        return {}
    values: dict[str, object] = {}
    for statement in statements:
        if isinstance(statement, ast.Assign):
            targets, value = statement.targets, statement.value
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            targets, value = [statement.target], statement.value
        else:
            continue
        values.update({target.id: _literal(value) for target in targets if isinstance(target, ast.Name)})
    return values


def _literal(value: ast.expr) -> object:
    try:
        return ast.literal_eval(value)
    except ValueError:
        return None


def execute(
    source: Path, folder: Path, parameters: Mapping[str, Value], options: Mapping[str, Value] | None = None
) -> NotebookFailure | None:
    """Run a notebook with papermill; its executed copy is `folder/executed.ipynb`.

    Each cell that published figures or tables carries their names in the copy, under
    `metadata.mrb.published`. A cell whose table does not apply to the data says so in its place, under
    `metadata.mrb.not_applicable` too, and so does each cell that needs what it would have made; the others run.

    Parameters
    ----------
    folder : where figures and tables are published; has to be the working folder
    parameters : values of the notebook's own parameters
    options : what `mrb_lib.set_defaults` is given in a first cell, besides `out`

    Returns
    -------
    NotebookFailure or None
        None when every cell ran.
    """
    # jsonschema can check IRIs with this; notebooks hold none, and importing it compiles a grammar for two seconds.
    sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]  # None is how an import is refused
    import papermill
    from papermill.engines import NBClientEngine, papermill_engines

    class WatchingEngine(NBClientEngine):  # type: ignore[misc]  # papermill has no type hints
        """Notes which artefacts appeared while each cell ran."""

        @classmethod
        def execute_managed_notebook(cls, nb_man: object, kernel_name: str, **options: object) -> object:
            complete = nb_man.cell_complete  # type: ignore[attr-defined]  # papermill has no type hints
            seen: set[str] = set()
            lost: dict[str, str] = {}

            def note(cell: NotebookNode, cell_index: int | None = None, **more: object) -> None:
                _mend(cell, lost)
                published = _published(folder)
                if published - seen:
                    cell.metadata.setdefault("mrb", {})["published"] = sorted(published - seen)
                    seen.update(published)
                complete(cell, cell_index=cell_index, **more)

            nb_man.cell_complete = note  # type: ignore[attr-defined]  # papermill has no type hints
            passing = [_NOT_APPLICABLE, "NameError"]
            return super().execute_managed_notebook(nb_man, kernel_name, allow_error_names=passing, **options)

    papermill_engines.register("watching", WatchingEngine)
    executed = folder / EXECUTED
    try:
        notebook = read_notebook(source)
        _insert_options(notebook, {**(options or {}), "out": str(folder)})
        papermill.execute_notebook(
            notebook,
            EXECUTED,  # papermill takes braces in a path for parameters, so the path is kept relative
            parameters=dict(parameters),
            engine_name="watching",
            kernel_name="python3",
            language="python",
            progress_bar=False,
        )
    except InputError as error:
        return NotebookFailure(source.stem, None, "", "InputError", str(error))
    except papermill.PapermillExecutionError as error:
        return _failure(source.stem, executed, error.ename, error.evalue)
    except Exception as error:  # noqa: BLE001  # a kernel that dies raises whatever jupyter meets first
        return _failure(source.stem, executed, type(error).__name__, str(error))
    return None


def _published(folder: Path) -> set[str]:
    return {f"{kind}/{path.stem}" for kind in ARTEFACTS for path in (folder / kind).glob("*.json")}


def _failure(name: str, executed: Path, error: str, value: str) -> NotebookFailure:
    """Find the failed cell in the executed copy; the cells papermill added are not counted."""
    cells = json.loads(executed.read_text(encoding="utf-8"))["cells"] if executed.is_file() else []
    own = [cell for cell in cells if not _ADDED & set(cell["metadata"].get("tags", []))]
    notes = [cell["metadata"].get("papermill", {}) for cell in own]
    # A kernel that dies leaves no cell marked as failed: then it was the last one started.
    started = [i for i, note in enumerate(notes) if note.get("start_time")]
    suspects = [i for i in started if notes[i].get("status") == "failed"] or started[-1:]
    if not suspects:
        return NotebookFailure(name, None, "", error, without_colours(value))
    return NotebookFailure(name, suspects[0] + 1, _excerpt(own[suspects[0]]["source"]), error, without_colours(value))


def _excerpt(source: str | list[str]) -> str:
    lines = ("".join(source)).splitlines()
    more = [] if len(lines) <= _EXCERPT_LINES else [f"... ({len(lines) - _EXCERPT_LINES} more lines)"]
    return "\n".join([*lines[:_EXCERPT_LINES], *more])
