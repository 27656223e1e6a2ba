"""The interactive leaderboard: sort, filter, choose policy, dimension and subfield; plain where it cannot run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from mrb_lib.data.benchmark import Benchmark
from mrb_lib.schema import POLICIES
from mrb_lib.stats.core.panel import Panel
from mrb_lib.widgets.boards.leaderboard_rows import Board, Choice, board
from mrb_lib.widgets.boards.leaderboard_view import leaderboard_html, named
from mrb_lib.widgets.bundle import style
from mrb_lib.widgets.plain import Plain, can_run

if TYPE_CHECKING:
    from mrb_lib.widgets.boards.lab_widgets import Leaderboard

STYLES: Final = ("leaderboard",)
SIMULATED: Final = "SIMULATED data: drawn from a seed; it says nothing about clinicians or models."


def leaderboard(
    benchmark: Benchmark,
    verdicts: pd.DataFrame | Mapping[str, Panel],
    *,
    policy: str = "balanced",
    by: str | None = None,
    subfield: str | None = None,
    dimension: str | None = None,
    groups: pd.DataFrame | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> Leaderboard | Plain:
    """Show which judges choose as the annotators do, to sort and to filter.

    Parameters
    ----------
    verdicts : the verdicts table, or its panels by probe
    policy, dimension : what is shown first; None takes "overall", or the last dimension where there is none
    by, subfield : a column of the cases and its value; None for all cases. A column alone begins with its first value
    groups : `judge`, `group`: the kind of each judge, to filter by; see `mrb_lib.notebook.about.judge_groups`
    resamples, seed : of the intervals

    Returns
    -------
    Leaderboard or Plain
        A widget; where no page will answer (`mrb_lib.widgets.plain.can_run`), its first view as plain HTML.

    Raises
    ------
    InputError
        There are no verdicts, or a choice is unknown.

    Notes
    -----
    Every number is of `mrb_lib.stats.tables.analyze`, made when it is chosen and kept. Validated by
    tests/widgets/test_leaderboard.py and tests/browser/test_lab.py.
    """
    made = board(benchmark, verdicts, groups=groups, resamples=resamples, seed=seed)
    if by is not None and subfield is None:
        subfield = next(iter(made.columns.get(by, [])), None)
    start = Choice(policy, dimension or default_dimension(made.dimensions), by, subfield)
    made.check(start)
    if not can_run():
        return Plain(static_html(made, start))
    from mrb_lib.widgets.boards.lab_widgets import Leaderboard

    return Leaderboard(made, start)


def default_dimension(dimensions: list[str]) -> str:
    """Where there is an overall judgement, that; otherwise the last dimension."""
    return "overall" if "overall" in dimensions else dimensions[-1]


def static_html(made: Board, choice: Choice) -> str:
    """A leaderboard that needs nothing else."""
    return (
        f'<section class="mrb mrb-board" aria-label="leaderboard"><style>{style(*STYLES)}</style>'
        f"{view(made, choice)}</section>"
    )


def view(made: Board, choice: Choice) -> str:
    """The table of a choice."""
    note = SIMULATED if made.benchmark.meta.kind == "simulated" else ""
    return leaderboard_html(made.rows(choice), choice, made.human(choice), note)


def hello(made: Board, start: Choice) -> dict[str, Any]:
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
    """The choice of a page; the place is a position in the `places` of `hello`."""
    places: list[tuple[str | None, str | None]] = [(None, None)]
    places += [(column, value) for column, values in made.columns.items() for value in values]
    place = question.get("place")
    at = place if isinstance(place, int) and 0 <= place < len(places) else 0
    return Choice(str(question.get("policy")), str(question.get("dimension")), *places[at])
