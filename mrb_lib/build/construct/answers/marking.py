"""Is an answer right? Rules that compare it with the reference: option, normalised text, number, set of findings.

Reading is lenient in form and strict in meaning: an answer that states no option, or several numbers, is wrong. A judge
that reads the reference marks what no rule finds right.
"""

import hashlib
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Final, Literal, get_args

import numpy as np
import pandas as pd
from pydantic import Field

from mrb_lib.build.construct.answers.answering import LETTERS
from mrb_lib.replies.text import plainly_written, without_thinking
from mrb_lib.tables.options import Option, checked_dataclass
from mrb_lib.tables.schema import ANSWERED_STATUSES

Rule = Literal["letter", "exact", "number", "set"]
Marking = Literal["auto", "letter", "exact", "number", "set", "judge"]

RULES: Final[tuple[str, ...]] = get_args(Rule)
NO_REFERENCE: Final = "no reference to mark against"
NO_OPTION: Final = "the reference is none of the options"
NOT_MARKED: Final = "no answer could be marked"

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_NOT_TEXT = re.compile(r"(?<!\d)[^\w\s%]|[^\w\s%](?!\d)|_")
_SEPARATOR = re.compile(r"[,;\n/]|\band\b", re.IGNORECASE)
_LETTER_ALONE = re.compile(r"\W*([A-Za-z])\W*")
_LETTER_FIRST = re.compile(r"\W*([A-Z])(?:[).:\]]|\s*[-*])|\W*([a-z])[)\]:]")
_LETTER_STATED = re.compile(
    r"\b(?i:answer|option|choice|choose|select|pick)\b(?:\s+(?:is|would be|should be))?\s*:?\s*"
    r"(?:(?i:option|choice|letter)\s*)?[(\[*\"']*([A-Z])\b(?!['\w])"
)
_NEGATIONS: Final = frozenset({"no", "not", "without", "exclude", "excluded", "excludes", "neither", "nor", "isn", "t"})
_NUMBER = re.compile(
    r"(?<![\w.])([-+]?\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?)\s*(%|[a-zA-Zµ]+)?(?![\d])", re.IGNORECASE
)
_WORDS: Final[Mapping[str, float]] = {
    "zero": 0.0, "one": 1.0, "two": 2.0, "three": 3.0, "four": 4.0, "five": 5.0, "six": 6.0, "seven": 7.0,
    "eight": 8.0, "nine": 9.0, "ten": 10.0, "eleven": 11.0, "twelve": 12.0,
}  # fmt: skip
_UNITS: Final[Mapping[str, tuple[str, float]]] = {
    "mm": ("m", 1e-3), "cm": ("m", 1e-2), "m": ("m", 1.0), "millimeters": ("m", 1e-3), "centimeters": ("m", 1e-2),
    "millimetres": ("m", 1e-3), "centimetres": ("m", 1e-2), "ml": ("l", 1e-3), "l": ("l", 1.0),
    "%": ("%", 1.0), "percent": ("%", 1.0),
}  # fmt: skip
_LONGEST_ELEMENT: Final = 4  # words of one element of a set; what is longer is a sentence


@checked_dataclass
class MarkOptions:
    """The rules by which answers are marked."""

    marking: Annotated[
        Marking,
        Option("Mark answers by this rule; auto takes for each item the one its reference suggests.", flag="mark"),
    ] = "auto"
    tolerance: Annotated[
        float, Field(ge=0, lt=1), Option("Let a number differ from the reference by this share.", "SHARE")
    ] = 0.05
    overlap: Annotated[float, Field(gt=0, le=1), Option("Count a set of findings as right from this F1 on.", "F1")] = (
        0.75
    )


