"""The templates of the pages: Jinja with autoescape, where control and bidi characters of a text are made visible."""

from __future__ import annotations

from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from mrb_lib.review.text import visible

_PAGES: Final = Environment(
    loader=PackageLoader("mrb_lib.review"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
    lstrip_blocks=True, finalize=lambda value: visible(value) if type(value) is str else value,
)  # fmt: skip


def template(name: str) -> Template:
    """A template of `mrb_lib/review/templates`, by its file name without `.html.jinja`."""
    return _PAGES.get_template(f"{name}.html.jinja")
