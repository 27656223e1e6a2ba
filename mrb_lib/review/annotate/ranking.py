"""Items whose responses are ranked at once: what the page asks; a ranking is kept as the choices on all pairs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

import numpy as np
import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.review.annotate.answers import Annotation, AssignedCase
from mrb_lib.review.annotate.forms import FREE_LETTERS, Box, Form
from mrb_lib.review.records.progress import DONE, OPEN, SKIPPED
from mrb_lib.review.records.store import Store
from mrb_lib.review.text import visible
from mrb_lib.tables.errors import InputError
from mrb_lib.verdicts.orders import TIE

LEAST_RANKED: Final = 3
MOST_RANKED: Final = 9


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

    def heading(self, meta: BenchmarkMeta) -> str:
        """See `Form.heading`."""
        return "Rank the answers: 1 is best"


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
