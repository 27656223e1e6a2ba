"""Rankings written as text: `B > A = C`, lists after a heading, numbered lines, tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from mrb_lib.replies.names import DimensionNames

Places = tuple[int, ...]
"""The place of each response in the order shown, 0 the best; equal ones share the better place."""

_WORD = r"(?i:responses?|answers?|assistant|model|option|candidate|output)"
_LETTER = r"[A-Z](?![\w'\u2019-])"
_LABEL = (
    rf"(?<![\w'\u2019-])(?:{_WORD}[ _]{{0,2}}[#:]?[ ]{{0,2}}(?:[\[(\"']{{0,2}})(?i:{_LETTER})"
    rf"|[\[(\"']{{0,2}}{_LETTER})[\])\"']{{0,2}}"
)
_NOTE = r"(?:[ ]?\([^()\n]{2,80}\))?"
_ITEM = re.compile(rf"(?P<item>{_LABEL}){_NOTE}")
_STEP = re.compile(
    r"(?:\s{1,2}(?:is|as)(?: the)? best)?(?:\s{0,3}(?P<sign>>{1,3}|<{1,3}|={1,2}|\u2248|~)(?!\s?=)\s{0,3}"
    r"|,?\s{1,2}(?P<tie>(?:is )?(?:tied with|equal to|as good as))\s{1,2}"
    r"|,?\s{1,2}(?:and )?(?:is )?(?:better than|beats|followed by|then(?: by)?|ahead of)\s{1,2})"
)
_LETTER_IN = re.compile(r"([A-Za-z])[\])\"']{0,2}$")
_ALONE = re.compile(rf"\s*(?:{_WORD}[ _]{{0,2}}[#:]?[ ]{{0,2}}(?i:[A-Z])|[A-Z])\s*")
_TOKEN = re.compile(
    rf"\s*(?:(?P<open>[\[(])|(?P<close>[\])])|(?P<label>[\"']?(?:{_WORD}[ _]{{0,2}}(?i:{_LETTER})|{_LETTER})[\"']?)"
    r"|(?P<equal>=)|(?P<part>[,;|]|and\b|then\b|&))"
)
_ORDINALS: Final = {"first": 1, "best": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6}
_LASTS: Final = frozenset(("worst", "last"))
_PLACE = (
    rf"(?:(?:(?:rank|place|position|no\.?)[ ]{{0,2}})?#?(?P<n>\d{{1,2}})(?:st|nd|rd|th)?"
    rf"|(?P<w>{'|'.join((*_ORDINALS, *_LASTS))}))"
)
_FOLLOWS = r"(?=[ \t]*(?:\Z|[\n:,;.()|=-]|\d|and\b|&))"
_ONE = (
    rf"(?:{_WORD}[ _]{{0,2}}[#:]?[ ]{{0,2}}[\[(\"']{{0,2}}(?i:{_LETTER})[\])\"']{{0,2}}"
    rf"|[\[(\"']{{0,2}}(?-i:{_LETTER})[\])\"']{{0,2}}{_FOLLOWS})"
)
_NUMBERED = re.compile(
    rf"(?<![\w.]){_PLACE}(?: place| rank| best)?[.):|= \t-]{{1,6}}"
    rf"(?P<items>{_ONE}(?:[ ]{{0,2}}(?:,|=|&|/|and)[ ]{{0,2}}{_ONE})*)",
    re.IGNORECASE,
)
_VALUED = re.compile(
    rf"(?P<item>{_LABEL})[ \t]{{0,2}}(?:is |ranks? |comes )?[:=|(-]{{0,2}}[ \t]{{0,2}}"
    rf"(?i:{_PLACE})(?![\d./]|[ ]?(?i:of|out|points))"
)
_OR = re.compile(r"[\s,]*\bor\b\s*")
_SCORES = re.compile(r"\b(?:scores?|ratings?|points)\b", re.IGNORECASE)
_CUE = re.compile(r"\b(?:rank\w*|best|worst|order|place|\d(?:st|nd|rd|th))\b", re.IGNORECASE)
_HEADING = re.compile(
    r"(?:\b(?:rank(?:ing|ed|s)?|order|verdict|answer|result|best (?:response )?to (?:the )?worst"
    r"|worst (?:response )?to (?:the )?best)\b"
    r"[^:=\n]{0,60}[:=]"
    r"|\brank(?:ing)?(?: order)?(?: is| them| the responses)(?: as)?(?= ))[ \t]{0,3}",
    re.IGNORECASE,
)
_BACKWARDS = re.compile(r"\bworst\b[^\n]{0,20}\bto\b[^\n]{0,12}\bbest\b|\bworst first\b|\bascending\b", re.IGNORECASE)
_EMPHASIS = re.compile(
    r"[*`]+|(?<!\w)_+|_+(?!\w)|^[ \t]*(?:#+|[-\u2022])[ \t]+|\[\[(?=[A-Z]\]\])|(?<=\[\[[A-Z])\]\]", re.M
)
_BRACKETED = re.compile(r"\[\[([A-Z])\]\]")
_NAMED = r"[\"'*_`)\]]{0,3}[ \t]{0,2}(?:(?i:ranking|rank|order)[ \t]{0,2})?(?:[:=|][ \t|]*|-[ \t]+|(?=\n)|(?=[A-Z] ?>))"
_AFTER_NAME = re.compile(_NAMED)
_RANK_ROW = re.compile(r"^[ \t]*\|?[ \t]*(?:rank|ranking|place|position)[ \t]*\|", re.IGNORECASE | re.M)


class _Read(NamedTuple):
    """A ranking that was read and where it ends; None where something is called a ranking and is none."""

    end: int
    places: Places | None


def label_of(value: object, n: int) -> int:
    """The number of the response that a text names; -1 where it names none that was shown."""
    text = value.strip(" \"'[]()*.") if isinstance(value, str) else ""
    if not _ALONE.fullmatch(text):
        return -1
    number = ord(text[-1].upper()) - ord("A")
    return number if 0 <= number < n else -1


def number_of(value: object) -> int | None:
    """The place that a number or a text as `2`, `2nd` or `rank 2` states; None where it states none."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    found = (
        re.fullmatch(r"\s*(?:rank|place)?\s*#?(\d{1,2})(?:st|nd|rd|th)?\s*", value, re.I)
        if isinstance(value, str)
        else None
    )
    return int(found[1]) if found else None


