"""Forms of a reply (JSON and what resembles it, tables, labelled lines, sentences) become statements, and a verdict."""

import ast
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from mrb_lib.replies.names import DimensionNames
from mrb_lib.replies.text import words

_FENCED: Final = re.compile(r"\A```(?:json)?[ \t]*\n(.*)\n[ \t]*```\Z", re.DOTALL | re.IGNORECASE)
_OPENS: Final = re.compile(r"[{\[](?=\s{0,200}[\"'{}\]\w/#])")
_MOST_OBJECTS, _DEEPEST, _LONGEST_LOOSE, _MOST_WORDS = 64, 8, 4000, 8
_QUOTED: Final = r'"(?:[^"\\\n]|\\.)*+"|' + r"'[^'\\\n]*+(?:(?:\\.|'(?=\w))[^'\\\n]*+)*'|`[^`\n]*+`"
_LOOSE_PAIR: Final = re.compile(
    rf"(?:(?P<key>{_QUOTED})|(?:\A|[{{,;\n]|\*/)\s{{0,9}}(?P<word>[A-Za-z][\w -]{{0,40}}?))\s{{0,9}}[:=]\s{{0,9}}"
    rf"(?P<value>(?:{_QUOTED})(?=\s{{0,9}}(?:[,}}\]\n:|]|//?|/\*|#|or\b|\Z|[\"']))"
    r"|[^\s,{}\[\]\"'`][^,{}\[\]\"'`\n]*?(?=\s*(?:[,}\n]|//|/\*)))"
)
_NESTED: Final = re.compile(r"(?:[\"'`]|\{[ \t]{0,9}[\w ]{1,40})\s{0,9}[:=]\s{0,9}\Z|[,\[]\s{0,9}\Z")
_ALTERNATIVE: Final = re.compile(r"\s{0,3}(?:\||/(?![/*])|or\b)")
_BULLET: Final = re.compile(r"[\s>]*(?:#{1,6}\s*)?(?:[-+\u2022*]\s+)?(?:\(?\d{1,2}[.):]\s+|\([a-z]\)\s+)?[*_`]{0,3}")
_NOUN: Final = words(
    "winner verdict choice preference preferred better best judge?ment decision answer result conclusion selection "
    "selected pick vote winning response rating score category level class label ranking rank"
)
_VERDICT: Final = re.compile(
    rf"(?i)\s*(?:(?:so|therefore|thus),?\s)?(?:the |my )?(?:final |overall )*{_NOUN}"
    r"(?: (?:answer|response|assistant|one|is|level))?[*_`]{0,3}\s?(?:[:=|]|->|-(?= )|is\b)"
)
_ABOUT: Final = rf"(?:{_NOUN}|is|quality|risk)"
_LACKS: Final = re.compile(
    r"(?i)\b(?:worse|worst|less|least|lower|poor|lacks?(?: of)?|issues?|problems?|errors?|not)"
    r"(?:\s(?:in|on|of|with|the))*\s?$"
)
_NEXT_LABEL: Final = re.compile(r"(?i)(?:winner|verdict|better|preferred|rating|score)\s(?:on|for|in|\()\s?$")
_CORRECTS: Final = re.compile(
    r"(?i)(?:(?:no|wait|actually|correction|hmm|sorry|edit|final|on (?:second thought|reflection))[\s,.:;!-]+){1,3}"
    r"(?:(?:it|(?:the|my) (?:final )?(?:answer|verdict)) (?:is|should be|should have been) |i meant )?"
)
_TAKES_BACK: Final = re.compile(
    r"(?i)\b(?:i (?:retract|withdraw|take (?:that|it) back)"
    r"|(?:ignore|disregard) (?:the|my|that|what) (?:above|previous|answer|verdict|json|first|i (?:said|wrote)))\b"
)
_REASON: Final = re.compile(r"(?<=\w)(?:[,;:]|\((?!\w\)))|\.\s|\bbecause\b|\bsince\b|\s-\s")
_CLAUSE: Final = re.compile(r"(?i)\b(?:is|was|are|better|wins)\b(?! (?:a |the )?(?:tie|draw|same))")
_REMARK: Final = re.compile(
    r"(?i)(?:note|nb|p\.?s|remark|caveat|comment|reason\w*|rationale|explanation|justification|however|disclaimer)\b"
)
_TAG: Final = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9_ -]{0,40}?)\s?/?>")
_HTML: Final = {
    **dict.fromkeys(("td", "th"), "|"),
    **dict.fromkeys(("b", "i", "em", "strong", "code", "span"), ""),
    **dict.fromkeys(("br", "p", "li", "ul", "div", "tr", "table"), "\n"),
}
_TICK: Final = re.compile("[\u2713\u2714\u2705\u2611]")
_RULE: Final = frozenset(" \t|:+-")


