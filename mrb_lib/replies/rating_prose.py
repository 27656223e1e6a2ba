"""Ratings in tables, labelled lines and sentences: where a reply announces a category, and of which dimension."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from mrb_lib.replies.names import OVERALL, DimensionNames, Role, loose, names_of, word_set
from mrb_lib.replies.scale import Scale, marked_up

_NOUNS: Final = word_set(
    "rating ratings score scores level category class classification label grade mark verdict answer choice judgment "
    "judgement assessment decision result conclusion option relation relationship"
)
_NOUN: Final = f"(?:{'|'.join(sorted(_NOUNS, key=len, reverse=True))})"
_PREFIX: Final = (
    r"(?:(?:so|therefore|thus|hence|conclusion|summary|overall)[\s,:]{1,2}|(?:and|but|the|my|our|your|its"
    r"|this|that|a|in|final"
    r"|assigned|given|predicted|resulting|most|appropriate|best|suitable|risk|harm|quality|safety"
    r"|severity|likert|numeric"
    r"|response|selected|chosen|is|i|would|say|think|conclude|believe)\s|(?:correct|right)\s(?=rating"
    r"|category|class|label|level|grade|verdict))"
)
_OBJECT: Final = (
    r"(?:this|it|its|the|that|these|response|responses|answer|case|pair|statement|output|reply|summary"
    r"|report|model|ai"
    r"|hypothesis|premise|relation|relationship|item|error|overall|risk|level|quality|content|text"
    r"|assistant|generated"
    r"|candidate|medical|clinical|translation|explanation|sentence|sentences|claim|between|and|of|for|on"
    r"|in|therefore"
    r"|rating|score|category|label|grade|final|being|option)"
)
_VERB: Final = (
    r"(?:rate|rated|rating|classify|classified|categori[sz]ed?|label|labell?ed|assign|assigned|give|given"
    r"|choose|chose"
    r"|select|selected|pick|score|scored|judge|judged|grade|graded|mark|marked|assess|assessed|consider"
    r"|considered|call|deem"
    r"|deemed|say|conclude|go with|answer|falls? (?:under|into)|belongs? (?:to|in)|qualif(?:y|ies) as"
    r"|constitutes?|represents?"
    r"|receives?|deserves?|merits?|earns?|warrants?|corresponds to)"
)
_SUBJECT: Final = (
    r"(?:this|it|that|response|answer|statement|hypothesis|pair|relationship|relation|output|error|reply"
    r"|summary|case)"
)
_SEPARATOR: Final = (
    r"\s?(?:\([^()]{0,80}\)\s?|\[[^\[\]]{1,80}\]\s?)?"
    r"(?:\s?(?:on|from|out of|using)\s[^:=\n]{1,40}(?=[:=]))?"
    r"(?:\s?(?:[:=]{1,2}|->|=>)\s?|\s?-\s|\s(?:is|was|would be|should be|will be|remains)\b[\s:]{0,2}"
    r"(?:now |therefore |thus )?)"
)
_BOUNDARY: Final = re.compile(
    r"(?:\A|[.!?;:,|(\[>/-]\s?|\b(?:so|and|but|thus|therefore|hence|that|then)\s)\Z", re.IGNORECASE
)
_CLAUSE: Final = re.compile(r"[.!?;:,(]\s|\b(?:but|so|therefore|thus|hence|and|yet|however)\b", re.IGNORECASE)
_UNDERCUT: Final = re.compile(
    r"\b(?:not|never|cannot|can't|no longer|hardly|neither|nor|without|unlikely|rather than|instead of|if"
    r"|unless|could"
    r"|might|may|some|someone|somebody|others?|initially|at first|previous(?:ly)?|consider(?:ed|ing)"
    r"|tempted|would have|whether"
    r"|when|should have|experts?|physicians?|doctors?|clinicians?|annotators?|they|he|she|authors?"
    r"|readers?|patients?"
    r"|patient's|users?|people|reviewers?|raters?|guidelines?|says|said|claims?|writes?|states?|stated"
    r"|example|e\.g|correct(?! (?:rating|category|class|label|level|grade|verdict))"
    r"|gold|reference|options|worst|lowest|highest|maximum|minimum|possible)\b|n't\b",
    re.IGNORECASE,
)
_CONDITION: Final = re.compile(r"\b(?:if|had|were|unless|suppose|assuming)\b", re.IGNORECASE)
_FINAL: Final = re.compile(r"\b(?:final|finally|overall|in conclusion|in summary)\b", re.IGNORECASE)
_TAG: Final = re.compile(r"<(/?)\s?([A-Za-z][\w -]{0,60}?)\s?/?>")
_BULLET: Final = re.compile(r"\s*(?:(?:[-+•>#]+|\d{1,2}[.)])\s+)*")
_ITEM: Final = re.compile(r"\s*(?:\d{1,2}|[A-Za-z])[.)]\s")
_ABBREVIATED: Final = re.compile(
    r"\b(?:fig|no|ref|table|vs|approx|dr|pp?|e\.g|i\.e|grade|stage|type|vitamin)\Z", re.IGNORECASE
)
_RULE: Final = frozenset(" \t|:+-")
_NEAR: Final = 120  # characters before a verdict in which it may be taken back
PASSING, FIRM, LAST = 0, 1, 2


class Said(NamedTuple):
    """A category said of a dimension (None: several, or one that is not listed), and how firmly."""

    dimension: str | None
    category: str | None
    rank: int


class RatingNames(DimensionNames):
    """The dimensions asked, among keys that speak of ratings."""

    def role(self, key: str) -> tuple[Role, str | None]:
        """What a key is about: `accuracy_rating` is about accuracy, `final_score` is the final verdict."""
        role, name = super().role(key)
        if role != "none" and key.lower() != "category":
            return role, name
        words = re.findall(r"[^\W_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", key[:120]))
        rest = [word for word in words if word.lower() not in _NOUNS]
        if len(rest) == len(words):
            return role, name
        if rest == [] or {word.lower() for word in rest} <= {"final", "overall", "risk", "the", "my"}:
            final = any(word.lower() in ("final", "overall") for word in rest)
            return ("final" if final else "verdict"), None
        return super().role(" ".join(rest))


def rating_names(dimensions: tuple[str, ...]) -> RatingNames:
    """The names of the dimensions asked, for ratings."""
    names = names_of(dimensions)
    if not names.asked:
        raise ValueError("no dimension is asked")
    return RatingNames(names.asked, names.by_loose, names.pattern)


class RatingProse:
    """Lines of a reply, read from the first to the last."""

    def __init__(self, names: RatingNames, scale: Scale, text: str) -> None:
        self._names = names
        self._scale = scale
        self._section = names.only
        shown = _TAG.sub(self._shown, text)
        self._lines = [" ".join(line.split()) for line in marked_up(shown).split("\n")]
        self._cue = _cues(names.pattern)
        self._waits = False

    def read(self) -> Iterator[Said]:
        """What the lines say, in their order."""
        filled = [number for number, line in enumerate(self._lines) if line]
        listed = self._listed(filled)
        rows: list[list[str]] = []
        for number in filled:
            line = self._lines[number]
            cells = [cell.strip() for cell in line.strip("| ").split("|")]
            if len(cells) > 1 and (line[0] == "|" or rows or self._about(cells[0])[0]):
                rows.append(cells)
                continue
            yield from self._table(rows)
            rows = []
            if number in listed or line.startswith("```"):
                self._waits = False
            else:
                yield from self._line(line, first=number == filled[0], last=number == filled[-1])
        yield from self._table(rows)

    def _shown(self, tag: re.Match[str]) -> str:
        """`<rating>3</rating>` as a labelled line."""
        if self._about(tag[2])[0]:
            return "\n" if tag[1] else f"\n{tag[2]}: "
        return " "

    def _about(self, text: str) -> tuple[bool, str | None]:
        """Whether a heading, a cell or a tag announces a rating, and of which dimension; None of none asked."""
        role, name = self._names.role(text.strip(" :.-#")) if len(text) <= 80 else ("none", None)
        if role == "verdict":
            return True, self._section
        if role == "final" or (role == "other" and loose(text) == OVERALL):
            return True, self._names.overall
        return role in ("dimension", "other"), name

    def _listed(self, filled: Sequence[int]) -> set[int]:
        """The lines that only list the options, as a prompt does; a line by itself after them may answer."""
        listed: set[int] = set()
        run: dict[int, str | None] = {}
        for number in [*filled, -1]:
            line = "" if number < 0 else self._lines[number]
            stated = None if self._cue.match(line) else self._scale.at_start(re.sub(r"\A[-+•>#]+\s", "", line))
            if stated is not None:
                run[number] = stated.category
                continue
            if len(set(run.values())) > 1:
                *options, last = run
                apart = len(options) > 1 and last - options[-1] > 1 and self._scale.alone(self._lines[last])
                listed |= set(options) if apart else set(run)
            run = {}
        return listed

    def _table(self, rows: Sequence[Sequence[str]]) -> Iterator[Said]:
        """What a table says, a row or a column a dimension; lines that are no table are prose."""
        filled = [row for row in rows if not all(_RULE.issuperset(cell) for cell in row)]
        if not filled:
            return
        said = dict(self._rows(filled)) or dict(self._columns(filled))
        for name, categories in said.items():
            yield Said(name, categories[0] if len(set(categories)) == 1 else None, FIRM)
        if not said and len(filled) == len(rows):
            for row in rows:
                yield from self._cued(" | ".join(row))

    def _rows(self, rows: Sequence[Sequence[str]]) -> dict[str | None, list[str | None]]:
        head = rows[0]
        verdict = next(
            (i for i, cell in enumerate(head) if i and self._names.role(cell)[0] in ("verdict", "final")), None
        )
        said: dict[str | None, list[str | None]] = {}
        for row in rows[0 if verdict is None else 1 :]:
            first = next((i for i, cell in enumerate(row[:2]) if self._about(cell)[0]), None)
            if first is None:
                continue
            cells = row[first + 1 :] if verdict is None else row[verdict : verdict + 1]
            stated = {category for cell in cells if (category := self._scale.value(cell)) is not None}
            if stated:
                said.setdefault(self._about(row[first])[1], []).append(stated.pop() if len(stated) == 1 else None)
        return said

    def _columns(self, rows: Sequence[Sequence[str]]) -> dict[str | None, list[str | None]]:
        heads = {i: name for i, cell in enumerate(rows[0]) for announces, name in [self._about(cell)] if announces}
        if len(rows) != 2 or len(set(heads.values())) < len(heads):
            return {}
        return {name: [self._scale.value(rows[1][i])] for i, name in heads.items() if i < len(rows[1])}

    def _line(self, line: str, *, first: bool, last: bool) -> Iterator[Said]:
        bullet = _BULLET.match(line)
        body = (line[bullet.end() :] if bullet is not None else line).lstrip(": ")
        waits, self._waits = self._waits, False
        alone = None if self._cue.match(body) else self._scale.alone(body)
        if alone is not None and (first or last or waits):
            yield Said(self._section, alone, FIRM)
            return
        announces, name = self._about(body)
        if announces and alone is None and (self._names.plain(body) or not re.search(r"\d|:\s*\S", body)):
            self._section, self._waits = name, True
            return
        if first and self._names.only is not None and (begun := self._begun(line)) is not None:
            yield Said(self._names.only, begun, FIRM)
        yield from self._cued(body)
        if last and (ended := self._ended(body)) is not None:
            yield Said(self._section, ended, FIRM)

    def _begun(self, line: str) -> str | None:
        """The category with which a reply begins: "B) Neutral, because ..."; the first point of a list is none."""
        item = _ITEM.match(line)
        if item is not None and (line[0].isdigit() or sum(_ITEM.match(other) is not None for other in self._lines) > 1):
            return None
        stated = self._scale.at_start(line)
        if stated is None or (stated.end == 1 and line[0] in "IAa" and line[1:2] not in ".):"):
            return None
        if line[stated.end :].startswith(":") and len(self._scale.named_in(line) - {None}) > 1:
            return None
        return None if self._cue.match(line) else stated.category

    def _ended(self, line: str) -> str | None:
        """The category that is the last sentence of a reply, which names no other in its last line."""
        sentences = re.split(r"[.!?:]\s", line.rstrip(" .!"))
        if len(sentences) < 2 or len(sentences[-2].split()) < 3 or _ABBREVIATED.search(sentences[-2]):
            return None
        alone = self._scale.alone(sentences[-1])
        return alone if self._scale.named_in(line) == {alone} else None

    def _cued(self, line: str) -> Iterator[Said]:
        """What the labels and the verbs of a line announce."""
        position, inline = 0, self._section
        while (cue := self._cue.search(line, position)) is not None:
            value = line[cue.end() : cue.end() + self._scale.reach]
            stated = self._scale.at_start(value)
            position = cue.end() + (0 if stated is None else stated.end)
            kind = cue.lastgroup
            if kind == "label" and stated is None and not self._scale.mentions(value):
                inline = self._target(cue.group(), inline, final=False)
                continue
            if (stated is None and kind != "label") or not self._stands(line, cue):
                continue
            final = _FINAL.search(cue.group()) is not None
            target = self._target(cue.group(), inline, final=final)
            rank = LAST if final or kind in ("corrected", "bracket") else PASSING if kind == "copula" else FIRM
            yield Said(target, None if stated is None else stated.category, rank)
            inline = target if kind == "label" else inline
        if self._names.only is None:
            self._section = inline

    def _stands(self, line: str, cue: re.Match[str]) -> bool:
        """Whether what precedes a cue lets it be the judge's own verdict."""
        before = line[max(0, cue.start() - _NEAR) : cue.start()]
        if cue.lastgroup == "bracket":
            return re.search(r"\]\]\W*(?:or|and)?\W*\Z", before) is None
        if cue.lastgroup == "label" and not _BOUNDARY.search(before):
            return False
        sentence = re.split(r"[.!?]\s", before)[-1]
        return not _UNDERCUT.search(_CLAUSE.split(before)[-1] + cue.group()) and not _CONDITION.search(sentence)

    def _target(self, cue: str, section: str | None, *, final: bool) -> str | None:
        """The dimension that a cue speaks of; None of several, and of one that is not asked."""
        pattern = self._names.pattern
        about = {self._names.marker(found.group()) for found in pattern.finditer(cue)} if pattern is not None else set()
        about -= {"#x"} if OVERALL in cue.lower() and len(about) == 1 and self._names.only else set()
        if len(about) > 1 and self._names.by_loose.get(OVERALL):
            about -= {self._names.marker(OVERALL)}
        if not about:
            return self._names.overall if final else section
        marker = about.pop()
        return self._names.asked[int(marker[1:])] if not about and marker != "#x" else None


