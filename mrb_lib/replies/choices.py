"""The choice that a value or a sentence states of two responses: A, B, a tie, or nothing that can be relied on."""

import re
from collections.abc import Iterator
from typing import Final

from mrb_lib.replies.forms import Statement, ValueReader
from mrb_lib.replies.languages import NOUNS_APART, NOUNS_JOINED, TIES
from mrb_lib.replies.names import DimensionNames
from mrb_lib.replies.text import HEDGES, plainly_written, without_emphasis, words
from mrb_lib.tables.schema import DIMENSIONS

_NOUN: Final = words(f"assistant answer response option model candidate reply output system agent {NOUNS_APART}")
_SIDE: Final = re.compile(
    rf"\b(?:the )?(?P<place>first|1st|second|2nd) (?:{_NOUN}|one)\b"
    rf"|\b(?:the )?{_NOUN}\s?#?(?P<number>1|2|one|two)\b(?![.,]\d)"
    rf"|\b(?:(?:the|die|la|a) )?{_NOUN}s?(?:'s)?[\s_#-]{{0,2}}[\"'(\[]{{0,3}}"
    r"(?P<letter>(?-i:[AB])(?!\w|-\w)|a(?!\w|\s[a-z])|b(?!\w|-\w))(?:[\"'\])](?!s\b)){0,3}"
    rf"|{words(NOUNS_JOINED)}\s?[\"'(\[]{{0,3}}(?P<joined>[AB])(?![A-Za-z0-9])[\"')\]]{{0,3}}",
    re.IGNORECASE,
)
_TERM: Final = re.compile(
    rf"(?i)\b({words('vitamin hepatitis influenza group type grade class stage plan panel figure image')}) [AB](?!\w)"
)
_GRADE: Final = re.compile(r"(?<!\w)[AB][-+\u2212\u2013](?![\w>+-])")  # B- is a mark out of A to F
_SECOND: Final = re.compile(r"(?i)b|second|2nd|2|two")
_POSSESSED: Final = re.compile(rf"\b([AB]) ?'s(?: own)?(?: {_NOUN})?\b")
_NEITHER: Final = re.compile(r"(?i)\bneither (?-i:A nor B|B nor A)\b")
_COMPARED: Final = re.compile(r"\b(more|less|most|least) (accurate|relevant|creative|comprehensive|responsive)\b")
_TIE: Final = re.compile(
    r"(?:(?:it's|it is|this is|they are|both are|a and b are) )?(?:an? )?"
    r"(?:tie|tied|draw|both|neither|equal|same|even|equivalent|a ?=+ ?b|b ?=+ ?a"
    rf"|no (?:clear )?(?:winner|preference|difference)|{words(TIES)})"
    r"(?: (?:are |is |of them )?(?:equally )?(?:good|strong|well|relevant|accurate|better|tied|quality|equal))?",
    re.IGNORECASE,
)
_GOOD: Final = words(
    "detailed complete thorough precise correct helpful informative specific clear useful appropriate accurate "
    "relevant comprehensive creative responsive concise reliable convincing focused nuanced faithful original "
    "insightful"
)
_BETTER: Final = (
    rf"(?:better|best|superior|stronger|strongest|preferred|preferable|the winner|winner|clearer|(?:more|most) {_GOOD})"
)
_WORSE: Final = rf"(?:worse|worst|weaker|inferior|(?:less|least) {_GOOD})"
_ADVERB: Final = (
    r"(?:(?:clearly|slightly|much|far|significantly|also|still|generally|marginally|overall|just|even|the|an?|a bit)"
    r" ){0,3}"
)
_YET: Final = r"\b(?:but|yet|however|although|though|while)\b"
_IN_PART: Final = tuple(
    re.compile(
        rf"(?i)\b(?:{one} \w+|clearer|(?:{first}) (?:in|at|on)\b)[^.;]{{0,80}}?(?:{_YET},? (?:(?:it|this) )?"
        r"|, (?:it|this) )"
        rf"(?:(?:is|was) )?{_ADVERB}(?:{other}|{then})\b"
    )
    for one, first, other, then in (
        ("more", "better|superior|stronger", "less", "worse|inferior|weaker"),
        ("less", "worse|inferior|weaker", "more", "clearer|better|superior|stronger"),
    )
)
_CONCEDED: Final = re.compile(r"(?<=\S),? (?:even )?(?:although|though) ")
_LETTER: Final = r"(?<![\w'&./-])"
_STATES: Final = re.compile(
    rf"{_LETTER}(?P<is>[AB]) {_ADVERB}(?:is|was|seems|performs|does|provides|gives|has) {_ADVERB}{_BETTER}\b"
    r"(?! (?:than (?:[Ii]|expected|average|nothing|usual|most|many|before)\b|(?:in|on|at) (?:some|certain|other|one)\b"
    r"|(?:(?:\w+ )?for|written|structured|organi[sz]ed|formatted|worded|suited)\b))"
    rf"|{_LETTER}(?P<wins>[AB]) {_ADVERB}(?:wins|won|outperforms|outperformed|excels|prevails|beats|surpasses)\b"
    rf"|{_LETTER}(?P<loses>[AB]) {_ADVERB}(?:is|was|seems) {_ADVERB}{_WORSE}\b"
    r"|(?<!both )(?<!they )(?<!responses )(?<!answers )(?<![AB] )\b"
    r"(?:choose|chose|prefer|pick|select|go with|vote for|in favou?r of) (?P<choose>[AB])(?!\w|,? or\b| ?[/|])"
    r"|(?<!worse )(?<!weaker )\b(?i:winner|verdict|decision|choice|better one|better|answer|conclusion|preference)"
    r"(?: \w+){0,3} ?(?:is|:) ?(?:clearly )?(?P<named>[AB])(?!\w|:|,? or\b| ?[/|])"
    r"|\b(?:worse|weaker|losing) (?:\w+ )?(?:is|:) ?(?P<worse>[AB])(?!\w)"
    r"|\b(?i:therefore|thus|hence|so),? ?:? ?(?P<thus>[AB])(?=\s*(?:\Z|[.,;]))"
    r"|\[\[ ?(?P<bracket>A|B|C|[Tt]ie) ?\]\]"
)
_EQUAL: Final = re.compile(
    r"\b(?:A and B|both|they)\b(?: \w+){0,3}? (?:equal|equally|tied|a tie|the same|similar|comparable)\b"
    r"|\bneither (?:\w+ ){0,3}?better\b|\bno (?:clear |real |significant )?(?:difference|winner)\b"
    r"|\b(?:is|are|a) (?:a )?(?:tie|draw|tied)\b",
    re.IGNORECASE,
)
_TAKEN_BACK: Final = re.compile(
    r"(?i)\b(?:if|unless|only (?:if|when|for)|at first|initially|would|according to|says?|said|claims?|wrong|false"
    r"|incorrect)\b|\?|\bonly\W*\Z|\A at\b|\A (?:on|in) (?:style|form|tone|length|clarity|grammar|structure|wording)\b"
)
_NOT_ITS_VERDICT: Final = re.compile(
    rf"(?i)\b(?:{words(HEDGES)}|which|(?<!\bi )(?:would|say|write)|(?:view|idea|notion|argument) that|disagree|contrary"
    r"|(?:correct|right) answer|for a tie|no (?:reason|evidence|proof|way|one|doctor)|(?<!without a )(?<!no )doubt"
    r"|false|wrong to|less likely|den(?:y|ied|ies)|judges?)\b|n't\b|\?"
)
_NOT_QUITE: Final = re.compile(
    r"(?i)\b(?:almost|near|nearly|close(?:r|st)? to(?! call)|(?:border|verg)ing on)(?: \w+){0,3}\W*\Z"
)
_WAVERS: Final = re.compile(r"(?i)\b(?:might|may|could)(?: also| well| just)? be (?-i:[AB])\b")
_UNDONE: Final = re.compile(
    r"(?i)[\s.,;:(-]*(?:wrong|incorrect|false|worse|misses|fails|lacks|in contrast|on the other hand|however|or\b|maybe"
    r"|perhaps|[/|&;]|and\b|vs|x\b|\u274c|unless\b|if\b(?! (?:i|one|any|forced|pressed)\b))"
)
_REASON: Final = re.compile(
    r"(?i)\s*(?:\Z|\.(?=\s*\Z|\s+(?-i:[A-Z])|\.)|[,;!(]|-|because|since|as\b|due|wins|for\b|by\b|with\b|over\b|than\b"
    r"|overall|outperforms)"
)
_CORRECTED: Final = re.compile(
    r"(?i)\b(?:no|wait|actually|correction|on (?:second thought|reflection)|hmm)\b[\s,.:;!-]*"
    r"(?:(?:it|the answer) (?:is|should be) |i meant |answer: )?(?=[AB](?:\W|\Z))"
)
_SETTLED: Final = re.compile(r"\b(?:but|so|therefore|thus|hence),? ([AB])\W*\Z")
_OFFERED: Final = re.compile(r"\[\[[ABC]\]\]\W*(?:or|vs|if|/|,)?\W*(?:\[\[|if\b|for a)|\"\[\[")
_BEFORE_TIE: Final = re.compile(r"(?i)(?:\A|[.:;!?-]|\b(?:is|verdict|choice|answer|choose))\W*\Z")
_LEANS: Final = re.compile(r"(?i)\b(?:but|though|although|lean|leaning|slight|edge)\b")
_FIRM: Final = re.compile(r"(?i)\bfinal(?:ly)?\b|\bin conclusion\b|\bconclusion\b|\bto conclude\b")
_SENTENCE: Final = re.compile(r"(?<=[.!?;])\s|(?<=[.!?][\"')])\s")
_CLAUSE: Final = re.compile(
    rf"{_SENTENCE.pattern}|,? \b(?:but|whereas|while|although|yet|however)\b|, and (?=[AB] |neither\b)"
)
_TOPIC: Final = re.compile(
    r"(?<![AB]),? \b(?:but|whereas|and(?= (?:on|for|A|B|neither)\b))|,(?= (?:on|for|in terms of|[AB] (?:on|for|in)) )"
)
_BARE: Final = re.compile(r"(?i)(?:(?:on|for|in terms of) [^,]{3,30}|overall), (?-i:([AB]))\W*")
_BEGINS_TIE: Final = re.compile(
    r"(?i)(?:it's |it is )?(?:an? )?(?:tie|draw|neither|both|equal)(?:\s?[.,;:(-]|\s(?:because|since)\b)"
)
_NEAR: Final = 400  # characters around a verdict that may take it back


