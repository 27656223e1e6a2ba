"""How far annotators agree with each other, beyond chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from mrb_lib.schema import CHOICES
from mrb_lib.stats import icc
from mrb_lib.stats.agreement_kernel import COEFFICIENTS, Kernel
from mrb_lib.stats.agreement_measures import (
    BOUNDS,
    ENOUGH_SHARED,
    Interval,
    icc_intervals,
    kernels,
    mean_kappa_intervals,
    of_pairs,
    of_scores,
    of_votes,
    votes_intervals,
)
from mrb_lib.stats.annotator_pairs import annotator_pairs as annotator_pairs
from mrb_lib.stats.labels import Part, encode_annotations, parts
from mrb_lib.stats.measures import Measure, Resampled, resampled
from mrb_lib.stats.options import join_reasons, typed
from mrb_lib.stats.pairwise import Pairs
from mrb_lib.stats.resample import cluster_codes, interval_reason
from mrb_lib.stats.subfields import groups
from mrb_lib.stats.weighted import KAPPAS, PairKernel, adjusted, bias_index, prevalence_index

NOBODY_PAIRED = "no case has two annotators"
FEW_CASES = "fewer than two cases have two annotators"
ONE_CATEGORY = "one category only: agreement beyond chance is undefined"
NO_KAPPA = "cohen_kappa is undefined for every pair of annotators"
SPARSE_PAIRS = f"no interval for kappas of pairs: most pairs of annotators share fewer than {ENOUGH_SHARED} cases"
NO_ORDER = "nominal labels: no weighted kappa, AC2 or ICC"
NO_SCORES = "ordinal labels: no ICC"
NO_ICC = "the ICC is undefined: the scores do not vary, or annotators and cases cannot be told apart"
INCOMPLETE = "no analytic interval for the ICC: not every annotator labelled every case"
CLUSTERED = "no analytic interval for the ICC: cases are in clusters"
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


def agreement(
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
    `mrb_lib.stats.icc`, the indices of prevalence and bias those of `mrb_lib.stats.weighted`:
    Fleiss' kappa is (PABAK - PI^2) / (1 - PI^2), so that it falls as one label dominates,
    at the same percent agreement; AC1 beside it does not.

    Analytic intervals, see `mrb_lib.stats.agreement_intervals`, count each cluster once. Bootstrap
    and analytic intervals hold for the annotators at hand; the ICC's analytic interval, by the F
    distribution, and its generalized one take annotators as a sample, too, and are wider by that. They
    need normal scores, every annotator to have scored every case, and cases that are not in clusters. The
    former is the customary one, the latter right where annotators are few and differ. Of skewed scores, with
    100 cases, percentile and analytic intervals of the quadratic kappa cover 93%, BCa's 95%.
    irrCAC takes the number of cases with a single annotator as fixed, which widens its intervals
    of Fleiss' kappa and AC1 where there are such cases; without them they are these.
    Kappas of pairs that share few cases are biased, and more so in resamples, so that a
    bootstrap interval would miss its own estimate (it does on LLMFAO's 124 annotators): there
    is none for kappas of pairs where the median pair shares fewer than `ENOUGH_SHARED` cases.
    Validated in `tests/published/test_agreement_textbook.py` and `tests/stats/test_agreement.py`;
    coverage in `tests/simulation/test_agreement.py`.
    """
    many, two = kernels(annotations, categories, level)
    coded = encode_annotations(annotations, cases, categories, dimensions)
    codes = cluster_codes(cases, cluster)
    chosen = groups(cases, by)
    found = [_Plan.of(part, many, two) for part in parts(coded, chosen, len(cases), two.distances)]
    d = max(1, len(coded.dimensions))
    by_group = [[item for plan in found[i : i + d] for item in plan.measures] for i in range(0, len(found), d)]
    drawn = iter([item for group in resampled(by_group, codes, resamples=resamples, seed=seed) for item in group])
    rows = []
    for plan in found:
        row = plan.described() | {"dimension": coded.dimensions[plan.part.dimension]}
        mine, absence = [next(drawn) for _ in plan.measures], coded.absence(plan.part.dimension)
        rows.append(row | plan.estimates(mine, absence, resamples, seed))
    return typed(pd.DataFrame(rows, columns=COLUMNS), COLUMNS)