@lru_cache(maxsize=64)
def _cues(dimensions: re.Pattern[str] | None) -> re.Pattern[str]:
    """What announces a verdict: a label, a verb, "it is", a correction, double brackets."""
    dimension = dimensions.pattern if dimensions is not None else "(?!)"
    about = rf"\s(?:for|of|on|in)\s(?:the\s)?(?:{dimension}|(?:{_OBJECT}\s?){{1,3}}(?!\w))"
    noun = rf"{_NOUN}(?:\s{_NOUN})?(?:\s?[(\[]\s?{dimension}\s?[)\]])?(?:{about})?"
    subject = rf"(?:{dimension}(?:\s(?:{_NOUN}|risk|quality)){{0,2}}|{noun})"
    changed = r"(?:actually|on second thoughts?|correction|scratch that|wait|hmm)\s?[,:;.-]{1,3}|(?<=\s)no\s?[,:]"
    return re.compile(
        rf"(?P<label>(?<!\w)(?:{_PREFIX}){{0,6}}?{subject}(?:{_SEPARATOR}|\sof\s))"
        rf"|(?P<corrected>\b(?:{changed})\s?(?:no\s?[,:]\s?)?)"
        rf"|(?P<verb>\b{_VERB}(?:\s(?:{_OBJECT}|{dimension})(?!\w)){{0,8}}\s?:?\s?)"
        rf"|(?P<copula>\b{_SUBJECT}(?:\s\w{{1,20}}){{0,2}}?\s(?:is|was|seems|appears|remains|poses|carries)\s"
        rf"|\b(?:it|this|that)'s\s)"
        r"|(?P<opener>\boverall,\s)"
        rf"|(?P<bracket>\[(?=\[))",
        re.IGNORECASE,
    )
