"""The same question in other words, or among words that have nothing to do with it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

import numpy as np

from mrb_lib.probes.probe import Case, Others, register_probe

_LONGEST: Final = 300  # characters of a sentence that rules are tried on
_NO_END: Final = re.compile(r"\b(?:e\.g|i\.e|etc|vs|cf|approx|dr|mr|mrs|ms|prof|st|fig|no|[a-z])\.\Z", re.IGNORECASE)
_GAPS: Final = re.compile(r"((?<=[.!?])\s+|\n+)")
_ARTICLE: Final = r"(?=(?:the|this|these|that|those|any|all|each|a|an|my|your|his|her|its|their|our)\b)"
_VERBS: Final = (
    "answer|assess|calculate|characterise|characterize|classify|compare|count|create|define|describe|design|detect|"
    "determine|develop|devise|discuss|edit|estimate|evaluate|explain|find|generate|give|identify|indicate|interpret|list|"
    "localise|localize|locate|mention|name|outline|point out|predict|provide|rank|recommend|report|specify|state|"
    "suggest|summarise|summarize|tell|translate|write"
)
_MATERIAL: Final = re.compile(r"\b(?:following|below|text|passage|paragraph|sentence)s?\b|:\s*\Z", re.IGNORECASE)
_RULES: Final = tuple(
    (re.compile(pattern), by)
    for pattern, by in (
        (rf"(?:Please describe|Describe) {_ARTICLE}(.+)", r"Give a description of \1"),
        (r"What (?:does|do) ((?:the|this|these|that|those) .+) (?:show|depict|reveal)\?", r"What is shown by \1?"),
        (r"How many (?!of\b|more\b|times\b|years\b|months\b|weeks\b|days\b|hours\b)([a-z].*\?)", r"What number of \1"),
        (
            r"Which (?!of|is|are|was|were|one|ones|do|does|did|can|could|should|would|will|has|have|way\b)([a-z].*\?)",
            r"What \1",
        ),
        (r"Why (is|are|was|were|do|does|did|should|would|can|could|has|have) (.+\?)", r"For what reason \1 \2"),
        (rf"(?:Can|Could|Would|Will) you (?:please )?({_VERBS}) ([^?]+)\?", r"Please \1 \2."),
        (rf"Please ({_VERBS}|look at) ([^?:]+)[.!]", r"Could you \1 \2?"),
    )
)
_IMPERATIVE: Final = re.compile(rf"({'|'.join(v.capitalize() for v in _VERBS.split('|'))}) ([^?:.!]+)[.!]")
_QUESTION: Final = re.compile(
    r"(?:(?:And|Also|So|But),? )?"
    r"((?:What|Which|Where|When|Who|Whose|Why|How|Is|Are|Am|Was|Were|Do|Does|Did|Can|Could|Should|Would|Will|Has|Have|"
    r"May|If(?! so| not| yes| no)|Because|Given|Since|In|On|At|For|From|With|After)\b(?:'s)? [^?]+\?)",
    re.IGNORECASE,
)
_LEADS: Final = ("I would like to know:", "Please answer this:", "Here is my question:")
_CHATTER: Final = (
    "The coffee machine on the second floor is out of order again.",
    "Two new chairs were put into the waiting room this morning.",
    "The lift in the east wing is being repaired until Friday.",
    "Somebody has left an umbrella at the reception desk.",
    "The canteen has put soup on the menu for today.",
    "The printer in the office was out of paper earlier.",
    "Parking near the main entrance was hard to find.",
    "The corridor lights were changed last week.",
    "A delivery of envelopes arrived shortly before noon.",
    "The clock above the door runs five minutes late.",
    "The windows of this room were cleaned yesterday.",
    "The telephone list is being updated at the moment.",
)
_HOW_MANY: Final = (1, 3, 6)


@register_probe("question/paraphrased", expected="same")
def paraphrased(case: Case, severity: int, rng: np.random.Generator, others: Others) -> Case | str:
    """Ask the same in other words, by rules that keep the meaning."""
    lead = _LEADS[int(rng.integers(len(_LEADS)))]
    question = reworded(case.question, lead)
    return replace(case, question=question) if question != case.question else "no rule fits its question"


@register_probe("question/distracted", expected="same", severities=len(_HOW_MANY))
def distracted(case: Case, severity: int, rng: np.random.Generator, others: Others) -> Case | str:
    """Put sentences that have nothing to do with it before the question: 1, 3 or 6."""
    order = rng.permutation(len(_CHATTER))
    if not case.question.strip():
        return "it has no question"
    chatter = " ".join(_CHATTER[i] for i in order[: _HOW_MANY[severity - 1]])
    return replace(case, question=f"{chatter} {case.question}")


def reworded(question: str, lead: str) -> str:
    """The question with the last sentence that a rule fits in other words; unchanged where none fits."""
    pieces = _GAPS.split(question)  # sentences at even places, what parts them at odd ones
    # What follows such a sentence may be what the question is about, and not a part of it.
    last = next((i for i in range(0, len(pieces), 2) if _MATERIAL.search(pieces[i][-_LONGEST:])), len(pieces) - 1)
    for i in range(last, -1, -2):
        if not _is_whole(pieces, i):
            continue
        sentence = _of_one(pieces[i], lead)
        if sentence is not None:
            return "".join((*pieces[:i], sentence, *pieces[i + 1 :]))
    return question


def _is_whole(pieces: list[str], i: int) -> bool:
    """Whether a piece is a sentence from its start to its end, outside of what is quoted."""
    before, piece, after = pieces[i - 2] if i else "", pieces[i], pieces[i + 2] if i + 2 < len(pieces) else ""
    if not 0 < len(piece) <= _LONGEST or after[:1].islower() or _NO_END.search(piece[-8:]):
        return False
    return not _NO_END.search(before[-8:]) and not any(mark in piece for mark in '"`“”{}<>|')


def _of_one(sentence: str, lead: str) -> str | None:
    for pattern, by in _RULES:
        if pattern.fullmatch(sentence):
            return pattern.sub(by, sentence)
    if found := _IMPERATIVE.fullmatch(sentence):
        return f"Could you {found[1].lower()} {found[2]}?"
    if found := _QUESTION.fullmatch(sentence):
        return f"{lead} {found[1][0].lower()}{found[1][1:]}"
    return None
