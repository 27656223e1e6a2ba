"""An answer as its writer meant it: Markdown with tables and mathematics, of which nothing can act or is lost.

Models write Markdown. Shown raw, a table of findings cannot be compared; rendered without care, an answer can load an
image, link elsewhere, or lose text. Here HTML, links and images stay text, and an answer of which the rendering would
not show every letter is shown as it was written. A formula is text of a stranger like any other: of what the converter
to MathML returns, which browsers show without a script, only elements and attributes of a short list are kept, and a
formula that needs any other is shown as it was written.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final
from xml.etree import ElementTree as ET

from markdown_it import MarkdownIt
from markdown_it.token import Token

from mrb_lib.review.case.facts import FactMark, Stretch
from mrb_lib.review.pages import macro
from mrb_lib.review.text import Piece

Part = str | tuple[str, dict[str, str]]
"""A text, or a tag by its name and attributes; the end of one begins with a slash."""

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


_LONGEST_FORMULA: Final = 1_000
"""Characters of a formula; a longer one is shown as it was written."""
_DEEPEST: Final = 40
_MOST_ELEMENTS: Final = 400

_WITHIN = rf"(?:(?!\n\s*\n)[^$\\]|\\.){{1,{_LONGEST_FORMULA}}}?"
_BETWEEN = rf"(?:(?!\n\s*\n).){{1,{_LONGEST_FORMULA}}}?"
_PRICE = r"\d[\d.,]*\s?\w*\s+(?:and|or|to|vs|versus|but|for|per|than|in)\b"
_FORMULA: Final = re.compile(
    rf"(?<!\\)(?:\$\$(?P<dollars>{_WITHIN})\$\$"
    rf"|(?<!\d)\$(?![\s$]|{_PRICE})(?P<inline>{_WITHIN})(?<!\s)\$(?!\d)"
    rf"|\\\[(?P<bracket>{_BETWEEN})\\\]|\\\((?P<parenthesis>{_BETWEEN})\\\))",
    re.DOTALL,
)
r"""`$..$`, `$$..$$`, `\(..\)` or `\[..\]` within a paragraph, by the name of its marks; dollars as money stay money."""
# What defines a macro can grow without bound; what a reference names would be read twice.
_REFUSED = re.compile(r"\\(?:(?:re)?newcommand|providecommand|[egx]?def|let)(?![A-Za-z])|&(?:#|\w+;)")
_ENVIRONMENTS = re.compile(r"\\(begin|end)\{(?:aligned|align|eqnarray|gathered|gather|split)\*?\}")
_COMMANDS = re.compile(
    r"\\(?:begin\{array\}|(?:begin|end|[hv]space|color|textcolor)\*?)\s?\{[^{}]*\}|\\\\\s?\[[^\]]*\]|\\[A-Za-z]+"
)
_ACTIVE: Final = frozenset({"href", "style", "class", "id", "linebreak"})
MATHS_TAGS: Final = frozenset(
    {
        "math", "semantics", "annotation", "mi", "mn", "mo", "mtext", "mrow", "mspace", "mfrac", "msqrt", "mroot",
        "msub", "msup", "msubsup", "munder", "mover", "munderover", "mtable", "mtr", "mtd", "mstyle", "menclose",
    }
)  # fmt: skip
ATTRIBUTES: Final = {
    **dict.fromkeys(("displaystyle", "stretchy", "fence", "accent", "movablelimits"), re.compile("true|false")),
    "display": re.compile("block|inline"),
    "scriptlevel": re.compile("[0-2]"),
    "form": re.compile("prefix|infix|postfix"),
    "mathvariant": re.compile("normal|bold|italic|bold-italic|double-struck|script|fraktur|sans-serif|monospace"),
    "linethickness": re.compile("0"),
    "columnalign": re.compile("left|center|right"),
    "width": re.compile(r"[0-2](?:\.\d{1,3})?em"),
    "notation": re.compile("box"),
}
"""What an attribute may say; any other is left out, so that no formula hides, moves or colours anything."""

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

    tokens = _MARKDOWN.parse(_FORMULA.sub(set_apart, text))
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


@lru_cache(maxsize=2048)
def drawn(latex: str, *, display: bool) -> tuple[str, str] | None:
    r"""A formula as MathML, and the text that it shows.

    Parameters
    ----------
    latex : the formula without its marks
    display : in a line of its own

    Returns
    -------
    tuple of str, or None
        None where it cannot be drawn: it is too long or too deep, is not LaTeX that the converter knows, would need
        an element beyond `MATHS_TAGS` (a link, a hidden or a struck part), or would lose a letter or a digit.
        Validated by tests/review/case/test_markdown.py.
    """
    if len(latex) > _LONGEST_FORMULA or _REFUSED.search(latex):
        return None
    from latex2mathml.converter import convert_to_element  # its tables of symbols are read where a formula needs them
    from markupsafe import Markup

    try:
        found = convert_to_element(_ENVIRONMENTS.sub(r"\\\1{align*}", latex.strip()))
    except Exception:  # noqa: BLE001  # the converter's errors share no base, and whatever fails is shown as written
        return None
    elements = list(found.iter())
    is_small = len(elements) <= _MOST_ELEMENTS and found.find("/".join("*" * _DEEPEST)) is None
    if not is_small or not all(map(_is_allowed, elements[1:])):
        return None
    # Half of something, 1 above 2, is not twelve.
    text = re.sub(r"(?<=\d)\0(?=\d)", " ", "\0".join(found.itertext())).replace("\0", "")
    if _counted(_COMMANDS.sub("", latex)) - _counted(text):
        return None
    math = ET.Element("math", {"display": "block"} if display else {})
    semantics = ET.SubElement(math, "semantics")
    semantics.extend(found)
    ET.SubElement(semantics, "annotation", {"encoding": "application/x-tex"}).text = latex
    return Markup(ET.tostring(math, encoding="unicode")), text  # noqa: S704  # what it writes is escaped


def _is_allowed(element: ET.Element) -> bool:
    """Whether an element of the converter may be shown; what it says of colours, sizes and places is left out."""
    element.tag = "mrow" if element.tag == "mpadded" else element.tag
    element.text, element.tail = html.unescape(element.text or ""), " " if element.tag == "mtd" else ""
    is_struck = element.tag == "menclose" and element.get("notation") != "box"
    is_unknown = element.tag not in MATHS_TAGS or "\\" in element.text or element.text == "&"
    is_active = not _ACTIVE.isdisjoint(element.attrib)
    allowed = {name: value for name, value in element.attrib.items() if name in ATTRIBUTES}
    element.attrib = {name: value for name, value in allowed.items() if ATTRIBUTES[name].fullmatch(value)}
    return not (is_struck or is_unknown or is_active)


def _counted(text: str) -> Counter[str]:
    """Return how often each letter and digit is there; a bold letter is the letter."""
    return Counter(filter(str.isalnum, unicodedata.normalize("NFKC", text)))
