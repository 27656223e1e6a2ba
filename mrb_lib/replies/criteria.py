"""A judge's reply to a rubric becomes one decision a criterion: met, not met, or none."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from mrb_lib.replies.categories import LONGEST_REPLY, reading_of
from mrb_lib.replies.names import DimensionNames, Role, names_of, word_set
from mrb_lib.replies.objects import read_objects
from mrb_lib.replies.reading import Reading, ending_object, segments, sole_object
from mrb_lib.replies.scale import marked_up
from mrb_lib.replies.text import plainly_written, without_thinking

MET: Final = "met"
NOT_MET: Final = "not met"

_PLAIN: Final = {
    **dict.fromkeys(("met", "yes", "y", "true", "1", "satisfied", "fulfilled", "pass", "passed"), MET),
    **dict.fromkeys(
        ("not met", "unmet", "no", "n", "false", "0", "not satisfied", "not fulfilled", "fail", "failed"), NOT_MET
    ),
}
_SIGNS: Final = dict.fromkeys("✓✔✅☑", MET) | dict.fromkeys("✗✘❌✕", NOT_MET)
_MET_WORDS: Final = r"(?:met|satisfied|fulfilled|achieved|present|passed)"
_DECISION: Final = re.compile(
    r"[\s\"'(\[<:=-]{0,8}(?:(?:the|this|it|criterion|is|are|was|has|have|been|clearly|fully|decision|verdict|answer"
    r"|result|status)\b"
    r"[\s\"'(\[<:=-]{0,8}){0,6}?(?:"
    rf"(?P<no>not\s(?:been\s)?{_MET_WORDS}|not_met|unmet|unsatisfied|unfulfilled|absent|missing|fail(?:ed"
    rf"|s)?|no|n|false|0"
    r"|[✗✘❌✕])"
    rf"|(?P<yes>{_MET_WORDS}|pass(?:es)?|yes|y|true|1|[✓✔✅☑]))(?![\w+%/'-])(?![.,]\d)",
    re.IGNORECASE,
)
_TAIL: Final = re.compile(
    r"[\s\"'*]*(?:\Z|[.,;:!)\]}|\n-])|\s*\(|\s(?:because|since|as|due|but|although|for|with|in|it|the"
    r"|this|here|overall)\b",
    re.IGNORECASE,
)
_OTHER: Final = re.compile(
    r"[\s\"']*(?:[|/]|or\b)[\s\"']*(?:not|no|yes|met|unmet|true|false|[yn]\b|[01]\b|[✓✔✗✘])", re.IGNORECASE
)
_PARTLY: Final = re.compile(
    r"\b(?:partial(?:ly)?|partly|somewhat|mostly|unclear|n/a|not applicable|cannot|maybe|perhaps|possibly"
    r"|probably|almost"
    r"|to some extent|in part|half|not (?:entirely|fully|completely|quite|really)|unsure|uncertain)\b",
    re.IGNORECASE,
)
_KEY: Final = re.compile(
    r"[^\w]{0,8}(?:(?:criterion|criteria|crit|item|point|rubric|c)[\s_#.:-]{0,3}(\d{1,3})(?![^\W_])"
    r"|(\d{1,3})(?=\s*\Z|[.):\]](?!\d)|\s-\s|_))",
    re.IGNORECASE,
)
_LABEL: Final = re.compile(
    r"(?<![\w.,/-])(?:"
    r"(?P<word>(?:criterion|criteria|crit|item|point|rubric|c)[\s_#.-]{0,3}(?P<of>\d{1,3})(?:\s?\([^()]{0,200}\))?"
    r"\s?(?:[.):\]=|]{1,3}|->|-\s|\s(?=(?:is|was|has|not|un)?\s?(?:met|satisfied|fulfilled|been|not)\b)|(?=\Z)))"
    r"|#?(?P<bare>\d{1,3})(?:[.)](?![\d.])|\s?(?:[:\]=|]|->)|\s-\s))",
    re.IGNORECASE,
)
_GROUP: Final = re.compile(
    r"\bcriteria\s(?P<numbers>\d{1,3}(?:(?:,\s?and\s|,\s?|\sand\s|\s?&\s?)\d{1,3}){1,99})\s(?:are|were"
    r"|have been)\s(?:all\s)?"
    rf"(?P<not>not\s)?(?:{_MET_WORDS}|(?P<unmet>unmet))\b",
    re.IGNORECASE,
)
_ALL: Final = re.compile(
    rf"\W*(?:(?P<all>all)|(?P<none>none)) (?:of )?(?:the )?(?:\w+ )?criteria (?:are|were|have been"
    rf"|is) {_MET_WORDS}\W*",
    re.IGNORECASE,
)
_PARTS: Final = re.compile(r":\s|\s-\s|->|=>|\||\(|\)|\.\s")
_ECHO: Final = re.compile(
    r"\b(?:met|yes|y|true|1)\s?(?:[/|]|\bor\b)\s?(?:not met|unmet|no|n|false|0)\b"
    r"|\b(?:no|not met)\s?(?:[/|]|\bor\b)\s?(?:yes|met)\b",
    re.IGNORECASE,
)
_LIST: Final = re.compile(r"\[([^\[\]{}]{0,4000})\]")
_VERDICT_KEYS: Final = word_set(
    "met satisfied fulfilled passed pass decision verdict result answer status judgment label is"
)
_SUBJECT_KEYS: Final = word_set("criterion criteria id number index item name")
_SHORT: Final = 60  # characters at the beginning of a value in which a decision may be taken back


class _CriterionNames(DimensionNames):
    """The criteria by number, among the keys of an object."""

    def role(self, key: str) -> tuple[Role, str | None]:
        """What a key is about: `1`, `C1` and `criterion_1` are criteria, `met` is a verdict."""
        number = _KEY.match(key[:200])
        if number is not None:
            name = str(int(number[1] or number[2]))
            return ("dimension", name) if name in self.asked else ("other", None)
        words = set(re.findall(r"[^\W_]+", key[:200].lower()))
        if words and words <= _SUBJECT_KEYS:
            return "subject", None
        return ("verdict" if words and words <= _VERDICT_KEYS | _SUBJECT_KEYS else "none"), None


@lru_cache(maxsize=64)
def _criteria(n: int) -> _CriterionNames:
    names = names_of(tuple(str(number) for number in range(1, n + 1)))
    return _CriterionNames(names.asked, names.by_loose, None)


def parse_criteria(reply: str, n: int) -> Reading:
    """Read which of `n` criteria a judge's reply calls met.

    Parameters
    ----------
    reply : any text; what the model thought aloud before its answer is left out
    n : how many criteria the prompt numbers, from 1

    Returns
    -------
    Reading
        Its choices map "1" to str(n) to `met`, `not met`, or None: undecided, partly met, or decided twice differently.
        `ok`: one valid JSON object with a plain decision (met, yes, true, 1 and their opposites) for every number,
        alone, in a code fence or after reasons, or a list of n of them. `repaired`: read with leniency or without all
        criteria.

    Raises
    ------
    ValueError
        `n` is less than 1.

    Notes
    -----
    Never raises on any reply, and takes time proportional to its length. Validated by tests/replies/test_criteria.py.
    """
    if n < 1:
        raise ValueError("no criterion is asked")
    names = _criteria(n)
    answer = without_thinking(reply).strip()
    clean = _clean(answer, names)
    if clean is not None:
        return Reading(clean, "ok")
    text = plainly_written(answer)[-LONGEST_REPLY:]
    spans = read_objects(text, names, decision)
    ending = ending_object(answer, text, spans)
    clean = None if ending is None else _clean(ending, names)
    if clean is not None:
        return Reading(clean, "ok")
    decided: dict[str, set[str | None]] = {}
    for before, span in segments(text, spans):
        pairs = list(_prose(marked_up(before), names))
        pairs += (
            [pair for statement in span.statements for pair in statement.choices.items()] if span is not None else []
        )
        for name, stated in pairs:
            decided.setdefault(name, set()).add(stated)
    if not decided:
        decided = {name: {stated} for name, stated in _sequence(marked_up(text), names.asked)}
    choices = {name: next(iter(said)) if len(said := decided.get(name, {None})) == 1 else None for name in names.asked}
    return reading_of(answer, choices)


def decision(text: str) -> str | None:
    """The decision with which a value begins; None where it is partial, hedged, or names both."""
    text = marked_up(text).strip()
    found = _DECISION.match(text)
    if found is None:
        return None
    rest = text[found.end() : found.end() + _SHORT]
    if (
        _PARTLY.search(text[: found.end()])
        or _PARTLY.match(rest.lstrip(" ,;:(-"))
        or _OTHER.match(rest)
        or not _TAIL.match(rest)
    ):
        return None
    stated = MET if found["yes"] else NOT_MET
    rest = rest.lstrip(" ,;:.)(-")
    after = _DECISION.match(rest)
    contradicted = after is not None and (after["yes"] is None) != (found["yes"] is None)
    return None if after is not None and contradicted and _TAIL.match(rest[after.end() :]) else stated


def _plain(value: object) -> str | None:
    """The decision that a value of JSON is."""
    if isinstance(value, bool) or (isinstance(value, int) and value in (0, 1)):
        return MET if value else NOT_MET
    return _PLAIN.get(" ".join(value.lower().replace("_", " ").split())) if isinstance(value, str) else None


def _clean(answer: str, names: _CriterionNames) -> dict[str, str | None] | None:
    """The decisions of an answer that needs no leniency, else None."""
    if len(names.asked) == 1 and _plain(answer) is not None:
        return {"1": _plain(answer)}
    stated = sole_object(answer)
    if stated is None:
        pairs = _listed(answer, names.asked)
    else:
        pairs = [(name, _plain(value)) for key, value in stated.items() if (name := names.role(key)[1]) is not None]
    choices = dict(pairs)
    if len(choices) < len(pairs) or any(choices.get(name) is None for name in names.asked):
        return None
    return {name: choices[name] for name in names.asked}


def _listed(answer: str, asked: Sequence[str]) -> list[tuple[str, str | None]]:
    """The decisions of a JSON list with one for each criterion, in order."""
    try:
        values = json.loads(re.sub(r"\A```(?:json)?\s|\s```\Z", "", answer))
    except (ValueError, RecursionError):
        return []
    if not isinstance(values, list) or len(values) != len(asked):
        return []
    return [(name, _plain(value)) for name, value in zip(asked, values, strict=True)]


def _prose(text: str, names: _CriterionNames) -> Iterator[tuple[str, str | None]]:
    """The criteria that lines number, each with its decision; one that waits has it on a line of its own."""
    waiting: str | None = None
    for line in filter(str.strip, text.split("\n")):
        yield from _grouped(line, names)
        labels = _labels(line)
        if not labels:
            stated = _said(line.strip(" -+•>#|"))
            if waiting is not None and stated is not None:
                yield waiting, stated
                waiting = None
            continue
        waiting = None
        for label, following in zip(labels, [*labels[1:], None], strict=True):
            value = line[label.end() : None if following is None else following.start()].strip(" ,;|")
            name = str(int(label["of"] or label["bare"]))
            stated = _said(value)
            if name not in names.asked:
                continue
            if stated is not None or _PARTLY.search(value) is not None:
                yield name, stated
            else:
                waiting = name


def _labels(line: str) -> list[re.Match[str]]:
    """The numbers of criteria that a line begins with or lists: a bare one inside it continues the count."""
    labels: list[re.Match[str]] = []
    for label in _LABEL.finditer(line):
        if label["bare"] is None or not line[: label.start()].strip(" -+•>#|*("):
            labels.append(label)
        elif labels and int(label["bare"]) == int(labels[-1]["of"] or labels[-1]["bare"]) + 1:
            between = line[labels[-1].end() : label.start()]
            if between.rstrip()[-1:] in (",", ";", "|") or decision(between) is not None:
                labels.append(label)
    return labels


def _said(value: str) -> str | None:
    """The decision of what follows a number: it begins with one, or one follows the criterion's own words."""
    stated = {decision(value)} | {_PLAIN.get(part.strip(" .!\"'*").lower()) for part in _PARTS.split(value)}
    stated |= {_SIGNS.get(part.strip()) for part in _PARTS.split(value)}
    stated.discard(None)
    if len(stated) != 1 or _ECHO.search(value) is not None:
        return None
    return None if _PARTLY.search(value[:_SHORT]) is not None and decision(value) is None else stated.pop()


