"""The heatmap of judges: its cells and the cases behind each, computed by `mrb_lib.stats`, and their HTML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil, floor
from typing import Final, NamedTuple

import numpy as np
import pandas as pd

from mrb_lib.review.boards.leaderboard_rows import Board, keep_latest, mark_few
from mrb_lib.review.boards.leaderboard_table import (
    FEW,
    as_words,
    finite_or_none,
    interval_text,
    percent_text,
    where_html,
)
from mrb_lib.review.bundle import style
from mrb_lib.review.failures.index import CaseIndex
from mrb_lib.review.failures.kinds import Kinds, failure_kinds
from mrb_lib.review.text import SCROLLS, escaped, isolated, kind_note
from mrb_lib.stats.analysis import labels
from mrb_lib.stats.analyze import analyze
from mrb_lib.stats.options import IntArray, check_choice
from mrb_lib.stats.subfields import subfield_values
from mrb_lib.stats.where import HALF, NO_LABEL, OUTCOMES, RIGHT, UNSCORED, WRONG, asks_for_reviews
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import NO_PROBE, POLICIES
from mrb_lib.verdicts.manifest import Manifest

STYLES: Final = ("boards/heatmap",)
DIMENSIONS: Final = "dimension"
ALL: Final = "all cases"
# In the order in which a list shows them: what went wrong comes first.
LISTED_OUTCOMES: Final = (WRONG, HALF, RIGHT, UNSCORED, NO_LABEL)
STEPS: Final = 10

Scale = tuple[float, float]


class HeatmapAxes(NamedTuple):
    """What a heatmap is of: a policy, and the dimensions, or one dimension by a column of the cases.

    `where` leaves only some of the cases, see `mrb_lib.stats.where.cases_where`; empty leaves all.
    """

    policy: str
    dimension: str
    by: str
    where: str = ""


class HeatmapCell(NamedTuple):
    """A judge on a dimension, over all cases (subfield None) or those of a subfield of `by`."""

    judge: str
    dimension: str
    by: str | None
    subfield: str | None


@dataclass(frozen=True)
class HeatmapGrid:
    """A heatmap: `rows` maps each cell to its row of the table `accuracy`; what is not there has no verdict."""

    axes: HeatmapAxes
    judges: list[str]
    columns: list[str]
    rows: dict[tuple[str, str], dict[str, object]]

    def cell(self, row: int, column: int) -> HeatmapCell:
        """The cell in a row and a column, counted from 0.

        Raises
        ------
        InputError
            There is no such cell.
        """
        if not (0 <= row < len(self.judges) and 0 <= column < len(self.columns)):
            raise InputError("the heatmap has no such cell; load the page again.")
        judge, name = self.judges[row], self.columns[column]
        if self.axes.by == DIMENSIONS:
            return HeatmapCell(judge, name, None, None)
        whole = column == 0
        return HeatmapCell(judge, self.axes.dimension, None if whole else self.axes.by, None if whole else name)


@dataclass
class HeatmapData:
    """Heatmaps of a benchmark, on demand.

    Attributes
    ----------
    board : the benchmark, its verdicts, and the columns that can be chosen
    verdicts : the rows behind the panels, or the index that holds them, for the view of a case
    """

    board: Board
    verdicts: pd.DataFrame | CaseIndex
    _grids: dict[HeatmapAxes, HeatmapGrid] = field(default_factory=dict, repr=False)
    _kinds: dict[str, Kinds] = field(default_factory=dict, repr=False)
    _gold: pd.DataFrame | None = field(default=None, repr=False)

    @property
    def gold(self) -> pd.DataFrame:
        """The gold labels, by majority."""
        if self._gold is None:
            self._gold = self.verdicts.gold if isinstance(self.verdicts, CaseIndex) else labels(self.board.benchmark)
        return self._gold

    @property
    def note(self) -> str:
        """What stands above simulated data; empty for other benchmarks."""
        return kind_note(self.board.benchmark.meta.kind)

    def check(self, axes: HeatmapAxes) -> None:
        """Raise `InputError` for axes that this heatmap does not have."""
        check_choice("policy", axes.policy, POLICIES)
        check_choice("dimension", axes.dimension, self.board.dimensions)
        check_choice("columns", axes.by, (DIMENSIONS, *self.board.columns))

    def grid(self, axes: HeatmapAxes) -> HeatmapGrid:
        """The heatmap of these axes, judges by their rank over all cases, see the table `accuracy`."""
        self.check(axes)
        if axes not in self._grids:
            keep_latest(self._grids, axes, self._made(axes))
        return self._grids[axes]

    def forget(self, where: str) -> None:
        """As `Board.forget`, with the heatmaps of the cases that the filter left."""
        self.board.forget(where)
        if asks_for_reviews(where):
            self._grids = {axes: grid for axes, grid in self._grids.items() if axes.where != where}

    def _made(self, axes: HeatmapAxes) -> HeatmapGrid:
        by_dimension, board = axes.by == DIMENSIONS, self.board.part(axes.where, axes.policy)
        table = mark_few(
            analyze(
                board.benchmark,
                board.panels,
                "accuracy",
                policy=axes.policy,
                by=None if by_dimension else axes.by,
                dimension=None if by_dimension else axes.dimension,
                resamples=self.board.resamples,
                seed=self.board.seed,
                references=0,
            )
        )
        overall = table[table["subfield"].isna() & (table["dimension"] == axes.dimension)]
        best = overall["judge"].tolist()
        judges = [*best, *sorted(set(table["judge"]) - set(best))]
        names = table["dimension"] if by_dimension else table["subfield"].fillna(ALL)
        columns = self.board.dimensions
        if not by_dimension:
            some = set(subfield_values(board.benchmark.cases, axes.by).dropna())
            columns = [ALL, *(name for name in board.columns[axes.by] if name in some)]
        keys = zip(table["judge"].tolist(), names.tolist(), strict=True)
        rows = [{str(key): value for key, value in row.items()} for row in table.to_dict("records")]
        return HeatmapGrid(axes, judges, columns, dict(zip(keys, rows, strict=True)))

    def behind(self, policy: str, cell: HeatmapCell, where: str = "") -> pd.DataFrame:
        """The cases behind a cell: of those that a filter leaves, all that the judge has a verdict on.

        Returns
        -------
        DataFrame
            `position` in the cases table, `outcome` of `LISTED_OUTCOMES`, `said` (see `Kinds`); wrong ones first. Those
            with one of the first `N_SCORED` outcomes are the `n` of the cell.
        """
        kinds = self._kinds_by(policy)
        judge, dimension = kinds.judges.index(cell.judge), kinds.dimensions.index(cell.dimension)
        outcome = kinds.grid("outcome")[judge, dimension]
        ids = self.board.benchmark.cases["case_id"]
        left = np.asarray(ids.isin(self.board.part(where, policy).benchmark.cases["case_id"]), dtype=bool)
        inside = kinds.grid("judged")[judge, dimension] & self._inside(cell) & left
        by_outcome = [np.flatnonzero(inside & (outcome == OUTCOMES.index(name))) for name in LISTED_OUTCOMES]
        position: IntArray = np.concatenate(by_outcome).astype(np.int64)
        names = np.repeat(np.array(LISTED_OUTCOMES), [len(positions) for positions in by_outcome])
        said = kinds.grid("said")[judge, dimension][position]
        return pd.DataFrame({"position": position, "outcome": pd.Series(names, dtype="str"), "said": said})

    def _inside(self, cell: HeatmapCell) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        cases = self.board.benchmark.cases
        if cell.by is None:
            return np.ones(len(cases), dtype=bool)
        values = subfield_values(cases, cell.by)
        return np.asarray((values == cell.subfield).fillna(False), dtype=bool)

    def _kinds_by(self, policy: str) -> Kinds:
        if policy not in self._kinds:
            if isinstance(self.verdicts, CaseIndex):
                self._kinds[policy] = self.verdicts.kinds(policy)
            else:
                panel, cases = self.board.panels[NO_PROBE], self.board.benchmark.cases
                self._kinds[policy] = failure_kinds(panel, self.gold, cases, policy=policy)
        return self._kinds[policy]

    @property
    def manifests(self) -> Mapping[str, Manifest]:
        """The manifests of the runs, by the judge's name; none where the verdicts came as a table."""
        return self.verdicts.manifests if isinstance(self.verdicts, CaseIndex) else {}

    def verdicts_on(self, position: int) -> pd.DataFrame:
        """All verdicts on one case."""
        if isinstance(self.verdicts, CaseIndex):
            return self.verdicts.verdicts(position)
        case_id = self.board.benchmark.cases["case_id"].iloc[position]
        rows: pd.DataFrame = self.verdicts[self.verdicts["case_id"] == case_id]
        return rows


