"""Verdicts in prose: labelled lines, headings with sections below them, tables, and sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from mrb_lib.replies.canonical import canonical
from mrb_lib.replies.names import DimensionNames, word_set
from mrb_lib.replies.phrases import (
    REPORTS,
    Phrase,
    any_of,
    corrected,
    exact_choice,
    find_phrases,
    hedged_tie,
    value_choice,
)
from mrb_lib.replies.statements import Statement
from mrb_lib.replies.tables import split_tables, table_statement

_WORDS = any_of(
    "winner verdict choice preference preferred better best judge?ment decision answer response result pick comparison "
    "score rating is was assessment analysis evaluation winning assistant"
)
_NAMED = rf"(?: {_WORDS}){{0,3}}"
_LABEL = re.compile(
    rf"#(\d+|x|f){_NAMED} ?(?:\([^()]{{0,80}}\) ?)?(?:% ?)?[)\"'\]]{{0,2}} ?"
    r"(?:(?::|=+|->|\||-(?= )|-\Z|\bgoes to\b) ?){1,2}"
)
_LABEL_ALONE = re.compile(rf"\(?#(\d+|x|f){_NAMED} ?(?:\([^()]{{0,80}}\))? ?[:-]?")
_UNSIGNED = re.compile(
    r"#(\d+|f)(?: (?:winner|verdict|is)){0,2} ?[,(]? ?\(?([@!][abt]\b|tie|equal|both|neither)\)?(?= ?(?:\Z|[.,;|]))"
)
_LABELS = any_of(
    "winner verdict choice preference preferred better best judge?ment decision answer result selection selected pick "
    "vote winning response assistant option output reply"
)
_VERDICT = re.compile(
    rf"(?:so |therefore |thus )?,? ?(?:the |my )?{_LABELS}(?: (?:answer|response|assistant|one|option|model|choice))?"
    r" ?(?::|=|is\b|-(?= )) ?"
)
_CLAUSES = re.compile(
    r"[.!;](?=\s|\Z)|(?<=\?)(?=\s)|,? \b(?:but|whereas|however|yet)\b|,? (?=\b(?:while|although|though)\b)"
)
# "Overall, B is longer but A is better": what a sentence begins with, it is about until its end.
_LED = re.compile(
    r"(?:(?:on|in|for|in terms of|regarding|as for) (?:the )?)?#(\d+|f) ?, ?(?P<rest>[^.!;#?]*)(?=[.!;]|\Z)"
)
_LOSES = re.compile(
    r"\b(?:worse|worst|weaker|weakest|less|least|lower|lowest|loser|losing|poor|poorer|poorest|inferior|not|lacks?|fails?"
    r"|failed|issues?|problems?|errors?|weakness(?:es)?|reject(?:ed|s)?)"
    r"(?: (?:in|on|of|for|with|in terms of|at|the)){0,2} ?\Z"
)
_SENTENCE = re.compile(r"[.!?;](?=\s)")
_ITEM = re.compile(r"\W*@?[ab] \d{1,2}\W*")
_RIVAL = re.compile(r"(?<!than )(?<!over )(?<!to )(?<!beats )(?<!outperforms )(?<!surpasses )@([ab])\b")
_CONCEDES = re.compile(r"\W*(?:while|although|though|even though|despite)\b")
_SETTLES = re.compile(r"\b(?:actually|therefore|correction|finally|on reflection|on second thought|ultimately)\b|#f")
_MARK = re.compile(r"#(\d+|x|f)\b")
_BULLET = re.compile(
    r"^[\s>]*(?:(#{1,6})\s*)?(?:[-+\u2022*\u25aa\u25e6\u2023\u00b7]\s+)?(?:\(?\d{1,2}[.):]\s*|\([a-z]\)\s+)?"
)
_FENCE = re.compile(r"^\s*(?:```|~~~)")
_TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9_ -]{0,40}?)\s?/?>")
_TAGS = word_set("answer verdict winner choice final_answer final_verdict judgment preference")
_INLINE_TAGS = word_set("b i u em strong span code mark")
_LINE_TAGS = word_set("br p li ul ol div tr table tbody thead h1 h2 h3 h4 h5 h6")
_CELL_TAGS = word_set("td th")
_SAID_ALONE = 7
_NEAR = 40
_REPORTED = 160
_SHORT_LINE = 60
_INLINE = 8


class Prose:
    """Reads the stretches of prose of one reply, one after the other."""

    def __init__(self, names: DimensionNames, text: str) -> None:
        self._names = names
        lines = [line for line in text.splitlines() if line.strip() and not _FENCE.match(line)]
        self._first, self._last = (lines[0], lines[-1]) if lines else ("", "")
        self._section: str | None = None
        self._level = _INLINE
        self._waits = False

    def read(self, text: str) -> list[Statement]:
        """The statements of one stretch."""
        self._section, self._waits = None, False
        statements: list[Statement] = []
        for block, is_table in split_tables(self._untagged(text).splitlines(), self._names):
            if is_table:
                statement = table_statement(block, self._names)
                statements += [] if statement is None else [statement]
            else:
                listed = self._listed(block)
                for number, line in enumerate(block):
                    statements += () if number in listed else self._line(line)
        return statements

    def _listed(self, lines: Sequence[str]) -> set[int]:
        """The lines that only name both responses, one below the other: a list or a loop, and no verdict."""
        run: dict[int, str] = {}
        listed: set[int] = set()
        for number, line in enumerate([*lines, "."]):
            if not line.strip():
                continue
            bullet = _BULLET.match(line)
            text = line[bullet.end() if bullet is not None else 0 :]
            choice = exact_choice(canonical(text, self._names)) if len(line) <= _SHORT_LINE else None
            if choice is not None:
                run[number] = choice
                continue
            listed |= run.keys() if len(set(run.values())) > 1 else set()
            run = {}
        return listed

    def _untagged(self, text: str) -> str:
        """`<accuracy>B</accuracy>` as a labelled line, and HTML as the text that it shows."""

        def shown(tag: re.Match[str]) -> str:
            name = tag.group(2).lower()
            if name in _INLINE_TAGS and tag.group(2) != "B":
                return ""
            if name in _LINE_TAGS:
                return "\n"
            if name in _CELL_TAGS:
                return " | " if tag.group(1) else "| "
            if name in _TAGS or self._names.role(name)[0] in ("dimension", "other"):
                return "\n" if tag.group(1) else f"\n{name}: "
            return tag.group()

        return _TAG.sub(shown, text)

    def _line(self, line: str) -> Iterator[Statement]:
        if not line.strip():
            if self._level == _INLINE:
                self._section = None
            return
        if _FENCE.match(line):
            return
        bullet = _BULLET.match(line)
        signs = bullet.group(1) if bullet is not None else None
        text = canonical(line[bullet.end() if bullet is not None else 0 :], self._names)
        if not text.strip(" -=."):
            return
        if self._heads(text, signs):
            return
        waits, self._waits = self._waits, False
        alone = None if signs or text.endswith(":") else exact_choice(text)
        if alone is not None and (waits or line in (self._first, self._last)):
            yield from self._answer(alone, self._section, firm=True)
            return
        changed = corrected(text)
        if changed is not None:
            yield from self._answer(changed, self._section, firm=True)
            return
        if line == self._first and not signs and (begun := self._begins(text)) is not None:
            yield from self._answer(begun, None, firm=True)
        yield from self._labelled(text)

    def _heads(self, text: str, signs: str | None) -> bool:
        """Whether the line is a heading; it opens a section where it names one dimension."""
        alone = _LABEL_ALONE.fullmatch(text)
        marks = set(_MARK.findall(text)) if signs and not re.search(r"[@!%]", text) else set()
        if alone is not None or len(marks) == 1:
            self._section = alone.group(1) if alone is not None else marks.pop()
            self._level = len(signs) if signs else _SAID_ALONE
            self._waits = True
            return True
        if not signs:
            return False
        if len(signs) <= self._level:
            self._section = None
        return re.fullmatch(r"@[ab]b?[ :.]*", text) is not None

    def _begins(self, text: str) -> str | None:
        """The choice that the first line of a reply on one dimension begins with: "B. It is clearer."."""
        begun = re.match(r"([@!])([ab])(?: ?[.,]| -| because| since)", text)
        return None if begun is None or self._names.only is None else value_choice(text)

    def _labelled(self, text: str) -> Iterator[Statement]:
        labels = list(_LABEL.finditer(text))
        start = labels[0].start() if labels else len(text)
        yield from self._unlabelled(text[:start])
        for number, label in enumerate(labels):
            end = labels[number + 1].start() if number + 1 < len(labels) else len(text)
            value = text[label.end() : end].strip(" ,;|")
            self._section, self._level = label.group(1), _INLINE
            if _LOSES.search(text, max(0, label.start() - _NEAR), label.start()):
                continue
            if REPORTS.search(_SENTENCE.split(text[max(0, label.start() - _REPORTED) : label.start()])[-1]):
                continue
            choice = value_choice(value) if not value.startswith(":") else None
            if choice is None and hedged_tie(value):
                continue
            if choice is not None:
                yield from self._answer(choice, label.group(1), firm=True)
            else:
                yield from self._sentences(value)

    def _unlabelled(self, text: str) -> Iterator[Statement]:
        """What stands before the first label of a line."""
        verdict = _VERDICT.match(text)
        if verdict is not None and not _MARK.search(text):
            choice = value_choice(text[verdict.end() :])
            if choice is not None:
                yield from self._answer(choice, self._section, firm=True)
                return
        pairs = list(_UNSIGNED.finditer(text))
        if pairs and len(pairs) == len(_MARK.findall(text)):
            for pair in pairs:
                choice = exact_choice(pair.group(2))
                yield from self._answer(choice, pair.group(1), firm=True)
            return
        yield from self._sentences(text)

    def _sentences(self, text: str) -> Iterator[Statement]:
        """The clauses of a line; a choice alone at its end answers what the line is about."""
        led = _LED.match(text)
        parts = [] if led is None else _CLAUSES.split(led.group("rest"))
        if led is not None and (len(parts) > 1 or _CONCEDES.match(parts[0])):
            yield from self._led(led.group(1), parts)
            text = text[led.end() :].lstrip(" .!;")
        clauses = [clause for clause in _CLAUSES.split(text) if clause.strip()]
        # "1. B 2. A" is a list, and "Assistant B -" a heading.
        listed = (
            len(clauses) < 2
            or _ITEM.fullmatch(clauses[-2])
            or exact_choice(clauses[-2])
            or text.rstrip().endswith(("-", ":"))
        )
        last = None if listed else exact_choice(clauses[-1])
        for clause in clauses if last is None else clauses[:-1]:
            parts = clause.split(",", 1) if _CONCEDES.match(clause) else [clause]
            for piece in parts:
                yield from self._clause(piece)
        if last is not None:
            asked = _MARK.findall(clauses[-2]) if clauses[-2].endswith("?") else []
            yield from self._answer(last, asked[0] if len(asked) == 1 else self._section, firm=True)

    def _led(self, mark: str, clauses: Sequence[str]) -> Iterator[Statement]:
        """What a sentence about one dimension says in all; being better counts before being better at something."""
        held = [clause.split(",", 1)[-1] if _CONCEDES.match(clause) else clause for clause in clauses]
        phrases = [phrase for clause in held for phrase in find_phrases(clause)]
        choices = {phrase.choice for phrase in phrases if not phrase.partial} or {phrase.choice for phrase in phrases}
        if len(choices) == 1:
            yield from self._answer(choices.pop(), mark, firm=any(phrase.bracketed for phrase in phrases))

    def _clause(self, clause: str) -> Iterator[Statement]:
        phrases = find_phrases(clause)
        if not phrases:
            return
        marks = [(mark.start(), mark.group(1)) for mark in _MARK.finditer(clause)]
        firm = _SETTLES.search(clause) is not None
        named = [mark for mark in marks if mark[1].isdigit()]
        if named:
            yield from self._named(phrases, self._meant(clause, phrases, named), firm)
        elif any(mark == "x" for _, mark in marks):
            return
        else:
            bracketed = [phrase for phrase in phrases if phrase.bracketed]
            last = (bracketed or phrases)[-1]
            agreed = bracketed or len({phrase.choice for phrase in phrases}) == 1
            if agreed and (last.bracketed or not _CONCEDES.match(clause)):
                section = "f" if marks else self._section
                yield from self._answer(last.choice, section, firm=firm or last.bracketed)

    def _meant(
        self, clause: str, phrases: Sequence[Phrase], marks: Sequence[tuple[int, str]]
    ) -> Sequence[tuple[int, str]]:
        """Of several dimensions those that one verdict is about: not an "overall," that only begins the sentence, nor
        what follows a mention of the other response ("A over B on accuracy, and B over A on relevance").
        """
        if len(marks) < 2:
            return marks
        overall = self._names.overall
        if overall is not None and re.match(r"#\d+ ?,", clause.lstrip()):
            marks = [mark for number, mark in enumerate(marks) if number or self._names.asked[int(mark[1])] != overall]
        choices = {phrase.choice for phrase in phrases}
        if len(choices) > 1:
            return marks
        start = marks[0][0]
        rivals = [rival.start() for rival in _RIVAL.finditer(clause, start) if rival.group(1).upper() not in choices]
        return [mark for mark in marks if not rivals or mark[0] < rivals[0]]

    def _named(self, phrases: Sequence[Phrase], marks: Sequence[tuple[int, str]], firm: bool) -> Iterator[Statement]:
        """One verdict on all dimensions of the clause, or as many verdicts as dimensions, in turn."""
        firm = firm or any(phrase.bracketed for phrase in phrases)
        if len({phrase.choice for phrase in phrases}) == 1:
            for _, mark in marks:
                yield from self._answer(phrases[0].choice, mark, firm=firm)
        elif len(phrases) == len(marks):
            for phrase, (_, mark) in zip(phrases, marks, strict=True):
                yield from self._answer(phrase.choice, mark, firm=firm)

    def _answer(self, choice: str | None, section: str | None, *, firm: bool) -> Iterator[Statement]:
        """A statement on the dimension that a section stands for; none where it stands for none asked."""
        if section is None:
            name = self._names.only
        elif section == "f":
            name = self._names.overall
        else:
            name = self._names.asked[int(section)] if section.isdigit() else None
        if name is not None and choice is not None:
            yield Statement({name: choice}, firm)
