"""The leaderboard: its rows, computed by `mrb_lib.stats` for what is chosen, and their HTML table.

The table is whole without a script; `leaderboard.js` sorts and filters it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import ceil, floor, isnan
from numbers import Real
from typing import Final, NamedTuple

import pandas as pd

from mrb_lib.data.benchmark import Benchmark
from mrb_lib.errors import InputError
from mrb_lib.schema import NO_PROBE, POLICIES
from mrb_lib.stats.core.options import check_choice
from mrb_lib.stats.core.panel import Panel
from mrb_lib.stats.core.subfields import subfield_values
from mrb_lib.stats.resampling.robust import ENOUGH_CLUSTERS
from mrb_lib.stats.tables import analyze, read_panels
from mrb_lib.widgets.bundle import style
from mrb_lib.widgets.text import SCROLLS, escaped, isolated, kind_note

STYLES: Final = ("boards/leaderboard",)
COLUMNS: Final = (
    "rank", "judge", "kind", "accuracy", "low", "high", "few", "n", "n_excluded", "coverage", "kappa", "reason",
)  # fmt: skip
SUBFIELD_COLUMNS: Final = ("organ", "department", "modality", "dataset", "question_type")
FEW: Final = (
    "few: the right or the wrong answers are worth fewer than 10 cases, or clusters are fewer than "
    f"{ENOUGH_CLUSTERS}; the interval is Wilson's with the design effect, or Student's t, which hold for few"
)
HUMAN: Final = "human\u2013human level"
_HUMAN_NOTE = "the mean annotator against the majority of the others"
_HEADS: Final = (
    ("rank", "Rank", "number"),
    ("judge", "Judge", "text"),
    ("kind", "Kind", "text"),
    ("accuracy", "Accuracy, 95% interval", "number"),
    ("n", "Cases", "number"),
    ("n_excluded", "Left out", "number"),
    ("coverage", "Answered", "number"),
    ("kappa", "Kappa", "number"),
)

BoardRow = Mapping[str, object]


class LeaderboardScope(NamedTuple):
    """What a leaderboard is of: a policy, a dimension, and all cases (None, None) or a subfield of a column."""

    policy: str
    dimension: str
    by: str | None = None
    subfield: str | None = None


@dataclass
class Board:
    """A benchmark and its verdicts, from which leaderboards are made on demand.

    Attributes
    ----------
    panels : the verdicts by probe
    kinds : the kind of each judge, by name; empty where nobody says
    columns : the columns of the cases that can be chosen, with their subfields
    resamples, seed : of the intervals
    """

    benchmark: Benchmark
    panels: Mapping[str, Panel]
    kinds: Mapping[str, str]
    columns: Mapping[str, list[str]]
    resamples: int = 2000
    seed: int = 0
    _kept: dict[tuple[str, str, str, str | None], pd.DataFrame] = field(default_factory=dict, repr=False)

    def rows(self, scope: LeaderboardScope) -> pd.DataFrame:
        """One row a judge, best first.

        Returns
        -------
        DataFrame
            `COLUMNS`: `rank` by accuracy, equal ones share the better rank, null without accuracy; `low`, `high` the
            interval that the table `accuracy` recommends; `few`, whether that is not the bootstrap's.
        """
        self.check(scope)
        table = _rows_in(self._table("accuracy", scope), scope)
        return _shown(table).assign(kind=[self.kinds.get(name, "") for name in table["judge"]]).pipe(_ranked)

    def human(self, scope: LeaderboardScope) -> pd.Series | None:
        """The mean annotator against the majority of the others: `accuracy, low, high, n`; None where there is none."""
        try:
            table = self._table("ceiling", scope)
        except InputError:
            return None
        rows = _rows_in(table[table["annotator"] == "mean"], scope)
        return None if rows.empty or rows["accuracy"].isna().all() else rows.iloc[0]

    def check(self, scope: LeaderboardScope) -> None:
        """Raise `InputError` for a choice that this board does not have."""
        check_choice("policy", scope.policy, POLICIES)
        check_choice("dimension", scope.dimension, self.dimensions)
        if scope.by is not None:
            check_choice("column", scope.by, tuple(self.columns))
            check_choice(scope.by, str(scope.subfield), self.columns[scope.by])

    @property
    def dimensions(self) -> list[str]:
        """The dimensions with a verdict; all of the benchmark's where nobody judged."""
        panel = self.panels.get(NO_PROBE)
        if panel is None:
            return list(self.benchmark.meta.dimensions)
        judged = panel.judged()
        return [name for i, name in enumerate(panel.dimensions) if judged[:, i].any()]

    def _table(self, name: str, scope: LeaderboardScope) -> pd.DataFrame:
        key = (name, scope.policy, scope.dimension, scope.by)
        if key not in self._kept:
            self._kept[key] = analyze(
                self.benchmark,
                None if name == "ceiling" else self.panels,
                name,
                policy=scope.policy,
                dimension=scope.dimension,
                by=scope.by,
                resamples=self.resamples,
                seed=self.seed,
            )
        return self._kept[key]


