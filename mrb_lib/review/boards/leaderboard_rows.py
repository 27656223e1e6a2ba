"""The rows of leaderboards, computed by `mrb_lib.stats` for what is chosen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.review.records.reviewed import reviews_asked
from mrb_lib.stats.analyze import analyze, read_panels
from mrb_lib.stats.options import check_choice
from mrb_lib.stats.panel import Panel
from mrb_lib.stats.subfields import subfield_values
from mrb_lib.stats.where import asks_for_reviews, restricted
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import NO_PROBE, POLICIES

COLUMNS: Final = (
    "rank", "judge", "kind", "decisive_accuracy", "decisive_accuracy_low", "decisive_accuracy_high",
    "decisive_coverage", "accuracy", "low", "high", "few", "above_constant", "above_constant_low",
    "above_constant_high", "n", "n_excluded", "coverage", "kappa", "reason",
)  # fmt: skip
_KEPT: Final = 16
SUBFIELD_COLUMNS: Final = ("organ", "department", "modality", "dataset", "question_type")


class LeaderboardScope(NamedTuple):
    """What a leaderboard is of: a policy, a dimension, and all cases (None, None) or a subfield of a column.

    `where` leaves only some of these cases, see `mrb_lib.stats.where.cases_where`; empty leaves all. `group`
    shows only the judges of one; ranks are among all.
    """

    policy: str
    dimension: str
    by: str | None = None
    subfield: str | None = None
    where: str = ""
    group: str = ""


@dataclass
class Board:
    """A benchmark and its verdicts, from which leaderboards are made on demand.

    Attributes
    ----------
    panels : the verdicts by probe
    kinds : the group of each judge, by name; empty where nobody says
    columns : the columns of the cases that can be chosen, with their subfields
    resamples, seed : of the intervals
    store : the reviews that filters ask for; None takes that of `mrb_lib.review.records.reviewed.store_of`
    """

    benchmark: Benchmark
    panels: Mapping[str, Panel]
    kinds: Mapping[str, str]
    columns: Mapping[str, list[str]]
    resamples: int = 2000
    seed: int = 0
    store: str | Path | None = None
    _kept: dict[tuple[str, ...], pd.DataFrame] = field(default_factory=dict, repr=False)
    _parts: dict[tuple[str, str], Board] = field(default_factory=dict, repr=False)

    def rows(self, scope: LeaderboardScope) -> pd.DataFrame:
        """One row a judge, best first.

        Returns
        -------
        DataFrame
            `COLUMNS`: `rank` and all others are those of the table `accuracy`; `kind` is the judge's group; `few`,
            whether the interval is not the bootstrap's.
        """
        rows = self._of_kind(scope, "judge")
        return rows[rows["kind"] == scope.group].reset_index(drop=True) if scope.group else rows

    def references(self, scope: LeaderboardScope) -> pd.DataFrame:
        """What constants and the longer response reach, which do not compete: as `rows`, without ranks."""
        return self._of_kind(scope, "reference")

    def _of_kind(self, scope: LeaderboardScope, kind: str) -> pd.DataFrame:
        self.check(scope)
        table = _rows_in(self._table("accuracy", scope), scope)
        if table.empty and scope.where:
            raise InputError(f"where {scope.where!r}: leaves no verdict on {scope.subfield or scope.dimension}.")
        table = mark_few(table[table["kind"] == kind]).rename(columns={"cohen_kappa": "kappa"})
        shown = (
            table["label"].fillna("") if kind == "reference" else [self.kinds.get(name, "") for name in table["judge"]]
        )
        return table.assign(kind=shown)[list(COLUMNS)].reset_index(drop=True)

    def human(self, scope: LeaderboardScope) -> pd.Series | None:
        """The mean annotator against the majority of the others: `accuracy, low, high, n`.

        None where there is none, or it is of fewer than 30 cases or under half of them.
        """
        try:
            table = self._table("ceiling", scope)
        except InputError:
            return None
        known = (table["annotator"] == "mean") & table["accuracy"].notna() & table["representative"].fillna(False)
        rows = _rows_in(table[known], scope)
        return None if rows.empty else rows.iloc[0]

    def check(self, scope: LeaderboardScope) -> None:
        """Raise `InputError` for a choice that this board does not have."""
        check_choice("policy", scope.policy, POLICIES)
        check_choice("dimension", scope.dimension, self.dimensions)
        if scope.by is not None:
            check_choice("column", scope.by, tuple(self.columns))
            check_choice(scope.by, str(scope.subfield), self.columns[scope.by])
        if scope.group:
            check_choice("group", scope.group, sorted(set(self.kinds.values())))

    def part(self, where: str, policy: str) -> Board:
        """The board of the cases that a filter leaves, made once; this one where it is empty.

        Raises
        ------
        InputError
            The filter cannot be read, leaves no case, or asks for reviews that are not there.
        """
        if not where:
            return self
        if (where, policy) not in self._parts:
            reviews = reviews_asked(where, self.benchmark, self.store)
            benchmark, panels = restricted(self.benchmark, self.panels, where, policy=policy, **reviews)
            as_given = cast("Mapping[str, Panel]", panels)
            smaller = replace(self, benchmark=benchmark, panels=as_given, _kept={}, _parts={})
            keep_latest(self._parts, (where, policy), smaller)
        return self._parts[where, policy]

    def forget(self, where: str) -> None:
        """Read reviews anew when this filter is next used, where it asks for them: there may be more by then."""
        if asks_for_reviews(where):
            self._parts = {key: part for key, part in self._parts.items() if key[0] != where}

    @property
    def dimensions(self) -> list[str]:
        """The dimensions with a verdict; all of the benchmark's where nobody judged."""
        panel = self.panels.get(NO_PROBE)
        if panel is None:
            return list(self.benchmark.meta.dimensions)
        judged = panel.judged()
        return [name for i, name in enumerate(panel.dimensions) if judged[:, i].any()]

    def _table(self, name: str, scope: LeaderboardScope) -> pd.DataFrame:
        if scope.where:
            return self.part(scope.where, scope.policy)._table(name, scope._replace(where=""))
        key = (name, scope.policy, scope.dimension, scope.by or "")
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
    store: str | Path | None = None,
) -> Board:
    """Lay a benchmark and its verdicts out for leaderboards.

    Parameters
    ----------
    groups : `judge`, `group`, see `mrb_lib.judges.roster.groups.judge_groups`
    store : see `Board`

    Raises
    ------
    InputError
        There are no verdicts, or the benchmark's labels are not preferences between two responses.
    """
    meta = benchmark.meta
    if not meta.is_preference:
        raise InputError(
            f"leaderboard: it is about preferences between two responses, and the labels of {meta.name} are not; "
            "see mrb analyze BENCH --table ratings."
            if meta.is_rating
            else f"leaderboard: the labels of {meta.name} are not preferences, so that no verdict can be scored."
        )
    panels = read_panels(benchmark, [verdicts]) if isinstance(verdicts, pd.DataFrame) else verdicts
    if NO_PROBE not in panels or not panels[NO_PROBE].judges:
        raise InputError("leaderboard: there are no verdicts; make some with `mrb judge BENCH RUNS --judge NAME`.")
    kinds = {} if groups is None else dict(zip(groups["judge"].astype(str), groups["group"].astype(str), strict=True))
    cases = benchmark.cases
    filled = [name for name in SUBFIELD_COLUMNS if name in cases.columns and cases[name].notna().any()]
    columns = {name: sorted(subfield_values(cases, name).dropna().unique().tolist()) for name in filled}
    return Board(benchmark, panels, kinds, columns, resamples, seed, store)


def keep_latest(kept: dict[Any, Any], key: object, value: object) -> None:
    """Keep what was made for a filter; filters are typed freely, so that the oldest of many is forgotten."""
    kept[key] = value
    while len(kept) > _KEPT:
        del kept[next(iter(kept))]


def _rows_in(table: pd.DataFrame, scope: LeaderboardScope) -> pd.DataFrame:
    """The rows of all cases, or of the subfield."""
    if scope.by is None:
        return table[table["subfield"].isna()]
    return table[(table["by"] == scope.by) & (table["subfield"] == scope.subfield)]


def mark_few(table: pd.DataFrame) -> pd.DataFrame:
    """The table `accuracy` with `few`: whether the recommended interval is the one for few cases or clusters."""
    return table.assign(few=table["interval"].isin(["deff", "t"]).to_numpy(dtype=bool))


def default_dimension(dimensions: list[str]) -> str:
    """Where there is an overall judgement, that; otherwise the last dimension."""
    return "overall" if "overall" in dimensions else dimensions[-1]
