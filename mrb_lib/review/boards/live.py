"""The widgets of the boards and what they answer to their pages; only where anywidget is installed.

See `mrb_lib.review.plain.can_run`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol

from mrb_lib.review.boards.cell_cases import N_SCORED, SCORED, behind_html
from mrb_lib.review.boards.heatmap_table import (
    ALL,
    DIMENSIONS,
    LISTED_OUTCOMES,
    HeatmapAxes,
    HeatmapCell,
    HeatmapData,
    heatmap_of,
    static_heatmap,
)
from mrb_lib.review.boards.heatmap_table import STYLES as HEATMAP_STYLES
from mrb_lib.review.boards.leaderboard_rows import Board, LeaderboardScope
from mrb_lib.review.boards.leaderboard_table import STYLES as LEADERBOARD_STYLES
from mrb_lib.review.boards.leaderboard_table import as_words, static_leaderboard, view, where_html
from mrb_lib.review.case import SCRIPTS as CASE_SCRIPTS
from mrb_lib.review.case import STYLES as CASE_STYLES
from mrb_lib.review.case import case_html
from mrb_lib.review.failures.query import PLACES, Query
from mrb_lib.review.shell import Shell
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import POLICIES


class ShowsQuery(Protocol):
    """What can be led to the cases of a query, such as a failure explorer."""

    @property
    def policy(self) -> str:
        """The scoring policy that says what is wrong."""

    def show(self, query: Query) -> None:
        """Show these cases."""


class LeaderboardWidget(Shell):
    """What `mrb_lib.review.boards.browse_leaderboard` returns."""

    def __init__(self, board: Board, start: LeaderboardScope) -> None:
        def rows(question: Mapping[str, Any]) -> dict[str, Any]:
            board.forget(where_asked(question))
            return {"html": view(board, scope_asked(board, question))}

        super().__init__(
            {"initial_state": lambda _: leaderboard_state(board, start), "rows": rows},
            scripts=("boards/leaderboard",),
            styles=LEADERBOARD_STYLES,
            static=lambda: static_leaderboard(board, start),
        )


class HeatmapWidget(Shell):
    """What `mrb_lib.review.boards.browse_heatmap` returns."""

    def __init__(self, heatmap: HeatmapData, start: HeatmapAxes, explorer: ShowsQuery | None = None) -> None:
        def explore(question: Mapping[str, Any]) -> dict[str, Any]:
            if explorer is not None:
                if explorer.policy != axes_asked(question).policy:
                    raise InputError(
                        f"the explorer scores by {explorer.policy}; choose that policy to open these there."
                    )
                cell, outcome = cell_asked(heatmap, question), str(question.get("outcome"))
                explorer.show(query_of(cell, outcome, where_asked(question)))
            return {}

        super().__init__(
            {
                "initial_state": lambda _: heatmap_state(heatmap, start, explorer=explorer is not None),
                "table": lambda question: answer_table(heatmap, question),
                "behind": lambda question: answer_behind(heatmap, question),
                "case": lambda question: answer_case(heatmap, question),
                "explore": explore,
            },
            scripts=(*CASE_SCRIPTS, "boards/heatmap"),
            styles=(*CASE_STYLES, *HEATMAP_STYLES),
            static=lambda: static_heatmap(heatmap, start),
        )


def leaderboard_state(board: Board, start: LeaderboardScope) -> dict[str, Any]:
    """What a page starts from: what can be chosen, and what is chosen. Subfields travel as positions in `places`."""
    scopes = _subfields(board)
    return {
        "policies": list(POLICIES),
        "dimensions": board.dimensions,
        "places": [
            {"by": by and as_words(by), "name": "All cases" if name is None else as_words(name)} for by, name in scopes
        ],
        "kinds": sorted(set(board.kinds.values())),
        "policy": start.policy,
        "dimension": start.dimension,
        "place": scopes.index((start.by, start.subfield)),
        "where": start.where,
        "group": start.group,
    }


def where_asked(question: Mapping[str, Any]) -> str:
    """The filter of the cases that a page asks for; empty for all."""
    return str(question.get("where") or "").strip()


def scope_asked(board: Board, question: Mapping[str, Any]) -> LeaderboardScope:
    """The scope that a page asks for; its `place` is a position in the `places` of `leaderboard_state`."""
    subfields = _subfields(board)
    position = question.get("place")
    if not isinstance(position, int) or not 0 <= position < len(subfields):
        position = 0
    policy, dimension = (str(question.get(name)) for name in ("policy", "dimension"))
    return LeaderboardScope(policy, dimension, *subfields[position], where_asked(question))


def _subfields(board: Board) -> list[tuple[str | None, str | None]]:
    """All cases, (None, None), and then each column with each of its subfields."""
    return [(None, None), *((column, value) for column, values in board.columns.items() for value in values)]


def heatmap_state(heatmap: HeatmapData, start: HeatmapAxes, *, explorer: bool) -> dict[str, Any]:
    """What a page starts from: what can be chosen, and what is chosen."""
    return {
        "policies": list(POLICIES),
        "dimensions": heatmap.board.dimensions,
        "columns": [{"value": name, "name": as_words(name)} for name in (DIMENSIONS, *heatmap.board.columns)],
        "policy": start.policy,
        "dimension": start.dimension,
        "by": start.by,
        "where": start.where,
        "explorer": explorer,
    }


def axes_asked(question: Mapping[str, Any]) -> HeatmapAxes:
    """The axes that a page asks for; checked by `HeatmapData.grid`."""
    policy, dimension, by = (str(question.get(name)) for name in ("policy", "dimension", "by"))
    return HeatmapAxes(policy, dimension, by, where_asked(question))


def cell_asked(heatmap: HeatmapData, question: Mapping[str, Any]) -> HeatmapCell:
    """The cell that a page asks for.

    Raises
    ------
    InputError
        There is no such cell.
    """
    row, column = question.get("row"), question.get("column")
    if not isinstance(row, int) or not isinstance(column, int):
        raise InputError("the heatmap has no such cell; load the page again.")
    return heatmap.grid(axes_asked(question)).cell(row, column)


def answer_table(heatmap: HeatmapData, question: Mapping[str, Any]) -> dict[str, Any]:
    """The heatmap of the axes that a page asks for."""
    heatmap.forget(where_asked(question))
    return {"html": heatmap_of(heatmap, axes_asked(question), live=True)}


def answer_behind(heatmap: HeatmapData, question: Mapping[str, Any]) -> dict[str, Any]:
    """The list of the cases behind a cell."""
    cell = cell_asked(heatmap, question)
    wanted, page = str(question.get("outcome", SCORED)), question.get("page", 0)
    if wanted not in (*LISTED_OUTCOMES, SCORED, ALL) or not isinstance(page, int) or page < 0:
        raise InputError("there is no such list of cases; load the page again.")
    policy, where, board = str(question.get("policy")), where_asked(question), heatmap.board
    behind = heatmap.behind(policy, cell, where)
    shown = where_html(board, where, policy)
    html = behind_html(cell, behind, board.benchmark.cases, heatmap.gold, wanted=wanted, page=page, where=shown)
    return {"html": html}


def answer_case(heatmap: HeatmapData, question: Mapping[str, Any]) -> dict[str, Any]:
    """The one view of a case."""
    position, benchmark = question.get("position"), heatmap.board.benchmark
    if not isinstance(position, int) or not 0 <= position < len(benchmark.cases):
        raise InputError("there is no such case; load the page again.")
    html = case_html(
        benchmark.cases.iloc[position],
        images=benchmark.images,
        annotations=benchmark.annotations,
        gold=heatmap.gold,
        verdicts=heatmap.verdicts_on(position),
        manifests=heatmap.manifests,
        level=5,
        style=False,
    )
    return {"html": html}


def query_of(cell: HeatmapCell, outcome: str, where: str = "") -> Query:
    """The query with which an explorer shows the cases of a cell, of those that a filter leaves.

    Raises
    ------
    InputError
        The cell is of a column that an explorer does not filter by.
    """
    if cell.by is not None and cell.by not in PLACES:
        raise InputError(f"the explorer has no filter for {cell.by}; open the cases here.")
    outcomes = {SCORED: tuple(LISTED_OUTCOMES)[:N_SCORED], ALL: ()}.get(outcome, (outcome,))
    query = Query(judge=cell.judge, dimension=cell.dimension, outcome=outcomes, where=where)
    return query if cell.by is None else replace(query, **{cell.by: cell.subfield})  # type: ignore[arg-type]  # one of PLACES