def places_of(groups: Sequence[Sequence[int]], n: int) -> Places | None:
    """The places of responses in groups of equals, from best to worst; None unless each is named exactly once."""
    named = [number for group in groups for number in group]
    if sorted(named) != list(range(n)):
        return None
    place = {number: sum(map(len, groups[:i])) for i, group in enumerate(groups) for number in group}
    return tuple(place[number] for number in range(n))


def places_by_rank(pairs: Sequence[tuple[int, int]], n: int) -> Places | None:
    """The same from pairs of rank and response, 1 the best, where equals share a rank (1, 2, 2, 3 or 1, 2, 2, 4)."""
    ranks = sorted(rank for rank, _ in pairs)
    if not ranks or ranks[0] != 1:
        return None
    if any(after not in (before, before + 1, i + 2) for i, (before, after) in enumerate(pairwise(ranks))):
        return None
    return places_of([[number for rank, number in pairs if rank == one] for one in sorted(set(ranks))], n)


def read_value(text: str, n: int) -> Places | None:
    """The ranking that a text of one dimension states."""
    return _last(_statements(_plain(text), n, headed=True))


def read_prose(text: str, names: DimensionNames, n: int) -> dict[str, Places | None]:
    """The rankings in a text that is no JSON, by dimension."""
    text = _plain(text)
    header = _header(text, n)
    found: dict[str, Places | None] = {}
    for name, section, headed in _sections(text, names):
        by_column = _by_column(section, header, n) if headed else None
        if by_column is not None:
            found[name] = by_column
            continue
        read = list(_statements(section, n, headed=headed))
        if read:
            found[name] = _last(read)
    if not found and names.only is not None and header is not None:
        row = _RANK_ROW.search(text)
        found = {} if row is None else {names.only: _by_column(text[row.end() :], header, n)}
    return found


