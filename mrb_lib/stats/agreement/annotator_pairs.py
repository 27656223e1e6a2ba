"""Agreement of every two annotators that share cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, cast

import numpy as np
import pandas as pd

from mrb_lib.schema import CHOICES
from mrb_lib.stats.agreement.icc import f_intervals, stepped_up
from mrb_lib.stats.agreement.intervals import Influence, bootstrap_bounds, kappa_interval, t_interval
from mrb_lib.stats.agreement.labels import encode_annotations, parts
from mrb_lib.stats.agreement.measures import (
    BOUNDS,
    COARSE,
    ENOUGH_SHARED,
    MANY_SHARED,
    Interval,
    SharedClusters,
    is_coarse,
    kernels,
    no_bca,
    no_f_interval,
    of_pairs,
)
from mrb_lib.stats.agreement.pair_coefficients import PairKernel, adjusted, bias_index, prevalence_index
from mrb_lib.stats.agreement.pairwise import Pairs
from mrb_lib.stats.core.options import FloatArray, IntArray, join_reasons, typed
from mrb_lib.stats.core.subfields import By, groups
from mrb_lib.stats.core.table import register_table
from mrb_lib.stats.resampling.multi_resample import Resampled, resampled
from mrb_lib.stats.resampling.resample import cluster_codes, interval_reason

NOBODY_PAIRED = "no case has two annotators"
FEW_SHARED = "the two annotators share fewer than two cases"
ONE_CATEGORY = "one category only: agreement beyond chance is undefined"
SPARSE_PAIR = f"no interval: the two share fewer than {ENOUGH_SHARED} cases"
ROUGH_PAIR = f"approximate intervals: the two share fewer than {MANY_SHARED} cases"
NO_ORDER = "nominal labels: no weighted kappa, AC2 or ICC"
NO_SCORES = "ordinal labels: no ICC"
SHOWN = (
    "percent_agreement",
    "cohen_kappa",
    "linear_kappa",
    "quadratic_kappa",
    "krippendorff_alpha",
    "gwet_ac1",
    "gwet_ac2",
    "pabak",
    "icc_2_1",
    "icc_2_k",
)
COLUMNS = [
    "dimension",
    "subfield",
    "by",
    "annotator_1",
    "annotator_2",
    "n",
    "n_unassigned",
    "level",
    *(name + end for name in SHOWN for end in ("", "_low", "_high")),
    *(f"{name}_{end}" for name in SHOWN for end in BOUNDS[2:]),
    "prevalence_index",
    "bias_index",
    "reason",
]


@register_table(
    "annotator_pairs",
    question="which pairs of annotators agree, and which disagree systematically",
    columns=COLUMNS,
    needs_verdicts=False,
)
def annotator_pairs(
    annotations: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    categories: Sequence[str] = CHOICES,
    level: str = "nominal",
    by: By = None,
    dimensions: Sequence[str] | None = None,
    cluster: str | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Agreement of every two annotators that share cases: the pairwise matrix in long form.

    Parameters
    ----------
    As in `mrb_lib.stats.agreement.agreement.agreement`.

    Returns
    -------
    DataFrame
        One row a dimension, group of cases and pair: `dimension`, `subfield`, `by`,
        `annotator_1`, `annotator_2`, `n` cases they share, `n_unassigned`, `level`;
        `percent_agreement`, `cohen_kappa`, `linear_kappa`, `quadratic_kappa`, `krippendorff_alpha`,
        `gwet_ac1`, `gwet_ac2`, `pabak`, `icc_2_1` and `icc_2_k` (of the mean of their two scores),
        each with the bounds `_low` and `_high` of a cluster-bootstrap interval (`_bca_low`, `_bca_high`:
        bias-corrected and accelerated) and `_analytic_low`, `_analytic_high` of an analytic one;
        `prevalence_index` and `bias_index`; `reason`. Null for fewer than two shared cases (the
        intervals: fewer than `ENOUGH_SHARED`); kappas and alpha are also null where both gave one and
        the same label only. Where nobody shares a case there is one row without annotators.

    Raises
    ------
    InputError
        As in `agreement`.

    Notes
    -----
    Analytic intervals of the kappas have the standard errors of Fleiss, Cohen & Everitt (1969), as statsmodels has
    them, on Fisher's scale, see `mrb_lib.stats.agreement.intervals`; those of percent agreement, alpha, AC1 and AC2
    Gwet's (2008), as in irrCAC; where cases are in clusters each cluster counts once. All intervals but the ICC's
    by the F distribution, see `agreement`, cover 93% to 97% with 100 shared cases; with 20 those of kappas do, others
    90% and more. Where a label is rare, or two nearly always agree, the few cases on which they differ decide, and
    intervals of fewer than 100 cases cover less: of a quadratic kappa of .81 those of 30 cases 85% to 92%.
    Kappa is (PABAK - PI^2 + BI^2) / (1 - PI^2 + BI^2) by the indices (Byrt et al. 1993): what a low kappa owes to one
    dominating label, and what to two annotators who use the labels differently.
    The published kappas of PandaLM's annotators: `tests/published/test_pandalm.py`; coverage:
    `tests/simulation/test_agreement.py`.
    """
    kernel = kernels(annotations, categories, level)[1]._replace(coincidences=True)
    coded = encode_annotations(annotations, cases, categories, dimensions)
    codes = cluster_codes(cases, cluster)
    found = list(parts(coded, groups(cases, by), len(cases), kernel.distances))
    often = [part.pairs.shared_by(ENOUGH_SHARED) for part in found]
    measures = [of_pairs(part, pairs, kernel, mean=False) for part, pairs in zip(found, often, strict=True)]
    d = max(1, len(coded.dimensions))
    starts = range(0, len(found), d)
    drawn = resampled([measures[i : i + d] for i in starts], codes, resamples=resamples, seed=seed)
    names = np.array(coded.annotators, dtype=object)
    tables = []
    for start, items in zip(starts, drawn, strict=True):
        group = found[start : start + d]
        estimated = iter(_Table.of([part.pairs for part in group], items, kernel).columns(resamples))
        for part in group:
            named = part.group.label() | {"dimension": coded.dimensions[part.dimension], "level": level}
            columns = next(estimated) | {
                "annotator_1": names[part.pairs.first],
                "annotator_2": names[part.pairs.second],
            }
            if not len(part.pairs.n):
                absence = NOBODY_PAIRED if len(part.cases) else coded.absence(part.dimension)
                columns = {"n": np.zeros(1), "reason": [absence]}
            tables.append(named | columns)
    return typed(_stacked(tables), COLUMNS)


