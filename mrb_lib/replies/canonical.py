"""A canonical form of prose, in which every letter that means a response is marked, and no other is.

`@a` and `@b` stand for the two responses, `@ab` for both together, `!a` `!b` `!t` for a
bracketed verdict such as `[[A]]` (`[[C]]` is a tie: a third bracketed letter means nothing else
where two responses are compared, and pairwise prompts have long asked for it), `#0` `#1` ...
for the dimensions asked, `#x` for a dimension that was not, `#f` for words that announce the final verdict, and `%` for
alternatives that were only repeated from the task ("A or B", "A|B|tie"). Everything else is lower
case. A bare letter means a response only between words that fit one: so the article
"a", vitamin A, hepatitis B and group B streptococcus are left as they are.
"""

from __future__ import annotations

import re

from mrb_lib.replies.names import ADJECTIVE, DimensionNames, word_set

# How far around a letter is looked: it bounds the work for each letter.
_NEAR = 32

_NOUN = r"(?:assistant|answer|response|option|model|candidate|reply|system|agent|choice|output|responder)"
_TIE = r"(?:tie|equal|both|neither|draw|same)"
STRAIGHT_QUOTES = str.maketrans(
    dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb\u2039\u203a\u300c\u300d\u300e\u300f\u301d\u301e\uff02", '"')
    | dict.fromkeys("\u2018\u2019\u201a\u201b\uff07\u00b4\uff40", "'")
)
_NOISE = re.compile(r"[^\w\s.,:;!?|/<>=&'\"()\[\]+%-]|_|%")
_CROSS = re.compile("[\u274c\u2717\u2718\u274e]")
_EMPHASIS = re.compile(r"[*`~]+")
_SAYS = r"(?:tie|tied|draw|both|neither|equal|same)"

