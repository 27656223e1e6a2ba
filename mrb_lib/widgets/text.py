"""Text from data made safe to show: escaped, visible where it would be invisible, and kept in its place."""

from __future__ import annotations

import html
import re

_UNSHOWABLE = re.compile("[\0\ud800-\udfff]")
_CONTROL = {code: 0x2400 + code for code in range(1, 32) if chr(code) not in "\t\n\r"} | {0x7F: 0x2421}


def escaped(value: object) -> str:
    """Text as HTML, safe in an element and in a quoted attribute.

    NULs and lone surrogates, which no page can hold, become U+FFFD; other control characters become their pictures.
    """
    return html.escape(_UNSHOWABLE.sub("\ufffd", str(value)).translate(_CONTROL), quote=True)


def isolated(value: object, tag: str = "bdi") -> str:
    """Escaped text in an element of its own, out of which no mark of direction reaches."""
    return f'<{tag} dir="auto">{escaped(value)}</{tag}>'