def _stacked(tables: Sequence[Mapping[str, object]]) -> pd.DataFrame:
    """Tables given as columns, one below the other; one value stands for a whole column, none for a missing one."""
    columns: dict[str, list[object]] = {name: [] for name in COLUMNS}
    for part in tables:
        n = len(cast(FloatArray, part["n"]))
        for name, values in columns.items():
            found = part.get(name)
            values.extend(found if isinstance(found, (np.ndarray, list)) else [found] * n)
    return pd.DataFrame(columns, columns=COLUMNS)


class _Table(NamedTuple):
    """All P pairs of all parts of a group, those of a part side by side.

    Attributes
    ----------
    parts : how many pairs each part has
    n : shape (P,), the cases they share
    total : shape (1, P * width), their sums
    values : shape (M, P), the estimates
    often : shape (F,), the positions of pairs that share enough cases for intervals
    shared : the clusters of these
    bounds : shape (6, M, F), their intervals
    """

    kernel: PairKernel
    parts: list[int]
    n: IntArray
    total: FloatArray
    values: FloatArray
    often: IntArray
    shared: SharedClusters
    bounds: FloatArray

    @classmethod
    def of(cls, pairs: Sequence[Pairs], drawn: Sequence[Resampled], kernel: PairKernel) -> _Table:
        """From the pairs of each part, and what is drawn of those that share enough cases."""
        n = np.concatenate([part.n for part in pairs])
        total = np.concatenate([part.total() for part in pairs], axis=1)
        values = kernel.coefficients(total).reshape(len(kernel.names), len(n))
        values[:, n < 2] = np.nan
        often = np.flatnonzero(n >= ENOUGH_SHARED)
        sizes = [int((part.n >= ENOUGH_SHARED).sum()) for part in pairs]
        each = [SharedClusters.of(item, kernel, size) for item, size in zip(drawn, sizes, strict=True)]
        shared = SharedClusters(*(np.concatenate(field) for field in zip(*each, strict=True)))
        bounds = _bounds(drawn, sizes, values[:, often], shared, kernel)
        bounds[:, :, shared.number < 2] = np.nan
        bounds[:, np.isnan(values[:, often])] = np.nan
        return cls(kernel, [len(part.n) for part in pairs], n, total, values, often, shared, bounds)

    def columns(self, resamples: int) -> list[dict[str, FloatArray | IntArray | list[str | None]]]:
        """What is estimated of the pairs of each part."""
        bounds = np.full((len(BOUNDS), *self.values.shape), np.nan)
        bounds[:, :, self.often] = self.bounds
        found: dict[str, FloatArray | IntArray] = {"n": self.n}
        for i, name in enumerate(self.kernel.names):
            found |= _named(name, self.values[i], bounds[:, i])
        q = int(self.kernel.used.sum())
        found |= _named("pabak", adjusted(self.values[0], q), adjusted(bounds[:, 0], q)) | self._indices(q)
        reasons, ends = self._reasons(resamples), np.cumsum([0, *self.parts]).tolist()
        return [
            {name: column[i:j] for name, column in found.items()} | {"reason": reasons[i:j]} for i, j in pairwise(ends)
        ]

    def _indices(self, q: int) -> dict[str, FloatArray]:
        found = self.kernel.split(self.total)
        n = np.where(found.n >= 2, found.n, np.nan)
        first, second = found.first[:, :, 0] / n, found.second[:, :, 0] / n
        return {
            "prevalence_index": prevalence_index((first + second) / 2, q),
            "bias_index": bias_index(first, second, q),
        }

    def _reasons(self, resamples: int) -> list[str | None]:
        level, n = self.kernel.level, self.n.tolist()
        order = (
            NO_ORDER
            if level == "nominal"
            else NO_SCORES
            if level == "ordinal"
            else COARSE
            if is_coarse(self.kernel.used)
            else ""
        )
        reasons = [
            [FEW_SHARED] if n[i] < 2 else [ONE_CATEGORY if undefined else "", order, SPARSE_PAIR]
            for i, undefined in enumerate(np.isnan(self.values[1]).tolist())
        ]
        clusters, independent = (field.tolist() for field in self.shared)
        table = np.concatenate([self.values[None, :, self.often], self.bounds]).transpose(2, 1, 0).tolist()
        for place, i in enumerate(self.often.tolist()):
            items = [Interval(*row) for row in table[place]]
            known = [item for item in items if item.value == item.value]
            texts = [interval_reason(n[i], clusters[place], resamples, item.low, item.high) for item in known]
            texts += [no_bca(item) for item in items]
            if level == "interval" and clusters[place] >= 2:
                single = items[-2]
                exists = single.analytic_low == single.analytic_low
                texts.append(no_f_interval(single.value, independent[place], True, exists))
                texts.append(COARSE if exists and is_coarse(self.kernel.used) else "")
            rough = ROUGH_PAIR if n[i] < MANY_SHARED and clusters[place] >= 2 else ""
            reasons[i] = [*reasons[i][:-1], rough, *texts]
        return [join_reasons(*dict.fromkeys(row)) for row in reasons]


