"""A reply to a rubric becomes one decision per criterion: met, not met, or none; see `reading` for the forms."""

import json
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from mrb_lib.replies.forms import FormReader, Statement, ValueReader
from mrb_lib.replies.names import DimensionNames
from mrb_lib.replies.reading import Reading, read_reply, reading_of
from mrb_lib.replies.text import LONGEST, plainly_written, without_emphasis, without_thinking

MET: Final = "met"
NOT_MET: Final = "not met"

_MET: Final = r"(?:met|satisfied|fulfilled|achieved|present|passed|yes|y|true|1|pass|[\u2713\u2714\u2705\u2611])"
_NOT: Final = (
    r"(?:not\s(?:been\s)?(?:met|satisfied|fulfilled|achieved)|not_met|unmet|absent|missing|no|n|false|0|fail(?:ed|s)?"
    r"|[\u2717\u2718\u274c\u2715])"
)
_DECISION: Final = re.compile(
    rf"(?i)\s*(?:(?:it|this|criterion|is|was|has been|verdict|answer)\b[\s:]*){{0,3}}(?:(?P<no>{_NOT})|(?P<yes>{_MET}))"
    r"(?![\w+%/'-])(?![.,]\d)(?=[\s\"']*(?:\Z|[.,;:!)\]}]|-)|\s*\(|\s(?:because|since|as|due|but|for|with|the|it)\b|\s\s?\Z)"
)
_WHOLE: Final = re.compile(rf"(?i)\W*(?:{_NOT}|{_MET})\W*")
_PARTLY: Final = re.compile(
    r"(?i)\b(?:partial|partly|somewhat|mostly|unclear|n/a|cannot|maybe|perhaps|possibly|probably|almost|half|unsure|fully"
    r"|entirely|completely|quite)|/|\bor\b"
)
_LABEL: Final = re.compile(
    r"(?i)(?<![\w.,/-])(?:(?:criterion|crit|item|point|c)[\s_#.-]{0,3}(?P<of>\d{1,3})(?:\s?\([^()]{0,200}\))?\s?"
    r"(?:[.):\]=|-]{1,2}|(?=\s(?:is|was|has|not)\b)|(?=\s*\Z))"
    r"|#?(?P<bare>\d{1,3})(?:[.)](?![\d.])|\s?[:\]=]|\s-\s))"
)
_GROUP: Final = re.compile(
    rf"(?i)\bcriteria\s(?P<n>\d{{1,3}}(?:(?:,\s?(?:and\s)?|\sand\s)\d{{1,3}})+)\sare\s(?:(?P<no>not met|unmet)|{_MET})"
)
_ALL: Final = re.compile(rf"(?i)\W*(?:(?P<all>all)|none) (?:of )?(?:the )?criteria (?:are|were|have been) {_MET}\W*")
_NEAR: Final = 60  # characters at the beginning of a value in which a decision may be hedged


@lru_cache(maxsize=64)
def _names(n: int) -> DimensionNames:
    """Return the criteria by number: `1`, `C1`, `criterion_1`."""
    asked = tuple(str(number) for number in range(1, n + 1))
    nouns = ("", "c", "crit", "criterion", "criteria", "item", "point")
    return DimensionNames(asked, {f"{noun}{number}": number for noun in nouns for number in asked}, None)


class _DecisionReader(ValueReader):
    """Reads met and not met; see `mrb_lib.replies.forms.ValueReader`."""

    def exact(self, value: object) -> str | None:
        """Return the decision that a value of JSON is without any reason."""
        text = str(value) if isinstance(value, bool | str | int) else ""
        return self.value(text) if len(text) < 14 else None

    def value(self, text: str) -> str | None:
        """Return the decision with which a value begins; None where it is partial, hedged, or names both."""
        value = without_emphasis(plainly_written(text)).strip(" \t\n\"'()[]<>.,;!-")
        found = _DECISION.match(value)
        if found is None or _PARTLY.search(value[: found.end() + 20]):
            return None
        after = _DECISION.match(value[found.end() :].lstrip(" ,;:.)(-"))
        if after is not None and (after["yes"] is None) != (found["yes"] is None):
            return None
        return MET if found["yes"] else NOT_MET


_DECISIONS: Final = _DecisionReader()