def _last(statements: Iterable[_Read]) -> Places | None:
    """What is stated last."""
    last = max(statements, key=lambda each: each.end, default=None)
    return None if last is None else last.places


def _plain(text: str) -> str:
    return _EMPHASIS.sub("", _BRACKETED.sub(r"\1", text))


def _sections(text: str, names: DimensionNames) -> Iterator[tuple[str, str, bool]]:
    """What stands after the heading of each dimension asked; where one was asked, what has no heading, too."""
    heads = []
    for name in names.pattern.finditer(text) if names.pattern else ():
        after = _AFTER_NAME.match(text, name.end())
        if after is not None:
            heads.append((name.start(), after.end(), names.by_loose.get(_loose(name.group()))))
    ends = [*(start for start, _, _ in heads[1:]), len(text)]
    if names.only is not None:
        yield names.only, text[: heads[0][0]] if heads else text, False
    for (_, start, asked), end in zip(heads, ends, strict=False):
        if asked is not None:
            yield asked, text[start:end], True


def _loose(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).casefold()


def _statements(text: str, n: int, *, headed: bool) -> Iterator[_Read]:
    """All that a text calls a ranking or that is written as one."""
    backwards = _BACKWARDS.search(text) is not None
    yield from _chains(text, n, headed=headed, backwards=backwards)
    yield from _lists(text, n, headed=headed, backwards=backwards)
    if not backwards:
        yield from _numbered(text, n)


def _chains(text: str, n: int, *, headed: bool, backwards: bool) -> Iterator[_Read]:
    """`B > A = C`, and the same in words."""
    position, end_of_last = 0, 0
    while (item := _ITEM.search(text, position)) is not None:
        start, position = item.start(), item.end()
        numbers, signs = [_number(item["item"], n)], list[str]()
        while (step := _STEP.match(text, position)) is not None:
            following = _ITEM.match(text, step.end())
            if following is None:
                break
            signs.append("=" if step["tie"] or (step["sign"] or ">")[0] in "=~\u2248" else (step["sign"] or ">")[0])
            numbers.append(_number(following["item"], n))
            position = following.end()
        if not signs:
            continue
        groups = [[numbers[0]]]
        for sign, number in zip(signs, numbers[1:], strict=True):
            groups[-1:] = [[*groups[-1], number]] if sign == "=" else [groups[-1], [number]]
        places = places_of(groups[::-1] if "<" in signs else groups, n)
        is_doubtful = _OR.fullmatch(text[end_of_last:start][:40]) is not None
        end_of_last = position
        is_mixed = {"<", ">"} <= set(signs) or _STEP.match(text, position) is not None
        if places is not None and not (is_mixed or is_doubtful or backwards):
            yield _Read(position, places)
        elif is_doubtful or _is_headed(text, start, headed=headed):
            yield _Read(position, None)


def _is_headed(text: str, start: int, *, headed: bool) -> bool:
    """Whether what starts here stands alone on its line, or after a heading."""
    before = text[max(text.rfind("\n", 0, start) + 1, start - 200) : start].strip()
    return (headed and start < 200 and not text[:start].strip()) or not before or before[-1] in ":|"


def _number(label: str, n: int) -> int:
    found = _LETTER_IN.search(label)
    number = ord(found[1].upper()) - ord("A") if found else -1
    return number if number < n else -1


