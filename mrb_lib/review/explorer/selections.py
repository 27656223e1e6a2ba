"""The cases that a reviewer's query leaves, who has reviewed them, and the tags that a reviewer may see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import pandas as pd

from mrb_lib.review.explorer.adjudicate import Reviews, disagreed_on, reviewed_by
from mrb_lib.review.explorer.data import ExplorerData
from mrb_lib.review.failures.query import REVIEWS, Query, facets, searchable, select
from mrb_lib.review.records.marks import current_tags
from mrb_lib.review.records.store import REVIEW
from mrb_lib.stats.options import BoolArray, IntArray
from mrb_lib.stats.where import cases_where

_KEPT = 16
Scope = tuple[str, int, int]
"""For whom a selection is made, and how many adjudications and rows of tags count in it."""
_NOBODY: Scope = ("", 0, 0)


class Selections:
    """The cases that queries leave, and who has reviewed them.

    Parameters
    ----------
    blind : what others say of a case is kept from a reviewer until their own is stored, and so is that they disagree
    """

    def __init__(self, data: ExplorerData, reviews: Reviews, *, blind: bool) -> None:
        self.data, self.reviews, self.blind = data, reviews, blind
        self._selected = lru_cache(maxsize=_KEPT)(self._select)
        self._marks: tuple[pd.DataFrame | None, dict[str, list[str]]] = (None, {})

    @cached_property
    def _texts(self) -> list[str]:
        return searchable(self.data.benchmark.cases)

    def of(self, query: Query, scope: Scope = _NOBODY) -> IntArray:
        """The positions of the cases that a query leaves, in its order, kept for the questions that follow."""
        return self._selected(query, scope if query.review or query.where else _NOBODY)

    def _select(self, query: Query, scope: Scope) -> IntArray:
        texts, within = self._texts_for(query), self.within(query, scope)
        return select(self.data.kinds, self.data.benchmark.cases, query, texts=texts, within=within)

    def facets(self, query: Query, scope: Scope) -> pd.DataFrame:
        """Count the cases that each further filter would leave, see `mrb_lib.review.failures.query.facets`."""
        cases, texts = self.data.benchmark.cases, self._texts_for(query)
        return facets(self.data.kinds, cases, query, texts=texts, within=self.within(query, scope))

    def scope(self, question: Mapping[str, Any]) -> Scope:
        """For whom a selection is made, and as of when: now, unless the question says `as_of`."""
        reviewer, as_of = str(question.get("reviewer") or ""), question.get("as_of")
        if isinstance(as_of, list | tuple) and len(as_of) == 2 and all(isinstance(n, int) and n >= 0 for n in as_of):
            return reviewer, as_of[0], as_of[1]
        return reviewer, len(self.reviews.readable()), len(self.reviews.readable("tags"))

    def within(self, query: Query, scope: Scope) -> BoolArray | None:
        """The cases that a query's `where` and `review` leave; None for all."""
        cases = self.data.benchmark.cases
        within = np.ones(len(cases), dtype=bool)
        if query.where:
            within &= cases_where(
                query.where,
                cases,
                gold=self.data.labels.frame,
                outcomes=lambda: self.data.kinds.outcomes,
                reviewers=lambda: self.marks(scope),
                dimensions=self.data.kinds.dimensions,
                tags=lambda: names_of(self.tagged(scope[0], scope)),
            )
        if query.review:
            within &= self._reviewed(query.review, scope)
        return within if query.where or query.review else None

    def _reviewed(self, review: str, scope: Scope) -> BoolArray:
        """The cases that a state of review leaves for a reviewer."""
        reviewer, mine = scope[0], self.reviewed(scope[0], scope)
        cases = self.data.benchmark.cases["case_id"]
        if review == "queue":
            assigned = self.reviews.store().assignments(self.reviews.benchmark, reviewer, task=REVIEW)
            return np.asarray(cases.isin(assigned["case_id"]), dtype=bool)
        if review == "disagree":
            differ = disagreed_on(self.reviews.readable().iloc[: scope[1]])
            return np.asarray(cases.isin(differ & mine if self.blind else differ), dtype=bool)
        return np.asarray(cases.isin(mine) == (review == "mine"), dtype=bool)

    def reviewed(self, reviewer: str, scope: Scope | None = None) -> set[str]:
        """The cases that somebody has reviewed, as of a scope or by now."""
        return {case for case, names in self.marks(scope).items() if reviewer in names}

    def tagged(self, reviewer: str | None, scope: Scope | None = None) -> dict[str, list[tuple[str, str]]]:
        """By case, the tags that a reviewer may see, each with who gave it; for nobody in particular (None), all."""
        seen: dict[str, list[tuple[str, str]]] = {}
        rows = current_tags(self.reviews.readable("tags").iloc[: scope and scope[2]])
        reviewed = self.reviewed(reviewer, scope) if self.blind and reviewer is not None else set()
        for case, tag, by in zip(rows["case_id"], rows["tag"], rows["reviewer"], strict=True):
            if not self.blind or reviewer in (None, by) or case in reviewed:
                seen.setdefault(str(case), []).append((str(tag), str(by)))
        return seen

    def review_counts(self, query: Query, scope: Scope) -> dict[str, Any]:
        """The facet of the states of review; empty where nothing can be stored, or nobody is signed in."""
        if not scope[0] or self.reviews.trouble():
            return {}
        every = self.of(replace(query, review=""), scope)
        values = [[name, int(self._reviewed(name, scope)[every].sum())] for name in REVIEWS if name]
        return {"review": {"total": len(every), "adds_up": False, "values": values}}

    def n_reviewed(self, selected: IntArray, reviewer: str) -> int:
        """Return how many of these cases somebody has reviewed by now."""
        return len(self.reviewed(reviewer) & set(self.data.benchmark.cases["case_id"].iloc[selected]))

    def marks(self, scope: Scope | None = None) -> dict[str, list[str]]:
        """By case, the reviewers with a current adjudication, as of a scope or now; none where no store can be read."""
        history = self.reviews.readable()
        if scope and scope[1] < len(history):
            return reviewed_by(history.iloc[: scope[1]])
        if self._marks[0] is not history:
            self._marks = history, reviewed_by(history)
        return self._marks[1]

    def _texts_for(self, query: Query) -> Sequence[str] | None:
        return self._texts if query.text else None


def names_of(tagged: Mapping[str, Sequence[tuple[str, str]]]) -> dict[str, list[str]]:
    """By case, the names of its tags, see `Selections.tagged`."""
    return {case: sorted({tag for tag, _ in tags}) for case, tags in tagged.items()}
