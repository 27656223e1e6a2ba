"""A reply becomes one ranking of all responses per dimension, or none; see `reading` for the forms."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from mrb_lib.replies.forms import FormReader, Statement, ValueReader, last_verdict
from mrb_lib.replies.names import names_of
from mrb_lib.replies.reading import ReadingStatus, read_reply, status_of_one
from mrb_lib.replies.text import word_set

Places = tuple[int, ...]
"""The place of each response in the order shown, 0 the best; equal ones share the better place."""

_ARROWS: Final = re.compile(
    r"[\u227b\u227f]|\\succ\b|-{1,2}>|=>|&gt;|,? (?:followed by|then|better than|is better than|beats)\b|,\s*then\b"
)
_WORD: Final = r"(?i:responses?|answers?|assistant|model|option|candidate)"
_ONE: Final = rf"(?:{_WORD}[ _#:]{{0,3}})?[\[(\"']{{0,2}}([A-Z])(?![\w'-])[\])\"']{{0,2}}"
_SIGN: Final = r"(>{1,3}|<{1,3}|={1,2}|\u2248|~|,? tied with|, is tied with)"
_CHAIN: Final = re.compile(rf"{_ONE}(?:(?: (?:is|as) the best)?\s{{0,3}}{_SIGN}(?!=)\s{{0,3}}{_ONE})+")
_PLAIN: Final = re.compile(r"[A-Z](?: [>=] [A-Z])*")
_REMARK: Final = re.compile(r" ?\([^()\n]{2,60}\)")
_ORDINALS: Final = {"first": 1, "best": 1, "second": 2, "third": 3, "fourth": 4, "worst": 0, "last": 0}
_RANK: Final = rf"(#?(?:rank |place )?\d{{1,2}}(?:st|nd|rd|th)?|{'|'.join(_ORDINALS)})"
_NUMBERED: Final = re.compile(
    rf"(?i)(?<![\w.]){_RANK}(?: place)?[.):|= \t-]{{1,6}}"
    rf"((?:{_WORD}[ ])?[\[(\"']{{0,2}}(?-i:[A-Z])(?!\w)[\])\"']{{0,2}}(?:(?: ?[,=&] ?| and ){_ONE})*)"
    rf"(?=[ \t]*(?:\Z|[\n:,;.()|-]|\d))"
)
_VALUED: Final = re.compile(
    rf"{_ONE}[ \t]?(?:is |ranks? )?[:=|(-]{{0,2}}[ \t]?(?i:{_RANK})(?![\d./]| ?(?:of|out|points))"
)
_HEADING: Final = re.compile(
    r"(?i)(?:\b(?:rank(?:ing|ed|s)?|order|verdict|best (?:response )?to (?:the )?worst|worst to best)\b"
    r"[^:=\n]{0,50}[:=]|\brank(?:ing)?(?: them| the responses)?(?: as)?(?= ))\s*"
)
_BACKWARDS: Final = re.compile(r"(?i)\bworst\b[^\n]{0,20}\bto\b[^\n]{0,12}\bbest\b|\bworst first\b")
_DENIED: Final = re.compile(r"(?i)\b(?:not|never|cannot|unable|refuse)\b|n't\b|\bor\Z")
_SCORES: Final = re.compile(r"(?i)\b(?:scores?|ratings?|points)\b")
_RANKS: Final = re.compile(r"(?i)\brank|\bbest\b|\border\b|\d(?:st|nd)\b")
_KEYS: Final = word_set("ranking rankings rank ranks order ranked list")
_HEAD_ENDS: Final = re.compile(r"[\"'*_`)\]]{0,3}\s{0,2}(?:ranking\s?)?(?:[:=|][ \t|]*|- |(?=\n)|(?=[A-Z] ?>))")
_LONGEST_NAME: Final = 60
_GROUP: Final = r"(?:[A-Z]|[(\[][A-Z](?:, ?[A-Z])+[)\]])"
_LIST: Final = re.compile(rf"{_GROUP}(?:(?:, ?| = |,? and |; ){_GROUP})+")


@dataclass(frozen=True)
class RankingReading:
    """The rankings in a reply.

    Attributes
    ----------
    places : for every dimension asked the place of each response, in the order shown: 0 the best, and equal ones share
        the better place; None where the reply has no readable ranking
    status : see `Reading`; clean are a list of letters for every dimension, and "B > A = C" for one
    """

    places: Mapping[str, Places | None]
    status: ReadingStatus

    def status_of(self, dimension: str) -> ReadingStatus:
        """Return the status of one dimension: the reading's with a ranking, else `refused` or `unparsed`."""
        return status_of_one(self.places[dimension], self.status)


