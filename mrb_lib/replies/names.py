"""The names of dimensions, as asked and as judges write them, and what a key of an object is about."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from mrb_lib.tables.schema import DIMENSIONS

OVERALL = "overall"
Role = Literal["dimension", "other", "final", "verdict", "subject", "wrapper", "none"]

_WORDS = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


def word_set(text: str) -> frozenset[str]:
    """The words of a list written as text."""
    return frozenset(text.split())


_VERDICT = word_set(
    "winner winners choice verdict preference preferred better best answer judgment judgement decision result "
    "selection selected pick label value winning vote chosen"
)
_FILLERS = _VERDICT | word_set("response assistant the is for on in of dimension criterion final my quality")
_SUBJECTS = word_set("dimension criterion criteria aspect metric category name key")
_WRAPPERS = word_set(
    "evaluation evaluations output comparison assessment judgments judgements verdicts results choices answers data "
    "final response json"
)
_ADJECTIVES = {
    "accurate": "accuracy",
    "relevant": "relevance",
    "comprehensive": "comprehensiveness",
    "creative": "creativity",
    "responsive": "responsiveness",
}
_LONGEST_KEY = 120


def loose(name: str) -> str:
    """The letters and digits of a name, in one case: spaces, `_` and `-` do not matter."""
    return "".join(_WORDS.findall(name)).casefold()


@dataclass(frozen=True)
class DimensionNames:
    """The dimensions asked, and how to find them.

    Attributes
    ----------
    asked : the names, in the order asked, each once
    by_loose : the name of each loose form; two asked names of one form have none
    pattern : finds a dimension in prose, asked or one of the six of the schema; None where there is none to find
    """

    asked: tuple[str, ...]
    by_loose: dict[str, str | None]
    pattern: re.Pattern[str] | None

    def plain(self, key: str) -> str | None:
        """The asked dimension that a key names, and nothing else."""
        return key if key in self.asked else self.by_loose.get(loose(key[:_LONGEST_KEY]))

    def role(self, key: str) -> tuple[Role, str | None]:
        """What a key is about, and the dimension where it is about one."""
        if len(key) > _LONGEST_KEY:
            return "none", None
        name = self.plain(key)
        if name is not None:
            return "dimension", name
        words = [word.casefold() for word in _WORDS.findall(_CAMEL.sub(" ", key))]
        rest = "".join(word for word in words if word not in _FILLERS and not word.isdigit())
        if rest and self.by_loose.get(rest) is not None:
            return "dimension", self.by_loose[rest]
        if rest and rest in _OTHERS:
            return "other", None
        if words and not rest and not _VERDICT.isdisjoint(words):
            return ("final" if "final" in words else "verdict"), None
        if len(words) == 1 and words[0] in _SUBJECTS:
            return "subject", None
        return ("wrapper" if words and _WRAPPERS.issuperset(words) else "none"), None

    def marker(self, name: str) -> str:
        """`#` and the position of the dimension asked, or `#x` for one that was not."""
        dimension = self.by_loose.get(loose(name))
        return "#x" if dimension is None else f"#{self.asked.index(dimension)}"

    def adjective(self, word: str) -> str:
        """The marker of the dimension an adjective belongs to: `accurate` to accuracy."""
        return self.marker(_ADJECTIVES[word.lower()])

    @property
    def overall(self) -> str | None:
        """The asked dimension that a final verdict answers."""
        if len(self.asked) == 1:
            return self.asked[0]
        return self.by_loose.get(OVERALL)

    @property
    def only(self) -> str | None:
        """The one dimension asked, if it is one."""
        return self.asked[0] if len(self.asked) == 1 else None


_OTHERS = frozenset(loose(name) for name in DIMENSIONS)
ADJECTIVE = "|".join(_ADJECTIVES)


@lru_cache(maxsize=64)
def names_of(dimensions: tuple[str, ...]) -> DimensionNames:
    """The names of the dimensions asked."""
    asked = tuple(dict.fromkeys(dimensions))
    by_loose: dict[str, str | None] = {}
    for name in asked:
        key = loose(name)
        if key:
            by_loose[key] = None if key in by_loose else name
    spellings = {key: _WORDS.findall(name) for name in (*asked, *DIMENSIONS) if (key := loose(name))}
    patterns = [
        r"[\s_-]{0,3}".join(re.escape(word) for word in spelling)
        for spelling in sorted(spellings.values(), key=lambda spelling: -sum(map(len, spelling)))
    ]
    pattern = re.compile(rf"(?<![^\W_])(?:{'|'.join(patterns)})(?![^\W_])", re.IGNORECASE) if patterns else None
    return DimensionNames(asked, by_loose, pattern)
