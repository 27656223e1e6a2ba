"""What a person sees of long work."""

from __future__ import annotations

import io
import logging
import re
import sys

import pytest

from mrb_lib.cli.progress import status_of, verdict_bars
from mrb_lib.runs.progress import RunProgress


class Terminal(io.StringIO):
    """A stream that says a person is watching."""

    def isatty(self) -> bool:
        return True


def test_what_a_logger_says_is_shown_where_a_person_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    logger = logging.getLogger("mrb_lib.stats")
    with status_of("mrb_lib.stats"):
        logging.getLogger("mrb_lib.stats.tables.models").info("models: [overall]")
    assert "models: [overall]" in stream.getvalue()
    assert logger.handlers == []
    assert logger.level == logging.NOTSET


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
