"""Whether one judge is better than another on the same cases."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import binomtest, friedmanchisquare
from statsmodels.stats.contingency_tables import cochrans_q, mcnemar
from statsmodels.stats.multitest import multipletests

from mrb_lib.errors import InputError
from mrb_lib.stats.options import FloatArray, IntArray, check_policy, join_reasons, typed
from mrb_lib.stats.panel import Panel, as_panel
from mrb_lib.stats.resample import cluster_codes, ratios
from mrb_lib.stats.scoring import BINARY_POLICIES, Scores, encode_gold, score
from mrb_lib.stats.subfields import Group, groups

_STATSMODELS = {"bonferroni": "bonferroni", "holm": "holm", "bh": "fdr_bh"}
CORRECTIONS = (*_STATSMODELS, "none")
NO_CASES = "no case is scored for both judges"
ONE_CASE = "a test needs two cases that are scored for both judges"
PAIR_COLUMNS = [
    "judge_1",
    "judge_2",
    "dimension",
    "subfield",
    "by",
    "policy",
    "n",
    "n_excluded",
    "n_unassigned",
    "difference",
    "low",
    "high",
    "only_1",
    "only_2",
    "test",
    "p_value",
    "p_adjusted",
    "correction",
    "family",
    "reason",
]
OMNIBUS_COLUMNS = [
    "dimension",
    "subfield",
    "by",
    "policy",
    "n",
    "n_excluded",
    "n_unassigned",
    "judges",
    "test",
    "statistic",
    "df",
    "p_value",
    "reason",
]


class _Scored(NamedTuple):
    """Scores with what is needed to go through them; `score` has shape (judges, dimensions, cases)."""

    judges: list[str]
    dimensions: list[str]
    scores: Scores
    parts: list[Group]

    def judged(self, dimension: int) -> IntArray:
        """The judges that have a verdict on a dimension."""
        return np.flatnonzero(self.scores.judged[:, dimension].any(axis=1))


def _scored(
    verdicts: pd.DataFrame | Panel,
    gold: pd.DataFrame,
    cases: pd.DataFrame,
    policy: str,
    by: str | None,
    dimensions: Sequence[str] | None,
) -> _Scored:
    check_policy(policy)
    panel = as_panel(verdicts, cases["case_id"], dimensions)
    labels = encode_gold(gold, cases["case_id"], panel.dimensions)
    return _Scored(panel.judges, panel.dimensions, score(panel, labels, policy), groups(cases, by))


def significance(
    verdicts: pd.DataFrame | Panel,
    gold: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    policy: str = "balanced",
    correction: str = "holm",
    by: str | None = None,
    dimensions: Sequence[str] | None = None,
    cluster: str | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Compare every two judges on the cases that are scored for both.

    Parameters
    ----------
    verdicts, gold, cases, policy, by, dimensions, cluster, resamples, seed : as in
        `mrb_lib.stats.accuracy.accuracy`
    correction : "holm", "bonferroni" (family-wise error), "bh" (Benjamini-Hochberg, false
        discovery rate) or "none"; over the family of all pairs of judges within one
        dimension and subfield

    Returns
    -------
    DataFrame
        One row a pair of judges, dimension and subfield (null: overall): `n` cases
        scored for both, `n_excluded` the others; `difference` mean score of `judge_1`
        minus that of `judge_2` with the 95% interval `low`, `high` of the paired cluster
        bootstrap; `only_1`, `only_2` cases on which `judge_1`, `judge_2` has the higher
        score; `test`, `p_value` two-sided and exact, `p_adjusted`, `correction`, `family`
        (the number of tests corrected for); `reason` why a value is null.
        No rows for fewer than two judges.

    Raises
    ------
    InputError
        An option is unknown, `by` or `cluster` cannot be used, a verdict speaks of an
        unknown case, or verdicts of several probes are mixed.

    Notes
    -----
    Under `official`, `strict` and `net` a score is 0 or 1 and the test is McNemar's
    exact test. Under `balanced` and `answered` it is the exact sign test on the cases
    where the scores differ; on 0/1 scores both are the same binomial test. On graded scores
    it asks which judge wins more cases, whatever by, so that it and the interval of the mean
    difference may disagree. Where no case differs the exact p is 1. The exact tests take
    cases as independent; where cases come in clusters read the interval, which does not.
    Validated in `tests/published/test_pandalm.py`, `tests/stats/test_paired.py` and, for
    the size of the test, `tests/simulation/test_size.py`.
    """
    if correction not in CORRECTIONS:
        raise InputError(f"correction {correction!r} is unknown; use one of {', '.join(CORRECTIONS)}.")
    scored = _scored(verdicts, gold, cases, policy, by, dimensions)
    codes = cluster_codes(cases, cluster)
    frames = []
    for dimension in range(len(scored.dimensions)):
        judges = scored.judged(dimension)
        if len(judges) >= 2:
            frames.extend(_pairs(scored, dimension, judges, codes, policy, resamples, seed))
    if not frames:
        return typed(pd.DataFrame(columns=PAIR_COLUMNS), PAIR_COLUMNS)
    rows = pd.concat([_adjusted(frame, correction) for frame in frames], ignore_index=True)
    order = rows["subfield"].astype("str").fillna("").to_numpy()
    return typed(rows.iloc[np.argsort(order, kind="stable")].reset_index(drop=True), PAIR_COLUMNS)


