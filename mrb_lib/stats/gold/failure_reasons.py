"""Why judges fail, in the words of reviewers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd

from mrb_lib.stats.accuracy.mean_scores import means
from mrb_lib.stats.adjudicated import records
from mrb_lib.stats.core.panel import Panel, as_panel
from mrb_lib.stats.core.scoring import encode_gold, score
from mrb_lib.stats.options import BoolArray, join_reasons
from mrb_lib.stats.resampling.resample import cluster_codes
from mrb_lib.stats.subfields import groups

NO_REASON = "no reason given"
SAID_INSTEAD: Final = {
    "gold_wrong": "gold label wrong",
    "ambiguous": "case ambiguous",
    "image_unusable": "image unusable",
}


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
    adjudications : as in `adjudicated_gold`; one with a judge is about that judge, one without of every judge that is
        wrong on the case (on its dimension, or on any where it has none)
    verdicts, gold, cases, policy, cluster, resamples, seed : as in `mrb_lib.stats.accuracy.accuracy`; wrong is
        a score below 1/2

    Returns
    -------
    DataFrame
        One row a judge and `reason_given`, the commonest first; without columns where no reason was given:

        - `n` cases for which a reviewer gave it, of the `n_cases` cases with any adjudication that is about this
          judge; a case may have several reasons. One without a reason counts by what it says instead
          (`SAID_INSTEAD`), or, where it says that the label is right, as "no reason given".
        - `n_failures` cases on which the judge is wrong in all, reviewed or not.
        - `share`, `n` of `n_cases`, with a 95% interval `share_low`, `share_high`, as `share_interval` says:
          "percentile" of the cluster bootstrap, "t" where clusters are few, or "deff", Wilson's with the design
          effect, where cases are (the rule of the table `accuracy`).
        - `reason` why the interval is null, or has no width.

    Notes
    -----
    Shares are of what was reviewed, and say of all failures as much as the choice of the cases to review allows.
    Validated in `tests/stats/gold/test_adjudication.py`.
    """
    panel = as_panel(verdicts, cases["case_id"])
    wrong = score(panel, encode_gold(gold, cases["case_id"], panel.dimensions, panel.categories), policy).score < 0.5
    reviewed, with_reason = _cases_by_reason(adjudications, panel, wrong, cases["case_id"])
    failures = dict(zip(panel.judges, wrong.any(axis=1).sum(axis=1), strict=True))
    if not with_reason:
        return pd.DataFrame()
    scores = np.full((len(cases), len(with_reason)), np.nan)
    for column, ((judge, _), case_set) in enumerate(with_reason.items()):
        scores[list(reviewed[judge]), column] = 0.0
        scores[list(case_set), column] = 1.0
    codes = cluster_codes(cases, cluster)
    [shares], _ = means(scores, groups(cases, None), codes, resamples=resamples, seed=seed)
    judges, reasons = zip(*with_reason, strict=True)
    frame = pd.DataFrame(
        {
            "judge": judges,
            "reason_given": reasons,
            "n": [len(case_set) for case_set in with_reason.values()],
            "n_cases": [len(reviewed[judge]) for judge in judges],
            "n_failures": [failures[judge] for judge in judges],
            "share": shares.value,
            "share_low": shares.recommended.low,
            "share_high": shares.recommended.high,
            "share_interval": shares.method,
            "reason": [join_reasons(why) for why in shares.reason],
        }
    )
    by_judge = frame.assign(order=[panel.judges.index(judge) for judge in judges])
    ordered = by_judge.sort_values(["order", "n", "reason_given"], ascending=[True, False, True], ignore_index=True)
    return ordered.drop(columns="order")


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
            if not _is_about(word, judge, wrong[index, :, position], dimensions):
                continue
            reviewed[judge].add(position)
            for reason in names or (SAID_INSTEAD.get(str(word["verdict"]), NO_REASON),):
                with_reason.setdefault((judge, str(reason)), set()).add(position)
    return reviewed, with_reason


def _is_about(word: dict[str, object], judge: str, wrong: BoolArray, dimensions: dict[str, int]) -> bool:
    """Whether an adjudication is about a judge; `wrong` has a value a dimension."""
    if word["judge"] is not None:
        return word["judge"] == judge
    if word["dimension"] is None:
        return bool(wrong.any())
    index = dimensions.get(str(word["dimension"]))
    return index is not None and bool(wrong[index])
