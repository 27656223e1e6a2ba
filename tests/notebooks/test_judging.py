"""The notebook that judges live: what stands in for a judge says so, and what cannot be shown is said."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import papermill
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark, save
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.figures.style import Paper

from .cells import run_cells

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "08_judging.ipynb"
pytestmark = [
    pytest.mark.slow,
    # Jupyter's own clients announce their coming changes.
    pytest.mark.filterwarnings("ignore"),
]


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    """Four simulated cases without images, annotations or runs."""
    lengths = np.arange(1, 5)
    cases = pd.DataFrame(
        {
            "case_id": [f"c{i}" for i in lengths],
            "question": "Which side?",
            "response_a": ["left " * i for i in lengths],
            "response_b": ["right " * (5 - i) for i in lengths],
        }
    )
    votes = pd.DataFrame({name: pd.Series(dtype="str") for name in ("case_id", "annotator", "dimension", "choice")})
    save(Benchmark(BenchmarkMeta("small", "simulated", ("accuracy", "overall")), cases, votes), tmp_path / "bench")
    return tmp_path / "bench"


# Run at the start of an interpreter: torch is not found in it, as where it is not installed.
NO_TORCH = """
from importlib.machinery import PathFinder
real = PathFinder.find_spec
PathFinder.find_spec = lambda name, *more: None if name.partition(".")[0] == "torch" else real(name, *more)
"""


def run(bench: Path, out: Path, **parameters: object) -> list[str]:
    """Run the notebook in this process: the pages that it shows."""
    shown = [last for _, last in run_cells(NOTEBOOK, {"benchmark": str(bench), "out": str(out), **parameters})]
    return [page for page in (getattr(each, "_repr_html_", str)() for each in shown) if page]


def sidecars(out: Path) -> dict[str, dict[str, object]]:
    return {path.stem: json.loads(path.read_text()) for path in sorted(out.glob("*/*.json"))}


@pytest.fixture(autouse=True)
def static(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing moves, and no picture of a figure is made: these are of its data and of what is said."""
    monkeypatch.setenv("MRB_STATIC", "1")
    for name in ("png", "svg", "pdf"):
        monkeypatch.setattr(Paper, name, lambda _drawn: b"")


def test_a_stand_in_and_simulated_cases_are_named_on_everything_shown(
    bench: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(bench.rglob("*"))
    shown = run(bench, tmp_path, limit=2)
    found = sidecars(tmp_path)
    assert set(found) == {"engine-verdicts", "engines", "engine-agreement", "engine-orders"}
    for name, sidecar in found.items():
        assert "RANDOM WEIGHTS" in str(sidecar["caption"]), name
        assert "SIMULATED" in str(sidecar["caption"]), name
        data = next(tmp_path.glob(f"*/{name}.csv")).read_text()
        assert "RANDOM-WEIGHTS" in data, name
        assert str(tmp_path) not in data + str(sidecar)
    assert len(shown) == 6  # the verdicts, the cases, two more tables, what has no annotations, the conclusion
    is_absent = ["Not applicable" in page for page in shown]
    assert is_absent == [False, False, False, False, True, False]
    for page, absent in zip(shown, is_absent, strict=True):
        assert absent or ("RANDOM-WEIGHTS" in page and "SIMULATED" in page), page[:200]
    said = capsys.readouterr().out
    assert "2 of 2" not in said
    assert said.count(": 8 of 8;") == 3  # verdicts: cases x dimensions x orders, by each engine
    cards = next(page for page in shown if "mrb-case" in page)
    assert cards.count("<section") == 2
    assert cards.count('<details data-mrb="reply">') == 4  # one reply of the generative engine for each order
    assert sorted(bench.rglob("*")) == before


def test_verdicts_and_pairs_hold_every_case_order_and_dimension(bench: Path, tmp_path: Path) -> None:
    run(bench, tmp_path, limit=3, judge="")
    verdicts = pd.read_csv(tmp_path / "tables" / "engine-verdicts.csv")
    assert len(verdicts) == 3 * 2 * 3
    assert verdicts.loc[verdicts["judge"].str.endswith("packed"), "p_a"].notna().all()
    pairs = pd.read_csv(tmp_path / "figures" / "engine-orders.csv")
    assert len(pairs) == 3 * 2 * 2  # cases, dimensions, engines with probabilities
    rated = pairs[pairs["judge"].str.endswith("rating")]
    np.testing.assert_allclose(rated["p_ab"], rated["p_ba"], atol=1.01e-4)  # rated alone, without any order


def test_a_judge_without_probabilities_has_no_figure_and_the_reason_is_said(bench: Path, tmp_path: Path) -> None:
    run(bench, tmp_path, judge="longer")
    found = sidecars(tmp_path)
    assert found["engine-orders"]["absent"] is True
    assert "probability" in str(found["engine-orders"]["reason"])
    assert "RANDOM" not in json.dumps(found)
    compared = pd.read_csv(tmp_path / "tables" / "engines.csv").iloc[0]
    assert (compared["judge"], compared["n"], compared["consistency"]) == ("longer", 4, 1.0)
    wilson = 4 / (4 + 1.959964**2)  # four of four are no certainty
    np.testing.assert_allclose(compared[["consistency_low", "consistency_high"]].astype(float), [wilson, 1], atol=1e-6)


def test_without_torch_the_notebook_says_what_to_install(
    bench: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(NO_TORCH)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    notebook = papermill.execute_notebook(
        str(NOTEBOOK), str(tmp_path / "executed.ipynb"), {"benchmark": str(bench), "out": str(tmp_path)},
        kernel_name="python3", language="python", progress_bar=False,
    )  # fmt: skip
    assert sidecars(tmp_path) == {
        "engine-orders": {
            "id": "engine-orders",
            "title": "Probabilities in the two orders",
            "absent": True,
            "reason": "needs mrb-workbench[judges]: torch not installed",
            "simulated": True,
        }
    }
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    shown = ["".join(output.data["text/html"]) for output in outputs if "text/html" in output.get("data", {})]
    assert shown and all("needs mrb-workbench[judges]" in page for page in shown)


def test_its_judging_is_kept_where_a_folder_is_named_and_gone_on_with(
    bench: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "kept"
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    run(bench, tmp_path / "a", judge="longer", limit=2, keep_runs=str(kept))
    assert "longer: 8 of 8;" in capsys.readouterr().out
    [manifest] = kept.glob("*/manifest.json")
    made = {path.name: path.stat().st_mtime_ns for path in manifest.parent.glob("part-*.parquet")}
    run(bench, tmp_path / "b", judge="longer", limit=4, keep_runs=str(kept))
    assert "longer: 16 of 16;" in capsys.readouterr().out
    assert list(kept.glob("*/manifest.json")) == [manifest]
    parts = {path.name: path.stat().st_mtime_ns for path in manifest.parent.glob("part-*.parquet")}
    assert made.items() < parts.items(), "what was there is not judged again"
    assert pd.read_csv(tmp_path / "b" / "tables" / "engines.csv")["n"].tolist() == [4]
