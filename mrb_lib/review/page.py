"""Cases that a notebook shows, whole in themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mrb_lib.review.bundle import style
from mrb_lib.review.pages import template


@dataclass(frozen=True, repr=False)
class CasesBeside:
    """Cases that a notebook shows one below the other.

    Attributes
    ----------
    title : of all, any text
    sections : HTML of each case, see `mrb_lib.review.case` without a style
    note : what stands above them, any text; empty for nothing
    styles : the names of style sheets, see `mrb_lib.review.bundle`
    """

    title: str
    sections: Sequence[str]
    note: str = ""
    styles: Sequence[str] = ()

    def _repr_html_(self) -> str:
        return template("cases_beside").render(cases=self, style=style(*self.styles)) if self.sections else ""

    def __repr__(self) -> str:
        return f"<{self.title}: {len(self.sections)} cases>"
