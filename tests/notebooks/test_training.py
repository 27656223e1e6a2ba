"""Notebooks that train a judge where no run holds one: what they train says so, and what they cannot is said."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import load, save
from mrb_lib.demo.build import write_demo
from mrb_lib.figures.style import Paper

from .cells import run_cells
from .test_execution import OF_TRAINING
from .test_structure import NOTEBOOKS

pytestmark = pytest.mark.slow

PATHS = [path for path in NOTEBOOKS if path.stem in OF_TRAINING]


@pytest.fixture(scope="session")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty simulated cases with a split, and no runs; of two dimensions, which judges are asked for, and few words."""
    made, folder = tmp_path_factory.mktemp("made"), tmp_path_factory.mktemp("bench")
    write_demo(made, cases=60, seed=5)
    whole, dimensions = load(made), ("accuracy", "overall")
    votes = whole.annotations[whole.annotations["dimension"].isin(dimensions)]
    meta = replace(whole.meta, dimensions=dimensions)
    short = {name: whole.cases[name].str[:120] for name in ("response_a", "response_b")}
    cases = whole.cases.assign(**short)
    save(replace(whole, meta=meta, cases=cases, annotations=votes.reset_index(drop=True)), folder)
    return folder


@pytest.fixture(autouse=True)
def static(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing moves, and of the files of a figure only the SVG is drawn, in which its letters are looked for."""
    monkeypatch.setenv("MRB_STATIC", "1")
    for name in ("_quantized", "pdf"):
        monkeypatch.setattr(Paper, name, lambda _drawn: b"")


def sidecars(out: Path) -> dict[str, dict[str, object]]:
    return {path.stem: json.loads(path.read_text()) for path in sorted(out.glob("*/*.json"))}


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_what_is_trained_on_the_spot_says_what_it_is(path: Path, bench: Path, tmp_path: Path) -> None:
    before = sorted(bench.rglob("*"))
    *_, (names, said) = run_cells(path, {"benchmark": str(bench), "resamples": 40, "out": str(tmp_path)})
    found = sidecars(tmp_path)
    shown = {name: sidecar for name, sidecar in found.items() if "absent" not in sidecar}
    assert set(found) - set(shown) <= {"transfer-gains"}  # which takes a judge that was trained elsewhere
    assert len(shown) >= 4
    for name, sidecar in shown.items():
        assert "RANDOM WEIGHTS BEFORE TRAINING" in str(sidecar["caption"]), name
        assert "SIMULATED" in str(sidecar["caption"]), name
        if "svg" in sidecar["files"]:
            assert "RANDOM WEIGHTS BEFORE TRAINING" in (tmp_path / "figures" / f"{name}.svg").read_text(), name
    assert "RANDOM WEIGHTS BEFORE TRAINING" in str(said)
    assert sorted(bench.rglob("*")) == before
    assert not any(str(names["scratch"]) in file.read_text() for file in tmp_path.glob("*/*.csv"))
    if path.stem.startswith("21"):
        blanked = pd.read_csv(tmp_path / "tables" / "training-blanked.csv")
        assert blanked["n"].gt(0).all() and blanked["low"].notna().all()


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_without_torch_every_figure_says_what_to_install(
    path: Path, bench: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mrb_lib.judges.roster.engines.find_spec", lambda name: None if name == "torch" else name)
    *_, (_, said) = run_cells(path, {"benchmark": str(bench), "out": str(tmp_path)})
    found = sidecars(tmp_path)
    assert found
    for sidecar in found.values():
        assert sidecar["absent"] is True
        assert sidecar["reason"] == "needs mrb-workbench[judges]: torch not installed"
    assert "needs mrb-workbench[judges]" in str(said)
