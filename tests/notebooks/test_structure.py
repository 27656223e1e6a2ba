"""Every notebook is a short article that a batch job can run."""

from __future__ import annotations

import ast
from pathlib import Path

import nbformat
import pytest

from mrb_lib.figures.registry import FIGURES

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
ARTICLES = [path for path in NOTEBOOKS if path.stem != "template"]
COMMON = {
    "benchmark": "demo",
    "runs": "",
    "judges": "",
    "dimension": "overall",
    "by": "",
    "where": "",
    "policy": "balanced",
    "gold": "majority",
    "cluster": "",
    "resamples": 2000,
    "seed": 0,
    "out": "",
}
# What a notebook takes besides.
MORE: dict[str, dict[str, object]] = {
    "00_verdict": {"judge": "", "target": 0.9},
    "03_leaderboard": {"groups": ""},
    "04_significance": {"margin": 0.0},
    "08_judging": {"judge": "", "limit": 12, "keep_runs": ""},
    "09_ceiling": {"epsilon": 0.2},
    "13_calibration": {"target": 0.9, "delta": 0.1},
    "19_paper": {"work": "", "groups": ""},
    "20_construction": {"work": ""},
    "24_comparison": {"other_benchmark": "", "other_runs": ""},
    "25_ratings": {"level": ""},
}


def read(path: Path) -> nbformat.NotebookNode:
    return nbformat.read(path, as_version=4)


def code(path: Path) -> ast.Module:
    return ast.parse("\n".join(cell.source for cell in read(path).cells if cell.cell_type == "code"))


def test_there_are_notebooks() -> None:
    numbers = [int(path.stem.partition("_")[0]) for path in ARTICLES]
    assert numbers == sorted(set(numbers)), "each has a number of its own"
    assert len(NOTEBOOKS) == len(ARTICLES) + 1


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
class TestNotebook:
    def test_is_valid_and_runs_on_any_python3(self, path: Path) -> None:
        notebook = read(path)
        nbformat.validate(notebook)
        assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
        assert notebook.metadata.kernelspec.name == "python3"

    def test_holds_no_outputs(self, path: Path) -> None:
        for cell in read(path).cells:
            if cell.cell_type == "code":
                assert (cell.outputs, cell.execution_count) == ([], None)

    def test_has_one_parameters_cell_with_the_agreed_names_and_defaults(self, path: Path) -> None:
        tagged = [cell for cell in read(path).cells if "parameters" in cell.metadata.get("tags", [])]
        assert len(tagged) == 1
        values = [(s.targets[0].id, ast.literal_eval(s.value)) for s in ast.parse(tagged[0].source).body]
        assert values == [*COMMON.items(), *MORE.get(path.stem, {}).items()]

    def test_hands_every_parameter_on(self, path: Path) -> None:
        calls = [node for node in ast.walk(code(path)) if isinstance(node, ast.Call)]
        handed = [each for call in calls if ast.unparse(call.func) != "print" for each in [*call.args, *call.keywords]]
        names = {node.id for each in handed for node in ast.walk(each) if isinstance(node, ast.Name)}
        assert {*COMMON, *MORE.get(path.stem, {})} <= names

    def test_defines_nothing_but_the_template_its_question(self, path: Path) -> None:
        made = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
        defined = [node for node in ast.walk(code(path)) if isinstance(node, made)]
        assert len(defined) == (path.stem == "template")

    def test_reads_like_a_short_article(self, path: Path) -> None:
        cells = read(path).cells
        assert 8 <= len(cells) <= 20
        assert cells[0].cell_type == "markdown"
        assert cells[0].source.startswith("# ")
        assert "?" in cells[0].source, "it states its question"
        assert "caveat" in cells[0].source, "it states what would mislead"
        assert sum(cell.cell_type == "markdown" for cell in cells) >= 3

    def test_ends_with_a_conclusion_computed_from_the_data(self, path: Path) -> None:
        cells = read(path).cells
        assert [i for i, cell in enumerate(cells) if "conclusion" in cell.metadata.get("tags", [])] == [len(cells) - 1]
        assert "w.conclude(" in cells[-1].source


def test_every_figure_is_shown_by_a_notebook_and_each_is_published_once() -> None:
    calls = [
        node for path in NOTEBOOKS for node in ast.walk(code(path))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "w.figure"
    ]  # fmt: skip
    drawn = {ast.literal_eval(call.args[0]) for call in calls}
    assert drawn == set(FIGURES)
    ids = [
        next(
            (ast.literal_eval(k.value) for k in call.keywords if k.arg == "publish_as"), ast.literal_eval(call.args[0])
        )
        for call in calls
    ]
    assert len(ids) == len(set(ids))
