"""How far annotators agree with each other, beyond chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from mrb_lib.schema import CHOICES
from mrb_lib.stats.agreement import icc
from mrb_lib.stats.agreement.annotator_pairs import annotator_pairs as annotator_pairs
from mrb_lib.stats.agreement.coefficients import Kernel
from mrb_lib.stats.agreement.labels import Part, encode_annotations, parts
from mrb_lib.stats.agreement.measures import (
    BOUNDS,
    COARSE,
    ENOUGH_SHARED,
    MANY_SHARED,
    VOTES,
    Interval,
    Scores,
    icc_intervals,
    is_coarse,
    kernels,
    mean_kappa_intervals,
    no_bca,
    of_pairs,
    of_scores,
    of_votes,
    votes_intervals,
)
from mrb_lib.stats.agreement.pair_coefficients import KAPPAS, PairKernel, bias_index, prevalence_index
from mrb_lib.stats.agreement.pairwise import Pairs
from mrb_lib.stats.core.options import join_reasons, typed
from mrb_lib.stats.core.subfields import By, groups
from mrb_lib.stats.core.table import register_table
from mrb_lib.stats.resampling.ahead import ahead
from mrb_lib.stats.resampling.multi_resample import Measure, Resampled, resampled
from mrb_lib.stats.resampling.resample import cluster_codes, interval_reason

NOBODY_PAIRED = "no case has two annotators"
FEW_CASES = "fewer than two cases have two annotators"
ONE_CATEGORY = "one category only: agreement beyond chance is undefined"
NO_KAPPA = "cohen_kappa is undefined for every pair of annotators"
ROUGH_PAIRS = f"approximate intervals of kappas: most pairs of annotators share fewer than {MANY_SHARED} cases"
SPARSE_PAIRS = f"no interval for kappas of pairs: most pairs of annotators share fewer than {ENOUGH_SHARED} cases"
NO_ORDER = "nominal labels: no weighted kappa, AC2 or ICC"
NO_SCORES = "ordinal labels: no ICC"
NO_ICC = "the ICC is undefined: the scores do not vary, or annotators and cases cannot be told apart"
SHOWN = (
    "percent_agreement",
    "cohen_kappa",
    "linear_kappa",
    "quadratic_kappa",
    "fleiss_kappa",
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
    "n_cases",
    "n_unpaired",
    "n_unassigned",
    "n_annotators",
    "n_categories",
    "n_pairs",
    "n_pairs_undefined",
    "level",
    *(name + end for name in SHOWN for end in ("", "_low", "_high")),
    *(f"{name}_{end}" for name in SHOWN for end in BOUNDS[2:]),
    *(f"{name}_generalized_{end}" for name in icc.COEFFICIENTS for end in ("low", "high")),
    "prevalence_index",
    "bias_index",
    "annotators_per_case",
    "reason",
]


@register_table(
    "agreement",
    question="do the annotators agree, beyond what chance gives",
    columns=COLUMNS,
    needs_verdicts=False,
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

    Returns
    -------
    DataFrame
        One row a dimension, overall (`subfield` null) and for every subfield:
        `n_cases` with two annotators or more; `n_unpaired` with one; `n_unassigned` in no
        subfield; `n_annotators`; `n_categories` the labels in use (see Notes); `n_pairs` of
        annotators with a defined kappa, `n_pairs_undefined` others that share cases; `level`;
        and, each with the bounds `_low`, `_high` of a 95% percentile cluster-bootstrap interval
        (`_bca_low`, `_bca_high`: bias-corrected and accelerated) and `_analytic_low`,
        `_analytic_high` of an analytic one:
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
        be used, or an annotation speaks of an unknown case.

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
    plans = [_Plan.of(part, many, two) for part in parts(coded, groups(cases, by), len(cases), two.distances)]
    d = max(1, len(coded.dimensions))
    by_group = [plans[i : i + d] for i in range(0, len(plans), d)]
    measures = [[item for plan in group for item in plan.measures.values()] for group in by_group]
    rows = []
    drawn = zip(by_group, resampled(measures, codes, resamples=resamples, seed=seed), strict=True)
    for group, found in zip(by_group, ahead(lambda job: _Estimates.of(*job, seed), drawn), strict=True):
        for plan, item in zip(group, found, strict=True):
            name, absence = coded.dimensions[plan.part.dimension], coded.absence(plan.part.dimension)
            rows.append(plan.described() | {"dimension": name} | item.columns(plan, absence, resamples))
    return typed(pd.DataFrame(rows, columns=COLUMNS), COLUMNS)


class _Plan(NamedTuple):
    """A part and what is estimated of it: of votes, of pairs, and of scores where labels are scores."""

    part: Part
    many: Kernel
    two: PairKernel
    pairs: Pairs
    measures: dict[str, Measure]

    @classmethod
    def of(cls, part: Part, many: Kernel, two: PairKernel) -> _Plan:
        pairs = part.pairs.shared_by(2)
        measures = {"votes": of_votes(part, many)}
        if len(pairs.n) and np.median(pairs.n) >= ENOUGH_SHARED:
            measures["pairs"] = of_pairs(part, pairs, two, mean=True)
        if many.level == "interval":
            measures["scores"] = of_scores(part, many)
        return cls(part, many, two, pairs, measures)

    def described(self) -> dict[str, object]:
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
    scores: Scores | None

    @classmethod
    def of(cls, plans: Sequence[_Plan], drawn: Sequence[Resampled], seed: int) -> list[_Estimates]:
        """Of all parts of a group, from their measures in order."""
        given = iter(drawn)
        found = [{name: next(given) for name in plan.measures} for plan in plans]
        votes = [np.asarray(item["votes"].sums) for item in found]
        clusters = [int((sums[:, 0] > 0).sum()) for sums in votes]
        k = len(plans[0].many.values)
        annotated = [int((sums[:, 3 : 3 + k].sum(axis=1) > 0).sum()) for sums in votes]
        independent = [n == len(plan.part.cases) for n, plan in zip(annotated, plans, strict=True)]
        paired = [i for i, item in enumerate(found) if "pairs" in item]
        many, two = plans[0].many, plans[0].two
        of_pair = mean_kappa_intervals(
            [found[i]["pairs"] for i in paired],
            [len(plans[i].pairs.n) for i in paired],
            [clusters[i] for i in paired],
            two,
        )
        kappas = dict(zip(paired, of_pair, strict=True))
        scores = iter(icc_intervals([item["scores"] for item in found if "scores" in item], independent, seed))
        out = []
        for i, row in enumerate(votes_intervals([item["votes"] for item in found], many)):
            named = dict(zip(VOTES, row, strict=True)) | dict(zip(two.kappas, kappas.get(i, []), strict=False))
            out.append(cls(clusters[i], named, next(scores) if many.level == "interval" else None))
        return out

    def columns(self, plan: _Plan, absence: str, resamples: int) -> dict[str, object]:
        """The coefficients with their intervals, and why some of them are null."""
        n_cases = int(plan.part.paired.sum())
        if n_cases < 2:
            return {"reason": absence if not len(plan.part.cases) else FEW_CASES if n_cases else NOBODY_PAIRED}
        found = dict(self.coefficients)
        reasons = [ONE_CATEGORY] if np.isnan(found["krippendorff_alpha"].value) else []
        shared = float(np.median(plan.pairs.n)) if len(plan.pairs.n) else np.inf
        sparse = shared < ENOUGH_SHARED
        if sparse:
            means = plan.two.mean_kappas(plan.pairs.total())[0].tolist()
            found |= {name: Interval(value) for name, value in zip(plan.two.kappas, means, strict=True)}
        if np.isnan(found.get("cohen_kappa", Interval()).value):
            reasons.append(NO_KAPPA)
        elif shared < MANY_SHARED:
            reasons.append(SPARSE_PAIRS if sparse else ROUGH_PAIRS)
        generalized: dict[str, float] = {}
        if self.scores is None:
            reasons.append(NO_ORDER if plan.many.level == "nominal" else NO_SCORES)
        else:
            found |= dict(zip(icc.COEFFICIENTS, self.scores.intervals, strict=True))
            generalized = self.scores.generalized
            reasons.append(NO_ICC if np.isnan(found["icc_2_1"].value) else self.scores.reason)
            reasons.append(COARSE if generalized and is_coarse(plan.many.used) else "")
        row: dict[str, object] = {}
        for name, item in found.items():
            known = np.isfinite(item.value)
            row |= (item if known and self.clusters >= 2 else item.without_bounds()).columns(name)
            if self.clusters < 2 or (known and not (sparse and name in KAPPAS)):
                reasons.append(interval_reason(n_cases, self.clusters, resamples, item.low, item.high))
                reasons.append(no_bca(item))
        return generalized | row | {"reason": join_reasons(*dict.fromkeys(reasons))}
