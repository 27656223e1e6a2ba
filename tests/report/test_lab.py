from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import nbformat
import pytest

from mrb_lib.report.notebook.lab import START, own_notebooks, prepare, start_notebook, with_parameters
from mrb_lib.tables.errors import InputError

HOSTILE = '/data/\'; import os; os.abort() #"""\n{x} \\ é\u202e'


def parameters(path: Path) -> dict[str, Any]:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    [cell] = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
    statements = ast.parse(cell.source).body
    assert all(isinstance(statement, ast.Assign) for statement in statements)
    return {one.targets[0].id: ast.literal_eval(one.value) for one in statements}


def test_every_notebook_is_written_with_its_parameters_set(tmp_path: Path) -> None:
    start, numbered = prepare(tmp_path / "mine", "/b", "/b/runs")
    sources = sorted(own_notebooks().glob("*.ipynb"))
    assert [made.path.name for made in numbered] == [source.name for source in sources]
    assert not any(made.kept for made in [start, *numbered])
    for made, source in zip(numbered, sources, strict=True):
        assert parameters(made.path) == {**parameters(source), "benchmark": "/b", "runs": "/b/runs"}
        before, after = (json.loads(path.read_text())["cells"] for path in (source, made.path))
        assert len(before) == len(after)
        tagged = [cell["metadata"].get("tags") == ["parameters"] for cell in before]
        assert [one == other for one, other in zip(before, after, strict=True)] == [not tag for tag in tagged]
    assert parameters(start.path)["benchmark"] == "/b"


def test_the_first_notebook_holds_no_outputs_and_links_to_every_other(tmp_path: Path) -> None:
    start, numbered = prepare(tmp_path, "/b", "")
    notebook = nbformat.read(start.path, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all((cell.outputs, cell.execution_count) == ([], None) for cell in code)
    assert len({cell.id for cell in notebook.cells}) == len(notebook.cells)
    for cell in code:
        ast.parse(cell.source)
    links = notebook.cells[-1].source
    for made in numbered:
        assert f"](<{made.path.name}>)" in links
    asked = "\n".join(cell.source for cell in code)
    for name in ("open_workspace(", "composition", "browse_leaderboard,", "browse_heatmap,", "explore("):
        assert name in asked


@pytest.mark.parametrize("text", [HOSTILE, "C:\\new", "", "a'b\"c"])
def test_a_path_is_a_literal_whatever_is_in_it(text: str, tmp_path: Path) -> None:
    start, numbered = prepare(tmp_path, text, text)
    for made in [start, *numbered]:
        found = parameters(made.path)
        assert (found["benchmark"], found["runs"]) == (text, text)


def test_a_notebook_that_is_there_is_never_changed(tmp_path: Path) -> None:
    first, _ = prepare(tmp_path, "/b", "")
    mine = json.loads(first.path.read_text())
    mine["cells"].append({"cell_type": "markdown", "id": "mine", "metadata": {}, "source": "my own words"})
    first.path.write_text(json.dumps(mine))
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    again, numbered = prepare(tmp_path, "/b", "")
    assert again.path == first.path
    assert all(made.kept for made in [again, *numbered])
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("there", ["other", "{", "", '{"cells": []}', '{"cells": [{}]}'])
def test_what_is_not_ours_keeps_its_name_and_ours_gets_a_number(there: str, tmp_path: Path) -> None:
    mine = tmp_path / START
    mine.write_text(json.dumps(start_notebook("/other", "")) if there == "other" else there)
    before = mine.read_bytes()
    start, _ = prepare(tmp_path, "/b", "")
    assert start.path.name == "start-2.ipynb"
    assert mine.read_bytes() == before
    assert parameters(start.path)["benchmark"] == "/b"
    assert prepare(tmp_path, "/b", "")[0].path == start.path


def test_other_parameters_keep_what_they_were() -> None:
    cell = {"cell_type": "code", "metadata": {"tags": ["parameters"]}, "source": ['benchmark = "demo"\n', "limit = 12"]}
    other = {"cell_type": "code", "metadata": {}, "source": "benchmark = 1"}
    made = with_parameters({"cells": [cell, other], "nbformat": 4}, {"benchmark": "/b"})
    assert made["cells"][0]["source"] == "benchmark = '/b'\nlimit = 12"
    assert made["cells"][1] is other
    assert made["nbformat"] == 4


def test_titles_are_shown_and_not_read_as_markup(tmp_path: Path) -> None:
    source = tmp_path / "from"
    source.mkdir()
    hostile = start_notebook("", "")
    hostile["cells"][0]["source"] = "# <script>alert(1)</script> ](javascript:alert(1)) *x*"
    (source / "01_a b)>.ipynb").write_text(json.dumps(hostile))
    start, _ = prepare(tmp_path / "to", "/b", "", notebooks=source)
    last = json.loads(start.path.read_text())["cells"][-1]["source"].splitlines()[-1]
    assert last == "- [\\<script\\>alert(1)\\</script\\> \\](javascript:alert(1)) \\*x\\*](<01_a%20b%29%3E.ipynb>)"


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="name another with --folder"):
        prepare(tmp_path / "file", "/b", "")