_ONE = rf"[\[<(\"']{{0,3}}(?:(?:the )?{_NOUN}s?\s)?(?:(?-i:[AB])|{_TIE})(?![\w'+-])[\]>)\"']{{0,3}}"
_ECHO = re.compile(
    rf"(?<![\w|/]){_ONE}(?:\s{{0,3}}(?:\||/|,?\sor\s|,)\s{{0,3}}(?:or\s|(?-i:a\s))?{_ONE}){{1,4}}", re.IGNORECASE
)
_ECHO_LOWER = re.compile(
    rf"(?<![\w|/])(?:[ab]|{_TIE})(?:\s{{0,3}}(?:\||/|\sor\s)\s{{0,3}}(?:[ab]|{_TIE})(?!\w)){{1,4}}"
)
_THIRD = re.compile(r"\[\[ ?c ?\]\]")
_OFFERS_BEFORE = re.compile(r"(?:%|\]\]|![abt])[\s,/|\"']*(?:(?:or|and)[\s\"']*)?\Z")
_OFFERS_AFTER = re.compile(r"[\"')]*\s?(?:for|if|when|where|would|means|stands|is|to indicate|[/|])\b")
# Several bracketed verdicts in a row are what could be answered.
_LISTED = re.compile(r"![abt](?: ?(?:vs\.?|versus|and|or|&|,|/|\|)? ?![abt])+")
_OFFERED = word_set("a b tie equal both neither draw same")
_ADJECTIVES = re.compile(rf"\b(more|most|less|least)\s({ADJECTIVE})\b", re.IGNORECASE)
_FINAL = re.compile(
    r"\b(?:final (?:overall )?(?:verdict|answer|decision|choice|judge?ment|winner|result|preference|conclusion"
    r"|evaluation|assessment|ranking|pick)|in (?:conclusion|summary)|conclusion|summary|final(?=\s?:))\b",
    re.IGNORECASE,
)
_ORDINAL = {"first": "a", "1st": "a", "1": "a", "one": "a", "second": "b", "2nd": "b", "2": "b", "two": "b"}
_SIDES = re.compile(
    rf"\b(?:the\s)?(?P<ordinal>first|second|1st|2nd)\s(?:assistant|answer|response|reply|one)\b(?:'s)?"
    r"|\bthe\s(?P<place>first|second)(?=\s(?:is|was)\s(?:\w{1,20}ly\s|much\s|far\s)?(?:better|superior|preferable)\b)"
    rf"|\b(?:the\s)?(?:assistant|answer|response|reply)\s?#?(?P<number>1|2|one|two)\b(?![.,]\d)(?:'s)?"
    rf"|\b(?:the\s)?{_NOUN}s?(?:\s{_NOUN})?[\s_#-]{{0,2}}[\"'(\[<]{{0,3}}(?P<named>[AB])(?!\w)(?:(?!'s\b)[\"')\]>]){{0,3}}"
    r"|(?<![\w&+@#/|.-])(?<!\w')(?P<bare>[AB])(?!\w)",
    re.IGNORECASE,
)
_POSSESSED = re.compile(rf"(@[ab]) ?'s(?:\s(?:own\s)?{_NOUN})?\b")
_BEFORE = word_set(
    "that and or but so then than think thinks believe believes find choose chose chosen prefer pick picked select "
    "selected is was are favor favour favors favours of to with for by over both neither say says verdict answer while "
    "whereas because since as though although however conclude therefore thus hence winner choice beats outperforms "
    "between better best wins clearly nor vs versus preferred feel where whether if considers option be it here "
    "actually"
)
_VERBS = word_set(
    "is was are were wins won win has have had gives gave provides provided offers offered does did outperforms "
    "outperformed performs performed seems seemed appears excels excelled beats beat leads prevails dominates "
    "surpasses demonstrates shows presents delivers remains loses lost lacks contains includes stands would edges "
    "scores ranks fares looks covers comes takes deserves goes meets addresses misses fails ties tied provide"
)
_AFTER = _VERBS | word_set("because since as and or nor than on in for over by due vs versus with also both here")
_AFTER_STOP = word_set("because since it the both as while this that and on in for overall i so my")
_ADVERB = re.compile(rf"\s\w{{1,20}}ly\s(?:{'|'.join(sorted(_VERBS))})\b")
_LABELLED = re.compile(r"(?:\A|[:=|(\[\"'-])[\s\"'(\[<.]*\Z")
_ENDED = re.compile(r"[\"')\]>]*(?:\s*(?:\Z|[,;|#)\]])|[.!?:-](?:\s|\Z))")
_COMPARED = re.compile(r"\b[AB]\s?<+=?\s?\Z")
_NEXT_WORD = re.compile(r"\s+(\w+)")
_LAST_WORD = re.compile(r"(\w+)[\s\"'(\[<]*\Z")


def canonical(text: str, names: DimensionNames) -> str:
    """One line or value in canonical form."""
    line = _EMPHASIS.sub("", _CROSS.sub(" wrong ", text.translate(STRAIGHT_QUOTES)))
    line = " ".join(_NOISE.sub(" ", line).split())
    line = _ECHO_LOWER.sub(_echoed, _ECHO.sub(_echoed, line))
    line = _ADJECTIVES.sub(lambda m: _compared(m, names), line)
    line = _FINAL.sub(" #f ", line)
    if names.pattern is not None:
        line = names.pattern.sub(lambda m: f" {names.marker(m.group())} ", line)
    line = _SIDES.sub(_side, line)
    line = _POSSESSED.sub(r"\1", line.lower())
    line = " ".join(line.split())
    line = re.sub(r"@a ?(?:and|&) ?@b|@b ?(?:and|&) ?@a", "@ab", line)
    line = line.replace("neither @a nor @b", "neither").replace("neither @b nor @a", "neither")
    line = re.sub(r"\[\[ ?@([ab])(?: ?>+=? ?@[ab])? ?\]\]", r"!\1", line)
    line = re.sub(r"\[\[ ?@[ab] ?<+=? ?@([ab]) ?\]\]", r"!\1", line)
    line = _THIRD.sub(_third, line)
    line = re.sub(rf"\[\[ ?(?:{_SAYS}|@ab|@[ab] ?=+ ?@[ab]) ?\]\]", "!t", line)
    line = _LISTED.sub("%", line)
    return _overall_as_adjective(line, names)


