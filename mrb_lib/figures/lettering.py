"""What figures say: text of unknown origin made safe to draw, names of vocabularies, shares in per cent."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from matplotlib import font_manager

_OWNER = re.compile(r"^[\w.-]+/(?=[\w.:@+-]+$)")
_BETWEEN = re.compile(r"[\s/_-]")
_LAST_WORD = re.compile(r"(?<=.{4})(?<=[\s/_-])[^\s/_-]+$")
_FIRST_WORD = re.compile(r"^[^\s/_-]+(?=[\s/_-]|$)")


@lru_cache(maxsize=1)
def _drawable() -> frozenset[int]:
    return frozenset(font_manager.get_font(font_manager.findfont("DejaVu Sans")).get_charmap())


def label(text: object, width: int | None = None, *, tail: float = 1 / 3) -> str:
    """Text of unknown origin, made safe to draw.

    Control characters go, letters the font lacks become a box, and a dollar sign stays a
    dollar sign instead of starting a formula.

    Parameters
    ----------
    width : the most characters to keep; a longer text loses its owner (`owner/name`), then whole words of its middle,
        marked by an ellipsis
    tail : the share of them that is kept of its end
    """
    kept = []
    for letter in str(text):
        kind = unicodedata.category(letter)
        if letter.isspace():
            kept.append(" ")
        elif not kind.startswith("C"):
            kept.append(letter if ord(letter) in _drawable() else "\u25a1")
    plain = " ".join("".join(kept).split()) or "(empty)"
    if width is not None and len(plain) > width:
        plain = _OWNER.sub("", plain)
    if width is not None and len(plain) > width:
        last = int((width - 1) * tail)
        head, end = plain[: width - 1 - last], plain[len(plain) - last :]
        if not _BETWEEN.match(plain[len(head)]):
            head = _LAST_WORD.sub("", head)
        if last and not _BETWEEN.match(plain[-last - 1]):
            end = _FIRST_WORD.sub("", end)
        plain = f"{head}\u2026{end}"
    return plain.replace("$", r"\$")


def labels(names: Iterable[object], width: int) -> list[str]:
    """Labels for the values of an axis: shortened, and still told apart after that."""
    every = list(names)
    short = [label(name, width) for name in every]
    tried = [
        label(name, width, tail=0) if short.count(own) > 1 else own for name, own in zip(every, short, strict=True)
    ]
    out: list[str] = []
    for name, own in zip(every, tried, strict=True):
        again = 2
        while own in out:
            mark = f"#{again}"
            own, again = label(name, width - len(mark) - 1) + f" {mark}", again + 1
        out.append(own)
    return out


def paragraph(text: object, width: int, lines: int) -> str:
    """Text of unknown origin wrapped to at most `lines` lines of `width` characters, safe to draw."""
    plain = label(text).replace(r"\$", "$")
    wrapped = textwrap.wrap(plain, width, max_lines=lines, placeholder=" [...]", break_long_words=True)
    return "\n".join(wrapped).replace("$", r"\$")


def title_case(name: object) -> str:
    """A value of a vocabulary as a reader would write it: `oral_cavity` becomes `Oral cavity`."""
    text = str(name).replace("_", " ")
    return text[:1].upper() + text[1:]


def percent(value: float) -> str:
    """A fraction as a whole percentage, without the percent sign and without a negative zero."""
    return f"{round(100 * value) + 0:d}".replace("-", "\u2212")


def signed_percent(value: float) -> str:
    """As `percent`, with a plus before what is more than zero."""
    return ("+" if round(100 * value) > 0 else "") + percent(value)
