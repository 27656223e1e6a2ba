"""A self-contained page without scripts, for the printer or for readers without the workbench."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mrb_lib.review.bundle import style
from mrb_lib.review.pages import macro


def opening(title: str, *styles: str) -> str:
    """The page up to and with the start of its body; `closing` ends it.

    Parameters
    ----------
    title : of the page, any text
    styles : the names of style sheets, see `mrb_lib.review.bundle`
    """
    # A plain string: HTML that is added to markup would be escaped.
    return str(macro("document", "opening")(title, style(*styles, "print")))


def closing() -> str:
    """The end of a page that `opening` began."""
    return str(macro("document", "closing")())


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
        return macro("document", "beside")(self, style(*self.styles)) if self.sections else ""

    def __repr__(self) -> str:
        return f"<{self.title}: {len(self.sections)} cases>"
