"""Every notebook is a short article that a user could have written, and runs on whatever data there are."""

import ast
import json
from collections.abc import Iterator
from operator import eq
from pathlib import Path

import nbformat
import papermill
import pytest
from matplotlib.backends.backend_pdf import PdfFile

from mrb_lib.benchmarks.benchmark import save
from mrb_lib.benchmarks.formats import read_source
from mrb_lib.figures.style import Paper
from mrb_lib.report import defaults, study
from mrb_lib.tables.errors import NotApplicable
from mrb_lib.verdicts.store import save_imported
from tests.tables_once import Made, make_tables_once

from .cells import NOTEBOOKS, cells_of, parameters_of, run_cells

MADE = Made()
"""The tables of all notebooks: those of the same data and options are made once."""
every = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


@pytest.fixture(autouse=True)
def own_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "DEFAULTS", {})
    monkeypatch.setattr(defaults, "DEFAULTS", study.DEFAULTS)
    monkeypatch.setenv("MRB_STATIC", "1")
    make_tables_once(monkeypatch, MADE)


@every
def test_it_is_a_short_article_from_a_question_to_a_conclusion_without_outputs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert notebook.metadata.kernelspec.name == "python3"
    assert len(notebook.cells) <= 12
    first, *_, last = notebook.cells
    assert first.source.startswith("# ") and "conclusion" in last.metadata.get("tags", [])
    for cell in cells_of(path):
        assert (cell.outputs, cell.execution_count) == ([], None)
        assert len([line for line in cell.source.splitlines() if line.strip()]) <= 5, cell.source


@every
def test_it_uses_only_public_names(path: Path) -> None:
    nodes = list(ast.walk(ast.parse("\n".join(cell.source for cell in cells_of(path)))))
    assert not [node for node in nodes if isinstance(node, ast.ImportFrom)]
    assert {name.name for node in nodes if isinstance(node, ast.Import) for name in node.names} <= {"mrb_lib", "pandas"}
    assert not [node.attr for node in nodes if isinstance(node, ast.Attribute) and node.attr[0] == "_"]


