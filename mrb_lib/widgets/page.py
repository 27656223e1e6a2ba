"""A self-contained page without scripts, for the printer or for readers without the workbench."""

from __future__ import annotations

from mrb_lib.widgets.bundle import style
from mrb_lib.widgets.text import escaped

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
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
    styles : the names of style sheets, see `mrb_lib.widgets.bundle`
    """
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escaped(title)}</title><style>{style(*styles)}{_PRINT}</style></head>"
        '<body><main class="mrb">'
    )


def closing() -> str:
    """The end of a page that `opening` began."""
    return "</main></body></html>\n"
