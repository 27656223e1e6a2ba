"""Whether a judge says the same when the answers are shown in the other order, or asked again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mrb_lib.schema import CHOICES
from mrb_lib.stats import confusion
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, divide, join_reasons, typed
from mrb_lib.stats.panel import ABSENT, TIE, Panel, as_panel
from mrb_lib.stats.resample import Ratios, cluster_codes, ratios
from mrb_lib.stats.subfields import Group, groups

ONE_ORDER = "no case was presented in both orders"
NOT_ANSWERED = "no case was answered in both orders"
NOTHING_CHOSEN = "first_rate is undefined: no verdict is decisive"
ONE_REPEAT = "repeat_agreement is undefined: no case was answered twice in one order"
NO_KAPPA = "order_kappa is undefined: one category only"
_MEASURES = ("consistency", "position_bias", "first_rate", "tie_rate", "repeat_agreement")
COLUMNS = [
    "judge",
    "dimension",
    "subfield",
    "by",
    "n",
    "n_presented",
    "n_unassigned",
    "coverage",
    "consistency",
    "consistency_low",
    "consistency_high",
    "order_kappa",
    "n_first",
    "first_rate",
    "first_rate_low",
    "first_rate_high",
    "tie_rate",
    "position_bias",
    "position_bias_low",
    "position_bias_high",
    "repeat_agreement",
    "repeat_agreement_low",
    "repeat_agreement_high",
    "reason",
]


class Presentations(NamedTuple):
    """The choices of each judge, dimension and case (a cell) in each repeat, shape (cells, repeats).

    -1 is a null choice, -2 a presentation that was not made.
    """

    shown_ab: NDArray[np.int8]
    shown_ba: NDArray[np.int8]


def presentations(panel: Panel) -> Presentations:
    """Lay verdicts out by order and repeat."""
    cells, width = int(np.prod(panel.shape)), panel.choice.shape[4]
    ab, ba = (panel.choice[:, :, :, order].reshape(cells, width) for order in range(2))
    return Presentations(ab, ba)


def consistency(
    verdicts: pd.DataFrame | Panel,
    cases: pd.DataFrame,
    *,
    by: str | None = None,
    dimensions: Sequence[str] | None = None,
    cluster: str | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Order consistency, position bias and agreement between repeats of each judge.

    Parameters
    ----------
    verdicts : the verdicts table, of one probe
    cases : the cases table
    by : a cases column to break down by, or `model_pair`
    dimensions : the dimensions to report, in order; None reports all that were judged
    cluster : the cases column to resample by, see `mrb_lib.stats.resample.cluster_codes`
    resamples, seed : of the cluster bootstrap; 0 resamples give no intervals

    Returns
    -------
    DataFrame
        One row a judge and dimension it has a verdict on, overall (`subfield` null)
        and for every subfield:
        `n` cases answered in both orders of one repeat at least; `n_presented` cases
        presented so; `coverage` their ratio; `consistency` share with the same choice in
        both orders, ties included, a mean over the `n` cases (with repeats: over the
        case's repeats first); `order_kappa` Cohen's kappa between the two orders over
        the same pairs; `n_first` verdicts with a decisive choice, in any order;
        `first_rate` the share of them that chose the response shown first; `tie_rate`
        share of ties among verdicts with a choice; `position_bias` share choosing the
        response shown first minus share choosing the one shown second, over the `n` cases, from
        -1 (always the second) to 1 (always the first), ties 0; `repeat_agreement` share
        of agreeing pairs of repeats in the same order, a mean over cases. `_low` and
        `_high` bound 95% percentile intervals of the cluster bootstrap. `reason` says why
        a value is null.

    Raises
    ------
    InputError
        `by` or `cluster` cannot be used, a verdict speaks of an unknown case, or
        verdicts of several probes are mixed.

    Notes
    -----
    A bias towards one position is seen only where cases were shown in both orders:
    `first_rate` of one order alone mixes it with how often the first response is better.
    Published values: `tests/published/test_llmbar.py`, `test_llmfao.py`; a planted bias
    is recovered in `tests/simulation/test_position_bias.py`.
    """
    panel = as_panel(verdicts, cases["case_id"], dimensions)
    judged: BoolArray = np.asarray(panel.judged().any(axis=2))
    parts = groups(cases, by)
    shown = presentations(panel)
    values, counts = _case_values(shown)
    shape = (len(_MEASURES), *panel.shape)
    estimates = _estimates(
        values.reshape(shape), counts.reshape(shape), judged, parts, cluster_codes(cases, cluster), resamples, seed
    )
    presented = ((shown.shown_ab != ABSENT) & (shown.shown_ba != ABSENT)).any(axis=1).reshape(panel.shape)
    frames = [
        _frame(panel, judged, part, found, presented, _order_table(panel, shown, part, judged))
        for part, found in zip(parts, estimates, strict=True)
    ]
    return typed(pd.concat(frames, ignore_index=True), COLUMNS)


