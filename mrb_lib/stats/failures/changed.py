"""Which verdicts a probe changed, laid out like the kinds of failure: what would have caught a judge's errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mrb_lib.stats.core.panel import Panel, as_panel
from mrb_lib.stats.core.scoring import encode_gold
from mrb_lib.stats.probes.cells import cells, of_judges
from mrb_lib.tables.schema import NO_PROBE


class ChangedByProbe(NamedTuple):
    """What probes changed; P probes, J judges, D dimensions, N cases.

    Attributes
    ----------
    probes : as in the verdicts, in alphabetical order
    share : float16 (P, J, D, N), share of the orders and repeats answered with and without the probe in which the
        choice differs; NaN where none is
    """

    probes: list[str]
    share: NDArray[np.float16]


def changed_by_probe(
    plain: Panel, probed: Mapping[str, Panel], gold: pd.DataFrame, case_ids: pd.Series
) -> ChangedByProbe:
    """Pair the verdicts under every probe with the plain ones, as the table `probes` does.

    Parameters
    ----------
    plain : the verdicts on the plain cases, which name the judges and dimensions; others are left out
    probed : by probe, the verdicts under it; those of `none` are passed over
    gold : the gold labels, of dimensions that `plain` need not all have

    Notes
    -----
    A changed verdict is no fault by itself: repeats of a judge may differ as often. Validated by
    tests/stats/failures/test_changed.py.
    """
    names = sorted(set(probed) - {NO_PROBE})
    share = np.full((len(names), *plain.shape), np.nan, dtype=np.float16)
    labels = encode_gold(gold[gold["dimension"].isin(plain.dimensions)], case_ids, plain.dimensions, plain.categories)
    for own, name in zip(share, names, strict=True):
        panel = of_judges(as_panel(probed[name], case_ids, plain.dimensions), plain.judges)
        own[:] = cells(plain, panel, labels, "balanced", None, None).changed
    return ChangedByProbe(names, share)
