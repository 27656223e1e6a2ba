"""How single verdicts agree with gold: Cohen's kappa with its interval, and precision, recall and F1."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mrb_lib.stats.accuracy import confusion
from mrb_lib.stats.core.panel import Panel
from mrb_lib.stats.core.scoring import columns_used
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, divide
from mrb_lib.stats.resampling.resample import cluster_sums
from mrb_lib.stats.resampling.robust import effective_clusters, t_quantile
from mrb_lib.stats.subfields import Group

NO_KAPPA = "cohen_kappa is undefined: gold or verdicts hold one category only"
NO_KAPPA_INTERVAL = "no interval of cohen_kappa: clusters do not differ, or are fewer than two"
_NO_SPREAD = 1e-12
_CELLS_AT_ONCE = 2**16


def gold_agreement(
    panel: Panel, labels: IntArray, parts: Sequence[Group], policy: str, applies: BoolArray, codes: IntArray
) -> list[dict[str, FloatArray]]:
    """The columns of the accuracy table about single verdicts, each of shape (judges, dimensions), a dict a group.

    Parameters
    ----------
    labels : shape (dimensions, cases), the gold labels
    parts : the whole benchmark, then its subfields by each column, see `mrb_lib.stats.subfields.groups`
    policy : only the verdicts that it reads are counted
    applies : shape (judges, dimensions, cases), where they count; null verdicts and cases without gold never do
    codes : the cluster of every case of the benchmark

    Notes
    -----
    Where one side holds one category only, the agreement seen is the agreement expected by chance whatever the other
    side holds: kappa is uninformative and is NaN. Its interval is a t interval with the degrees of freedom of
    `mrb_lib.stats.resampling.robust.effective_clusters`: verdicts on a case, in both orders and all repeats, are taken
    together, as are the cases of a cluster; NaN where kappa is undefined or is 1, or fewer than two clusters count.
    With one verdict a case the standard error is that of Fleiss, Cohen and Everitt. Compared with statsmodels in
    `tests/stats/tables/test_accuracy.py`; coverage in `tests/simulation/test_coverage.py` and
    `test_dependence.py`.
    """
    k, tie = len(panel.categories), panel.tie
    counts = applies & (labels >= 0)
    read = np.moveaxis(panel.choice[..., *columns_used(panel, policy)].reshape(*panel.shape[:3], -1), -1, 0)
    given = np.stack([((read == code) & counts).sum(axis=0, dtype=np.int32) for code in range(k)], axis=2)
    gold = (labels[:, None] == np.arange(k)[:, None]).astype(np.float64)
    return [_columns(*_tables(given[..., part.cases], gold[..., part.cases], codes[part.cases]), tie) for part in parts]


def kappa_reasons(answers: pd.Series, kappa: pd.Series, low: pd.Series) -> NDArray[np.str_]:
    """Why each kappa of that many verdicts, or its interval, is null; empty if neither."""
    return np.select([answers == 0, kappa.isna(), low.isna()], ["", NO_KAPPA, NO_KAPPA_INTERVAL], "")


def _columns(chosen: FloatArray, half: FloatArray, tie: int) -> dict[str, FloatArray]:
    """From counts of gold label by verdict, (judges, dimensions, K, K), and half the widths of kappa's intervals."""
    decided = chosen[..., :tie, :tie] if tie >= 0 else np.zeros_like(chosen)
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
        "n_decided": decided.sum(axis=(-2, -1)),
        "decided_accuracy": confusion.accuracy(decided),
    }


def _tables(given: NDArray[np.int32], gold: FloatArray, codes: IntArray) -> tuple[FloatArray, FloatArray]:
    """Counts of gold label by verdict, and half the widths of kappa's intervals, of the cases of one group.

    Parameters
    ----------
    given : shape (judges, dimensions, choices, cases), how many verdicts that count name each choice
    gold : shape (dimensions, choices, cases), 1 where a case has that label
    """
    tables = gold @ given.swapaxes(-1, -2)
    influence = np.nan_to_num(confusion.influence(tables)).swapaxes(-1, -2)
    half = np.full(given.shape[:2], np.nan)
    step = max(1, _CELLS_AT_ONCE // max(1, given[0].size))
    for start in range(0, len(given), step):
        here = slice(start, start + step)
        moved, counted = ((influence[here] @ gold) * given[here]).sum(axis=2), given[here].sum(axis=2)
        by_case = [each.reshape(-1, len(codes)).T for each in (moved, counted, counted > 0)]
        sums, answers, cases = np.hsplit(cluster_sums(codes, np.hstack(by_case)).values, 3)
        clusters = (answers > 0).sum(axis=0)
        spread = (sums**2).sum(axis=0)
        spread[spread < _NO_SPREAD] = np.nan
        inflated = spread * divide(clusters.astype(np.float64), clusters - 1)
        error = np.sqrt(divide(inflated, answers.sum(axis=0) ** 2))
        n = cases.sum(axis=0)
        deff = divide(inflated * (n - 1), n * (moved**2).sum(axis=-1).ravel())
        half[here] = (t_quantile(effective_clusters(cases, deff)) * error).reshape(half[here].shape)
    return tables, half
