"""Differences between cells, paired by case, with tests: any table that compares two of anything."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtr
from scipy.stats import binom

from mrb_lib.stats import intervals
from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.estimation import BoolArray, Estimate, FloatArray, IntArray, Quantity, averaged, divide, mean
from mrb_lib.stats.flips import flip_p, whole_units
from mrb_lib.stats.grid import Measure, grid
from mrb_lib.stats.multiplicity import adjust_rows
from mrb_lib.stats.scoring import BINARY

ALPHA = 0.05
UNEVEN = 1 / 3
"""Where one cluster holds a larger share of the cases, or clusters cross, p comes from t instead of sign flips."""
MCNEMAR, PERMUTATION, CLUSTERED, BY_T = "mcnemar_exact", "permutation", "permutation_cluster", "t"


class Contrast(NamedTuple):
    """Pairs of cells to compare, as names (one row per pair) and values per case.

    Attributes
    ----------
    names : the columns that name the pairs
    first, second : shape (cases, pairs), what is compared; NaN where a case does not count
    seen : shape (cases, pairs), whether a case would count but for the training of one of the two judges on it
    """

    names: pd.DataFrame
    first: FloatArray
    second: FloatArray
    seen: BoolArray


def pairs_of_cells(analysis: Analysis, values: FloatArray, pairs: Sequence[tuple[int, int]] | IntArray) -> Contrast:
    """Return the contrast of pairs of cells of the verdicts, the first less the second.

    Parameters
    ----------
    values : shape (cases, cells), NaN where a case does not count
    pairs : shape (rows, 2); or (rows, d, 2), for means over the pairs of d dimensions, which are named as the first one
    """
    first, second = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    cells, seen = analysis.verdicts.cells, analysis.verdicts.seen
    judge, dimension = cells["judge"].to_numpy(), cells["dimension"].to_numpy()
    names = pd.DataFrame({"judge_1": judge[first], "judge_2": judge[second], "dimension": dimension[first]})
    left_out = seen[:, first] | seen[:, second]
    for own in (first, second):
        is_labelled = analysis.labels[:, analysis.verdicts.dimension[own]] >= 0
        left_out &= np.isfinite(values[:, own]) | (seen[:, own] & is_labelled)
    named = names[:: max(len(first) // max(len(pairs), 1), 1)]
    return Contrast(named, values[:, first], values[:, second], left_out)


def contrasts(
    analysis: Analysis, contrast: Contrast, of_values: Callable[[Estimate], intervals.Interval] | None = None
) -> pd.DataFrame:
    """Estimate and test the mean differences of pairs, over all cases and in each subfield, for `corrected`.

    Parameters
    ----------
    contrast : with as many pairs as names, or d times as many: a row is then the unweighted mean of d pairs that follow
        one another, and is tested by t
    of_values : the rule of intervals of `value_1` and `value_2`; None leaves them out

    Returns
    -------
    DataFrame
        The names of the pair, the columns of `grid` for `difference`, `value_1` and `value_2` (means on the cases that
        both have), `only_1` and `only_2` (cases on which one has the higher value), `test` and `p_value`
    """
    gain = contrast.first - contrast.second
    n, pairs = gain.shape
    members = np.arange(pairs).reshape(-1, max(pairs // max(len(contrast.names), 1), 1))
    are_means = members.shape[1] > 1

    def of(values: FloatArray) -> Quantity:
        on_both = mean(np.where(np.isnan(gain), np.nan, values))
        return averaged(on_both, members) if are_means else on_both

    sides = {"value_1": contrast.first, "value_2": contrast.second} if of_values else {}
    measures = {name: Measure(of(values), of_values) for name, values in sides.items()}
    measures = {"difference": Measure(of(gain), intervals.difference), **measures}
    seen = np.asarray(contrast.seen.reshape(n, *members.shape).any(axis=2))
    rows, made = grid(analysis, contrast.names, measures, seen)
    if are_means:
        tests = [pd.DataFrame({"test": BY_T, "p_value": t_test(e)}) for e in made["difference"]]
    else:
        of_parts = zip(analysis.parts, made["difference"], strict=True)
        tests = [paired_tests(gain[part.cases], e, analysis.policy) for part, e in of_parts]
    return rows.join(pd.concat(tests, ignore_index=True))


def t_test(e: Estimate, null: float = 0.0) -> FloatArray:
    """Return the two-sided p of an estimate by Student's t; NaN without an error."""
    return np.asarray(2 * stdtr(e.df, -np.abs(divide(e.value - null, e.error))))