@pytest.fixture
def light(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures become PDFs where all families of them are, and those without fonts, which are all alike."""
    monkeypatch.setattr(PdfFile, "writeFonts", lambda file: file.writeObject(file.fontObject, {}))
    if path.stem != "paper":
        monkeypatch.setattr(Paper, "pdf", lambda _drawn: b"%PDF")


def sidecars(out: Path) -> dict[str, dict[str, object]]:
    return {path.stem: json.loads(path.read_text()) for path in sorted((out / "figures").glob("*.json"))}


@pytest.mark.filterwarnings("ignore")  # Jupyter's own clients announce their coming changes
def test_papermill_runs_one_in_a_kernel_and_nothing_is_written_without_a_folder(full: Path, tmp_path: Path) -> None:
    path = NOTEBOOKS[0]
    notebook = papermill.execute_notebook(
        str(path), str(tmp_path / path.name), {"benchmark": str(full)}, kernel_name="python3", language="python",
        progress_bar=False,
    )  # fmt: skip
    shown = [o for cell in notebook.cells if cell.cell_type == "code" for o in cell.outputs if "data" in o]
    assert sum("image/png" in output.data for output in shown) == 2
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@every
def test_a_full_simulated_benchmark_has_every_figure_and_says_that_it_is_simulated(
    path: Path, full: Path, trained: Path, light: None, tmp_path: Path
) -> None:
    bench = trained if path.stem == "training" else full
    options = {"resamples": 40, "out": str(tmp_path)}
    shown = [last for _, last in run_cells(path, {"benchmark": str(bench)}, **options)]
    found = sidecars(tmp_path)
    assert [each for each in shown if isinstance(each, Paper)]
    for name, sidecar in found.items():
        assert sidecar["simulated"] is True
        assert "SIMULATED" in str(sidecar["caption"])
        assert "{" not in f"{sidecar['title']}{sidecar['caption']}{sidecar['reading']}", name
        for suffix in ("png", "svg", "pdf", "csv"):
            assert (tmp_path / "figures" / f"{name}.{suffix}").stat().st_size < 500_000, name
        assert "SIMULATED" in (tmp_path / "figures" / f"{name}.csv").read_text()
    assert "SIMULATED" in repr(shown[-1])
    for each in shown:
        getattr(each, "_repr_html_", str)()


@pytest.fixture
def unsaved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are laid out, with all their ticks and letters, and no pixel of them is made."""
    monkeypatch.setattr(Paper, "_quantized", lambda drawn: drawn.draw_without_rendering() or b"")
    for name in ("svg", "pdf"):
        monkeypatch.setattr(Paper, name, lambda _drawn: b"")


@pytest.fixture(scope="session", params=["pandalm", "kqa"])
def public(request: pytest.FixtureRequest, reference_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Real data: one dimension, no images, no organs; kqa has ratings of one response, and no verdicts."""
    folder = tmp_path_factory.mktemp(request.param)
    folder_of_set = reference_data / request.param
    imported = read_source(request.param, folder_of_set)
    save(imported.benchmark, folder)
    if len(imported.verdicts):
        meta = imported.benchmark.meta
        save_imported(imported.verdicts, folder / "runs", benchmark=meta.name, kind=meta.kind, source=request.param)
    return folder


def reasons(shown: Iterator[tuple[dict[str, object], object]]) -> list[str]:
    """Why cells did not apply."""
    return [str(last) for _, last in shown if isinstance(last, NotApplicable)]


@every
def test_real_data_that_lack_things_give_reasons_and_no_word_of_simulation(
    path: Path, public: Path, unsaved: None, tmp_path: Path
) -> None:
    policy = "official" if "pandalm" in public.name else "balanced"
    options = {"resamples": 40, "policy": policy, "out": str(tmp_path)}
    said = reasons(run_cells(path, {"benchmark": str(public)}, **options))
    assert all(len(reason) > 10 for reason in said)
    for sidecar in sidecars(tmp_path).values():
        assert sidecar["simulated"] is False
        assert "SIMULATED" not in json.dumps(sidecar)


@every
def test_ratings_and_benchmarks_that_nobody_judged_run_through(
    path: Path, rated: Path, small: Path, unsaved: None, tmp_path: Path
) -> None:
    for i, bench in enumerate((rated, small)):
        reasons(run_cells(path, {"benchmark": str(bench)}, resamples=40, out=str(tmp_path / str(i))))


@every
def test_every_parameter_has_an_effect(path: Path, full: Path, trained: Path, unsaved: None, tmp_path: Path) -> None:
    """Another value changes a number, what a cell shows, or whether it applies."""
    bench = trained if path.stem == "training" else full
    own = {name: value for name, value in parameters_of(path).items() if name not in _ELSEWHERE}

    def outcomes(name: str, parameters: dict[str, object]) -> Iterator[list[str]]:
        """What each cell shows, and the numbers that are published by then."""
        out = tmp_path / name
        for _, last in run_cells(path, {"benchmark": str(bench), **parameters}, resamples=40, out=str(out)):
            yield [repr(last), *(f"{file.name} {file.read_text()}" for file in sorted(out.rglob("*.csv")))]

    before = list(outcomes("before", {}))
    ignored = [name for name in own if all(map(eq, outcomes(name, {name: OTHER[name]}), before))]
    assert not ignored


_ELSEWHERE = ("benchmark", "keep_runs", "run", "work")  # tested elsewhere
OTHER: dict[str, object] = {
    "judge": "judge_0", "dimension": "creativity", "by": "model_a", "domain": "organ", "epsilon": 0.4, "target": 0.6,
    "delta": 0.2, "margin": 0.2, "correction": "bonferroni", "limit": 2, "n_cards": 2,
}  # fmt: skip
"""Another value of each parameter of a notebook."""
