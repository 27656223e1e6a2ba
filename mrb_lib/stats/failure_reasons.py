"""Why judges fail, in the words of reviewers."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mrb_lib.stats.adjudicated import records
from mrb_lib.stats.intervals import wilson
from mrb_lib.stats.options import BoolArray, divide
from mrb_lib.stats.panel import Panel, as_panel
from mrb_lib.stats.scoring import encode_gold, score

NO_REASON = "no reason given"
_REASONS = ["judge", "reason", "n", "n_reviewed", "n_failures", "share", "low", "high"]


def reasons_by_judge(
    adjudications: pd.DataFrame,
    verdicts: pd.DataFrame | Panel,
    gold: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    policy: str = "balanced",
) -> pd.DataFrame:
    """Why each judge fails, by the reasons that reviewers gave.

    Parameters
    ----------
    adjudications : as in `adjudicated_gold`; one with a judge speaks of that judge, one without of every judge that is
        wrong on the case (on its dimension, or on any where it has none)
    verdicts, gold, cases, policy : as in `mrb_lib.stats.accuracy.accuracy`; wrong is a score below 1/2

    Returns
    -------
    DataFrame
        One row a judge and reason: `n` cases for which a reviewer gave it, of the `n_reviewed` cases of which any
        adjudication speaks for this judge; `share` of these with Wilson's 95% interval `low`, `high` (a case may have
        several reasons); `n_failures` cases on which the judge is wrong in all, reviewed or not. Adjudications without
        a reason count as "no reason given". The commonest first.

    Notes
    -----
    Shares are of what was reviewed, and say of all failures as much as the choice of the cases to review allows.
    Validated in `tests/stats/test_adjudication.py`.
    """
    panel = as_panel(verdicts, cases["case_id"])
    wrong = score(panel, encode_gold(gold, cases["case_id"], panel.dimensions), policy).score < 0.5
    place = {case: i for i, case in enumerate(cases["case_id"])}
    dimensions = {name: i for i, name in enumerate(panel.dimensions)}
    reviewed: dict[str, set[str]] = {name: set() for name in panel.judges}
    given: dict[tuple[str, str], set[str]] = {}
    for word in records(adjudications):
        case = str(word["case_id"])
        for index, judge in enumerate(panel.judges):
            if case not in place or not _speaks_of(word, judge, wrong[index, :, place[case]], dimensions):
                continue
            reviewed[judge].add(case)
            names = word["reasons"] if isinstance(word["reasons"], list | tuple) else ()
            for reason in names or (NO_REASON,):
                given.setdefault((judge, str(reason)), set()).add(case)
    failures = dict(zip(panel.judges, wrong.any(axis=1).sum(axis=1), strict=True))
    rows = [
        (judge, reason, len(found), len(reviewed[judge]), int(failures[judge]))
        for (judge, reason), found in given.items()
    ]
    frame = pd.DataFrame(rows, columns=_REASONS[:5])
    n, of = frame["n"].to_numpy(dtype=np.float64), frame["n_reviewed"].to_numpy(dtype=np.float64)
    share = divide(n, of)
    low, high = wilson(share, of)
    rank = {judge: i for i, judge in enumerate(panel.judges)}
    frame = frame.assign(share=share, low=low, high=high, order=frame["judge"].map(rank).astype("float64"))
    frame = frame.sort_values(["order", "n", "reason"], ascending=[True, False, True], ignore_index=True)
    types = {"judge": "str", "reason": "str"} | dict.fromkeys(_REASONS[2:5], "int64")
    return frame[_REASONS].astype(types)


def _speaks_of(word: dict[str, object], judge: str, wrong: BoolArray, dimensions: dict[str, int]) -> bool:
    """Whether an adjudication is about a judge; `wrong` has a value a dimension."""
    if word["judge"] is not None:
        return word["judge"] == judge
    if word["dimension"] is None:
        return bool(wrong.any())
    place = dimensions.get(str(word["dimension"]))
    return place is not None and bool(wrong[place])
