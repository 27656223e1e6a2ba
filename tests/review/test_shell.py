"""Questions of a page and their answers, whatever the page asks."""

from __future__ import annotations

import logging

import pytest

from mrb_lib.review.shell import Shell
from mrb_lib.tables.errors import InputError


def _refuse(_: object) -> dict[str, object]:
    raise InputError("choose another.")


def _break(_: object) -> dict[str, object]:
    raise ZeroDivisionError


@pytest.fixture
def shell() -> Shell:
    answers = {"double": lambda question: {"n": 2 * question["n"]}, "refuse": _refuse, "break": _break}
    return Shell(answers, scripts=("case/case",), styles=("case/case",), static=lambda: "<p>plain</p>")


def test_a_question_is_answered_under_its_own_number(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[dict[str, object]] = []
    monkeypatch.setattr(shell, "send", sent.append)
    shell._on_question(shell, {"what": "double", "n": 4, "id": "a-7"}, [])
    assert sent == [{"ok": True, "n": 8, "id": "a-7"}]


def test_what_the_user_can_mend_is_said(shell: Shell) -> None:
    assert shell.answer({"what": "refuse"}) == {"ok": False, "error": "choose another."}
    assert "load the page again" in shell.answer({"what": "dance"})["error"]
    assert "load the page again" in shell.answer({})["error"]


def test_a_failure_is_answered_and_logged(shell: Shell, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        answer = shell.answer({"what": "break"})
    assert answer["ok"] is False
    assert "ZeroDivisionError" in answer["error"]
    assert "Traceback" in caplog.text


def test_the_plain_view_is_all_there_is_where_no_kernel_will_be(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MRB_STATIC", "1")
    assert shell._repr_mimebundle_() == {"text/plain": "Shell", "text/html": "<p>plain</p>"}
    monkeypatch.setenv("MRB_STATIC", "")
    data, _ = shell._repr_mimebundle_()
    assert data["text/html"] == "<p>plain</p>"
    assert "application/vnd.jupyter.widget-view+json" in data