def _grouped(line: str, names: _CriterionNames) -> Iterator[tuple[str, str | None]]:
    """What a sentence says of several criteria at once."""
    for group in _GROUP.finditer(line):
        for number in re.findall(r"\d+", group["numbers"]):
            if str(int(number)) in names.asked:
                yield str(int(number)), NOT_MET if group["not"] or group["unmet"] else MET
    whole = _ALL.fullmatch(line)
    if whole is not None:
        yield from ((name, MET if whole["all"] else NOT_MET) for name in names.asked)


def _sequence(text: str, asked: Sequence[str]) -> list[tuple[str, str | None]]:
    """Decisions without numbers, as many as criteria and nothing besides: "Y/N/Y", "[met, not met]"."""
    lists = _LIST.findall(text)
    body = (lists[-1] if lists else text).strip(" \n\t.`\"'()")
    for separator in (r"\s*[,;/|\n]\s*", r"\s+"):
        parts = [part.strip(" .\"'-") for part in re.split(separator, body)]
        if len(parts) == len(asked):
            stated = [_PLAIN.get(" ".join(part.lower().split())) or _SIGNS.get(part) for part in parts]
            if None in stated or (re.search(r"[/|]", body) is not None and stated == [MET, NOT_MET]):
                return []
            return list(zip(asked, stated, strict=True))
    return []
