"""A reply becomes one category per dimension: a rating, a risk level, a label; see `reading` for the forms."""

import re
import string
from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Final

from mrb_lib.replies.forms import FormReader, Statement, ValueReader, last_verdict
from mrb_lib.replies.names import DimensionNames, names_of
from mrb_lib.replies.reading import Reading, read_reply
from mrb_lib.replies.text import HEDGES, plainly_written, without_emphasis, words

_NUMERIC: Final = re.compile(r"[+-]?\d{1,9}(?:\.\d{1,9})?")
_NUMBERS: Final = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_LEAD: Final = (
    r"[\s\"'(\[<\u2b50]*(?:(?:(?-i:an?)(?=\s\w)|the|as|at(?!\s\w+\srisk)|of|option|category|choice|answer|rating|rated|class"
    r"|level|grade|score|clearly|therefore|thus|overall|it|is|be|to|my|final|best)\b[\s\"'(\[<:#]*){0,5}?"
)
_TAIL: Final = re.compile(
    r"(?i)[\s\"')\]>*]*(?:\Z|[!.,;)\]}>|\n](?!\d)|-\s|\s-+\s|\((?!s\)))"
    r"|\s+(?:because|since|due|given|for|with|overall|based|considering|though|although|but|while|stars?|points?|rating"
    r"|label|here)\b"
)
_HEDGES: Final = r"(?:maybe|perhaps|possibly|even|the|or|and|but|option)"
_NOT_IT: Final = (
    r"[\s\"')\]>,;(\[:-]*(?:(?:incorrect|wrong|rejected)\W*\Z|\u274c|\?)"
    r"|[\s\"')\]>:-]*(?:not\b|isn't|would be|unlikely)|[\s,;(.-]*no[.,!]"
    r"|[\s\"')\]>]{0,8}(?:[-~/|&,;+]\s?(?!\s?(?:because|since|the|it)\b)|\bto\b|\bor\b|\band\b|\bvs\b\.?|\bat best\b|\n"
    rf"|\.{{2,3}}|\.\s(?=maybe|perhaps|or\b))[\s\"'(\[<-]{{0,8}}(?:{_HEDGES}\s+)*(?:$RIVAL)"
    r"|[\s,;]{0,3}\b(?:maybe|perhaps|possibly|leaning|almost|up to|if not|or (?:higher|lower|more|less)|at best"
    r"|according)\b|\sfor [^.;\n]{0,60}[,;] ?(?:$RIVAL)"
)
_OUT_OF: Final = re.compile(
    r"(?i)\s*(?:/|\(?\s*(?:out\s+)?of)\s*(?P<top>\d+(?:\.\d+)?|\w+)"
    r"|.{0,40}\bscale (?:of|from) \w+ ?(?:to|-) ?(?P<to>\w+)|.{0,40}?\b(?P<points>\d+)-point\b"
)
_CHANGED: Final = re.compile(r"(?i)(?<=\S\s)(?:no\s?[,.:]|actually\b|correction\b)[\s,.:;]*(?=\S)")
_NOUN: Final = words(
    "rating score level category classification class label grade verdict answer choice judge?ment assessment "
    "decision result conclusion option relation(?:ship)?"
)
_BEGINNING: Final = words(
    "so the my our overall final most appropriate correct assigned risk harm quality safety i would think conclude "
    "selected in conclusion given is a"
)
_THING: Final = words(
    "response answer statement hypothesis pair relation(?:ship)? output error summary case reply explanation level risk"
)
_SUBJECT: Final = rf"(?:(?:this|that)(?: {_THING})?|it|the (?:ai )?{_THING})"
_VERB: Final = words(
    "rate rated classify classified categori[sz]ed? label assign assigned give choose chose select pick scored judge "
    "grade mark consider call deem say go_with falls_under belongs_to deserves earns"
)
_OBJECT: Final = words(
    "this it its the that response answer pair overall as to in under be of a an with category is score"
)
_ANNOUNCES: Final = re.compile(
    r"(?:\A|(?<=[.!?;:,] )|(?<=\n)|\b(?:so|and|thus|therefore|hence|that) )(?:"
    rf"(?P<label>(?:{_BEGINNING}[\s,]{{1,2}}){{0,5}}{_NOUN}s?(?: (?:for|of|on) (?:the |this )?\w+){{0,2}}"
    r"(?: ?[(\[][^()\[\]]{0,60}[)\]])?(?: (?:from|on|out of) [^:=\n]{1,30}(?=[:=]))?"
    r"\s?(?:[:=]{1,2}|->|-(?=\s)|\s(?:is|was|would be|should be|remains)\b[: ]?|(?=\s\d)))"
    rf"|(?P<verb>(?:[^.!?;\n]{{0,60}}\b)?(?:{_VERB}|score(?= (?:this|it|the)\b))(?: {_OBJECT}){{0,6}}\s)"
    rf"|(?P<is>(?:\w+,? ){{0,3}}{_SUBJECT} (?:is|was|seems|poses|remains)\s|(?:\w+,? ){{0,3}}(?:it|this)'s\s"
    r"|overall,\s))",
    re.IGNORECASE,
)
_NOT_ITS_VERDICT: Final = re.compile(
    rf"(?i)\b(?:{words(HEDGES)}|neither|unlikely|less than|more than|at least|between|had|first (?:considered|thought)"
    r"|would have|possible|highest|maximum|worst|tumou?r|lesion|pain|without|too)\b|n't\b"
)
_REST: Final = 200  # characters after a category that may take it back
_NEAR: Final = 1_000  # characters of a sentence that are read before and after what announces a category


