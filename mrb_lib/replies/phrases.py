"""What a value or a clause in canonical form says: the first response, the second, or a tie."""

from __future__ import annotations

import re
from dataclasses import dataclass

_CHOICES = {"a": "A", "b": "B", "t": "tie", "tie": "tie"}
_OTHER = {"a": "b", "b": "a", "t": "t"}
_PLAIN = {"a": "A", "b": "B", "tie": "tie"}


def any_of(text: str) -> str:
    """A pattern for any one of the expressions that a text lists, `_` standing for a space."""
    return f"(?:{'|'.join(text.split()).replace('_', ' ')})"


_ADVERBS = any_of(
    r"also clearly slightly much far significantly still generally marginally somewhat a_bit a_little definitely "
    r"notably considerably the a an therefore thus just even arguably by_far simply overall #\w+ substantially more"
)
_ADVERB = rf"(?:{_ADVERBS} ){{0,4}}"
_IS = any_of(
    "is was are were seems appears looks remains comes_out performs performed does did fares scores ranks provides "
    "provided gives gave offers offered has had shows demonstrates delivers presents stands"
)
_GOOD = any_of(
    "detailed complete thorough precise correct helpful informative specific clear useful appropriate original "
    "innovative faithful "
    " reliable suitable insightful focused nuanced accurate relevant comprehensive creative responsive robust "
    "concise coherent convincing in-depth direct factual professional structured organized"
)
_BETTER = any_of(
    "better best superior stronger strongest preferred preferable favou?red winner ahead clearer "
    rf"more_{_GOOD} most_{_GOOD} higher(?=_#|_quality)"
)
_WORSE = any_of(rf"worse worst weaker weakest inferior poorer less_{_GOOD} least_{_GOOD}")
_WINS = any_of(
    "wins won outperforms outperformed excels excelled prevails beats surpasses dominates leads edges takes_it "
    "comes_out_on_top"
)
_NAMED = any_of(
    "winner winners verdict choice decision judge?ment preference preferred better best answer pick selection result "
    "conclusion stronger superior"
)
_NAMED_NOUN = any_of("answer response assistant one option model choice reply")
_NOUNS = any_of(
    r"answer response assistant one option model choice reply verdict here on for in terms of the #\w+ is would_be"
)
_CHOOSES = any_of(
    "choose chose prefer prefers preferred pick picked select selected favou?rs? go_with going_with vote_for opt_for "
    "goes_to belongs_to in_favou?r_of won_by won_for"
)
# Each with whether the response it captures is the better one.
_PHRASES: tuple[tuple[re.Pattern[str], bool], ...] = tuple(
    (re.compile(pattern), straight)
    for pattern, straight in (
        (
            rf"@([ab]) (?:, )?{_ADVERB}{_IS} (?:to be |as |out )?{_ADVERB}{_BETTER}\b"
            r"(?! than (?:expected|nothing|average|usual))",
            True,
        ),
        (rf"@([ab]) {_ADVERB}{_WINS}\b", True),
        (rf"@([ab]) {_ADVERB}{_IS} (?:to be |as )?{_ADVERB}{_WORSE}\b", False),
        (r"@([ab]) (?:clearly |slightly )?(?:loses|lost)\b", False),
        (rf"\b{_CHOOSES} (?:for )?([@!][abt])\b", True),
        (
            rf"\b(?:{_WORSE}|losing) (?:{_NAMED_NOUN} )(?:{_NOUNS} ){{0,4}}(?:is|was|:|=) ?"
            r"(?:clearly |the |that )?([@!][ab])\b",
            False,
        ),
        (
            rf"(?:\b(?<!'s ){_NAMED}|#f) (?:{_NOUNS} ){{0,4}}(?:is|was|:|=|goes to|-) ?"
            r"(?:clearly |the |that |: |\" ?|\( ?)?([@!][abt])\b",
            True,
        ),
        (r"\b(?:winner|verdict|preferred|preference|better) ?: ?([@!][abt])\b(?! ?[:=])", True),
        (r"(?<!\w)(![abt])\b", True),
        (r"\b(?:therefore|thus|hence|so) ?[:,]? ?([@!][abt])(?= ?(?:\Z|[.,;]))", True),
        (r"@([ab]) ?>+=? ?@[ab]", True),
        (r"@([ab]) ?<+=? ?@[ab]", False),
        (r"(?:\A|[,;] ?|\band )\s?@([ab]) (?:on|in|for|in terms of|regarding)(?: the)? #\w", True),
        (r"#\w+ ?[,=(-]? ?@([ab])(?= ?(?:\Z|[.,)#]|and))", True),
    )
)
_SAME = any_of("equal equally tied tie the_same similarly comparable comparably identical equivalent a_draw")
_TIES = re.compile(
    rf"(?:@ab|both|they|it|two|responses|answers|assistants) (?:\w+ ){{0,4}}?{_SAME}\b"
    r"|(?:\b(?:is|are|as|it|call|ends in|was|a|:) ?|#\w+ ){1,3}(?:a |an |about |roughly )?(?:tie|draw|tied|equal)\b"
    r"|\b(?:tie|tied|draw|equal|equally|even|on par) (?:on|in|for|at|regarding)\b"
    r"|\bneither (?:\w+ ){0,4}?(?:better|superior|wins|stronger|preferred|outperforms|winner)\b"
    r"|\bno (?:clear |significant |real |meaningful |notable ){0,2}(?:winner|difference|preference)\b"
    r"|@[ab] ?=+ ?@[ab]|@ab (?:tie|draw)\b"
)
_HEDGE = re.compile(
    r"\b(?:not|never|hardly|cannot|nor|which|either|suppose|assuming|instead of|rather than|decide between"
    r"|choose between|no longer|(?:correct|right|reference|gold|expected|true|standard|ideal|ground[ -]truth"
    r"|expert's?|wrong|incorrect)"
    r" (?:answer|option|choice|response|label)|\w+n't)\b"
)
# A response or the task in its own words, which may be an order to the judge.
REPORTS = re.compile(
    r"(?:@[ab]|\b(?:task|prompt|user|question|text|instructions?|response|answer)) (?:\w{1,20} ){0,2}?"
    r"(?:says|said|claims|claimed|writes|wrote|asserts|tells|told|tries|instructs|orders|demands|insists)\b"
)
# What others may say, or what only seemed so, is not the judge's verdict.
_NOT_HELD = re.compile(
    r"\b(?:(?:could|might|may|can) be argued|(?:one|some|someone|somebody|people|others"
    r"|you|clinicians|readers|patients|doctors|users?)"
    r" (?:could|might|may|would) \w+|at first|(?:for|in case of) a tie|initially|seemingly|ostensibly|on the surface)\b"
    rf"|{REPORTS.pattern}"
)
_OPEN = re.compile(r"\b(?:if|whether|unless)\b|\?")
_NO_TIE = re.compile(r"\b(?:almost|close to|near|not|never|isn't|aren't|no longer|nearly)\b")

