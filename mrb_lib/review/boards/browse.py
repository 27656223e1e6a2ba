"""Boards to browse in a notebook: which judges choose as the annotators do, where they are strong, and where weak."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.review.boards.heatmap_table import DIMENSIONS, HeatmapAxes, HeatmapData, static_heatmap
from mrb_lib.review.boards.leaderboard_rows import LeaderboardScope, default_dimension, make_board
from mrb_lib.review.boards.leaderboard_table import static_leaderboard
from mrb_lib.review.failures.index import CaseIndex
from mrb_lib.review.plain import PlainView, can_run
from mrb_lib.stats.panel import Panel
from mrb_lib.tables.schema import NO_PROBE

if TYPE_CHECKING:
    from mrb_lib.review.boards.live import HeatmapWidget, LeaderboardWidget, ShowsQuery


def browse_leaderboard(
    benchmark: Benchmark,
    verdicts: pd.DataFrame | Mapping[str, Panel],
    *,
    policy: str = "balanced",
    by: str | None = None,
    subfield: str | None = None,
    dimension: str | None = None,
    groups: pd.DataFrame | None = None,
    group: str = "",
    resamples: int = 2000,
    seed: int = 0,
    where: str = "",
    store: str | Path | None = None,
) -> LeaderboardWidget | PlainView:
    """Show which judges choose as the annotators do, to sort and to filter.

    Parameters
    ----------
    verdicts : the verdicts table, or its panels by probe
    policy, dimension : what is shown first; None takes "overall", or the last dimension where there is none
    by, subfield : a column of the cases and its value; None for all cases. A column alone begins with its first value
    groups : `judge`, `group`, to filter by; see `mrb_lib.judges.roster.groups.judge_groups`
    group : the one that is shown first, such as "medical"; empty for all
    resamples, seed : of the intervals
    where : only the cases that this leaves at first, such as "organ == 'eye' and length > 1400"; a field of the widget
        asks for others. See `mrb_lib.stats.where.cases_where`
    store : of reviews, a path or a URL, read where a filter asks for `tag`, `reviewers` or `reviewed_by`; None for the
        one that MRB_STORE names, else `reviews.sqlite` in the benchmark's folder

    Returns
    -------
    LeaderboardWidget or PlainView
        A widget; where no page will answer (`mrb_lib.review.plain.can_run`), its first view as plain HTML.

    Raises
    ------
    InputError
        There are no verdicts, a choice is unknown, or the filter cannot be read, leaves no case, or asks for reviews
        that are not there.

    Notes
    -----
    Every number is of `mrb_lib.stats.analyze.analyze`, made when it is chosen and kept. Validated by
    tests/review/boards/test_leaderboard.py and tests/browser/test_lab.py.
    """
    board = make_board(benchmark, verdicts, groups=groups, resamples=resamples, seed=seed, store=store)
    if by is not None and subfield is None:
        subfield = next(iter(board.columns.get(by, [])), None)
    start = LeaderboardScope(policy, dimension or default_dimension(board.dimensions), by, subfield, where, group)
    board.check(start)
    board.part(where, policy)
    if not can_run():
        return PlainView(static_leaderboard(board, start))
    from mrb_lib.review.boards.live import LeaderboardWidget

    return LeaderboardWidget(board, start)


def browse_heatmap(
    benchmark: Benchmark,
    verdicts: pd.DataFrame | CaseIndex,
    *,
    by: str | None = "organ",
    policy: str = "balanced",
    dimension: str | None = None,
    explorer: ShowsQuery | None = None,
    resamples: int = 2000,
    seed: int = 0,
    where: str = "",
    store: str | Path | None = None,
) -> HeatmapWidget | PlainView:
    """Show where judges are strong and where weak; a cell opens the cases behind it.

    Parameters
    ----------
    verdicts : the verdicts table, or the index of `mrb_lib.review.failures.index`, which also has the replies
    by : a column of the cases whose values are the columns; None, or a column that no case fills, for the dimensions
    policy, dimension : what is shown first; None takes "overall", or the last dimension where there is none
    explorer : led to a cell's cases on demand
    resamples, seed : of the intervals
    where : only the cases that this leaves at first, such as "organ == 'eye' and length > 1400"; a field of the widget
        asks for others. See `mrb_lib.stats.where.cases_where`
    store : of reviews, a path or a URL, read where a filter asks for `tag`, `reviewers` or `reviewed_by`; None for the
        one that MRB_STORE names, else `reviews.sqlite` in the benchmark's folder

    Returns
    -------
    HeatmapWidget or PlainView
        A widget; where no page will answer (`mrb_lib.review.plain.can_run`), its first view as plain HTML.

    Raises
    ------
    InputError
        There are no verdicts, a choice is unknown, or the filter cannot be read, leaves no case, or asks for reviews
        that are not there.

    Notes
    -----
    Every number is of the table `accuracy`, every outcome of `mrb_lib.stats.where.outcomes`. Validated by
    tests/review/boards/test_heatmap.py and tests/browser/test_lab.py.
    """
    rows = {NO_PROBE: verdicts.panel} if isinstance(verdicts, CaseIndex) else verdicts
    board = make_board(benchmark, rows, resamples=resamples, seed=seed, store=store)
    heatmap = HeatmapData(board, verdicts)
    columns = by if by is not None and by in heatmap.board.columns else DIMENSIONS
    start = HeatmapAxes(policy, dimension or default_dimension(heatmap.board.dimensions), columns, where)
    heatmap.check(start)
    board.part(where, policy)
    if not can_run():
        return PlainView(static_heatmap(heatmap, start))
    from mrb_lib.review.boards.live import HeatmapWidget

    return HeatmapWidget(heatmap, start, explorer)