def _case_values(shown: Presentations) -> tuple[FloatArray, FloatArray]:
    """Numerators and denominators of the measures by cell, each of shape (measures, cells)."""
    ab, ba = shown
    first, second = CHOICES.index("A"), CHOICES.index("B")
    both = (ab >= 0) & (ba >= 0)
    n_both = both.sum(axis=1).astype(np.float64)
    chose_first = (ab == first).sum(axis=1) + (ba == second).sum(axis=1).astype(np.float64)
    chose_second = (ab == second).sum(axis=1) + (ba == first).sum(axis=1)
    ties = (ab == TIE).sum(axis=1) + (ba == TIE).sum(axis=1)
    leaning = np.zeros(len(ab))
    for choice, sign in ((first, 0.5), (second, -0.5)):
        leaning += sign * ((both & (ab == choice)).sum(axis=1) - (both & (ba == choice)).sum(axis=1).astype(np.float64))
    same = (both & (ab == ba)).sum(axis=1)
    again, n_again = _repeat_agreement(shown)
    decisive = chose_first + chose_second
    counted = (n_both > 0).astype(np.float64)
    divisor = np.maximum(n_both, 1)
    numerators = np.stack([same / divisor, leaning / divisor, chose_first, ties.astype(np.float64), again])
    denominators = np.stack([counted, counted, decisive, decisive + ties, n_again])
    return numerators, denominators


def _repeat_agreement(shown: Presentations) -> tuple[FloatArray, FloatArray]:
    """The share of agreeing pairs of repeats by cell, a mean over orders, and whether there is one."""
    total, orders = np.zeros(len(shown.shown_ab)), np.zeros(len(shown.shown_ab))
    if shown.shown_ab.shape[1] > 1:
        for choices in shown:
            votes = np.stack([(choices == code).sum(axis=1) for code in range(len(CHOICES))]).astype(np.float64)
            n = votes.sum(axis=0)
            pairs = n * (n - 1)
            total += np.nan_to_num(divide((votes * (votes - 1)).sum(axis=0), pairs))
            orders += pairs > 0
    return total / np.maximum(orders, 1), (orders > 0).astype(np.float64)


def _estimates(
    values: FloatArray,
    counts: FloatArray,
    judged: BoolArray,
    parts: Sequence[Group],
    codes: IntArray,
    resamples: int,
    seed: int,
) -> list[Ratios]:
    numerator = values[:, judged].reshape(-1, values.shape[-1]).T
    denominator = counts[:, judged].reshape(-1, counts.shape[-1]).T
    return ratios(
        [(part.cases, numerator[part.cases], denominator[part.cases]) for part in parts],
        codes,
        resamples=resamples,
        seed=seed,
    )


def _order_table(panel: Panel, shown: Presentations, part: Group, judged: BoolArray) -> FloatArray:
    """Counts of the choice in order AB by that in order BA, shape (rows of the frame, 3, 3)."""
    shape = (*panel.shape, -1)
    ab = shown.shown_ab.reshape(shape)[:, :, part.cases][judged]
    ba = shown.shown_ba.reshape(shape)[:, :, part.cases][judged]
    both = (ab >= 0) & (ba >= 0)
    row = np.nonzero(both)[0]
    return confusion.counts(row, ab[both].astype(np.int64), ba[both].astype(np.int64), len(ab), len(CHOICES))


def _frame(
    panel: Panel,
    judged: BoolArray,
    part: Group,
    found: Ratios,
    presented: BoolArray,
    order_table: FloatArray,
) -> pd.DataFrame:
    judge, dimension = np.nonzero(judged)
    rows = len(judge)
    pick = {name: slice(i * rows, (i + 1) * rows) for i, name in enumerate(_MEASURES)}
    n = found.n[pick["consistency"]]
    n_presented = presented[:, :, part.cases][judged].sum(axis=1)
    kappa = confusion.cohen_kappa(order_table)
    n_first = _decisive_counts(panel, part, judged)
    out = pd.DataFrame(
        {
            "judge": pd.Index(panel.judges, dtype="str").take(judge),
            "dimension": pd.Index(panel.dimensions, dtype="str").take(dimension),
            **part.label(),
            "n": n,
            "n_presented": n_presented,
            "coverage": divide(n.astype(np.float64), n_presented),
            "order_kappa": kappa,
            "n_first": n_first,
        }
    )
    for name, place in pick.items():
        out[name] = found.value[place]
        if name != "tie_rate":
            out[f"{name}_low"], out[f"{name}_high"] = found.low[place], found.high[place]
    out["reason"] = [
        join_reasons(
            "" if n_presented[i] else ONE_ORDER,
            NOT_ANSWERED if n_presented[i] and not n[i] else "",
            found.reason[pick["consistency"]][i],
            NO_KAPPA if n[i] and np.isnan(kappa[i]) else "",
            "" if n_first[i] else NOTHING_CHOSEN,
            ONE_REPEAT if np.isnan(out["repeat_agreement"].iloc[i]) else "",
        )
        for i in range(rows)
    ]
    return out


def _decisive_counts(panel: Panel, part: Group, judged: BoolArray) -> IntArray:
    choice = panel.choice[:, :, part.cases]
    counts = ((choice >= 0) & (choice != TIE)).sum(axis=(2, 3, 4))
    return np.asarray(counts[judged], dtype=np.int64)
