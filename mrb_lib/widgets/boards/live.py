"""The widgets of the boards and what they answer to their pages; only where anywidget is installed.

See `mrb_lib.widgets.plain.can_run`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol

from mrb_lib.errors import InputError
from mrb_lib.schema import POLICIES
from mrb_lib.stats.failures.query import PLACES, Query
from mrb_lib.widgets.boards.heatmap_table import (
    ALL,
    DIMENSIONS,
    OUTCOMES,
    SCORED,
    Axes,
    Cell,
    Heat,
    behind_html,
    heatmap_html,
    note_of,
)
from mrb_lib.widgets.boards.heatmap_table import STYLES as HEATMAP_STYLES
from mrb_lib.widgets.boards.heatmap_table import static_html as static_heatmap
from mrb_lib.widgets.boards.leaderboard_table import STYLES as LEADERBOARD_STYLES
from mrb_lib.widgets.boards.leaderboard_table import Board, Choice, named, view
from mrb_lib.widgets.boards.leaderboard_table import static_html as static_leaderboard
from mrb_lib.widgets.case.view import STYLES as CASE_STYLES
from mrb_lib.widgets.case.view import case_html
from mrb_lib.widgets.shell import Shell


class Shows(Protocol):
    """What can be led to the cases of a query, such as a failure explorer."""

    def show(self, query: Query) -> None:
        """Show these cases."""


class Leaderboard(Shell):
    """What `mrb_lib.widgets.boards.leaderboard` returns."""

    def __init__(self, made: Board, start: Choice) -> None:
        def rows(question: Mapping[str, Any]) -> dict[str, Any]:
            return {"html": view(made, chosen(made, question))}

        super().__init__(
            {"initial_state": lambda _: leaderboard_state(made, start), "rows": rows},
            scripts=("boards/leaderboard",),
            styles=LEADERBOARD_STYLES,
            static=lambda: static_leaderboard(made, start),
        )


class Heatmap(Shell):
    """What `mrb_lib.widgets.boards.heatmap` returns."""

    def __init__(self, made: Heat, start: Axes, explorer: Shows | None = None) -> None:
        def explore(question: Mapping[str, Any]) -> dict[str, Any]:
            if explorer is not None:
                explorer.show(query_of(cell_of(made, question), str(question.get("outcome"))))
            return {}

        super().__init__(
            {
                "initial_state": lambda _: heatmap_state(made, start, explorer=explorer is not None),
                "table": lambda question: table(made, question),
                "behind": lambda question: behind(made, question),
                "case": lambda question: case(made, question),
                "explore": explore,
            },
            scripts=("case/case", "boards/heatmap"),
            styles=(*CASE_STYLES, *HEATMAP_STYLES),
            static=lambda: static_heatmap(made, start),
        )


def leaderboard_state(made: Board, start: Choice) -> dict[str, Any]:
    """What a page is told first: what can be chosen, and what is chosen. Subfields travel as positions."""
    places = [[None, None, "All cases"]]
    for column, values in made.columns.items():
        places += [[column, value, named(value)] for value in values]
    return {
        "policies": list(POLICIES),
        "dimensions": made.dimensions,
        "places": [{"by": by and named(by), "name": name} for by, _, name in places],
        "kinds": sorted(set(made.kinds.values())),
        "policy": start.policy,
        "dimension": start.dimension,
        "place": next(i for i, (by, value, _) in enumerate(places) if (by, value) == (start.by, start.subfield)),
    }


def chosen(made: Board, question: Mapping[str, Any]) -> Choice:
    """The choice of a page; the place is a position in the `places` of `leaderboard_state`."""
    places: list[tuple[str | None, str | None]] = [(None, None)]
    places += [(column, value) for column, values in made.columns.items() for value in values]
    place = question.get("place")
    at = place if isinstance(place, int) and 0 <= place < len(places) else 0
    return Choice(str(question.get("policy")), str(question.get("dimension")), *places[at])


def heatmap_state(made: Heat, start: Axes, *, explorer: bool) -> dict[str, Any]:
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
    return {"html": heatmap_html(made.grid(axes_of(question)), live=True, note=note_of(made))}


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
