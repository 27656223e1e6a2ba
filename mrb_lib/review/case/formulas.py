r"""Mathematics in an answer, found between its marks and drawn as MathML, which browsers show without a script.

A formula is text of a stranger like any other. So what the converter returns is not trusted: only elements and
attributes of a short list are written anew, and a formula that needs any other is shown as it was written.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import Final
from xml.etree.ElementTree import Element

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

from mrb_lib.review.pages import macro
from mrb_lib.review.text import Piece

Part = str | tuple[str, dict[str, str]]
"""A text, or a tag by its name and attributes; the end of one begins with a slash."""

LONGEST: Final = 1_000
"""Characters of a formula; a longer one is shown as it was written."""
_DEEPEST: Final = 40
_MOST_ELEMENTS: Final = 400

_WITHIN = rf"(?:[^$\\]|\\.){{1,{LONGEST}}}?"
_PRICE = r"\d[\d.,]*\s?\w*\s+(?:and|or|to|vs|versus|but|for|per|than|in)\b"
_FORMULA = re.compile(
    rf"\$\$(?P<display>{_WITHIN})\$\$"
    rf"|(?<!\d)\$(?![\s$]|{_PRICE})(?P<inline>{_WITHIN})(?<!\s)\$(?!\d)"
    rf"|\\\[(?P<bracket>.{{1,{LONGEST}}}?)\\\]|\\\((?P<parenthesis>.{{1,{LONGEST}}}?)\\\)",
    re.DOTALL,
)
_ENDS = {"$$": "$$", "\\[": "\\]"}
# What defines a macro can grow without bound; what a reference names would be read twice.
_REFUSED = re.compile(r"\\(?:(?:re)?newcommand|providecommand|[egx]?def|let)(?![A-Za-z])|&(?:#|\w+;)")
_ALIGNED = re.compile(r"\\(begin|end)\{(?:aligned|align|eqnarray|gathered|gather|split)\*?\}")

_COMMANDS = re.compile(
    r"\\(?:begin\{array\}|(?:begin|end|[hv]space|color|textcolor)\*?)\s?\{[^{}]*\}|\\\\\s?\[[^\]]*\]|\\[A-Za-z]+"
)
_ACTIVE: Final = frozenset({"href", "style", "class", "id"})

_TOKENS: Final = frozenset({"mi", "mn", "mo", "mtext"})
_GROUPS: Final = frozenset(
    {
        "math", "mrow", "mspace", "mfrac", "msqrt", "mroot", "msub", "msup", "msubsup", "munder", "mover", "munderover",
        "mtable", "mtr", "mtd", "mstyle", "menclose",
    }
)  # fmt: skip
TAGS: Final = _TOKENS | _GROUPS | {"semantics", "annotation"}
ATTRIBUTES: Final = {
    "display": re.compile("block|inline"),
    "displaystyle": re.compile("true|false"),
    "scriptlevel": re.compile("[0-2]"),
    "stretchy": re.compile("true|false"),
    "fence": re.compile("true|false"),
    "accent": re.compile("true|false"),
    "movablelimits": re.compile("true|false"),
    "form": re.compile("prefix|infix|postfix"),
    "mathvariant": re.compile("normal|bold|italic|bold-italic|double-struck|script|fraktur|sans-serif|monospace"),
    "linethickness": re.compile("0"),
    "columnalign": re.compile("left|center|right"),
    "width": re.compile(r"[0-2](?:\.\d{1,3})?em"),
    "notation": re.compile("box"),
}
"""What an attribute may say; any other is left out, so that no formula hides, moves or colours anything."""


class _NotDrawnError(ValueError):
    """A formula that is not drawn, since it needs more than is allowed."""


def maths_rules(parser: MarkdownIt) -> None:
    r"""Teach a Markdown parser `$..$`, `$$..$$`, `\(..\)` and `\[..\]`; dollars as money stay money."""
    parser.inline.ruler.before("escape", "formula", _inline)
    parser.block.ruler.before("fence", "formula", _block, {"alt": ["paragraph", "blockquote", "list"]})


def _inline(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] not in "$\\":
        return False
    match = _FORMULA.match(state.src, state.pos, state.posMax)
    if match is None or match.lastgroup is None or not match[match.lastgroup].strip():
        return False
    if not silent:
        token = state.push("formula", "math", 0)
        token.content, token.markup = match[match.lastgroup], match[0]
        token.meta = {"display": match.lastgroup in ("display", "bracket")}
    state.pos = match.end()
    return True


def _block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    r"""A formula in lines of its own; without this rule a line in it that begins with a minus would be a list."""
    first = state.bMarks[start] + state.tShift[start]
    opening = state.src[first : first + 2]
    if opening not in _ENDS or state.src.find(_ENDS[opening], first + 2, first + LONGEST) == -1:
        return False
    whole = ""
    for line in range(start, end):
        if line > start and (state.isEmpty(line) or state.sCount[line] < state.blkIndent):
            return False
        whole += state.getLines(line, line + 1, state.blkIndent, False).strip() + "\n"
        inner = whole[2:].rstrip()
        if opening in inner and opening not in _ENDS.values():
            return False
        if _ENDS[opening] not in inner:
            continue
        content = inner.removesuffix(_ENDS[opening])
        if content == inner or not content.strip() or _ENDS[opening] in content:
            return False
        if not silent:
            token = state.push("formula", "math", 0)
            token.block, token.map = True, [start, line + 1]
            token.content, token.markup, token.meta = content, whole.rstrip(), {"display": True}
            state.line = line + 1
        return True
    return False


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
        an element beyond `TAGS` (a link, a hidden or a struck part), or would lose a letter or a digit.
        Validated by tests/review/case/test_markdown.py.
    """
    if len(latex) > LONGEST or _REFUSED.search(latex):
        return None
    from latex2mathml.converter import convert_to_element  # its tables of symbols are read where a formula needs them

    try:
        root = convert_to_element(
            _ALIGNED.sub(r"\\\1{align*}", latex.strip()), display="block" if display else "inline"
        )
        if sum(1 for _ in root.iter()) > _MOST_ELEMENTS:
            return None
        shown: list[str] = []
        inner = [part for child in root for part in _written(child, shown, _DEEPEST)]
    except Exception:  # noqa: BLE001  # the converter's errors share no base, and whatever fails is shown as written
        return None
    text = _joined(shown)
    if _letters(_COMMANDS.sub("", latex)) - _letters(text):
        return None
    start: list[Part] = [("math", {"display": "block"} if display else {}), ("semantics", {})]
    source: list[Part] = [("annotation", {"encoding": "application/x-tex"}), Piece(latex), ("/annotation", {})]
    return macro("case_text", "parts")([*start, *inner, *source, ("/semantics", {}), ("/math", {})]), text


