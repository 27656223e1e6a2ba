"""The parts of a page: templates, style sheets and scripts, as text: no build step, nothing fetched from anywhere.

Templates are Jinja with autoescape; control and bidi characters of a text are made visible. Style sheets and scripts
lie beside the Python of their room and are named "room/name", such as "case/case"; those that several rooms share lie
in `assets` and are named without a room: "tokens" and "shell".
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment, Template

_FOLDER = files("mrb_lib.review")
_UNSHOWABLE = re.compile("[\0\ud800-\udfff]")
_CONTROL = {code: 0x2400 + code for code in range(1, 32) if chr(code) not in "\t\n\r"} | {0x7F: 0x2421}
_OPENS, _CLOSES, _ENDS = "\u2066\u2067\u2068", "\u2069", "\n\r\x85\u2029"
_ISOLATES = re.compile(f"[{_OPENS}{_CLOSES}]")
_STEPS = re.compile(f"[{_OPENS}{_CLOSES}{_ENDS}]")


@cache
def _read(name: str) -> str:
    return (_FOLDER / (name if "/" in name else f"assets/{name}")).read_text(encoding="utf-8")


def style(*names: str) -> str:
    """Return the named style sheets one after another, after `tokens.css`, which they all use."""
    return "\n".join(_read(f"{name}.css") for name in ("tokens", *names))


def script(*names: str) -> str:
    """Return the named scripts after `elements.js`, for a `<script>`: none may contain the text that ends one."""
    return "\n".join(_read(f"{name}.js") for name in ("elements", *names))


def csp_hash(text: str) -> str:
    """Return what a Content-Security-Policy names an inline script by: 'sha256-...' of exactly this text."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined  # only the extras bring it

    made = Environment(
        loader=PackageLoader("mrb_lib.review"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, finalize=lambda value: visible(value) if type(value) is str else value,
    )  # fmt: skip
    made.globals["style_of"] = style
    return made


@cache
def template(name: str) -> Template:
    """Return a template of `mrb_lib/review/templates`, by its file name without `.html.jinja`."""
    return _environment().get_template(f"{name}.html.jinja")


@cache
def macro(name: str, part: str) -> Callable[..., str]:
    """Return a macro of a template; it returns HTML, which other templates take as it is."""
    made: Callable[..., str] = getattr(template(name).module, part)
    return made


class Piece(str):
    """A piece of a text that was made visible whole: templates escape it, and change nothing else of it."""


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
