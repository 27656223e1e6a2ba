"""The Alternative Annotator Test: may a judge stand in for an annotator?"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from mrb_lib.errors import InputError
from mrb_lib.schema import LEVELS
from mrb_lib.stats.agreement.coefficients import category_values, votes_by_case
from mrb_lib.stats.agreement.labels import Annotations
from mrb_lib.stats.core.multiplicity import CORRECTIONS, adjust
from mrb_lib.stats.core.options import (
    BoolArray,
    FloatArray,
    IntArray,
    check_choice,
    divide,
    join_reasons,
    mean_of_defined,
)
from mrb_lib.stats.resampling.resample import (
    block,
    clusters_counted,
    interval,
    interval_reason,
    n_clusters,
    ratio,
    resampled,
)

ALPHA = 0.05
_EQUAL = 1e-9
ALT_TEST, ALT_TEST_ANNOTATOR = "alt_test", "alt_test_annotator"
LEAST_ITEMS = 30
ENOUGH_UNITS = 100
LEAST_WINNING_RATE = 0.5
TWO_ANNOTATORS = "two annotators: each is compared with one other, not with a group; three are asked for to pass"
ONE_ANNOTATOR = "fewer than two annotators: nobody is left to compare with"
NOT_JUDGED = "no case has a verdict and two annotators"
FEW_SHARED = f"fewer than {LEAST_ITEMS} independent cases shared with the judge and other annotators"
FEW_ITEMS = f"no annotator shares {LEAST_ITEMS} independent cases with the judge and other annotators"
FEW_UNITS = f"fewer than {ENOUGH_UNITS} independent cases: the t-test may beat annotators too readily"


def alt_test_rows(
    judges: Sequence[str],
    labels: NDArray[np.int64],
    present: BoolArray,
    coded: Annotations,
    codes: IntArray,
    categories: Sequence[str],
    *,
    level: str,
    epsilon: float,
    correction: str,
    resamples: int,
    seed: int,
) -> list[dict[str, object]]:
    """The rows "alt_test" and "alt_test_annotator" of `mrb_lib.stats.ceiling.ceiling`.

    Parameters
    ----------
    labels, present : shape (judges, dimensions, cases, verdicts), see `mrb_lib.stats.ceiling.judges.labels_by_policy`
    codes : shape (cases,), see `mrb_lib.stats.resampling.clusters.cluster_codes`
    level : `nominal`: a label is aligned with the others by the share of them who gave the same; `ordinal`,
        `interval`: by minus the root mean squared distance to theirs, in ranks or in the numbers
        that the categories are
    epsilon : what a person's cost and effort is worth, as a difference of two probabilities;
        the paper advises .2 for experts, .15 for skilled annotators, .1 for crowds
    correction : of the tests of one judge on one dimension; the paper's is `by` (Benjamini-Yekutieli)

    Returns
    -------
    list
        Rows of `part` "alt_test", one a dimension and judge: `winning_rate` (omega, the share of the
        tested annotators whom the judge beats), `advantage_probability` (rho, the probability that the judge is aligned
        with the others at least as well as an annotator; the mean over annotators) with the 95% interval
        `advantage_probability_low`, `advantage_probability_high` of the cluster bootstrap, `epsilon`, `passes`
        (winning rate of 1/2 or more; null with two annotators, since the paper asks for three), `n` cases
        used, `n_excluded` annotated cases that are not, `n_annotators` tested, `n_items` the fewest cases of a tested
        annotator, `correction`, `reason`.
        Then rows of `part` "alt_test_annotator", one a dimension, judge and annotator: `advantage_probability`
        of the judge, `annotator_probability` the same of the annotator, `p_value` of the one-sided t-test,
        `p_adjusted`, `passes` (whether the judge beats this annotator), `n_items`, `n` the same.

    Raises
    ------
    InputError
        The level or the correction is unknown, epsilon is not in [0, 1), or a label is not among the categories.

    Notes
    -----
    Calderon, Reichart and Dror (ACL 2025), "The Alternative Annotator Test for LLM-as-a-Judge", arXiv 2501.10970,
    https://aclanthology.org/2025.acl-long.782. For each annotator the null hypothesis is that the judge's advantage
    probability falls short of the annotator's by epsilon or more. Cases with one annotator are left out; so are
    annotators with fewer than 30 cases, for whom the paper names Wilcoxon's test: that is of the median of a
    symmetric difference, and the differences here have three values and need not be symmetric. The t-test suffers
    from that too: at 30 cases and epsilon .15 it rejects a true null hypothesis in 5% of samples where judge and
    annotator are each alone in line with the others now and then, in 10% where the judge hardly ever is, and in 15%
    where it never is; at 100 cases in 6% at most. Fewer than 100 have a remark in `reason`. With clusters the
    t-test is the cluster-robust one, and 30 clusters are asked for; where every case is its own cluster it is the
    paper's. Where all differences are the same number c < epsilon there is no t; the p-value is then
    ((1 - epsilon) / (1 - c)) ** n, the most that the null hypothesis allows such a sample.
    Validated in `tests/published/test_alttest.py`, `tests/stats/ceiling/test_alttest.py` and
    `tests/simulation/test_alttest.py`.
    """
    check_choice("level", level, LEVELS)
    check_choice("correction", correction, CORRECTIONS)
    if not 0 <= epsilon < 1:
        raise InputError(f"epsilon {epsilon}: must be 0 or more and less than 1; 0.15 is the default.")
    ranks = np.arange(len(categories), dtype=np.float64)
    values = {"nominal": None, "ordinal": ranks, "interval": category_values(categories)}[level]
    rows: list[dict[str, object]] = []
    beside: list[dict[str, object]] = []
    every = [
        compare(coded, dimension, labels[:, dimension], present[:, dimension], values)
        for dimension in range(len(coded.dimensions))
    ]
    tests = [compare_all(item, len(judges), codes, epsilon, correction, LEAST_ITEMS) for item in every]
    low, high = advantage_bounds(every, tests, codes, resamples=resamples, seed=seed)
    for dimension, (item, test) in enumerate(zip(every, tests, strict=True)):
        shared = {"dimension": coded.dimensions[dimension], "epsilon": epsilon, "correction": correction}
        annotated = len(np.unique(coded.of(dimension)[0]))
        scored = np.zeros((len(codes), len(judges)), dtype=bool)
        for compared in item:
            scored[compared.cases] |= compared.used.T
        n, clusters = scored.sum(axis=0), clusters_counted(codes, scored)
        for judge, name in enumerate(judges):
            bounds = (float(low[dimension, judge]), float(high[dimension, judge]))
            counts = (int(n[judge]), int(clusters[judge]), resamples)
            summary = _summary(test, judge, any(len(compared.cases) for compared in item), counts, bounds)
            absence = coded.absence(dimension) if not annotated else ""
            summary["n_excluded"] = annotated - int(str(summary["n"]))
            summary["reason"] = join_reasons(absence) or summary["reason"]
            rows.append(shared | {"part": ALT_TEST, "judge": name} | summary)
            beside.extend(shared | {"judge": name} | row for row in _beside(coded.annotators, test, judge))
    return [*rows, *beside]


def _summary(
    test: Outcome, judge: int, shared: bool, counts: tuple[int, int, int], bounds: tuple[float, float]
) -> dict[str, object]:
    """The columns of one judge on one dimension.

    Parameters
    ----------
    shared : whether any case has two annotators
    counts : the cases that the judge is compared on, their clusters, and the resamples
    """
    tested, n = test.tested[judge], counts[0]
    n_tested, people = int(tested.sum()), int((test.items[judge] > 0).sum())
    out: dict[str, object] = {"n": n, "n_annotators": n_tested}
    if not n_tested:
        return out | {"reason": FEW_ITEMS if n else NOT_JUDGED if shared else ONE_ANNOTATOR}
    rate = float(test.rejected[judge][tested].mean())
    remarks = (
        TWO_ANNOTATORS if people == 2 else "",
        f"{people - n_tested} of {people} annotators are not tested: {FEW_SHARED}" if n_tested < people else "",
        FEW_UNITS if test.units[judge][tested].min() < ENOUGH_UNITS else "",
    )
    return out | {
        "winning_rate": rate,
        "advantage_probability": float(test.judge[judge][tested].mean()),
        "advantage_probability_low": bounds[0],
        "advantage_probability_high": bounds[1],
        "passes": rate >= LEAST_WINNING_RATE if people > 2 else None,
        "n_items": int(test.items[judge][tested].min()),
        "reason": join_reasons(*remarks, interval_reason(*counts, *bounds)),
    }


def _beside(annotators: Sequence[str], test: Outcome, judge: int) -> list[dict[str, object]]:
    """The columns of one judge beside each annotator."""
    return [
        {
            "part": ALT_TEST_ANNOTATOR,
            "annotator": name,
            "n": int(test.items[judge, who]),
            "n_items": int(test.items[judge, who]),
            "advantage_probability": test.judge[judge, who],
            "annotator_probability": test.annotator[judge, who],
            "p_value": test.p_value[judge, who],
            "p_adjusted": test.p_adjusted[judge, who],
            "passes": bool(test.rejected[judge, who]) if test.tested[judge, who] else None,
            "reason": None if test.tested[judge, who] else FEW_SHARED,
        }
        for who, name in enumerate(annotators)
        if test.items[judge, who]
    ]


def alignment(votes: FloatArray, values: FloatArray | None) -> FloatArray:
    """How well each label would be aligned with the votes of a case, shape (n, K); NaN without votes.

    Parameters
    ----------
    votes : shape (n, K), how many of the others gave each label
    values : shape (K,), the labels as numbers, for minus the root mean squared distance to the
        votes; None for the share of them that are the same
    """
    total = votes.sum(axis=1, keepdims=True)
    if values is None:
        return divide(votes, total)
    distance = divide(votes @ (values[:, None] - values[None, :]) ** 2, total)
    out: FloatArray = -np.sqrt(distance)
    return out


class Compared(NamedTuple):
    """One annotator beside every judge.

    Attributes
    ----------
    cases : shape (n,), positions of the annotator's cases that somebody else annotated
    judge, annotator : shape (judges, n), the share of the judge's verdicts on the case in which the one
        is aligned with the others at least as well as the other; NaN where no verdict counts
    """

    cases: IntArray
    judge: FloatArray
    annotator: FloatArray

    @property
    def used(self) -> BoolArray:
        """Which cases have a verdict that counts, shape (judges, n)."""
        return np.asarray(np.isfinite(self.judge), dtype=bool)


def compare(
    coded: Annotations,
    dimension: int,
    labels: NDArray[np.int64],
    present: BoolArray,
    values: FloatArray | None,
) -> list[Compared]:
    """Compare every annotator with every judge on one dimension.

    Parameters
    ----------
    labels, present : shape (judges, cases, verdicts), the judges' labels, -1 for null, and which of them count
    values : see `alignment`
    """
    case, annotator, choice = coded.of(dimension)
    n_labels = int(max(labels.max(initial=-1), choice.max(initial=-1))) + 1 if values is None else len(values)
    votes = votes_by_case(case, choice, labels.shape[1], n_labels)
    out = []
    for who in range(len(coded.annotators)):
        mine = annotator == who
        cases, own = case[mine], choice[mine]
        others = votes[cases]
        others[np.arange(len(cases)), own] -= 1
        kept = others.sum(axis=1) > 0
        cases, own, others = cases[kept], own[kept], others[kept]
        table = np.hstack([alignment(others, values), np.full((len(cases), 1), -np.inf)])
        row = np.arange(len(cases))
        theirs = table[row, own][None, :, None]
        judged = table[row[None, :, None], labels[:, cases]]
        counts = present[:, cases]
        total = counts.sum(axis=2)
        out.append(
            Compared(
                cases,
                divide(((judged >= theirs - _EQUAL) & counts).sum(axis=2).astype(np.float64), total),
                divide(((theirs >= judged - _EQUAL) & counts).sum(axis=2).astype(np.float64), total),
            )
        )
    return out


def lower_tail_p(difference: FloatArray, codes: IntArray, epsilon: float) -> FloatArray:
    """The p-value of each row's mean being epsilon or more, against less: the one-sample t-test, robust to clusters.

    Parameters
    ----------
    difference : shape (rows, n), between -1 and 1; NaN where there is none
    codes : shape (n,), the cluster of each column

    Returns
    -------
    Shape (rows,); NaN with fewer than two clusters. Where each column is its own cluster this is
    `scipy.stats.ttest_1samp(row, epsilon, alternative="less")`. Where a row's numbers do not differ there is no t, and
    the p-value is the largest probability of such a row under the null hypothesis.
    """
    used = np.isfinite(difference)
    n = used.sum(axis=1)
    mean = divide(np.where(used, difference, 0.0).sum(axis=1), n)
    residual = np.where(used, difference - mean[:, None], 0.0)
    clusters, cluster = np.unique(codes, return_inverse=True)
    units = n
    if len(clusters) < len(codes):
        member = (cluster[:, None] == np.arange(len(clusters))).astype(np.float64)
        residual = residual @ member
        units = (used.astype(np.float64) @ member > 0).sum(axis=1)
    variance = divide((residual**2).sum(axis=1) * units, (units - 1) * n.astype(np.float64) ** 2)
    constant = variance < _EQUAL**2
    t = divide(mean - epsilon, np.sqrt(np.where(constant, np.nan, variance)))
    p: FloatArray = stdtr(np.maximum(units - 1, 1), t)
    bound = np.where(mean < epsilon, (1 - epsilon) / np.where(mean < epsilon, 1 - mean, 1.0), 1.0) ** units
    return np.where(constant & (units >= 2), bound, p)


class Outcome(NamedTuple):
    """The tests of one dimension; each array has shape (judges, annotators), NaN where not tested.

    Attributes
    ----------
    items, units : cases compared, and their clusters
    judge, annotator : the advantage probabilities
    rejected : the judge beats the annotator
    """

    items: IntArray
    units: IntArray
    judge: FloatArray
    annotator: FloatArray
    p_value: FloatArray
    p_adjusted: FloatArray
    rejected: BoolArray

    @property
    def tested(self) -> BoolArray:
        """Which tests could be done."""
        return np.asarray(np.isfinite(self.p_value), dtype=bool)


def compare_all(
    compared: Sequence[Compared], n_judges: int, codes: IntArray, epsilon: float, correction: str, least: int
) -> Outcome:
    """Test every judge against every annotator, and correct the tests of each judge together.

    Parameters
    ----------
    codes : shape (cases,), the cluster of each case
    least : the fewest clusters to test with
    """
    shape = (n_judges, len(compared))
    items, units = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    judge, annotator, p_value = (np.full(shape, np.nan) for _ in range(3))
    for who, item in enumerate(compared):
        used = item.used
        items[:, who] = used.sum(axis=1)
        units[:, who] = clusters_counted(codes[item.cases], used.T)
        judge[:, who] = divide(np.where(used, item.judge, 0.0).sum(axis=1), items[:, who])
        annotator[:, who] = divide(np.where(used, item.annotator, 0.0).sum(axis=1), items[:, who])
        p_value[:, who] = lower_tail_p(item.annotator - item.judge, codes[item.cases], epsilon)
    p_value[units < least] = np.nan
    p_adjusted = np.array([adjust(row, correction) for row in p_value]).reshape(shape)
    return Outcome(items, units, judge, annotator, p_value, p_adjusted, p_adjusted <= ALPHA)


def advantage_bounds(
    every: Sequence[Sequence[Compared]], tests: Sequence[Outcome], codes: IntArray, *, resamples: int, seed: int
) -> tuple[FloatArray, FloatArray]:
    """The intervals of the advantage probabilities, means over the annotators tested; shape (dimensions, judges)."""
    tables = [_advantages(compared, test, len(codes)) for compared, test in zip(every, tests, strict=True)]
    n_judges = len(tests[0].p_value) if tests else 0
    edges = np.cumsum([0, *(table.shape[1] for table in tables)])

    def statistic(sums: FloatArray) -> FloatArray:
        means = []
        for start, stop in pairwise(edges):
            rates = ratio(sums[:, start:stop]).reshape(len(sums) * n_judges, -1)
            means.append(mean_of_defined(rates).reshape(len(sums), n_judges))
        return np.hstack(means)

    blocks = [block(codes, np.hstack([np.zeros((len(codes), 0)), *tables]), statistic)] if tests else []
    low, high = np.full((2, len(tests), n_judges), np.nan)
    for drawn in resampled(blocks, n_clusters(codes), resamples=resamples, seed=seed):
        low, high = (end.reshape(len(tests), n_judges) for end in interval(drawn.replicates))
    return low, high


def _advantages(compared: Sequence[Compared], test: Outcome, n_cases: int) -> FloatArray:
    """The advantages of the judges by case, then whether they count, shape (cases, 2 x judges x annotators)."""
    won = np.zeros((n_cases, *test.p_value.shape))
    counted = np.zeros_like(won)
    for who, item in enumerate(compared):
        used = item.used & test.tested[:, who][:, None]
        won[item.cases, :, who] = np.where(used, item.judge, 0.0).T
        counted[item.cases, :, who] = used.T
    return np.hstack([won.reshape(n_cases, -1), counted.reshape(n_cases, -1)])