def parse_rankings(reply: str, dimensions: Sequence[str], n: int, *, is_cut_off: bool = False) -> RankingReading:
    """Read the rankings in a judge's reply.

    Parameters
    ----------
    reply : any text; what the model thought aloud before its answer is left out
    dimensions : the dimensions asked, under any names
    n : the number of responses shown, at most 26
    is_cut_off : see `parse`

    Returns
    -------
    RankingReading
        The last ranking of a dimension counts. A ranking without a dimension answers the one dimension asked; where
        several were asked, it answers none.
    """
    forms = _RankForms(names_of(tuple(dimensions)), _RankReader(n))
    reading = read_reply(reply, forms, last_verdict, is_cut_off=is_cut_off)
    places = {name: None if chain is None else _places(chain) for name, chain in reading.choices.items()}
    return RankingReading(places, reading.status)


def _places(chain: str) -> Places:
    """Return the places of the responses in a chain; equal ones share the better place."""
    groups = [group.split(" = ") for group in chain.split(" > ")]
    place = {letter: sum(map(len, groups[:i])) for i, group in enumerate(groups) for letter in group}
    return tuple(place[letter] for letter in sorted(place))


def _number(value: object) -> int:
    """Return the number of the response that a text names; -1 where it names none."""
    is_short = isinstance(value, str) and len(value) < _LONGEST_NAME
    found = re.fullmatch(rf"\W*(?:{_WORD}[ _#:]{{0,3}})?\W*([A-Za-z])\W*", str(value)) if is_short else None
    return ord(found[1].upper()) - 65 if found else -1


def _rank(value: object) -> int | None:
    """Return the rank that a text or a number is, 0 for the last; None where it is none."""
    if not isinstance(value, str | int) or re.fullmatch(rf"(?i)\s*{_RANK}\s*", str(value)) is None:
        return None
    number = re.search(r"\d+", str(value))
    return int(number[0]) if number else _ORDINALS[str(value).strip().lower()]


