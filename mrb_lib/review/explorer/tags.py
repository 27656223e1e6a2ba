"""Tags on cases as a reviewer may see them: their own, and those of others once that gives nothing away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container
from typing import Any, NamedTuple

import pandas as pd

from mrb_lib.review.explorer.adjudicate import Reviews
from mrb_lib.review.explorer.data import message_text
from mrb_lib.review.records.marks import ADDED, REMOVED, CaseTag, current_tags
from mrb_lib.review.text import visible
from mrb_lib.tables.errors import InputError

_SUGGESTED = 100


class Beholder(NamedTuple):
    """Who looks: a reviewer, and the cases that they have reviewed."""

    reviewer: str
    reviewed: Container[str]


class Tags:
    """The tags of a benchmark's cases in a store; read again only when something was added.

    Parameters
    ----------
    blind : others' tags are kept from a reviewer until their own review of the case is stored
    """

    def __init__(self, reviews: Reviews, *, blind: bool) -> None:
        self.reviews, self.blind = reviews, blind
        self._kept = (0, pd.DataFrame(columns=list(CaseTag.columns()), dtype="str"))
        self._by_case: tuple[int, dict[str, list[tuple[str, str]]]] = (0, {})

    def history(self) -> pd.DataFrame:
        """All that was ever added and removed; nothing where no store can be read."""
        try:
            store = self.reviews.store()
            state = store.latest_change(self.reviews.benchmark)
            if state != self._kept[0]:
                self._kept = (state, store.tags(self.reviews.benchmark, history=True))
        except InputError:
            return self._kept[1].head(0)
        return self._kept[1]

    def seen_by(self, who: Beholder, as_of: int | None = None) -> dict[str, list[str]]:
        """By case, the tags that somebody may see.

        Parameters
        ----------
        as_of : how many rows of `history` count; None for all
        """
        rows = self._tagged(as_of).items()
        found = {case: sorted({tag for tag, by in tags if self._may_see(who, case, by)}) for case, tags in rows}
        return {case: tags for case, tags in found.items() if tags}

    def of_case(self, case_id: str, who: Beholder) -> dict[str, Any]:
        """The tags of one case for its page.

        Returns
        -------
        dict
            `tags`, each with its `tag`, `seen` as a page may show it, whether it is `mine`, and `by` whom it is; how
            many are `hidden` until one's own review is stored; and `known`, tags to choose from, the usual ones first.
        """
        every = self._tagged(None)
        rows = every.get(case_id, [])
        shown = [(tag, by) for tag, by in rows if self._may_see(who, case_id, by)]
        tags = sorted({tag for tag, _ in shown})
        usual = Counter(tag for case, tagged in every.items() for tag, by in tagged if self._may_see(who, case, by))
        return {
            "tags": [
                {
                    "tag": message_text(tag),
                    "seen": visible(tag),
                    "mine": (tag, who.reviewer) in shown,
                    "by": [visible(by) for one, by in shown if one == tag],
                }
                for tag in tags
            ],
            "hidden": len({tag for tag, _ in rows} - set(tags)),
            "known": [message_text(tag) for tag, _ in usual.most_common(_SUGGESTED)],
        }

    def store(self, case_id: str, tag: str, reviewer: str, *, removed: bool) -> None:
        """Add a tag to a case, or take one's own away again.

        Raises
        ------
        InputError
            Nobody is signed in, or the text is no tag.
        """
        if not reviewer.strip():
            raise InputError("nobody is signed in; write your name first.")
        action = REMOVED if removed else ADDED
        self.reviews.store().add(CaseTag(self.reviews.benchmark, case_id, tag, reviewer, action))

    def _may_see(self, who: Beholder, case: str, by: str) -> bool:
        return not self.blind or by == who.reviewer or case in who.reviewed

    def _tagged(self, as_of: int | None) -> dict[str, list[tuple[str, str]]]:
        """By case, the tags it has and whose they are."""
        history = self.history().iloc[:as_of]
        if self._by_case[0] != len(history):
            out: dict[str, list[tuple[str, str]]] = {}
            rows = current_tags(history)
            for case, tag, by in zip(rows["case_id"], rows["tag"], rows["reviewer"], strict=True):
                out.setdefault(str(case), []).append((str(tag), str(by)))
            self._by_case = len(history), out
        return self._by_case[1]