_TIE_CORE = any_of(
    "tie tied draw both neither equal equally_good equal_quality same even equivalent comparable similar equally "
    "no_difference no_(?:clear_)?winner no_preference @ab !t"
)
_TIE_ALONE = re.compile(
    r"(?:(?:it's|it is|this is|they are|both are|is|@ab are|verdict) ?){0,2}"
    r"(?:an? |the |about |roughly |almost |both )?"
    + _TIE_CORE
    + r"(?: (?:assistants?|answers?|responses?|options?|of them|equally|equal|good|quality|are|is|better|same|the"
    r"|tie|tied|strong|well|relevant|accurate|correct)){0,4}"
)
_TIE_THEN = re.compile(
    r"(?:it's |it is )?(?:an? )?(?:tie|tied|draw|equal|equally|neither|both|even|same)"
    r"(?: ?[.,;:(-]| because| since| as\b(?! above)| on | in | for both| between"
    r"| (?:assistants|answers|responses) (?:are|perform)\w* (?:equally|similarly|comparably|equal))"
)
_CONTRAST = re.compile(
    r"\b(?:but|however|though|although|while|whereas|except|lean|leaning|slight|slightly|edge)\b|#\w+ ?:|@[ab]\b(?!b)"
)
_HEAD = re.compile(r"[\"'(\[< ]{0,4}[@!]([abt])\b[\"')\]> ]{0,4}")
_REASON = re.compile(r"[.,;!(]|-|(?:because|since|as|due|for|by|with|over|than|overall|here)\b")
_CORRECTS = re.compile(
    r"(?:(?:\b(?:no|wait|sorry|hmm)(?: ?[,.:;!-]){1,4}|\b(?:actually|correction|or rather|i mean|make that|scratch that"
    r"|on (?:second thought|reflection|closer \w{1,20}))(?: ?[,.:;-]){0,4}) ?){1,4}"
    r"(?:it is |it's |i choose |i say |the (?:answer|verdict) is )?"
    r"(?=[@!][abt]\b ?(?:\Z|[.,;!)]|(?:is |wins ?)(?:clearly |slightly )?(?:better(?= ?(?:\Z|[.,;]))|(?=\Z|[.,;]))))"
)
# After a letter: not why it was chosen, but what is wrong with it, or the other letter in its turn.
_NO_REASON = re.compile(
    r"[ .,;:(-]*(?:(?:x|wrong|incorrect|inaccurate|false|worse|weaker|poor)\b(?! (?:in|by|for) @)"
    r"|misses\b|missed\b|fails\b"
    r"|lacks\b|in contrast|by contrast|on the other hand|however|unlike|or\b|then\b|maybe\b|perhaps\b|possibly\b)"
)
_IN_TURN = re.compile(r"[;,] ?@[ab](?: ?\Z| ?[,;(]| (?:for|in|on|because|due|as)\b)")
_PARTIAL = re.compile(r"\b(?:more|most|less|least|clearer)\b")
_STRIP = " .,;\"'()[]<>-?"


