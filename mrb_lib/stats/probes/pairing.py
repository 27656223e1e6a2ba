"""Every probe beside the plain verdicts: what the rows of all parts of the table `probes` are made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from mrb_lib.probes.probe import PROBES, drawn_by, parse_id, target
from mrb_lib.stats.core.panel import Panel
from mrb_lib.stats.core.scoring import encode_gold
from mrb_lib.stats.options import FloatArray, IntArray
from mrb_lib.stats.probes.cells import Cells, cells, differences, of_judges
from mrb_lib.stats.probes.expectation import Known, known
from mrb_lib.stats.resampling.resample import cluster_codes
from mrb_lib.stats.significance.differences import PairedDifferences
from mrb_lib.stats.subfields import Group
from mrb_lib.tables.schema import NO_PROBE


@dataclass(frozen=True)
class Options:
    """Those of `mrb_lib.stats.probes.table.probes` that say how pairs of verdicts become numbers."""

    policy: str
    noise: float | None
    resamples: int
    seed: int


@dataclass(frozen=True)
class Paired:
    """The verdicts under each probe, paired with the plain ones.

    Attributes
    ----------
    panels : of all `judges`, by the id of each probe and `NO_PROBE`
    labels : the gold labels, shape (dimensions, cases of the benchmark)
    cells, known : by the id of each probe; cells are of `cases`
    cases : positions in the benchmark
    codes : the cluster of every case of the benchmark
    """

    judges: list[str]
    dimensions: list[str]
    panels: Mapping[str, Panel]
    labels: IntArray
    cells: Mapping[str, Cells]
    known: Mapping[str, Known]
    cases: IntArray
    codes: IntArray
    options: Options

    def of(self, group: Group) -> Paired:
        """The same of a group of cases."""
        return replace(
            self, cases=group.cases, cells={name: each.of_cases(group.cases) for name, each in self.cells.items()}
        )

    def differences(self, values: FloatArray) -> PairedDifferences:
        """The means of differences within `cases`, shape (m, cases); NaN where a case does not count."""
        options = self.options
        return differences(values, self.cases, self.codes, resamples=options.resamples, seed=options.seed)

    @property
    def own_codes(self) -> IntArray:
        """The clusters of `cases`."""
        return self.codes[self.cases]


def pair_probes(
    plain: Panel,
    others: Mapping[str, Panel],
    gold: pd.DataFrame,
    cases: pd.DataFrame,
    cluster: str | None,
    options: Options,
) -> Paired:
    """Pair every probe with the plain verdicts, in the order of the probes' names and severities."""
    judges = sorted({name for panel in (plain, *others.values()) for name in panel.judges})
    labels = encode_gold(gold, cases["case_id"], plain.dimensions)
    is_a = np.array([target(str(name)) == "A" for name in drawn_by(cases)], dtype=bool)
    about = {
        name: known(name) for name in sorted(others, key=lambda name: (known(name).name, known(name).severity or 0))
    }
    panels = {NO_PROBE: of_judges(plain, judges)} | {name: of_judges(others[name], judges) for name in about}
    paired = {
        name: cells(
            panels[NO_PROBE], panels[name], labels, options.policy, is_a if each.has_target else None, options.noise
        )
        for name, each in about.items()
    }
    every, codes = np.arange(len(cases), dtype=np.int64), cluster_codes(cases, cluster)
    return Paired(judges, plain.dimensions, panels, labels, paired, about, every, codes, options)


def labelled(rows: pd.DataFrame, group: Group) -> pd.DataFrame:
    """The rows with the part of the benchmark that they are about."""
    return rows.assign(by=group.by, subfield=group.subfield, n_unassigned=group.n_unassigned)


def group_of(text: str) -> str | None:
    """What a probe with its severity stands for, as a group of patients; None where severities are steps."""
    found = parse_id(text)
    names = () if found is None else PROBES[found.probe].groups
    return names[found.severity - 1] if found is not None and names and found.severity else None