@dataclass(frozen=True)
class Statement:
    """Choices made together: by one object, one table, one labelled line, one sentence.

    Attributes
    ----------
    choices : by dimension: A, B, tie, or None where it speaks about the dimension but
        without a readable or an unambiguous choice
    firm : written as a verdict (an object, a table, a label, `[[A]]`), not said in passing
    """

    choices: Mapping[str, str | None]
    firm: bool = True


class ValueReader(ABC):
    """The reader of one kind of verdict: choices, categories, decisions on criteria, rankings."""

    @abstractmethod
    def exact(self, value: object) -> str | None:
        """Return the verdict that a value of JSON is without any leniency."""

    @abstractmethod
    def value(self, text: str) -> str | None:
        """Return the verdict that a text states in the place of a value, with or without its reason."""

    def nested(self, value: object) -> str | None:
        """Return the verdict of a list, or of an object as a tuple of pairs: that of a list's one entry."""
        one = value[0] if isinstance(value, list) and len(value) == 1 else None
        return self.value(str(one)) if isinstance(one, str | int | float) else None

    def sentences(self, line: str, names: DimensionNames) -> Iterator[Statement]:
        """Yield the statements of a line's sentences."""
        yield from ()


def sole_object(answer: str) -> dict[str, object] | None:
    """Return the one valid JSON object that an answer is, in a code fence or not; None where a key stands twice."""
    fenced = _FENCED.match(answer)
    try:
        pairs = json.loads(fenced.group(1) if fenced else answer, object_pairs_hook=tuple)
    except (ValueError, RecursionError):
        return None
    if not isinstance(pairs, tuple) or len({key for key, _ in pairs}) < len(pairs):
        return None
    return dict(pairs)


class Span(NamedTuple):
    """A stretch of a text that is JSON or resembles it; objects are tuples of pairs, and loose ones have no value."""

    start: int
    end: int
    text: str
    value: object


def objects(text: str, *, is_strict: bool = False) -> Iterator[Span]:
    """Yield what is JSON or resembles it in a text, in its order.

    An object that the end of the text or another object cuts off ends there. Only JSON is found where `is_strict`.
    """
    decoder, end, tried = json.JSONDecoder(object_pairs_hook=tuple), 0, 0
    for opening in _OPENS.finditer(text):
        start = opening.start()
        if start < end or tried > _MOST_OBJECTS:
            continue
        tried += 1
        value: object
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            if is_strict or (text[start] == "[" and not re.match(r"\[\s*\{", text[start : start + 200])):
                continue
            end = _end_of_loose(text, start)
            value = _literal(text[start:end])
            if value is None and _LOOSE_PAIR.search(text[start:end]) is None:
                end = start + 1
                continue
        yield Span(start, end, text[start:end], value)


def _end_of_loose(text: str, start: int) -> int:
    """Return where an object that is not quite JSON ends: its closing brace, or an object that is not within it."""
    depth = 0
    for brace in re.finditer(r"[{}]", text[start : start + _LONGEST_LOOSE]):
        at = start + brace.start()
        if brace.group() == "{" and depth and not _NESTED.search(text[max(start, at - 60) : at]):
            return at
        depth += 1 if brace.group() == "{" else -1
        if depth <= 0:
            return at + 1
    return min(len(text), start + _LONGEST_LOOSE)


def _loose_pairs(stretch: str) -> tuple[tuple[str, str], ...]:
    """Return the pairs of what resembles an object: keys with a value each that a mark of the notation closes."""
    pairs = []
    for match in _LOOSE_PAIR.finditer(stretch):
        value = "" if _ALTERNATIVE.match(stretch, match.end()) else match["value"].strip("\"'` ")
        pairs.append(((match["key"] or match["word"]).strip("\"'`"), value))
    return tuple(pairs)


def _literal(stretch: str) -> object:
    try:
        value = ast.literal_eval(re.sub(r",(\s*[}\]])", r"\1", stretch))
        return json.loads(json.dumps(value), object_pairs_hook=tuple)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None


