"""The definition of a probe: a change of a case before it is judged, and what should follow; and the list of all.

A probe changes a picture, or it changes a case: its texts, or which pictures it shows. It never sees annotations.
Of two responses a probe changes one, the case's `target`, unless it is named with `+both`.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, Final, Literal, TypeVar

import numpy as np
import pandas as pd
from PIL import Image

from mrb_lib.tables.errors import InputError
from mrb_lib.tables.registry import Registry
from mrb_lib.tables.schema import NO_PROBE

Changes = Literal["image", "response", "question", "prompt"]
Expected = Literal["same", "worse", "flips"]
Side = Literal["A", "B"]
F = TypeVar("F", bound=Callable[..., object])
Box = tuple[float, float, float, float]
"""Left, top, right and bottom, as fractions of the width and the height from 0 to 1."""

BOTH: Final = "+both"
MOST_SEVERE: Final = 5
_SIDE: Final = re.compile(r"\b(left|right)(wards?)?\b|\b(uni|contra|ipsi)lateral", re.IGNORECASE)


@dataclass(frozen=True)
class Case:
    """The parts of a case that a judge is shown, in the case's own frame.

    Attributes
    ----------
    images : names of the benchmark's images
    modality, organ, reference : None where the case does not say
    note : what somebody says of the responses, which judges that are shown both read after them; `{A}` and `{B}` in it
        become the letters that the responses have in the order in which they are shown
    labels : what the prompt calls the response shown first and the second, as `1/2`; empty for A and B
    wording : 0, or which other wording of what is asked the prompt has
    instruction : what the prompt says before it asks
    box : where the lesion is, in fractions of the picture's width and height; None where the case does not say
    original_id : the id before `mrb merge`, by which probes draw, so that they change the case as before; empty where
        nobody renamed the case
    """

    case_id: str
    question: str
    response_a: str
    response_b: str
    images: tuple[str, ...] = ()
    modality: str | None = None
    organ: str | None = None
    reference: str | None = None
    note: str = ""
    labels: str = ""
    wording: int = 0
    instruction: str = ""
    box: Box | None = None
    original_id: str = ""

    @property
    def drawn_by(self) -> str:
        """The id that decides what probes draw."""
        return self.original_id or self.case_id

    @property
    def source(self) -> str:
        """The prefix that `mrb merge` added to the id; cases from the same source share it."""
        return self.case_id.removesuffix(self.drawn_by)

    @property
    def of_the_prompt(self) -> list[str]:
        """Return what the prompt says otherwise than its own template, in sentences; empty where nothing."""
        said = []
        if self.note:
            note = self.note.replace("{A}", "A").replace("{B}", "B")
            said.append(f"After the responses, where A is shown first, a note says: {note}")
        if self.labels:
            first, _, second = self.labels.partition("/")
            said.append(f"The prompt calls the response shown first {first}, and the second {second}.")
        if self.wording:
            said.append(f"The prompt asks in other words than its own, wording {self.wording}.")
        if self.instruction:
            said.append(f"Before it asks, the prompt says: {self.instruction}")
        return said

    def response(self, side: Side) -> str:
        """The text of a response."""
        return self.response_a if side == "A" else self.response_b

    def with_response(self, side: Side, text: str) -> Case:
        """The case with another text of a response."""
        return replace(self, response_a=text) if side == "A" else replace(self, response_b=text)


def drawn_by(cases: pd.DataFrame) -> pd.Series:
    """The id of each case that decides what probes draw: the one before `mrb merge`."""
    ids = cases["case_id"]
    return cases["original_id"].fillna(ids) if "original_id" in cases else ids


class Others:
    """The other cases of the benchmark, from which a probe may borrow a picture."""

    def __init__(self, cases: pd.DataFrame) -> None:
        shown = cases["images"].map(len).gt(0) if "images" in cases else pd.Series(False, index=cases.index)
        self._cases = cases[shown.to_numpy(dtype=bool)]
        ids = zip(self._cases["case_id"], drawn_by(self._cases), strict=True)
        stated = self._cases["organ"] if "organ" in self._cases else pd.Series(None, self._cases.index, dtype="str")
        self._has_organ = stated.notna().to_numpy(dtype=bool)
        self._source = np.array([case_id.removesuffix(original) for case_id, original in ids], dtype=object)

    def same_modality(self, case: Case, rng: np.random.Generator) -> Case | None:
        """A case with an image of the same modality and organ; None where there is none."""
        return self._drawn(case, rng, self._is("modality", case.modality) & self._is("organ", case.organ))

    def other_organ(self, case: Case, rng: np.random.Generator) -> Case | None:
        """A case with an image of another organ; None where there is none."""
        return self._drawn(case, rng, ~self._is("organ", case.organ) & self._has_organ)

    def _is(self, column: str, value: str | None) -> np.ndarray:
        if value is None or column not in self._cases:
            return np.zeros(len(self._cases), dtype=bool)
        return self._cases[column].eq(value).fillna(False).to_numpy(dtype=bool)

    def _drawn(self, case: Case, rng: np.random.Generator, kept: np.ndarray) -> Case | None:
        own, kept = set(case.images), kept & (self._source == case.source)
        # A copy of the case's own picture under another question is no other picture.
        kept = kept & np.array([not own & set(names) for names in self._cases["images"]], dtype=bool)
        places = np.flatnonzero(kept)
        return as_case(self._cases.iloc[int(rng.choice(places))]) if len(places) else None


def as_case(row: pd.Series) -> Case:
    """A row of the cases table."""

    def text(name: str) -> str | None:
        value = row.get(name)
        return value if isinstance(value, str) else None

    names = row.get("images")
    return Case(
        str(row["case_id"]), text("question") or "", text("response_a") or "", text("response_b") or "",
        tuple(map(str, names if names is not None else ())), text("modality"), text("organ"), text("reference"),
        box=_box(row.get("box")), original_id=text("original_id") or "",
    )  # fmt: skip


def _box(value: object) -> Box | None:
    """Four fractions, as a list or as the JSON text of one; None for anything else."""
    try:
        listed: Any = json.loads(value) if isinstance(value, str) else value
        left, top, right, bottom = map(float, listed)
    except (TypeError, ValueError, RecursionError):
        return None
    inside = 0 <= left < right <= 1 and 0 <= top < bottom <= 1  # false where one is not a number
    return (left, top, right, bottom) if inside else None


EditCase = Callable[[Case, int, np.random.Generator, Others], Case | str]
"""Changes a case at a severity; a text in place of a case says why the probe does not apply to it."""
EditResponse = Callable[[str, int, np.random.Generator, Case], str | None]
"""Changes the text of a response at a severity; None where there is nothing in it to change."""
EditPicture = Callable[[Image.Image, int, np.random.Generator, Case], Image.Image]
"""Changes a picture at a severity; the picture is "L" or "RGB"."""


@dataclass(frozen=True)
class Probe:
    """One intervention.

    Attributes
    ----------
    name : `image/blur`: what it changes, and how
    does : in a sentence
    expected : what a sound judge does: gives the `same` verdicts, judges `worse`, or `flips` (its choice goes
        against the response that got worse)
    severities : how many steps it has; 1 for one that has no steps
    source : the paper it comes from; empty where it is this library's own
    edit, response, picture : the change itself, one of the three
    needs_box : it changes what a `box` holds
    groups : what its severities stand for, in order, of a probe of questions groups of patients; empty where they are
        steps
    harmless : the highest severity at which a sound judge still gives the same verdicts, as with 5% of a picture cut
        off; 0 where every step may cost something
    names_side : True: it applies only where the texts of a case name a side, left or right; False: only where none does
    """

    name: str
    changes: Changes
    does: str
    expected: Expected
    severities: int = 1
    source: str = ""
    edit: EditCase | None = None
    response: EditResponse | None = None
    picture: EditPicture | None = None
    needs_box: bool = False
    groups: tuple[str, ...] = ()
    harmless: int = 0
    names_side: bool | None = None

    def expects(self, severity: int) -> Expected:
        """Return what a sound judge does at a severity; 0 changes nothing."""
        return "same" if severity <= self.harmless else self.expected

    def applied(self, case: Case, severity: int, rng: np.random.Generator, others: Others, *, both: bool) -> Case | str:
        """The case as changed, pictures excepted, or why the probe does not apply to it."""
        if severity == 0:
            return case
        if self.edit is not None:
            return self.edit(case, severity, rng, others)
        if self.response is not None:
            return _rewritten(self.response, case, severity, rng, both=both)
        if not case.images:
            return "it has no image"
        if self.names_side is not None and self.names_side != _names_side(case):
            return "its texts name no side" if self.names_side else "its texts name a side"
        if self.needs_box and case.box is None:
            return "no box says where its lesion is"
        if self.needs_box and len(case.images) > 1:
            return "it has several images, and its box does not say in which the lesion is"
        return case


PROBES: Registry[Probe] = Registry("probe", "mrb_lib.probes")
"""Every probe by name."""


def _adding(name: str, kind: str, facts: Mapping[str, object]) -> Callable[[F], F]:
    def decorate(edit: F) -> F:
        does = (edit.__doc__ or "").strip().splitlines()[0].rstrip(".")
        made: dict[str, Any] = {**facts, kind: edit}
        PROBES.add(name, Probe(name, _changes(name), does, **made))
        return edit

    return decorate


def register_probe(name: str, **facts: object) -> Callable[[EditCase], EditCase]:
    """Register a function that changes a case; its docstring's first line says what it does, `facts` are of `Probe`."""
    return _adding(name, "edit", facts)


