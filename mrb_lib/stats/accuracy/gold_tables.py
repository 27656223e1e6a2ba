"""Counts of gold label by verdict of each judge, and what they tell beside its accuracy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mrb_lib.schema import CHOICES
from mrb_lib.stats.accuracy import confusion
from mrb_lib.stats.core.options import BoolArray, FloatArray, IntArray
from mrb_lib.stats.core.panel import TIE, Panel
from mrb_lib.stats.core.scoring import columns_used
from mrb_lib.stats.core.subfields import Group, one_kind_each

NO_KAPPA = "cohen_kappa is undefined: gold or verdicts hold one category only"
NO_KAPPA_INTERVAL = "no interval of cohen_kappa: clusters do not differ, or are fewer than two"


def confusions(
    panel: Panel, labels: IntArray, parts: Sequence[Group], policy: str, applies: BoolArray
) -> list[FloatArray]:
    """Counts of gold label (rows) by verdict (columns), shape (judges, dimensions, 3, 3), for each group of cases.

    Parameters
    ----------
    parts : the whole benchmark, then its subfields by each column, see `mrb_lib.stats.core.subfields.groups`
    policy : only the verdicts that it reads are counted
    applies : shape (judges, dimensions, cases), where they count; null verdicts and cases without gold never do
    """
    whole, *columns = one_kind_each(parts)
    found = [_counts(panel, labels, kind, policy, applies) for kind in columns or [whole]]
    each = [tables[:, :, i] for tables, kind in zip(found, columns, strict=False) for i in range(len(kind))]
    return [found[0].sum(axis=2), *each]


def _counts(panel: Panel, labels: IntArray, parts: Sequence[Group], policy: str, applies: BoolArray) -> FloatArray:
    """Those in groups that share no case and, last, in none of them, shape (judges, dimensions, groups + 1, 3, 3)."""
    n_judges, n_dimensions, n_cases = panel.shape
    k, n_groups = len(CHOICES), len(parts) + 1
    member = np.full(n_cases, len(parts), dtype=np.int64)
    for i, part in enumerate(parts):
        member[part.cases] = i
    row = (np.arange(n_dimensions)[:, None] * n_groups + member) * k + labels
    used = panel.choice[..., *columns_used(panel, policy)]
    found = np.zeros((n_judges, n_dimensions * n_groups * k * k))
    for judge, choices in enumerate(used):
        counted = applies[judge] & (labels >= 0)
        for order, repeat in np.ndindex(choices.shape[2:]):
            choice = choices[:, :, order, repeat]
            kept = counted & (choice >= 0)
            found[judge] += np.bincount(row[kept] * k + choice[kept], minlength=found.shape[1])
    return found.reshape(n_judges, n_dimensions, n_groups, k, k)


def agreement(chosen: FloatArray, half: FloatArray) -> dict[str, FloatArray | IntArray]:
    """The columns of the accuracy table about single verdicts.

    Parameters
    ----------
    chosen : shape (m, 3, 3), counts of gold label by verdict
    half : shape (m,), half the widths of the intervals of kappa

    Notes
    -----
    Where one side holds one category only, the agreement seen is the agreement expected by chance whatever the other
    side holds: kappa says nothing and is NaN.
    """
    decisive = chosen[:, :TIE, :TIE]
    occur = np.minimum((chosen.sum(axis=1) > 0).sum(axis=1), (chosen.sum(axis=2) > 0).sum(axis=1))
    kappa = np.where(occur < 2, np.nan, confusion.cohen_kappa(chosen))
    precision, recall, f1 = confusion.macro(chosen)
    return {
        "cohen_kappa": kappa,
        "cohen_kappa_low": np.maximum(kappa - half, -1.0),
        "cohen_kappa_high": np.minimum(kappa + half, 1.0),
        "n_answered": chosen.sum(axis=(1, 2)).astype(np.int64),
        "exact_accuracy": confusion.accuracy(chosen),
        "precision_macro": precision,
        "recall_macro": recall,
        "f1_macro": f1,
        "n_decisive": decisive.sum(axis=(1, 2)).astype(np.int64),
        "decisive_accuracy": confusion.accuracy(decisive),
    }


def kappa_reason(answers: int, kappa: float, low: float) -> str:
    """Why kappa of that many verdicts, or its interval, is null; empty if neither."""
    if answers == 0:
        return ""
    return NO_KAPPA if np.isnan(kappa) else NO_KAPPA_INTERVAL if np.isnan(low) else ""
