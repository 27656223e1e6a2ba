"""Whether a judge treats groups of patients alike: the same cases, told of one group and of another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from typing import Final, NamedTuple

import pandas as pd

from mrb_lib.stats.core.panel import ABSENT
from mrb_lib.stats.probes.cells import Cells, cells
from mrb_lib.stats.probes.effects import NOT_PAIRED, effect_rows, presented
from mrb_lib.stats.probes.expectation import Known
from mrb_lib.stats.probes.pairing import Paired, group_of, labelled
from mrb_lib.stats.subfields import Group
from mrb_lib.tables.schema import NO_PROBE

GAP: Final = "gap"
AS_IT_IS: Final = "as it is"
NOT_BOTH: Final = "no case is answered for both groups in the same order and repeat"


class _Pair(NamedTuple):
    """Two groups of one probe, and the ids of the verdicts on them."""

    probe: str
    group_1: str
    group_2: str
    first: str
    second: str


def gap_rows(paired: Paired, whole: Group) -> pd.DataFrame:
    """The rows of `part` "gap" before any correction: as those of a probe, from one group to another.

    The noise is that of repeats under both groups. A probe of one group is set beside the cases as they are.
    """
    pairs = {f"{pair.first} {pair.second}": pair for pair in _pairs(paired)}
    between = replace(
        paired,
        cells={name: _cells(paired, pair) for name, pair in pairs.items()},
        known={name: Known(pair.probe, None, "same", has_target=False, reason="") for name, pair in pairs.items()},
    )
    keys = presented(between)
    if not keys:
        return pd.DataFrame()
    rows = labelled(effect_rows(between, keys), whole).assign(part=GAP)
    rows["group_1"], rows["group_2"] = (
        [getattr(pairs[name], which) for name in rows["id"]] for which in ("group_1", "group_2")
    )
    return rows.assign(reason=rows["reason"].str.replace(NOT_PAIRED, NOT_BOTH, regex=False))


def _pairs(paired: Paired) -> Iterator[_Pair]:
    by_probe: dict[str, list[tuple[str, str]]] = {}
    for text, each in paired.known.items():
        group = group_of(text)
        if group is not None and each.name.startswith("question/"):
            by_probe.setdefault(each.name, []).append((group, text))
    for probe, own in by_probe.items():
        several = own if len(own) > 1 else [(AS_IT_IS, NO_PROBE), *own]
        for (group_1, first), (group_2, second) in combinations(several, 2):
            yield _Pair(probe, group_1, group_2, first, second)


def _cells(paired: Paired, pair: _Pair) -> Cells:
    first, second, options = paired.panels[pair.first], paired.panels[pair.second], paired.options
    found = cells(first, second, paired.labels, options.policy, None, options.noise, repeated=(first, second))
    return found._replace(presented=found.presented | (first.choice != ABSENT).any(axis=(3, 4)))
