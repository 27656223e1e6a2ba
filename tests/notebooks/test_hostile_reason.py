"""The name of a benchmark comes from a file: where a notebook says why it shows nothing, it is text."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark, save
from mrb_lib.benchmarks.meta import BenchmarkMeta

from .cells import run_cells

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
NAME = "<img src=x onerror=alert(1)>"


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    """Two cases whose labels are not preferences."""
    cases = pd.DataFrame({"case_id": ["c0", "c1"], "question": "q", "response_a": "a", "response_b": "b"}).astype("str")
    votes = pd.DataFrame({"case_id": ["c0"], "annotator": "p", "dimension": "overall", "choice": "no"}).astype("str")
    save(
        Benchmark(
            BenchmarkMeta(NAME, "clinical", ("overall",), categories=(NAME, "no")), cases.assign(images=[[], []]), votes
        ),
        tmp_path / "b",
    )
    return tmp_path / "b"


@pytest.mark.parametrize("name", ["07_failures", "08_judging"])
def test_why_a_notebook_shows_nothing_is_text(name: str, bench: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MRB_STATIC", "1")
    shown = [last for _, last in run_cells(NOTEBOOKS / f"{name}.ipynb", {"benchmark": str(bench)})]
    text = "".join(one._repr_html_() for one in shown if hasattr(one, "_repr_html_"))
    assert "Not applicable" in text
    assert "&lt;img" in text
    assert "<img" not in text
