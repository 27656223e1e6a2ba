from __future__ import annotations

from io import StringIO
from pathlib import Path

import nbformat
import pandas as pd
import papermill
import pytest
from rich.console import Console

from mrb_lib.benchmarks.benchmark import Benchmark, empty_annotations, save
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.review import progress
from mrb_lib.runs.progress import RunProgress

HOSTILE = "</td>[bold]judge[/bold]<script>alert(1)</script>&"


class _Screen:
    """What a notebook shows: rich prints the bars anew each time they are drawn."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.drawn: list[str] = []
        self.now = 0.0
        monkeypatch.setattr(progress, "can_run", lambda: True)
        monkeypatch.setattr(progress, "Console", lambda: Console(file=StringIO(), width=200))
        monkeypatch.setattr(progress.Bars, "refresh", lambda bars: self.drawn.append(_text(bars)))

    def clock(self) -> float:
        return self.now


def _text(bars: progress.Bars) -> str:
    console = Console(file=StringIO(), width=200, record=True)
    console.print(bars.get_renderable())
    return console.export_text()


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> _Screen:
    return _Screen(monkeypatch)


def test_a_bar_has_pace_time_left_and_statuses(screen: _Screen) -> None:
    report = progress.live_progress(screen.clock)
    report(RunProgress(HOSTILE, 30, 120, 1.5, 1234.4, 3661, {"ok": 28, "unparsed": 2}))
    for shown in (HOSTILE, "30/120", "1.5 cases/s", "1,234 tokens/s", "1:01:01 left", "ok 28, unparsed 2"):
        assert shown in " ".join(screen.drawn[-1].split())


def test_bars_are_drawn_at_most_twice_a_second_and_at_the_end(screen: _Screen) -> None:
    report = progress.live_progress(screen.clock)
    for held in range(100):
        report(RunProgress("a", held, 100))
        screen.now += 0.1
    assert 15 <= len(screen.drawn) <= 21
    report(RunProgress("a", 100, 100, finished=True))
    assert "100/100" in screen.drawn[-1]
    report(RunProgress("b", 0, 5))
    assert "100/100" in screen.drawn[-1]
    assert "0/5" in screen.drawn[-1]


def test_without_a_page_a_line_says_what_is_done(
    screen: _Screen, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "can_run", lambda: False)
    report = progress.live_progress(screen.clock)
    for held in (0, 700, 1400):
        report(RunProgress("a", held, 1400, counts={"ok": held}, finished=held == 1400))
    assert capsys.readouterr().out == "a: 1,400 of 1,400; ok 1400\n"
    assert not screen.drawn


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Jupyter's own clients announce their coming changes.
def test_a_notebook_shows_progress_headless_and_an_interrupted_cell_keeps_its_batch(tmp_path: Path) -> None:
    cases = pd.DataFrame(
        {"case_id": [str(i) for i in range(9)], "question": "q", "response_a": "a", "response_b": "b b"}
    )
    save(Benchmark(BenchmarkMeta("n", "general", ("overall",)), cases, empty_annotations()), tmp_path / "bench")
    setup = f"""
import os, signal
from pathlib import Path
from mrb_lib.benchmarks.benchmark import load
from mrb_lib.judges.settings import Settings
from mrb_lib.runs.execute import judge
from mrb_lib.runs.interruption import InterruptedRunError
from mrb_lib.review.progress import live_progress
bench, runs = load({str(tmp_path / "bench")!r}), Path({str(tmp_path / "runs")!r})
"""
    interrupted = """
def stop(status):
    if status.held == 4 and not status.finished:
        os.kill(os.getpid(), signal.SIGINT)  # as the stop button does
try:
    judge(bench, runs, ["longer"], settings=Settings(batch_size=2), progress=stop)
except InterruptedRunError as error:
    print(error)
"""
    goes_on = 'done = judge(bench, runs, ["longer"], progress=live_progress())'
    sources = (setup, interrupted, goes_on, "done[0].before, done[0].made")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    nbformat.write(notebook, tmp_path / "in.ipynb")
    ran = papermill.execute_notebook(
        str(tmp_path / "in.ipynb"), str(tmp_path / "out.ipynb"), kernel_name="python3", progress_bar=False
    )
    outputs = [cell["outputs"] for cell in ran.cells]
    said = "".join(output["text"] for output in outputs[1] if output.get("name") == "stdout")
    assert "interrupted; 4 of 18 verdicts are kept" in said
    assert outputs[3][0]["data"]["text/plain"] == "(4, 14)"
    line = "".join(output["text"] for output in outputs[2])  # which a kernel may send in two pieces
    assert line.startswith("longer: 18 of 18; ")
    assert line.count("\n") == 1
    assert {output["name"] for output in outputs[2]} == {"stdout"}