def _written(element: Element, shown: list[str], levels: int) -> Iterator[Part]:
    """An element of the converter written anew, if all of it may be; its texts are added to `shown`."""
    tag = "mrow" if element.tag == "mpadded" else element.tag
    text = html.unescape(element.text or "")
    if not levels or tag not in TAGS or (tag in _TOKENS and len(element)) or element.tail:
        raise _NotDrawnError(tag)
    if "\\" in text or text == "&":
        raise _NotDrawnError("a command that the converter does not know")
    if tag == "menclose" and element.get("notation") != "box":
        raise _NotDrawnError("a strike would be lost")
    if "linebreak" in element.attrib or not _ACTIVE.isdisjoint(element.attrib):
        raise _NotDrawnError("no browser breaks a formula, and no formula is to act")
    allowed = {name: value for name, value in element.attrib.items() if name in ATTRIBUTES}
    yield tag, {name: value for name, value in allowed.items() if ATTRIBUTES[name].fullmatch(value)}
    yield Piece(text)
    shown += [text] if text.strip() else []
    for child in element:
        yield from _written(child, shown, levels - 1)
    shown += [" "] if tag == "mtd" else []
    yield f"/{tag}", {}


def _joined(pieces: list[str]) -> str:
    """The texts of a formula in sequence; a half, 1 above 2, is not twelve."""
    text = ""
    for piece in pieces:
        text += f" {piece}" if text[-1:].isdigit() and piece[:1].isdigit() else piece
    return text


def _letters(text: str) -> Counter[str]:
    """How often each letter and digit is there; a bold letter is the letter."""
    return Counter(filter(str.isalnum, unicodedata.normalize("NFKC", text)))