class _RankReader(ValueReader):
    """Reads rankings of `n` responses as chains: "B > A = C"; see `mrb_lib.replies.forms.ValueReader`."""

    def __init__(self, n: int) -> None:
        self.n = n

    def exact(self, value: object) -> str | None:
        """Return the ranking of a chain, or of a list of letters from best to worst."""
        if isinstance(value, str):
            return self.value(value) if _PLAIN.fullmatch(value) else None
        return self.nested(value) if isinstance(value, list) else None

    def value(self, text: str) -> str | None:
        """Return the last ranking that a text is or states; None where something else is called a ranking."""
        return self.last(text, headed=True)

    def nested(self, value: object) -> str | None:
        """Return the ranking of a list from best to worst, or of an object of letters and places."""
        if isinstance(value, tuple):
            inner = [stated for key, stated in value if key.casefold() in _KEYS]
            if len(inner) == 1:
                return self.value(inner[0]) if isinstance(inner[0], str) else self.nested(inner[0])
            ranked = [(_rank(key), stated if isinstance(stated, list) else [stated]) for key, stated in value]
            pairs = [(rank, _number(one)) for rank, each in ranked if rank is not None for one in each]
            places = [(rank, _number(key)) for key, stated in value if (rank := _rank(stated)) is not None]
            return self.by_rank(pairs or places)
        if not isinstance(value, list):
            return None
        if not value or not all(isinstance(one, tuple) for one in value):
            groups = [each if isinstance(each, list) else [each] for each in value]
            return self.chain([[_number(one) for one in group] for group in groups])
        letters = [next((_number(one) for _, one in entry if _number(one) >= 0), -1) for entry in value]
        ranks = [next((_rank(one) for key, one in entry if key.casefold() in _KEYS), None) for entry in value]
        if None in ranks:
            return self.chain([[one] for one in letters])
        return self.by_rank(list(zip(ranks, letters, strict=True)))

    def chain(self, groups: Sequence[Sequence[int]]) -> str | None:
        """Return groups of equals, from best to worst, as a chain; None unless each response is named exactly once."""
        if sorted(number for group in groups for number in group) != list(range(self.n)):
            return None
        return " > ".join(" = ".join(chr(65 + number) for number in sorted(group)) for group in groups)

    def by_rank(self, pairs: Sequence[tuple[int | None, int]]) -> str | None:
        """Return the chain of pairs of rank and response; equals share a rank (1, 2, 2, 3 or 1, 2, 2, 4)."""
        ranked = [(rank or self.n, number) for rank, number in pairs]
        ranks = sorted(rank for rank, _ in ranked)
        steps = all(after in (before, before + 1, i + 2) for i, (before, after) in enumerate(pairwise(ranks)))
        if ranks[:1] != [1] or not steps:
            return None
        return self.chain([[number for rank, number in ranked if rank == one] for one in sorted(set(ranks))])

    def last(self, text: str, *, headed: bool) -> str | None:
        """Return the ranking that stands last in a text, `headed` where its first line follows a heading or a key."""
        return max(self._stated(text, headed=headed), key=lambda one: one[0], default=(0, None))[1]

    def _stated(self, text: str, *, headed: bool) -> Iterator[tuple[int, str | None]]:
        """Yield all that a text writes as a ranking, with where it ends; None where it is called one and is none."""
        text = _ARROWS.sub(">", text)
        backwards = _BACKWARDS.search(text) is not None
        yield from self._chains(_REMARK.sub("", text), backwards=backwards)
        at = 0
        for i, line in enumerate(text.split("\n")):
            heading = _HEADING.search(line)
            body = (line[heading.end() :] if heading else line).split(". ")[0].strip(' \t.,;|"{}')
            groups = self._listed(body) if heading or (headed and i == 0) or self.n > 2 else None
            at += len(line) + 1
            if groups is not None and "|" not in body and not (heading and _DENIED.search(line[: heading.start()])):
                yield at, self.chain(groups[::-1] if backwards else groups)
        numbered = [] if backwards else list(_NUMBERED.finditer(text))
        letters = re.compile(r"(?<![A-Za-z])[A-Z](?![A-Za-z])")
        pairs = [(_rank(m[1]), _number(one)) for m in numbered for one in letters.findall(m[2])]
        chain = self.by_rank(pairs) if len({rank for rank, _ in pairs}) > 1 else None
        if chain is not None and (chain != " > ".join(sorted(chain[::4])) or _RANKS.search(text)):
            yield numbered[-1].end(), chain
        valued = [] if _SCORES.search(text) else list(_VALUED.finditer(text))
        chain = self.by_rank([(_rank(m[2]), _number(m[1])) for m in valued])
        if chain is not None:
            yield valued[-1].end(), chain

    def _chains(self, text: str, *, backwards: bool) -> Iterator[tuple[int, str | None]]:
        """Yield the chains of a text: "B > A = C", "C < A, tied with B"."""
        for found in _CHAIN.finditer(text):
            letters = [_number(one) for one in re.findall(_ONE, found.group())]
            signs = re.findall(_SIGN, found.group())
            groups: list[list[int]] = [letters[:1]]
            for sign, letter in zip(signs, letters[1:], strict=False):
                groups[-1:] = [groups[-1], [letter]] if sign[0] in "<>" else [[*groups[-1], letter]]
            directions = {sign[0] for sign in signs} & {"<", ">"}
            before = text[text.rfind("\n", 0, found.start()) + 1 : found.start()].strip()
            unsure = _DENIED.search(before[-_LONGEST_NAME:]) or re.match(r"\s*(?:\bor\b|[><=?])", text[found.end() :])
            is_wrong = len(directions) > 1 or unsure or (backwards and signs[0][0] == ">")
            chain = None if is_wrong else self.chain(groups[::-1] if "<" in directions else groups)
            if chain is not None or unsure or not before or before[-1] in ":|":
                yield found.end(), chain

    def _listed(self, text: str) -> list[list[int]] | None:
        """Return the groups of a text that is a list of letters and nothing else, equal ones in brackets."""
        text = re.sub(rf"{_WORD} ", "", text).strip()
        if text.startswith("[") and text.count("[") > text.count("]"):
            text += "]"
        if self.n > 1 and re.fullmatch(rf"[A-Z]{{{self.n}}}", text):
            return [[_number(letter)] for letter in text]
        text = re.sub(r"[\"']|[(\[]([A-Z])[)\]]", r"\1", text)
        text = text[1:-1] if re.fullmatch(r"\[(?:[^\[\]]|\[[^\[\]]*\])*\]", text) else text
        if _LIST.fullmatch(text) is None:
            return None
        groups = re.findall(r"[(\[][^)\]]+[)\]]|[A-Z](?: = [A-Z])*", text)
        return [[_number(one) for one in re.findall("[A-Z]", group)] for group in groups]


