"""Names as people type them: spellings that look alike, and characters that nobody sees."""

import unicodedata
from collections.abc import Iterable
from itertools import takewhile


def spelling_key(name: str) -> str:
    """Return a name without what readers overlook: case, width, surplus spaces and invisible characters."""
    plain = unicodedata.normalize("NFKC", name)
    return " ".join("".join(character for character in plain if not _is_hidden(character)).casefold().split())


def spellings(names: Iterable[str]) -> list[list[str]]:
    """Return the groups of different names that look alike, each in order of first occurrence."""
    groups: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        groups.setdefault(spelling_key(name), []).append(name)
    return [group for group in groups.values() if len(group) > 1]


def visible(name: str) -> str:
    """Return a quoted name that names its invisible characters and the spaces at its ends by their code points."""
    start = sum(1 for _ in takewhile(_is_unseen, name))
    end = max(len(name) - sum(1 for _ in takewhile(_is_unseen, reversed(name))), start)
    inner = "".join(f"<{_code(one)}>" if _is_hidden(one) or one == "\u00a0" else one for one in name[start:end])
    before = f" preceded by {', '.join(map(_code, name[:start]))}" if start else ""
    after = f" followed by {', '.join(map(_code, name[end:]))}" if end < len(name) else ""
    return f"{inner!r}{before}{after}"


def _is_hidden(character: str) -> bool:
    return unicodedata.category(character) in ("Cf", "Cc") and not character.isspace()


def _is_unseen(character: str) -> bool:
    return character.isspace() or _is_hidden(character)


def _code(character: str) -> str:
    return f"U+{ord(character):04X}"
