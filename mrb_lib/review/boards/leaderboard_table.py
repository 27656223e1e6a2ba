"""The leaderboard as an HTML table.

The table is whole without a script; `leaderboard.js` sorts and filters it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import ceil, floor, isnan
from numbers import Real
from typing import Final

import pandas as pd

from mrb_lib.review.boards.leaderboard_rows import Board, LeaderboardScope
from mrb_lib.review.bundle import style
from mrb_lib.review.text import SCROLLS, escaped, isolated, kind_note
from mrb_lib.stats.intervals import ENOUGH_DF

STYLES: Final = ("boards/leaderboard",)
FEW: Final = (
    "few: the right or the wrong answers are worth fewer than 10 cases, or clusters are fewer than "
    f"{ENOUGH_DF + 1}; the interval is Wilson's with the design effect, or Student's t, which hold for few"
)
HUMAN: Final = "human\u2013human level"
_HUMAN_NOTE = "the mean annotator against the majority of the others"
_READ_BY: Final = (
    "Dot: accuracy; line: its 95% interval. Ranks go by the decisive accuracy, then by accuracy; equal judges share a "
    "rank; ranks apart by less than the intervals may be chance. Decisive accuracy: on the cases where gold names a "
    "winner, a tie worth one half, both sides weighing alike, so that every constant has 50%; below it, the share of "
    "these verdicts that name a winner."
)
_READ_REFERENCES: Final = (
    "Under the line: what constants and the longer response reach. They do not compete; above constant is the accuracy "
    "in points above that of the best constant, paired by case."
)
_HEADS: Final = (
    ("rank", "Rank", "number"),
    ("judge", "Judge", "text"),
    ("kind", "Group", "text"),
    ("decisive_accuracy", "Decisive accuracy", "number"),
    ("accuracy", "Accuracy, 95% interval", "number"),
    ("above_constant", "Above constant", "number"),
    ("n", "Cases", "number"),
    ("n_excluded", "Left out", "number"),
    ("coverage", "Answered", "number"),
    ("kappa", "Kappa", "number"),
)

BoardRow = Mapping[str, object]


def static_leaderboard(board: Board, scope: LeaderboardScope) -> str:
    """A leaderboard that needs nothing else."""
    return (
        f'<section class="mrb mrb-board" aria-label="leaderboard"><style>{style(*STYLES)}</style>'
        f"{view(board, scope)}</section>"
    )


def view(board: Board, scope: LeaderboardScope) -> str:
    """The table of a choice."""
    note, where = kind_note(board.benchmark.meta.kind), where_html(board, scope.where, scope.policy)
    return leaderboard_html(board.rows(scope), scope, board.human(scope), note, board.references(scope), where=where)


def where_html(board: Board, where: str, policy: str) -> str:
    """The filter that chose the cases of a view and how many it leaves, as the end of a line; empty without one."""
    if not where:
        return ""
    left, n = len(board.part(where, policy).benchmark.cases), len(board.benchmark.cases)
    return f" &middot; where {isolated(where, 'code')}: {left:,} of {n:,} cases"


def as_words(name: str) -> str:
    """The name of a subfield or a column as words."""
    return name.replace("_", " ")


def scope_html(scope: LeaderboardScope) -> str:
    """What a leaderboard is of, as HTML."""
    cases = "" if scope.where else " &middot; all cases"
    if scope.by is not None:
        cases = f" &middot; {escaped(as_words(scope.by))} {isolated(as_words(str(scope.subfield)))}"
    group = f" &middot; group {isolated(scope.group)}" if scope.group else ""
    return f"{isolated(scope.dimension)} &middot; policy {escaped(scope.policy)}{cases}{group}"


def leaderboard_html(
    rows: pd.DataFrame,
    scope: LeaderboardScope,
    human: pd.Series | None = None,
    note: str = "",
    references: pd.DataFrame | None = None,
    *,
    where: str = "",
) -> str:
    """A leaderboard.

    Parameters
    ----------
    rows : see `mrb_lib.review.boards.leaderboard_rows.Board.rows`
    scope : what they are of
    human : `accuracy, low, high, n` of the mean annotator; None leaves it out
    note : shown above, as for simulated data
    references : see `Board.references`, set under a line; None leaves them out
    where : see `where_html`

    Returns
    -------
    str
        A table with what it is of above and how it is read below. Each cell that can be sorted by has `data-v`.
        Validated by tests/review/boards/test_leaderboard.py.
    """
    others = rows.head(0) if references is None else references
    scale = _scale(pd.concat([rows, others]), human)
    body = "".join(_row(row, scale, human) for row in _records(rows))
    below = "".join(_reference_row(row, scale) for row in _records(others))
    below = f'<tbody class="mrb-references">{below}</tbody>' if below else ""
    simulated = f'<p class="mrb-simulated">{escaped(note)}</p>' if note else ""
    return (
        f'{simulated}<p class="mrb-about">{scope_html(scope)}{where}</p><div class="mrb-scroll" {SCROLLS}>'
        '<table class="mrb-ranks"><caption class="mrb-out-of-sight">'
        f"Judges by decisive accuracy: {scope_html(scope)}{where}</caption><thead><tr>{_head(scale)}</tr></thead>"
        f'{_human_row(human, scale)}<tbody class="mrb-judges">{body}</tbody>{below}</table>'
        f'</div><div class="mrb-legend">{_legend(rows, human, bool(below))}</div>'
    )


def _records(rows: pd.DataFrame) -> Iterable[BoardRow]:
    return ({str(key): value for key, value in row.items()} for row in rows.to_dict("records"))


def _scale(rows: pd.DataFrame, human: pd.Series | None) -> tuple[float, float]:
    """The ends of the axis of accuracy, tenths that hold everything drawn."""
    values = [value for name in ("accuracy", "low", "high") for value in rows[name].dropna().tolist()]
    if human is not None:
        values += [float(human[name]) for name in ("accuracy", "low", "high") if not isnan(human[name])]
    if not values:
        return 0.0, 1.0
    low, high = floor(min(values) * 10 + 1e-9) / 10, ceil(max(values) * 10 - 1e-9) / 10
    return low, max(high, low + 0.1)


def _head(scale: tuple[float, float]) -> str:
    cells = []
    for key, title, kind in _HEADS:
        axis = ""
        if key == "accuracy":
            ends = "".join(f"<span>{percent_text(end, 0)}</span>" for end in scale)
            axis = f'<span class="mrb-drawn" aria-hidden="true"><span class="mrb-axis">{ends}</span></span>'
        cells.append(f'<th scope="col" data-key="{key}" data-type="{kind}"><span>{title}</span>{axis}</th>')
    return "".join(cells)


def _row(row: BoardRow, scale: tuple[float, float], human: pd.Series | None) -> str:
    judge, kind = str(row["judge"]), str(row["kind"])
    return (
        f'<tr data-kind="{escaped(kind)}">'
        f'<td data-v="{_value(row["rank"])}" class="mrb-rank">{_number(row["rank"])}</td>'
        f'<th scope="row" data-v="{escaped(judge)}">{isolated(judge)}</th>'
        f'<td data-v="{escaped(kind)}" class="mrb-kind">{isolated(kind) if kind else _none()}</td>'
        f'<td data-v="{_value(row["decisive_accuracy"])}">{_decisive(row)}</td>'
        f"{_accuracy(row, scale, human)}"
        f'<td data-v="{_value(row["above_constant"])}">{_points(row)}</td>'
        f'<td data-v="{_value(row["n"])}">{_number(row["n"])}</td>'
        f'<td data-v="{_value(row["n_excluded"])}">{_number(row["n_excluded"])}</td>'
        f'<td data-v="{_value(row["coverage"])}">{percent_text(row["coverage"])}</td>'
        f'<td data-v="{_value(row["kappa"])}">{_number(row["kappa"], ".2f")}</td></tr>'
    )


def _reference_row(row: BoardRow, scale: tuple[float, float]) -> str:
    """A reference under the line: not ranked, not sorted, not filtered."""
    label = f" ({escaped(row['kind'])})" if row["kind"] and str(row["kind"]) not in str(row["judge"]) else ""
    return (
        f'<tr><td></td><th scope="row" colspan="2">{isolated(str(row["judge"]))}{label}</th>'
        f"<td>{_decisive(row)}</td>{_accuracy(row, scale, None).replace(' data-v=', ' data-of=', 1)}"
        f"<td>{_points(row)}</td>"
        f"<td>{_number(row['n'])}</td><td>{_number(row['n_excluded'])}</td><td>{percent_text(row['coverage'])}</td>"
        f"<td>{_number(row['kappa'], '.2f')}</td></tr>"
    )


def _decisive(row: BoardRow) -> str:
    """The decisive accuracy with its interval, and the share of verdicts that decide."""
    value = percent_text(row["decisive_accuracy"])
    low, high = (finite_or_none(row[f"decisive_accuracy_{end}"]) for end in ("low", "high"))
    ends = "" if low is None or high is None else f" <span>{100 * low:.1f}\u2013{100 * high:.1f}</span>"
    share = finite_or_none(row["decisive_coverage"])
    return f"{value}{ends}" + ("" if share is None else f"<br><span>decides {100 * share:.0f}%</span>")


def _points(row: BoardRow) -> str:
    """How far the accuracy is above that of the best constant, in points, with its interval."""
    values = [finite_or_none(row[f"above_constant{end}"]) for end in ("", "_low", "_high")]
    text = [f"{100 * value:+.1f}".replace("-", "\u2212") for value in values if value is not None]
    return _none() if not text else text[0] + (f" <span>{text[1]} to {text[2]}</span>" if len(text) == 3 else "")


def _accuracy(row: BoardRow, scale: tuple[float, float], human: pd.Series | None) -> str:
    value = finite_or_none(row["accuracy"])
    if value is None:
        reason = f"undefined: {escaped(row['reason'])}" if isinstance(row["reason"], str) else "undefined"
        return f'<td data-v="" class="mrb-accuracy"><span class="mrb-undefined">{reason}</span></td>'
    few = f' <abbr class="mrb-few" title="{FEW}">few</abbr>' if row["few"] else ""
    return (
        f'<td data-v="{value!r}" class="mrb-accuracy"><div class="mrb-drawn">{_bar(row, scale, human)}'
        f'<span class="mrb-figures"><b>{percent_text(value)}</b> <span>{interval_text(row)}</span>{few}</span>'
        "</div></td>"
    )


def _bar(row: BoardRow, scale: tuple[float, float], human: pd.Series | None, mark: str = "dot") -> str:
    """The interval as a line with its value, over the band of the human level; read from the figures beside it."""
    value, low, high = (finite_or_none(row[name]) for name in ("accuracy", "low", "high"))
    parts = [f'<line class="mrb-grid" x1="{x}%" x2="{x}%" y1="0" y2="100%"/>' for x in (0, 50, 100)]
    if human is not None and mark == "dot":
        start, end = (finite_or_none(human[name]) for name in ("low", "high"))
        if start is not None and end is not None:
            left, right = _percent_along(start, scale), _percent_along(end, scale)
            parts.append(f'<rect class="mrb-band" x="{left}%" width="{_round(right - left)}%" y="0" height="100%"/>')
    if low is not None and high is not None:
        left, right = _percent_along(low, scale), _percent_along(high, scale)
        parts.append(f'<line class="mrb-whisker" x1="{left}%" x2="{right}%" y1="50%" y2="50%"/>')
    x = 0.0 if value is None else _percent_along(value, scale)
    parts.append(f'<circle class="mrb-{mark}" cx="{x}%" cy="50%" r="4"/>')
    return f'<svg class="mrb-interval" width="100%" height="20" aria-hidden="true">{"".join(parts)}</svg>'


def _human_row(human: pd.Series | None, scale: tuple[float, float]) -> str:
    if human is None:
        return ""
    row = {str(name): human[name] for name in ("accuracy", "low", "high")}
    return (
        f'<tbody class="mrb-human"><tr><td></td><th scope="row" colspan="2">{HUMAN}</th><td></td>'
        '<td class="mrb-accuracy">'
        f'<div class="mrb-drawn">{_bar(row, scale, human, "human-dot")}<span class="mrb-figures">'
        f"<b>{percent_text(human['accuracy'])}</b> <span>{interval_text(row)}</span></span></div></td>"
        f'<td colspan="5" class="mrb-kind">each annotator, against the others</td></tr></tbody>'
    )


def _legend(rows: pd.DataFrame, human: pd.Series | None, references: bool) -> str:
    lines = [_READ_BY]
    if references:
        lines.append(_READ_REFERENCES)
    if human is not None:
        lines.append(f"Green band: the {HUMAN}, {_HUMAN_NOTE}, which is scored where the others agree.")
    if bool(rows["few"].any()):
        lines.append(FEW[0].upper() + FEW[1:] + ".")
    return "".join(f"<p>{line}</p>" for line in lines)


def _percent_along(value: float, scale: tuple[float, float]) -> float:
    low, high = scale
    return _round(100 * (value - low) / (high - low))


def _round(value: float) -> float:
    return round(value, 2)


def finite_or_none(value: object) -> float | None:
    """A finite number, or None."""
    if not isinstance(value, Real) or isnan(value):
        return None
    return float(value)


def percent_text(value: object, digits: int = 1) -> str:
    """A share in percent; a dash for none."""
    number = finite_or_none(value)
    return _none() if number is None else f"{100 * number:.{digits}f}%"


def interval_text(row: BoardRow) -> str:
    """The interval in percent, or that there is none."""
    low, high = finite_or_none(row["low"]), finite_or_none(row["high"])
    return "no interval" if low is None or high is None else f"{100 * low:.1f}\u2013{100 * high:.1f}"


def _value(value: object) -> str:
    number = finite_or_none(value)
    return "" if number is None else repr(number)


def _number(value: object, form: str = ",.0f") -> str:
    number = finite_or_none(value)
    return _none() if number is None else f"{number:{form}}".replace("-", "\u2212")


def _none() -> str:
    return '<span class="mrb-none">\u2013</span>'