def _bounds(
    drawn: Sequence[Resampled], sizes: Sequence[int], values: FloatArray, shared: SharedClusters, kernel: PairKernel
) -> FloatArray:
    """Of each coefficient and pair, shape (6, M, F), from the estimates, shape (M, F); `sizes` are pairs of parts."""
    if not values.size:
        return np.full((len(BOUNDS), *values.shape), np.nan)
    total = np.concatenate([item.measure.total() for item in drawn], axis=1)
    slopes = kernel.gradients(total)
    ends = np.cumsum([0, *sizes])
    each = [
        Influence.of_pairs(item.sums, slopes[:, i:j]) for item, i, j in zip(drawn, ends[:-1], ends[1:], strict=True)
    ]
    influence = Influence(*(np.concatenate(field, axis=1) for field in zip(*each, strict=True)))
    kappas = slice(1, 1 + len(kernel.kappas))
    least = np.array([0.0, *[-1.0] * (len(values) - 1)])[:, None]
    analytic = np.stack(t_interval(values, influence.square, shared.number, least))
    analytic[:, kappas] = kappa_interval(values[kappas], influence.square[kappas], shared.number)
    if kernel.level == "interval":
        for end, bound in enumerate(f_intervals(kernel.squares(kernel.split(total)))):
            single = np.where(shared.independent, bound[:, 0], np.nan)
            analytic[end, -2:] = single, stepped_up(single, np.full(len(single), 2.0))
    clusters = np.broadcast_to(shared.number.astype(np.float64), values.shape).ravel()
    m, b = len(values), len(drawn[0].replicates)
    of_parts = [item.replicates.T.reshape(m, size, b) for item, size in zip(drawn, sizes, strict=True)]
    replicates = of_parts[0] if len(of_parts) == 1 else np.concatenate(of_parts, axis=1)
    boot = bootstrap_bounds(
        replicates.reshape(values.size, b).T, values.ravel(), influence.acceleration.ravel(), clusters
    )
    return np.concatenate([boot.reshape(-1, *values.shape), analytic])


def _named(name: str, value: FloatArray, bounds: FloatArray) -> dict[str, FloatArray]:
    """An estimate and its bounds as columns."""
    return {name: value} | {f"{name}_{end}": bound for end, bound in zip(BOUNDS, bounds, strict=True)}
