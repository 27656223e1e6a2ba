"""What the store keeps: adjudications, tags and views of reviewers, answers and comments of annotators; which count."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar
from uuid import uuid4

import pandas as pd

from mrb_lib.review.records.questions import QUESTIONS
from mrb_lib.stats.annotators import ADJUDICATION_VERDICTS, WITHDRAWN
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import ORDERS

ADDED, REMOVED = "added", "removed"
LONGEST_TAG, LONGEST_VIEW = 40, 80
_LONGEST_NAME = 255
_LONGEST = {"tag": LONGEST_TAG, "name": LONGEST_VIEW, "skipped_reason": 2_000, "fragment": 8_000, "text": 10_000}
_LONGEST |= {"case_id": 10_000, "image": 10_000, "choice": 20_000, "note": 100_000}
_MOST_LISTED, _LARGEST = 100, 1e9
_TYPED = {"reviewer", "annotator", "note", "skipped_reason", "text", "tag", "name"}
_ONE_LINE = {"tag", "name"}
_NULL_IF_EMPTY = {"choice", "dimension", "judge", "supersedes"}
_NUMBERS: Mapping[object, str] = {float: "number of pixels", float | None: "length of time", int: "number from 1"}
_VOCABULARIES = {"verdict": ADJUDICATION_VERDICTS, "order": ORDERS, "action": (ADDED, REMOVED)}
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def _new_id() -> Any:
    return field(default_factory=lambda: str(uuid4()))


@dataclass(frozen=True)
class Checked:
    """A dataclass whose texts can be stored, whose numbers are neither negative nor huge, and whose words are known.

    What a person typed is trimmed and made storable; an id that cannot be stored is refused, because a changed one
    could name another case or person. A field of type `str` without an empty default must not be empty.
    """

    KIND: ClassVar[str]
    BY: ClassVar[str]

    def __init_subclass__(cls, kind: str = "", by: str = "reviewer") -> None:
        cls.KIND, cls.BY = kind, by

    def __post_init__(self) -> None:
        for one in fields(self):
            name, value = one.name, getattr(self, one.name)
            if isinstance(value, str):
                if name in _TYPED:
                    value = cleaned(" ".join(value.split()) if name in _ONE_LINE else value).strip()
                elif _UNSTORABLE.search(value):
                    raise self.fault(f"{name} {value[:80]!r}: holds a NUL or half a character; rename it there")
                if len(value) > (longest := _LONGEST.get(name, _LONGEST_NAME)):
                    raise self.fault(f"{name} has {len(value):,} characters; use at most {longest:,}")
                if name in _VOCABULARIES:
                    self.one_of(name, value, _VOCABULARIES[name])
                value = value or (None if name in _NULL_IF_EMPTY else value)
            if one.type is str and one.default != "" and (not isinstance(value, str) or not value.strip()):
                raise self.fault(f"{name} is empty; give one")
            if (number := _NUMBERS.get(one.type)) and value is not None:
                least, allowed = (1, int) if one.type is int else (0, int | float)
                if isinstance(value, bool) or not isinstance(value, allowed) or not least <= value <= _LARGEST:
                    raise self.fault(f"{name} {str(value)[:40]} is not a {number}; correct it or leave it out")
                value = value if one.type is int else float(value)
            object.__setattr__(self, name, value)

    def fault(self, words: str) -> InputError:
        """Return an error about this entry."""
        case = getattr(self, "case_id", None)
        return InputError(f"{self.KIND}{f' of case {case[:80]!r}' if case else ''}: {words}.")

    def one_of(self, name: str, value: str, vocabulary: Iterable[str]) -> None:
        """Refuse a value that is none of the vocabulary."""
        if value not in vocabulary:
            raise self.fault(f"{name} {value[:80]!r} is unknown; use one of {', '.join(vocabulary)}")


@dataclass(frozen=True)
class Entry(Checked):
    """One thing that a person said; it is never changed, only followed by another.

    The field `KIND_id` is a random id, made by whoever saves: stored again after a broken connection, it counts once.
    """

    @classmethod
    def columns(cls) -> tuple[str, ...]:
        """Return the columns of a table of such entries: the id, the other fields, and when it was `created`."""
        *names, of_id = (one.name for one in fields(cls))
        return of_id, *names, "created"

    def event(self, created: str | None = None) -> dict[str, Any]:
        """Return the row of the store's table; without a time of its own it is created when it is stored."""
        content = json.loads(json.dumps(asdict(self)))
        row = {"kind": self.KIND, "event_id": content.pop(f"{self.KIND}_id"), "created": created}
        row |= {"case_id": content.pop("case_id", None), "person": content.pop(self.BY)}
        return row | {"benchmark": content.pop("benchmark"), "content": content}


@dataclass(frozen=True)
class Region(Checked, kind="region"):
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


