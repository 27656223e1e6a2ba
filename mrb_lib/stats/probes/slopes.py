"""What a step of a probe's severity adds."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd

from mrb_lib.stats.options import with_ends
from mrb_lib.stats.probes.expectation import per_step
from mrb_lib.stats.probes.pairing import Paired, group_of

SLOPE: Final = "slope"
NO_CASE_AT_ALL: Final = "no case has verdicts at every severity"


def slope_rows(paired: Paired) -> pd.DataFrame:
    """The rows of `part` "slope", of probes whose severities are steps."""
    graded: dict[str, list[str]] = {}
    for text, each in paired.known.items():
        if each.severity is not None:
            graded.setdefault(each.name, []).append(text)
    keys, rows = [], []
    for name, texts in graded.items():
        if len(texts) < 2 or any(group_of(text) is not None for text in texts):
            continue
        several = [paired.cells[text] for text in texts]
        weights = per_step(np.array([paired.known[text].severity for text in texts], dtype=np.float64))
        for j, d in np.ndindex(len(paired.judges), len(paired.dimensions)):
            if all(each.presented[j, d].any() for each in several):
                keys.append((paired.judges[j], paired.dimensions[d], name, paired.known[texts[0]].expected, len(texts)))
                rows.append([weights @ np.stack([getattr(each, of)[j, d] for each in several])
                             for of in ("changed", "accuracy")])  # fmt: skip
    if not keys:
        return pd.DataFrame()
    frame = pd.DataFrame(keys, columns=["judge", "dimension", "probe", "expected", "n_severities"]).assign(part=SLOPE)
    for i, name in enumerate(("changed_slope", "accuracy_slope")):
        found = paired.differences(np.stack([each[i] for each in rows]))
        columns = dict(zip(with_ends(name), (found.value, found.low, found.high), strict=True))
        frame = frame.assign(**columns, **({"n": found.n, "n_clusters": found.clusters} if i == 0 else {}))
    return frame.assign(reason=pd.Series(NO_CASE_AT_ALL, index=frame.index, dtype="str").where(frame["n"].eq(0)))
