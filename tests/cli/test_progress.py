"""What a person sees of long work."""

from __future__ import annotations

import io
import logging
import sys

import pytest

from mrb_lib.cli.progress import status_of


class Terminal(io.StringIO):
    """A stream that says a person is watching."""

    def isatty(self) -> bool:
        return True


def test_what_a_logger_says_is_shown_where_a_person_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    logger = logging.getLogger("mrb_lib.stats")
    with status_of("mrb_lib.stats"):
        logging.getLogger("mrb_lib.stats.models.table").info("models: [overall]")
    assert "models: [overall]" in stream.getvalue()
    assert logger.handlers == []
    assert logger.level == logging.NOTSET


def test_nothing_is_shown_where_nobody_watches(capsys: pytest.CaptureFixture[str]) -> None:
    with status_of("mrb_lib.stats"):
        logging.getLogger("mrb_lib.stats.models.table").info("models: overall")
    assert capsys.readouterr().err == ""
