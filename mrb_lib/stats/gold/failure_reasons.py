"""Why judges fail, in the words of reviewers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import pandas as pd

from mrb_lib.stats.accuracy.mean_scores import means
from mrb_lib.stats.core.options import BoolArray, IntArray, join_reasons
from mrb_lib.stats.core.panel import Panel, as_panel
from mrb_lib.stats.core.scoring import encode_gold, score
from mrb_lib.stats.core.subfields import Group
from mrb_lib.stats.gold.adjudicated import records
from mrb_lib.stats.resampling.resample import cluster_codes

NO_REASON = "no reason given"
FOUND: Final = {"gold_wrong": "gold label wrong", "ambiguous": "case ambiguous", "image_unusable": "image unusable"}
_REASONS = ["judge", "reason", "n", "n_reviewed", "n_failures", "share", "low", "high", "interval", "remark"]
_COUNTS = _REASONS[2:5]

CasesByReason = Mapping[tuple[str, str], set[int]]


def reasons_by_judge(
    adjudications: pd.DataFrame,
    verdicts: pd.DataFrame | Panel,
    gold: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    policy: str = "balanced",
    cluster: str | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Why each judge fails, by the reasons that reviewers gave.

    Parameters
    ----------
    adjudications : as in `adjudicated_gold`; one with a judge speaks of that judge, one without of every judge that is
        wrong on the case (on its dimension, or on any where it has none)
    verdicts, gold, cases, policy, cluster, resamples, seed : as in `mrb_lib.stats.accuracy.accuracy`; wrong is
        a score below 1/2

    Returns
    -------
    DataFrame
        One row a judge and reason, the commonest first:

        - `n` cases for which a reviewer gave it, of the `n_reviewed` cases of which any adjudication speaks for this
          judge; a case may have several reasons. One without a reason counts by what it found instead (`FOUND`), or,
          where it found the label right, as "no reason given".
        - `n_failures` cases on which the judge is wrong in all, reviewed or not.
        - `share`, `n` of `n_reviewed`, with a 95% interval `low`, `high`, as `interval` says: "percentile" of the
          cluster bootstrap, or "deff", Wilson's with the design effect, where there are few (the rule of the table
          `accuracy`).
        - `remark` why the interval is null, or has no width.

    Notes
    -----
    Shares are of what was reviewed, and say of all failures as much as the choice of the cases to review allows.
    Validated in `tests/stats/gold/test_adjudication.py`.
    """
    panel = as_panel(verdicts, cases["case_id"])
    wrong = score(panel, encode_gold(gold, cases["case_id"], panel.dimensions), policy).score < 0.5
    reviewed, with_reason = _cases_by_reason(adjudications, panel, wrong, cases["case_id"])
    failures = dict(zip(panel.judges, wrong.any(axis=1).sum(axis=1), strict=True))
    rows = [
        (judge, reason, len(case_set), len(reviewed[judge]), int(failures[judge]))
        for (judge, reason), case_set in with_reason.items()
    ]
    frame = pd.DataFrame(rows, columns=_REASONS[:5])
    codes = cluster_codes(cases, cluster)
    frame = pd.concat([frame, _shares(reviewed, with_reason, codes, resamples, seed)], axis="columns")
    rank = {judge: i for i, judge in enumerate(panel.judges)}
    frame = frame.assign(order=frame["judge"].map(rank).astype("float64"))
    frame = frame.sort_values(["order", "n", "reason"], ascending=[True, False, True], ignore_index=True)
    types = dict.fromkeys(("judge", "reason", "interval", "remark"), "str") | dict.fromkeys(_COUNTS, "int64")
    types |= dict.fromkeys(("share", "low", "high"), "float64")
    return frame[_REASONS].astype(types)


def _cases_by_reason(
    adjudications: pd.DataFrame, panel: Panel, wrong: BoolArray, case_ids: Sequence[str] | pd.Series
) -> tuple[dict[str, set[int]], dict[tuple[str, str], set[int]]]:
    """The positions of the cases reviewed for each judge, and of those for which each reason was given."""
    case_index = {case: i for i, case in enumerate(case_ids)}
    dimensions = {name: i for i, name in enumerate(panel.dimensions)}
    reviewed: dict[str, set[int]] = {name: set() for name in panel.judges}
    with_reason: dict[tuple[str, str], set[int]] = {}
    for word in records(adjudications):
        position = case_index.get(str(word["case_id"]))
        if position is None:
            continue
        names = word["reasons"] if isinstance(word["reasons"], list | tuple) else ()
        for index, judge in enumerate(panel.judges):
            if not _speaks_of(word, judge, wrong[index, :, position], dimensions):
                continue
            reviewed[judge].add(position)
            for reason in names or (FOUND.get(str(word["verdict"]), NO_REASON),):
                with_reason.setdefault((judge, str(reason)), set()).add(position)
    return reviewed, with_reason


def _shares(
    reviewed: Mapping[str, set[int]], with_reason: CasesByReason, codes: IntArray, resamples: int, seed: int
) -> pd.DataFrame:
    """The share of each judge's reviewed cases with each reason, and its interval, in the order of `with_reason`."""
    if not with_reason:
        return pd.DataFrame(columns=_REASONS[5:])
    scores = np.full((len(codes), len(with_reason)), np.nan)
    for column, ((judge, _), case_set) in enumerate(with_reason.items()):
        scores[list(reviewed[judge]), column] = 0.0
        scores[list(case_set), column] = 1.0
    everywhere = Group(None, None, np.arange(len(codes)), 0)
    [shares], _ = means(scores, [everywhere], codes, resamples=resamples, seed=seed)
    ends = shares.recommended._asdict() | {"interval": shares.method}
    return pd.DataFrame({"share": shares.value, **ends, "remark": [join_reasons(why) for why in shares.reason]})


def _speaks_of(word: dict[str, object], judge: str, wrong: BoolArray, dimensions: dict[str, int]) -> bool:
    """Whether an adjudication is about a judge; `wrong` has a value a dimension."""
    if word["judge"] is not None:
        return word["judge"] == judge
    if word["dimension"] is None:
        return bool(wrong.any())
    index = dimensions.get(str(word["dimension"]))
    return index is not None and bool(wrong[index])
