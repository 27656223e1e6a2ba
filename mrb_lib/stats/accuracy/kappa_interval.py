"""How sure Cohen's kappa is, by linearisation over clusters of cases."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import stdtrit

from mrb_lib.schema import CHOICES
from mrb_lib.stats.core.options import BoolArray, FloatArray, IntArray, divide
from mrb_lib.stats.core.panel import Panel
from mrb_lib.stats.core.scoring import columns_used
from mrb_lib.stats.core.subfields import Group, one_kind_each
from mrb_lib.stats.resampling.quantiles import CONFIDENCE
from mrb_lib.stats.resampling.weighted_sums import cluster_sums

_NO_SPREAD = 1e-12


def influence(table: FloatArray) -> FloatArray:
    """What one more pair of labels in each cell does to Cohen's kappa, times the number of pairs.

    Parameters
    ----------
    table : shape (..., k, k), counts; gold in rows, verdicts in columns

    Returns
    -------
    float array of the same shape; its mean over the pairs counted is 0; NaN where kappa is undefined

    Notes
    -----
    The derivative behind the standard error of Fleiss, Cohen and Everitt (1969), doi:10.1037/h0028106: with p the
    share of pairs that agree and e the share expected by chance,
    ((1 - e)(agree - p) - (1 - p)(change of e)) / (1 - e)^2.
    """
    share = divide(table, table.sum(axis=(-2, -1))[..., None, None])
    rows, columns = share.sum(axis=-1), share.sum(axis=-2)
    agreeing = np.trace(share, axis1=-2, axis2=-1)[..., None, None]
    chance = (rows * columns).sum(axis=-1)[..., None, None]
    moved = columns[..., :, None] + rows[..., None, :] - 2 * chance
    same = np.eye(table.shape[-1])
    return divide((1 - chance) * (same - agreeing) - (1 - agreeing) * moved, (1 - chance) ** 2)


def kappa_intervals(
    panel: Panel,
    labels: IntArray,
    parts: Sequence[Group],
    policy: str,
    applies: BoolArray,
    tables: Sequence[FloatArray],
    codes: IntArray,
) -> list[FloatArray]:
    """Half the width of the 95% interval of Cohen's kappa, shape (judges, dimensions), for each group of cases.

    Parameters
    ----------
    parts, policy, applies : as in `mrb_lib.stats.accuracy.gold_tables.confusions`
    tables : what that function gave
    codes : the cluster of every case of the benchmark

    Returns
    -------
    NaN where kappa is undefined or is 1, or fewer than two clusters count

    Notes
    -----
    A t interval with clusters - 1 degrees of freedom: verdicts on a case, in both orders and all repeats, are
    taken together, as are the cases of a cluster. With one verdict a case the standard error is that of Fleiss,
    Cohen and Everitt. Compared with statsmodels in `tests/stats/accuracy/test_kappa_interval.py`; coverage in
    `tests/simulation/test_coverage.py`.
    """
    out: list[FloatArray] = []
    for kind in one_kind_each(parts):
        member = np.zeros(panel.shape[2], dtype=np.int64)
        for i, part in enumerate(kind):
            member[part.cases] = i
        own = tables[len(out) : len(out) + len(kind)]
        each = _per_case(panel, labels, policy, applies, member, [influence(table) for table in own])
        out += [_half_width(each, part, table, codes) for part, table in zip(kind, own, strict=True)]
    return out


def _per_case(
    panel: Panel,
    labels: IntArray,
    policy: str,
    applies: BoolArray,
    member: IntArray,
    values: Sequence[FloatArray],
) -> tuple[FloatArray, BoolArray]:
    """The sum of the influences of the verdicts on each case, and whether it has any, in the panel's shape."""
    n_judges, n_dimensions, _ = panel.shape
    k = len(CHOICES)
    table = np.nan_to_num(np.stack(values, axis=2)).reshape(n_judges, -1)
    row = ((np.arange(n_dimensions)[:, None] * len(values) + member) * k + np.maximum(labels, 0)) * k
    total, some = np.zeros(panel.shape), np.zeros(panel.shape, dtype=bool)
    for judge, choices in enumerate(panel.choice[..., *columns_used(panel, policy)]):
        counted = applies[judge] & (labels >= 0)
        for order, repeat in np.ndindex(choices.shape[2:]):
            choice = choices[:, :, order, repeat]
            kept = counted & (choice >= 0)
            total[judge] += np.where(kept, table[judge][row + np.maximum(choice, 0)], 0.0)
            some[judge] |= kept
    return total, some


def _half_width(each: tuple[FloatArray, BoolArray], part: Group, table: FloatArray, codes: IntArray) -> FloatArray:
    total, some = each[0][:, :, part.cases], each[1][:, :, part.cases].astype(np.float64)
    m, n = total.shape[0] * total.shape[1], len(part.cases)
    both = np.hstack([total.reshape(m, n).T, some.reshape(m, n).T])
    sums = cluster_sums(codes[part.cases], both).values
    clusters = (sums[:, m:] > 0).sum(axis=0)
    answered = table.sum(axis=(-2, -1)).ravel()
    spread = (sums[:, :m] ** 2).sum(axis=0)
    spread[spread < _NO_SPREAD] = np.nan
    error = np.sqrt(divide(spread, answered**2) * divide(clusters.astype(np.float64), clusters - 1))
    t = np.asarray(stdtrit(np.maximum(clusters - 1, 1).astype(np.float64), (1 + CONFIDENCE) / 2))
    found: FloatArray = (t * error).reshape(total.shape[:2])
    return found
