"""Ways of asking the same judge, compared: what the order does to its probabilities, who agrees, what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from mrb_lib.stats.accuracy import confusion
from mrb_lib.stats.core.panel import ABSENT, Panel, as_panel
from mrb_lib.stats.options import (
    BoolArray,
    FloatArray,
    IntArray,
    divide,
    join_reasons,
    typed,
)
from mrb_lib.stats.resampling.resample import cluster_codes, ratios
from mrb_lib.tables.schema import CHOICES

NO_PROBABILITIES = "no case has a probability in both orders"
NEVER_BOTH = "no case was answered by both"
NO_KAPPA = "cohen_kappa is undefined: one category only"
NO_TOKENS = "no verdict counts its tokens"
_UNIT = ["judge", "case_id", "dimension", "repeat"]
SHIFT_COLUMNS = ["judge", "dimension", "n", "n_presented", "shift", "shift_low", "shift_high", "gap", "gap_low",
                 "gap_high", "reason"]  # fmt: skip
AGREEMENT_COLUMNS = ["judge_1", "judge_2", "dimension", "n", "n_presented", "coverage", "agreement", "agreement_low",
                     "agreement_high", "cohen_kappa", "reason"]  # fmt: skip
COST_COLUMNS = ["judge", "n_cases", "prompt_tokens", "completion_tokens", "reason"]


def both_orders(verdicts: pd.DataFrame) -> pd.DataFrame:
    """The probabilities that a judge gave in the two orders, side by side.

    Parameters
    ----------
    verdicts : the verdicts table with `p_a`, of one probe

    Returns
    -------
    DataFrame
        `judge, case_id, dimension, repeat, p_ab, p_ba`: the probability that A is better
        with A shown first and with B shown first; one row each time both are known, in
        the order of the verdicts. How many were left out, see `order_shift`.
    """
    sides = [
        verdicts.loc[(verdicts["order"] == order) & verdicts["p_a"].notna(), [*_UNIT, "p_a"]].rename(
            columns={"p_a": name}
        )
        for order, name in (("AB", "p_ab"), ("BA", "p_ba"))
    ]
    return sides[0].merge(sides[1], on=_UNIT, how="inner", validate="1:1").reset_index(drop=True)


def order_shift(
    verdicts: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    dimensions: Sequence[str] | None = None,
    cluster: str | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """How far a judge's probability moves when the responses change places.

    Parameters
    ----------
    verdicts : the verdicts table with `p_a`, of one probe
    cases : the cases table
    dimensions, cluster, resamples, seed : as in the table `consistency`

    Returns
    -------
    DataFrame
        One row a judge and dimension it has a verdict on: `n` cases with a probability in
        both orders; `n_presented` cases with a verdict; `shift` the mean over cases (of
        the mean over repeats) of the probability of A with A shown first minus that with
        B shown first, from -1 to 1, above 0 where what is shown first gains by it; `gap`
        the mean of the absolute difference, 0 only where no case depends on the order.
        `_low` and `_high` bound 95% percentile intervals of the cluster bootstrap; the
        gap's lies above 0 as soon as there is any noise. `reason` says why a value is null.

    Notes
    -----
    Unlike position bias of choices it sees a preference that is too weak to turn a
    choice. Validated in `tests/stats/consistency/test_engines.py`.
    """
    panel = as_panel(verdicts, cases["case_id"], dimensions)
    p_a = np.full(panel.choice.shape, np.nan) if panel.p_a is None else panel.p_a
    difference = (p_a[:, :, :, 0] - p_a[:, :, :, 1]).reshape(-1, len(cases), len(panel.repeats))
    presented = panel.judged().reshape(-1, len(cases))
    rows = np.flatnonzero(presented.any(axis=1))
    repeats = np.isfinite(difference[rows]).sum(axis=2)
    sums = [np.nan_to_num(each[rows]).sum(axis=2) for each in (difference, np.abs(difference))]
    numerator = np.vstack([each / np.maximum(repeats, 1) for each in sums]).T
    denominator = np.tile(repeats > 0, (2, 1)).T.astype(np.float64)
    codes = cluster_codes(cases, cluster)
    [means] = ratios([(np.arange(len(cases)), numerator, denominator)], codes, resamples=resamples, seed=seed)
    out = pd.DataFrame(panel.names(rows)).assign(n=means.n[: len(rows)], n_presented=presented[rows].sum(axis=1))
    for name, those in (("shift", slice(0, len(rows))), ("gap", slice(len(rows), 2 * len(rows)))):
        out[name] = means.value[those]
        out[f"{name}_low"], out[f"{name}_high"] = means.low[those], means.high[those]
    out["reason"] = [
        join_reasons(*dict.fromkeys(means.reason[i :: len(rows)])) if n else NO_PROBABILITIES
        for i, n in enumerate(out["n"])
    ]
    return typed(out, SHIFT_COLUMNS)


def agreement_between(
    verdicts: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    dimensions: Sequence[str] | None = None,
    cluster: str | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """How often two judges, or one judge asked in two ways, make the same choice.

    Parameters
    ----------
    As in `order_shift`; the verdicts need no probabilities.

    Returns
    -------
    DataFrame
        One row a pair of judges and dimension: `judge_1`, `judge_2`, `dimension`; `n` cases
        with a choice of both in the same order and repeat; `n_presented` cases shown so to
        both; `coverage` their ratio; `agreement` the share of equal choices, ties
        included, a mean over the `n` cases (over orders and repeats first), with its recommended
        95% interval, as of the table `accuracy`, in `_low` and `_high`; `cohen_kappa`
        over the same presentations; `reason`.

    Notes
    -----
    Two that agree may both be wrong, or both look at the position only. Validated in
    `tests/stats/consistency/test_engines.py`.
    """
    panel = as_panel(verdicts, cases["case_id"], dimensions)
    first, second = _choices_of_pairs(panel)
    both = (first >= 0) & (second >= 0)
    same = np.nan_to_num(divide((both & (first == second)).sum(axis=2).astype(np.float64), both.sum(axis=2)))
    counted = np.where(both.any(axis=2), 1.0, 0.0)
    shares = np.arange(len(cases)), same.T, counted.T
    codes = cluster_codes(cases, cluster)
    agreement = ratios([shares], codes, shares=True, resamples=resamples, seed=seed)[0]
    n_presented = ((first != ABSENT) & (second != ABSENT)).any(axis=2).sum(axis=1)
    kappa = _kappa(first, second, both)
    pairs = [(*pair, dimension) for pair in combinations(panel.judges, 2) for dimension in panel.dimensions]
    out = pd.DataFrame(pairs, columns=["judge_1", "judge_2", "dimension"]).assign(
        n=agreement.n,
        n_presented=n_presented,
        coverage=divide(agreement.n.astype(np.float64), n_presented),
        agreement=agreement.value,
        agreement_low=agreement.low,
        agreement_high=agreement.high,
        cohen_kappa=kappa,
    )
    out["reason"] = [
        join_reasons(reason, NO_KAPPA if np.isnan(value) else "") if n else NEVER_BOTH
        for n, reason, value in zip(agreement.n, agreement.reason, kappa, strict=True)
    ]
    return typed(out, AGREEMENT_COLUMNS)


def _choices_of_pairs(panel: Panel) -> tuple[IntArray, IntArray]:
    """The choices of the one and of the other, each of shape (pairs * dimensions, cases, orders * repeats).

    -1 is a null choice, -2 a presentation that was not made.
    """
    judges, dimensions, n_cases = panel.shape
    shown = panel.choice.reshape(judges, dimensions, n_cases, 2 * len(panel.repeats)).astype(np.int64)
    one, other = np.triu_indices(judges, k=1)
    shape = (len(one) * dimensions, n_cases, shown.shape[3])
    return shown[one].reshape(shape), shown[other].reshape(shape)


def _kappa(first: IntArray, second: IntArray, both: BoolArray) -> FloatArray:
    """Cohen's kappa between the rows of two arrays of choices, where both chose."""
    row = np.nonzero(both)[0]
    table = confusion.counts(row, first[both].astype(np.int64), second[both].astype(np.int64), len(first), len(CHOICES))
    return confusion.cohen_kappa(table)


def tokens_per_case(verdicts: pd.DataFrame) -> pd.DataFrame:
    """What each judge read and wrote for a case, over all its dimensions, orders and repeats.

    Parameters
    ----------
    verdicts : the verdicts table with `prompt_tokens` and `completion_tokens`, null where a
        row has no part in the count

    Returns
    -------
    DataFrame
        One row a judge: `n_cases` with a verdict; `prompt_tokens` and `completion_tokens` a
        case, null where no verdict counts them (an engine that reads probabilities writes
        no tokens); `reason` where neither is counted.
    """
    names = ["prompt_tokens", "completion_tokens"]
    by_judge = verdicts.groupby("judge", sort=True)
    n_cases = by_judge["case_id"].nunique()
    out = by_judge[names].sum(min_count=1).astype("float64").div(n_cases, axis=0)
    out.insert(0, "n_cases", n_cases)
    out["reason"] = pd.Series(NO_TOKENS, index=out.index, dtype="str").where(out[names].isna().all(axis=1))
    return typed(out.reset_index(), COST_COLUMNS)
