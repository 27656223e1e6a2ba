"""What figures say: text of unknown origin made safe to draw, names of vocabularies, shares in per cent."""

import re
import textwrap
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from typing import Final

import matplotlib as mpl
from matplotlib import font_manager
from matplotlib.font_manager import FontEntry
from matplotlib.ft2font import FT2Font

_OWNER = re.compile(r"^[\w.-]+/(?=[\w.:@+-]+$)")
_BETWEEN = re.compile(r"[\s/_-]")
_LAST_WORD = re.compile(r"(?<=.{4})(?<=[\s/_-])[^\s/_-]+$")
_FIRST_WORD = re.compile(r"^[^\s/_-]+(?=[\s/_-]|$)")


USUAL_FONT: Final = "DejaVu Sans"


@dataclass
class Letters:
    """Labels of a figure that its usual font cannot draw.

    Attributes
    ----------
    families : other installed fonts that have their letters, in the order of use
    numbered : labels with letters that every installed font lacks; each is drawn as its number
    """

    families: list[str] = field(default_factory=list)
    numbered: dict[str, int] = field(default_factory=dict)

    @property
    def legend(self) -> str:
        """The labels behind the numbers, and how to have them drawn; empty without any."""
        if not self.numbered:
            return ""
        names = "; ".join(f"[{number}] {name}" for name, number in self.numbered.items())
        return f"Every installed font lacks letters of labels, which are numbered: {names}. Install Noto fonts."


_LETTERS: Final = ContextVar("letters", default=Letters())  # noqa: B039  # outside a figure numbers go on


@contextmanager
def lettering(letters: Letters) -> Iterator[None]:
    """Note fonts and numbers of the labels made in this block."""
    token = _LETTERS.set(letters)
    try:
        yield
    finally:
        _LETTERS.reset(token)


@cache
def _installed_fonts() -> list[FontEntry]:
    """The fonts for text, the usual one first; those installed after matplotlib listed them are added to its list."""
    manager, own = font_manager.fontManager, mpl.get_data_path()
    for path in {*font_manager.findSystemFonts()} - {entry.fname for entry in manager.ttflist}:
        with suppress(OSError, RuntimeError, NotImplementedError):  # of a kind that matplotlib cannot draw
            manager.addfont(path)
    upright = [entry for entry in manager.ttflist if entry.style == "normal" and entry.weight in (400, "normal")]
    # Of the fonts that come with matplotlib, others hold signs of formulas, or a box for each letter there is.
    texts = [entry for entry in upright if entry.name == USUAL_FONT or not entry.fname.startswith(own)]
    return sorted(texts, key=lambda entry: (entry.name != USUAL_FONT, "Sans" not in entry.name, entry.name))


@cache
def _charmap(font: FontEntry) -> frozenset[int]:
    return frozenset(FT2Font(font.fname, face_index=font.index).get_charmap())


@cache
def _family(letter: str) -> str | None:
    """Return the first font that has a letter; None if every installed font lacks it."""
    return next((font.name for font in _installed_fonts() if ord(letter) in _charmap(font)), None)


def label(text: object, width: int | None = None, *, tail: float = 1 / 3) -> str:
    """Text of unknown origin, made safe to draw.

    Control characters go, and a dollar sign stays a dollar sign instead of starting a formula. The letters are drawn
    in an installed font that has them; a label with letters that every font lacks becomes a number (see `Letters`).

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
            kept.append(letter)
    plain = " ".join("".join(kept).split()) or "(empty)"
    letters, families = _LETTERS.get(), {_family(letter): None for letter in plain}
    if None in families:
        return f"[{letters.numbered.setdefault(plain, len(letters.numbered) + 1)}]"
    letters.families += [name for name in families if name and name not in (USUAL_FONT, *letters.families)]
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