class FormReader:
    """Reads the forms of a text; the dimensions asked and the reader of values are the same throughout."""

    def __init__(self, names: DimensionNames, reader: ValueReader) -> None:
        self.names, self.reader, self._read = names, reader, reader.value
        dimension = names.pattern.pattern if names.pattern is not None else "(?!)"
        self._label = re.compile(
            rf"(?i)(?P<dim>{dimension})[*_`]{{0,3}}(?:\s{_ABOUT}){{0,3}}\s?(?:[(\[][^()\[\]]{{0,60}}[)\]]\s?)?"
            r"[*_`)\]]{0,3}\s?(?:[:=|]{1,2}|->|-(?=\s)|\bgoes to\b|(?P<is>\b(?:is|was)\b))[*_`]{0,3}"
        )

    def statements(self, text: str, spans: Sequence[Span], *, is_cut_off: bool = False) -> list[Statement]:
        """Return all that a text states, in its order; where it is cut off only what the object at its end states."""
        if is_cut_off:
            return [] if not spans or text[spans[-1].end :].strip(" \n\t`") else self._of_span(spans[-1])
        out: list[Statement] = []
        at = 0
        for span in spans:
            stated = self._of_span(span)
            if stated or not isinstance(span.value, list):
                self._add_lines(text[at : span.start], out)
                out += stated
                at = span.end
        self._add_lines(text[at:], out)
        return out

    def _of_span(self, span: Span) -> list[Statement]:
        value = _loose_pairs(span.text) if span.value is None else span.value
        stated = self._of_value(value)
        if stated or self.names.only is None or not isinstance(value, list | tuple) or len(value) < 2:
            return stated
        alone = self.reader.nested(value)
        return [] if alone is None else [Statement({self.names.only: alone})]

    def _scalar(self, value: object) -> str | None:
        if isinstance(value, list | tuple):
            return self.reader.nested(value) or (self._verdict_in(value) if isinstance(value, tuple) else None)
        text = str(value).lower() if isinstance(value, bool) else str(value)
        return None if value is None else self._read(text)

    def _of_value(self, value: object, depth: int = 0) -> list[Statement]:
        """Return what a decoded value states: its dimensions together, or each of the rival objects in it."""
        if isinstance(value, list) and depth < _DEEPEST:
            return _joined([part for one in value for part in self._of_value(one, depth + 1)])
        if not isinstance(value, tuple) or depth > _DEEPEST:
            return []
        choices: dict[str, str | None] = {}
        inner: list[Statement] = []
        verdicts: dict[str, list[str | None]] = {"verdict": [], "final": []}
        subject: str | None = None
        for key, stated in value:
            role, name = self.names.role(key)
            if role == "none" and self._read(key) is not None:
                continue  # what stands under a response's own name rates it alone
            if role == "subject" and isinstance(stated, str | int):
                subject = self.names.role(str(stated))[1] or subject
                continue
            choice, nested = self._scalar(stated), self._of_value(stated, depth + 1)
            if role == "dimension" and name is not None and (choice is not None or not nested):
                choices[name] = choice if choices.get(name, choice) == choice else None
                continue
            inner += nested if role not in verdicts or choice is None else []
            if role in verdicts and (choice is not None or not nested):
                verdicts[role].append(choice)
        agreed, final = (each[0] if len(set(each)) == 1 else None for each in verdicts.values())
        if subject is not None and (agreed or final):
            choices[subject] = agreed or final
        elif self.names.only is not None and not choices and not depth and not inner and (final or agreed):
            choices[self.names.only] = final or agreed
        elif final and self.names.overall is not None:
            choices.setdefault(self.names.overall, final)
        return _joined([*inner, *([Statement(choices)] if choices else [])])

    def _verdict_in(self, stated: Sequence[tuple[str, object]]) -> str | None:
        roles = [(self.names.role(key)[0], value) for key, value in stated]
        said = {self._scalar(value) for role, value in roles if role in ("verdict", "final")} - {None}
        return said.pop() if len(said) == 1 else None

    def _add_lines(self, text: str, out: list[Statement]) -> None:
        """Add what tables, labelled lines, headings with a verdict below them, and sentences state."""
        section, waits = self.names.only, False
        lines = [line for line in self._untagged(text).splitlines() if not line.lstrip().startswith(("```", "~~~"))]
        filled = [i for i, line in enumerate(lines) if line.strip()]
        listed = self._alternatives(lines, filled)
        table: list[str] = []
        for i in [*filled, -1]:
            line = "" if i < 0 else lines[i]
            if self._is_row(line, within=bool(table)):
                table.append(line)
                continue
            out += self._of_table(table)
            table = []
            if not line or i in listed:
                continue
            if _TAKES_BACK.search(line):
                out.clear()
            body = line[_BULLET.match(line).end() :].rstrip("*_` ")  # type: ignore[union-attr]  # matches the empty text
            role, name = self._heading(body)
            if role != "none":
                waits = True
                section = section if role == "verdict" else self.names.overall if role == "final" else name
                continue
            if labels := self._labels(body):
                out += self.reader.sentences(body[: labels[0].start()], self.names)
                out += self._labelled(body, labels)
                continue
            change = _CORRECTS.match(body)
            if out and out[-1].firm and change and (value := self._read(body[change.end() :])):
                out.append(Statement(dict.fromkeys(out[-1].choices, value)))
                continue
            target, label = section, _VERDICT.match(body)
            value = None if label is None else self._read(body[label.end() :])
            if value is not None and label is not None and re.search(r"(?i)\bfinal\b", label.group()):
                target = self.names.overall
            if value is None and (waits or i in (filled[0], filled[-1])) and _is_alone(body):
                value = self._read(body)
            waits = False
            if value is not None and target is not None:
                out.append(Statement({target: value}))
            else:
                out += self.reader.sentences(body, self.names)

    def _heading(self, body: str) -> tuple[str, str | None]:
        """Return the role of a line that announces what follows it, and its dimension; `none` for any other line."""
        title = body.strip(" :*#.-")
        role, name = self.names.role(title)
        is_sentence = re.search(r"[:|=]", title) or (role in ("final", "verdict") and re.search(r"\d|\bis\b", title))
        if role in ("none", "subject") or is_sentence or self._read(title) is not None:
            return "none", None
        return role, name

    def _alternatives(self, lines: Sequence[str], filled: Sequence[int]) -> set[int]:
        """Return the lines that name one after the other what could be answered; one apart at the end may answer.

        Also a first line that names one response where a later line names the other: both are headings.
        """
        run: dict[int, str] = {}
        heads: dict[int, str] = {}
        out: set[int] = set()
        for i in [*filled, -1]:
            line = "" if i < 0 else lines[i]
            body = re.sub(r"^[\s>]*(?:#{1,6}\s*)?(?:[-+*\u2022]\s+)?(?:\(?\d{1,2}[.):]\s*)?", "", line)
            head = body.split(":")[0]
            stated = self._read(head) if len(head) <= 60 and _is_alone(head) else None
            is_apart = len(run) > 1 and i == filled[-1] and not lines[i - 1].strip()
            if stated is not None and i != filled[-1] and not body[len(head) + 1 :].strip(" *_"):
                heads[i] = stated
            if stated is not None and not is_apart:
                run[i] = stated
                continue
            out |= set(run) if len(set(run.values())) > 1 else set()
            run = {}
        return out | ({filled[0]} & heads.keys() if len(set(heads.values())) > 1 else set())

    def _labels(self, line: str) -> list[re.Match[str]]:
        """Return the labels of dimensions in a line, where it begins with one or one follows a mark of punctuation."""
        found = [match for match in self._label.finditer(line) if not _LACKS.search(line[: match.start()])]
        found = [match for match in found if not match["is"] or self._read(line[match.end() :]) is not None]
        before = line[: found[0].start()].rstrip() if found else ""
        return [] if len(before) > 40 and not before.endswith((":", ",", ".", ";", "|")) else found

    def _labelled(self, line: str, labels: Sequence[re.Match[str]]) -> Iterator[Statement]:
        """Yield `accuracy: B, overall = A`, and `Winner on accuracy: B`, one statement per label."""
        for one, following in zip(labels, [*labels[1:], None], strict=True):
            value = line[one.end() : None if following is None else following.start()]
            name = self.names.role(one["dim"])[1]
            bare = _NEXT_LABEL.sub("", value).strip(" \t,;|*_`.").lstrip("- ").removesuffix(" -")
            choice = self._read(bare)
            if name is not None and (choice is not None or not re.search(r"[.!?]\s", bare)):
                yield Statement({name: choice})

    def _is_row(self, line: str, *, within: bool) -> bool:
        """Return True where a line is a row of a table, `within` one or not."""
        is_framed = line.lstrip().startswith("|")
        if "|" not in line or (not is_framed and self._labels(line)):
            return False
        cells = [cell.strip(" *_`") for cell in line.split("|")]
        is_pair = self.names.role(cells[0])[0] in ("dimension", "other") and self._read(cells[1]) is not None
        return is_framed or within or len(cells) > 2 or is_pair

    def _of_table(self, lines: Sequence[str]) -> list[Statement]:
        """Return what a table states, a row or a column per dimension; one with two different values has none."""
        filled = [line.strip().strip("|") for line in lines if not _RULE.issuperset(line)]
        rows = [[cell.strip(" \t*_`") for cell in line.split("|")] for line in filled]
        if not rows:
            return []
        head, choices = rows[0], dict[str, str | None]()
        roles = [self.names.role(cell) for cell in head]
        columns = {i: name for i, (_, name) in enumerate(roles) if name is not None}
        if len(columns) > 1 or (columns and 0 not in columns):
            answers = [{name: self._read(row[i]) for i, name in columns.items() if i < len(row)} for row in rows[1:]]
            stated = [one for one in answers if any(one.values())]
            return [Statement(stated[0])] if len(stated) == 1 else []
        verdict = next((i for i, (role, _) in enumerate(roles) if i and role in ("verdict", "final")), None)
        for row in rows:
            named = [(i, *self.names.role(cell)) for i, cell in enumerate(row[:2])]
            first, name = next(((i, name) for i, role, name in named if role in ("dimension", "other")), (0, None))
            if name is None:
                continue
            cells = row[first + 1 :] if verdict is None else row[verdict : verdict + 1]
            ticked = [head[i] for i, cell in enumerate(row[: len(head)]) if i and _TICK.search(cell)]
            said = set(map(self._read, cells)) - {None} or set(map(self._read, ticked)) - {None}
            choice = said.pop() if len(said) == 1 else None
            choices[name] = choice if choices.get(name, choice) == choice else None
        return [Statement(choices)] if choices else []

    def _untagged(self, text: str) -> str:
        """Return `<accuracy>B</accuracy>` as a labelled line, cells of HTML as those of a table, no other tags."""

        def plain(tag: re.Match[str]) -> str:
            closes, name = tag[1], tag[2].lower()
            if name in _HTML and tag[2] != "B":
                return _HTML[name]
            if self.names.role(name)[0] != "none":
                return "\n" if closes else f"\n{name}: "
            return tag.group()

        return _TAG.sub(plain, text) if "<" in text else text


