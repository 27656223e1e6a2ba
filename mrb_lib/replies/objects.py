"""JSON in a reply, and what resembles it: single quotes, missing quotes, comments, commas, an end cut off.

One pass over the text without recursion or backtracking, so that no nesting and no
number of stray brackets or quotation marks makes it slow.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from mrb_lib.replies.canonical import canonical
from mrb_lib.replies.names import DimensionNames
from mrb_lib.replies.phrases import exact_choice, value_choice
from mrb_lib.replies.statements import Statement

_CLOSERS = {
    '"': '"',
    "'": "'",
    "`": "`",
    "\u201c": '\u201d\u201c"',
    "\u201d": '\u201d"',
    "\u201e": '\u201c\u201d"',
    "\u00ab": "\u00bb",
    "\u2018": "\u2019'",
    "\uff02": "\uff02",
    "\u300c": "\u300d",
    "\uff07": "\uff07",
    "\u300e": "\u300f",
}
_BEGINS = re.compile(
    r"\{\s{0,200}(?:[\"'`\u201c\u201d\u201e\u00ab\u2018\uff02\uff07\u300c\u300e{}]|//|/\*|#|[A-Za-z][\w -]{0,60}[:=])"
    r"|\[\s{0,200}\{"
)
_SPACE = re.compile(r"[\s;]+")
_COMMENT = re.compile(r"//[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/)?|#[^\n]*")
_BARE = re.compile(r"(?:[^,:={}\[\]\n\"/#]|/(?![/*]))+")
# What may follow a closing quotation mark; after a comma only the next entry may.
_QUOTE = r"[\"'`\u201c\u201e\u00ab\u2018\uff02\uff07\u300c\u300e]"
_NEXT = rf"(?:{_QUOTE}|[{{\[}}\]\d-]|//|/\*|#|\Z|null\b|true\b|false\b|\.{{2,3}}|[A-Za-z_][\w ]{{0,40}}[:=])"
_ENDS = re.compile(rf"\s*+(?:[:=}}\])]|//|/\*|#|```|\Z|,\s*+{_NEXT})|[^\S\n]*+\n\s*+{_QUOTE}")
_LONGEST_KEY = 40
_SHORT = frozenset(("a", "b", "tie", "both", "neither", "equal", "draw", "same"))


@dataclass(frozen=True)
class Span:
    """Where an object stands in the text, and what it states."""

    start: int
    end: int
    statements: Sequence[Statement]


@dataclass
class _Open:
    """An object or list that is being read."""

    sign: str
    key: str | None = None
    waiting: bool = False
    last: int = 0
    direct: dict[str, str | None] = field(default_factory=dict)
    verdicts: list[str | None] = field(default_factory=list)
    finals: list[str | None] = field(default_factory=list)
    subject: str | None = None
    items: list[str] = field(default_factory=list)
    inner: list[tuple[int, dict[str, str | None]]] = field(default_factory=list)
    pairs: int = 0


# After a value: another that could stand in its place, so that neither is stated.
_ALTERNATIVE = re.compile(r"\s{0,3}(?:\||/|or\b)\s{0,3}[\"'A-Za-z]")


@dataclass(frozen=True)
class _Closed:
    """What a container passes on to the one around it."""

    choices: dict[str, str | None]
    last: int
    verdict: str | None
    final: str | None


def read_objects(text: str, names: DimensionNames, value_of: Callable[[str], str | None] | None = None) -> list[Span]:
    """The objects of the text, in its order, with their statements.

    `value_of` reads a value; without it a value is A, B or tie. A stretch that opens like an
    object but states nothing and pairs nothing is not returned: it is prose.
    """
    reader = _ObjectReader(text, names, value_of)
    spans: list[Span] = []
    position = 0
    while (begin := _BEGINS.search(text, position)) is not None:
        position, statements, pairs = reader.read(begin.start())
        if statements or pairs:
            spans.append(Span(begin.start(), position, statements))
    return spans


class _ObjectReader:
    """Reads one container of the outermost level at a time."""

    def __init__(self, text: str, names: DimensionNames, value_of: Callable[[str], str | None] | None) -> None:
        self._text = text
        self._names = names
        self._value_of = value_of or (lambda value: value_choice(canonical(value, names)))
        self._last_end: dict[str, int] = {}
        self._last_close: dict[str, int] = {}

    def read(self, position: int) -> tuple[int, list[Statement], int]:
        """Read from an opening sign on: where it ends, its statements, and how many pairs it has."""
        text = self._text
        stack: list[_Open] = []
        out: list[tuple[int, dict[str, str | None]]] = []
        pairs = 0
        closed: _Closed | None = None
        while position < len(text):
            char = text[position]
            if char in "{[":
                stack.append(_Open(char))
                position += 1
            elif char in "}]":
                position += 1
                while stack:
                    frame = stack.pop()
                    pairs += frame.pairs
                    closed = self._close(frame, stack, out)
                    if (frame.sign == "{") == (char == "}") or not stack:
                        break
                if not stack:
                    break
            else:
                position = self._within(stack[-1], char, position)
        while stack:
            frame = stack.pop()
            pairs += frame.pairs
            closed = self._close(frame, stack, out)
        if closed is not None:
            out += self._outermost(closed)
        return position, [Statement(choices, firm=True) for _, choices in sorted(out, key=lambda o: o[0])], pairs

    def _within(self, frame: _Open, char: str, position: int) -> int:
        """Read one sign, space, comment or scalar inside a container; returns where to go on."""
        text = self._text
        space = _SPACE.match(text, position)
        if space is not None:
            return space.end()
        if char == ",":
            self._lack(frame)
            return position + 1
        if char in ":=":
            frame.waiting = frame.key is not None
            return position + 1
        comment = _COMMENT.match(text, position)
        if comment is not None:
            return comment.end()
        if char in _CLOSERS:
            return self._quoted(frame, char, position)
        bare = _BARE.match(text, position)
        if bare is None:
            return position + 1
        self._scalar(frame, bare.group().strip(), bare.end())
        return bare.end()

    def _quoted(self, frame: _Open, quote: str, position: int) -> int:
        """Read a quoted scalar; one that the end of the text cuts off is none."""
        is_key = frame.sign == "{" and not frame.waiting
        end = self._end_of_quoted(quote, position + 1, is_key)
        if end is None:
            return position + 1 if is_key else len(self._text)
        self._scalar(frame, self._text[position + 1 : end], end + 1)
        return end + 1

    def _end_of_quoted(self, quote: str, start: int, is_key: bool) -> int | None:
        """Where a quoted text closes: at a mark that a sign of the notation follows, not inside a quotation."""
        text, closers = self._text, _CLOSERS[quote]
        if quote not in self._last_close:
            self._last_close[quote] = max(text.rfind(closer) for closer in closers)
            ends = (i for i in range(self._last_close[quote], -1, -1) if text[i] in closers and text[i - 1 : i] != "\\")
            self._last_end[quote] = next((i for i in ends if _ENDS.match(text, i + 1)), -1)
        if self._last_close[quote] < start:
            return None
        strict = not is_key and start <= self._last_end[quote]
        position = start
        while position < len(text):
            if text[position] == "\\":
                position += 2
                continue
            if text[position] in closers and (not strict or self._closes(start, position)):
                return position
            position += 1
        return None

    def _closes(self, start: int, position: int) -> bool:
        return _ENDS.match(self._text, position + 1) is not None or (
            position - start <= 20 and self._text[start:position].strip().lower() in _SHORT
        )

    def _scalar(self, frame: _Open, value: str, end: int) -> None:
        if frame.sign == "[":
            frame.items.append(value)
        elif not frame.waiting:
            frame.key = value
        else:
            self._pair(frame, value, end)

    def _lack(self, frame: _Open) -> None:
        """A comma: a key that still waits for its value has none."""
        if frame.waiting and frame.key is not None:
            self._pair(frame, "", 0)
        frame.key, frame.waiting = None, False

    def _pair(self, frame: _Open, value: str, end: int) -> None:
        key = frame.key or ""
        frame.key, frame.waiting = None, False
        frame.pairs += 1
        if _ALTERNATIVE.match(self._text, end):
            value = ""
        role, name = self._names.role(key)
        if role == "dimension" and name is not None:
            self._state(frame, name, self._choice(value), end)
        elif role == "verdict":
            frame.verdicts.append(self._choice(value))
        elif role == "final":
            frame.finals.append(self._choice(value))
        elif role == "subject" and frame.subject is None:
            frame.subject = self._names.role(value)[1]

    def _choice(self, value: str) -> str | None:
        text = value.replace("\\n", " ").replace('\\"', '"')
        return self._value_of(text) if text else None

    def _state(self, frame: _Open, name: str, choice: str | None, end: int) -> None:
        """Note a choice; a dimension that the object names twice, differently, has none."""
        frame.direct[name] = choice if frame.direct.get(name, choice) == choice else None
        frame.last = max(frame.last, end)

    def _close(self, frame: _Open, stack: Sequence[_Open], out: list[tuple[int, dict[str, str | None]]]) -> _Closed:
        """Sum a container up and hand it to the one around it."""
        self._lack(frame)
        verdict, final = _agreed(frame.verdicts), _agreed(frame.finals)
        if frame.sign == "[" and len(frame.items) == 1:
            verdict = self._choice(frame.items[0])
        if frame.subject is not None and (verdict or final):
            self._state(frame, frame.subject, verdict or final, max(frame.last, 0))
            verdict = final = None
        merged = _merged(frame, out)
        closed = _Closed(merged[1], merged[0], verdict, final)
        if stack:
            self._hand_on(stack[-1], closed)
        return closed

    def _hand_on(self, outer: _Open, closed: _Closed) -> None:
        key, outer_waits = outer.key, outer.waiting
        outer.key, outer.waiting = None, False
        if outer_waits and key and exact_choice(canonical(key[:_LONGEST_KEY], self._names)) is not None:
            return  # what stands under a response's own name rates it alone
        if closed.choices:
            outer.inner.append((closed.last, closed.choices))
        if outer.sign == "[" or not outer_waits or key is None:
            return
        outer.pairs += 1
        role, name = self._names.role(key)
        choice = closed.verdict or closed.final
        if role == "dimension" and name is not None and (choice or not closed.choices):
            self._state(outer, name, choice, closed.last)
        elif choice and (role == "final" or (role == "wrapper" and closed.verdict is None)):
            outer.finals.append(choice)
        elif choice and role in ("verdict", "wrapper"):
            outer.verdicts.append(choice)

    def _outermost(self, closed: _Closed) -> list[tuple[int, dict[str, str | None]]]:
        """The outermost container's statement; a verdict on no dimension answers the only or the overall one."""
        choices = dict(closed.choices)
        only, overall = self._names.only, self._names.overall
        if only is not None and not choices and (closed.verdict or closed.final):
            choices[only] = closed.final or closed.verdict
        elif overall is not None and overall not in choices and closed.final:
            choices[overall] = closed.final
        return [(closed.last, choices)] if choices else []


def _agreed(values: Sequence[str | None]) -> str | None:
    return values[0] if values and len(set(values)) == 1 else None


def _merged(frame: _Open, out: list[tuple[int, dict[str, str | None]]]) -> tuple[int, dict[str, str | None]]:
    """One statement of a container and those within it, where no two speak about one dimension.

    Otherwise they are rivals (a draft and a final verdict): each goes to `out`, in the order of the text.
    """
    parts = [*frame.inner, *([(frame.last, frame.direct)] if frame.direct else [])]
    if len(parts) == 1:
        return parts[0]
    whole: dict[str, str | None] = {}
    last = 0
    for position, choices in parts:
        if not whole.keys().isdisjoint(choices):
            out += parts
            return 0, {}
        whole.update(choices)
        last = max(last, position)
    return last, whole
