"""The notebooks that `mrb lab` writes: set to a benchmark and its runs, and nobody's own work overwritten."""

import ast
import json
from pathlib import Path
from typing import Any

import nbformat
import pytest

import mrb_lib
from mrb_lib.report.defaults import DEFAULTS
from mrb_lib.report.lab import opening, own_notebooks, prepare
from mrb_lib.tables.errors import InputError

HOSTILE = '/data/\'; import os; os.abort() #"""\n{x} \\ \\1 é\u202e'
START = "00_start.ipynb"


def parameters(path: Path) -> dict[str, Any]:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    [cell] = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
    statements = ast.parse(cell.source).body
    assert all(isinstance(statement, ast.Assign) for statement in statements)
    return {one.targets[0].id: ast.literal_eval(one.value) for one in statements}


def test_every_notebook_is_written_and_opens_the_benchmark(tmp_path: Path) -> None:
    written = prepare(tmp_path / "mine", "/b")
    sources = sorted(own_notebooks().glob("*.ipynb"))
    assert [path.name for path in written] == [source.name for source in sources]
    assert next(iter(written)).name == START
    assert not any(written.values())
    for made, source in zip(written, sources, strict=True):
        assert parameters(made) == {**parameters(source), "benchmark": "/b"}
        before, after = (json.loads(path.read_text())["cells"] for path in (source, made))
        tagged = [cell["metadata"].get("tags") == ["parameters"] for cell in before]
        assert [one == other for one, other in zip(before, after, strict=True)] == [not tag for tag in tagged]


def test_other_runs_are_set_for_all_that_is_opened_below(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [path] = [path for path in prepare(tmp_path, "/b", "/b/some runs") if path.name == START]
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    assert "parameters" in cells[0].metadata.tags
    monkeypatch.setitem(DEFAULTS, "runs", "")
    exec(cells[1].source, {"mrb_lib": mrb_lib})  # noqa: S102  # the library's own cell
    assert DEFAULTS["runs"] == "/b/some runs"


@pytest.mark.parametrize("runs", ["", HOSTILE])
def test_a_hostile_path_is_text(runs: str, tmp_path: Path) -> None:
    start = next(iter(prepare(tmp_path, HOSTILE, runs)))
    assert parameters(start)["benchmark"] == HOSTILE
    for cell in nbformat.read(start, as_version=4).cells:
        if cell.cell_type == "code":
            ast.parse(cell.source)


@pytest.mark.parametrize("runs", ["", "/runs"])
def test_a_notebook_of_the_same_benchmark_and_runs_is_kept_with_all_that_was_changed(runs: str, tmp_path: Path) -> None:
    first = next(iter(prepare(tmp_path, "/b", runs)))
    mine = json.loads(first.read_text())
    mine["cells"].append({"cell_type": "markdown", "id": "mine", "metadata": {}, "source": "my own words"})
    first.write_text(json.dumps(mine))
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    again = prepare(tmp_path, "/b", runs)
    assert next(iter(again)) == first
    assert all(again.values())
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert next(iter(prepare(tmp_path, "/b", "/other"))).name == "00_start-2.ipynb"


@pytest.mark.parametrize("there", ["other", "{", "", '{"cells": []}', '{"cells": [{}]}'])
def test_what_is_not_ours_keeps_its_name_and_ours_gets_a_number(there: str, tmp_path: Path) -> None:
    mine = tmp_path / START
    other = opening(json.loads((own_notebooks() / START).read_text()), "/other")
    mine.write_text(json.dumps(other) if there == "other" else there)
    before = mine.read_bytes()
    start = next(iter(prepare(tmp_path, "/b")))
    assert start.name == "00_start-2.ipynb"
    assert mine.read_bytes() == before
    assert parameters(start)["benchmark"] == "/b"
    assert next(iter(prepare(tmp_path, "/b"))) == start


def test_other_parameters_keep_what_they_were() -> None:
    cell = {"cell_type": "code", "metadata": {"tags": ["parameters"]},
            "source": ['benchmark = "demo"  # or a folder\n', "limit = 12  # cases"]}  # fmt: skip
    other = {"cell_type": "code", "metadata": {}, "source": "benchmark = 1"}
    made = opening({"cells": [cell, other], "nbformat": 4}, "/b")
    assert made["cells"][0]["source"] == "benchmark = '/b'\nlimit = 12  # cases"
    assert made["cells"][1] is other
    assert made["nbformat"] == 4


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="name another with --folder"):
        prepare(tmp_path / "file", "/b")


def test_a_folder_without_notebooks_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no notebook"):
        prepare(tmp_path / "mine", "/b", notebooks=tmp_path)