def _joined(parts: Sequence[Statement]) -> list[Statement]:
    """Return one statement of several that share no dimension; otherwise they are rivals, each by itself."""
    whole = {name: choice for part in parts for name, choice in part.choices.items()}
    if len(whole) < sum(len(part.choices) for part in parts):
        return list(parts)
    return [Statement(whole)] if whole else []


def _is_alone(line: str) -> bool:
    """Return True where a line may be a value by itself, perhaps with its reason: no sentence, no heading."""
    stated = _REASON.split(line)[0]
    is_prose = line.endswith(":") or _REMARK.match(line) or _CLAUSE.search(stated)
    return not is_prose and len(stated.split()) <= _MOST_WORDS


def last_verdict(statements: Sequence[Statement], dimensions: Sequence[str]) -> dict[str, str]:
    """Return the last complete verdict, or the last partial one where none is complete.

    A verdict is a run of statements that name no dimension twice; a statement about a
    dimension that the run already has ends what came before it. Remarks in passing do
    not count on dimensions for which there is a firm statement: an explanation that
    concedes a point to A after a verdict for B is not a verdict for A.
    """
    run = _runs(_weighed(statements))
    newest: dict[str, int] = {}
    chosen: dict[str, tuple[int, str]] = {}
    start, complete = 0, None
    for number, statement in enumerate(run):
        for name, choice in statement.choices.items():
            start = max(start, newest.get(name, -1) + 1)
            newest[name] = number
            if choice is not None:
                chosen[name] = (number, choice)
        if all(name in chosen and chosen[name][0] >= start for name in dimensions):
            complete = {name: chosen[name][1] for name in dimensions}
    if complete is not None:
        return complete
    return {name: choice for name, (number, choice) in chosen.items() if number >= start}


def _weighed(statements: Sequence[Statement]) -> list[Statement]:
    """Return statements that are not empty, without remarks on what is stated firmly."""
    decided = [s for s in statements if any(s.choices.values())]
    firm = {name for s in decided if s.firm for name, choice in s.choices.items() if choice is not None}
    kept = [{name: c for name, c in s.choices.items() if s.firm or name not in firm} for s in decided]
    return [Statement(choices, s.firm) for choices, s in zip(kept, decided, strict=True) if choices]


def _runs(statements: Sequence[Statement]) -> list[Statement]:
    """Return statements without those that the next one replaces: a section that weighs A may settle on B."""
    kept: list[Statement] = []
    for statement in statements:
        if kept and len(statement.choices) == 1 and kept[-1].choices.keys() == statement.choices.keys():
            kept.pop()
        kept.append(statement)
    return kept
