"""The views that reviewers keep under a name, as the explorer's menu offers them."""

from __future__ import annotations

from typing import Any

from mrb_lib.review.explorer.adjudicate import Reviews
from mrb_lib.review.explorer.data import message_text
from mrb_lib.review.failures.query import Query, to_fragment
from mrb_lib.review.records.marks import SavedView
from mrb_lib.review.text import visible
from mrb_lib.tables.errors import InputError


def kept_views(reviews: Reviews) -> dict[str, Any]:
    """The `views` there are: `name`, `fragment` to open, and the name, who saved it and when as a page may show them.

    Raises
    ------
    InputError
        There is no store, or it cannot be used.
    """
    rows = reviews.store().views(reviews.benchmark).to_dict("records")
    return {
        "views": [
            {
                "name": message_text(row["name"]),
                "fragment": message_text(row["fragment"]),
                "seen": visible(row["name"]),
                "by": visible(row["reviewer"]),
                "created": str(row["created"]),
            }
            for row in rows
        ]
    }


def keep_view(reviews: Reviews, name: str, query: Query | None, reviewer: str, *, replaced: str = "") -> dict[str, Any]:
    """Keep a query under a name, or remove the name where there is none, and answer with the views there are.

    Parameters
    ----------
    replaced : when the view that has the name was stored, where whoever saves knows of it

    Returns
    -------
    dict
        As `kept_views`; with `taken`, the view that has this name, nothing was stored.

    Raises
    ------
    InputError
        Nobody is signed in, or the name is none.
    """
    if not reviewer.strip():
        raise InputError("nobody is signed in; write your name first.")
    view = SavedView(reviews.benchmark, name, reviewer, None if query is None else to_fragment(query))
    before = kept_views(reviews)
    same = [one for one in before["views"] if one["name"] == message_text(view.name)]
    if query is not None and same and same[0]["created"] != replaced and same[0]["fragment"] != view.fragment:
        return before | {"taken": same[0]}
    reviews.store().add(view)
    return kept_views(reviews)