def marks_of(categories: Sequence[str]) -> tuple[str, ...]:
    """Return the marks by which a prompt names categories: themselves if one letter or digit each, else A, B, C."""
    if not categories or len(set(categories)) < len(categories) or not all(name.strip() for name in categories):
        raise ValueError("categories are listed once each, and none is blank")
    if all(len(name) == 1 and name.isascii() and name.isalnum() for name in categories):
        return tuple(categories)
    if len(categories) > len(string.ascii_uppercase):
        raise ValueError(f"{len(categories)} categories; letters can mark {len(string.ascii_uppercase)}")
    return tuple(string.ascii_uppercase[: len(categories)])


class Scale(ValueReader):
    """The categories of a benchmark as replies name them: by text, by mark, by number; see `forms.ValueReader`."""

    def __init__(self, categories: Sequence[str]) -> None:
        self.categories, self.marks = tuple(categories), marks_of(categories)
        self.numeric = all(_NUMERIC.fullmatch(name) for name in categories)
        self._forms: dict[str, str | None] = {}
        for mark, name in zip(self.marks, categories, strict=True):
            for form in {mark, name, name.strip(), mark.casefold(), name.strip().casefold(), _loose(name)}:
                self._forms[form] = name if self._forms.get(form, name) == name else None
        for name in categories:  # what is written exactly means itself
            self._forms[name] = name if name not in self.marks or self.marks == self.categories else self._forms[name]
        for number, word in enumerate(_NUMBERS if self.numeric else ()):
            self._forms.setdefault(word, self._number(str(number)))
        spelt = [r"[\s_-]+".join(map(re.escape, re.split(r"[\s_-]+", name.strip()))) for name in categories]
        spelt.sort(key=len, reverse=True)
        numbers = [r"[+-]?\d+(?:[.,]\d+)*", *_NUMBERS] if self.numeric else []
        text = rf"(?<![\w.,/])(?<!\d-)(?:{'|'.join([*spelt, *numbers])})(?!\w|'\w|-\w|[.,:]\d|%|\s?percent)"
        mark = rival = "(?!)"
        if self.marks != self.categories:
            letters = f"[{''.join(self.marks)}]"
            rival = rf"(?<!\w)(?-i:{letters})(?![\w'])"
            mark = (
                rf"(?<!\w)(?:(?-i:{letters})|{letters}(?=\W*\Z))(?![\w+*/&-])"
                r"(?!\s(?!(?:because|since|as|due|given|for|with|is|was|stars?|points?)\b)[a-z]{2})"
            )
        self._start = re.compile(
            rf"{_LEAD}(?:(?P<mark1>{mark})[\"')\].:,\s=-]{{1,6}}[(\[\"']?(?P<name1>{text})"
            rf"|(?P<name2>{text})\s?[(\[]{{1,2}}(?:option\s)?(?P<mark2>{mark})[)\]]{{1,2}}|(?P<name>{text})|(?P<mark>{mark}))",
            re.IGNORECASE,
        )
        self._names = re.compile(text, re.IGNORECASE)
        self._not_it = re.compile(_NOT_IT.replace("$RIVAL", f"{text}|{rival}"), re.IGNORECASE)

    def exact(self, value: object) -> str | None:
        """Return the category that a value is: its text or its mark in any case, or its number."""
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return None
        text = str(value).strip()
        forms = (str(value), text, text.casefold(), _loose(text))
        return next((self._forms[form] for form in forms if form in self._forms), self._number(text))

    def value(self, text: str) -> str | None:
        """Return the category that a value states, or None where it names several or takes it back."""
        if (exact := self.exact(text)) is not None:
            return exact
        line = without_emphasis(plainly_written(text)).removeprefix("->").strip(" \t\n:=")
        changed = _CHANGED.search(line)
        if changed and (final := self.exact(line[changed.end() :].strip(" ."))):
            return final
        begins = self._start.match(line[: 400 + 2 * max(map(len, self.categories))])
        if begins is None:
            return None
        rest = line[begins.end() : begins.end() + _REST]
        if self.numeric and (scale := _OUT_OF.match(rest)):
            if self.exact(scale["top"] or scale["to"] or scale["points"]) != max(self.categories, key=Decimal):
                return None
            rest = rest[scale.end() :] if scale["top"] else rest
        named = [text for text in begins.groupdict().values() if text]
        ends = _TAIL.match(rest) or (len(named) == 2 and rest.startswith(": "))
        if self._not_it.match(rest) or not ends or (begins["mark"] and re.match(r"\.\s[a-z]", rest)):
            return None
        meant = set(map(self.exact, named))
        return meant.pop() if len(meant) == 1 else None

    def sentences(self, line: str, names: DimensionNames) -> Iterator[Statement]:
        """Yield what the sentences of a line announce: "I would rate this 4", "It is low risk", "[[4]]"."""
        line = without_emphasis(plainly_written(line))
        if len(bracketed := set(re.findall(r"\[\[ ?([^\[\]]+?) ?\]\]", line))) == 1:
            line = f"verdict: {bracketed.pop()}"
        at, is_stated = 0, False
        while (said := _ANNOUNCES.search(line, at)) is not None:
            at = max(said.end(), at + 1)
            before = line[max(said.start() - _NEAR, 0) : said.end()].rstrip(": ")
            clause = re.split(r"[.!?;:]\s|\b(?:but|so|therefore|hence|yet)\b|\brather,", before)[-1]
            if _NOT_ITS_VERDICT.search(clause) or line.rstrip().endswith("?"):
                continue
            rest = re.split(r"[.!?]\s+(?=[A-Z])", line[said.end() : said.end() + _NEAR])[0]
            if names.pattern is not None and (object_named := names.pattern.match(rest)):
                clause, rest = object_named.group(), rest[object_named.end() :]
            category, about = self.value(rest), names.named_in(clause)
            name = about[-1] if about else names.only
            if name is not None and (category is not None or said["label"]):
                is_stated = True
                yield Statement({name: category}, firm=said["is"] is None)
        if not is_stated and names.only is not None and (last := self._last_sentence(line)) is not None:
            yield Statement({names.only: last}, firm=False)

    def _last_sentence(self, line: str) -> str | None:
        """Return the category that is a line's last sentence by itself: "It is not mentioned. Neutral."."""
        sentences = re.split(r"[.!]\s", line.rstrip(" .!"))
        if self.numeric or len(sentences) < 2 or len(sentences[-2].split()) < 3 or sentences[-1].strip() in self.marks:
            return None
        named = set(map(self.exact, self._names.findall(line)))
        return named.pop() if len(named) == 1 and self.exact(sentences[-1]) in named else None

    def _number(self, text: str) -> str | None:
        stated = Decimal(text) if self.numeric and _NUMERIC.fullmatch(text) else None
        return next((name for name in self.categories if stated is not None and Decimal(name) == stated), None)


def _loose(name: str) -> str:
    return " ".join(part for part in re.split(r"(?<=[^\W_])[\s_-]+(?=[^\W_])|\s+", name.strip()) if part).casefold()


_scale_of = lru_cache(maxsize=64)(Scale)


def parse_categories(
    reply: str, dimensions: Sequence[str], categories: Sequence[str], *, is_cut_off: bool = False
) -> Reading:
    """Read the categories in a judge's reply.

    Parameters
    ----------
    categories : of the benchmark, in its order; a prompt names them by `marks_of`

    Returns
    -------
    Reading
        A category or None per dimension. No number is rounded to a category, and nothing copied between dimensions.
    """
    scale = _scale_of(tuple(categories))
    return read_reply(reply, FormReader(names_of(tuple(dimensions)), scale), _weighed, is_cut_off=is_cut_off)


def _weighed(stated: Sequence[Statement], asked: Sequence[str]) -> dict[str, str]:
    """Return the last verdict, without remarks in passing where these contradict each other."""
    passing = {choice for one in stated if not one.firm and len(one.choices) == 1 for choice in one.choices.values()}
    return last_verdict([one for one in stated if one.firm or len(passing) < 2], asked)
