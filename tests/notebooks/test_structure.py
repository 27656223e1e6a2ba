"""Every notebook is a short article that a batch job can run."""

from __future__ import annotations

import ast
from pathlib import Path

import nbformat
import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
PARAMETERS = {
    "benchmark": "demo",
    "runs": "",
    "dimension": "overall",
    "policy": "balanced",
    "seed": 0,
    "out": "",
}
# What a notebook takes besides.
MORE: dict[str, dict[str, object]] = {"08_judging": {"judge": "", "limit": 12}}
FIGURES = {
    "composition-organs",
    "composition-departments",
    "composition-modalities",
    "composition-sources",
    "composition-lengths",
    "agreement-dimensions",
    "agreement-pairs",
    "leaderboard",
    "organs-heatmap",
    "organs-radar",
    "departments-heatmap",
    "departments-radar",
    "order-consistency",
    "position-bias",
    "significance-p",
    "significance-differences",
    "failures-gallery",
    "engine-orders",
    "agreement-paradox",
    "position-split",
    "instability",
    "order-violations",
    "ceiling-annotators",
    "ceiling-distances",
    "ceiling-alternative",
    "gold-confusion",
    "gold-rules",
    "gold-ranks",
    "models-effects",
    "models-dif",
    "models-difficulty",
    "models-suspicion",
    "bias-errors",
    "bias-pull",
    "bias-length-controlled",
    "significance-outcomes",
    "critical-difference",
    "organs-macro",
    "responder-strengths",
    "rank-agreement",
    "ppi-win-rates",
    "ppi-label-saving",
    "transfer-forest",
    "transfer-predictions",
    "transfer-rankings",
    "jury-sizes",
    "jury-cost",
    "jury-members",
    "power-curves",
    "power-detectable",
    "power-coverage",
    "reliability",
    "calibration-error",
    "overconfidence",
    "calibration-shift",
    "risk-coverage",
    "adjudication-moves",
    "adjudication-reviewers",
    "adjudication-reasons",
}


def read(path: Path) -> nbformat.NotebookNode:
    return nbformat.read(path, as_version=4)


def code(path: Path) -> ast.Module:
    return ast.parse("\n".join(cell.source for cell in read(path).cells if cell.cell_type == "code"))


def test_there_are_notebooks() -> None:
    assert [path.stem[:3] for path in NOTEBOOKS] == [f"{i:02d}_" for i in range(1, len(NOTEBOOKS) + 1)]


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
        statements = ast.parse(tagged[0].source).body
        assert {s.targets[0].id: ast.literal_eval(s.value) for s in statements} == {
            **PARAMETERS,
            **MORE.get(path.stem, {}),
        }

    def test_uses_every_parameter_that_changes_what_it_shows(self, path: Path) -> None:
        used = {
            node.id for node in ast.walk(code(path)) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        }
        assert {"benchmark", "runs", "out", *MORE.get(path.stem, {})} <= used

    def test_defines_nothing(self, path: Path) -> None:
        made = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
        assert not [node for node in ast.walk(code(path)) if isinstance(node, made)]

    def test_reads_like_a_short_article(self, path: Path) -> None:
        cells = read(path).cells
        assert 8 <= len(cells) <= 14
        assert cells[0].cell_type == "markdown"
        assert cells[0].source.startswith("# ")
        assert sum(cell.cell_type == "markdown" for cell in cells) >= 3


def test_the_set_of_figures_is_complete_and_each_is_published_once() -> None:
    calls = [node for path in NOTEBOOKS for node in ast.walk(code(path)) if isinstance(node, ast.Call)]
    published = [ast.literal_eval(call.args[1]) for call in calls if ast.unparse(call.func) == "publish.figure"]
    assert sorted(published) == sorted(FIGURES)