def _lists(text: str, n: int, *, headed: bool, backwards: bool) -> Iterator[_Read]:
    """`B, A, C` on a line by itself, or after a heading."""
    start = 0
    for i, line in enumerate(text.split("\n")):
        heading = _HEADING.search(line)
        under_name = headed and i == 0
        if len(line) <= 400 and (heading or under_name or "|" not in line):
            stated = line[heading.end() :] if heading else line
            groups = _listed(stated.split(". ")[0], n, solid=heading is not None or under_name or n > 2)
            if groups is not None:
                yield _Read(start + len(line), places_of(groups[::-1] if backwards else groups, n))
        start += len(line) + 1


def _listed(text: str, n: int, *, solid: bool) -> list[list[int]] | None:
    """The groups of a text that is a list of letters and nothing else; None where it is none."""
    text = text.strip(' \t.,;|{}"')
    if text[:1] == "[" and "]" not in text:  # the end was cut off
        text = text[1:]
    if solid and len(text) == n and re.fullmatch(r"[A-Z]+", text) and n > 1:
        return [[_number(letter, n)] for letter in text]
    groups, depth, joins, position, n_items = list[list[int]](), 0, False, 0, 0
    while text and text[0] in "[(" and text[-1] in "])" and _closes_last(text):
        text = text[1:-1].strip()
    while position < len(text):
        token = _TOKEN.match(text, position)
        if token is None:
            return None if text[position:].strip() else groups
        position = token.end()
        if token["open"]:
            depth += 1
            joins = False
            groups.append([])
        elif token["close"]:
            depth -= 1
            joins = False
        elif token["equal"]:
            joins = True
        elif token["label"]:
            n_items += 1
            number = _number(token["label"], n)
            if groups and (joins or depth > 0):
                groups[-1].append(number)
            else:
                groups.append([number])
            joins = False
    return groups if n_items > 1 and depth == 0 else None


def _closes_last(text: str) -> bool:
    """Whether the bracket that opens a text is closed by its last sign."""
    depth = 0
    for i, sign in enumerate(text):
        depth += (sign in "[(") - (sign in "])")
        if depth == 0:
            return i == len(text) - 1
    return False


def _numbered(text: str, n: int) -> Iterator[_Read]:
    """`1. B`, `1st: B`, `| 1 | B |`, and `B: 1`, `| B | 1 |`."""
    found = list(_NUMBERED.finditer(text))
    pairs = [(_rank(each, n), _number(one, n)) for each in found for one in _labels(each["items"])]
    ranks = [rank for rank, _ in pairs]
    places = places_by_rank(pairs, n) if len(set(ranks)) > 1 and ranks == sorted(ranks) else None
    if places is not None and (places != tuple(range(n)) or _CUE.search(text)):
        yield _Read(found[-1].end(), places)
    if _SCORES.search(text):
        return
    valued = list(_VALUED.finditer(text))
    places = places_by_rank([(_rank(each, n), _number(each["item"], n)) for each in valued], n)
    if places is not None:
        yield _Read(valued[-1].end(), places)


def _labels(items: str) -> list[str]:
    return [each.strip() for each in re.split(r",|=|&|/|\band\b", items) if each.strip()]


def _rank(found: re.Match[str], n: int) -> int:
    if found["n"]:
        return int(found["n"])
    word = found["w"].casefold()
    return n if word in _LASTS else _ORDINALS[word]


def _header(text: str, n: int) -> list[int] | None:
    """The responses that the columns of a table are about, by the first row whose last cells name each once."""
    for line in text.split("\n"):
        if line.count("|") < n or len(line) > 600:
            continue
        cells = [cell.strip() for cell in line.strip(" \t|").split("|")][-n:]
        numbers = [label_of(cell, n) for cell in cells]
        if sorted(numbers) == list(range(n)):
            return numbers
    return None


def _by_column(section: str, header: Sequence[int] | None, n: int) -> Places | None:
    """The ranking of a row of a table whose cells are ranks."""
    row = section.split("\n")[0][:600]
    ranks = [number_of(cell.strip()) for cell in row.strip(" \t|").split("|")]
    if header is None or len(ranks) != n or None in ranks:
        return None
    return places_by_rank([(rank or 0, number) for rank, number in zip(ranks, header, strict=True)], n)