@dataclass(frozen=True)
class Adjudication(Entry, kind="adjudication"):
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
        if self.verdict == "gold_wrong" and not self.choice:
            raise self.fault("gold is wrong, and the right choice is missing; give one")
        if self.verdict != "gold_wrong" and self.choice is not None:
            raise self.fault(f"a choice belongs to gold_wrong only; leave it out with {self.verdict}")
        if len(self.regions) > _MOST_LISTED:
            raise self.fault(f"{len(self.regions)} regions are marked; mark at most {_MOST_LISTED}")
        if not isinstance(self.answers, Mapping):
            raise self.fault("answers are not given by question; load the page again")
        questions, answers = {question.name: question for question in QUESTIONS}, dict[str, str | tuple[str, ...]]()
        for name, given in self.answers.items():
            self.one_of("question", name, questions)
            question = questions[name]
            if given and not isinstance(given, list | tuple if question.several else str):
                raise self.fault(f"{name} is not a {'list' if question.several else 'text'}; load the page again")
            chosen = short_texts(name, [given] if isinstance(given, str) else given or ())
            for one in chosen:
                self.one_of(name, one, chosen if question.is_open else question.options)
            if chosen:
                answers[name] = tuple(chosen) if question.several else chosen[0]
        object.__setattr__(self, "answers", answers)


@dataclass(frozen=True)
class AnnotatorAnswer(Entry, kind="answer", by="annotator"):
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
    answer_id: str = _new_id()

    def __post_init__(self) -> None:
        super().__post_init__()
        if bool(self.choice) == bool(self.skipped_reason):
            raise self.fault("give a choice, or a reason to skip the case, and not both")


@dataclass(frozen=True)
class Comment(Entry, kind="comment", by="annotator"):
    """What an annotator remarks on a case, whether they answered it, skipped it or left it open."""

    benchmark: str
    case_id: str
    annotator: str
    text: str
    comment_id: str = _new_id()


@dataclass(frozen=True)
class CaseTag(Entry, kind="tag"):
    """A reviewer adds a tag to a case, or takes their own away again.

    Attributes
    ----------
    tag : a few words in one line, at most `LONGEST_TAG` characters
    action : "added" or "removed"
    """

    benchmark: str
    case_id: str
    tag: str
    reviewer: str
    action: str = ADDED
    tag_id: str = _new_id()


@dataclass(frozen=True)
class SavedView(Entry, kind="view"):
    """A name for a query that reviewers keep for everyone, or the end of that name.

    Attributes
    ----------
    name : one line of at most `LONGEST_VIEW` characters
    reviewer : who saved or removed it
    fragment : the query as an address holds it, see `mrb_lib.review.failures.query.to_fragment`; empty for all cases in
        the benchmark's order, None where the name is removed
    """

    benchmark: str
    name: str
    reviewer: str
    fragment: str | None = None
    view_id: str = _new_id()


def case_fingerprint(case: Mapping[str, object]) -> str:
    """SHA-256 of what a person judges in a case: question, responses, image names, and what a response continues.

    Parameters
    ----------
    case : a row of the cases table
    """
    images, before = case.get("images"), case.get("before")
    names = [str(name) for name in images] if isinstance(images, Iterable) and not isinstance(images, str) else []
    shown = [*(str(case[name]) for name in ("question", "response_a", "response_b")), names]
    shown += [before] if isinstance(before, str) and before else []
    return hashlib.sha256(json.dumps(shown, ensure_ascii=True).encode("ascii")).hexdigest()


def cleaned(text: str) -> str:
    """Text that every database can hold: NULs and lone surrogates become U+FFFD."""
    return _UNSTORABLE.sub("\ufffd", text)


def short_texts(name: str, items: Iterable[object]) -> list[str]:
    """Return the texts of a list as they are stored, without empty ones and repetitions.

    Raises
    ------
    InputError
        There are too many, or one is too long.
    """
    texts = list(dict.fromkeys(filter(None, (cleaned(str(item)).strip() for item in items))))
    if len(texts) > _MOST_LISTED or max(map(len, texts), default=0) > _LONGEST_NAME:
        raise InputError(f"{name} is too long; give at most {_MOST_LISTED} of {_LONGEST_NAME} characters.")
    return texts


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
    rows, about = history.sort_values("created", kind="stable"), ["benchmark", "case_id", "dimension", "reviewer"]
    replaced = set(zip(rows["reviewer"], rows["supersedes"], strict=True))
    is_replaced = [mark in replaced for mark in zip(rows["reviewer"], rows["adjudication_id"], strict=True)]
    rows = rows[(rows["verdict"] == WITHDRAWN) | ~pd.Series(is_replaced, rows.index, dtype=bool)]
    withdrawn = rows["verdict"] == WITHDRAWN
    taken_back = (withdrawn & rows["judge"].isna())[::-1].groupby([rows[name] for name in about], dropna=False).cumsum()
    counts = ~rows.duplicated([*about, "judge"], keep="last") & ~withdrawn & (taken_back == 0)
    return history[counts.reindex(history.index, fill_value=False)]


def current_tags(history: pd.DataFrame) -> pd.DataFrame:
    """The tags that cases have now: of each case, tag and reviewer the last action, where it is no removal.

    The last is that with the latest `created`, and of those the one stored last.

    Parameters
    ----------
    history : of `CaseTag`, in the order in which they were stored
    """
    in_time = history.sort_values("created", kind="stable")
    last = in_time.drop_duplicates(["case_id", "tag", "reviewer"], keep="last").sort_index()
    return last[last["action"] == ADDED]
