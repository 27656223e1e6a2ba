"""Tests of what a person sees of long work."""

import io
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.cli.progress import Lines, verdict_bars
from mrb_lib.judges.settings import Settings
from mrb_lib.runs.execute import judge
from mrb_lib.runs.plan import Plan
from mrb_lib.runs.progress import RunProgress, Tracker
from mrb_lib.verdicts.store import read_run

from .scripted import Scripted, Use

CASES = pd.DataFrame({"case_id": list("abcd"), "question": "q"})
PLAN = Plan(CASES, ("overall",))


def _made(numbers: list[int], **more: object) -> pd.DataFrame:
    return PLAN.keys(np.array(numbers, dtype=int)).assign(status="ok", **more)


def test_the_pace_is_that_of_the_session_without_the_time_to_load() -> None:
    now = 100.0
    reports: list[RunProgress] = []
    tracker = Tracker("j", 8, {"ok": 2}, reports.append, clock=lambda: now)
    tracker.start()
    now += 500
    tracker.start_clock()
    now += 2
    tracker.add(_made([2, 3, 4], prompt_tokens=10.0, completion_tokens=[1.0, np.nan, 3.0]))
    assert (reports[0].held, reports[0].cases_per_s, reports[0].eta_s) == (2, None, None)
    last = reports[1]
    assert (last.held, last.planned) == (5, 8)
    assert (last.cases_per_s, last.tokens_per_s, last.eta_s) == (1.0, 17.0, 2.0)


def test_every_batch_is_reported_and_the_statuses_are_those_of_all_rows_held(
    little: Benchmark, tmp_path: Path, use: Use
) -> None:
    use(Scripted())
    judge(little, tmp_path, ["scripted"], limit=10)
    reports: list[RunProgress] = []
    [done] = judge(little, tmp_path, ["scripted"], settings=Settings(batch_size=10), progress=reports.append)
    assert [report.held for report in reports] == [40, 80, 120, 160, 160]
    assert [report.finished for report in reports] == [False] * 4 + [True]
    assert [report.loading for report in reports] == [True] + [False] * 4
    held = read_run(done.folder)["status"].value_counts().to_dict()
    assert dict(reports[-1].counts) == held
    assert set(held) == {"ok", "repaired", "unparsed", "refused", "error"}
    assert reports[-1].tokens_per_s is not None


def test_where_nobody_watches_there_is_a_line_at_the_start_one_a_minute_and_the_last() -> None:
    now, lines = 0.0, []
    report = Lines(lines.append, lambda: now)
    for held in range(301):
        report("j", held, 300, "verdicts", f"ok {held}", finished=False)
        now += 1
    for name, pace in (("j", "ok 300"), ("k", "")):
        for _ in range(2):  # where nothing was left to do, the first line and the last are the same
            report(name, 300, 300, "verdicts", pace, finished=True)
    assert [line.split()[1] for line in lines[:-1]] == ["0", "60", "120", "180", "240", "300"]
    assert (lines[1], lines[-1]) == ("j: 60 of 300 verdicts; ok 60", "k: 300 of 300 verdicts")


class Terminal(io.StringIO):
    """A stream that says a person is watching."""

    def isatty(self) -> bool:
        return True


def _shown(monkeypatch: pytest.MonkeyPatch, *reports: RunProgress, columns: int = 80) -> list[str]:
    """The lines that a terminal so wide was sent for some reports."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm")
    with verdict_bars() as report:
        for status in reports:
            report(status)
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", stream.getvalue()).replace("\r", "\n").split("\n")


def test_every_status_is_kept_at_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = {"ok": 11000, "repaired": 20, "unparsed": 900, "refused": 60, "error": 20}
    lines = _shown(
        monkeypatch, RunProgress("a-judge-with-a-long-name+generative", 12000, 12312, 3.25, 999.0, 61.0, counts)
    )
    assert max(map(len, lines)) <= 80
    said = " ".join(" ".join(lines).split())
    for name, count in counts.items():
        assert f"{name} {count}" in said
    assert "12000/12312" in said


def test_a_bar_is_there_before_anything_is_counted_and_while_weights_load(monkeypatch: pytest.MonkeyPatch) -> None:
    assert any("starting" in line for line in _shown(monkeypatch))
    lines = _shown(monkeypatch, RunProgress("j", 0, 12, loading=True))
    assert any(line.startswith("j ") and "0/12" in line and "loading" in line for line in lines)
    assert "starting" not in lines[-2]