def _pairs(
    scored: _Scored, dimension: int, judges: IntArray, codes: IntArray, policy: str, resamples: int, seed: int
) -> list[pd.DataFrame]:
    """One frame of all pairs for each group of cases."""
    value = scored.scores.score[judges, dimension]
    pairs = list(combinations(range(len(judges)), 2))
    first, second = (np.array(side) for side in zip(*pairs, strict=True))
    difference = value[first] - value[second]
    both = np.isfinite(difference)
    gain = np.where(both, difference, 0.0).T
    counted = both.T.astype(np.float64)
    estimates = ratios(
        [(part.cases, gain[part.cases], counted[part.cases]) for part in scored.parts],
        codes,
        resamples=resamples,
        seed=seed,
    )
    test = "mcnemar_exact" if policy in BINARY_POLICIES else "sign_exact"
    frames = []
    for part, found in zip(scored.parts, estimates, strict=True):
        only_1 = (gain[part.cases] > 0).sum(axis=0)
        only_2 = (gain[part.cases] < 0).sum(axis=0)
        tested = zip(only_1, only_2, found.n, strict=True)
        p_value = [_exact_p(int(a), int(b), test) if n >= 2 else np.nan for a, b, n in tested]
        empty = [NO_CASES if n == 0 else ONE_CASE if n == 1 else "" for n in found.n]
        reasons = [join_reasons(*texts) for texts in zip(empty, found.reason, strict=True)]
        frames.append(
            pd.DataFrame(
                {
                    "judge_1": [scored.judges[judges[i]] for i in first],
                    "judge_2": [scored.judges[judges[i]] for i in second],
                    "dimension": scored.dimensions[dimension],
                    **part.label(),
                    "policy": policy,
                    "n": found.n,
                    "n_excluded": len(part.cases) - found.n,
                    "difference": found.value,
                    "low": found.low,
                    "high": found.high,
                    "only_1": only_1,
                    "only_2": only_2,
                    "test": test,
                    "p_value": p_value,
                    "reason": reasons,
                }
            )
        )
    return frames


@lru_cache(maxsize=65536)
def _exact_p(only_1: int, only_2: int, test: str) -> float:
    if test == "mcnemar_exact":
        return float(mcnemar(np.array([[0, only_1], [only_2, 0]]), exact=True).pvalue)
    if only_1 + only_2 == 0:
        return 1.0
    return float(binomtest(only_1, only_1 + only_2, 0.5).pvalue)


def _adjusted(frame: pd.DataFrame, correction: str) -> pd.DataFrame:
    p_value = frame["p_value"].to_numpy(dtype=np.float64)
    tested = np.isfinite(p_value)
    adjusted = np.full(len(p_value), np.nan)
    adjusted[tested] = adjust(p_value[tested], correction)
    return frame.assign(p_adjusted=adjusted, correction=correction, family=int(tested.sum()))


def adjust(p_values: FloatArray, correction: str) -> FloatArray:
    """Correct the p values of one family of tests, shape (m,); see `significance` for the names."""
    if correction == "none" or not len(p_values):
        return p_values
    return np.asarray(multipletests(p_values, method=_STATSMODELS[correction])[1], dtype=np.float64)


def omnibus(
    verdicts: pd.DataFrame | Panel,
    gold: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    policy: str = "balanced",
    by: str | None = None,
    dimensions: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Test whether all judges are equally good, on the cases that are scored for every one.

    Parameters
    ----------
    verdicts, gold, cases, policy, by, dimensions : as in `significance`

    Returns
    -------
    DataFrame
        One row a dimension and subfield (null: overall): `n` cases scored for every
        judge, `n_excluded` the others, `judges` their number, `test` ("cochran_q" for 0/1
        scores, "friedman" for graded ones), `statistic`, `df`, `p_value` (chi-squared), `reason`.

    Notes
    -----
    Cochran (1950), doi:10.1093/biomet/37.3-4.256, by statsmodels; Friedman's test with
    the correction for ties, by scipy, which needs three judges. Both take cases as
    independent. A worked example is in `tests/stats/test_paired.py`.
    """
    scored = _scored(verdicts, gold, cases, policy, by, dimensions)
    rows = []
    for part in scored.parts:
        for dimension, name in enumerate(scored.dimensions):
            judges = scored.judged(dimension)
            if not len(judges):
                continue
            value = scored.scores.score[judges, dimension][:, part.cases]
            complete = value[:, np.isfinite(value).all(axis=0)].T
            test = "cochran_q" if policy in BINARY_POLICIES else "friedman"
            statistic, df, p_value, reason = _omnibus(complete, test)
            rows.append(
                {
                    "dimension": name,
                    **part.label(),
                    "policy": policy,
                    "n": len(complete),
                    "n_excluded": len(part.cases) - len(complete),
                    "judges": len(judges),
                    "test": test,
                    "statistic": statistic,
                    "df": df,
                    "p_value": p_value,
                    "reason": reason or None,
                }
            )
    return typed(pd.DataFrame(rows, columns=OMNIBUS_COLUMNS), OMNIBUS_COLUMNS)


def _omnibus(value: FloatArray, test: str) -> tuple[float, float, float, str]:
    """Statistic, degrees of freedom, p and the reason why they are NaN; `value` has shape (cases, judges)."""
    n, judges = value.shape
    reason = ""
    if judges < 2:
        reason = "there is one judge only"
    elif n < 2:
        reason = "fewer than two cases are scored for every judge"
    elif test == "friedman" and judges < 3:
        reason = "Friedman's test needs three judges; read the pair's own test"
    elif (value == value[:, :1]).all():
        reason = "the judges do not differ on any case"
    if reason:
        return np.nan, np.nan, np.nan, reason
    if test == "cochran_q":
        found = cochrans_q(value)
        return float(found.statistic), float(judges - 1), float(found.pvalue), ""
    statistic, p_value = friedmanchisquare(*value.T)
    return float(statistic), float(judges - 1), float(p_value), ""