class _Plan(NamedTuple):
    """A part and what is estimated of it: of votes, of pairs, and of scores where labels are scores."""

    part: Part
    many: Kernel
    two: PairKernel
    pairs: Pairs
    measures: list[Measure]

    @classmethod
    def of(cls, part: Part, many: Kernel, two: PairKernel) -> _Plan:
        pairs = part.pairs.shared_by(2)
        measures = [of_votes(part, many)]
        if len(pairs.n) and np.median(pairs.n) >= ENOUGH_SHARED:
            measures.append(of_pairs(part, pairs, two, mean=True))
        if many.level == "interval":
            measures.append(of_scores(part, many))
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
            defined = int(np.isfinite(self.two.coefficients(sums)[0, len(each) : 2 * len(each)]).sum())
            row |= {"n_pairs": defined, "n_pairs_undefined": len(self.part.pairs.n) - defined}
        return row

    def estimates(self, drawn: list[Resampled], absence: str, resamples: int, seed: int) -> dict[str, object]:
        """The coefficients with their intervals, and why some of them are null."""
        n_cases = int(self.part.paired.sum())
        if n_cases < 2:
            return {"reason": absence if not len(self.part.cases) else FEW_CASES if n_cases else NOBODY_PAIRED}
        sums = np.asarray(drawn[0].sums)
        clusters = int((sums[:, 0] > 0).sum())
        independent = int((sums[:, 3 : 3 + len(self.many.values)].sum(axis=1) > 0).sum()) == len(self.part.cases)
        found = dict(zip(COEFFICIENTS, votes_intervals(drawn[0], self.many), strict=True))
        reasons = [ONE_CATEGORY] if np.isnan(found["krippendorff_alpha"].value) else []
        sparse = bool(len(self.pairs.n) and np.median(self.pairs.n) < ENOUGH_SHARED)
        if sparse:
            means = self.two.mean_kappas(self.pairs.total())[0].tolist()
            found |= {name: Interval(value) for name, value in zip(self.two.kappas, means, strict=True)}
        elif len(self.pairs.n):
            means = mean_kappa_intervals(drawn[1], self.two, clusters, independent)
            found |= dict(zip(self.two.kappas, means, strict=True))
        if np.isnan(found.get("cohen_kappa", Interval()).value):
            reasons.append(NO_KAPPA)
        generalized: dict[str, float] = {}
        if self.many.level == "interval":
            scores, generalized, complete = icc_intervals(drawn[-1], independent, seed)
            found |= dict(zip(icc.COEFFICIENTS, scores, strict=True))
            reasons.append(NO_ICC if np.isnan(scores[0].value) else "" if complete else INCOMPLETE)
            reasons.append("" if independent else CLUSTERED)
        else:
            reasons.append(NO_ORDER if self.many.level == "nominal" else NO_SCORES)
        percent = np.array(found["percent_agreement"])
        found["pabak"] = Interval(*adjusted(percent, self.many.n_categories).tolist())
        return generalized | _row(found, reasons, sparse, n_cases, clusters, resamples)


def _row(
    found: dict[str, Interval], reasons: list[str], sparse: bool, n_cases: int, clusters: int, resamples: int
) -> dict[str, object]:
    row: dict[str, object] = {}
    notes = [SPARSE_PAIRS] if sparse and np.isfinite(found["cohen_kappa"].value) else []
    for name, item in found.items():
        known = np.isfinite(item.value)
        row |= (item if known and clusters >= 2 else item.without_bounds()).columns(name)
        if clusters < 2 or (known and not (sparse and name in KAPPAS)):
            notes.append(interval_reason(n_cases, clusters, resamples, item.low, item.high))
    row["reason"] = join_reasons(*reasons, *dict.fromkeys(notes))
    return row