def score_test(e: Estimate) -> FloatArray:
    """Return the two-sided p of a score test: as `t_test`, with the variance about 0, so that certainty has a p too."""
    about_zero = np.hypot(e.error, divide(e.value, np.sqrt(e.df)))
    return np.asarray(2 * stdtr(e.df, -np.abs(divide(e.value, about_zero))))


def named_tests(e: Estimate, policy: str) -> NDArray[np.object_]:
    """Name the test that `paired_tests` makes of each pair: t where one cluster is large or clusters cross."""
    uneven = (e.largest > UNEVEN) & (e.clusters > 3) if e.sampling.crossed is None else np.ones(e.n.shape, dtype=bool)
    exact = CLUSTERED if not e.sampling.is_independent else MCNEMAR if policy in BINARY else PERMUTATION
    return np.where(uneven, BY_T, np.array(exact, dtype=object))


def paired_tests(gain: FloatArray, e: Estimate, policy: str = "balanced") -> pd.DataFrame:
    """Count and test the differences of each pair over one group of cases: `only_1`, `only_2`, `test`, `p_value`.

    Parameters
    ----------
    gain : shape (cases, pairs), NaN where a case does not count; `e` is the estimate of its mean
    policy : of the scores compared; a binary one takes McNemar's test where cases are independent
    """
    only_1, only_2 = (gain > 0).sum(axis=0), (gain < 0).sum(axis=0)
    test = named_tests(e, policy)
    if e.sampling.is_independent and policy in BINARY:
        p = np.minimum(1.0, 2 * binom.cdf(np.minimum(only_1, only_2), only_1 + only_2, 0.5))
    else:
        unit = whole_units(gain)
        p = flip_p(np.rint(e.sampling.sums(np.nan_to_num(gain)) * unit).astype(np.int64))
        p = np.where(test == BY_T, t_test(e), p)
    p = np.where((e.n < 2) | (e.clusters < 2) | (np.isnan(e.error) & (e.clusters > 1)), np.nan, p)
    return pd.DataFrame({"only_1": only_1, "only_2": only_2, "test": test, "p_value": p})


def corrected(rows: pd.DataFrame, analysis: Analysis, margin: float | None = None) -> pd.DataFrame:
    """Return rows with p values corrected within families, and the two one-sided tests of equivalence.

    Parameters
    ----------
    margin : the largest difference that does not matter (Schuirmann 1987, doi:10.1007/BF01068419); None makes no tests
    """
    value, error, df = (rows[name].to_numpy(np.float64) for name in ("difference", "standard_error", "df"))
    limit = np.nan if margin is None else margin
    equivalence = np.maximum(*(stdtr(df, -divide(side + limit, error)) for side in (value, -value)))
    out = rows.assign(equivalence_p=equivalence)
    for name, adjusted_name in (("p_value", "p_adjusted"), ("equivalence_p", "equivalence_p_adjusted")):
        unknown = out[name].isna()  # a test that could be made and was not counts as one that rejects nothing
        tests = out.assign(p_value=out[name].mask(unknown & (out["n_clusters"] >= 2), 1.0))
        tests = adjust_rows(tests, analysis)
        out = out.assign(**{adjusted_name: tests["p_adjusted"].mask(unknown), "family": tests["family"]})
    known = out["equivalence_p_adjusted"].notna()
    out["equivalent"] = (out["equivalence_p_adjusted"] <= ALPHA).astype("boolean").mask(~known)
    correction = analysis.correction or "holm"
    return out.assign(correction=correction, family_scope=analysis.family, margin=limit)
