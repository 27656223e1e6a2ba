"""Differences between cells, paired by case, with tests: any table that compares two of anything."""

from __future__ import annotations

from collections.abc import Callable
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


def pairs_of_cells(analysis: Analysis, values: FloatArray, pairs: list[tuple[int, int]]) -> Contrast:
    """Return the contrast of pairs of cells of the verdicts, the first less the second.

    Parameters
    ----------
    values : shape (cases, cells), NaN where a case does not count
    """
    first, second = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    cells, seen = analysis.verdicts.cells, analysis.verdicts.seen
    scored = np.isfinite(values) | (seen & (analysis.labels[:, analysis.verdicts.dimension] >= 0))
    judge, dimension = cells["judge"].to_numpy(), cells["dimension"].to_numpy()
    names = pd.DataFrame({"judge_1": judge[first], "judge_2": judge[second], "dimension": dimension[first]})
    left_out = (seen[:, first] | seen[:, second]) & scored[:, first] & scored[:, second]
    return Contrast(names, values[:, first], values[:, second], left_out)


def contrasts(
    analysis: Analysis,
    contrast: Contrast,
    *,
    margin: float | None = None,
    together: tuple[str, ...] = ("dimension",),
    of_values: Callable[[Estimate], intervals.Interval] | None = None,
    members: IntArray | None = None,
) -> pd.DataFrame:
    """Estimate the mean differences of pairs, with tests and corrected p values, over all cases and in each subfield.

    Parameters
    ----------
    margin : the largest difference that does not matter, for two one-sided tests (Schuirmann 1987,
        doi:10.1007/BF01068419); None makes none
    together : the columns within whose values tests are corrected together, beside the subfield, under family
        "dimension"
    of_values : the rule of intervals of `value_1` and `value_2`; None leaves them out
    members : shape (rows, dimensions), the pairs of `contrast` that each row is the unweighted mean of, as its `names`
        say; such means are tested by t. None makes a row of each pair

    Returns
    -------
    DataFrame
        The names of the pair, the columns of `grid` for `difference`, `value_1` and `value_2` (means on the cases that
        both have), `only_1` and `only_2` (cases on which one has the higher value), `test`, and those of `corrected`
    """
    gain = contrast.first - contrast.second

    def of(values: FloatArray) -> Quantity:
        on_both = mean(np.where(np.isnan(gain), np.nan, values))
        return on_both if members is None else averaged(on_both, members)

    measures = {"difference": Measure(of(gain), intervals.difference)}
    if of_values:
        measures |= {
            "value_1": Measure(of(contrast.first), of_values),
            "value_2": Measure(of(contrast.second), of_values),
        }
    seen = contrast.seen if members is None else np.asarray(contrast.seen[:, members].any(axis=2))
    rows, made = grid(analysis, contrast.names, measures, seen)
    if members is None:
        of_parts = zip(analysis.parts, made["difference"], strict=True)
        tests = [paired_tests(gain[part.cases], e, analysis.policy) for part, e in of_parts]
    else:
        tests = [pd.DataFrame({"test": BY_T, "p_value": t_test(e)}) for e in made["difference"]]
    return corrected(rows.join(pd.concat(tests, ignore_index=True)), analysis, margin, together)


def t_test(e: Estimate, null: float = 0.0) -> FloatArray:
    """Return the two-sided p of an estimate by Student's t; NaN without an error."""
    return np.asarray(2 * stdtr(e.df, -np.abs(divide(e.value - null, e.error))))


def score_test(e: Estimate) -> FloatArray:
    """Return the two-sided p of a score test: as `t_test`, with the variance about 0, so that certainty has a p too."""
    about_zero = np.hypot(e.error, divide(e.value, np.sqrt(e.df)))
    return np.asarray(2 * stdtr(e.df, -np.abs(divide(e.value, about_zero))))


def test_of(policy: str, is_independent: bool) -> str:
    """Name the exact test of a policy, where each case is its own cluster or where clusters hold several."""
    return CLUSTERED if not is_independent else MCNEMAR if policy in BINARY else PERMUTATION


def named_tests(e: Estimate, policy: str) -> NDArray[np.object_]:
    """Name the test that `paired_tests` makes of each pair: t where one cluster is large or clusters cross."""
    uneven = (e.largest > UNEVEN) & (e.clusters > 3) if e.sampling.crossed is None else np.ones(e.n.shape, dtype=bool)
    return np.where(uneven, BY_T, np.array(test_of(policy, e.sampling.is_independent), dtype=object))


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


def corrected(
    rows: pd.DataFrame, analysis: Analysis, margin: float | None = None, together: tuple[str, ...] = ("dimension",)
) -> pd.DataFrame:
    """Return rows with p values corrected within families, and the two one-sided tests of equivalence."""
    value, error, df = (rows[name].to_numpy(np.float64) for name in ("difference", "standard_error", "df"))
    limit = np.nan if margin is None else margin
    equivalence = np.maximum(*(stdtr(df, -divide(side + limit, error)) for side in (value, -value)))
    out = rows.assign(equivalence_p=equivalence)
    for name, adjusted_name in (("p_value", "p_adjusted"), ("equivalence_p", "equivalence_p_adjusted")):
        unknown = out[name].isna()  # a test that could be made and was not counts as one that rejects nothing
        tests = out.assign(p_value=out[name].mask(unknown & (out["n_clusters"] >= 2), 1.0))
        tests = adjust_rows(tests, analysis, ("by", "subfield", *together))
        out = out.assign(**{adjusted_name: tests["p_adjusted"].mask(unknown), "family": tests["family"]})
    known = out["equivalence_p_adjusted"].notna()
    out["equivalent"] = (out["equivalence_p_adjusted"] <= ALPHA).astype("boolean").mask(~known)
    correction = analysis.correction or "holm"
    return out.assign(correction=correction, family_scope=analysis.family, margin=limit)
