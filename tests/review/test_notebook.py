"""What a notebook shows: bars while judges run, and plain views where no page can answer."""

from io import StringIO
from pathlib import Path

import nbformat
import papermill
import pytest
from rich.console import Console

from mrb_lib.review import progress
from mrb_lib.review.app import can_run
from mrb_lib.runs.progress import RunProgress

HOSTILE = "</td>[bold]judge[/bold]<script>alert(1)</script>&"


class _Screen:
    """What a notebook shows: rich prints the bars anew each time they are drawn."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.drawn: list[str] = []
        monkeypatch.setattr(progress, "can_run", lambda: True)
        monkeypatch.setattr(progress, "Console", lambda: Console(file=StringIO(), width=200))
        monkeypatch.setattr(progress.Bars, "refresh", lambda bars: self.drawn.append(_text(bars)))


def _text(bars: progress.Bars) -> str:
    console = Console(file=StringIO(), width=200, record=True)
    console.print(bars.get_renderable())
    return console.export_text()


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> _Screen:
    return _Screen(monkeypatch)


def test_a_bar_has_pace_time_left_and_statuses(screen: _Screen) -> None:
    report = progress.live_progress()
    report(RunProgress(HOSTILE, 30, 120, 1.5, 1234.4, 3661, {"ok": 28, "unparsed": 2}))
    for shown in (HOSTILE, "30/120", "1.5 cases/s", "1,234 tokens/s", "1:01:01 left", "ok 28, unparsed 2"):
        assert shown in " ".join(screen.drawn[-1].split())


def test_without_a_page_a_line_says_what_is_done(
    screen: _Screen, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "can_run", lambda: False)
    report = progress.live_progress()
    for held in (0, 700, 1400):
        report(RunProgress("a", held, 1400, counts={"ok": held}, finished=held == 1400))
    assert capsys.readouterr().out == "a: 1,400 of 1,400; ok 1400\n"
    assert not screen.drawn


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
    monkeypatch.setattr("mrb_lib.review.app.find_spec", lambda name: None)
    assert not can_run(), "without anywidget"


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
