"""The style sheets and scripts of the widgets, as text: no build step, and nothing fetched from anywhere.

They lie beside the Python of their room and are named "room/name", such as "case/case"; those that several rooms share
lie in `assets` and are named without a room: "tokens" and "shell".
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files

_FOLDER = files("mrb_lib.review")


@cache
def _read(name: str) -> str:
    return (_FOLDER / (name if "/" in name else f"assets/{name}")).read_text(encoding="utf-8")


def style(*names: str) -> str:
    """The named style sheets one after another, after `tokens.css`, which they all use."""
    return "\n".join(_read(f"{name}.css") for name in ("tokens", *names))


def script(*names: str) -> str:
    """The named scripts one after another, after `elements.js`, for a `<script>`: none may hold the text that ends one."""
    return "\n".join(_read(f"{name}.js") for name in ("elements", *names))


def module(*names: str) -> str:
    """The named scripts as one ES module for anywidget: the last of them must define `render`."""
    shown = "render({ link: mrbShell.connect(model), el, addressed: false })"
    return f"{script(*names)}\nexport default {{ render: ({{ model, el }}) => {shown} }};\n"


def csp_hash(text: str) -> str:
    """Return what a Content-Security-Policy names an inline script by: 'sha256-...' of exactly this text."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
