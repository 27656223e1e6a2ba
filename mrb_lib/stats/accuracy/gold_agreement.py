"""How single verdicts agree with gold: Cohen's kappa with its interval, and precision, recall and F1."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import t as student

from mrb_lib.schema import CHOICES
from mrb_lib.stats.accuracy import confusion
from mrb_lib.stats.core.options import BoolArray, FloatArray, IntArray, divide
from mrb_lib.stats.core.panel import TIE, Panel
from mrb_lib.stats.core.scoring import columns_used
from mrb_lib.stats.core.subfields import Group, one_kind_each
from mrb_lib.stats.resampling.quantiles import CONFIDENCE
from mrb_lib.stats.resampling.resample import cluster_sums

NO_KAPPA = "cohen_kappa is undefined: gold or verdicts hold one category only"
NO_KAPPA_INTERVAL = "no interval of cohen_kappa: clusters do not differ, or are fewer than two"
_NO_SPREAD = 1e-12


def gold_agreement(
    panel: Panel, labels: IntArray, parts: Sequence[Group], policy: str, applies: BoolArray, codes: IntArray
) -> list[dict[str, FloatArray]]:
    """The columns of the accuracy table about single verdicts, each of shape (judges, dimensions), a dict a group.

    Parameters
    ----------
    labels : shape (dimensions, cases), the gold labels
    parts : the whole benchmark, then its subfields by each column, see `mrb_lib.stats.core.subfields.groups`
    policy : only the verdicts that it reads are counted
    applies : shape (judges, dimensions, cases), where they count; null verdicts and cases without gold never do
    codes : the cluster of every case of the benchmark

    Notes
    -----
    Where one side holds one category only, the agreement seen is the agreement expected by chance whatever the other
    side holds: kappa is uninformative and is NaN. Its interval is a t interval with clusters - 1 degrees of freedom:
    verdicts on a case, in both orders and all repeats, are taken together, as are the cases of a cluster; NaN where
    kappa is undefined or is 1, or fewer than two clusters count. With one verdict a case the standard error is that of
    Fleiss, Cohen and Everitt. Compared with statsmodels in `tests/stats/accuracy/test_gold_agreement.py`; coverage in
    `tests/simulation/test_coverage.py`.
    """
    tables = _counts(panel, labels, parts, policy, applies)
    half_widths: list[FloatArray] = []
    for kind in one_kind_each(parts):
        own = tables[len(half_widths) : len(half_widths) + len(kind)]
        each = _influence_by_case(panel, labels, policy, applies, kind, [confusion.influence(table) for table in own])
        half_widths += [_half_width(*each, part, table, codes) for part, table in zip(kind, own, strict=True)]
    return [_columns(table, half) for table, half in zip(tables, half_widths, strict=True)]


def kappa_reason(answers: float, kappa: float, low: float) -> str:
    """Why kappa of that many verdicts, or its interval, is null; empty if neither."""
    if answers == 0:
        return ""
    return NO_KAPPA if np.isnan(kappa) else NO_KAPPA_INTERVAL if np.isnan(low) else ""


def _columns(chosen: FloatArray, half: FloatArray) -> dict[str, FloatArray]:
    """From counts of gold label by verdict, (judges, dimensions, 3, 3), and half the widths of kappa's intervals."""
    decisive = chosen[..., :TIE, :TIE]
    occur = np.minimum((chosen.sum(axis=-2) > 0).sum(axis=-1), (chosen.sum(axis=-1) > 0).sum(axis=-1))
    kappa = np.where(occur < 2, np.nan, confusion.cohen_kappa(chosen))
    precision, recall, f1 = confusion.macro(chosen)
    return {
        "cohen_kappa": kappa,
        "cohen_kappa_low": np.maximum(kappa - half, -1.0),
        "cohen_kappa_high": np.minimum(kappa + half, 1.0),
        "n_answered": chosen.sum(axis=(-2, -1)),
        "exact_accuracy": confusion.accuracy(chosen),
        "precision_macro": precision,
        "recall_macro": recall,
        "f1_macro": f1,
        "n_decisive": decisive.sum(axis=(-2, -1)),
        "decisive_accuracy": confusion.accuracy(decisive),
    }


