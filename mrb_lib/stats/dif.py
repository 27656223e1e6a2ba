"""Whether a judge is weak in a subfield, or the subfield is hard: differential item functioning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from mrb_lib.stats.mantel_haenszel import ETS_PER_LOG_ODDS, MantelHaenszel, Stack, ets_class, mantel_haenszel
from mrb_lib.stats.matched_logistic import Matched, matched_logistic
from mrb_lib.stats.multiplicity import adjust_families
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, divide, join_reasons, typed
from mrb_lib.stats.panel import Panel, as_panel
from mrb_lib.stats.resample import CONFIDENCE
from mrb_lib.stats.scoring import encode_gold, score
from mrb_lib.stats.subfields import subfield_values

DEFAULT_BY = "department"
NO_SUBFIELDS = "no subfields: the cases have no department; name a column with by"
NO_CASES = "no case of the subfield is scored"
NO_OTHERS = "matching by difficulty needs two judges or more"
NOTHING_TO_COMPARE = (
    "within every level of difficulty the judge is always right, always wrong, or the cases are all on one side"
)
NO_ODDS = "no finite odds ratio: matched cases are right or wrong on one side only"
NO_LOGISTIC = "no logistic estimate: subfield or difficulty tells right from wrong without error"
COLUMNS = [
    "judge", "dimension", "subfield", "by", "policy", "n", "n_inside", "n_excluded", "n_unassigned", "n_strata",
    "accuracy_inside", "accuracy_outside", "expected", "excess", "mh_odds_ratio", "low", "high", "mh_chi2", "p_value",
    "p_adjusted", "correction", "family", "ets_delta", "ets_low", "ets_high", "ets_class", "logistic_effect",
    "logistic_low", "logistic_high", "logistic_chi2", "logistic_p", "logistic_p_adjusted", "reason",
]  # fmt: skip
_STEP = 0.5


def dif(
    verdicts: pd.DataFrame | Panel,
    gold: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    policy: str = "balanced",
    correction: str = "bh",
    by: str | None = None,
    dimensions: Sequence[str] | None = None,
    family: str = "dimension",
) -> pd.DataFrame:
    """Compare each judge inside and outside each subfield, on cases that are equally hard for all judges together.

    Here a judge is what educational testing calls an item, and a case what it calls a person: cases are
    matched by how many judges are right on them.

    Parameters
    ----------
    verdicts, gold, cases, policy, dimensions : as in `mrb_lib.stats.accuracy.accuracy`
    correction : of the p values, see `mrb_lib.stats.multiplicity.adjust`
    by : a cases column to break down by, or `model_pair`; None takes `department`
    family : the tests that are corrected together: all judges and subfields within a "dimension", or "all"

    Returns
    -------
    DataFrame
        One row a judge, dimension and subfield. `n` cases scored for the judge, inside and outside, `n_inside` of
        them inside; `n_excluded` cases of the benchmark that are not (no gold label, no verdict, no subfield),
        `n_unassigned` of them for want of a subfield; `n_strata` levels of difficulty with cases of both sides.
        `accuracy_inside`, `accuracy_outside` mean scores; `expected` what the judge would score inside if it
        did there as it does outside on equally hard cases, and `excess` by how much it does better than that: the
        standardised difference of Dorans and Kulick, over the levels of difficulty with cases of both sides.
        `mh_odds_ratio` the Mantel-Haenszel odds ratio of being right, inside over outside, with its 95%
        interval `low`, `high`; `mh_chi2`, `p_value` its test without continuity correction; `p_adjusted`,
        `correction`, and `family` the number of tests corrected together.
        `ets_delta` 2.35 times the log odds ratio, with its interval, and `ets_class` A (negligible), B or C
        (large), see `mrb_lib.stats.mantel_haenszel.ets_class`: negative is weaker inside than the cases' difficulty
        explains. `logistic_effect` the log odds ratio given difficulty in a logistic regression with its interval,
        `logistic_chi2`, `logistic_p` its likelihood ratio test (1 df), and `logistic_p_adjusted`.
        `reason` says why a value is null.

    Raises
    ------
    InputError
        An option is unknown, or `by` cannot be used.

    Notes
    -----
    The number of judges that are right includes the judge in question: leaving it out of its own
    matching finds differences where there are none as soon as subfields differ in difficulty (Holland and
    Thayer 1988, in Wainer and Braun, Test Validity). A judge that stands out strongly shifts the others a little the
    opposite way, the less the more judges there are; with fewer than about five judges a difference is only
    one between them. Where a judge has no verdict on a case, the share of the others that are right stands
    for the number. Scores between 0 and 1 are matched to the nearest half. The logistic
    regression is that of Swaminathan and Rogers, J. Educ. Meas. 27 (1990) 361-370, with difficulty as the
    number of judges that are right and its logit; for scores between 0 and 1 it is quasi-binomial, its
    statistic divided by the dispersion. Cases are taken to be independent. Published values:
    `tests/published/test_mantel_haenszel.py`; size and planted differences: `tests/simulation/test_dif.py`.
    """
    panel = as_panel(verdicts, cases["case_id"], dimensions)
    labels = encode_gold(gold, cases["case_id"], panel.dimensions)
    scores = score(panel, labels, policy)
    judged: BoolArray = np.asarray(scores.judged.any(axis=2))
    if by is None and not (DEFAULT_BY in cases.columns and cases[DEFAULT_BY].notna().any()):
        return _without_subfields(panel, judged, policy, correction)
    by = by or DEFAULT_BY
    codes, names = pd.factorize(subfield_values(cases, by), sort=True)
    frames = [
        _frame(panel, place, scores.score[:, place], judged[:, place], codes.astype(np.int64), [str(n) for n in names])
        for place in range(len(panel.dimensions))
    ]
    if not frames:
        return _finished(pd.DataFrame(columns=COLUMNS))
    frame = pd.concat(frames, ignore_index=True).assign(by=by, policy=policy, correction=correction)
    groups = np.zeros(len(frame), np.int64) if family == "all" else pd.factorize(frame["dimension"])[0]
    frame["p_adjusted"], frame["family"] = adjust_families(frame["p_value"].to_numpy(), groups, correction)
    frame["logistic_p_adjusted"] = adjust_families(frame["logistic_p"].to_numpy(), groups, correction)[0]
    return _finished(frame)


def _without_subfields(panel: Panel, judged: BoolArray, policy: str, correction: str) -> pd.DataFrame:
    rows = [
        {"judge": panel.judges[j], "dimension": panel.dimensions[d], "reason": NO_SUBFIELDS}
        for j, d in np.argwhere(judged)
    ]
    frame = pd.DataFrame(rows, columns=COLUMNS)
    counts = [name for name in COLUMNS if name.startswith("n_") or name in ("n", "family")]
    return _finished(frame.assign(policy=policy, correction=correction, **dict.fromkeys(counts, 0)))


def _finished(frame: pd.DataFrame) -> pd.DataFrame:
    plain = typed(frame, [name for name in COLUMNS if name != "ets_class"])
    return plain.join(frame["ets_class"].astype("str"))[COLUMNS]


class _Tables(NamedTuple):
    """Cases, sums of scores and of squares by judge, subfield and level of difficulty, shape (J, S, K)."""

    n: FloatArray
    sums: FloatArray
    squares: FloatArray
    level: FloatArray


def tables(value: FloatArray, codes: IntArray, n_subfields: int) -> _Tables:
    """Lay out the scores of one dimension, shape (J, N), by subfield and by how many judges are right.

    Returns
    -------
    The tables; `level` of shape (K,) is the number of judges that are right.
    """
    known = np.isfinite(value)
    total = divide(np.where(known, value, 0.0).sum(axis=0), known.sum(axis=0)) * len(value)
    level, place = np.unique(np.round(np.nan_to_num(total) / _STEP) * _STEP, return_inverse=True)
    used = known & (codes >= 0)
    judge, case = np.nonzero(used)
    shape = (len(value), n_subfields, len(level))
    cell = np.ravel_multi_index((judge, codes[case], place[case]), shape)
    found = value[used]
    n, sums, squares = (
        np.bincount(cell, weights=weights, minlength=int(np.prod(shape))).astype(np.float64).reshape(shape)
        for weights in (None, found, found**2)
    )
    return _Tables(n, sums, squares, level)


def _frame(
    panel: Panel, place: int, value: FloatArray, judged: BoolArray, codes: IntArray, names: Sequence[str]
) -> pd.DataFrame:
    """The rows of one dimension: T = judges x subfields."""
    found = tables(value, codes, len(names))
    inside, outside = ([a.reshape(-1, len(found.level)) for a in side] for side in _sides(found))
    stack = Stack(inside[0], outside[0], inside[1], outside[1], inside[2] + outside[2])
    test = mantel_haenszel(stack)
    binary = bool(np.isin(value[np.isfinite(value)], (0.0, 1.0)).all())
    fit = matched_logistic(
        Matched(
            np.stack([inside[0], outside[0]], axis=1),
            np.stack([inside[1], outside[1]], axis=1),
            np.stack([inside[2], outside[2]], axis=1),
        ),
        found.level,
        len(value),
        binary=binary,
    )
    judge, subfield = (axis.ravel() for axis in np.indices((len(value), len(names))))
    n_inside, n_outside = (side[0].sum(axis=1) for side in (inside, outside))
    both = (inside[0] > 0) & (outside[0] > 0)
    few = len(judged) < 2 or int(judged.sum()) < 2
    frame = pd.DataFrame(
        {
            "judge": pd.Index(panel.judges, dtype="str").take(judge),
            "dimension": panel.dimensions[place],
            "subfield": pd.Index(list(names), dtype="str").take(subfield),
            "n": n_inside + n_outside,
            "n_inside": n_inside,
            "n_excluded": len(codes) - n_inside - n_outside,
            "n_unassigned": int((codes < 0).sum()),
            "n_strata": both.sum(axis=1),
            "accuracy_inside": divide(inside[1].sum(axis=1), n_inside),
            "accuracy_outside": divide(outside[1].sum(axis=1), n_outside),
            **_matched_columns(test, stack, few=few),
            **({} if few else fit),
        }
    ).reindex(columns=COLUMNS)
    frame["reason"] = [
        _reason(*row, few=few) for row in zip(n_inside, test.chi2, test.odds_ratio, fit["logistic_p"], strict=True)
    ]
    return frame[judged[judge]]


def _sides(found: _Tables) -> tuple[list[FloatArray], list[FloatArray]]:
    inside = [found.n, found.sums, found.squares]
    return inside, [np.maximum(a.sum(axis=1, keepdims=True) - a, 0.0) for a in inside]


def _matched_columns(test: MantelHaenszel, stack: Stack, *, few: bool) -> dict[str, object]:
    if few:
        return {}
    delta, classes = ets_class(test.odds_ratio, test.log_se)
    reach = abs(ETS_PER_LOG_ODDS) * stats.norm.ppf((1 + CONFIDENCE) / 2) * test.log_se
    weight = np.where(stack.n_2 > 0, stack.n_1, 0.0)
    rates = [np.nan_to_num(divide(total, n)) for total, n in ((stack.sum_1, stack.n_1), (stack.sum_2, stack.n_2))]
    observed, expected = (divide((weight * rate).sum(axis=1), weight.sum(axis=1)) for rate in rates)
    return {
        "expected": expected,
        "excess": observed - expected,
        "mh_odds_ratio": test.odds_ratio,
        "low": test.low,
        "high": test.high,
        "mh_chi2": test.chi2,
        "p_value": test.p_value,
        "ets_delta": delta,
        "ets_low": delta - reach,
        "ets_high": delta + reach,
        "ets_class": classes,
    }


def _reason(n_inside: float, chi2: float, odds_ratio: float, logistic_p: float, *, few: bool) -> str | None:
    if few:
        return NO_OTHERS
    if n_inside == 0:
        return NO_CASES
    if np.isnan(chi2):
        return NOTHING_TO_COMPARE
    return join_reasons(NO_ODDS if np.isnan(odds_ratio) else "", NO_LOGISTIC if np.isnan(logistic_p) else "")
