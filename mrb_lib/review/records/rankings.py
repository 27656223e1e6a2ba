"""Items whose responses are ranked at once: a ranking is kept as the choices on all pairs of the item."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

import numpy as np
import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark
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
