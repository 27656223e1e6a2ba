"""An answer as its writer meant it: Markdown with tables and mathematics, of which nothing can act or is lost.

Models write Markdown. Shown raw, a table of findings cannot be compared; rendered without care, an answer can load an
image, link elsewhere, or lose text. Here HTML, links and images stay text, and an answer of which the rendering would
not show every letter is shown as it was written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

from mrb_lib.review.case.facts import FactMark, Stretch
from mrb_lib.review.case.formulas import FORMULA, Part, drawn
from mrb_lib.review.pages import macro
from mrb_lib.review.text import Piece

LONGEST: Final = 20_000
"""Characters of an answer; a longer one is shown as it was written."""

_MAY_BE = re.compile(
    r"[*_`$|~]|\\[(\[]|^[ \t]*(?:#{1,6}|>|[-+]|\d{1,9}[.)])(?=\s|>|$)|^[ \t]*[-=]+[ \t]*$", re.MULTILINE
)
_FIRST: Final = 0xF0000
_PLACE = re.compile("([\U000f0000-\U000ffffd])")
"""A letter for private use stands for a formula while the text around it is read."""
_TEXTS: Final = frozenset({"text", "text_special", "softbreak", "hardbreak", "paragraph_open", "paragraph_close"})
_NAMED: Final = ("list_item_open", "fence")
_LEAVES: Final = frozenset({"text", "text_special", "code_inline", "fence", "formula"})
_GRID: Final = {"class": "mrb-grid", "tabindex": "0", "role": "group", "aria-label": "table in the answer"}
_WRITTEN: Final[dict[str, list[Part]]] = {
    "heading_open": [("p", {}), ("strong", {})],
    "heading_close": [("/strong", {}), ("/p", {})],
    "table_open": [("div", _GRID | {"data-lm-suppress-shortcuts": "true"}), ("table", {})],
    "table_close": [("/table", {}), ("/div", {})],
    "softbreak": [("br", {})],
    "hardbreak": [("br", {})],
}
_ALIGNED: Final = {"text-align:right": {"class": "mrb-end"}, "text-align:center": {"class": "mrb-middle"}}
TAGS: Final = frozenset("p strong em s ul ol li blockquote hr br code pre div table thead tbody tr th td".split())
_MARKDOWN: Final = (
    MarkdownIt("commonmark", {"html": False, "linkify": False, "breaks": True})
    .enable(["table", "strikethrough"])
    .disable(["link", "image", "autolink", "reference", "html_block", "html_inline", "entity", "code"])
)


Layer = Sequence[tuple[int, int, str, dict[str, str]]]
"""Stretches of a text, in order and apart, with the tag around each and its attributes."""


@dataclass(frozen=True)
class MarkdownText:
    """A text with Markdown or mathematics in it.

    Attributes
    ----------
    plain : what it says, without its marks, for rules that look for words; blocks and cells are lines of it
    """

    plain: str
    _tokens: Sequence[tuple[Token, Stretch]] = field(repr=False)

    def html(self, facts: Sequence[FactMark] = (), differing: Sequence[Stretch] = ()) -> str:
        """The text as HTML of `TAGS` and MathML, with marks at places of `plain`; see `marked_html`."""
        parts: list[Part] = []
        layers = _layers(facts, differing)
        for token, (start, end) in self._tokens:
            if token.type in _LEAVES:
                parts += _leaf(token, list(tagged(self.plain, start, end, layers)))
            elif token.type in _WRITTEN:
                parts += _WRITTEN[token.type]
            elif not token.hidden and token.tag in TAGS:
                parts.append((f"/{token.tag}", {}) if token.nesting == -1 else (token.tag, _attributes(token)))
        return macro("case_text", "parts")(parts)


def read_markdown(text: str) -> MarkdownText | None:
    """Read a text as Markdown.

    Parameters
    ----------
    text : as `mrb_lib.review.text.visible` makes it

    Returns
    -------
    MarkdownText or None
        None where it is best shown as it was written: it has nothing but words and lines, is longer than `LONGEST`,
        or its rendering would lose a letter or a digit (a row with more cells than its table has columns).
        Validated by tests/review/case/test_markdown.py.
    """
    if len(text) > LONGEST or not _MAY_BE.search(text) or _PLACE.search(text):
        return None
    formulas: dict[str, re.Match[str]] = {}

    def set_apart(match: re.Match[str]) -> str:
        if not match[str(match.lastgroup)].strip():
            return match[0]
        place = chr(_FIRST + len(formulas))
        formulas[place] = match
        return place

    tokens = _MARKDOWN.parse(FORMULA.sub(set_apart, text))
    each = [one for token in tokens for one in (token.children or [] if token.type == "inline" else [token])]
    flat = [one for token in each for one in _cut(token, formulas)]
    if all(token.type in _TEXTS for token in flat):
        return None
    # Nothing that was written can be lost without being noticed.
    kept = (one.markup if one.type == "formula" else f"{one.info * (one.type in _NAMED)}{one.content}" for one in flat)
    if _letters(text) != _letters("".join(kept)):
        return None
    placed, plain = [], ""
    for token in flat:
        start = len(plain)
        plain += token.content
        placed.append((token, (start, len(plain))))
        ends_block = token.block and (token.nesting == -1 or token.type in _LEAVES)
        plain += "\n" if ends_block or token.type in ("softbreak", "hardbreak") else ""
    return MarkdownText(plain, placed)


def _cut(token: Token, formulas: Mapping[str, re.Match[str]]) -> Iterator[Token]:
    """A token with its formulas: those of a text are tokens of their own, and code has none."""
    if token.type != "text":
        for name in ("content", "info"):
            setattr(token, name, _PLACE.sub(lambda place: formulas[place[0]][0], getattr(token, name)))
        yield token
        return
    for piece in filter(None, _PLACE.split(token.content)):
        match = formulas.get(piece)
        marks = str(match.lastgroup) if match else ""
        shown = drawn(match[marks], display=marks in ("dollars", "bracket")) if match else None
        if shown and match:
            yield Token("formula", "math", 0, content=shown[1], markup=match[0], meta={"html": shown[0]})
        else:
            yield Token("code_inline" if match else "text", "", 0, content=match[0] if match else piece)


def marked_html(text: str, facts: Sequence[FactMark], differing: Sequence[Stretch] = ()) -> str:
    """Visible text as HTML with its marks, and the stretches of words that are not in the other text.

    Parameters
    ----------
    text : as `mrb_lib.review.text.visible` makes it, whole: a piece of it has no balance of its own
    """
    return macro("case_text", "parts")(tagged(text, 0, len(text), _layers(facts, differing)))


def _layers(facts: Sequence[FactMark], differing: Sequence[Stretch]) -> list[Layer]:
    of_facts = [(mark.start, mark.end, "mark", {"class": f"mrb-{mark.kind}"}) for mark in facts]
    return [of_facts, [(start, end, "span", {"class": "mrb-differs"}) for start, end in differing]]


def tagged(text: str, start: int, end: int, layers: Sequence[Layer]) -> Iterator[Part]:
    """The part of a visible text from `start` up to `end`, with the tags of the first layer around those of the next."""
    if not layers:
        yield Piece(text[start:end])
        return
    outer, *inner = layers
    for first, last, tag, attributes in outer:
        first, last = max(first, start), min(last, end)
        if first < last:
            yield from tagged(text, start, first, inner)
            yield tag, attributes
            yield from tagged(text, first, last, inner)
            yield f"/{tag}", {}
            start = last
    yield from tagged(text, start, end, inner)


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))


def _leaf(token: Token, marked: list[Part]) -> list[Part]:
    """A piece of text in its tags; a formula is marked as a whole where any of it is."""
    if token.type == "formula":
        opened = {one[0]: one for one in reversed(marked) if isinstance(one, tuple) and one[0] in ("mark", "span")}
        around = [opened[name] for name in ("mark", "span") if name in opened]
        return [*around, token.meta["html"], *((f"/{name}", {}) for name, _ in reversed(around))]
    if token.type == "code_inline":
        return [("code", {}), *marked, ("/code", {})]
    language = Piece(f"{token.info}\n" if token.info.strip() else "")
    return [("pre", {}), ("code", {}), language, *marked, ("/code", {}), ("/pre", {})] if token.block else marked


def _attributes(token: Token) -> dict[str, str]:
    """A numbered item keeps its number, a cell its side."""
    if token.type == "list_item_open" and token.info:
        return {"value": str(int(token.info))}
    aligned = _ALIGNED.get(str(token.attrs.get("style", "")), {})
    return {"scope": "col"} | aligned if token.type == "th_open" else aligned
