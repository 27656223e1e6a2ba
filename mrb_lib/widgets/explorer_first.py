"""What a browser shows while the explorer opens: the first case and its list, as they will be, without a script."""

from __future__ import annotations

from typing import Any

from mrb_lib.widgets.bundle import style
from mrb_lib.widgets.case.cases import STYLES
from mrb_lib.widgets.explorer.explorer_answers import Answers
from mrb_lib.widgets.explorer.explorer_parts import KIND_WORDS
from mrb_lib.widgets.text import escaped

_FILTERS = {"judge": "Judge", "dimension": "Dimension", "organ": "Organ", "department": "Department",
            "modality": "Modality"}  # fmt: skip
_ROWS = 16


def first_view(answers: Answers) -> str:
    """The explorer as it will be once it can be used; whoever can use it takes this away.

    Returns
    -------
    str
        An element of class `mrb-first-view`, inert, which the template of the app shows at once.
    """
    first = answers.hello({"fragment": ""})
    found = answers.case({"at": first["rows"][0]["at"]}) if first["rows"] else {"html": "", "next": None}
    # A piece of a case would leave its elements open, and the explorer itself would end up inside of them.
    case = found["html"] if found["next"] is None else ""
    simulated = '<span class="mrb-simulated">SIMULATED data</span>' if first["note"] else ""
    position = f"1 of {first['n']:,} cases" if first["n"] else "0 cases"
    rows = "".join(_row(row, number) for number, row in enumerate(first["rows"][:_ROWS]))
    return (
        f"<style>{style(*STYLES, 'explorer')}</style>"
        '<div class="mrb mrb-explorer mrb-whole mrb-first-view" data-mrb="first-view" inert aria-busy="true">'
        f'<div class="mrb-head"><h1 dir="auto">{escaped(first["name"])}</h1>{simulated}'
        '<input class="mrb-search" disabled><span class="mrb-gap"></span>'
        '<span class="mrb-position">Opening …</span></div>'
        f'<div class="mrb-filters">{_filters(first["facets"])}</div><div class="mrb-chips">{_chips(first["facets"])}'
        '</div><div class="mrb-panes">'
        f'<nav class="mrb-left"><div class="mrb-list"><div class="mrb-rows">{rows}</div></div></nav>'
        '<section class="mrb-middle"><div class="mrb-steps"><button disabled>← Previous</button>'
        f'<button disabled>Next →</button><p class="mrb-position">{position}</p></div>'
        f'<div class="mrb-case-pane">{case}</div></section>'
        '<section class="mrb-review"><h2>Your review</h2></section></div></div>'
    )


def _filters(facets: dict[str, Any]) -> str:
    shown = [(label, facets[name]["total"]) for name, label in _FILTERS.items() if facets.get(name, {}).get("values")]
    given = [f"<span>{label}</span><select disabled><option>any ({n:,})</option></select>" for label, n in shown]
    given.append("<span>Sort by</span><select disabled><option>benchmark order</option></select>")
    return "".join(f'<label class="mrb-filter">{part}</label>' for part in given)


def _chips(facets: dict[str, Any]) -> str:
    counts = dict(facets.get("kind", {}).get("values", []))
    return "".join(
        f'<button disabled><span>{escaped(words)}</span><span class="mrb-count">{counts.get(kind, 0):,}</span></button>'
        for kind, (words, _) in KIND_WORDS.items()
    )


def _row(row: dict[str, Any], number: int) -> str:
    """A row of the list; its place is in the style sheet, since the page gives no element a style of its own."""
    head = f'<span class="mrb-row-head"><b dir="auto">{escaped(row["id"])}</b></span>'
    place = escaped(row["place"].replace("_", " "))
    return (
        f'<div class="mrb-row" aria-selected="{"false" if number else "true"}">{head}'
        f'<span class="mrb-row-title" dir="auto">{escaped(row["title"])}</span>'
        f'<span class="mrb-row-foot"><span dir="auto">{place}</span></span></div>'
    )
