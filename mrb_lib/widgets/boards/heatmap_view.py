"""A heatmap of judges as an HTML table, and the list of cases behind one of its cells."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor
from typing import Final

import pandas as pd

from mrb_lib.schema import CHOICES
from mrb_lib.stats.failures.failure_kinds import MIXED
from mrb_lib.widgets.boards.heatmap_rows import ALL, DIMENSIONS, N_SCORED, OUTCOMES, SCORED, Axes, Cell, Grid
from mrb_lib.widgets.boards.leaderboard_rows import FEW
from mrb_lib.widgets.boards.leaderboard_view import interval_text, named, number, percent
from mrb_lib.widgets.case.case_parts import choice_html
from mrb_lib.widgets.text import SCROLLS, escaped, isolated

STEPS: Final = 10
PAGE: Final = 25
_QUESTION = 160
_MARKS: Final = {"right": "\u2713", "half right": "\u00bd", "wrong": "\u2717"}

Scale = tuple[float, float]


def heatmap_html(grid: Grid, *, live: bool, note: str = "") -> str:
    """A heatmap.

    Parameters
    ----------
    grid : as of `mrb_lib.widgets.boards.heatmap_rows.Heat.grid`
    live : whether cells are buttons; without a page that answers they are plain
    note : shown above, as for simulated data

    Returns
    -------
    str
        A table with a number in each cell, what it is of above and how it is read below. Validated by
        tests/widgets/test_heatmap.py.
    """
    scale = _scale(grid)
    head = "".join(_column(grid, i) for i in range(len(grid.columns)))
    body = "".join(_row(grid, i, scale, live) for i in range(len(grid.judges)))
    simulated = f'<p class="mrb-simulated">{escaped(note)}</p>' if note else ""
    about = _about(grid.axes)
    tall = " mrb-tall" if len(grid.columns) > 7 else ""
    return (
        f'{simulated}<p class="mrb-about">{about}</p><div class="mrb-scroll" {SCROLLS}><table class="mrb-heat{tall}">'
        f'<caption class="mrb-out-of-sight">{about}</caption><thead><tr><th scope="col">Judge</th>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>{_legend(grid, scale)}"
    )


def _about(axes: Axes) -> str:
    what = "by dimension" if axes.by == DIMENSIONS else f"on {isolated(axes.dimension)} by {escaped(named(axes.by))}"
    return f"Accuracy {what} &middot; policy {escaped(axes.policy)}"


def _scale(grid: Grid) -> Scale:
    """The ends of the colours: twentieths that hold all values."""
    found = [value for row in grid.rows.values() if (value := number(row["accuracy"])) is not None]
    if not found:
        return 0.0, 1.0
    low, high = floor(min(found) * 20 + 1e-9) / 20, ceil(max(found) * 20 - 1e-9) / 20
    return low, max(high, low + 0.05)


def _column(grid: Grid, column: int) -> str:
    name = grid.columns[column]
    counts = [int(n) for judge in grid.judges if (n := _n(grid, judge, name)) is not None]
    ends = sorted({min(counts), max(counts)}) if counts else []
    some = "\u2013".join(str(end) for end in ends)
    return (
        f'<th scope="col"><span class="mrb-name">{isolated(named(name))}</span><span class="mrb-n">{some}</span></th>'
    )


def _n(grid: Grid, judge: str, column: str) -> float | None:
    row = grid.rows.get((judge, column))
    return None if row is None else number(row["n"])


def _row(grid: Grid, at: int, scale: Scale, live: bool) -> str:
    judge = grid.judges[at]
    cells = "".join(_cell(grid, at, column, scale, live) for column in range(len(grid.columns)))
    return f'<tr><th scope="row">{isolated(judge)}</th>{cells}</tr>'


def _cell(grid: Grid, at: int, column: int, scale: Scale, live: bool) -> str:
    judge, name = grid.judges[at], grid.columns[column]
    row = grid.rows.get((judge, name))
    value = None if row is None else number(row["accuracy"])
    if row is None or value is None:
        reason = row["reason"] if row is not None and isinstance(row["reason"], str) else "no verdict"
        body, kind, told = '<b aria-hidden="true">\u2013</b>', "mrb-undefined", f"undefined: {reason}"
    else:
        few = bool(row["few"])
        body = f"<b>{100 * value:.0f}{'<sup>*</sup>' if few else ''}</b><span>{_ends(row)}</span>"
        kind = f"mrb-heat-{_step(value, scale)}" + (" mrb-few" if few else "")
        told = f"{percent(value)} of {_n(grid, judge, name):.0f} cases, interval {interval_text(row)}"
        told += ", few cases" if few else ""
    label = escaped(f"{judge}, {named(name)}: {told}")
    if not live or row is None:
        spoken = f'<i class="mrb-out-of-sight">{escaped(told)}</i>'
        return f'<td><span class="mrb-cell {kind}" title="{label}">{body}{spoken}</span></td>'
    return (
        f'<td><button type="button" class="mrb-cell {kind}" data-row="{at}" data-column="{column}" tabindex="-1" '
        f'title="{label}" aria-label="{label}; show the cases">{body}</button></td>'
    )


def _ends(row: dict[str, object]) -> str:
    low, high = number(row["low"]), number(row["high"])
    return "" if low is None or high is None else f"{100 * low:.0f}\u2013{100 * high:.0f}"


def _step(value: float, scale: Scale) -> int:
    low, high = scale
    return min(max(round(STEPS * (value - low) / (high - low)), 0), STEPS)


def _legend(grid: Grid, scale: Scale) -> str:
    swatches = "".join(f'<span class="mrb-swatch mrb-heat-{step}"></span>' for step in range(STEPS + 1))
    ends = [percent(end, 0) for end in scale]
    parts = [
        f'<p class="mrb-scale"><span>{ends[0]}</span><span class="mrb-bar" aria-hidden="true">{swatches}</span>'
        f"<span>{ends[1]}</span><span>accuracy in percent, its 95% interval below; under a column's name the number "
        "of cases scored</span></p>"
    ]
    found = [grid.rows.get((judge, name)) for judge in grid.judges for name in grid.columns]
    if any(row is not None and row["few"] and number(row["accuracy"]) is not None for row in found):
        parts.append(f"<p><b>*</b> {FEW}.</p>")
    if any(row is None or number(row["accuracy"]) is None for row in found):
        parts.append('<p><span class="mrb-swatch mrb-undefined"></span> undefined: no case of it can be scored</p>')
    return f'<div class="mrb-legend">{"".join(parts)}</div>'


def behind_html(
    cell: Cell, found: pd.DataFrame, cases: pd.DataFrame, gold: pd.DataFrame, *, wanted: str = SCORED, page: int = 0
) -> str:
    """The cases behind a cell, `PAGE` at a time.

    Parameters
    ----------
    found : as of `mrb_lib.widgets.boards.heatmap_rows.Heat.behind`
    wanted : an outcome, `SCORED` for all that count, or `ALL` for all with a verdict
    """
    kept = chosen(found, wanted)
    where = "all cases" if cell.by is None else f"{escaped(named(cell.by))} {isolated(named(str(cell.subfield)))}"
    title = f"{isolated(cell.judge)} &middot; {isolated(cell.dimension)} &middot; {where}"
    shown = kept.iloc[page * PAGE : (page + 1) * PAGE]
    rows = "".join(_case_rows(cell, shown, cases, gold))
    table = (
        '<div class="mrb-scroll"><table class="mrb-list"><thead><tr><th scope="col">Case</th><th scope="col">Question'
        '</th><th scope="col">Gold</th><th scope="col">Judge</th><th scope="col">Outcome</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )
    return (
        f'<h4 tabindex="-1">{title}</h4>{_counts(found, wanted)}{table if len(kept) else "<p>No such case.</p>"}'
        f"{_pages(len(kept), page)}"
    )


def chosen(found: pd.DataFrame, wanted: str) -> pd.DataFrame:
    """The rows of an outcome, of all that are scored, or all."""
    if wanted == ALL:
        return found
    names: Sequence[str] = list(OUTCOMES)[:N_SCORED] if wanted == SCORED else [wanted]
    return found[found["outcome"].isin(names)]


def _counts(found: pd.DataFrame, wanted: str) -> str:
    """How many cases of each outcome, each a button; they add up to the cases with a verdict."""
    counted = found["outcome"].value_counts()
    n_scored = len(chosen(found, SCORED))
    parts = [_count(SCORED, n_scored, wanted), '<span aria-hidden="true">=</span>']
    names = list(OUTCOMES)
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


def _case_rows(cell: Cell, shown: pd.DataFrame, cases: pd.DataFrame, gold: pd.DataFrame) -> list[str]:
    label = gold[gold["dimension"] == cell.dimension].set_index("case_id")["choice"]
    out = []
    for position, outcome, said in shown[["position", "outcome", "said"]].itertuples(index=False):
        case_id, question = str(cases["case_id"].iloc[position]), str(cases["question"].iloc[position])
        short = question if len(question) <= _QUESTION else _beginning(question)
        mark = f'<span class="mrb-mark" aria-hidden="true">{_MARKS.get(outcome, "")}</span> '
        out.append(
            f'<tr data-position="{position}"><td><button type="button" data-case="{position}" '
            f'aria-label="open case {escaped(case_id)}">{isolated(case_id)}</button></td><td>{isolated(short)}</td>'
            f"<td>{choice_html(label.get(case_id))}</td><td>{_said(int(said))}</td>"
            f'<td class="mrb-is-{outcome.replace(" ", "-")}">{mark}{outcome}</td></tr>'
        )
    return out


def _beginning(text: str) -> str:
    """The first `_QUESTION` letters, up to the end of a word where there is one."""
    return (text[:_QUESTION].rsplit(maxsplit=1) or [""])[0] + " \u2026"


def _said(code: int) -> str:
    if 0 <= code < len(CHOICES):
        return choice_html(CHOICES[code])
    return "mixed" if code == MIXED else "no choice"


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
