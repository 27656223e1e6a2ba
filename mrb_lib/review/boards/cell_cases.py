"""The cases behind a cell of the heatmap, by outcome, as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pandas as pd

from mrb_lib.review.boards.heatmap_table import ALL, LISTED_OUTCOMES, HeatmapCell
from mrb_lib.review.boards.leaderboard_table import as_words
from mrb_lib.review.case.verdicts import choice_html
from mrb_lib.review.text import escaped, isolated
from mrb_lib.stats.where import MIXED_CODE
from mrb_lib.tables.schema import CHOICES

SCORED: Final = "scored"
N_SCORED: Final = 3
PAGE: Final = 25
_QUESTION = 160
_MARKS: Final = {"right": "\u2713", "half right": "\u00bd", "wrong": "\u2717"}


def behind_html(
    cell: HeatmapCell,
    behind: pd.DataFrame,
    cases: pd.DataFrame,
    gold: pd.DataFrame,
    *,
    wanted: str = SCORED,
    page: int = 0,
    where: str = "",
) -> str:
    """The cases behind a cell, `PAGE` at a time.

    Parameters
    ----------
    behind : see `HeatmapData.behind`
    wanted : an outcome, `SCORED` for all that count, or `ALL` for all with a verdict
    where : see `mrb_lib.review.boards.leaderboard_table.where_html`
    """
    kept = rows_with(behind, wanted)
    of = "all cases" if cell.by is None else f"{escaped(as_words(cell.by))} {isolated(as_words(str(cell.subfield)))}"
    title = f"{isolated(cell.judge)} &middot; {isolated(cell.dimension)} &middot; {of}{where}"
    shown = kept.iloc[page * PAGE : (page + 1) * PAGE]
    rows = "".join(_case_rows(cell, shown, cases, gold))
    table = (
        '<div class="mrb-scroll"><table class="mrb-list"><thead><tr><th scope="col">Case</th><th scope="col">Question'
        '</th><th scope="col">Gold</th><th scope="col">Judge</th><th scope="col">Outcome</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )
    return (
        f'<h4 tabindex="-1">{title}</h4>{_counts(behind, wanted)}{table if len(kept) else "<p>No such case.</p>"}'
        f"{_pages(len(kept), page)}"
    )


def rows_with(behind: pd.DataFrame, wanted: str) -> pd.DataFrame:
    """The rows of an outcome, of all that are scored, or all."""
    if wanted == ALL:
        return behind
    names: Sequence[str] = list(LISTED_OUTCOMES)[:N_SCORED] if wanted == SCORED else [wanted]
    return behind[behind["outcome"].isin(names)]


def _counts(behind: pd.DataFrame, wanted: str) -> str:
    """How many cases of each outcome, each a button; they add up to the cases with a verdict."""
    counted = behind["outcome"].value_counts()
    n_scored = len(rows_with(behind, SCORED))
    parts = [_count(SCORED, n_scored, wanted), '<span aria-hidden="true">=</span>']
    names = list(LISTED_OUTCOMES)
    for i, name in enumerate(names[:N_SCORED]):
        parts += [_count(name, int(counted.get(name, 0)), wanted)]
        parts += ['<span aria-hidden="true">+</span>'] if i < N_SCORED - 1 else []
    for name in names[N_SCORED:]:
        if counted.get(name, 0):
            parts += ['<span class="mrb-beside">beside</span>', _count(name, int(counted[name]), wanted)]
    return f'<div class="mrb-outcomes" role="group" aria-label="cases by outcome">{"".join(parts)}</div>'


def _count(name: str, n: int, wanted: str) -> str:
    mark = f'<span aria-hidden="true">{_MARKS[name]}</span> ' if name in _MARKS else ""
    return (
        f'<button type="button" data-outcome="{name}" aria-pressed="{"true" if name == wanted else "false"}"'
        f"{'' if n else ' disabled'}>{mark}<b>{n}</b> {name}</button>"
    )


def _case_rows(cell: HeatmapCell, shown: pd.DataFrame, cases: pd.DataFrame, gold: pd.DataFrame) -> list[str]:
    label = gold[gold["dimension"] == cell.dimension].set_index("case_id")["choice"]
    out = []
    for position, outcome, choice in shown[["position", "outcome", "said"]].itertuples(index=False):
        case_id, question = str(cases["case_id"].iloc[position]), str(cases["question"].iloc[position])
        short = question if len(question) <= _QUESTION else _beginning(question)
        mark = f'<span class="mrb-mark" aria-hidden="true">{_MARKS.get(outcome, "")}</span> '
        out.append(
            f'<tr data-position="{position}"><td><button type="button" data-case="{position}" '
            f'aria-label="open case {escaped(case_id)}">{isolated(case_id)}</button></td><td>{isolated(short)}</td>'
            f"<td>{choice_html(label.get(case_id))}</td><td>{_choice_html(int(choice))}</td>"
            f'<td class="mrb-is-{outcome.replace(" ", "-")}">{mark}{outcome}</td></tr>'
        )
    return out


def _beginning(text: str) -> str:
    """The first `_QUESTION` letters, up to the end of a word where there is one."""
    return (text[:_QUESTION].rsplit(maxsplit=1) or [""])[0] + " \u2026"


def _choice_html(code: int) -> str:
    if 0 <= code < len(CHOICES):
        return choice_html(CHOICES[code])
    return "mixed" if code == MIXED_CODE else "no choice"


def _pages(n: int, page: int) -> str:
    if n <= PAGE:
        return ""
    last = (n - 1) // PAGE
    ends = f"{page * PAGE + 1}\u2013{min((page + 1) * PAGE, n)} of {n}"
    before, after = ("" if page > 0 else " disabled"), ("" if page < last else " disabled")
    return (
        f'<p class="mrb-pages"><button type="button" data-page="{page - 1}"{before}>Earlier</button>'
        f'<span>{ends}</span><button type="button" data-page="{page + 1}"{after}>Later</button></p>'
    )
