"""Which facts one of two answers states and the other does not: numbers, sides, denials, anatomical words.

A reading aid made by rules, not a judgement: it finds words, not meanings, and only English ones.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

FactKind = Literal["number", "side", "denial", "anatomy"]
FactKey = tuple[str, ...]

LONGEST = 100_000
_UNITS = {"mm": (1.0, "mm"), "cm": (10.0, "mm"), "ml": (1.0, "ml"), "cc": (1.0, "ml"), "l": (1000.0, "ml"),
          "mg": (1.0, "mg"), "g": (1000.0, "mg")}  # fmt: skip
_ANATOMY = (
    "abdomen|aorta|aortic|apex|apical|appendix|arter(?:y|ies)|atri(?:um|a|al)|bladder|bowel|brain|breasts?|bronch(?:us|i|ial)|"
    "calcaneus|cardiac|caecum|cecum|cerebell(?:um|ar)|chest|clavicles?|colon|cornea|diaphragm|duodenum|esophagus|"
    "oesophagus|eyes?|femur|femoral|fibula|foot|frontal|gallbladder|gastric|heart|hepatic|hilum|hilar|hip|humer(?:us|al)|"
    "ile(?:um|al)|jaw|kidneys?|knees?|larynx|liver|lobes?|lungs?|macula|mandib(?:le|ular)|maxilla|maxillary|mediastin(?:um|al)|"
    "meniscus|metatarsals?|molars?|occipital|optic|orbit|ovar(?:y|ies|ian)|pancrea(?:s|tic)|parietal|pelvi(?:s|c)|pericardi(?:um|al)|"
    "pleura|pleural|prostate|pulmonary|radius|renal|retina|retinal|ribs?|scapula|shoulder|skull|spine|spinal|spleen|"
    "sternum|stomach|temporal|thyroid|tibia|tibial|tooth|teeth|trachea|ulna|uter(?:us|ine)|valve|ventric(?:le|les|ular)|"
    "vertebra[el]?|wrist"
)
_SIDE = "left|right|bilateral(?:ly)?|unilateral(?:ly)?|upper|lower|anterior|posterior|medial|lateral|proximal|distal"
_UNIT = "mm|cm|ml|cc|mg|kg|g|l|hu|mmhg|bpm|years?|weeks?|days?|hours?"
_PASSED_OVER = (
    "evidence of|signs? of|any|an|a|the|acute|obvious|definite|clear|significant|other|visible|focal|large|"
    f"{_SIDE}|{_ANATOMY}"
)
_NUMBER = rf"(?<![\w.])\d{{1,9}}(?:[.,]\d{{1,9}})?(?:\s?(?:%|(?:{_UNIT})\b))?(?!\w|[.,]\d)"
_DENIAL = (
    r"\b(?:no|not|without|absen(?:t|ce of)|negative for|rules? out)\b"
    rf"(?:\s(?:{_PASSED_OVER})\b)*(?:\s[^\W\d_][\w-]{{0,40}})?"
)
_FACT = re.compile(
    rf"(?P<number>{_NUMBER})|(?P<denial>{_DENIAL})|(?P<side>\b(?:{_SIDE})\b)|(?P<anatomy>\b(?:{_ANATOMY})\b)",
    re.IGNORECASE,
)
_KINDS: tuple[FactKind, ...] = ("number", "side", "denial", "anatomy")


@dataclass(frozen=True)
class FactMark:
    """A stretch of a text, from `start` up to `end`, that states a fact the other text does not."""

    start: int
    end: int
    kind: FactKind


def marks(a: str, b: str) -> tuple[list[FactMark], list[FactMark]]:
    """Find what only one of two texts states.

    Parameters
    ----------
    a, b : the texts; of each the first `LONGEST` characters are looked at

    Returns
    -------
    tuple of list
        The marks of a and of b, in order and without overlap. Lengths, volumes and weights are the same fact in any of
        their units (5 mm, 0.5 cm). A denial is the denying word with what it denies.
        Validated by tests/widgets/case/test_facts.py.
    """
    facts_of = [list(_facts(text[:LONGEST])) for text in (a, b)]
    keys = [{key for _, key in facts} for facts in facts_of]
    only_a = [mark for mark, key in facts_of[0] if key not in keys[1]]
    only_b = [mark for mark, key in facts_of[1] if key not in keys[0]]
    return only_a, only_b


def _facts(text: str) -> list[tuple[FactMark, FactKey]]:
    facts = []
    for match in _FACT.finditer(text):
        kind = next(name for name in _KINDS if match[name] is not None)
        facts.append((FactMark(match.start(), match.end(), kind), _key(kind, match[0])))
    return facts


def _key(kind: FactKind, fact: str) -> FactKey:
    text = " ".join(fact.casefold().split())
    if kind == "number":
        return (kind, *_amount(text))
    if kind == "denial":
        words = text.split()  # what is denied decides, not the word that denies it
        return (kind, words[-1]) if len(words) > 1 else (kind,)
    if kind == "side":
        return (kind, text.removesuffix("ly") if text.endswith("ally") else text)
    return (kind, text[:4])  # the same organ as a noun or an adjective, one or several: ventricle, ventricular


def _amount(text: str) -> FactKey:
    """The number in the unit that stands for its kind; a comma is read as a decimal point."""
    match = re.match(r"[\d.,]+", text)
    digits = match[0] if match else text
    unit = text.removeprefix(digits).strip()
    factor, base = _UNITS.get(unit, (1.0, unit.removesuffix("s") if len(unit) > 2 else unit))
    return f"{float(digits.replace(',', '.')) * factor:.9g}", base
