"""The templates of the pages: Jinja with autoescape, where control and bidi characters of a text are made visible."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from mrb_lib.review.text import visible

if TYPE_CHECKING:
    from jinja2 import Environment, Template


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined  # only the extras bring it

    return Environment(
        loader=PackageLoader("mrb_lib.review"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, finalize=lambda value: visible(value) if type(value) is str else value,
    )  # fmt: skip


@cache
def template(name: str) -> Template:
    """A template of `mrb_lib/review/templates`, by its file name without `.html.jinja`."""
    return _environment().get_template(f"{name}.html.jinja")


@cache
def macro(name: str, part: str) -> Callable[..., str]:
    """A macro of a template; what it returns is HTML, which other templates take as it is."""
    made: Callable[..., str] = getattr(template(name).module, part)
    return made
