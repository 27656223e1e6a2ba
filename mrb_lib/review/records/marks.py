"""One adjudication, one answer of an annotator: what each holds, and which of several counts."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from math import inf
from uuid import uuid4

import pandas as pd

from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import ADJUDICATION_VERDICTS, ORDERS, WITHDRAWN

ORDER_EFFECT = "order effect"
REASONS = (
    "missed finding",
    "wrong laterality",
    "hallucinated finding",
    "wrong measurement or number",
    "over-caution",
    "style over substance",
    ORDER_EFFECT,
    "question misread",
    "other",
)
SEVERITIES = ("none", "mild", "moderate", "severe")
REASONING = ("right", "wrong", "not_about_image")
_LONGEST_NAME = 255
_MOST_REGIONS = 100
_LONGEST_COMMENT = 10_000
_MOST_SECONDS = 1e9
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


@dataclass(frozen=True)
class Region:
    """A place of an image that a reviewer marks: a box, or a point, which has neither width nor height.

    Attributes
    ----------
    image : the name of the image, as the case gives it
    x, y : of its upper left corner, in pixels of the image as it is stored, from the upper left
    width, height : in the same pixels
    frame : of a file that holds several pictures, from 1 as DICOM counts them

    Raises
    ------
    InputError
        A number is negative, or none at all, or there can be no such frame.
    """

    image: str
    x: float
    y: float
    width: float = 0.0
    height: float = 0.0
    frame: int = 1

    def __post_init__(self) -> None:
        if _UNSTORABLE.search(self.image):
            raise InputError(f"image {self.image[:80]!r}: holds a NUL or half a character; rename it in the data.")
        for name in ("x", "y", "width", "height"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < inf:
                raise InputError(f"region in image {self.image}: {name} {value!r} is not a number of pixels.")
            object.__setattr__(self, name, float(value))
        if isinstance(self.frame, bool) or not isinstance(self.frame, int) or self.frame < 1:
            raise InputError(f"region in image {self.image}: frame {self.frame!r} is not a number from 1.")


@dataclass(frozen=True)
class Adjudication:
    """What a reviewer says about the gold label of a case; it is never changed, only followed by another.

    Attributes
    ----------
    benchmark : the benchmark's name
    dimension : None stands for every dimension of the case
    verdict : "gold_right"; "gold_wrong", and then `choice` is the right label, one that the benchmark has;
        "ambiguous"; "image_unusable"; "withdrawn", which takes back what the reviewer said before
    judge : the judge in view, whose failure the reasons explain; None where there was none. A withdrawal without one
        takes back the marks of all judges.
    severity : the harm that acting on the judge's choice could do, of `SEVERITIES`; None where not said
    reasoning : of the judge's reasons, one of `REASONING`; None where not said
    regions : where in the images it is to be seen
    supersedes : the id of the adjudication of the same reviewer that this one replaces, or None
    case_fingerprint : of the case as it was seen, see `case_fingerprint`; empty where unknown
    adjudication_id : a random one, made by whoever saves: saved again after a broken connection, it counts once

    Raises
    ------
    InputError
        A value is outside its vocabulary, a name is empty, or a choice is missing or superfluous.
    """

    benchmark: str
    case_id: str
    reviewer: str
    verdict: str
    choice: str | None = None
    dimension: str | None = None
    judge: str | None = None
    reasons: tuple[str, ...] = ()
    severity: str | None = None
    reasoning: str | None = None
    regions: tuple[Region, ...] = ()
    note: str = ""
    supersedes: str | None = None
    case_fingerprint: str = ""
    adjudication_id: str = field(default_factory=lambda: str(uuid4()))

    def __post_init__(self) -> None:
        _clean(self, free=("note", "reviewer"))
        reasons = tuple(dict.fromkeys(cleaned(reason).strip() for reason in self.reasons))
        object.__setattr__(self, "reasons", tuple(reason for reason in reasons if reason))
        _required(self, "adjudication", ("benchmark", "case_id", "reviewer", "adjudication_id"))
        what = f"adjudication of case {self.case_id}"
        _one_of(what, "verdict", self.verdict, ADJUDICATION_VERDICTS)
        if self.verdict == "gold_wrong" and not self.choice:
            raise InputError(f"{what}: gold is wrong, and the right choice is missing; give one.")
        for name, vocabulary in (("severity", SEVERITIES), ("reasoning", REASONING)):
            value = getattr(self, name)
            if value is not None:
                _one_of(what, name, value, vocabulary)
        if len(self.regions) > _MOST_REGIONS:
            raise InputError(f"{what}: {len(self.regions)} regions are marked; mark at most {_MOST_REGIONS}.")
        if self.reasoning is not None and self.judge is None:
            raise InputError(f"{what}: reasoning is a judge's; name the judge.")
        if self.verdict != "gold_wrong" and self.choice is not None:
            raise InputError(f"{what}: a choice belongs to gold_wrong only; leave it out with {self.verdict}.")


@dataclass(frozen=True)
class AnnotatorAnswer:
    """What an annotator chose for a case on a dimension, or why they skipped it.

    Attributes
    ----------
    choice : in the case's own frame, whatever was shown first; None where skipped
    order : "AB" or "BA", which response was shown first
    skipped_reason : why there is no choice; empty where there is one
    seconds : how long the case had been in sight since it was shown or since the last answer there; None where unknown

    Raises
    ------
    InputError
        A name is empty, `order` is unknown, `seconds` is no length of time, or there is neither a choice nor a reason,
        or both.
    """

    benchmark: str
    case_id: str
    annotator: str
    dimension: str
    choice: str | None
    order: str
    skipped_reason: str = ""
    seconds: float | None = None
    answer_id: str = field(default_factory=lambda: str(uuid4()))

    def __post_init__(self) -> None:
        _clean(self, free=("skipped_reason", "annotator"))
        _required(self, "answer", ("benchmark", "case_id", "annotator", "dimension", "answer_id"))
        what = f"answer of {self.annotator} on case {self.case_id}"
        _one_of(what, "order", self.order, ORDERS)
        if bool(self.choice) == bool(self.skipped_reason):
            raise InputError(f"{what}: give a choice, or a reason to skip the case, and not both.")
        if self.seconds is not None:
            known = isinstance(self.seconds, int | float) and not isinstance(self.seconds, bool)
            if not known or not 0 <= self.seconds <= _MOST_SECONDS:
                raise InputError(f"{what}: seconds {str(self.seconds)[:40]!r} is not a length of time; leave it out.")
            object.__setattr__(self, "seconds", float(self.seconds))


@dataclass(frozen=True)
class Comment:
    """What an annotator remarks on a case, whether they answered it, skipped it or left it open.

    Attributes
    ----------
    comment_id : a random one, made by whoever saves: saved again after a broken connection, it counts once

    Raises
    ------
    InputError
        A name or the text is empty or too long.
    """

    benchmark: str
    case_id: str
    annotator: str
    text: str
    comment_id: str = field(default_factory=lambda: str(uuid4()))

    def __post_init__(self) -> None:
        _clean(self, free=("text", "annotator"))
        _required(self, "comment", ("benchmark", "case_id", "annotator", "comment_id"))
        what = f"comment of {self.annotator} on case {self.case_id}"
        if not self.text:
            raise InputError(f"{what}: is empty; write one.")
        if len(self.text) > _LONGEST_COMMENT:
            raise InputError(f"{what}: has {len(self.text)} characters; use at most {_LONGEST_COMMENT}.")


def case_fingerprint(case: Mapping[str, object]) -> str:
    """SHA-256 of what a person judges in a case: question, responses, image names and, of a step, the steps before it.

    Parameters
    ----------
    case : a row of the cases table
    """
    images = case.get("images")
    names = [str(name) for name in images] if isinstance(images, Iterable) and not isinstance(images, str) else []
    shown = [*(str(case[name]) for name in ("question", "response_a", "response_b")), names]
    before = case.get("before")
    shown += [before] if isinstance(before, str) and before else []
    return hashlib.sha256(json.dumps(shown, ensure_ascii=True).encode("ascii")).hexdigest()


def cleaned(text: str) -> str:
    """Text that every database can hold: NULs and lone surrogates become U+FFFD."""
    return _UNSTORABLE.sub("\ufffd", text)


def current(history: pd.DataFrame) -> pd.DataFrame:
    """What counts now: of each reviewer, case, dimension and judge the last adjudication, unless it is withdrawn.

    Parameters
    ----------
    history : adjudications, in the order in which they were stored

    Returns
    -------
    DataFrame
        Rows of `history`, in its order. One that is named by `supersedes` of the same reviewer does not count; nor
        does one that a later withdrawal, for its judge or without any judge, takes back. The last is that with the
        latest `created`, and of those the one stored last.
    """
    rows = history.sort_values("created", kind="stable")
    replaced = set(zip(rows["reviewer"], rows["supersedes"], strict=True))
    kept: dict[tuple[object, ...], dict[object, object]] = {}
    for index, row in zip(rows.index, rows.astype(object).where(rows.notna(), None).to_dict("records"), strict=True):
        by_judge = kept.setdefault((row["benchmark"], row["case_id"], row["dimension"], row["reviewer"]), {})
        if row["verdict"] == WITHDRAWN and row["judge"] is None:
            by_judge.clear()
        elif row["verdict"] == WITHDRAWN:
            by_judge.pop(row["judge"], None)
        elif (row["reviewer"], row["adjudication_id"]) not in replaced:
            by_judge[row["judge"]] = index
    counting = {index for by_judge in kept.values() for index in by_judge.values()}
    return history[history.index.isin(counting)]


def _clean(item: Adjudication | AnnotatorAnswer | Comment, free: tuple[str, ...]) -> None:
    """Make what a person typed storable and trim it.

    An id that cannot be stored is refused, because a changed one could name another case or person.
    """
    for one in fields(item):
        value = getattr(item, one.name)
        if not isinstance(value, str):
            continue
        if one.name in free:
            object.__setattr__(item, one.name, cleaned(value).strip())
        elif _UNSTORABLE.search(value):
            raise InputError(f"{one.name} {value[:80]!r}: holds a NUL or half a character; rename it in the data.")
        elif not value and one.name in ("dimension", "judge", "choice", "severity", "reasoning", "supersedes"):
            object.__setattr__(item, one.name, None)


def _required(item: Adjudication | AnnotatorAnswer | Comment, what: str, names: tuple[str, ...]) -> None:
    for name in names:
        value = getattr(item, name)
        if not isinstance(value, str) or not value.strip():
            raise InputError(f"{what}: {name} is empty; give one.")
        if name != "case_id" and len(value) > _LONGEST_NAME:
            raise InputError(f"{what}: {name} has {len(value)} characters; use at most {_LONGEST_NAME}.")


def _one_of(what: str, name: str, value: str, vocabulary: tuple[str, ...]) -> None:
    if value not in vocabulary:
        raise InputError(f"{what}: {name} {value!r} is unknown; use one of {', '.join(vocabulary)}.")
