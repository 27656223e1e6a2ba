"""The parts of a page: templates, style sheets and scripts, as text: no build step, nothing fetched from anywhere.

Templates are Jinja with autoescape; control and bidi characters of a text are made visible. Style sheets and scripts
lie beside the Python of their room and are named "room/name", such as "case/case"; those that several rooms share lie
in `assets` and are named without a room: "tokens" and "shell".
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from mrb_lib.review.text import visible

if TYPE_CHECKING:
    from jinja2 import Environment, Template

_FOLDER = files("mrb_lib.review")


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


@dataclass(frozen=True, repr=False)
class CasesBeside:
    """Cases that a notebook shows one below the other.

    Attributes
    ----------
    title : of all, any text
    sections : HTML of each case, see `mrb_lib.review.case` without a style
    note : what stands above them, any text; empty for nothing
    styles : the names of style sheets, see `style`
    """

    title: str
    sections: Sequence[str]
    note: str = ""
    styles: Sequence[str] = ()

    def _repr_html_(self) -> str:
        return template("cases_beside").render(cases=self) if self.sections else ""

    def __repr__(self) -> str:
        return f"<{self.title}: {len(self.sections)} cases>"
