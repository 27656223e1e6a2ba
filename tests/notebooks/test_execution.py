"""Every notebook runs headless on benchmarks that lack nearly everything, and on one that has it all."""

from __future__ import annotations

import io
import itertools
import json
from dataclasses import replace
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import papermill
import pytest
from PIL import Image

from mrb_lib.data.benchmark import Benchmark, BenchmarkMeta, save
from mrb_lib.data.formats import READERS
from mrb_lib.reviews.marks import Adjudication
from mrb_lib.reviews.store import open_store
from mrb_lib.schema import CHOICES, DIMENSIONS, ORDERS, ORGAN_DEPARTMENT, ORGANS
from mrb_lib.verdicts.store import save_imported

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
pytestmark = [
    pytest.mark.slow,
    # Jupyter's own clients announce their coming changes.
    pytest.mark.filterwarnings("ignore"),
]


def run(path: Path, folder: Path, kernel: str = "python3", **parameters: object) -> nbformat.NotebookNode:
    return papermill.execute_notebook(
        str(path),
        str(folder / path.name),
        parameters={
            "resamples": 100,
            **{name: str(value) if isinstance(value, Path) else value for name, value in parameters.items()},
        },
        kernel_name=kernel,
        language="python",
        progress_bar=False,
    )


def sidecars(out: Path) -> dict[str, dict[str, object]]:
    return {path.stem: json.loads(path.read_text()) for path in sorted((out / "figures").glob("*.json"))}


@pytest.fixture(scope="session")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty simulated cases with all columns: twenty questions about an image each, three responders pair by pair.

    Three annotators; seven judges with probabilities, twice in both orders, and once more on a probe.
    """
    rng = np.random.default_rng(0)
    folder = tmp_path_factory.mktemp("full")
    ids = [f"case-{i:02d}" for i in range(60)]
    organs = rng.choice(ORGANS, 60)
    responders = ["alpha-7b", "beta-7b", "gamma_7b"]
    responses = [
        ["word " * int(k) for k in lengths] for lengths in rng.permuted(np.tile(range(1, 40), (20, 1)), axis=1)
    ]
    pairs = [(one, two) for _ in range(20) for one, two in itertools.combinations(range(3), 2)]
    stream = io.BytesIO()
    Image.fromarray(rng.integers(0, 255, (32, 32)).astype("uint8")).save(stream, format="PNG")
    cases = pd.DataFrame(
        {
            "case_id": ids,
            "question": "How many nodules, and is $x_1$ <b>bold</b>?",
            "response_a": [responses[i // 3][one] for i, (one, _) in enumerate(pairs)],
            "response_b": [responses[i // 3][two] for i, (_, two) in enumerate(pairs)],
            "images": [[f"{ids[i - i % 3]}.png"] for i in range(60)],
            "model_a": [responders[one] for one, _ in pairs],
            "model_b": [responders[two] for _, two in pairs],
            "organ": organs,
            "department": [ORGAN_DEPARTMENT[organ] for organ in organs],
            "modality": rng.choice(["CT", "MRI"], 60),
            "dataset": "made-up",
        }
    )
    votes = pd.DataFrame(
        itertools.product(ids, ["r1", "r2", "r3"], DIMENSIONS), columns=["case_id", "annotator", "dimension"]
    )
    judges = [f"judge_{i}" for i in range(7)]
    said = pd.DataFrame(
        itertools.product(judges, ids, DIMENSIONS, ORDERS, range(2)),
        columns=["judge", "case_id", "dimension", "order", "repeat"],
    ).assign(probe="none")
    said = pd.concat([said, said[said["repeat"] == 0].assign(probe="blank")], ignore_index=True)
    better = pd.MultiIndex.from_product([ids, DIMENSIONS])
    truth = pd.Series(rng.choice(CHOICES, len(better), p=(0.5, 0.35, 0.15)), better)
    ease = dict(zip(ids, rng.uniform(0, 1, 60), strict=True))
    skills = said["judge"].map({name: 0.2 + 0.1 * i for i, name in enumerate(judges)}) + said["case_id"].map(ease)
    for frame, skill in ((votes, 0.7), (said, skills / 2)):
        known = truth.loc[pd.MultiIndex.from_frame(frame[["case_id", "dimension"]])].to_numpy()
        guess = rng.choice(CHOICES, len(frame), p=(0.5, 0.35, 0.15))
        frame["choice"] = np.where(rng.random(len(frame)) < skill, known, guess)
    sure = rng.uniform(0.5, 1, len(said))
    said["p_a"] = np.where(said["choice"] == "A", sure, np.where(said["choice"] == "B", 1 - sure, 0.5))
    images = {f"{name}.png": stream.getvalue() for name in ids[::3]}
    save(Benchmark(BenchmarkMeta("full", "simulated"), cases, votes, images), folder)
    save_imported(said, folder / "runs", benchmark="full", kind="simulated", source="test")
    with open_store(folder / "reviews.sqlite") as store:
        for case, judge, (number, reviewer) in itertools.product(ids[:8], judges[:2], enumerate(("Dr A", "Dr B"))):
            wrong = int(case[-1]) + number in (3, 4)
            mark = Adjudication("full", case, reviewer, "gold_wrong" if wrong else "gold_right", "B" if wrong else None)
            store.adjudicate(replace(mark, dimension="overall", judge=judge, reasons=("missed finding",)))
    return folder


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_runs_on_a_full_simulated_benchmark_and_says_so(path: Path, full: Path, tmp_path: Path) -> None:
    notebook = run(path, tmp_path, benchmark=full, out=tmp_path)
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
        assert "exact sign tests" in found["significance-p"]["caption"]  # what the balanced policy is tested with
        assert "McNemar" not in found["significance-p"]["caption"]
    shown = [o for cell in notebook.cells if cell.cell_type == "code" for o in cell.outputs if "data" in o]
    assert sum("image/png" in output.data for output in shown) == len(found)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_runs_on_the_official_policy_another_dimension_and_no_folder(
    path: Path, full: Path, forked: str, tmp_path: Path
) -> None:
    run(path, tmp_path, forked, benchmark=full, policy="official", dimension="creativity", seed=3)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.fixture(scope="session", params=["pandalm", "kqa", "llmfao"])
def public(request: pytest.FixtureRequest, reference_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Real data: one dimension, no images, no organs; kqa has labels that are not preferences, and no verdicts."""
    folder = tmp_path_factory.mktemp(request.param)
    imported = READERS[request.param].read(reference_data / request.param)
    save(imported.benchmark, folder)
    if len(imported.verdicts):
        meta = imported.benchmark.meta
        save_imported(imported.verdicts, folder / "runs", benchmark=meta.name, kind=meta.kind, source=request.param)
    return folder


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_runs_on_public_data_and_says_what_is_missing(path: Path, public: Path, forked: str, tmp_path: Path) -> None:
    run(path, tmp_path, forked, benchmark=public, out=tmp_path)
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
