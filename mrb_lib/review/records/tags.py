"""Short tags that reviewers put on cases, and which of them a case has now."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final
from uuid import uuid4

import pandas as pd

from mrb_lib.review.records.marks import cleaned
from mrb_lib.tables.errors import InputError

ADDED, REMOVED = "added", "removed"
TAG_COLUMNS: Final = ("tag_id", "benchmark", "case_id", "tag", "reviewer", "action", "created")
LONGEST_TAG: Final = 40
_LONGEST_NAME = 255


@dataclass(frozen=True)
class CaseTag:
    """A reviewer adds a tag to a case, or takes their own away again.

    Attributes
    ----------
    tag : a few words in one line, at most `LONGEST_TAG` characters
    action : "added" or "removed"
    tag_id : a random one, by which a tag that is stored twice counts once

    Raises
    ------
    InputError
        A text is empty or too long, or the action is unknown.
    """

    benchmark: str
    case_id: str
    tag: str
    reviewer: str
    action: str = ADDED
    tag_id: str = field(default_factory=lambda: str(uuid4()))

    def __post_init__(self) -> None:
        object.__setattr__(self, "tag", short_text(self.tag, "the tag", LONGEST_TAG))
        object.__setattr__(self, "reviewer", short_text(self.reviewer, "the reviewer's name", _LONGEST_NAME))
        object.__setattr__(self, "tag_id", short_text(self.tag_id, "the tag's id", _LONGEST_NAME))
        if self.action not in (ADDED, REMOVED):
            raise InputError(f"tag {self.tag!r}: action {self.action!r} is unknown; use {ADDED} or {REMOVED}.")
        if cleaned(self.case_id) != self.case_id:
            raise InputError(f"case {self.case_id[:80]!r}: holds a NUL or half a character; rename it in the data.")


def short_text(text: str, what: str, longest: int) -> str:
    """A text of one line that every database holds, without spaces around it.

    Raises
    ------
    InputError
        Nothing of it is left, or it is too long.
    """
    plain = " ".join(cleaned(text).split())
    if not plain:
        raise InputError(f"{what} is empty; write one.")
    if len(plain) > longest:
        raise InputError(f"{what} has {len(plain)} characters; use at most {longest}.")
    return plain


def current_tags(history: pd.DataFrame) -> pd.DataFrame:
    """The tags that cases have now: of each case, tag and reviewer the last action, where it is no removal.

    The last is that with the latest `created`, and of those the one stored last.

    Parameters
    ----------
    history : `TAG_COLUMNS`, in the order in which they were stored
    """
    in_time = history.sort_values("created", kind="stable")
    last = in_time.drop_duplicates(["case_id", "tag", "reviewer"], keep="last").sort_index()
    return last[last["action"] == ADDED]
