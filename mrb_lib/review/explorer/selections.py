"""Which cases a page of the explorer shows, for whom: a query, and what reviewers had done when it was asked."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from mrb_lib.review.explorer.adjudicate import Reviews, disagreed_on, reviewed_by
from mrb_lib.review.explorer.data import ExplorerData
from mrb_lib.review.explorer.tags import Beholder, Tags
from mrb_lib.review.failures.query import REVIEWS, Query, facets, searchable, select
from mrb_lib.review.records.store import REVIEW
from mrb_lib.stats.options import BoolArray, IntArray
from mrb_lib.stats.where import cases_where
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.questions import adjudication_columns

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
        self.tags = Tags(reviews, blind=blind)
        self._kept: OrderedDict[tuple[Query, Scope], IntArray] = OrderedDict()
        self._marks: tuple[pd.DataFrame, dict[str, list[str]]] | None = None

    @cached_property
    def _texts(self) -> list[str]:
        return searchable(self.data.benchmark.cases)

    def of(self, query: Query, scope: Scope = _NOBODY) -> IntArray:
        """The positions of the cases that a query leaves, in its order, kept for the questions that follow.

        The scope matters to a query about reviews only.
        """
        key = (query, scope if query.review or query.where else _NOBODY)
        if key not in self._kept:
            kinds, cases, texts = self.data.kinds, self.data.benchmark.cases, self._texts_for(query)
            selected = select(kinds, cases, query, texts=texts, within=self.within(query, scope))
            self._kept[key] = selected
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return self._kept[key]

    def facets(self, query: Query, scope: Scope) -> pd.DataFrame:
        """Count the cases that each further filter would leave, see `mrb_lib.review.failures.query.facets`."""
        cases, texts = self.data.benchmark.cases, self._texts_for(query)
        return facets(self.data.kinds, cases, query, texts=texts, within=self.within(query, scope))

    def scope(self, question: Mapping[str, Any]) -> Scope:
        """For whom a selection is made, and as of when: now, unless the question says `as_of`."""
        reviewer, as_of = str(question.get("reviewer") or ""), question.get("as_of")
        if isinstance(as_of, list | tuple) and len(as_of) == 2 and all(isinstance(n, int) and n >= 0 for n in as_of):
            return reviewer, as_of[0], as_of[1]
        return reviewer, len(self.history()), len(self.tags.history())

    def history(self) -> pd.DataFrame:
        """All adjudications; none where no store can be read."""
        try:
            return self.reviews.history()
        except InputError:
            return pd.DataFrame(columns=list(adjudication_columns()), dtype="str")

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
                reviewers=lambda: reviewed_by(self.history().iloc[: scope[1]]),
                dimensions=self.data.kinds.dimensions,
                tags=lambda: self.tags.seen_by(self.beholder(scope), scope[2]),
            )
        if query.review:
            within &= self._reviewed(query.review, scope)
        return within if query.where or query.review else None

    def _reviewed(self, review: str, scope: Scope) -> BoolArray:
        """The cases that a state of review leaves for a reviewer."""
        reviewer = scope[0]
        history = self.history().iloc[: scope[1]]
        mine = {case for case, names in reviewed_by(history).items() if reviewer in names}
        cases = self.data.benchmark.cases["case_id"]
        if review == "queue":
            assigned = self.reviews.store().assignments(self.reviews.benchmark, reviewer, task=REVIEW)
            return np.asarray(cases.isin(assigned["case_id"]), dtype=bool)
        if review == "disagree":
            known = disagreed_on(history) & mine if self.blind else disagreed_on(history)
            return np.asarray(cases.isin(known), dtype=bool)
        return np.asarray(cases.isin(mine) == (review == "mine"), dtype=bool)

    def beholder(self, scope: Scope) -> Beholder:
        """Who looks, and which cases they had reviewed as of then."""
        history = self.history().iloc[: scope[1]]
        return Beholder(scope[0], {case for case, names in reviewed_by(history).items() if scope[0] in names})

    def beholder_now(self, reviewer: str) -> Beholder:
        """Who looks, and which cases they have reviewed by now."""
        return Beholder(reviewer, {case for case, names in self.marks().items() if reviewer in names})

    def review_counts(self, query: Query, scope: Scope) -> dict[str, Any]:
        """The facet of the states of review; empty where nothing can be stored, or nobody is signed in."""
        if not scope[0] or self.reviews.trouble():
            return {}
        every = self.of(replace(query, review=""), scope)
        values = [[name, int(self._reviewed(name, scope)[every].sum())] for name in REVIEWS if name]
        return {"review": {"total": len(every), "adds_up": False, "values": values}}

    def n_reviewed(self, selected: IntArray, reviewer: str) -> int:
        """How many of these cases somebody has reviewed by now."""
        here = set(self.data.benchmark.cases["case_id"].iloc[selected])
        return sum(case in here and reviewer in names for case, names in self.marks().items())

    def marks(self) -> dict[str, list[str]]:
        """By case, the reviewers with a current adjudication; empty where no store can be read."""
        try:
            history = self.reviews.history()
        except InputError:
            return {}
        if self._marks is None or self._marks[0] is not history:
            self._marks = history, reviewed_by(history)
        return self._marks[1]

    def _texts_for(self, query: Query) -> Sequence[str] | None:
        return self._texts if query.text else None