def _third(match: re.Match[str]) -> str:
    """`!t` for a `[[C]]` that is a verdict; the text as it was where it names an option or something medical."""
    before = match.string[max(0, match.start() - _NEAR) : match.start()]
    after = match.string[match.end() : match.end() + _NEAR]
    offered = _OFFERS_BEFORE.search(before) or _OFFERS_AFTER.match(after) or not _fits_before(before)
    return match.group() if offered else "!t"


def _echoed(match: re.Match[str]) -> str:
    """`%` for a letter offered among alternatives; "both, neither" without a letter is left alone."""
    offered = _OFFERED.intersection(re.findall(r"\w+", match.group().lower()))
    return " % " if len(offered) > 1 and offered & {"a", "b"} else match.group()


def _compared(match: re.Match[str], names: DimensionNames) -> str:
    better = match.group(1).lower() in ("more", "most")
    return f"{'better' if better else 'worse'} {names.adjective(match.group(2))} "


def _overall_as_adjective(line: str, names: DimensionNames) -> str:
    """Without the `overall` of "overall accuracy"."""
    overall = names.marker("overall")
    return re.sub(rf"{overall} (?=#\d)", "", line)


def _side(match: re.Match[str]) -> str:
    """The mark of a response; the text as it was, or `%`, where the letter means something else."""
    kind = match.lastgroup or "bare"
    letter = match.group(kind)
    if kind in ("ordinal", "number", "place"):
        return f" @{_ORDINAL[letter.lower()]} "
    before = match.string[max(0, match.start() - _NEAR) : match.start()]
    after = match.string[match.end() : match.end() + _NEAR]
    mark = f" @{letter.lower()} "
    if kind == "named":
        fits = _fits_after(after) if letter.islower() else not re.match(r"-\w|'[^s\s]|\+", after)
        return f"{mark.rstrip()}{_closing(match)} " if fits else match.group()
    if before.endswith("[[") and after.startswith("]]"):
        return mark
    if letter.islower():
        return mark if _LABELLED.search(before) and _ENDED.match(after) else letter
    if not _fits_before(before):
        return "%"
    return mark if _fits_after(after) else letter


def _closing(match: re.Match[str]) -> str:
    """Brackets around a named letter go with it, unless they open before the noun."""
    closed = match.group()[match.end("named") - match.start() :]
    inside = match.group()[: match.start("named") - match.start()]
    return closed[sum(inside.count(sign) for sign in "\"'([<") :]


def _fits_before(before: str) -> bool:
    """Whether what precedes a bare letter lets it mean a response."""
    if _COMPARED.search(before):
        return True
    last = _LAST_WORD.search(before)
    if last is None:
        return True
    word = last.group(1).lower()
    marker = before[: last.start()].endswith("#")
    return marker or word in _BEFORE


def _fits_after(after: str) -> bool:
    """Whether what follows a letter lets it mean a response."""
    if not after.strip() or after.startswith("'s ") or after[0] in ',;!?)]|":<>=':
        return True
    if after[0] == "'":
        return not after[1:2].isalnum()
    if after[0] == ".":
        word = _NEXT_WORD.match(after[1:])
        return not after[1:2].isalnum() and (
            word is None or not word.group(1)[0].islower() or word.group(1) in _AFTER_STOP
        )
    if not after[0].isspace():
        return False
    word = _NEXT_WORD.match(after)
    if word is None:
        return not after.lstrip().startswith("+")
    return word.group(1) in _AFTER or _ADVERB.match(after) is not None
