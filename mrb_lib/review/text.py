"""Text from data made safe to show: escaped, visible where it would be invisible, and kept in its place."""

from __future__ import annotations

import re


class Piece(str):
    """A piece of a text that was made visible whole: templates escape it, and change nothing else of it."""

    __slots__ = ()


_UNSHOWABLE = re.compile("[\0\ud800-\udfff]")
_CONTROL = {code: 0x2400 + code for code in range(1, 32) if chr(code) not in "\t\n\r"} | {0x7F: 0x2421}
_OPENS, _CLOSES, _ENDS = "\u2066\u2067\u2068", "\u2069", "\n\r\x85\u2029"
_ISOLATES = re.compile(f"[{_OPENS}{_CLOSES}]")
_STEPS = re.compile(f"[{_OPENS}{_CLOSES}{_ENDS}]")


def kind_note(kind: str) -> str:
    """Return what stands above simulated data; empty for other kinds of benchmark."""
    note = "SIMULATED data: drawn from a seed; it says nothing about clinicians or models."
    return note if kind == "simulated" else ""


def visible(value: object) -> str:
    """Text as a page may show it, not yet escaped: for scripts, which set it as the text of an element.

    NULs and lone surrogates, which no page can hold, become U+FFFD; other control characters become their pictures.
    Marks that isolate a direction are balanced in each paragraph: one that is never closed would take the end of the
    element around it for its own end, and turn all that follows (Unicode Standard Annex 9, BD9).
    """
    text = _UNSHOWABLE.sub("\ufffd", str(value)).translate(_CONTROL)
    return _balanced(text) if _ISOLATES.search(text) else text


def _balanced(text: str) -> str:
    depth = 0

    def kept(match: re.Match[str]) -> str:
        nonlocal depth
        mark, before = match[0], depth
        if mark == _CLOSES and not before:
            return ""
        depth = 0 if mark in _ENDS else before + (1 if mark in _OPENS else -1)
        return _CLOSES * before + mark if mark in _ENDS else mark

    balanced = _STEPS.sub(kept, text)
    return balanced + _CLOSES * depth