class _RankForms(FormReader):
    """Reads rankings, which may take several lines, under the headings of a text."""

    reader: _RankReader

    def _add_lines(self, text: str, out: list[Statement]) -> None:
        """Add the rankings in a text that is no JSON: under a heading, in a row, or of the only dimension."""
        text = re.sub(r"[*`]+|^[ \t]*#+[ \t]+|(?<=\[\[[A-Z])\]\]|\[\[(?=[A-Z]\]\])", "", text, flags=re.MULTILINE)
        header = next((cells for line in text.split("\n") if (cells := self._header(line))), [])
        names = self.names.pattern.finditer(text) if self.names.pattern is not None else ()
        heads = [(name, end) for name in names if (end := _HEAD_ENDS.match(text, name.end())) is not None]
        starts = [name.start() for name, _ in heads]
        sections = [(self.names.only, text[: starts[0]] if starts else text, False)]
        for (head, separator), stop in zip(heads, [*starts[1:], len(text)], strict=False):
            sections.append((self.names.role(head.group())[1], text[separator.end() : stop], True))
        if ranks := re.search(r"(?im)^\W{0,9}rank(?:ing)?\s*\|(.*)$", text):
            sections.append((self.names.only, ranks[1], True))
        for name, section, headed in sections:
            row = self._of_row(section.split("\n")[0], header) if headed else None
            chain = row or self.reader.last(section, headed=headed)
            if name is not None:
                out.append(Statement({name: chain}))

    def _header(self, line: str) -> list[str]:
        """Return the last cells of a row that name each response once, or the ranks from 1; empty for other rows."""
        cells = _cells(line)[-self.reader.n :]
        letters, ranks = sorted(map(_number, cells)), list(map(_rank, cells))
        n = self.reader.n
        return cells if letters == list(range(n)) or ranks == list(range(1, n + 1)) else []

    def _of_row(self, row: str, header: Sequence[str]) -> str | None:
        """Return the ranking of a row: ranks under responses, or responses under ranks."""
        cells = _cells(row)
        for ranks, letters in ((cells, header), (header, cells)):
            pairs = [(rank, _number(one)) for one, each in zip(letters, ranks, strict=False) if (rank := _rank(each))]
            if len(pairs) == len(cells) == len(header):
                return self.reader.by_rank(pairs)
        return None


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip(" |").split("|")] if "|" in line else []