class ChoiceReader(ValueReader):
    """Reads A, B and tie; see `mrb_lib.replies.forms.ValueReader`."""

    def exact(self, value: object) -> str | None:
        """Return A, B or tie, in any case and with spaces around; None for anything else."""
        return {"a": "A", "b": "B", "tie": "tie"}.get(value.strip().lower()) if isinstance(value, str) else None

    def value(self, text: str) -> str | None:
        """Return the choice of a value: "B", "Assistant B", "[[A]]", "B, because it is clearer"."""
        line = _sides_marked(text)
        bare = line.strip(" \"'()[]<>.,;!-")
        if bare in ("A", "B", "a", "b"):
            return None if "?" in line or "\u274c" in text else bare.upper()
        if _TIE.fullmatch(bare) or line.strip(" .\"'") == "[[C]]":
            return None if "?" in line else "tie"
        if (order := re.fullmatch(r"\[*([AB]) ?([<>])\2*=? ?([AB])\]*", bare)) and order[1] != order[3]:
            return order[1] if order[2] == ">" else order[3]
        corrected = [line[match.end()] for match in _CORRECTED.finditer(line)]
        if len(set(re.findall(r"\[\[ ?(\w+)", line))) > 1 and not corrected and "final" not in line:
            return None
        begins = re.match(r"[\"'(\[]*([AB])[\"')\]]*(?=\W|\Z)", line)
        if begins is not None:
            rest = line[begins.end() :]
            if corrected:
                return corrected[-1]
            if _UNDONE.match(rest) or _names_rival(rest, begins[1]):
                return None
            if _is_in_part(line) and not _COMPARED.search(re.split(_YET, line)[0]):
                return None
            return begins[1] if _REASON.match(rest) else _sentence_choice(line)
        if settled := _SETTLED.search(line):
            return None if _NOT_ITS_VERDICT.search(line[: settled.start()].replace("almost", "")) else settled[1]
        said = _sentence_choice(line)
        if said in ("A", "B"):
            return said
        is_plain = not re.search(r"(?i)\bas above\b|\ba line\b|\?|\bor\b", line)
        is_tie = said == "tie" or (_BEGINS_TIE.match(bare) and is_plain)
        return "tie" if is_tie and not _LEANS.search(bare) else None

    def sentences(self, line: str, names: DimensionNames) -> Iterator[Statement]:
        """Yield what the sentences of a line state: of the dimensions a clause names, of the only one, or finally."""
        text = _COMPARED.sub(_compared, _sides_marked(line))
        if names.pattern is not None:
            text = re.sub(rf"(?i)\boverall (?={names.pattern.pattern})", "", text)
        is_overall = re.match(r"(?i)(?:on|in|for|in terms of|regarding)?\s?overall,", text) is not None
        for sentence in [] if _WAVERS.search(text) else _SENTENCE.split(text):
            is_in_part = _is_in_part(sentence)
            clauses = re.split(f",? {_YET}|, (?=it |this )", sentence) if is_in_part else _TOPIC.split(sentence)
            for clause in clauses[-1:] if is_overall and names.overall is not None else clauses:
                about = names.named_in(clause)
                if len(about) > 1 and re.match(r"(?i)overall\W", clause.lstrip()):
                    about = about[1:]
                bare = about and _BARE.fullmatch(clause.strip())
                if is_in_part and not about:
                    continue
                choice = _sentence_choice(clause) or (bare[1] if bare else None)
                is_final = _FIRM.search(clause) is not None
                for name in about or [names.overall if is_final or is_overall else names.only]:
                    if name is not None and choice is not None:
                        yield Statement({name: choice}, firm=is_final or "[[" in clause)


