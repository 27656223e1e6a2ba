"""What the page of an annotator asks, answered from a benchmark and a store; it sees no other annotator's answers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Any, Final, TypeVar
from uuid import uuid4

import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.judges.prompts import DEFINITIONS
from mrb_lib.review.annotate.forms import PREFERENCE, Box, Form, sheet_html
from mrb_lib.review.app import File
from mrb_lib.review.case.images import whole
from mrb_lib.review.pages import template
from mrb_lib.review.records.marks import AnnotatorAnswer, Comment, case_fingerprint
from mrb_lib.review.records.progress import OPEN, case_states
from mrb_lib.review.records.store import Store
from mrb_lib.review.text import visible
from mrb_lib.tables.errors import InputError

_LONGEST: Final = {"reason": 2000, "text": 10_000, "pick": 20_000}
"""Characters of what is free; a pick of many labels is long."""
_LONGEST_NAME: Final = 255
_Sent = TypeVar("_Sent", str, int)
Given = tuple[str | None, str]
"""A choice, or None and why there is none."""


@dataclass(frozen=True)
class AssignedCase:
    """A case of an annotator, and the order in which they see its responses."""

    annotator: str
    case_id: str
    order: str


class Annotation:
    """The questions of the page and their answers; without memory of its own, so that a page may be loaded again.

    Parameters
    ----------
    benchmark : whose labels the form can ask for
    store : holds the assignments, and gets the answers
    form : how a case is shown and what is asked about it

    Raises
    ------
    InputError
        The benchmark's labels are not those of the form.
    """

    def __init__(self, benchmark: Benchmark, store: Store, form: Form = PREFERENCE) -> None:
        form.check(benchmark.meta)
        self._benchmark = benchmark
        self._form = form
        self._store = store
        self._rows = {case: row for row, case in enumerate(benchmark.cases["case_id"])}
        self._hints = hints(benchmark)
        self._html = lru_cache(maxsize=16)(self._drawn)
        self._picture = lru_cache(maxsize=2)(lambda name, frame: whole(name, benchmark.images, frame))

    def initial_state(self, _: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the page is about, and who may sign in."""
        meta, form = self._benchmark.meta, self._form
        labels = form.labels(meta)
        people = [{"name": name, "shown": visible(name)} for name in sorted(set(self._assigned(None)["annotator"]))]
        return {
            "benchmark": visible(meta.name),
            "simulated": meta.kind == "simulated",
            "annotators": people,
            "dimensions": [
                {"name": name, "shown": visible(name), "hint": visible(self._hints.get(name, ""))}
                | ({"labels": labels[name]} if name in labels else {})
                for name in meta.dimensions
            ],
            "picks": form.picks(meta),
            "heading": form.heading(meta),
            **{name: getattr(form, name) for name in ("title", "signed", "reasons", "listed")},
            "door": template("annotate_door").render(form=form, meta=meta, people=people),
        }

    def open(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """A case: that at `number`, or the next open one after the number `after`; or that nothing is open.

        A case that is gone from the benchmark is not among an annotator's.
        """
        annotator = _text(question, "annotator")
        mine = self._assigned(annotator)
        if mine.empty:
            return {"nothing": self._why_nothing(annotator)}
        states = self._states(mine)
        if "number" in question:
            number = min(max(_number(question, "number"), 1), len(mine))
        else:
            left = [place for place, state in enumerate(states, start=1) if state == OPEN]
            if not left:
                return {"finished": True, "cases": states}
            number = next((one for one in left if one > _number(question, "after")), left[0])
        assigned = self._assigned_case(annotator, number)
        return {
            "number": number,
            "shown": self._seal(assigned),
            "total": len(mine),
            "html": self._html(assigned, number, len(mine)),
            "answers": self._answers(assigned),
            "comments": self._comments(assigned),
            "cases": states,
        }

    def choose(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Keep what was picked for a dimension; the same pick again adds nothing to the history."""
        assigned, dimension = self._in_sight(question), _text(question, "dimension")
        if dimension not in self._benchmark.meta.dimensions:
            raise InputError(f"dimension {dimension!r}: is not a dimension of this benchmark; load the page again.")
        choices = self._choices(assigned, dimension, question)
        self._keep(assigned, {(case, dimension): (choice, "") for case, choice in choices.items()}, question)
        return {"answers": self._answers(assigned)}

    def image(self, question: Mapping[str, Any]) -> File:
        """A frame of an image of the case in sight; see `mrb_lib.review.case.images.whole`."""
        assigned, index = self._in_sight(question), _number(question, "image")
        names = self._benchmark.cases["images"].iloc[self._rows[assigned.case_id]]
        if not 0 <= index < len(names) or str(names[index]) not in self._benchmark.images:
            raise InputError("there is no such image; load the page again.")
        return self._picture(str(names[index]), _number({"frame": 1, **question}, "frame"))

    def skip(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Keep why the dimensions that have no choice yet stay without one."""
        assigned, reason = self._in_sight(question), _text(question, "reason").strip()
        if not reason:
            raise InputError("Say why you skip it: choose a reason, or write one.")
        cases, stored = self._cases(assigned), self._stored(assigned)
        left = [
            name
            for name in self._benchmark.meta.dimensions
            if not all(stored.get((case, name), (None, ""))[0] for case in cases)
        ]
        if not left:
            raise InputError("Everything here has an answer; there is nothing to skip.")
        self._keep(assigned, {(case, name): (None, reason) for name in left for case in cases}, question)
        return {"answers": self._answers(assigned)}

    def comment(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Keep a remark on the case in sight; the page makes its id, so that one that is sent twice counts once."""
        assigned, name = self._in_sight(question), self._benchmark.meta.name
        text, comment_id = _text(question, "text"), _text(question, "comment_id")
        if not text.strip():
            raise InputError("Nothing is written yet; write your comment first.")
        self._store.add(Comment(name, assigned.case_id, assigned.annotator, text, comment_id))
        return {"comments": self._comments(assigned)}

    def _choices(self, assigned: AssignedCase, dimension: str, question: Mapping[str, Any]) -> dict[str, str]:
        """Return what a pick means, by case."""
        pick = _text(question, "pick")
        choice = self._form.choice(assigned.order, pick)
        if not self._benchmark.meta.offers(dimension, choice):
            raise InputError(f"{pick[:80]!r}: is not a choice of this benchmark; load the page again.")
        return {assigned.case_id: choice}

    def _keep(
        self, assigned: AssignedCase, given: Mapping[tuple[str, str], Given], question: Mapping[str, Any]
    ) -> None:
        """Store what is new of it, by case and dimension, all or none; the time was spent once, and is the first one's.

        The page makes the id: an answer that it sends twice, since nobody answered, is stored once whatever came since.
        """
        before, orders = self._stored(assigned), self._orders(assigned)
        answer_id, seconds = _text({"answer_id": str(uuid4()), **question}, "answer_id"), question.get("seconds")
        rest = None if seconds is None else 0.0
        new = [(at, cell, one) for at, (cell, one) in enumerate(given.items()) if before.get(cell) != one]
        self._store.add(*(
            AnnotatorAnswer(self._benchmark.meta.name, case, assigned.annotator, dimension, choice, orders[case],
                            reason, seconds if place == 0 else rest, f"{answer_id}:{at}")
            for place, (at, (case, dimension), (choice, reason)) in enumerate(new)
        ))  # fmt: skip

    def _cases(self, assigned: AssignedCase) -> Sequence[str]:
        """The cases that are answered with what is in sight."""
        return (assigned.case_id,)

    def _orders(self, assigned: AssignedCase) -> dict[str, str]:
        """By case, which of its responses is shown first."""
        return {assigned.case_id: assigned.order}

    def _assigned(self, annotator: str | None) -> pd.DataFrame:
        frame = self._store.assignments(self._benchmark.meta.name, annotator)
        return frame[frame["case_id"].isin(list(self._rows))].reset_index(drop=True)

    def _states(self, mine: pd.DataFrame) -> list[str]:
        """Return how far each of somebody's cases is, in their sequence."""
        answers = self._store.answers(self._benchmark.meta.name, annotator=str(mine["annotator"].iloc[0]))
        return [str(state) for state in case_states(mine, answers, self._benchmark.meta.dimensions)["state"]]

    def _assigned_case(self, annotator: str, number: int) -> AssignedCase:
        mine = self._assigned(annotator)
        if mine.empty:
            raise InputError(f"{annotator!r}: nothing is assigned under this name; load the page and choose yours.")
        if not 1 <= number <= len(mine):
            raise InputError(f"case {number}: is not assigned to {annotator}; load the page again.")
        row = mine.iloc[number - 1]
        return AssignedCase(annotator, str(row["case_id"]), str(row["order"]))

    def _seal(self, assigned: AssignedCase) -> str:
        """Stands for what was shown, by its cases, their versions and orders, and tells nothing of them."""
        cases = self._cases(assigned)
        rows = self._benchmark.cases.iloc[[self._rows[case] for case in cases]].to_dict("records")
        versions = [case_fingerprint({str(name): value for name, value in row.items()}) for row in rows]
        text = json.dumps([*cases, versions, self._orders(assigned)])
        return sha256(text.encode("ascii")).hexdigest()

    def _in_sight(self, question: Mapping[str, Any]) -> AssignedCase:
        """The case that a page answers; refused where that in its window is another, or another version of it."""
        assigned = self._assigned_case(_text(question, "annotator"), _number(question, "number"))
        if question.get("shown") != self._seal(assigned):
            raise InputError("the case in your window is not the one that is stored here now; load the page again.")
        return assigned

    def _drawn(self, assigned: AssignedCase, number: int, total: int) -> str:
        case = self._benchmark.cases.iloc[self._rows[assigned.case_id]]
        return sheet_html(
            case, self._boxes(assigned, case), images=self._benchmark.images, number=number, total=total
        )  # fmt: skip

    def _boxes(self, assigned: AssignedCase, case: pd.Series) -> list[Box]:
        return self._form.boxes(case, assigned.order)

    def _answers(self, assigned: AssignedCase) -> list[dict[str, str]]:
        """Of each dimension in its sequence, what the annotator picked as it was shown, or why they skipped it."""
        stored, out = self._stored(assigned), []
        for dimension in self._benchmark.meta.dimensions:
            choice, why = stored.get((assigned.case_id, dimension), (None, ""))
            picked = {} if choice is None else {"pick": self._form.pick(assigned.order, choice)}
            out.append(picked or ({"skipped": visible(why)} if why else {}))
        return out

    def _stored(self, assigned: AssignedCase) -> dict[tuple[str, str], Given]:
        """By case and dimension, what the annotator chose, or why they skipped it."""
        cases = self._cases(assigned)
        only = cases[0] if len(cases) == 1 else None
        rows = self._store.answers(self._benchmark.meta.name, annotator=assigned.annotator, case_id=only)
        rows = rows.loc[rows["case_id"].isin(cases), ["case_id", "dimension", "choice", "skipped_reason"]]
        return {
            (str(case), str(name)): (None if pd.isna(choice) else str(choice), str(why or ""))
            for case, name, choice, why in rows.itertuples(index=False)
        }

    def _comments(self, assigned: AssignedCase) -> list[dict[str, str]]:
        """Return what the annotator remarked on the case before; never what others did."""
        name = self._benchmark.meta.name
        rows = self._store.comments(name, annotator=assigned.annotator, case_id=assigned.case_id)
        return [
            {"text": visible(text), "created": when} for text, when in zip(rows["text"], rows["created"], strict=True)
        ]

    def _why_nothing(self, annotator: str) -> str:
        meta = self._benchmark.meta
        if annotator in set(self._store.assignments(meta.name)["annotator"]):
            return f"All cases of {visible(annotator)} are gone from the benchmark. Tell whoever coordinates."
        return f"Nothing of {visible(meta.name)} is assigned to {visible(annotator)}. Tell whoever coordinates."


def hints(benchmark: Benchmark) -> dict[str, str]:
    """Return how each dimension is understood: as the benchmark's key `definitions` says, else as judges are told."""
    own, usual = benchmark.meta.definitions, {} if benchmark.meta.is_rating else DEFINITIONS
    texts = {name: own.get(name, usual.get(name, "")) for name in benchmark.meta.dimensions}
    return {name: text for name, text in texts.items() if text}


def _text(question: Mapping[str, Any], name: str) -> str:
    value, longest = _sent(question, name, str), _LONGEST.get(name, _LONGEST_NAME)
    if len(value) > longest:
        raise InputError(f"{name}: has {len(value)} characters; use at most {longest}.")
    return value


def _number(question: Mapping[str, Any], name: str) -> int:
    return _sent({name: 0, **question}, name, int)


def _sent(question: Mapping[str, Any], name: str, kind: type[_Sent]) -> _Sent:
    value = question.get(name)
    if type(value) is not kind:
        raise InputError(f"the page sent no {name}; load it again.")
    return value
