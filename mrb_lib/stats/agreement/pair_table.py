"""Agreement of every two annotators that share cases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from mrb_lib.stats.agreement import reading
from mrb_lib.stats.agreement.icc import COARSE, f_intervals, is_coarse, no_f_interval, stepped_up
from mrb_lib.stats.agreement.intervals import (
    BOUNDS,
    Interval,
    bootstrap_bounds,
    kappa_interval,
    squared_influence_of_pairs,
    t_interval,
)
from mrb_lib.stats.agreement.labels import encode_annotations, parts
from mrb_lib.stats.agreement.pair_coefficients import (
    ENOUGH_SHARED,
    MANY_SHARED,
    PairKernel,
    SharedClusters,
    adjusted,
    bias_index,
    kernels,
    prevalence_index,
)
from mrb_lib.stats.agreement.pairwise import Pairs
from mrb_lib.stats.core.table import register_table
from mrb_lib.stats.options import FloatArray, IntArray, join_reasons, stacked, typed, with_ends
from mrb_lib.stats.resampling.resample import Resampled, block, cluster_codes, interval_reason, n_clusters, resampled
from mrb_lib.stats.subfields import By, groups
from mrb_lib.tables.schema import CHOICES

NOBODY_PAIRED = "no case has two annotators"
FEW_SHARED = "the two annotators share fewer than two cases"
ONE_CATEGORY = "one category only: agreement beyond chance is undefined"
SPARSE_PAIR = f"no interval: the two share fewer than {ENOUGH_SHARED} cases"
ROUGH_PAIR = f"approximate intervals: the two share fewer than {MANY_SHARED} cases"
NO_ORDER = "nominal labels: no weighted kappa, AC2 or ICC"
NO_SCORES = "ordinal labels: no ICC"
_RECOMMENDED = ("percent_agreement", "cohen_kappa", "krippendorff_alpha", "gwet_ac1")
_FURTHER = ("linear_kappa", "quadratic_kappa", "gwet_ac2", "pabak", "icc_2_1", "icc_2_k")
SHOWN = (*_RECOMMENDED, *_FURTHER)
COLUMNS = (
    "dimension",
    "subfield",
    "by",
    "annotator_1",
    "annotator_2",
    "n",
    "n_unassigned",
    "level",
    *with_ends(*_RECOMMENDED),
    "reason",
)
MORE = (
    *with_ends(*_FURTHER),
    *(f"{name}_{end}" for name in SHOWN for end in BOUNDS[2:]),
    "prevalence_index",
    "bias_index",
)


@register_table(
    "annotator_pairs",
    question="which pairs of annotators agree, and which disagree systematically",
    columns=COLUMNS,
    more=MORE,
    needs_verdicts=False,
    meanings=reading.MEANINGS_OF_PAIRS,
    sentence=reading.sentence_of_pairs,
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
    As in `mrb_lib.stats.agreement.agreement`.

    Returns
    -------
    DataFrame
        One row a dimension, group of cases and pair: `dimension`, `subfield`, `by`,
        `annotator_1`, `annotator_2`, `n` cases they share, `n_unassigned`, `level`;
        `percent_agreement`, `cohen_kappa`, `linear_kappa`, `quadratic_kappa`, `krippendorff_alpha`,
        `gwet_ac1`, `gwet_ac2`, `pabak`, `icc_2_1` and `icc_2_k` (of the mean of their two scores),
        each with the bounds `_low` and `_high` of a cluster-bootstrap interval, the recommended one, and
        `_analytic_low`, `_analytic_high` of an analytic one;
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
    every = list(parts(coded, groups(cases, by), len(cases), kernel.distances))
    often = [part.pairs.shared_by(ENOUGH_SHARED) for part in every]
    blocks = [
        block(codes[part.cases], pairs.sums, kernel.coefficients) for part, pairs in zip(every, often, strict=True)
    ]
    names = np.array(coded.annotators, dtype=object)
    tables = []
    for part, drawn in zip(every, resampled(blocks, n_clusters(codes), resamples=resamples, seed=seed), strict=True):
        if len(part.pairs.n):
            columns = _Table.of(part.pairs, drawn, kernel).columns(resamples)
            columns |= {"annotator_1": names[part.pairs.first], "annotator_2": names[part.pairs.second]}
        else:
            absence = NOBODY_PAIRED if len(part.cases) else coded.absence(part.dimension)
            columns = {"n": np.zeros(1), "reason": [absence]}
        named = part.group.label() | {"dimension": coded.dimensions[part.dimension], "level": level}
        tables.append({**columns, **named})
    shown = [*COLUMNS, *MORE]
    return typed(stacked(tables, shown, "n"), shown)


class _Table(NamedTuple):
    """The P pairs of annotators of a part.

    Attributes
    ----------
    n : shape (P,), the cases they share
    total : shape (1, P * width), their sums
    values : shape (M, P), the estimates
    often : shape (F,), the positions of pairs that share enough cases for intervals
    shared : the clusters of these
    bounds : shape (4, M, F), their intervals
    """

    kernel: PairKernel
    n: IntArray
    total: FloatArray
    values: FloatArray
    often: IntArray
    shared: SharedClusters
    bounds: FloatArray

    @classmethod
    def of(cls, pairs: Pairs, drawn: Resampled, kernel: PairKernel) -> _Table:
        """From all pairs, and what is drawn of those that share enough cases."""
        total, often = pairs.total(), np.flatnonzero(pairs.n >= ENOUGH_SHARED)
        values = kernel.coefficients(total).reshape(len(kernel.names), len(pairs.n))
        values[:, pairs.n < 2] = np.nan
        shared = SharedClusters.of(drawn.sums, kernel, len(often))
        bounds = _bounds(drawn, values[:, often], shared, kernel)
        bounds[:, :, shared.number < 2] = np.nan
        bounds[:, np.isnan(values[:, often])] = np.nan
        return cls(kernel, pairs.n, total, values, often, shared, bounds)

    def columns(self, resamples: int) -> dict[str, object]:
        """What is estimated of the pairs."""
        bounds = np.full((len(BOUNDS), *self.values.shape), np.nan)
        bounds[:, :, self.often] = self.bounds
        columns: dict[str, object] = {"n": self.n, "reason": self._reasons(resamples)}
        for i, name in enumerate(self.kernel.names):
            columns |= _named(name, self.values[i], bounds[:, i])
        q = int(self.kernel.used.sum())
        return columns | _named("pabak", adjusted(self.values[0], q), adjusted(bounds[:, 0], q)) | self._indices(q)

    def _indices(self, q: int) -> dict[str, FloatArray]:
        split = self.kernel.split(self.total)
        n = np.where(split.n >= 2, split.n, np.nan)
        first, second = split.first[:, :, 0] / n, split.second[:, :, 0] / n
        return {
            "prevalence_index": prevalence_index((first + second) / 2, q),
            "bias_index": bias_index(first, second, q),
        }

    def _reasons(self, resamples: int) -> list[str | None]:
        level, n = self.kernel.level, self.n.tolist()
        coarse = COARSE if is_coarse(self.kernel.used) else ""
        order = {"nominal": NO_ORDER, "ordinal": NO_SCORES, "interval": coarse}[level]
        reasons = [
            [FEW_SHARED] if n[i] < 2 else [ONE_CATEGORY if undefined else "", order, SPARSE_PAIR]
            for i, undefined in enumerate(np.isnan(self.values[1]).tolist())
        ]
        clusters, independent = (field.tolist() for field in self.shared)
        table = np.concatenate([self.values[None, :, self.often], self.bounds]).transpose(2, 1, 0).tolist()
        for column, i in enumerate(self.often.tolist()):
            items = [Interval(*row) for row in table[column]]
            defined = [item for item in items if np.isfinite(item.value)]
            texts = [interval_reason(n[i], clusters[column], resamples, item.low, item.high) for item in defined]
            if level == "interval" and clusters[column] >= 2:
                single = items[-2]
                has_f = bool(np.isfinite(single.analytic_low))
                texts.append(no_f_interval(single.value, independent[column], True, has_f))
                texts.append(coarse if has_f else "")
            rough = ROUGH_PAIR if n[i] < MANY_SHARED and clusters[column] >= 2 else ""
            reasons[i] = [*reasons[i][:-1], rough, *texts]
        return [join_reasons(*dict.fromkeys(row)) for row in reasons]


def _bounds(drawn: Resampled, values: FloatArray, shared: SharedClusters, kernel: PairKernel) -> FloatArray:
    """Of each coefficient and pair, shape (4, M, F), from the estimates, shape (M, F)."""
    if not values.size:
        return np.full((len(BOUNDS), *values.shape), np.nan)
    total = drawn.total
    variance = squared_influence_of_pairs(drawn.sums, kernel.gradients(total))
    kappas = slice(1, 1 + len(kernel.kappas))
    least = np.array([0.0, *[-1.0] * (len(values) - 1)])[:, None]
    analytic = np.stack(t_interval(values, variance, shared.number, least))
    analytic[:, kappas] = kappa_interval(values[kappas], variance[kappas], shared.number)
    if kernel.level == "interval":
        for end, bound in enumerate(f_intervals(kernel.squares(kernel.split(total)))):
            single = np.where(shared.independent, bound[:, 0], np.nan)
            analytic[end, -2:] = single, stepped_up(single, np.full(len(single), 2.0))
    clusters = np.broadcast_to(shared.number.astype(np.float64), values.shape).ravel()
    ends = bootstrap_bounds(drawn.replicates, clusters)
    return np.concatenate([ends.reshape(-1, *values.shape), analytic])


def _named(name: str, value: FloatArray, bounds: FloatArray) -> dict[str, FloatArray]:
    """An estimate and its bounds as columns."""
    return {name: value} | {f"{name}_{end}": bound for end, bound in zip(BOUNDS, bounds, strict=True)}