@dataclass(frozen=True)
class Phrase:
    """A verdict found in a clause: where, for which choice, in brackets as `[[A]]`, on one quality only."""

    start: int
    choice: str
    bracketed: bool
    partial: bool


def plain_choice(value: object) -> str | None:
    """A, B or tie, in any case and with spaces around; None for anything else."""
    return _PLAIN.get(value.strip().lower()) if isinstance(value, str) else None


def exact_choice(value: str) -> str | None:
    """The choice of a value that is one response or a tie and nothing else."""
    bare = value.strip(_STRIP).rstrip("!")
    if bare.startswith("!"):
        bare = "@" + bare[1:] if bare[1:] in ("a", "b") else "tie" if bare == "!t" else bare
    if bare in ("@a", "@b"):
        return _CHOICES[bare[1]]
    if re.fullmatch(r"@[ab] ?=+ ?@[ab]", bare) or _TIE_ALONE.fullmatch(bare):
        return "tie"
    return None


def value_choice(value: str) -> str | None:
    """The choice of a value that states one, with or without its reason: "B, because it is clearer"."""
    choice = exact_choice(value)
    if choice is not None:
        return choice
    head = _HEAD.match(value)
    if head is not None:
        side, rest = head.group(1), value[head.end() :]
        corrections = [correction.end() for correction in _CORRECTS.finditer(rest)]
        if corrections:
            return value_choice(rest[corrections[-1] :])
        if _NO_REASON.match(rest) or _IN_TURN.search(rest):
            return None
        if _REASON.match(rest) and not re.search(rf"@{_OTHER[side]} ?[:(=-]", rest):
            return _CHOICES[side]
    tie = _TIE_THEN.match(value)
    if tie is not None:
        return None if _CONTRAST.search(value, tie.end()) else "tie"
    choices = {phrase.choice for phrase in find_phrases(value)}
    return choices.pop() if len(choices) == 1 else None


def corrected(line: str) -> str | None:
    """The choice of a line that begins with a correction: "Wait, no: B"."""
    match = _CORRECTS.match(line)
    return None if match is None else exact_choice(match.string[match.end() :])


def hedged_tie(value: str) -> bool:
    """Whether a value begins as a tie and then leans to one side."""
    tie = _TIE_THEN.match(value)
    return tie is not None and _CONTRAST.search(value, tie.end()) is not None


def find_phrases(clause: str) -> list[Phrase]:
    """The verdicts that a clause states, in its order; none where it only asks, supposes or denies."""
    if _OPEN.search(clause) or _NOT_HELD.search(clause):
        return []
    hedge = _HEDGE.search(clause)
    until = len(clause) if hedge is None else hedge.start()
    phrase_at: dict[int, Phrase] = {}
    for pattern, straight in _PHRASES:
        for match in pattern.finditer(clause):
            side = match.group(1)
            letter = side[-1] if straight else _OTHER[side[-1]]
            if match.start() < until:
                phrase_at.setdefault(
                    match.start(1),
                    Phrase(match.start(), _CHOICES[letter], side[0] == "!", _PARTIAL.search(match.group()) is not None),
                )
    for match in _TIES.finditer(clause):
        denied = _NO_TIE.search(clause, max(0, match.start() - 12), match.end()) or (
            hedge is not None and hedge.start() < match.start()
        )
        if not denied:
            phrase_at.setdefault(match.start(), Phrase(match.start(), "tie", False, False))
    return sorted(phrase_at.values(), key=lambda phrase: phrase.start)
