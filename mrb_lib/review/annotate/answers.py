"""The page of an annotator: what it asks, answered from a benchmark and a store, without other annotators' answers.

All responses of an item may be ranked at once; a ranking is kept as the choices on all pairs.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Any, Final
from uuid import uuid4

import numpy as np
import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.judges.prompts import DEFINITIONS
from mrb_lib.review.annotate.forms import FREE_LETTERS, PREFERENCE, STYLES, Box, Form, form_of, sheet_html
from mrb_lib.review.app import App, File, sent
from mrb_lib.review.case.view import SCRIPTS, image_asked, whole
from mrb_lib.review.pages import template, visible
from mrb_lib.review.records.exchange import DONE, OPEN, SKIPPED, case_states
from mrb_lib.review.records.marks import AnnotatorAnswer, Comment, case_fingerprint
from mrb_lib.review.records.store import Store
from mrb_lib.tables.errors import InputError
from mrb_lib.verdicts.orders import TIE

_SCRIPTS: Final = (
    *SCRIPTS,
    *(f"annotate/{name}" for name in ("parts", "comments", "annotate", "ranking")),
)
LEAST_RANKED: Final = 3
MOST_RANKED: Final = 9
_LONGEST: Final = {"reason": 2000, "text": 10_000, "pick": 20_000}
"""Characters of what is free; a pick of many labels is long."""
_LONGEST_NAME: Final = 255
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
        self._picture = lru_cache(maxsize=2)(lambda name, frame: whole(name, benchmark.images, frame, "the image"))

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
            "heading": visible(form.heading.format(meta.categories[0], meta.categories[-1])),
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
            name = visible(self._benchmark.meta.name)
            return {"nothing": f"No case of {name} is assigned to {visible(annotator)}. Tell whoever coordinates."}
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
        """A frame of an image of the case in sight; see `mrb_lib.review.case.view.whole`."""
        case = self._benchmark.cases.iloc[self._rows[self._in_sight(question).case_id]]
        return self._picture(image_asked(question, case), sent({"frame": 1, **question}, "frame", int))

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


@dataclass(frozen=True)
class RankedItem:
    """The pairs of one item.

    Attributes
    ----------
    case_ids : in the order of the cases table
    responses : the distinct texts, in the order in which they first occur
    pairs : of each case, the places of response A and response B in `responses`
    """

    case_ids: tuple[str, ...]
    responses: tuple[str, ...]
    pairs: tuple[tuple[int, int], ...]

    def choices(self, places: Sequence[int]) -> dict[str, str]:
        """The choice on each case that a place for each response means: the lower place is better, equal ones tie."""
        return {
            case: "A" if places[a] < places[b] else "B" if places[b] < places[a] else TIE
            for case, (a, b) in zip(self.case_ids, self.pairs, strict=True)
        }

    def places(self, choices: Mapping[str, str], *, ties: bool) -> list[int] | None:
        """The places from 1 that fit the choices on the cases; None where a case has no choice.

        A response stands one below the lowest that beats it. Without ties, responses that no pair tells apart stand in
        the order of `responses`.
        """
        if not set(self.case_ids) <= choices.keys():
            return None
        place = np.ones(len(self.responses), dtype=np.int64)
        for _ in self.responses:
            for case, (a, b) in zip(self.case_ids, self.pairs, strict=True):
                if choices[case] == TIE:
                    place[[a, b]] = max(place[a], place[b])
                else:
                    better, worse = (a, b) if choices[case] == "A" else (b, a)
                    place[worse] = max(place[worse], place[better] + 1)
        whole = place if ties else place.argsort(kind="stable").argsort(kind="stable") + 1
        return [int(one) for one in whole]

    def shown(self, benchmark: str, annotator: str) -> list[int]:
        """The order in which somebody sees the responses, drawn by who they are and what the item is."""
        name = json.dumps([benchmark, annotator, self.case_ids])
        rng = np.random.default_rng(int.from_bytes(sha256(name.encode()).digest()[:8], "big"))
        return [int(one) for one in rng.permutation(len(self.responses))]


def ranked_items(benchmark: Benchmark) -> list[RankedItem]:
    """The items of a preference benchmark, in the order of its cases.

    Raises
    ------
    InputError
        The labels are not preferences; a case has no item; an item asks several questions, holds one response only, a
        pair of equal texts, or more responses than there are keys; or no item has three.
    """
    meta, cases = benchmark.meta, benchmark.cases
    if not meta.is_preference or not {"A", "B"} <= set(meta.categories):
        raise InputError(f"{meta.name}: its labels are not preferences, as rankings need; leave out --ranking.")
    lacks = cases["item"].isna() if "item" in cases else pd.Series(True, cases.index)
    if lacks.any():
        first = cases.loc[lacks, "case_id"].iloc[0]
        raise InputError(f"{meta.name}, case {first}: has no item, so nothing says what to rank it with; fill it.")
    items = []
    for name, rows in cases.groupby("item", sort=False):
        if rows["question"].nunique() > 1 or len(set(map(tuple, rows["images"]))) > 1:
            raise InputError(f"item {name}: its cases differ in question or images; give each question its own item.")
        same = rows.loc[rows["response_a"] == rows["response_b"], "case_id"]
        if len(same):
            raise InputError(f"item {name}, case {same.iloc[0]}: its responses are equal; take it out of the item.")
        codes, responses = pd.factorize(rows[["response_a", "response_b"]].to_numpy().ravel())
        if len(responses) > MOST_RANKED:
            raise InputError(f"item {name}: has {len(responses)} responses; rank at most {MOST_RANKED} at once.")
        pairs = tuple((int(a), int(b)) for a, b in codes.reshape(-1, 2))
        items.append(RankedItem(tuple(map(str, rows["case_id"])), tuple(map(str, responses)), pairs))
    if max(len(item.responses) for item in items) < LEAST_RANKED:
        raise InputError(f"{meta.name}: no item has {LEAST_RANKED} responses or more; annotate its pairs instead.")
    return items


class Ranking(Form):
    """The place of each response of an item."""

    asks = "ranking"
    heading = "Rank the answers: 1 is best"


RANKING: Final = Ranking()


class RankedAnnotation(Annotation):
    """`Annotation` of whole items: in sight is an item, which its first case stands for, with all its responses."""

    def __init__(self, benchmark: Benchmark, store: Store) -> None:
        self._items: dict[str, RankedItem] = {}
        for item in ranked_items(benchmark):
            self._items |= dict.fromkeys(item.case_ids, item)
        super().__init__(benchmark, store, RANKING)
        self._ties = TIE in benchmark.meta.categories

    def initial_state(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """See `Annotation.initial_state`; also whether `ranking` has `ties`."""
        return super().initial_state(question) | {"ranking": {"ties": self._ties}}

    def open(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """See `Annotation.open`; also `rows`, a response of a dimension each, and the places as `picks`."""
        opened = super().open(question)
        if "number" not in opened:
            return opened
        item = self._item(self._assigned_case(str(question["annotator"]), opened["number"]))
        letters, several = FREE_LETTERS[: len(item.responses)], len(self._benchmark.meta.dimensions) > 1
        rows = [
            {"name": name, "key": letter, "hint": "" if at else visible(self._hints.get(name, "")),
             "shown": f"{visible(name)}: answer {letter}" if several else f"Answer {letter}"}
            for name in self._benchmark.meta.dimensions
            for at, letter in enumerate(letters)
        ]  # fmt: skip
        picks = [{"pick": str(n), "key": str(n), "name": str(n)} for n in range(1, len(letters) + 1)]
        return opened | {"rows": rows, "picks": picks}

    def _choices(self, assigned: AssignedCase, dimension: str, question: Mapping[str, Any]) -> dict[str, str]:
        """Return what the `places` of all responses, in the order in which they are shown, mean on each pair."""
        item, places = self._item(assigned), question.get("places")
        n = len(item.responses)
        if not isinstance(places, list) or len(places) != n or not all(place in range(1, n + 1) for place in places):
            raise InputError(f"a ranking needs a place from 1 to {n} for each of {n} answers; give one to each.")
        if not self._ties and len(set(places)) < n:
            raise InputError("two answers have one place, and this benchmark has no ties; give each its own.")
        by_response = dict(zip(self._shown(assigned), places, strict=True))
        return item.choices([by_response[place] for place in range(n)])

    def _item(self, assigned: AssignedCase) -> RankedItem:
        return self._items[assigned.case_id]

    def _cases(self, assigned: AssignedCase) -> Sequence[str]:
        return self._item(assigned).case_ids

    def _orders(self, assigned: AssignedCase) -> dict[str, str]:
        item, seen = self._item(assigned), self._shown(assigned)
        first = [seen.index(a) < seen.index(b) for a, b in item.pairs]
        return dict(zip(item.case_ids, ("AB" if a_first else "BA" for a_first in first), strict=True))

    def _shown(self, assigned: AssignedCase) -> list[int]:
        return self._item(assigned).shown(self._benchmark.meta.name, assigned.annotator)

    def _assigned(self, annotator: str | None) -> pd.DataFrame:
        frame = super()._assigned(annotator)
        frame["case_id"] = [self._items[case].case_ids[0] for case in frame["case_id"]]
        return frame.drop_duplicates(["annotator", "case_id"], ignore_index=True)

    def _states(self, mine: pd.DataFrame) -> list[str]:
        """Return how far each item is: done where all its pairs are."""
        items = [self._items[case].case_ids for case in mine["case_id"]]
        pairs = mine.assign(case_id=pd.Series(items, index=mine.index)).explode("case_id", ignore_index=True)
        of = dict(zip(pairs["case_id"], super()._states(pairs.astype({"case_id": "str"})), strict=True))
        each = [{of[case] for case in cases} for cases in items]
        return [OPEN if OPEN in found else SKIPPED if SKIPPED in found else DONE for found in each]

    def _boxes(self, assigned: AssignedCase, case: pd.Series) -> list[Box]:
        responses = [self._item(assigned).responses[place] for place in self._shown(assigned)]
        return [Box(f"Answer {key}", key, text, key) for key, text in zip(FREE_LETTERS, responses, strict=False)]

    def _answers(self, assigned: AssignedCase) -> list[dict[str, str]]:
        """Of each response of each dimension, as they are shown, its place, or why the ranking was skipped."""
        out: list[dict[str, str]] = []
        item, stored = self._item(assigned), self._stored(assigned)
        for name in self._benchmark.meta.dimensions:
            own = {case: given for (case, dimension), given in stored.items() if dimension == name}
            places = item.places({case: choice for case, (choice, _) in own.items() if choice}, ties=self._ties)
            why = next((visible(reason) for _, reason in own.values() if reason), "")
            if places is not None:
                out += [{"pick": str(places[response])} for response in self._shown(assigned)]
            else:
                out += [{"skipped": why} if why else {} for _ in item.responses]
        return out


def annotate(benchmark: Benchmark, store: Store, form: Form | None = None, *, ranked: bool = False) -> App:
    """Blinded annotation of the cases that are assigned in a store.

    Parameters
    ----------
    benchmark : whose labels the form can ask for
    store : holds the assignments (see `mrb_lib.review.records.assignment.assign`), and gets the answers
    form : what is asked of a case; None for what the benchmark's labels are, a preference between two responses or a
        rating of one
    ranked : all responses of an item are ranked at once, which is stored as the preferences of its pairs

    Raises
    ------
    InputError
        The benchmark's labels are not those of the form, or its items cannot be ranked.

    Notes
    -----
    Who signs in by which name is not checked. Validated in tests/review/annotate/test_annotate.py and
    tests/browser/test_annotate.py.
    """
    form = form or form_of(benchmark.meta)
    desk = RankedAnnotation(benchmark, store) if ranked else Annotation(benchmark, store, form)
    answers = (desk.initial_state, desk.open, desk.image, desk.choose, desk.skip, desk.comment)
    return App(
        f"Annotation: {benchmark.meta.name}", {each.__name__: each for each in answers}, _SCRIPTS, STYLES,
        static=lambda: template("static").render(styles=(), html=(), needs_kernel=benchmark.meta.name),
    )  # fmt: skip


def hints(benchmark: Benchmark) -> dict[str, str]:
    """Return how each dimension is understood: as the benchmark's key `definitions` says, else as judges are told."""
    own, usual = benchmark.meta.definitions, {} if benchmark.meta.is_rating else DEFINITIONS
    texts = {name: own.get(name, usual.get(name, "")) for name in benchmark.meta.dimensions}
    return {name: text for name, text in texts.items() if text}


def _text(question: Mapping[str, Any], name: str) -> str:
    value, longest = sent(question, name, str), _LONGEST.get(name, _LONGEST_NAME)
    if len(value) > longest:
        raise InputError(f"{name}: has {len(value)} characters; use at most {longest}.")
    return value


def _number(question: Mapping[str, Any], name: str) -> int:
    return sent({name: 0, **question}, name, int)