def make_board(
    benchmark: Benchmark,
    verdicts: pd.DataFrame | Mapping[str, Panel],
    *,
    groups: pd.DataFrame | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> Board:
    """Lay a benchmark and its verdicts out for leaderboards.

    Parameters
    ----------
    groups : `judge`, `group`: the kind of each judge, as of `mrb_lib.notebook.grouping.judge_groups`

    Raises
    ------
    InputError
        There are no verdicts, or the benchmark's labels are not preferences.
    """
    meta = benchmark.meta
    if not meta.is_preference:
        raise InputError(
            f"leaderboard: the labels of {meta.name} are not preferences, so that no verdict can be scored."
        )
    panels = read_panels(benchmark, [verdicts]) if isinstance(verdicts, pd.DataFrame) else verdicts
    if NO_PROBE not in panels or not panels[NO_PROBE].judges:
        raise InputError("leaderboard: there are no verdicts; make some with `mrb judge BENCH RUNS --judge NAME`.")
    kinds = {} if groups is None else dict(zip(groups["judge"].astype(str), groups["group"].astype(str), strict=True))
    cases = benchmark.cases
    filled = [name for name in SUBFIELD_COLUMNS if name in cases.columns and cases[name].notna().any()]
    columns = {name: sorted(subfield_values(cases, name).dropna().unique().tolist()) for name in filled}
    return Board(benchmark, panels, kinds, columns, resamples, seed)


def _rows_in(table: pd.DataFrame, scope: LeaderboardScope) -> pd.DataFrame:
    """The rows of all cases, or of the subfield."""
    if scope.by is None:
        return table[table["subfield"].isna()]
    return table[(table["by"] == scope.by) & (table["subfield"] == scope.subfield)]


def mark_few(table: pd.DataFrame) -> pd.DataFrame:
    """The table `accuracy` with `few`: whether the recommended interval is the one for few cases or clusters."""
    return table.assign(few=table["interval"].isin(["deff", "t"]).to_numpy(dtype=bool))


def _shown(table: pd.DataFrame) -> pd.DataFrame:
    return mark_few(table).rename(columns={"cohen_kappa": "kappa"})


def _ranked(table: pd.DataFrame) -> pd.DataFrame:
    ranks = table["accuracy"].rank(ascending=False, method="min")
    ordered = table.assign(rank=ranks).sort_values(["rank", "judge"], na_position="last", ignore_index=True)
    return ordered[list(COLUMNS)]


def default_dimension(dimensions: list[str]) -> str:
    """Where there is an overall judgement, that; otherwise the last dimension."""
    return "overall" if "overall" in dimensions else dimensions[-1]


def static_leaderboard(board: Board, scope: LeaderboardScope) -> str:
    """A leaderboard that needs nothing else."""
    return (
        f'<section class="mrb mrb-board" aria-label="leaderboard"><style>{style(*STYLES)}</style>'
        f"{view(board, scope)}</section>"
    )


def view(board: Board, scope: LeaderboardScope) -> str:
    """The table of a choice."""
    return leaderboard_html(board.rows(scope), scope, board.human(scope), kind_note(board.benchmark.meta.kind))


def as_words(name: str) -> str:
    """The name of a subfield or a column as words."""
    return name.replace("_", " ")


def scope_html(scope: LeaderboardScope) -> str:
    """What a leaderboard is of, as HTML."""
    where = "all cases"
    if scope.by is not None:
        where = f"{escaped(as_words(scope.by))} {isolated(as_words(str(scope.subfield)))}"
    return f"{isolated(scope.dimension)} &middot; policy {escaped(scope.policy)} &middot; {where}"


def leaderboard_html(
    rows: pd.DataFrame, scope: LeaderboardScope, human: pd.Series | None = None, note: str = ""
) -> str:
    """A leaderboard.

    Parameters
    ----------
    rows : as of `mrb_lib.widgets.boards.leaderboard_rows.Board.rows`
    scope : what they are of
    human : `accuracy, low, high, n` of the mean annotator; None leaves it out
    note : shown above, as for simulated data

    Returns
    -------
    str
        A table with what it is of above and how it is read below. Each cell that can be sorted by has `data-v`.
        Validated by tests/widgets/boards/test_leaderboard.py.
    """
    scale = _scale(rows, human)
    body = "".join(_row(row, scale, human) for row in _records(rows))
    simulated = f'<p class="mrb-simulated">{escaped(note)}</p>' if note else ""
    return (
        f'{simulated}<p class="mrb-about">{scope_html(scope)}</p><div class="mrb-scroll" {SCROLLS}>'
        f'<table class="mrb-ranks"><caption class="mrb-out-of-sight">Judges by accuracy: {scope_html(scope)}</caption>'
        f"<thead><tr>{_head(scale)}</tr></thead>{_human_row(human, scale)}<tbody>{body}</tbody></table></div>"
        f'<div class="mrb-legend">{_legend(rows, human)}</div>'
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
        f"{_accuracy(row, scale, human)}"
        f'<td data-v="{_value(row["n"])}">{_number(row["n"])}</td>'
        f'<td data-v="{_value(row["n_excluded"])}">{_number(row["n_excluded"])}</td>'
        f'<td data-v="{_value(row["coverage"])}">{percent_text(row["coverage"])}</td>'
        f'<td data-v="{_value(row["kappa"])}">{_number(row["kappa"], ".2f")}</td></tr>'
    )


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
        f'<tbody class="mrb-human"><tr><td></td><th scope="row" colspan="2">{HUMAN}</th><td class="mrb-accuracy">'
        f'<div class="mrb-drawn">{_bar(row, scale, human, "human-dot")}<span class="mrb-figures">'
        f"<b>{percent_text(human['accuracy'])}</b> <span>{interval_text(row)}</span></span></div></td>"
        f'<td colspan="4" class="mrb-kind">each annotator, against the others</td></tr></tbody>'
    )


def _legend(rows: pd.DataFrame, human: pd.Series | None) -> str:
    lines = ["Dot: accuracy; line: its 95% interval. Equal accuracies share a rank; ranks apart by less than the "
            "intervals may be chance."]  # fmt: skip
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