def register_response(name: str, **facts: object) -> Callable[[EditResponse], EditResponse]:
    """Register a function that changes the text of a response; see `register_probe`."""
    return _adding(name, "response", facts)


def register_picture(name: str, **facts: object) -> Callable[[EditPicture], EditPicture]:
    """Register a function that changes a picture, at `MOST_SEVERE` severities if none are stated."""
    return _adding(name, "picture", {"severities": MOST_SEVERE, **facts})


def target(case_id: str) -> Side:
    """The response that probes of one response change: half of all cases have A, whatever the seed."""
    return "A" if hashlib.sha256(f"target\0{case_id}".encode()).digest()[0] % 2 else "B"


@dataclass(frozen=True)
class ProbeId:
    """A probe, how severe, and whether it changes both responses: `response/negation+both`, `image/blur:3`."""

    probe: str
    severity: int = 1
    both: bool = False

    def __str__(self) -> str:
        """As in the verdicts; without a severity where that is 1 and the probe has no other."""
        graded = self.probe in PROBES and PROBES[self.probe].severities > 1
        steps = f":{self.severity}" if self.severity != 1 or graded else ""
        return f"{self.probe}{BOTH if self.both else ''}{steps}"


def parse_probes(text: str) -> list[ProbeId]:
    """The probes that an option names: `image/blur:3,response/*,question/hunch`.

    A name without a severity is every severity of that probe; `*` stands for any letters, and severity 0 for no
    change at all.

    Raises
    ------
    InputError
        There is no such probe or severity; the message has the nearest names.
    """
    found: list[ProbeId] = []
    for part in (piece.strip() for piece in text.split(",")):
        if part:
            found += _named(part)
    return list(dict.fromkeys(found))