def static_heatmap(heatmap: HeatmapData, axes: HeatmapAxes) -> str:
    """A heatmap that needs nothing else."""
    return (
        f'<section class="mrb mrb-heatmap" aria-label="heatmap"><style>{style(*STYLES)}</style>'
        f"{heatmap_of(heatmap, axes, live=False)}</section>"
    )


def heatmap_of(heatmap: HeatmapData, axes: HeatmapAxes, *, live: bool) -> str:
    """The heatmap of these axes, which says what cases it is of."""
    where = where_html(heatmap.board, axes.where, axes.policy)
    return heatmap_html(heatmap.grid(axes), live=live, note=heatmap.note, where=where)


def heatmap_html(grid: HeatmapGrid, *, live: bool, note: str = "", where: str = "") -> str:
    """A heatmap.

    Parameters
    ----------
    grid : see `HeatmapData.grid`
    live : whether cells are buttons; without a page that answers they are plain
    note : shown above, as for simulated data
    where : see `mrb_lib.review.boards.leaderboard_table.where_html`

    Returns
    -------
    str
        A table with a number in each cell, what it is of above and how it is read below. Validated by
        tests/review/boards/test_heatmap.py.
    """
    scale = _scale(grid)
    head = "".join(_column(grid, i) for i in range(len(grid.columns)))
    body = "".join(_row(grid, i, scale, live) for i in range(len(grid.judges)))
    simulated = f'<p class="mrb-simulated">{escaped(note)}</p>' if note else ""
    about = _about(grid.axes) + where
    tall = " mrb-tall" if len(grid.columns) > 7 else ""
    return (
        f'{simulated}<p class="mrb-about">{about}</p><div class="mrb-scroll" {SCROLLS}><table class="mrb-heat{tall}">'
        f'<caption class="mrb-out-of-sight">{about}</caption><thead><tr><th scope="col">Judge</th>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>{_legend(grid, scale)}"
    )


