"""Roles of keys, headings and labels: a dimension asked, another one, or a verdict."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from mrb_lib.replies.text import word_set
from mrb_lib.tables.schema import DIMENSIONS

Role = Literal["dimension", "other", "final", "verdict", "subject", "none"]

_WORDS: Final = re.compile(r"[^\W_]+")
_CAMEL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
_VERDICT: Final = word_set(
    "winner winners choice verdict preference preferred better best answer judgment judgement decision result "
    "winning selection selected pick label value vote chosen rating ratings score scores level category class grade "
    "ranking rank met satisfied passed pass status conclusion"
)
_FILLERS: Final = _VERDICT | word_set("response assistant the is for on in of dimension criterion final my quality")
_SUBJECTS: Final = word_set("dimension criterion criteria aspect metric name key id number item")
LONGEST_KEY: Final = 80


def loose(name: str) -> str:
    """Return the letters and digits of a name, in one case."""
    return "".join(_WORDS.findall(name)).casefold()


@dataclass(frozen=True)
class DimensionNames:
    """The dimensions asked.

    Attributes
    ----------
    asked : in the order asked, once each
    by_loose : by their letters and digits; None where two differ in case or marks only
    pattern : finds the dimensions asked, and the six of the schema, in prose; None for criteria, which have numbers
    """

    asked: tuple[str, ...]
    by_loose: dict[str, str | None]
    pattern: re.Pattern[str] | None

    def plain(self, key: str) -> str | None:
        """Return the dimension asked that a key names, and nothing else."""
        return key if key in self.asked else self.by_loose.get(loose(key[:LONGEST_KEY]))

    def role(self, key: str) -> tuple[Role, str | None]:
        """Return the role of a key, and the dimension asked where it is about one."""
        if len(key) > LONGEST_KEY:
            return "none", None
        if (name := self.plain(key)) is not None:
            return "dimension", name
        words = [word.casefold() for word in _WORDS.findall(_CAMEL.sub(" ", key))]
        rest = "".join(word for word in words if word not in _FILLERS and not word.isdigit())
        if rest and self.by_loose.get(rest) is not None:
            return "dimension", self.by_loose[rest]
        if rest in _SCHEMA:
            return "other", None
        if words and not rest and not _VERDICT.isdisjoint(words):
            return ("final" if "final" in words else "verdict"), None
        return ("subject" if len(words) == 1 and words[0] in _SUBJECTS else "none"), None

    def named_in(self, text: str) -> list[str | None]:
        """Return the dimensions that a text names, in its order; None for each that was not asked."""
        found = self.pattern.finditer(text) if self.pattern is not None else ()
        return [self.role(match.group())[1] for match in found]

    @property
    def only(self) -> str | None:
        """The one dimension asked, if it is one."""
        return self.asked[0] if len(self.asked) == 1 else None

    @property
    def overall(self) -> str | None:
        """The dimension asked that a final verdict answers."""
        return self.only or self.by_loose.get("overall")


_SCHEMA: Final = frozenset(map(loose, DIMENSIONS))


@lru_cache(maxsize=64)
def names_of(dimensions: tuple[str, ...]) -> DimensionNames:
    """Return the names of the dimensions asked.

    Raises
    ------
    ValueError
        No dimension is asked.
    """
    if not dimensions:
        raise ValueError("no dimension is asked")
    asked = tuple(dict.fromkeys(dimensions))
    by_loose: dict[str, str | None] = {}
    for name in filter(loose, asked):
        by_loose[loose(name)] = None if loose(name) in by_loose else name
    spelt = [r"[\s_-]{0,3}".join(map(re.escape, _WORDS.findall(name))) for name in {*asked, *DIMENSIONS} if loose(name)]
    spelt.sort(key=lambda pattern: (-len(pattern), pattern))
    return DimensionNames(asked, by_loose, re.compile(rf"(?<![^\W_])(?:{'|'.join(spelt)})(?![^\W_])", re.IGNORECASE))
