"""Every notebook runs headless on benchmarks that lack nearly everything, and on one that has it all."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import papermill
import pytest
from matplotlib.backends.backend_pdf import PdfFile

from mrb_lib.benchmarks.benchmark import save
from mrb_lib.benchmarks.formats import READERS
from mrb_lib.figures.style import Paper
from mrb_lib.report.notebook import construction
from mrb_lib.verdicts.store import save_imported

from .cells import run_cells

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
OF_TRAINING = ("21_training", "22_transfer")
"""Notebooks that would train judges where the runs hold none that was trained."""
pytestmark = [
    pytest.mark.slow,
    # Jupyter's own clients announce their coming changes.
    pytest.mark.filterwarnings("ignore"),
]


def sidecars(out: Path) -> dict[str, dict[str, object]]:
    return {path.stem: json.loads(path.read_text()) for path in sorted((out / "figures").glob("*.json"))}


def test_runs_in_a_kernel_of_its_own_shows_its_figures_and_writes_nothing_without_a_folder(
    full: Path, tmp_path: Path
) -> None:
    [path, *_] = NOTEBOOKS
    parameters = {"benchmark": str(full), "policy": "official", "seed": 3, "resamples": 100}
    notebook = papermill.execute_notebook(
        str(path), str(tmp_path / path.name), parameters, kernel_name="python3", language="python", progress_bar=False
    )
    shown = [o for cell in notebook.cells if cell.cell_type == "code" for o in cell.outputs if "data" in o]
    drawn = sum(cell.source.count("w.figure(") for cell in notebook.cells)
    assert sum("image/png" in output.data for output in shown) == drawn
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.fixture
def displayed(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What notebooks show before the last line of a cell, with no shell of IPython.

    PDFs have no fonts in them, which take half of their time and are all alike, and invented items are few.
    """
    shown: list[object] = []
    monkeypatch.setattr("IPython.display.display", shown.append)
    monkeypatch.setattr(PdfFile, "writeFonts", lambda file: file.writeObject(file.fontObject, {}))
    monkeypatch.setattr(construction, "_ITEMS", 60)
    monkeypatch.setenv("MRB_STATIC", "1")
    return shown


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_runs_on_a_full_simulated_benchmark_and_says_so(
    path: Path, full: Path, rated: Path, trained: Path, paper_files: dict[str, str], displayed: list[object],
    tmp_path: Path,
) -> None:  # fmt: skip
    own = {
        "08_judging": {"limit": 2}, "19_paper": paper_files, "24_comparison": {"other_benchmark": str(full)},
        "25_ratings": {"benchmark": str(rated)},
        **{name: {"benchmark": str(trained)} for name in OF_TRAINING},
    }  # fmt: skip
    parameters = {"benchmark": str(full), "dimension": "creativity", "resamples": 100, "out": str(tmp_path)}
    displayed += [last for _, last in run_cells(path, {**parameters, **own.get(path.stem, {})})]
    found = sidecars(tmp_path)
    assert found or path.stem == "template"  # which publishes a table only
    for name, sidecar in found.items():
        assert "absent" not in sidecar, sidecar
        assert sidecar["simulated"] is True
        assert "SIMULATED" in sidecar["caption"]
        assert len(str(sidecar["reading"])) > 30
        for file in sidecar["files"].values():
            assert (tmp_path / "figures" / file).stat().st_size < 500_000, name
        assert "SIMULATED" in (tmp_path / "figures" / f"{name}.csv").read_text()
    if path.stem.startswith("04"):
        said = found["significance-p"]["caption"]  # names what the balanced policy is tested with
        assert "permutation tests of the mean difference" in said
        assert "McNemar" not in found["significance-p"]["caption"]
    if path.stem.startswith("12"):
        assert {"is longer", "is shorter"} < set(pd.read_csv(tmp_path / "tables" / "bias-longer.csv").iloc[:, 2])
    if path.stem.startswith("19"):
        tables = {file.stem for file in (tmp_path / "tables").glob("*.tex")}
        assert tables == {"cases-by-kind", "neighbours", "judges-dimensions", "gains", "human-agreement"}
        assert set(pd.read_csv(tmp_path / "tables" / "gains.csv")["tuned"]) == {"judge_3", "qwen2-vl-2b"}
    for shown in displayed:
        getattr(shown, "_repr_html_", str)()
    figures = [shown for shown in displayed if isinstance(shown, Paper)]
    assert all(figure._repr_mimebundle_()[0].keys() == {"image/png"} for figure in figures)
    assert len(figures) == len(found)


@pytest.fixture(scope="session", params=["pandalm", "kqa"])
def public(request: pytest.FixtureRequest, reference_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Real data: one dimension, no images, no organs; kqa has ratings of one response, and no verdicts."""
    folder = tmp_path_factory.mktemp(request.param)
    imported = READERS[request.param].convert(reference_data / request.param)
    save(imported.benchmark, folder)
    if len(imported.verdicts):
        meta = imported.benchmark.meta
        save_imported(imported.verdicts, folder / "runs", benchmark=meta.name, kind=meta.kind, source=request.param)
    return folder


@pytest.fixture
def unsaved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are laid out, with all their ticks and letters, and no pixel of them is made.

    That each notebook's figures become files and are shown is seen on the full benchmark.
    """
    monkeypatch.setattr(Paper, "_quantized", lambda drawn: drawn.draw_without_rendering() or b"")
    for name in ("svg", "pdf"):
        monkeypatch.setattr(Paper, name, lambda _drawn: b"")
    monkeypatch.setenv("MRB_STATIC", "1")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_runs_on_public_data_and_says_what_is_missing(path: Path, public: Path, unsaved: None, tmp_path: Path) -> None:
    few = {"limit": 2} if path.stem == "08_judging" else {}
    policy = "official" if "pandalm" in public.name else "balanced"
    parameters = {"benchmark": str(public), "policy": policy, "resamples": 100, "out": str(tmp_path), **few}
    for _, shown in run_cells(path, parameters):
        for as_shown in ("_repr_html_", "_repr_mimebundle_"):
            getattr(shown, as_shown, str)()
    found = sidecars(tmp_path)
    assert found or path.stem == "template"
    for sidecar in found.values():
        assert sidecar["simulated"] is False
        assert "SIMULATED" not in json.dumps(sidecar)
        if "absent" in sidecar:
            assert "files" not in sidecar
            assert len(str(sidecar["reason"])) > 10
    if path.stem.startswith("05"):
        assert all("absent" in sidecar for sidecar in found.values())
    if path.stem.startswith("02"):
        assert not any("absent" in sidecar for sidecar in found.values())