def _about(axes: HeatmapAxes) -> str:
    what = "by dimension" if axes.by == DIMENSIONS else f"on {isolated(axes.dimension)} by {escaped(as_words(axes.by))}"
    return f"Accuracy {what} &middot; policy {escaped(axes.policy)}"


def _scale(grid: HeatmapGrid) -> Scale:
    """The ends of the colours: twentieths that hold all values."""
    values = [value for row in grid.rows.values() if (value := finite_or_none(row["accuracy"])) is not None]
    if not values:
        return 0.0, 1.0
    low, high = floor(min(values) * 20 + 1e-9) / 20, ceil(max(values) * 20 - 1e-9) / 20
    return low, max(high, low + 0.05)


def _column(grid: HeatmapGrid, column: int) -> str:
    name = grid.columns[column]
    counts = [int(n) for judge in grid.judges if (n := _n(grid, judge, name)) is not None]
    ends = sorted({min(counts), max(counts)}) if counts else []
    some = "\u2013".join(str(end) for end in ends)
    return (
        f'<th scope="col"><span class="mrb-name">{isolated(as_words(name))}</span>'
        f'<span class="mrb-n">{some}</span></th>'
    )


def _n(grid: HeatmapGrid, judge: str, column: str) -> float | None:
    row = grid.rows.get((judge, column))
    return None if row is None else finite_or_none(row["n"])


