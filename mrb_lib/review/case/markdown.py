"""An answer as its writer meant it: Markdown with tables, of which nothing can act or is lost.

Models write Markdown. Shown raw, a table of findings cannot be compared; rendered without care, an answer can load an
image, link elsewhere, or lose text. Here HTML, links, images and formulas stay text, and an answer of which the
rendering would not show every letter is shown as it was written.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

from mrb_lib.review.case.facts import FactMark, Stretch
from mrb_lib.review.pages import Piece, macro

Part = str | tuple[str, dict[str, str]]
"""A text, or a tag by its name and attributes; the end of one begins with a slash."""

LONGEST: Final = 20_000
"""Characters of an answer; a longer one is shown as it was written."""

_MAY_BE = re.compile(r"[*_`|~]|^[ \t]*(?:#{1,6}|>|[-+]|\d{1,9}[.)])(?=\s|>|$)|^[ \t]*[-=]+[ \t]*$", re.MULTILINE)
_TEXTS: Final = frozenset({"text", "text_special", "softbreak", "hardbreak", "paragraph_open", "paragraph_close"})
_NAMED: Final = ("list_item_open", "fence")
_LEAVES: Final = frozenset({"text", "text_special", "code_inline", "fence"})
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
TAGS: Final = frozenset(
    {
        "p", "strong", "em", "s", "ul", "ol", "li", "blockquote", "hr", "br", "code", "pre", "div",
        "table", "thead", "tbody", "tr", "th", "td",
    }
)  # fmt: skip
_MARKDOWN: Final = (
    MarkdownIt("commonmark", {"html": False, "linkify": False, "breaks": True})
    .enable(["table", "strikethrough"])
    .disable(["link", "image", "autolink", "reference", "html_block", "html_inline", "entity", "code"])
)

Layer = Sequence[tuple[int, int, str, dict[str, str]]]
"""Stretches of a text, in order and apart, with the tag around each and its attributes."""


@dataclass(frozen=True)
class MarkdownText:
    """A text with Markdown in it.

    Attributes
    ----------
    plain : what it says, without its marks, for rules that look for words; blocks and cells are lines of it
    """

    plain: str
    _tokens: Sequence[tuple[Token, Stretch]] = field(repr=False)

    def html(self, facts: Sequence[FactMark] = (), differing: Sequence[Stretch] = ()) -> str:
        """The text as HTML of `TAGS`, with marks at places of `plain`; see `marked_html`."""
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
    text : as `mrb_lib.review.pages.visible` makes it

    Returns
    -------
    MarkdownText or None
        None where it is best shown as it was written: it has nothing but words and lines, is longer than `LONGEST`,
        or its rendering would lose a letter or a digit (a row with more cells than its table has columns).
        Validated by tests/review/case/test_markdown.py.
    """
    if len(text) > LONGEST or not _MAY_BE.search(text):
        return None
    parsed = _MARKDOWN.parse(text)
    flat = [one for token in parsed for one in (token.children or [] if token.type == "inline" else [token])]
    if all(token.type in _TEXTS for token in flat):
        return None
    # Nothing that was written can be lost without being noticed.
    kept = (f"{one.info * (one.type in _NAMED)}{one.content}" for one in flat)
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


def marked_html(text: str, facts: Sequence[FactMark], differing: Sequence[Stretch] = ()) -> str:
    """Visible text as HTML with its marks, and the stretches of words that are not in the other text.

    Parameters
    ----------
    text : as `mrb_lib.review.pages.visible` makes it, whole: a piece of it has no balance of its own
    """
    return macro("case_text", "parts")(tagged(text, 0, len(text), _layers(facts, differing)))


def _layers(facts: Sequence[FactMark], differing: Sequence[Stretch]) -> list[Layer]:
    of_facts = [(mark.start, mark.end, "mark", {"class": f"mrb-{mark.kind}"}) for mark in facts]
    return [of_facts, [(start, end, "span", {"class": "mrb-differs"}) for start, end in differing]]


def tagged(text: str, start: int, end: int, layers: Sequence[Layer]) -> Iterator[Part]:
    """The part of a visible text from `start` up to `end`, the tags of a layer around those of the next one."""
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
    """A piece of text in its tags."""
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
