"""The name of a benchmark comes from a file: where a notebook says why it shows nothing, it is text."""

from __future__ import annotations

import ast
from pathlib import Path

import nbformat
import pandas as pd
import pytest

from mrb_lib.data.benchmark import Benchmark, BenchmarkMeta, save

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
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    scope: dict[str, object] = {}
    shown = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            body = ast.parse(cell.source).body
            last = body.pop() if isinstance(body[-1], ast.Expr) else None
            exec(compile(ast.Module(body, []), name, "exec"), scope)  # noqa: S102  # the library's own notebook
            if isinstance(last, ast.Expr):
                shown.append(eval(compile(ast.Expression(last.value), name, "eval"), scope))  # noqa: S307  # as above
            if "parameters" in cell.metadata.get("tags", []):
                scope["benchmark"] = str(bench)
    text = "".join(one._repr_html_() for one in shown if hasattr(one, "_repr_html_"))
    assert "Not applicable" in text
    assert "&lt;img" in text
    assert "<img" not in text