def _row(grid: HeatmapGrid, index: int, scale: Scale, live: bool) -> str:
    judge = grid.judges[index]
    cells = "".join(_cell(grid, index, column, scale, live) for column in range(len(grid.columns)))
    return f'<tr><th scope="row">{isolated(judge)}</th>{cells}</tr>'


def _cell(grid: HeatmapGrid, index: int, column: int, scale: Scale, live: bool) -> str:
    judge, name = grid.judges[index], grid.columns[column]
    row = grid.rows.get((judge, name))
    value = None if row is None else finite_or_none(row["accuracy"])
    if row is None or value is None:
        reason = row["reason"] if row is not None and isinstance(row["reason"], str) else "no verdict"
        body, kind, description = '<b aria-hidden="true">\u2013</b>', "mrb-undefined", f"undefined: {reason}"
    else:
        few = bool(row["few"])
        body = f'<b aria-hidden="true">{100 * value:.0f}{"<sup>*</sup>" if few else ""}</b>'
        body += f'<span aria-hidden="true">{_ends(row)}</span>'
        kind = f"mrb-heat-{_step(value, scale)}" + (" mrb-few" if few else "")
        description = f"{percent_text(value)} of {_n(grid, judge, name):.0f} cases, interval {interval_text(row)}"
        description += ", few cases" if few else ""
    label = escaped(f"{judge}, {as_words(name)}: {description}")
    if not live or row is None:
        spoken = f'<i class="mrb-out-of-sight">{escaped(description)}</i>'
        return f'<td><span class="mrb-cell {kind}" title="{label}">{body}{spoken}</span></td>'
    return (
        f'<td><button type="button" class="mrb-cell {kind}" data-row="{index}" data-column="{column}" tabindex="-1" '
        f'title="{label}">{body}<i class="mrb-out-of-sight">{label}; show the cases</i></button></td>'
    )


def _ends(row: dict[str, object]) -> str:
    low, high = finite_or_none(row["low"]), finite_or_none(row["high"])
    return "" if low is None or high is None else f"{100 * low:.0f}\u2013{100 * high:.0f}"


def _step(value: float, scale: Scale) -> int:
    low, high = scale
    return min(max(round(STEPS * (value - low) / (high - low)), 0), STEPS)


def _legend(grid: HeatmapGrid, scale: Scale) -> str:
    swatches = "".join(f'<span class="mrb-swatch mrb-heat-{step}"></span>' for step in range(STEPS + 1))
    ends = [percent_text(end, 0) for end in scale]
    parts = [
        f'<p class="mrb-scale"><span>{ends[0]}</span><span class="mrb-bar" aria-hidden="true">{swatches}</span>'
        f"<span>{ends[1]}</span><span>accuracy in percent, its 95% interval below; under a column's name the number "
        "of cases scored</span></p>"
    ]
    rows = [grid.rows.get((judge, name)) for judge in grid.judges for name in grid.columns]
    if any(row is not None and row["few"] and finite_or_none(row["accuracy"]) is not None for row in rows):
        parts.append(f"<p><b>*</b> {FEW}.</p>")
    if any(row is None or finite_or_none(row["accuracy"]) is None for row in rows):
        parts.append('<p><span class="mrb-swatch mrb-undefined"></span> undefined: no case of it can be scored</p>')
    return f'<div class="mrb-legend">{"".join(parts)}</div>'
