"""Views of the cases that reviewers keep under a name, for everyone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pandas as pd

from mrb_lib.review.records.tags import short_text
from mrb_lib.tables.errors import InputError

VIEW_COLUMNS: Final = ("benchmark", "name", "fragment", "reviewer", "created")
LONGEST_VIEW: Final = 80
_LONGEST_NAME, _LONGEST_FRAGMENT = 255, 8000


@dataclass(frozen=True)
class SavedView:
    """A name for a query, or the end of that name.

    Attributes
    ----------
    name : one line of at most `LONGEST_VIEW` characters
    reviewer : who saved or removed it
    fragment : the query as an address holds it, see `mrb_lib.review.failures.query.to_fragment`; empty for all cases in
        the benchmark's order, None where the name is removed

    Raises
    ------
    InputError
        A text is empty or too long.
    """

    benchmark: str
    name: str
    reviewer: str
    fragment: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", short_text(self.name, "the view's name", LONGEST_VIEW))
        object.__setattr__(self, "reviewer", short_text(self.reviewer, "the reviewer's name", _LONGEST_NAME))
        if self.fragment is not None and len(self.fragment) > _LONGEST_FRAGMENT:
            raise InputError(f"view {self.name!r}: its filters are too long to keep; shorten them.")


def current_views(history: pd.DataFrame) -> pd.DataFrame:
    """The views there are now, by name: of each name the last row, unless that removes it.

    Parameters
    ----------
    history : `VIEW_COLUMNS`, in the order in which they were stored
    """
    last = history.drop_duplicates("name", keep="last").sort_values("name", kind="stable")
    return last[last["fragment"].notna()]
