"""Judges that change places: their order by accuracy under two conditions, on the same cases."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from scipy.special import stdtr

from mrb_lib.stats.estimation import BoolArray, FloatArray, Sampling, divide, estimate, mean
from mrb_lib.stats.rank_agreement import Strengths, rank_interval, ranks
from mrb_lib.stats.rankings import kendall

ALL_EQUAL: Final = "kendall_tau is undefined: all judges are equal with or without the probe"
FEW_CLUSTERS: Final = "no interval of a rank and no test: fewer than two clusters"
NO_SHARED_CASE: Final = "no case is scored with and without the probe for all judges"
_ROUNDING: Final = 1e-12


def reversals(plain: FloatArray, probed: FloatArray, sampling: Sampling) -> tuple[dict[str, Any], FloatArray]:
    """Compare the order of judges in two conditions, on the cases that are scored for all of them in both.

    Parameters
    ----------
    plain, probed : scores of shape (cases, judges), NaN where a case does not count
    sampling : of these cases

    Returns
    -------
    columns : by name, of one value or of one per judge: `n`, `n_clusters`, `n_judges`; in each condition the accuracy
        and the rank with its interval; `kendall_tau` (tau-b) of the two orders; `n_reversed`, the other judges above
        in one condition and below in the other; and why values are null
    p : shape (judges, judges), the larger p of the two differences where two judges are reversed, else 1. A difference
        that is the same in all clusters has no error to go by, and shows nothing. NaN with fewer than two clusters
    """
    shared: BoolArray = np.asarray(np.isfinite(plain + probed).all(axis=1))
    kept = sampling.take(shared)
    n, m, judges = int(shared.sum()), len(np.unique(kept.codes)), plain.shape[1]
    both = {end: _strengths(scores[shared], kept) for end, scores in (("", plain), ("_probed", probed))}
    columns: dict[str, Any] = {"n": n, "n_clusters": m, "n_judges": judges, "n_unassigned": 0}
    gaps, p = [], np.full((judges, judges), np.nan)
    for end, each in both.items():
        low, high = rank_interval(each) if m > 1 else (np.nan, np.nan)
        columns |= {f"accuracy{end}": each.value, f"rank{end}": ranks(each.value)}
        columns |= {f"rank{end}_low": low, f"rank{end}_high": high}
        gap = each.value[:, None] - each.value
        gaps.append(np.where(np.abs(gap) < _ROUNDING, 0.0, gap))
    turned = gaps[0] * gaps[1] < 0
    if m > 1:
        of_each = [2 * stdtr(s.df, -np.abs(gap / s.errors)) for s, gap in zip(both.values(), gaps, strict=True)]
        p = np.where(turned, np.nan_to_num(np.maximum(*of_each), nan=1.0), 1.0)
    tau = float(kendall(*(each.value[:, None] for each in both.values()))[0]) if n else np.nan
    why = (
        [text for text, holds in ((FEW_CLUSTERS, m < 2), (ALL_EQUAL, np.isnan(tau))) if holds]
        if n
        else [NO_SHARED_CASE]
    )
    reversed_ = turned.sum(axis=1) if n else np.nan
    return columns | {"kendall_tau": tau, "n_reversed": reversed_, "reason": "; ".join(why)}, p


def _strengths(scores: FloatArray, sampling: Sampling) -> Strengths:
    """Return the mean scores of judges on the same cases, of shape (cases, judges), with their covariance (CR2)."""
    e = estimate(mean(scores), sampling)
    share = divide(e.sizes[:, :1], e.n[:1])
    sums = sampling.sums(scores - e.value) / np.sqrt(np.where(share < 1, 1 - share, np.nan))
    return Strengths(e.value, divide(sums.T @ sums, e.n[:1] ** 2), float(e.df.min(initial=np.inf)))
