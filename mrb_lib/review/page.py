"""A self-contained page without scripts, for the printer or for readers without the workbench."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mrb_lib.review.bundle import style
from mrb_lib.review.text import escaped

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
_START, _END = '<main class="mrb">', "</main>"
_PRINT = """
body { margin: 0; background: #fcfcfa; color: #1c2226; }
body > main { max-width: 78rem; margin: 0 auto; padding: 1.5rem; }
.mrb > h1 { font-size: 1.75rem; }
.mrb > .mrb-lead { max-width: 46em; color: var(--soft); }
@media (prefers-color-scheme: dark) { body { background: #15191b; color: #e3e6e4; } }
@media print {
  body > main { max-width: none; padding: 0; }
  .mrb-case { border: 0; padding: 0; break-before: page; }
  .mrb-case figure, .mrb-case tr, .mrb-case summary { break-inside: avoid; }
  @page { margin: 16mm 14mm; @bottom-center { content: counter(page) " of " counter(pages); font: 9pt sans-serif; } }
}
"""


def opening(title: str, *styles: str) -> str:
    """The page up to and with the start of its body; `closing` ends it.

    Parameters
    ----------
    title : of the page, any text
    styles : the names of style sheets, see `mrb_lib.review.bundle`
    """
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escaped(title)}</title><style>{style(*styles)}{_PRINT}</style></head>"
        f"<body>{_START}"
    )


def closing() -> str:
    """The end of a page that `opening` began."""
    return f"{_END}</body></html>\n"


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

    @property
    def _body(self) -> str:
        note = f'<div class="mrb"><p class="mrb-simulated mrb-note">{escaped(self.note)}</p></div>' if self.note else ""
        return "".join([note, *self.sections])

    def _repr_html_(self) -> str:
        return f"<style>{style(*self.styles)}</style>{self._body}" if self.sections else ""

    def __repr__(self) -> str:
        return f"<{self.title}: {len(self.sections)} cases>"
