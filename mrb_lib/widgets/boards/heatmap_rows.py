"""What stands in a heatmap of judges, and the cases behind each of its cells: asked of `mrb_lib.stats`, and kept."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
import pandas as pd

from mrb_lib.errors import InputError
from mrb_lib.schema import NO_PROBE, POLICIES
from mrb_lib.stats.core.options import IntArray, check_choice
from mrb_lib.stats.core.subfields import subfield_values
from mrb_lib.stats.failures.failure_kinds import HALF, MISSED, NO_LABEL, RIGHT, UNSCORED, Kinds, failure_kinds
from mrb_lib.stats.inputs import labels
from mrb_lib.stats.tables import analyze
from mrb_lib.widgets.boards.leaderboard_rows import Board, quoted
from mrb_lib.widgets.explorer.review_index import Index

DIMENSIONS: Final = "dimension"
ALL: Final = "all cases"
SCORED: Final = "scored"
# In the order in which a list shows them: what went wrong comes first.
OUTCOMES: Final = {
    "wrong": MISSED,
    "half right": HALF,
    "right": RIGHT,
    "not scored": UNSCORED,
    "no gold label": NO_LABEL,
}
N_SCORED: Final = 3


class Axes(NamedTuple):
    """What a heatmap is of: a policy, and the dimensions, or one dimension by a column of the cases."""

    policy: str
    dimension: str
    by: str


class Cell(NamedTuple):
    """A judge on a dimension, over all cases (subfield None) or those of a subfield of `by`."""

    judge: str
    dimension: str
    by: str | None
    subfield: str | None


@dataclass(frozen=True)
class Grid:
    """A heatmap: `rows` maps each cell to its row of the table `accuracy`; what is not there has no verdict."""

    axes: Axes
    judges: list[str]
    columns: list[str]
    rows: dict[tuple[str, str], dict[str, object]]

    def cell(self, row: int, column: int) -> Cell:
        """The cell at a place.

        Raises
        ------
        InputError
            There is no such place.
        """
        if not (0 <= row < len(self.judges) and 0 <= column < len(self.columns)):
            raise InputError("the heatmap has no such cell; load the page again.")
        judge, name = self.judges[row], self.columns[column]
        if self.axes.by == DIMENSIONS:
            return Cell(judge, name, None, None)
        whole = column == 0
        return Cell(judge, self.axes.dimension, None if whole else self.axes.by, None if whole else name)


@dataclass
class Heat:
    """Heatmaps of a benchmark, on demand.

    Attributes
    ----------
    board : the benchmark, its verdicts, and the columns that can be chosen
    verdicts : the rows behind the panels, or the index that holds them; of what a case's own page shows
    """

    board: Board
    verdicts: pd.DataFrame | Index
    _grids: dict[Axes, Grid] = field(default_factory=dict, repr=False)
    _kinds: dict[str, Kinds] = field(default_factory=dict, repr=False)
    _gold: pd.DataFrame | None = field(default=None, repr=False)

    @property
    def gold(self) -> pd.DataFrame:
        """The gold labels, by majority."""
        if self._gold is None:
            self._gold = self.verdicts.gold if isinstance(self.verdicts, Index) else labels(self.board.benchmark)
        return self._gold

    def check(self, axes: Axes) -> None:
        """Raise `InputError` for axes that there are not."""
        check_choice("policy", axes.policy, POLICIES)
        check_choice("dimension", axes.dimension, self.board.dimensions)
        check_choice("columns", axes.by, (DIMENSIONS, *self.board.columns))

    def grid(self, axes: Axes) -> Grid:
        """The heatmap of these axes, judges from the best to the worst."""
        self.check(axes)
        if axes not in self._grids:
            self._grids[axes] = self._made(axes)
        return self._grids[axes]

    def _made(self, axes: Axes) -> Grid:
        by_dimension = axes.by == DIMENSIONS
        table = quoted(
            analyze(
                self.board.benchmark,
                self.board.panels,
                "accuracy",
                policy=axes.policy,
                by=None if by_dimension else axes.by,
                dimension=None if by_dimension else axes.dimension,
                resamples=self.board.resamples,
                seed=self.board.seed,
            )
        )
        overall = table[table["subfield"].isna() & (table["dimension"] == axes.dimension)]
        best = overall.sort_values(["accuracy", "judge"], ascending=[False, True], na_position="last")["judge"].tolist()
        judges = [*best, *sorted(set(table["judge"]) - set(best))]
        names = table["dimension"] if by_dimension else table["subfield"].fillna(ALL)
        columns = self.board.dimensions if by_dimension else [ALL, *self.board.columns[axes.by]]
        keys = zip(table["judge"].tolist(), names.tolist(), strict=True)
        rows = [{str(key): value for key, value in row.items()} for row in table.to_dict("records")]
        return Grid(axes, judges, columns, dict(zip(keys, rows, strict=True)))

    def behind(self, policy: str, cell: Cell) -> pd.DataFrame:
        """The cases behind a cell: all that the judge has a verdict on.

        Returns
        -------
        DataFrame
            `position` in the cases table, `outcome` of `OUTCOMES`, `said` (position in `CHOICES`, or as `Kinds.said`
            tells); wrong ones first. Those with one of the first `N_SCORED` outcomes are the `n` of the cell.
        """
        kinds = self._kinds_by(policy)
        judge, dimension = kinds.judges.index(cell.judge), kinds.dimensions.index(cell.dimension)
        outcome = np.asarray(kinds.outcome[judge, dimension])
        where = kinds.judged[judge, dimension] & self._inside(cell)
        parts = [np.flatnonzero(where & (outcome == code)) for code in OUTCOMES.values()]
        position: IntArray = np.concatenate(parts).astype(np.int64)
        names = np.repeat(np.array(list(OUTCOMES)), [len(part) for part in parts])
        said = np.asarray(kinds.said[judge, dimension])[position]
        return pd.DataFrame({"position": position, "outcome": pd.Series(names, dtype="str"), "said": said})

    def _inside(self, cell: Cell) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        cases = self.board.benchmark.cases
        if cell.by is None:
            return np.ones(len(cases), dtype=bool)
        values = subfield_values(cases, cell.by)
        return np.asarray((values == cell.subfield).fillna(False), dtype=bool)

    def _kinds_by(self, policy: str) -> Kinds:
        if policy not in self._kinds:
            if isinstance(self.verdicts, Index):
                self._kinds[policy] = self.verdicts.kinds(policy)
            else:
                panel, cases = self.board.panels[NO_PROBE], self.board.benchmark.cases
                self._kinds[policy] = failure_kinds(panel, self.gold, cases, policy=policy)
        return self._kinds[policy]

    def verdicts_on(self, position: int) -> pd.DataFrame:
        """All verdicts on one case."""
        if isinstance(self.verdicts, Index):
            return self.verdicts.verdicts(position)
        case_id = self.board.benchmark.cases["case_id"].iloc[position]
        found: pd.DataFrame = self.verdicts[self.verdicts["case_id"] == case_id]
        return found
