"""What the store keeps: adjudications, tags and views of reviewers, answers and comments of annotators; which count."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from math import inf
from typing import Any, ClassVar, Final
from uuid import uuid4

import pandas as pd

from mrb_lib.tables.errors import InputError
from mrb_lib.tables.questions import QUESTIONS
from mrb_lib.tables.schema import ADJUDICATION_VERDICTS, ORDERS, WITHDRAWN

ADDED, REMOVED = "added", "removed"
TAG_COLUMNS: Final = ("tag_id", "benchmark", "case_id", "tag", "reviewer", "action", "created")
VIEW_COLUMNS: Final = ("benchmark", "name", "fragment", "reviewer", "created")
LONGEST_TAG, LONGEST_VIEW = 40, 80
_LONGEST_NAME = 255
_LONGEST = {"tag": LONGEST_TAG, "name": LONGEST_VIEW, "fragment": 8_000, "text": 10_000, "note": 100_000}
_MOST_LISTED, _MOST_SECONDS = 100, 1e9
_TYPED = {"reviewer", "annotator", "note", "skipped_reason", "text", "tag", "name"}
_NULL_IF_EMPTY = {"choice", "dimension", "judge", "supersedes"}
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def _new_id() -> Any:
    return field(default_factory=lambda: str(uuid4()))


@dataclass(frozen=True)
class Entry:
    """One thing that a person said; it is never changed, only followed by another.

    The field `KIND_id` is a random id, made by whoever saves: stored again after a broken connection, it counts once.
    What a person typed is trimmed and made storable; an id that cannot be stored is refused, because a changed one
    could name another case or person. A field of type `str` without an empty default must not be empty.
    """

    KIND: ClassVar[str]
    BY: ClassVar[str] = "reviewer"

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if isinstance(value, str):
                if one.name in _TYPED:
                    value = cleaned(value).strip()
                elif _UNSTORABLE.search(value):
                    raise self.fault(f"{one.name} {value[:80]!r}: holds a NUL or half a character; rename it there")
                longest = _LONGEST.get(one.name, _LONGEST_NAME)
                if len(value) > longest and one.name not in ("case_id", "choice", "skipped_reason"):
                    raise self.fault(f"{one.name} has {len(value):,} characters; use at most {longest:,}")
                object.__setattr__(self, one.name, value or (None if one.name in _NULL_IF_EMPTY else value))
            if one.type == "str" and one.default != "" and (not isinstance(value, str) or not value.strip()):
                raise self.fault(f"{one.name} is empty; give one")

    def fault(self, words: str) -> InputError:
        """Return an error about this entry."""
        case = getattr(self, "case_id", None)
        return InputError(f"{self.KIND}{f' of case {case[:80]!r}' if case else ''}: {words}.")

    def one_of(self, name: str, value: str, vocabulary: Iterable[str]) -> None:
        """Refuse a value that is none of the vocabulary."""
        if value not in vocabulary:
            raise self.fault(f"{name} {value!r} is unknown; use one of {', '.join(vocabulary)}")

    def event(self, created: str | None = None) -> dict[str, Any]:
        """Return the row of the store's table; without a time of its own it is created when it is stored."""
        content = json.loads(json.dumps(asdict(self)))
        return {
            "kind": self.KIND,
            "event_id": content.pop(f"{self.KIND}_id"),
            "benchmark": content.pop("benchmark"),
            "case_id": content.pop("case_id", None),
            "person": content.pop(self.BY),
            "content": content,
            "created": created,
        }


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
class Adjudication(Entry):
    """What a reviewer says about the gold label of a case.

    Attributes
    ----------
    benchmark : the benchmark's name
    dimension : None stands for every dimension of the case
    verdict : "gold_right"; "gold_wrong", and then `choice` is the right label, one that the benchmark has;
        "ambiguous"; "image_unusable"; "withdrawn", which takes back what the reviewer said before
    judge : the judge in view, whose failure the reasons explain; None where there was none. A withdrawal without one
        takes back the marks of all judges.
    answers : by the name of a question of `QUESTIONS`, the option chosen, or the options; what is empty is left out
    regions : where in the images it is to be seen
    supersedes : the id of the adjudication of the same reviewer that this one replaces, or None
    case_fingerprint : of the case as it was seen, see `case_fingerprint`; empty where unknown

    Raises
    ------
    InputError
        A value is outside its vocabulary, a name is empty, or a choice is missing or superfluous.
    """

    KIND: ClassVar[str] = "adjudication"

    benchmark: str
    case_id: str
    reviewer: str
    verdict: str
    choice: str | None = None
    dimension: str | None = None
    judge: str | None = None
    answers: Mapping[str, str | Iterable[str]] = field(default_factory=dict)
    regions: tuple[Region, ...] = ()
    note: str = ""
    supersedes: str | None = None
    case_fingerprint: str = ""
    adjudication_id: str = _new_id()

    def __post_init__(self) -> None:
        super().__post_init__()
        self.one_of("verdict", self.verdict, ADJUDICATION_VERDICTS)
        if self.verdict == "gold_wrong" and not self.choice:
            raise self.fault("gold is wrong, and the right choice is missing; give one")
        if self.verdict != "gold_wrong" and self.choice is not None:
            raise self.fault(f"a choice belongs to gold_wrong only; leave it out with {self.verdict}")
        if len(self.regions) > _MOST_LISTED:
            raise self.fault(f"{len(self.regions)} regions are marked; mark at most {_MOST_LISTED}")
        object.__setattr__(self, "answers", dict(self._answered()))

    def _answered(self) -> Iterable[tuple[str, str | tuple[str, ...]]]:
        """Yield each question's name and answer, checked, in the order of the form."""
        for name in self.answers:
            self.one_of("question", name, [question.name for question in QUESTIONS])
        for question in QUESTIONS:
            name, given = question.name, self.answers.get(question.name)
            if not given:
                continue
            if not isinstance(given, list | tuple if question.several else str):
                raise self.fault(f"{name} is not a {'list' if question.several else 'text'}; load the page again")
            chosen = [cleaned(str(one)).strip() for one in ([given] if isinstance(given, str) else given)]
            chosen = list(dict.fromkeys(filter(None, chosen)))
            if len(chosen) > _MOST_LISTED or max(map(len, chosen), default=0) > _LONGEST_NAME:
                raise self.fault(f"{name} is too long; give at most {_MOST_LISTED} of {_LONGEST_NAME} characters")
            for one in chosen:
                self.one_of(name, one, chosen if question.editable else question.options)
            if chosen:
                yield name, tuple(chosen) if question.several else chosen[0]


