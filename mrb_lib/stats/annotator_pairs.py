"""Agreement of every two annotators that share cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

import numpy as np
import pandas as pd

from mrb_lib.schema import CHOICES
from mrb_lib.stats.agreement_intervals import Influence, bootstrap_bounds, kappa_interval, t_interval
from mrb_lib.stats.agreement_measures import (
    BOUNDS,
    ENOUGH_SHARED,
    MANY_SHARED,
    Interval,
    SharedClusters,
    kernels,
    no_bca,
    no_f_interval,
    of_pairs,
)
from mrb_lib.stats.icc import f_intervals, stepped_up
from mrb_lib.stats.labels import encode_annotations, parts
from mrb_lib.stats.measures import Resampled, Sums, resampled, table
from mrb_lib.stats.options import FloatArray, join_reasons, typed
from mrb_lib.stats.pairwise import Pairs
from mrb_lib.stats.resample import cluster_codes, interval_reason
from mrb_lib.stats.subfields import groups
from mrb_lib.stats.weighted import PairKernel, adjusted, bias_index, prevalence_index

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


def annotator_pairs(
    annotations: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    categories: Sequence[str] = CHOICES,
    level: str = "nominal",
    by: str | None = None,
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
    them, on Fisher's scale, see `mrb_lib.stats.agreement_intervals`; those of percent agreement, alpha, AC1 and AC2
    Gwet's (2008), as in irrCAC; where cases are in clusters each cluster counts once. All bootstrap intervals are
    widened for the number of cases that the two share, see `agreement_intervals.bootstrap_bounds`. With 100
    cases they cover 93% to 97%, with 20 92% and more; where a label is rare or the two nearly always agree, fewer:
    then the few cases on which they differ decide, and a sample may hold none.
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
    drawn = resampled([measures[i : i + d] for i in range(0, len(found), d)], codes, resamples=resamples, seed=seed)
    tables = []
    for part, item in zip(found, [item for group in drawn for item in group], strict=True):
        named = part.group.label() | {"dimension": coded.dimensions[part.dimension], "level": level}
        if len(part.pairs.n):
            names = np.array(coded.annotators, dtype=object)
            estimated = _Table(part.pairs, kernel).columns(item, resamples)
            named |= {"annotator_1": names[part.pairs.first], "annotator_2": names[part.pairs.second]}
        else:
            estimated = {
                "n": np.zeros(1),
                "reason": [NOBODY_PAIRED if len(part.cases) else coded.absence(part.dimension)],
            }
        tables.append(named | estimated)
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
    """All pairs of one part."""

    pairs: Pairs
    kernel: PairKernel

    def columns(self, drawn: Resampled, resamples: int) -> dict[str, object]:
        """What is estimated of each pair."""
        n, kernel, total = self.pairs.n, self.kernel, self.pairs.total()
        often = np.flatnonzero(n >= ENOUGH_SHARED)
        names = kernel.names
        values = kernel.coefficients(total).reshape(len(names), len(n))
        values[:, n < 2] = np.nan
        shared = SharedClusters.of(drawn, kernel, len(often))
        bounds = np.full((len(BOUNDS), *values.shape), np.nan)
        if len(often):
            bounds[:, :, often] = self._bounds(drawn, values[:, often], shared)
        bounds[:, :, often[shared.number < 2]] = np.nan
        bounds[:, np.isnan(values)] = np.nan
        columns: dict[str, object] = {"n": n}
        for i, name in enumerate(names):
            columns |= _named(name, values[i], bounds[:, i])
        q = int(kernel.used.sum())
        columns |= _named("pabak", adjusted(values[0], q), adjusted(bounds[:, 0], q))
        reasons = [self._reason(int(size), values[:, i], resamples) for i, size in enumerate(n)]
        for place, i in enumerate(often.tolist()):
            alone, clusters = bool(shared.independent[place]), int(shared.number[place])
            items = [Interval(*row) for row in np.vstack([values[:, i], bounds[:, :, i]]).T.tolist()]
            reasons[i] += [
                interval_reason(int(n[i]), clusters, resamples, item.low, item.high)
                for item in items
                if np.isfinite(item.value)
            ]
            reasons[i] += [no_bca(item) for item in items]
            if kernel.level == "interval" and clusters >= 2:
                reasons[i].append(no_f_interval(items[-2].value, alone, True, np.isfinite(items[-2].analytic_low)))
        texts = [join_reasons(*dict.fromkeys(row)) for row in reasons]
        return columns | self._indices(total) | {"reason": texts}

    def _reason(self, n: int, values: FloatArray, resamples: int) -> list[str]:
        """Why coefficients of a pair are null, and what the number of cases says about the intervals."""
        if n < 2:
            return [FEW_SHARED]
        level = self.kernel.level
        size = SPARSE_PAIR if n < ENOUGH_SHARED else ROUGH_PAIR if n < MANY_SHARED and resamples else ""
        order = NO_ORDER if level == "nominal" else NO_SCORES if level == "ordinal" else ""
        return [ONE_CATEGORY if np.isnan(values[1]) else "", order, size]

    def _bounds(self, drawn: Resampled, values: FloatArray, shared: SharedClusters) -> FloatArray:
        """Of each coefficient and pair, shape (6, M, P)."""
        total = drawn.measure.total()
        slopes = self.kernel.gradients(total)
        influence = Influence.of_each([drawn.sums] * len(slopes), [_by_pair(slope) for slope in slopes])
        kappas = slice(1, 1 + len(self.kernel.kappas))
        least = np.array([0.0, *[-1.0] * (len(values) - 1)])[:, None]
        analytic = np.stack(t_interval(values, influence.square, shared.number, least))
        analytic[:, kappas] = kappa_interval(values[kappas], influence.square[kappas], shared.number)
        if self.kernel.level == "interval":
            squares = self.kernel.squares(self.kernel.split(total))
            for end, bound in enumerate(f_intervals(squares)):
                single = np.where(shared.independent, bound[:, 0], np.nan)
                analytic[end, -2:] = single, stepped_up(single, np.full(len(single), 2.0))
        few = np.broadcast_to(shared.number.astype(np.float64), values.shape).ravel()
        boot = bootstrap_bounds(drawn.replicates, values.ravel(), influence.acceleration.ravel(), few)
        return np.concatenate([boot.reshape(-1, *values.shape), analytic])

    def _indices(self, total: FloatArray) -> dict[str, FloatArray]:
        found, q = self.kernel.split(total), int(self.kernel.used.sum())
        n = np.where(found.n >= 2, found.n, np.nan)
        first, second = found.first[:, :, 0] / n, found.second[:, :, 0] / n
        return {
            "prevalence_index": prevalence_index((first + second) / 2, q),
            "bias_index": bias_index(first, second, q),
        }


def _named(name: str, value: FloatArray, bounds: FloatArray) -> dict[str, FloatArray]:
    """An estimate and its bounds as columns."""
    return {name: value} | {f"{name}_{end}": bound for end, bound in zip(BOUNDS, bounds, strict=True)}


def _by_pair(slope: FloatArray) -> Sums:
    """The slopes of each pair, shape (P, width), as a map from all sums to a column a pair."""
    n_pairs, width = slope.shape
    flat = np.nan_to_num(slope).ravel()
    return table(np.arange(len(flat)), np.repeat(np.arange(n_pairs), width), flat, (len(flat), n_pairs))
