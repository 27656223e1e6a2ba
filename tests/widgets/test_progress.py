from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import nbformat
import pandas as pd
import papermill
import pytest
from IPython.display import HTML

from mrb_lib.data.benchmark import Benchmark, BenchmarkMeta, empty_annotations, save
from mrb_lib.runs.progress import Status
from mrb_lib.widgets.progress import live_progress, live_steps, progress_html, steps_html

HOSTILE = "</td><script>alert(1)</script>\0&"


class _Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data + "|"


class _Screen:
    """What IPython would show."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.shown: list[str] = []
        monkeypatch.setattr("IPython.display.display", self._display)

    def _display(self, view: HTML, *, display_id: bool) -> _Screen:
        assert display_id
        assert not self.shown, "the table is displayed once and updated from then on"
        self.update(view)
        return self

    def update(self, view: HTML) -> None:
        self.shown.append(str(view.data))


def test_a_row_shows_speed_time_left_and_statuses() -> None:
    status = Status("j", 30, 120, 2, 10, 1.5, 1234.4, 3661, {"ok": 28, "unparsed": 2})
    page = _Page(progress_html([status]))
    for shown in ("j", "30 of 120", "1.5", "1,234", "1:01:01", "ok 28, unparsed 2"):
        assert f"|{shown}|" in page.text
    assert "progress" in page.tags


def test_what_is_not_known_is_a_dash_and_not_zero() -> None:
    page = _Page(progress_html([Status("j", 0, 120, 0, 10)]))
    assert page.text.count("|\N{EN DASH}|\N{EN DASH}|\N{EN DASH}|") == 1


def test_the_name_of_a_judge_cannot_become_markup() -> None:
    page = _Page(progress_html([Status(HOSTILE, 0, 1, 0, 1, counts={HOSTILE: 1})]))
    assert "script" not in page.tags
    assert page.text.count("<script>alert(1)</script>\ufffd&") == 2


def test_one_table_is_updated_at_most_twice_a_second_and_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    screen, now = _Screen(monkeypatch), 0.0
    report = live_progress(lambda: now)
    for held in range(100):
        report(Status("a", held, 100, 0, 10))
        now += 0.1
    assert 15 <= len(screen.shown) <= 21
    report(Status("a", 100, 100, 10, 10, finished=True))
    assert "100 of 100" in screen.shown[-1]
    report(Status("b", 0, 5, 0, 1))
    assert "100 of 100" in screen.shown[-1]
    assert "0 of 5" in screen.shown[-1]


def test_steps_are_shown_in_one_place_with_their_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    screen, now = _Screen(monkeypatch), 0.0
    report = live_steps(lambda: now)
    for done in range(1, 1201):
        report("verdicts", done, 1200)
        now += 0.01
    assert 20 <= len(screen.shown) <= 26
    report(HOSTILE, 0, 0)
    page = _Page(screen.shown[-1])
    assert "|1,200 of 1,200|" in page.text
    assert "script" not in page.tags
    assert _Page(steps_html({})).tags.count("tr") == 0


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
from mrb_lib.data.benchmark import load
from mrb_lib.judges.settings import Settings
from mrb_lib.runs.execute import judge
from mrb_lib.runs.interrupt import InterruptedRunError
from mrb_lib.widgets.progress import live_progress
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
    [table] = outputs[2]
    assert "18 of 18" in table["data"]["text/html"]