@dataclass(frozen=True)
class AnnotatorAnswer(Entry):
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

    KIND: ClassVar[str] = "answer"
    BY: ClassVar[str] = "annotator"

    benchmark: str
    case_id: str
    annotator: str
    dimension: str
    choice: str | None
    order: str
    skipped_reason: str = ""
    seconds: float | None = None
    answer_id: str = _new_id()

    def __post_init__(self) -> None:
        super().__post_init__()
        self.one_of("order", self.order, ORDERS)
        if bool(self.choice) == bool(self.skipped_reason):
            raise self.fault("give a choice, or a reason to skip the case, and not both")
        if self.seconds is not None:
            known = isinstance(self.seconds, int | float) and not isinstance(self.seconds, bool)
            if not known or not 0 <= self.seconds <= _MOST_SECONDS:
                raise self.fault(f"seconds {str(self.seconds)[:40]!r} is not a length of time; leave it out")
            object.__setattr__(self, "seconds", float(self.seconds))


@dataclass(frozen=True)
class Comment(Entry):
    """What an annotator remarks on a case, whether they answered it, skipped it or left it open."""

    KIND: ClassVar[str] = "comment"
    BY: ClassVar[str] = "annotator"

    benchmark: str
    case_id: str
    annotator: str
    text: str
    comment_id: str = _new_id()


@dataclass(frozen=True)
class CaseTag(Entry):
    """A reviewer adds a tag to a case, or takes their own away again.

    Attributes
    ----------
    tag : a few words in one line, at most `LONGEST_TAG` characters
    action : "added" or "removed"
    """

    KIND: ClassVar[str] = "tag"

    benchmark: str
    case_id: str
    tag: str
    reviewer: str
    action: str = ADDED
    tag_id: str = _new_id()

    def __post_init__(self) -> None:
        object.__setattr__(self, "tag", " ".join(self.tag.split()))
        super().__post_init__()
        self.one_of("action", self.action, (ADDED, REMOVED))


@dataclass(frozen=True)
class SavedView(Entry):
    """A name for a query that reviewers keep for everyone, or the end of that name.

    Attributes
    ----------
    name : one line of at most `LONGEST_VIEW` characters
    reviewer : who saved or removed it
    fragment : the query as an address holds it, see `mrb_lib.review.failures.query.to_fragment`; empty for all cases in
        the benchmark's order, None where the name is removed
    """

    KIND: ClassVar[str] = "view"

    benchmark: str
    name: str
    reviewer: str
    fragment: str | None = None
    view_id: str = _new_id()

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", " ".join(self.name.split()))
        super().__post_init__()


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


def current_tags(history: pd.DataFrame) -> pd.DataFrame:
    """The tags that cases have now: of each case, tag and reviewer the last action, where it is no removal.

    The last is that with the latest `created`, and of those the one stored last.

    Parameters
    ----------
    history : `TAG_COLUMNS`, in the order in which they were stored
    """
    in_time = history.sort_values("created", kind="stable")
    last = in_time.drop_duplicates(["case_id", "tag", "reviewer"], keep="last").sort_index()
    return last[last["action"] == ADDED]