def parse_id(text: str) -> ProbeId | None:
    """The probe that a verdict is about; None for `none` and for one that this library does not have."""
    if text == NO_PROBE:
        return None
    try:
        ids = _named(text)
    except InputError:
        return None
    return ids[0] if len(ids) == 1 else None


def _named(part: str) -> list[ProbeId]:
    name, colon, steps = part.partition(":")
    name, both = name.removesuffix(BOTH), name.endswith(BOTH)
    if "*" in name or "?" in name:
        names = [known for known in PROBES if fnmatchcase(known, name)]
    else:
        names = [name] if name in PROBES else []
    if not names:
        near = difflib.get_close_matches(name, list(PROBES), n=3, cutoff=0.4) or list(PROBES)[:3]
        raise InputError(f"probe {part!r}: is unknown; the nearest are {', '.join(near)} (`mrb probes` lists all).")
    if both and any(PROBES[known].response is None for known in names):
        raise InputError(f"probe {part!r}: {BOTH} is for probes that change a response.")
    out: list[ProbeId] = []
    for known in names:
        most = PROBES[known].severities
        if not colon:
            out += [ProbeId(known, step, both) for step in range(1, most + 1)]
        elif steps.isascii() and steps.isdigit() and int(steps) <= most:
            out.append(ProbeId(known, int(steps), both))
        else:
            raise InputError(f"probe {part!r}: {known} has severities 0 to {most}.")
    return out


def _rewritten(edit: EditResponse, case: Case, severity: int, rng: np.random.Generator, *, both: bool) -> Case | str:
    state = rng.bit_generator.state
    sides: tuple[Side, ...] = ("A", "B") if both else (target(case.drawn_by),)
    for side in sides:
        rng.bit_generator.state = state  # the same draws for both
        text = edit(case.response(side), severity, rng, case)
        if text is None or text == case.response(side):
            return f"response {side} holds nothing that it changes"
        case = case.with_response(side, text)
    return case


def _changes(name: str) -> Changes:
    kind = name.partition("/")[0]
    if kind not in ("image", "response", "question", "prompt"):
        raise ValueError(f"probe {name!r}: must begin with image/, response/, question/ or prompt/.")
    return kind  # type: ignore[return-value]  # mypy does not narrow a str by a tuple of literals


def _names_side(case: Case) -> bool:
    """Tell whether a text of the case names a side; in any sense of the words, so that in doubt a side matters."""
    texts = (case.question, case.response_a, case.response_b, case.reference or "")
    return any(_SIDE.search(text) for text in texts)
