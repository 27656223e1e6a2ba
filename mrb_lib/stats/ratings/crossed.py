"""What each judge calls the responses of each label: the table of categories against categories."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from mrb_lib.stats.core.panel import Panel, as_panel
from mrb_lib.stats.core.scoring import encode_gold
from mrb_lib.stats.options import divide


def crossed(
    verdicts: pd.DataFrame | Panel,
    gold: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    categories: Sequence[str],
    dimensions: Sequence[str] | None = None,
) -> pd.DataFrame:
    """The shares of a judge's categories by the clinicians' label; a case counts once, its repeats shared out.

    Returns
    -------
    DataFrame
        `judge, dimension, label, choice, n` (cases with the label that the judge answered) and `share` of `choice`
        among its answers; null where n is 0. Rows in the order of the categories.
    """
    panel = as_panel(verdicts, cases["case_id"], dimensions, categories)
    labels = encode_gold(gold, cases["case_id"], panel.dimensions, categories)
    given = np.stack([(panel.choice == code).sum(axis=(3, 4)) for code in range(len(categories))], axis=-1)
    share = divide(given.astype(np.float64), given.sum(axis=-1, keepdims=True))
    rows = []
    for (i, judge), (j, dimension) in (
        (one, other) for one in enumerate(panel.judges) for other in enumerate(panel.dimensions)
    ):
        answered = np.isfinite(share[i, j, :, 0])
        for code, label in enumerate(categories):
            here = answered & (labels[j] == code)
            mean = share[i, j, here].mean(axis=0) if here.any() else np.full(len(categories), np.nan)
            rows += [
                (judge, dimension, label, choice, int(here.sum()), value)
                for choice, value in zip(categories, mean.tolist(), strict=True)
            ]
    return pd.DataFrame(rows, columns=["judge", "dimension", "label", "choice", "n", "share"])
