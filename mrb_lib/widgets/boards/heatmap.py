"""The interactive heatmap: judges by subfield or by dimension, and the cases behind each cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Protocol

import pandas as pd

from mrb_lib.data.benchmark import Benchmark
from mrb_lib.errors import InputError
from mrb_lib.schema import NO_PROBE, POLICIES
from mrb_lib.stats.failures.query import PLACES, Query
from mrb_lib.widgets.boards.heatmap_rows import ALL, DIMENSIONS, OUTCOMES, SCORED, Axes, Cell, Heat
from mrb_lib.widgets.boards.heatmap_view import behind_html, heatmap_html
from mrb_lib.widgets.boards.leaderboard import SIMULATED, default_dimension
from mrb_lib.widgets.boards.leaderboard_rows import board
from mrb_lib.widgets.boards.leaderboard_view import named
from mrb_lib.widgets.bundle import style
from mrb_lib.widgets.case.cases import case_html
from mrb_lib.widgets.explorer.review_index import Index
from mrb_lib.widgets.plain import Plain, can_run

if TYPE_CHECKING:
    from mrb_lib.widgets.boards.lab_widgets import Heatmap

STYLES: Final = ("heatmap",)


class Shows(Protocol):
    """What can be led to the cases of a query, such as a failure explorer."""

    def show(self, query: Query) -> None:
        """Show these cases."""


def heatmap(
    benchmark: Benchmark,
    verdicts: pd.DataFrame | Index,
    *,
    by: str | None = "organ",
    policy: str = "balanced",
    dimension: str | None = None,
    explorer: Shows | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> Heatmap | Plain:
    """Show where judges are strong and where weak; a cell opens the cases behind it.

    Parameters
    ----------
    verdicts : the verdicts table, or the index of `mrb_lib.widgets.explorer.review_index`, which also has the replies
    by : a column of the cases whose values are the columns; None, or a column that no case fills, for the dimensions
    policy, dimension : what is shown first; None takes "overall", or the last dimension where there is none
    explorer : led to a cell's cases on demand
    resamples, seed : of the intervals

    Returns
    -------
    Heatmap or Plain
        A widget; where no page will answer (`mrb_lib.widgets.plain.can_run`), its first view as plain HTML.

    Raises
    ------
    InputError
        There are no verdicts, or a choice is unknown.

    Notes
    -----
    Every number is of the table `accuracy`, every outcome of `mrb_lib.stats.failures.failure_kinds`. Validated by
    tests/widgets/test_heatmap.py and tests/browser/test_lab.py.
    """
    rows = {NO_PROBE: verdicts.panel} if isinstance(verdicts, Index) else verdicts
    made = Heat(board(benchmark, rows, resamples=resamples, seed=seed), verdicts)
    named_by = by if by is not None and by in made.board.columns else DIMENSIONS
    start = Axes(policy, dimension or default_dimension(made.board.dimensions), named_by)
    made.check(start)
    if not can_run():
        return Plain(static_html(made, start))
    from mrb_lib.widgets.boards.lab_widgets import Heatmap

    return Heatmap(made, start, explorer)


def static_html(made: Heat, axes: Axes) -> str:
    """A heatmap that needs nothing else."""
    return (
        f'<section class="mrb mrb-heatmap" aria-label="heatmap"><style>{style(*STYLES)}</style>'
        f"{heatmap_html(made.grid(axes), live=False, note=_note(made))}</section>"
    )


def _note(made: Heat) -> str:
    return SIMULATED if made.board.benchmark.meta.kind == "simulated" else ""


def hello(made: Heat, start: Axes, *, explorer: bool) -> dict[str, Any]:
    """What a page is told first: what can be chosen, and what is chosen."""
    columns = [DIMENSIONS, *made.board.columns]
    return {
        "policies": list(POLICIES),
        "dimensions": made.board.dimensions,
        "columns": [{"value": name, "name": named(name)} for name in columns],
        "policy": start.policy,
        "dimension": start.dimension,
        "by": start.by,
        "explorer": explorer,
    }


def axes_of(question: Mapping[str, Any]) -> Axes:
    """The axes that a page asks for; checked by `Heat.grid`."""
    return Axes(*(str(question.get(name)) for name in ("policy", "dimension", "by")))


def cell_of(made: Heat, question: Mapping[str, Any]) -> Cell:
    """The cell that a page asks for.

    Raises
    ------
    InputError
        There is none.
    """
    row, column = question.get("row"), question.get("column")
    if not isinstance(row, int) or not isinstance(column, int):
        raise InputError("the heatmap has no such cell; load the page again.")
    return made.grid(axes_of(question)).cell(row, column)


def table(made: Heat, question: Mapping[str, Any]) -> dict[str, Any]:
    """The heatmap of the axes asked for."""
    return {"html": heatmap_html(made.grid(axes_of(question)), live=True, note=_note(made))}


def behind(made: Heat, question: Mapping[str, Any]) -> dict[str, Any]:
    """The list of the cases behind a cell."""
    cell = cell_of(made, question)
    wanted, page = str(question.get("outcome", SCORED)), question.get("page", 0)
    if wanted not in (*OUTCOMES, SCORED, ALL) or not isinstance(page, int) or page < 0:
        raise InputError("there is no such list of cases; load the page again.")
    cases = made.board.benchmark.cases
    found = made.behind(str(question.get("policy")), cell)
    return {"html": behind_html(cell, found, cases, made.gold, wanted=wanted, page=page)}


def case(made: Heat, question: Mapping[str, Any]) -> dict[str, Any]:
    """The one view of a case."""
    position, benchmark = question.get("position"), made.board.benchmark
    if not isinstance(position, int) or not 0 <= position < len(benchmark.cases):
        raise InputError("there is no such case; load the page again.")
    shown = case_html(
        benchmark.cases.iloc[position],
        images=benchmark.images,
        annotations=benchmark.annotations,
        gold=made.gold,
        verdicts=made.verdicts_on(position),
        level=5,
        style=False,
    )
    return {"html": shown}


def query_of(cell: Cell, outcome: str) -> Query:
    """What an explorer is asked for to show the cases of a cell.

    Raises
    ------
    InputError
        The cell is of a column that an explorer does not filter by.
    """
    if cell.by is not None and cell.by not in PLACES:
        raise InputError(f"the explorer has no filter for {cell.by}; open the cases here.")
    query = Query(judge=cell.judge, dimension=cell.dimension, kind=("wrong",) if outcome == "wrong" else ())
    return query if cell.by is None else replace(query, **{cell.by: cell.subfield})  # type: ignore[arg-type]  # a place
