from __future__ import annotations

import json
from pathlib import Path

import nbformat
import pytest

from mrb_lib.report.workers import run_notebooks
from mrb_lib.widgets import plain

PARAMETERS = 'benchmark = "demo"\nruns = ""\ndimension = "overall"\npolicy = "balanced"\nseed = 0\nout = ""'


@pytest.mark.parametrize(("value", "runs"), [("1", False), ("yes", False), ("0", True), ("", True)])
def test_the_environment_asks_for_plain_views(value: str, runs: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MRB_STATIC", value)
    assert plain.can_run() is runs


def test_without_anywidget_views_are_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MRB_STATIC", raising=False)
    monkeypatch.setattr(plain, "find_spec", lambda name: None)
    assert not plain.can_run()


@pytest.mark.filterwarnings("ignore")  # Jupyter's own clients announce their coming changes.
def test_the_notebooks_of_a_report_show_plain_views(tmp_path: Path) -> None:
    sources = [PARAMETERS, "from mrb_lib.widgets.plain import Plain, can_run\nPlain(f'<p>{can_run()}</p>')"]
    cells = [nbformat.v4.new_code_cell(source) for source in sources]  # type: ignore[no-untyped-call]
    cells[0].metadata["tags"] = ["parameters"]
    made = nbformat.v4.new_notebook(cells=cells)  # type: ignore[no-untyped-call]
    nbformat.write(made, tmp_path / "a.ipynb")  # type: ignore[no-untyped-call]
    [done] = run_notebooks([tmp_path / "a.ipynb"], tmp_path / "work", {"policy": "balanced"}, 1)
    assert done.failure is None
    executed = json.loads((done.folder / "executed.ipynb").read_text(encoding="utf-8"))
    [output] = executed["cells"][-1]["outputs"]
    assert "".join(output["data"]["text/html"]) == "<p>False</p>"
    assert "".join(output["data"]["text/plain"]) == "<a plain view>"