def _sides_marked(text: str) -> str:
    """Return a plain text in which every response is a capital letter by itself: `the second answer` becomes `B`."""
    plain = without_emphasis(plainly_written(_GRADE.sub("@", text)))
    marked = _SIDE.sub(lambda side: " B " if _SECOND.fullmatch(side[side.lastgroup or 0]) else " A ", plain)
    marked = re.sub(r"([AB]) ?>+=? ?[AB](?= ?\]\])|(?<=\[\[)[AB] ?<+=? ?(?=[AB] ?\]\])", r"\1", marked)
    return _NEITHER.sub("neither", _POSSESSED.sub(r"\1", _TERM.sub(r"\1 @", " ".join(marked.split()))))


def _compared(match: re.Match[str]) -> str:
    """Return `better in accuracy` for `more accurate`."""
    dimension = next(name for name in DIMENSIONS if name[:5] == match[2][:5])
    return f"{'better' if match[1] in ('more', 'most') else 'worse'} in {dimension}"


def _names_rival(rest: str, letter: str) -> bool:
    """Return True where what follows a letter names the other response beside it: "A or B", "A for x, B for y"."""
    other = "AB".replace(letter, "")
    beside = rf"\W{{0,3}}(?:or|/|\||,|;)? ?{other}\b(?!')|\s*[=/:] ?\d|.*?[;,.] ?{other} ?(?:for\b|on\b|in\b|[(:=-]|\Z)"
    return re.match(beside, rest) is not None


