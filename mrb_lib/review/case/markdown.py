"""An answer as its writer meant it: Markdown with tables and mathematics, of which nothing can act or is lost.

Models write Markdown. Shown raw, a table of findings cannot be compared; rendered without care, an answer can load an
image, link elsewhere, or lose text. Here HTML, links and images stay text, and an answer of which the rendering would
not show every letter is shown as it was written.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

from mrb_lib.review.case.facts import FactMark, Stretch
from mrb_lib.review.case.formulas import drawn, maths_rules
from mrb_lib.review.text import OWN_KEYS

LONGEST: Final = 20_000
"""Characters of an answer; a longer one is shown as it was written."""

_MAY_BE = re.compile(
    r"[*_`$|~]|\\[(\[]|^[ \t]*(?:#{1,6}|>|[-+]|\d{1,9}[.)])(?=\s|>|$)|^[ \t]*[-=]+[ \t]*$", re.MULTILINE
)
_PROSE: Final = frozenset({"paragraph_open", "paragraph_close", "inline"})
_WORDS: Final = frozenset({"text", "text_special", "softbreak", "hardbreak"})
_LEAVES: Final = frozenset({"text", "text_special", "code_inline", "fence", "formula"})
_OPENING: Final = {"heading_open": "<p><strong>", "heading_close": "</strong></p>", "hr": "<hr>"}
_ALIGNED: Final = {"text-align:right": ' class="mrb-end"', "text-align:center": ' class="mrb-middle"'}
TAGS: Final = frozenset(
    {
        "p", "strong", "em", "s", "ul", "ol", "li", "blockquote", "hr", "br", "code", "pre", "div",
        "table", "thead", "tbody", "tr", "th", "td",
    }
)  # fmt: skip


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "linkify": False, "breaks": True})
    parser.enable(["table", "strikethrough"])
    parser.disable(["link", "image", "autolink", "reference", "html_block", "html_inline", "entity", "code"])
    maths_rules(parser)
    return parser


_MARKDOWN: Final = _parser()


@dataclass(frozen=True)
class _Leaf:
    """A piece of text of the rendering, and where it begins in the plain text."""

    token: Token
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


@dataclass(frozen=True)
class MarkdownText:
    """A text with Markdown or mathematics in it.

    Attributes
    ----------
    source : the text as it was written
    plain : what it says, without its marks, for rules that look for words; blocks and cells are lines of it
    """

    source: str
    plain: str
    _tokens: Sequence[Token] = field(repr=False)
    _leaves: Sequence[_Leaf] = field(repr=False)

    def html(self, facts: Iterable[FactMark] = (), differing: Sequence[Stretch] = ()) -> str:
        """The text as HTML of `TAGS` and MathML, with marks at places of `plain`; see `marked_html`."""
        facts = list(facts)
        shown = {id(leaf.token): _leaf_html(leaf, facts, differing) for leaf in self._leaves}
        return "".join(_token_html(token, shown) for token in _flat(self._tokens))


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
    if len(text) > LONGEST or not _MAY_BE.search(text):
        return None
    tokens = _MARKDOWN.parse(text)
    flat = list(_flat(tokens))
    if all(token.type in _PROSE or token.type in _WORDS for token in flat):
        return None
    if _letters(text) != _letters("".join(_kept(token) for token in flat)):
        return None
    leaves, length = [], 0
    pieces: list[str] = []
    for token in flat:
        if token.type in _LEAVES:
            leaf = _Leaf(token, _said(token), length)
            leaves.append(leaf)
            pieces.append(f"{leaf.text}\n" if token.block else leaf.text)
        elif token.type in ("softbreak", "hardbreak") or (token.nesting == -1 and token.block):
            pieces.append("\n")
        else:
            continue
        length += len(pieces[-1])
    return MarkdownText(text, "".join(pieces), tokens, leaves)


def marked_html(text: str, facts: Iterable[FactMark], differing: Sequence[Stretch] = ()) -> str:
    """Visible text as HTML with its marks, and the stretches of words that are not in the other text.

    Parameters
    ----------
    text : as `mrb_lib.review.text.visible` makes it, whole: a piece of it has no balance of its own
    """

    def words(start: int, end: int) -> str:
        pieces = []
        for first, last in differing:
            if first < end and start < last:
                pieces.append(html.escape(text[start : max(first, start)]))
                start, last = max(first, start), min(last, end)
                pieces.append(f'<span class="mrb-differs">{html.escape(text[start:last])}</span>')
                start = last
        return "".join([*pieces, html.escape(text[start:end])])

    pieces, end = [], 0
    for mark in facts:
        pieces.append(f'{words(end, mark.start)}<mark class="mrb-{mark.kind}">{words(mark.start, mark.end)}</mark>')
        end = mark.end
    return "".join([*pieces, words(end, len(text))])


def _flat(tokens: Iterable[Token]) -> Iterator[Token]:
    """The tokens in the order of the text, those of a line in the place of the line."""
    for token in tokens:
        if token.type == "inline":
            yield from token.children or []
        else:
            yield token


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))


def _kept(token: Token) -> str:
    """What of a token's text is shown, so that nothing that was written can be lost without being noticed."""
    if token.type == "list_item_open" or token.type == "fence":
        return token.info + token.content
    return token.content if token.type in _LEAVES else ""


