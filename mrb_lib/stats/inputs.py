"""What the tables are made from, under the names by which they ask for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, cast

import pandas as pd

from mrb_lib.data.benchmark import GOLD_RULES, Benchmark, GoldRule
from mrb_lib.data.benchmark import gold as gold_labels
from mrb_lib.schema import CHOICES
from mrb_lib.stats.core.options import check_choice
from mrb_lib.stats.core.panel import Panel
from mrb_lib.stats.core.subfields import By

_ORDERED_PREFERENCE = ("A", "tie", "B")
POSTERIOR: Final = "posterior"
RULES: Final = (*GOLD_RULES, POSTERIOR)
ADJUDICATED: Final = "adjudicated"


@dataclass(frozen=True)
class Inputs:
    """What a table may ask for, by name; nothing is made before it is asked for.

    Attributes
    ----------
    probes : the verdicts of every probe
    probe : the one that `verdicts` is of
    adjudications : what reviewers said; None where nobody was asked
    others : the options of `analyze`
    """

    benchmark: Benchmark
    probes: Mapping[str, Panel]
    probe: str
    rule: str
    level: str
    by: By
    dimensions: Sequence[str]
    cluster: str | None
    policy: str
    correction: str | None
    family: str
    resamples: int
    seed: int
    intervals: str = "recommended"
    adjudications: pd.DataFrame | None = None

    @property
    def verdicts(self) -> Panel | None:
        """The verdicts of the probe; None where there are none."""
        return self.probes.get(self.probe)

    @property
    def cases(self) -> pd.DataFrame:
        """The cases table."""
        return self.benchmark.cases

    @property
    def annotations(self) -> pd.DataFrame:
        """The annotations table."""
        return self.benchmark.annotations

    @property
    def categories(self) -> tuple[str, ...]:
        """The labels in their order of measurement: a tie lies between A and B."""
        declared = self.benchmark.meta.categories
        if self.level == "nominal" or not self.benchmark.meta.is_preference:
            return declared
        return tuple(name for name in _ORDERED_PREFERENCE if name in declared)

    @property
    def offered(self) -> tuple[str, ...]:
        """The labels of a preference that a judge may give."""
        return tuple(name for name in CHOICES if name in self.benchmark.meta.categories)

    @property
    def annotated_gold(self) -> pd.DataFrame:
        """The gold labels that the annotators' votes give, before any reviewer looked at them."""
        return labels(self.benchmark, "majority" if self.rule == ADJUDICATED else self.rule)

    @cached_property
    def gold(self) -> pd.DataFrame:
        """The gold labels by the rule asked for; "adjudicated" is the majority as reviewers corrected it."""
        if self.rule != ADJUDICATED or self.adjudications is None:
            return labels(self.benchmark, self.rule)
        from mrb_lib.stats.gold.adjudicated import adjudicated_gold  # only this rule asks reviewers

        return adjudicated_gold(labels(self.benchmark), self.adjudications)


def labels(benchmark: Benchmark, rule: str = "majority") -> pd.DataFrame:
    """The gold labels by any rule: those of `mrb_lib.data.benchmark.gold`, or "posterior" by Dawid and Skene's model.

    Raises
    ------
    InputError
        The rule is unknown.
    """
    check_choice("gold rule", rule, RULES)
    if rule != POSTERIOR:
        return gold_labels(benchmark, cast(GoldRule, rule))
    from mrb_lib.stats.gold.posterior import posterior  # only this rule fits a model

    return posterior(
        benchmark.annotations,
        benchmark.cases,
        categories=benchmark.meta.categories,
        dimensions=benchmark.meta.dimensions,
    )


NAMES: Final = frozenset(name for name in (*Inputs.__annotations__, *vars(Inputs)) if not name.startswith("_"))
