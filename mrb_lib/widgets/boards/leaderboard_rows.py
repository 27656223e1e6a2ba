"""The rows of the interactive leaderboard: asked of `mrb_lib.stats` for what is chosen, and kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
import pandas as pd

from mrb_lib.data.benchmark import Benchmark
from mrb_lib.errors import InputError
from mrb_lib.schema import NO_PROBE, POLICIES
from mrb_lib.stats.core.options import check_choice
from mrb_lib.stats.core.panel import Panel
from mrb_lib.stats.core.subfields import subfield_values
from mrb_lib.stats.tables import analyze, read_panels

COLUMNS: Final = (
    "rank", "judge", "kind", "accuracy", "low", "high", "few", "n", "n_excluded", "coverage", "kappa", "reason",
)  # fmt: skip
PLACES: Final = ("organ", "department", "modality", "dataset", "question_type")
FEW: Final = (
    "few: the right or the wrong answers are worth fewer than 10 cases, or clusters are fewer than 30; "
    "the interval is Wilson's with the design effect, which holds for few"
)


class Choice(NamedTuple):
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

    def rows(self, choice: Choice) -> pd.DataFrame:
        """One row a judge, best first.

        Returns
        -------
        DataFrame
            `COLUMNS`: `rank` by accuracy, equal ones share the better rank, null without accuracy; `low`, `high` the
            interval that the table `accuracy` says to quote; `few`, whether that is not the bootstrap's.
        """
        self.check(choice)
        table = _part(self._table("accuracy", choice), choice)
        return _shown(table).assign(kind=[self.kinds.get(name, "") for name in table["judge"]]).pipe(_ranked)

    def human(self, choice: Choice) -> pd.Series | None:
        """The mean annotator against the majority of the others: `accuracy, low, high, n`; None where there is none."""
        try:
            table = self._table("ceiling", choice)
        except InputError:
            return None
        rows = _part(table[table["annotator"] == "mean"], choice)
        return None if rows.empty or rows["accuracy"].isna().all() else rows.iloc[0]

    def check(self, choice: Choice) -> None:
        """Raise `InputError` for a choice that this board does not have."""
        check_choice("policy", choice.policy, POLICIES)
        check_choice("dimension", choice.dimension, self.dimensions)
        if choice.by is not None:
            check_choice("column", choice.by, tuple(self.columns))
            check_choice(choice.by, str(choice.subfield), self.columns[choice.by])

    @property
    def dimensions(self) -> list[str]:
        """The dimensions with a verdict; all of the benchmark's where nobody judged."""
        panel = self.panels.get(NO_PROBE)
        if panel is None:
            return list(self.benchmark.meta.dimensions)
        judged = panel.judged()
        return [name for i, name in enumerate(panel.dimensions) if judged[:, i].any()]

    def _table(self, name: str, choice: Choice) -> pd.DataFrame:
        key = (name, choice.policy, choice.dimension, choice.by)
        if key not in self._kept:
            self._kept[key] = analyze(
                self.benchmark,
                None if name == "ceiling" else self.panels,
                name,
                policy=choice.policy,
                dimension=choice.dimension,
                by=choice.by,
                resamples=self.resamples,
                seed=self.seed,
            )
        return self._kept[key]


def board(
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
    groups : `judge`, `group`: the kind of each judge, as `mrb_lib.notebook.about.judge_groups` tells it

    Raises
    ------
    InputError
        There are no verdicts, or the benchmark's labels are no preferences.
    """
    meta = benchmark.meta
    if not meta.is_preference:
        raise InputError(
            f"leaderboard: the labels of {meta.name} are no preferences, so that no verdict can be scored."
        )
    panels = read_panels(benchmark, [verdicts]) if isinstance(verdicts, pd.DataFrame) else verdicts
    if NO_PROBE not in panels or not panels[NO_PROBE].judges:
        raise InputError("leaderboard: there are no verdicts; make some with `mrb judge BENCH RUNS --judge NAME`.")
    kinds = {} if groups is None else dict(zip(groups["judge"].astype(str), groups["group"].astype(str), strict=True))
    cases = benchmark.cases
    filled = [name for name in PLACES if name in cases.columns and cases[name].notna().any()]
    columns = {name: sorted(subfield_values(cases, name).dropna().unique().tolist()) for name in filled}
    return Board(benchmark, panels, kinds, columns, resamples, seed)


def _part(table: pd.DataFrame, choice: Choice) -> pd.DataFrame:
    """The rows of all cases, or of the subfield."""
    if choice.by is None:
        return table[table["subfield"].isna()]
    return table[(table["by"] == choice.by) & (table["subfield"] == choice.subfield)]


def quoted(table: pd.DataFrame) -> pd.DataFrame:
    """The table `accuracy` with `low` and `high` the interval to quote, and `few` where it is the one for few."""
    few = (table["interval"] == "deff").fillna(False).to_numpy(dtype=bool)
    low, high = (np.where(few, table[f"deff_{end}"], table[end]) for end in ("low", "high"))
    return table.assign(low=low, high=high, few=few)


def _shown(table: pd.DataFrame) -> pd.DataFrame:
    return quoted(table).rename(columns={"cohen_kappa": "kappa"})


def _ranked(table: pd.DataFrame) -> pd.DataFrame:
    ranks = table["accuracy"].rank(ascending=False, method="min")
    ordered = table.assign(rank=ranks).sort_values(["rank", "judge"], na_position="last", ignore_index=True)
    return ordered[list(COLUMNS)]