def _said(token: Token) -> str:
    if token.type == "formula":
        shown = drawn(token.content, display=token.meta["display"])
        return token.markup if shown is None else shown[1]
    return token.content


def _leaf_html(leaf: _Leaf, facts: Sequence[FactMark], differing: Sequence[Stretch]) -> str:
    """A piece of text with the marks that reach into it."""
    own = [
        replace(mark, start=max(mark.start, leaf.start) - leaf.start, end=min(mark.end, leaf.end) - leaf.start)
        for mark in facts
        if mark.start < leaf.end and leaf.start < mark.end
    ]
    words = [
        (max(start, leaf.start) - leaf.start, min(end, leaf.end) - leaf.start)
        for start, end in differing
        if start < leaf.end and leaf.start < end
    ]
    token = leaf.token
    formula = drawn(token.content, display=token.meta["display"]) if token.type == "formula" else None
    if formula is not None:
        shown = f'<span class="mrb-differs">{formula[0]}</span>' if words else formula[0]
        shown = f'<mark class="mrb-{own[0].kind}">{shown}</mark>' if own else shown
        return f'<div class="mrb-formula">{shown}</div>' if token.block else shown
    text = marked_html(leaf.text, own, words)
    if token.type == "fence":
        language = f"{html.escape(token.info)}\n" if token.info.strip() else ""
        return f"<pre><code>{language}{text}</code></pre>"
    if token.type == "formula" and token.block:
        return f"<pre><code>{text}</code></pre>"
    return text if token.type in ("text", "text_special") else f"<code>{text}</code>"


def _token_html(token: Token, shown: dict[int, str]) -> str:
    if id(token) in shown:
        return shown[id(token)]
    if token.type in _OPENING:
        return _OPENING[token.type]
    if token.type in ("softbreak", "hardbreak"):
        return "<br>"
    if token.hidden or token.tag not in TAGS:
        return ""
    if token.type == "table_open":
        return f'<div class="mrb-grid" tabindex="0" role="group" aria-label="table in the answer" {OWN_KEYS}><table>'
    if token.type == "table_close":
        return "</table></div>"
    if token.nesting == -1:
        return f"</{token.tag}>"
    return f"<{token.tag}{_attributes(token)}>"


def _attributes(token: Token) -> str:
    """A numbered item keeps its number, a cell its side."""
    if token.type == "list_item_open" and token.info:
        return f' value="{int(token.info)}"'
    aligned = _ALIGNED.get(str(token.attrs.get("style", "")), "")
    return ' scope="col"' + aligned if token.type == "th_open" else aligned
