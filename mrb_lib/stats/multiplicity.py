"""Many tests at once: p values corrected for the number of tests in a declared family."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from mrb_lib.stats.options import FloatArray, IntArray, check_choice

if TYPE_CHECKING:
    from mrb_lib.stats.analysis import Analysis

CORRECTIONS = ("holm", "hochberg", "bonferroni", "bh", "by", "none")
FAMILIES = ("dimension", "all")
_METHODS = {"hochberg": "simes-hochberg", "bonferroni": "bonferroni", "bh": "fdr_bh", "by": "fdr_by"}


def adjust(p_values: FloatArray, correction: str) -> FloatArray:
    """Correct the p values of one family of tests.

    Parameters
    ----------
    p_values : shape (m,); a NaN is a test that was not made: it stays NaN and does not count
    correction : what is controlled, and when

        - "bonferroni", "holm": the family-wise error rate, whatever the dependence between the tests
        - "hochberg": the same, for tests that are independent or positively dependent
        - "bh" (Benjamini-Hochberg): the false discovery rate, under the same condition
        - "by" (Benjamini-Yekutieli): the false discovery rate, whatever the dependence
        - "none": nothing

    Returns
    -------
    float array, shape (m,): a test is rejected at level alpha where this is at most alpha

    Raises
    ------
    InputError
        The correction is unknown.

    Notes
    -----
    What is promised holds for p-values that are at most alpha with probability alpha at most. Mid-p values, which
    `mrb_lib.stats.flips.flip_p` are, exceed that by half the probability of an outcome at most: of
    m tests over G clusters, whose sums are all of different size, the family-wise error is up to alpha + m 2^-G (45
    tests over 10 clusters: .088, over 15: .049).

    Holm (1979), Scandinavian Journal of Statistics 6:65; Hochberg (1988),
    doi:10.1093/biomet/75.4.800; Benjamini and Hochberg (1995),
    doi:10.1111/j.2517-6161.1995.tb02031.x; Benjamini and Yekutieli (2001),
    doi:10.1214/aos/1013699998. `tests/stats/test_multiplicity.py` compares each with
    statsmodels or with its definition, and with published examples; the error rates are simulated in
    `tests/simulation/test_size.py`.
    """
    check_choice("correction", correction, CORRECTIONS)
    out = np.array(p_values, dtype=np.float64)
    tested = np.flatnonzero(np.isfinite(out))
    if correction == "holm":
        # Not multipletests, which for this method alone collects garbage: 0.13 s a family, and tables have hundreds.
        ascending = tested[np.argsort(out[tested], kind="stable")]
        factors = np.arange(len(ascending), 0, -1)
        out[ascending] = np.minimum(np.maximum.accumulate(out[ascending] * factors), 1.0)
    elif correction != "none" and len(tested):
        from statsmodels.stats.multitest import multipletests  # takes a second to import

        out[tested] = multipletests(out[tested], method=_METHODS[correction])[1]
    return out


def single_level(size: int, correction: str, alpha: float) -> float:
    """The level at which one test alone, of a family of so many, is rejected by a correction; NaN of none.

    That is the worst case: step-wise corrections are kinder to a test where others are rejected as well. The p that
    `adjust` takes to `alpha` where all the others are 1.
    """
    if size < 1:
        return np.nan
    of_by = float((1 / np.arange(1, size + 1)).sum()) if correction == "by" else 1.0
    return alpha if correction == "none" else alpha / (size * of_by)


def adjust_families(p_values: FloatArray, families: IntArray, correction: str) -> tuple[FloatArray, IntArray]:
    """Correct p values family by family.

    Parameters
    ----------
    p_values : shape (m,); NaN where no test was made
    families : shape (m,), the family of each test, 0 to the number of families - 1

    Returns
    -------
    adjusted : shape (m,)
    size : shape (m,), the number of tests made in the test's family
    """
    adjusted, size = np.empty(len(p_values)), np.empty(len(p_values), dtype=np.int64)
    order = np.argsort(families, kind="stable")
    for family in np.split(order, np.flatnonzero(np.diff(families[order])) + 1):
        adjusted[family] = adjust(p_values[family], correction)
        size[family] = np.count_nonzero(~np.isnan(p_values[family]))
    return adjusted, size


def adjust_rows(
    rows: pd.DataFrame, analysis: Analysis, within: Sequence[str] = ("by", "subfield", "dimension"), *always: str
) -> pd.DataFrame:
    """Return rows with `p_value` corrected, as `p_adjusted`, and the number of tests corrected together, as `family`.

    Parameters
    ----------
    within, always : the columns within whose values tests are corrected together: `within` under the family
        "dimension" alone
    """
    columns = [*always, *(within if analysis.family == "dimension" else ())]
    families = rows.groupby(columns, dropna=False).ngroup() if columns else pd.Series(0, rows.index)
    p = rows["p_value"].to_numpy(np.float64)
    adjusted, size = adjust_families(p, np.asarray(families, dtype=np.int64), analysis.correction or "holm")
    return rows.assign(p_adjusted=adjusted, family=size)
