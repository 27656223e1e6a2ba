"""How far annotators agree with each other, beyond chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from mrb_lib.stats.agreement import icc, reading
from mrb_lib.stats.agreement.coefficients import COEFFICIENTS, Kernel, estimated_alpha
from mrb_lib.stats.agreement.intervals import (
    BOUNDS,
    Interval,
    bounded,
    gradient,
    kappa_interval,
    squared_influence,
    t_interval,
)
from mrb_lib.stats.agreement.labels import Part, encode_annotations, parts
from mrb_lib.stats.agreement.pair_coefficients import (
    ENOUGH_SHARED,
    KAPPAS,
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
from mrb_lib.stats.options import IntArray, join_reasons, mean_of_defined, typed, with_ends
from mrb_lib.stats.resampling.resample import (
    Block,
    Resampled,
    block,
    cluster_codes,
    interval_reason,
    n_clusters,
    resampled,
)
from mrb_lib.stats.subfields import By, groups
from mrb_lib.tables.schema import CHOICES

NOBODY_PAIRED = "no case has two annotators"
FEW_CASES = "fewer than two cases have two annotators"
ONE_CATEGORY = "one category only: agreement beyond chance is undefined"
NO_KAPPA = "cohen_kappa is undefined for every pair of annotators"
ROUGH_PAIRS = f"approximate intervals of kappas: most pairs of annotators share fewer than {MANY_SHARED} cases"
SPARSE_PAIRS = f"no interval for kappas of pairs: most pairs of annotators share fewer than {ENOUGH_SHARED} cases"
NO_ORDER = "nominal labels: no weighted kappa, AC2 or ICC"
NO_SCORES = "ordinal labels: no ICC"
NO_ICC = "the ICC is undefined: the scores do not vary, or annotators and cases cannot be told apart"
_RECOMMENDED = ("percent_agreement", "cohen_kappa", "fleiss_kappa", "krippendorff_alpha", "gwet_ac1")
_FURTHER = ("linear_kappa", "quadratic_kappa", "gwet_ac2", "pabak", *icc.COEFFICIENTS)
SHOWN = (*_RECOMMENDED, *_FURTHER)
_VOTES = (*COEFFICIENTS, "pabak")
COLUMNS = (
    "dimension",
    "subfield",
    "by",
    "n_cases",
    "n_unpaired",
    "n_unassigned",
    "n_annotators",
    "n_categories",
    "n_pairs",
    "n_pairs_undefined",
    "level",
    *with_ends(*_RECOMMENDED),
    "reason",
)
MORE = (
    *with_ends(*_FURTHER),
    *(f"{name}_{end}" for name in SHOWN for end in BOUNDS[2:]),
    *icc.GENERALIZED,
    "prevalence_index",
    "bias_index",
    "annotators_per_case",
)


@register_table(
    "agreement",
    question="do the annotators agree, beyond what chance gives",
    columns=COLUMNS,
    more=MORE,
    needs_verdicts=False,
    meanings=reading.MEANINGS,
    sentence=reading.sentence,
)
def agreement(
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
    intervals: str = "all",
) -> pd.DataFrame:
    """Agreement between annotators on each dimension, overall and by subfield, with intervals.

    Parameters
    ----------
    annotations : the annotations table; annotators may be missing on any case. Rows of
        the annotator `consensus` are nobody's own, and are left out.
    cases : the cases table
    categories : the labels, in their order where `level` is ordinal or interval; on the
        interval level labels that are numbers count as these numbers, others as their positions
    level : of measurement, "nominal", "ordinal" or "interval"; alpha, the weighted kappas and
        AC2 use it, and ICCs are for the interval level
    by, dimensions, cluster, resamples, seed : as in `mrb_lib.stats.accuracy.accuracy`
    intervals : "recommended" leaves the analytic intervals null

    Returns
    -------
    DataFrame
        One row a dimension, overall (`subfield` null) and for every subfield:
        `n_cases` with two annotators or more; `n_unpaired` with one; `n_unassigned` in no
        subfield; `n_annotators`; `n_categories` the labels in use (see Notes); `n_pairs` of
        annotators with a defined kappa, `n_pairs_undefined` others that share cases; `level`;
        and, each with the bounds `_low`, `_high` of a 95% percentile cluster-bootstrap interval, the recommended one,
        and `_analytic_low`, `_analytic_high` of an analytic one:
        `percent_agreement` the share of agreeing pairs of annotators, a mean over cases;
        `cohen_kappa`, `linear_kappa`, `quadratic_kappa` the means over pairs of annotators that
        share two cases or more and have a defined kappa; `fleiss_kappa`; `krippendorff_alpha`;
        `gwet_ac1`; `gwet_ac2` with quadratic weights; `pabak`, percent agreement beyond that of
        labels used evenly; `icc_2_1` and `icc_2_k`, which also have `_generalized_low` and `_high`.
        Without intervals, as they describe: `prevalence_index` (0 labels are used evenly, 1 one
        only); `bias_index` (0 annotators use the labels alike), a mean over pairs;
        `annotators_per_case`, a harmonic mean over cases with two or more, the k of ICC(2,k).
        `reason` says why values are null.

    Raises
    ------
    InputError
        `level` is unknown, a choice is not among the categories, `by` or `cluster` cannot
        be used, or an annotation is about an unknown case.

    Notes
    -----
    Where annotators are missing, Fleiss' kappa takes chance agreement from each case's
    shares of the categories, averaged over all annotated cases, as Gwet (2014, Handbook of
    Inter-Rater Reliability, 4th ed., ch. 3) does; with complete annotations it is Fleiss
    (1971). AC1 and AC2 are Gwet's (2008, doi:10.1348/000711006X126600); their number of categories
    is that of the labels used anywhere in `annotations`, whatever the dimension or subfield, so
    that subfields compare; AC1 stays defined where all gave one label of several in use,
    while the kappas and alpha are null. Alpha is Krippendorff's (2011). The ICCs are those of
    `mrb_lib.stats.agreement.icc`, the indices of prevalence and bias those of
    `mrb_lib.stats.agreement.pair_coefficients`: Fleiss' kappa is (PABAK - PI^2) / (1 - PI^2), so that it falls as one
    label dominates, at the same percent agreement; AC1 beside it does not.
    Alpha's estimates are those of the package `krippendorff`, which the bootstrap's kernel equals to rounding.

    Analytic intervals, see `mrb_lib.stats.agreement.intervals`, count each cluster once; those of kappas of pairs
    have the standard errors of Fleiss, Cohen & Everitt (1969), but are symmetric on Fisher's scale. Bootstrap
    intervals are a little wider than plain percentiles where clusters are few. Both hold for the annotators at hand;
    the ICC's analytic interval, by the F distribution, and its generalized one take annotators as a sample, too, and
    stay wider by that however many the cases. They need normal scores, every annotator to have scored every
    case, and cases that are not in clusters. The former is the customary one, the latter right where annotators are
    few and differ; of three labels the former covers 90% to 95% of the time, and 70% where nearly all agree. All
    others cover 93% to 97% with 100 cases and with 1,000.
    irrCAC takes the number of cases with a single annotator as fixed, which widens its intervals
    of Fleiss' kappa and AC1 where there are such cases; without them they are these.
    Kappas of pairs that share few cases are biased, and more so in resamples, so that a
    bootstrap interval would miss its own estimate (it does on LLMFAO's 124 annotators): there
    is none for kappas of pairs where the median pair shares fewer than `ENOUGH_SHARED` cases, and
    `reason` calls it approximate below `MANY_SHARED`: a sample may then hold none of the few
    cases on which two annotators who nearly always agree, or one of whom uses a rare label, differ.
    Validated in `tests/published/test_agreement_textbook.py` and `tests/stats/agreement/test_agreement.py`;
    coverage in `tests/simulation/test_agreement.py`.
    """
    many, two = kernels(annotations, categories, level)
    coded = encode_annotations(annotations, cases, categories, dimensions)
    codes = cluster_codes(cases, cluster)
    subsets = parts(coded, groups(cases, by), len(cases), two.distances)
    plans = [_ResamplingPlan.of(part, many, two, codes) for part in subsets]
    blocks = [item for plan in plans for item in plan.blocks.values()]
    drawn = resampled(blocks, n_clusters(codes), resamples=resamples, seed=seed)
    rows = []
    for plan in plans:
        item = _Estimates.of(plan, {name: next(drawn) for name in plan.blocks}, seed, intervals == "all")
        name, absence = coded.dimensions[plan.part.dimension], coded.absence(plan.part.dimension)
        rows.append(plan.counts() | {"dimension": name} | item.columns(plan, absence, resamples))
    columns = [*COLUMNS, *MORE]
    return typed(pd.DataFrame(rows, columns=columns), columns)


class _ResamplingPlan(NamedTuple):
    """A part and what is estimated of it: of votes, of pairs, and of scores where labels are scores."""

    part: Part
    many: Kernel
    two: PairKernel
    pairs: Pairs
    blocks: dict[str, Block]

    @classmethod
    def of(cls, part: Part, many: Kernel, two: PairKernel, codes: IntArray) -> _ResamplingPlan:
        pairs = part.pairs.shared_by(2)
        codes = codes[part.cases]
        blocks = {"votes": block(codes, many.case_statistics(part.votes), many.coefficients)}
        if len(pairs.n) and np.median(pairs.n) >= ENOUGH_SHARED:
            blocks["pairs"] = block(codes, pairs.sums, two.mean_kappas)
        if many.level == "interval":
            sums = icc.case_sums(part.position, part.annotator, many.values[part.choice], len(part.cases))
            blocks["scores"] = block(codes, sums, icc.coefficients)
        return cls(part, many, two, pairs, blocks)

    def counts(self) -> dict[str, object]:
        """Counts and indices."""
        number, q = self.part.votes.sum(axis=1), self.many.n_categories
        row = {
            **self.part.group.label(),
            "n_cases": int((number >= 2).sum()),
            "n_unpaired": int((number == 1).sum()),
            "n_annotators": self.part.n_annotators,
            "n_categories": q,
            "n_pairs": 0,
            "n_pairs_undefined": len(self.part.pairs.n),
            "level": self.many.level,
        }
        if (number >= 2).sum() < 2:
            return row
        row["annotators_per_case"] = 1 / (1 / number[number >= 2]).mean()
        shares = (self.part.votes / number[:, None]).mean(axis=0)
        row["prevalence_index"] = float(prevalence_index(shares, q))
        if len(self.pairs.n):
            sums = self.pairs.total()
            split = self.two.split(sums)
            each = bias_index(split.first[:, :, 0] / split.n, split.second[:, :, 0] / split.n, q)
            row["bias_index"] = float(each.mean())
            defined = int(np.isfinite(self.two.each_kappa(sums)[0]).sum())
            row |= {"n_pairs": defined, "n_pairs_undefined": len(self.part.pairs.n) - defined}
        return row


class _Estimates(NamedTuple):
    """What is estimated of a part.

    Attributes
    ----------
    clusters : how many clusters hold cases with two annotators
    coefficients : those of votes and pairs
    scores : those of scores, where labels are
    """

    clusters: int
    coefficients: dict[str, Interval]
    scores: icc.Scores | None

    @classmethod
    def of(cls, plan: _ResamplingPlan, drawn: dict[str, Resampled], seed: int, analytic: bool) -> _Estimates:
        votes = np.asarray(drawn["votes"].sums)
        shares = votes[:, 3 : 3 + len(plan.many.values)]
        paired, annotated = int((votes[:, 0] > 0).sum()), int((shares.sum(axis=1) > 0).sum())
        alpha = estimated_alpha(plan.part.votes, plan.many.level, plan.many.values)
        coefficients = _of_votes(drawn["votes"], plan.many, alpha, paired, annotated, analytic)
        if "pairs" in drawn:
            coefficients |= _of_pairs(drawn["pairs"], len(plan.pairs.n), paired, plan.two, analytic)
        scores = None
        if "scores" in drawn:
            scores = icc.icc_intervals(drawn["scores"], annotated == len(plan.part.cases), seed)
        return cls(paired, coefficients, scores)

    def columns(self, plan: _ResamplingPlan, absence: str, resamples: int) -> dict[str, object]:
        """The coefficients with their intervals, and why some of them are null."""
        n_cases = int(plan.part.paired.sum())
        if n_cases < 2:
            return {"reason": absence if not len(plan.part.cases) else FEW_CASES if n_cases else NOBODY_PAIRED}
        estimates = dict(self.coefficients)
        reasons = [ONE_CATEGORY] if np.isnan(estimates["krippendorff_alpha"].value) else []
        shared = float(np.median(plan.pairs.n)) if len(plan.pairs.n) else np.inf
        sparse = shared < ENOUGH_SHARED
        if sparse:
            means = plan.two.mean_kappas(plan.pairs.total())[0].tolist()
            estimates |= {name: Interval(value) for name, value in zip(plan.two.kappas, means, strict=True)}
        if np.isnan(estimates.get("cohen_kappa", Interval()).value):
            reasons.append(NO_KAPPA)
        elif shared < MANY_SHARED:
            reasons.append(SPARSE_PAIRS if sparse else ROUGH_PAIRS)
        generalized: dict[str, float] = {}
        if self.scores is None:
            reasons.append(NO_ORDER if plan.many.level == "nominal" else NO_SCORES)
        else:
            estimates |= dict(zip(icc.COEFFICIENTS, self.scores.intervals, strict=True))
            generalized = self.scores.generalized
            reasons.append(NO_ICC if np.isnan(estimates["icc_2_1"].value) else self.scores.reason)
            reasons.append(icc.COARSE if generalized and icc.is_coarse(plan.many.used) else "")
        row: dict[str, object] = {}
        for name, item in estimates.items():
            defined = np.isfinite(item.value)
            row |= (item if defined and self.clusters >= 2 else Interval(item.value)).columns(name)
            if self.clusters < 2 or (defined and not (sparse and name in KAPPAS)):
                reasons.append(interval_reason(n_cases, self.clusters, resamples, item.low, item.high))
        return generalized | row | {"reason": join_reasons(*dict.fromkeys(reasons))}


def _of_votes(
    drawn: Resampled, kernel: Kernel, alpha: float, paired: int, annotated: int, analytic: bool
) -> dict[str, Interval]:
    """Of the coefficients that need no pairs of annotators, by name.

    Parameters
    ----------
    alpha : its estimate
    paired, annotated : how many clusters hold cases with two annotators, and with one or more
    analytic : whether to make those intervals
    """
    total = drawn.total
    value = kernel.coefficients(total)
    value[0, COEFFICIENTS.index("krippendorff_alpha")] = alpha
    clusters = np.array([[paired, annotated, paired, annotated, annotated]])
    ends = np.full((2, *value.shape), np.nan)
    if analytic:
        slope = gradient(kernel._replace(finite=False).coefficients, total)[0]
        least = np.array([0.0, -1.0, -1.0, -1.0, -1.0])
        ends = np.array(t_interval(value, squared_influence(drawn.sums, slope)[None], clusters, least))
    (row,) = bounded([drawn], value, ends, clusters)
    row.append(Interval(*adjusted(np.array(row[0]), kernel.n_categories).tolist()))
    return dict(zip(_VOTES, row, strict=True))


def _of_pairs(
    drawn: Resampled, n_pairs: int, clusters_paired: int, kernel: PairKernel, analytic: bool
) -> dict[str, Interval]:
    """Of the means over pairs of annotators of Cohen's kappa and its weighted forms, by name."""
    total = drawn.total
    kappas = kernel.each_kappa(total)
    defined = np.isfinite(kappas)
    value = mean_of_defined(kappas).T
    shared = np.median(SharedClusters.of(drawn.sums, kernel, n_pairs).number) if clusters_paired >= 2 else 0.0
    clusters = np.full(value.shape, shared)
    ends = np.full((2, *value.shape), np.nan)
    if analytic:
        share = defined / np.maximum(defined.sum(axis=1, keepdims=True), 1)
        slopes = np.where(defined[:, :, None], kernel.gradients(total)[1 : 1 + len(kappas)], 0.0) * share[:, :, None]
        variance = squared_influence(drawn.sums, slopes.reshape(len(kappas), -1).T)[None]
        ends = np.array(kappa_interval(value, variance, clusters))
    (row,) = bounded([drawn], value, ends, clusters)
    return dict(zip(kernel.kappas, row, strict=True))
