"""Agreement of every two annotators that share cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

import numpy as np
import pandas as pd

from mrb_lib.schema import CHOICES
from mrb_lib.stats.agreement_intervals import Influence, bootstrap_bounds, t_interval
from mrb_lib.stats.agreement_measures import BOUNDS, ENOUGH_SHARED, kappa_interval, kernels, of_pairs
from mrb_lib.stats.icc import f_intervals
from mrb_lib.stats.labels import encode_annotations, parts
from mrb_lib.stats.measures import Resampled, Sums, resampled, table
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, join_reasons, typed
from mrb_lib.stats.pairwise import Pairs
from mrb_lib.stats.resample import cluster_codes, interval_reason
from mrb_lib.stats.subfields import groups
from mrb_lib.stats.weighted import PairKernel, adjusted, bias_index, prevalence_index

NOBODY_PAIRED = "no case has two annotators"
FEW_SHARED = "the two annotators share fewer than two cases"
ONE_CATEGORY = "one category only: agreement beyond chance is undefined"
SPARSE_PAIR = f"no interval: the two share fewer than {ENOUGH_SHARED} cases"
NO_ORDER = "nominal labels: no weighted kappa or ICC"
NO_SCORES = "ordinal labels: no ICC"
CLUSTERED = "no analytic interval for the ICC: cases are in clusters"
SHOWN = ("percent_agreement", "cohen_kappa", "linear_kappa", "quadratic_kappa", "gwet_ac1", "icc_2_1")
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
    "pabak",
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
        `percent_agreement`, `cohen_kappa`, `linear_kappa`, `quadratic_kappa`, `gwet_ac1` and
        `icc_2_1`, each with the bounds `_low` and `_high` of a cluster-bootstrap interval
        (`_bca_low`, `_bca_high`: bias-corrected and accelerated) and `_analytic_low`,
        `_analytic_high` of an analytic one; `pabak`; `prevalence_index` and
        `bias_index`; `reason`. Null for fewer than two shared cases (the intervals: fewer than
        `ENOUGH_SHARED`); the kappas are also null where both gave one and the same label only.
        Where nobody shares a case there is one row without annotators.

    Raises
    ------
    InputError
        As in `agreement`.

    Notes
    -----
    Analytic intervals of the kappas are those of Fleiss, Cohen & Everitt (1969), as in statsmodels, those of
    percent agreement and AC1 Gwet's (2008), as in irrCAC; where cases are in clusters each cluster counts once.
    Kappa is (PABAK - PI^2 + BI^2) / (1 - PI^2 + BI^2) by the indices (Byrt et al. 1993): what a low kappa owes to one
    dominating label, and what to two annotators who use the labels differently.
    The published kappas of PandaLM's annotators: `tests/published/test_pandalm.py`.
    """
    _, kernel = kernels(annotations, categories, level)
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
        clusters, independent = _clusters(drawn, kernel, len(often))
        bounds = np.full((len(BOUNDS), *values.shape), np.nan)
        if len(often):
            bounds[:, :, often] = self._bounds(drawn, values[:, often], clusters, independent)
        bounds[:, :, often[clusters < 2]] = np.nan
        bounds[:, np.isnan(values)] = np.nan
        seen = np.zeros(len(n), dtype=np.int64)
        seen[often] = clusters
        columns: dict[str, object] = {"n": n}
        for i, name in enumerate(names):
            columns |= {name: values[i]} | {f"{name}_{end}": bounds[j, i] for j, end in enumerate(BOUNDS)}
        columns |= self._indices(total)
        columns["reason"] = self._reasons(values, bounds, seen, bool(independent.all()), resamples)
        return columns

    def _bounds(self, drawn: Resampled, values: FloatArray, clusters: IntArray, independent: BoolArray) -> FloatArray:
        """Of each coefficient and pair, shape (6, M, P)."""
        total = drawn.measure.total()
        kappas = len(self.kernel.kappas)
        analytic = np.full((2, *values.shape), np.nan)
        acceleration = np.full(values.shape, np.nan)
        for i, slope in enumerate(self.kernel.gradients(total)):
            influence = Influence.of(drawn.sums, _by_pair(slope))
            acceleration[i] = influence.acceleration
            if 0 < i <= kappas:
                analytic[:, i] = kappa_interval(values[i], influence.square, clusters, independent)
            else:
                analytic[:, i] = t_interval(values[i], influence.square, clusters)
        if self.kernel.level == "interval":
            found = f_intervals(self.kernel.squares(self.kernel.split(total)))
            analytic[:, -1] = [np.where(independent, bound[:, 0], np.nan) for bound in found]
        boot = bootstrap_bounds(drawn.replicates, values.ravel(), acceleration.ravel())
        return np.concatenate([boot.reshape(-1, *values.shape), analytic])

    def _indices(self, total: FloatArray) -> dict[str, FloatArray]:
        found, q = self.kernel.split(total), int(self.kernel.used.sum())
        n = np.where(found.n >= 2, found.n, np.nan)
        first, second = found.first[:, :, 0] / n, found.second[:, :, 0] / n
        return {
            "pabak": adjusted(1 - found.apart[:, 0, 0] / n[:, 0], q),
            "prevalence_index": prevalence_index((first + second) / 2, q),
            "bias_index": bias_index(first, second, q),
        }

    def _reasons(
        self, values: FloatArray, bounds: FloatArray, clusters: IntArray, independent: bool, resamples: int
    ) -> list[str | None]:
        level = self.kernel.level
        given = (
            NO_ORDER if level == "nominal" else NO_SCORES if level == "ordinal" else "" if independent else CLUSTERED
        )
        out: list[str | None] = []
        for i, n in enumerate(self.pairs.n.tolist()):
            if n < 2:
                out.append(FEW_SHARED)
                continue
            texts = [ONE_CATEGORY if np.isnan(values[1, i]) else "", given]
            if n < ENOUGH_SHARED:
                texts.append(SPARSE_PAIR)
            else:
                for low, high, value in zip(bounds[0, :, i], bounds[1, :, i], values[:, i], strict=True):
                    if np.isfinite(value):
                        texts.append(interval_reason(n, int(clusters[i]), resamples, low, high))
            out.append(join_reasons(*dict.fromkeys(texts)))
        return out


def _by_pair(slope: FloatArray) -> Sums:
    """The slopes of each pair, shape (P, width), as a map from all sums to a column a pair."""
    n_pairs, width = slope.shape
    flat = np.nan_to_num(slope).ravel()
    return table(np.arange(len(flat)), np.repeat(np.arange(n_pairs), width), flat, (len(flat), n_pairs))


def _clusters(drawn: Resampled, kernel: PairKernel, n_pairs: int) -> tuple[IntArray, BoolArray]:
    """How many clusters hold cases that each pair shares, and whether each of them holds one such case only."""
    if not n_pairs:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=bool)
    width = drawn.sums.shape[1] // n_pairs
    first = np.arange(n_pairs)[:, None] * width + len(kernel.kappas) + np.arange(len(kernel.values))
    counted = drawn.sums[:, first.ravel()]
    cluster, column = counted.nonzero()
    keys = np.unique(cluster.astype(np.int64) * n_pairs + column // len(kernel.values))
    clusters = np.bincount(keys % n_pairs, minlength=n_pairs).astype(np.int64)
    return clusters, clusters == drawn.measure.total()[0][first].sum(axis=1)