def parse_criteria(reply: str, n: int, *, is_cut_off: bool = False) -> Reading:
    """Read the criteria that a judge's reply calls met.

    Parameters
    ----------
    reply : any text; what the model thought aloud before its answer is left out
    n : the number of criteria that the prompt numbers, from 1
    is_cut_off : see `parse`

    Returns
    -------
    Reading
        Its choices map "1" to str(n) to `met`, `not met`, or None: undecided, partly met, or decided twice differently.

    Raises
    ------
    ValueError
        `n` is less than 1.
    """
    if n < 1:
        raise ValueError("no criterion is asked")
    names, answer = _names(n), without_thinking(reply).strip()
    if (listed := _listed(answer)) is not None and len(listed) == n:
        answer = json.dumps(dict(zip(names.asked, listed, strict=True)))
    reading = read_reply(answer, _CriterionForms(names, _DECISIONS), _agreed, is_cut_off=is_cut_off)
    sequence = None if is_cut_off else _sequence(plainly_written(answer[-LONGEST:]), names)
    return reading_of(answer, sequence) if sequence and reading.status == "unparsed" else reading


def _agreed(stated: Sequence[Statement], asked: Sequence[str]) -> dict[str, str | None]:
    """Return the decisions on which all statements agree."""
    decided: dict[str, set[str | None]] = {}
    for statement in stated:
        for name, choice in statement.choices.items():
            decided.setdefault(name, set()).add(choice)
    return {name: each.pop() if len(each) == 1 else None for name, each in decided.items()}


def _listed(answer: str) -> list[object] | None:
    """Return the JSON list that an answer is, else None."""
    try:
        listed = json.loads(answer)
    except (ValueError, RecursionError):
        return None
    return listed if isinstance(listed, list) else None


class _CriterionForms(FormReader):
    """Reads the forms of all kinds, and lines that number the criteria."""

    def _add_lines(self, text: str, out: list[Statement]) -> None:
        super()._add_lines(text, out)
        out += self._numbered(text)

    def _numbered(self, text: str) -> Iterator[Statement]:
        """Yield the criteria that lines number, each with its decision, on the line or on one that follows."""
        waiting: str | None = None
        for line in filter(str.strip, without_emphasis(text).split("\n")):
            for group in _GROUP.finditer(line):
                stated = NOT_MET if group["no"] else MET
                asked = [number for number in re.findall(r"\d+", group["n"]) if number in self.names.asked]
                yield Statement(dict.fromkeys(asked, stated))
            if (whole := _ALL.fullmatch(line)) is not None:
                yield Statement(dict.fromkeys(self.names.asked, MET if whole["all"] else NOT_MET))
            labels = [match for match in _LABEL.finditer(line) if match["of"] or _may_begin(line[: match.start()])]
            alone = None if labels else self._read(re.sub(r"(?i)^\W*(?:verdict|decision|answer)\W+", "", line))
            if waiting and alone:
                yield Statement({waiting: alone})
                waiting = None
            for label, following in zip(labels, [*labels[1:], None], strict=bool(labels)):
                value = line[label.end() : None if following is None else following.start()].strip(" ,;|")
                name = str(int(label["of"] or label["bare"]))
                decided = self._read(value if _DECISION.match(value) else re.split(r":\s|\s-\s|\|", value)[-1])
                if name in self.names.asked and (decided or _PARTLY.search(value)):
                    is_hedged = _PARTLY.search(value[:_NEAR]) and not self._read(value)
                    yield Statement({name: None if is_hedged else decided})
                waiting = name if name in self.names.asked and decided is None else None


def _may_begin(before: str) -> bool:
    """Return True where a bare number after this text may be a criterion's: at the start or after a decision."""
    before = before.strip(" -+#|*(")
    follows = re.search(r"(?i)(?:correct\w*:|[,;.\u2705\u274c\u2713\u2717])\Z", before)
    return not before or follows is not None or _DECISIONS.value(before.split()[-1]) is not None


def _sequence(text: str, names: DimensionNames) -> dict[str, str | None]:
    """Return decisions without numbers, as many as criteria and nothing besides: "Y/N/Y", "[met, not met]"."""
    body = without_emphasis(text).strip(" \t\n\"'()[]<>.,;!-")
    for separator in (r"\s*[,;/|\n]\s*", r"\s+"):
        stated = [_DECISIONS.value(part) if _WHOLE.fullmatch(part) else None for part in re.split(separator, body)]
        if len(stated) != len(names.asked) or None in stated:
            continue
        if not (re.search("[/|]", body) and stated == [MET, NOT_MET]):
            return dict(zip(names.asked, stated, strict=True))
    return dict.fromkeys(names.asked)
