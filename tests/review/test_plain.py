from __future__ import annotations

from pathlib import Path

import nbformat
import papermill
import pytest

from mrb_lib.review.app import can_run


class _Kernel:
    """A kernel that was asked by a message of this id."""

    def __init__(self, message: str) -> None:
        self.kernel = self
        self._message = message

    def get_parent(self) -> dict[str, dict[str, str]]:
        return {"header": {"msg_id": self._message}}


def test_a_page_asks_for_widgets_unless_plain_views_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("IPython.get_ipython", lambda: _Kernel("4be13c5b-a1e7-4b1d-8ef7-2f5ed7c4d6a1"))
    for value, runs in (("1", False), ("yes", False), ("0", True), ("", True)):
        monkeypatch.setenv("MRB_STATIC", value)
        assert can_run() is runs


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Jupyter's own clients announce their coming changes.
def test_a_notebook_that_papermill_runs_shows_plain_views(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = nbformat.v4.new_code_cell("from mrb_lib.review.app import can_run\nprint(can_run())")
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), tmp_path / "a.ipynb")
    monkeypatch.setenv("MRB_STATIC", "")
    done = papermill.execute_notebook(
        str(tmp_path / "a.ipynb"), str(tmp_path / "b.ipynb"), kernel_name="python3", progress_bar=False
    )
    assert [output["text"] for output in done.cells[0]["outputs"] if output.get("name") == "stdout"] == ["False\n"]