def _is_in_part(sentence: str) -> bool:
    """Return True where a response is better in one respect and worse in another, which is no verdict on a third."""
    return any(form.search(sentence) for form in _IN_PART)


def _sentence_choice(text: str) -> str | None:
    """Return the choice that a sentence settles on; None where it concedes one to the other response."""
    said = {choice for part in _CONCEDED.split(text) if (choice := _settled(part)) is not None}
    return said.pop() if len(said) == 1 else None


def _settled(text: str) -> str | None:
    """Return the last choice of a sentence that concedes nothing; None where it is negated or of others."""
    said: list[str] = []
    if _WAVERS.search(text):
        return None
    for clause in _CLAUSE.split(text):
        if _OFFERED.search(clause):
            continue
        stated = list(_STATES.finditer(clause))
        for match in stated:
            kind = match.lastgroup or ""
            letter, before, after = match[kind], clause[: match.start()][-_NEAR:], clause[match.end() :][:_NEAR]
            if kind != "bracket" and (_NOT_ITS_VERDICT.search(before + match.group()) or _TAKEN_BACK.search(after)):
                continue
            if letter == "C" and not _BEFORE_TIE.search(before):
                continue
            letter = letter if letter in ("A", "B") else "tie"
            said.append(letter if kind not in ("loses", "worse") else "AB".replace(letter, ""))
        if not stated and (tie := _EQUAL.search(clause)):
            before, after = clause[: tie.start()], clause[tie.end() :]
            is_near = _NOT_QUITE.search(before + tie.group())
            unsure = is_near or _NOT_ITS_VERDICT.search(before) or _TAKEN_BACK.search(after)
            said += [] if unsure else ["tie"]
    return said[-1] if said else None
