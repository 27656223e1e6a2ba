r"""Mathematics in an answer, found between its marks and drawn as MathML, which browsers show without a script.

A formula is text of a stranger like any other. So what the converter returns is not trusted: only elements and
attributes of a short list are kept, and a formula that needs any other is shown as it was written.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections import Counter
from functools import lru_cache
from typing import Final
from xml.etree import ElementTree as ET

Part = str | tuple[str, dict[str, str]]
"""A text, or a tag by its name and attributes; the end of one begins with a slash."""

LONGEST: Final = 1_000
"""Characters of a formula; a longer one is shown as it was written."""
_DEEPEST: Final = 40
_MOST_ELEMENTS: Final = 400

_WITHIN = rf"(?:(?!\n\s*\n)[^$\\]|\\.){{1,{LONGEST}}}?"
_BETWEEN = rf"(?:(?!\n\s*\n).){{1,{LONGEST}}}?"
_PRICE = r"\d[\d.,]*\s?\w*\s+(?:and|or|to|vs|versus|but|for|per|than|in)\b"
FORMULA: Final = re.compile(
    rf"(?<!\\)(?:\$\$(?P<dollars>{_WITHIN})\$\$"
    rf"|(?<!\d)\$(?![\s$]|{_PRICE})(?P<inline>{_WITHIN})(?<!\s)\$(?!\d)"
    rf"|\\\[(?P<bracket>{_BETWEEN})\\\]|\\\((?P<parenthesis>{_BETWEEN})\\\))",
    re.DOTALL,
)
r"""`$..$`, `$$..$$`, `\(..\)` or `\[..\]` within a paragraph, by the name of its marks; dollars as money stay money."""
# What defines a macro can grow without bound; what a reference names would be read twice.
_REFUSED = re.compile(r"\\(?:(?:re)?newcommand|providecommand|[egx]?def|let)(?![A-Za-z])|&(?:#|\w+;)")
_ALIGNED = re.compile(r"\\(begin|end)\{(?:aligned|align|eqnarray|gathered|gather|split)\*?\}")
_COMMANDS = re.compile(
    r"\\(?:begin\{array\}|(?:begin|end|[hv]space|color|textcolor)\*?)\s?\{[^{}]*\}|\\\\\s?\[[^\]]*\]|\\[A-Za-z]+"
)
_ACTIVE: Final = frozenset({"href", "style", "class", "id", "linebreak"})
TAGS: Final = frozenset(
    "math semantics annotation mi mn mo mtext mrow mspace mfrac msqrt mroot msub msup msubsup munder mover munderover "
    "mtable mtr mtd mstyle menclose".split()
)
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
    from markupsafe import Markup

    try:
        found = convert_to_element(_ALIGNED.sub(r"\\\1{align*}", latex.strip()))
    except Exception:  # noqa: BLE001  # the converter's errors share no base, and whatever fails is shown as written
        return None
    elements = list(found.iter())
    is_small = len(elements) <= _MOST_ELEMENTS and found.find("/".join("*" * _DEEPEST)) is None
    if not is_small or not all(map(_kept, elements[1:])):
        return None
    # Half of something, 1 above 2, is not twelve.
    text = re.sub(r"(?<=\d)\0(?=\d)", " ", "\0".join(found.itertext())).replace("\0", "")
    if _letters(_COMMANDS.sub("", latex)) - _letters(text):
        return None
    math = ET.Element("math", {"display": "block"} if display else {})
    semantics = ET.SubElement(math, "semantics")
    semantics.extend(found)
    ET.SubElement(semantics, "annotation", {"encoding": "application/x-tex"}).text = latex
    return Markup(ET.tostring(math, encoding="unicode")), text  # noqa: S704  # what it writes is escaped


def _kept(element: ET.Element) -> bool:
    """Whether an element of the converter may be shown; what it says of colours, sizes and places is left out."""
    element.tag = "mrow" if element.tag == "mpadded" else element.tag
    element.text, element.tail = html.unescape(element.text or ""), " " if element.tag == "mtd" else ""
    is_struck = element.tag == "menclose" and element.get("notation") != "box"
    is_unknown = element.tag not in TAGS or "\\" in element.text or element.text == "&"
    is_active = not _ACTIVE.isdisjoint(element.attrib)
    allowed = {name: value for name, value in element.attrib.items() if name in ATTRIBUTES}
    element.attrib = {name: value for name, value in allowed.items() if ATTRIBUTES[name].fullmatch(value)}
    return not (is_struck or is_unknown or is_active)


def _letters(text: str) -> Counter[str]:
    """How often each letter and digit is there; a bold letter is the letter."""
    return Counter(filter(str.isalnum, unicodedata.normalize("NFKC", text)))
