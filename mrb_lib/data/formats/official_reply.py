"""Reading the choices out of a judge's reply in the published prompt's format, strictly."""

from __future__ import annotations

import re
from collections.abc import Mapping

from mrb_lib.data.formats.sources import parse_json
from mrb_lib.schema import DIMENSIONS

_FENCED = re.compile(r"\A```(?:json)?[ \t]*\n(.*)\n[ \t]*```\Z", re.DOTALL | re.IGNORECASE)
_CHOICES = {"a": "A", "b": "B", "tie": "tie"}


def choices_in_reply(reply: str) -> dict[str, str]:
    """The choices of a reply that is one JSON object, alone or fenced as a code block.

    Returns
    -------
    dict
        Choice by dimension: A, B or tie. A dimension that is absent, or whose value
        is anything else, is left out; so is everything of a reply that is not one
        JSON object or names a dimension twice. Nothing is guessed: the published
        parser takes the article of "a better answer" for a verdict.
    """
    text = reply.strip()
    fenced = _FENCED.match(text)
    try:
        value = parse_json(fenced.group(1) if fenced else text)
    except ValueError:
        return {}
    return choices_in_object(value) if isinstance(value, dict) else {}


def choices_in_object(value: Mapping[str, object]) -> dict[str, str]:
    """The choices of a parsed object; see `choices_in_reply`."""
    names = [key.strip().lower() for key in value]
    if len(set(names)) != len(names):
        return {}
    by_name = dict(zip(names, value.values(), strict=True))
    choices = {name: choice_of(by_name.get(name)) for name in DIMENSIONS}
    return {name: choice for name, choice in choices.items() if choice is not None}


def choice_of(value: object) -> str | None:
    """A, B or tie, in any case and with spaces around; None for anything else."""
    return _CHOICES.get(value.strip().lower()) if isinstance(value, str) else None