def _counts(
    panel: Panel, labels: IntArray, parts: Sequence[Group], policy: str, applies: BoolArray
) -> list[FloatArray]:
    """Counts of gold label (rows) by verdict (columns), shape (judges, dimensions, 3, 3), for each group of cases."""
    whole, *columns = one_kind_each(parts)
    each = [_counts_of_kind(panel, labels, kind, policy, applies) for kind in columns or [whole]]
    groups = [table[:, :, i] for table, kind in zip(each, columns, strict=False) for i in range(len(kind))]
    return [each[0].sum(axis=2), *groups]


def _counts_of_kind(
    panel: Panel, labels: IntArray, kind: Sequence[Group], policy: str, applies: BoolArray
) -> FloatArray:
    """Those in groups that share no case and, last, in none of them, shape (judges, dimensions, groups + 1, 3, 3)."""
    n_judges, n_dimensions, _ = panel.shape
    k, n_groups = len(CHOICES), len(kind) + 1
    cell = np.arange(n_dimensions)[:, None] * n_groups + _member(panel, kind)
    out = np.zeros((n_judges, n_dimensions * n_groups, k, k))
    for judge, choices in enumerate(panel.choice[..., *columns_used(panel, policy)]):
        counted = applies[judge] & (labels >= 0)
        for order, repeat in np.ndindex(choices.shape[2:]):
            choice = choices[:, :, order, repeat]
            kept = counted & (choice >= 0)
            out[judge] += confusion.counts(cell[kept], labels[kept], choice[kept].astype(np.int64), out.shape[1], k)
    return out.reshape(n_judges, n_dimensions, n_groups, k, k)


def _member(panel: Panel, kind: Sequence[Group]) -> IntArray:
    """Which of some groups that share no case each case is in; one past the last where in none."""
    member = np.full(panel.shape[2], len(kind), dtype=np.int64)
    for i, part in enumerate(kind):
        member[part.cases] = i
    return member


def _influence_by_case(
    panel: Panel,
    labels: IntArray,
    policy: str,
    applies: BoolArray,
    kind: Sequence[Group],
    influence: Sequence[FloatArray],
) -> tuple[FloatArray, BoolArray]:
    """The sum of the influences of the verdicts on each case, and whether it has any, in the panel's shape."""
    nowhere = np.zeros_like(influence[0])
    table = np.nan_to_num(np.stack([*influence, nowhere], axis=2))
    dimension, member = np.arange(panel.shape[1])[:, None], _member(panel, kind)
    total, has_any = np.zeros(panel.shape), np.zeros(panel.shape, dtype=bool)
    for judge, choices in enumerate(panel.choice[..., *columns_used(panel, policy)]):
        counted = applies[judge] & (labels >= 0)
        for order, repeat in np.ndindex(choices.shape[2:]):
            choice = choices[:, :, order, repeat]
            kept = counted & (choice >= 0)
            total[judge] += np.where(kept, table[judge, dimension, member, labels, choice], 0.0)
            has_any[judge] |= kept
    return total, has_any


def _half_width(
    influence: FloatArray, has_any: BoolArray, part: Group, table: FloatArray, codes: IntArray
) -> FloatArray:
    """Half the widths of the intervals of kappa in one group, shape (judges, dimensions), from what each case adds."""
    total, counted = influence[:, :, part.cases], has_any[:, :, part.cases].astype(np.float64)
    m, n = total.shape[0] * total.shape[1], len(part.cases)
    both = np.hstack([total.reshape(m, n).T, counted.reshape(m, n).T])
    sums = cluster_sums(codes[part.cases], both).values
    clusters = (sums[:, m:] > 0).sum(axis=0)
    answered = table.sum(axis=(-2, -1)).ravel()
    spread = (sums[:, :m] ** 2).sum(axis=0)
    spread[spread < _NO_SPREAD] = np.nan
    error = np.sqrt(divide(spread, answered**2) * divide(clusters.astype(np.float64), clusters - 1))
    half = student.ppf((1 + CONFIDENCE) / 2, np.maximum(clusters - 1, 1)) * error
    return np.asarray(half, dtype=np.float64).reshape(total.shape[:2])