def normalised(text: str) -> str:
    """A text without case, punctuation, articles and runs of spaces; points and signs within numbers stay.

    As in the evaluation of SQuAD (Rajpurkar et al. 2016, doi:10.18653/v1/D16-1264), after Unicode's form NFKC.
    """
    plain = _NOT_TEXT.sub(" ", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(_ARTICLES.sub(" ", plain).split())


def rule_of(reference: str, choices: Sequence[str] | None) -> Rule:
    """The rule that an item suggests: its options; a number; several findings; otherwise the text itself."""
    if choices is not None and len(choices):
        return "letter"
    if _number_of(reference) is not None:
        return "number"
    elements = [element for element in _SEPARATOR.split(reference) if element.strip()]
    if len(elements) > 1 and all(len(element.split()) <= _LONGEST_ELEMENT for element in elements):
        return "set"
    return "exact"


def chosen_option(answer: str, choices: Sequence[str]) -> int | None:
    """The place of the option that an answer states, from 0; None where it states none, or contradicts itself.

    An option is stated by its text alone, by its letter (alone, first, or after words such as "the answer is"; the last
    such statement counts), or by naming its text and no other option's.
    Validated by tests/build/construct/test_marking.py.
    """
    text = plainly_written(answer).strip()
    named = _by_text(text, choices)
    stated = _by_letter(text, len(choices))
    if stated is None:
        return named
    # "B. cystitis" where B is pneumonia states both.
    rest = normalised(text[1:].lstrip(").:] -*"))
    other = [i for i, option in enumerate(map(normalised, choices)) if option == rest]
    return None if other and stated not in other and len(rest) > 1 else stated


def _by_letter(text: str, n: int) -> int | None:
    alone, first = _LETTER_ALONE.fullmatch(text), _LETTER_FIRST.match(text)
    if alone is not None:
        letter = alone[1].upper()
    elif first is not None:
        letter = (first[1] or first[2]).upper()
    else:
        stated = _LETTER_STATED.findall(text)
        letter = stated[-1] if stated else ""
    place = LETTERS.find(letter) if letter else -1
    return place if 0 <= place < n else None


def _by_text(text: str, choices: Sequence[str]) -> int | None:
    whole, options = normalised(text), [*map(normalised, choices)]
    same = [i for i, option in enumerate(options) if option and option == whole]
    if same:
        return same[0] if len(same) == 1 else None
    words, found = f" {whole} ", set[int]()
    for i in sorted(range(len(options)), key=lambda i: -len(options[i])):
        # A single letter is no name of anything in a sentence.
        if len(options[i]) < 2:
            continue
        place = words.find(f" {options[i]} ")
        if place < 0:
            continue
        if _NEGATIONS & set(words[:place].split()[-3:]):
            return None
        found.add(i)
        words = words.replace(f" {options[i]} ", " | ")
    return found.pop() if len(found) == 1 else None


def _reference_option(reference: str, choices: Sequence[str]) -> int | None:
    whole = normalised(reference)
    same = [i for i, option in enumerate(map(normalised, choices)) if option == whole]
    return same[0] if same else _by_letter(reference.strip(), len(choices))


def is_same_text(answer: str, reference: str) -> bool:
    """Return whether two texts are the same once normalised; of an answer to yes or no the first word counts."""
    said, meant = normalised(answer), normalised(reference)
    return said == meant or (meant in ("yes", "no") and said.split(" ", 1)[0] == meant)


def is_same_number(answer: str, reference: str, tolerance: float) -> bool:
    """Return whether an answer states one number, and it is the reference's within a share of that.

    Where the reference has a unit and the answer has numbers with that kind of unit, only these count; millimetres
    and centimetres, millilitres and litres are converted.
    """
    meant = _number_of(reference)
    if meant is None:
        return False
    kind, value = meant
    stated = [_with_unit(match[1], match[2]) for match in _NUMBER.finditer(plainly_written(answer))]
    stated += [("", _WORDS[word]) for word in normalised(answer).split() if word in _WORDS]
    alike = [number for unit, number in stated if unit == kind] if kind else []
    if not alike and kind:
        # The question may have stated the unit: then a bare number has the reference's.
        scale = value / _bare(reference) if _bare(reference) else 1.0
        alike = [number * scale for unit, number in stated if not unit]
    numbers = set(alike if kind else [number for _, number in stated])
    return len(numbers) == 1 and abs(numbers.pop() - value) <= tolerance * abs(value) + 1e-12


def _bare(reference: str) -> float:
    match = _NUMBER.search(plainly_written(reference))
    return float(match[1].replace(",", "")) if match else 0.0


def _number_of(reference: str) -> tuple[str, float] | None:
    text = plainly_written(reference).strip().strip("~≈<>.").strip()
    match = _NUMBER.fullmatch(text)
    if match is not None:
        return _with_unit(match[1], match[2])
    return ("", _WORDS[text.casefold()]) if text.casefold() in _WORDS else None


def _with_unit(number: str, unit: str | None) -> tuple[str, float]:
    kind, scale = _UNITS.get((unit or "").casefold(), ((unit or "").casefold(), 1.0))
    return kind, float(number.replace(",", "")) * scale


def overlap_f1(answer: str, reference: str) -> float:
    """The F1 of two sets of findings, each the parts of a text between commas, semicolons, lines, slashes and "and"."""
    said, meant = _elements(answer), _elements(reference)
    return 2 * len(said & meant) / (len(said) + len(meant)) if said or meant else 0.0


def _elements(text: str) -> frozenset[str]:
    return frozenset(filter(None, map(normalised, _SEPARATOR.split(text))))


def mark_one(answer: str, reference: str, choices: Sequence[str] | None, options: MarkOptions) -> tuple[bool, Rule]:
    """Return whether an answer is right, and by which rule; see `mark` for those that cannot be marked."""
    rule = rule_of(reference, choices) if options.marking in ("auto", "judge") else options.marking
    if rule == "letter" and choices is not None and len(choices):
        meant = _reference_option(reference, choices)
        return meant is not None and chosen_option(answer, choices) == meant, "letter"
    if rule == "number":
        return is_same_number(answer, reference, options.tolerance), "number"
    if rule == "set":
        return overlap_f1(answer, reference) >= options.overlap, "set"
    return is_same_text(answer, reference), "exact"


def why_unmarked(reference: object, choices: Sequence[str] | None) -> str | None:
    """Why no answer to an item can be marked; None where they can."""
    if not isinstance(reference, str) or not reference.strip():
        return NO_REFERENCE
    if choices is not None and len(choices) and _reference_option(reference, choices) is None:
        return NO_OPTION
    return None


def mark(answers: pd.DataFrame, items: pd.DataFrame, options: MarkOptions) -> pd.DataFrame:
    """Mark answers by rule against the references of their items.

    Parameters
    ----------
    answers : `position` (the row of the item in `items`), `answer`, `status`
    items : `reference`, `choices`

    Returns
    -------
    DataFrame with the index of `answers`
        `correct` (1, 0; null where the item cannot be marked, or the model failed with an error), `marked_by` (the
        rule, or the status of an answer that is none: a refusal and an empty answer are wrong; null where nothing was
        marked).
    """
    references, choices = items["reference"].tolist(), items["choices"].tolist()
    markable = [why_unmarked(*one) is None for one in zip(references, choices, strict=True)]
    correct, marked_by = np.full(len(answers), np.nan), np.full(len(answers), None, dtype=object)
    rows = zip(*(answers[name].tolist() for name in ("position", "answer", "status")), strict=True)
    for row, (item, answer, status) in enumerate(rows):
        if not markable[item] or status == "error":
            continue
        if status not in ANSWERED_STATUSES:
            correct[row], marked_by[row] = 0.0, status
        else:
            correct[row], marked_by[row] = mark_one(answer, references[item], choices[item], options)
    return pd.DataFrame({"correct": correct, "marked_by": marked_by}, index=answers.index)


def asks_judge(marks: pd.DataFrame, options: MarkOptions) -> pd.Series:
    """Return which answers a judge, if any, is asked about: text that is not the same may mean the same."""
    if options.marking == "judge":
        return marks["marked_by"].isin(RULES)
    return marks["marked_by"].isin(["exact", "set"]) & (marks["correct"] == 0)


def with_judged(marks: pd.DataFrame, answers: pd.DataFrame, said: Callable[[str, str], float | None]) -> pd.DataFrame:
    """Return marks with those of a judge in the rows of `answers`, null where its mark cannot be read."""
    correct = [said(*pair) for pair in zip(answers["item_id"], answers["answer"], strict=True)]
    judged = pd.DataFrame({"correct": correct}, answers.index, dtype="float64")
    judged["marked_by"] = judged["correct"].map(lambda mark: "judge", na_action="ignore").astype(object)
    return pd.concat([judged, marks.drop(index=answers.index)]).loc[marks.index]


PROMPT: Final = "mark-answer"
_SAID = re.compile(r"\b(not correct|not right|incorrect|wrong|correct|right)\b")
_RIGHT: Final = ("correct", "right")


def read_mark(reply: str) -> float | None:
    """The mark in a judge's reply, 1 or 0: its last word of that kind; None where there is none."""
    said = _SAID.findall(without_thinking(reply).casefold())
    return float(said[-1] in _RIGHT) if said else None


def marking_id(item_id: str, answer: str) -> str:
    """The id under which an answer is marked: the same for the same answer to an item, whichever model gave it."""
    return f"{item_id}-{hashlib.sha256(answer.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


def to_mark(pairs: pd.DataFrame, items: pd.DataFrame) -> pd.DataFrame:
    """Distinct answers as items that a judge is asked about; see `mrb_lib.build.construct.answers.answering.ask_about`.

    Parameters
    ----------
    pairs : `position` (of the item in `items`), `item_id`, `answer`
    items : `images, question, choices, reference`
    """
    pairs = pairs.drop_duplicates(["item_id", "answer"])
    own = items.iloc[pairs["position"]].reset_index(drop=True)
    ids = [marking_id(*row) for row in zip(pairs["item_id"], pairs["answer"], strict=True)]
    return own[["images", "question", "choices", "reference"]].assign(
        item_id=ids, response_a=pairs["answer"].to_numpy(dtype=object)
    )


def marks_of(replies: pd.DataFrame) -> Callable[[str, str], float | None]:
    """Return a judge's mark for an answer to an item, from `item_id` (see `marking_id`) and `answer`, its reply."""
    replied = {
        item: read_mark(reply) if isinstance(reply, str) else None
        for item, reply in zip(replies["item_id"], replies["answer"], strict=True)
    }
    return lambda item_id, answer: replied.get(marking_id(item_id, answer))
