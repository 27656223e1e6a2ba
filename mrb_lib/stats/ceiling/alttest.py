"""The Alternative Annotator Test: may a judge stand in for an annotator?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mrb_lib.errors import InputError
from mrb_lib.schema import CHOICES, LEVELS
from mrb_lib.stats.agreement.labels import Annotations, encode_annotations
from mrb_lib.stats.ceiling.alttest_kernel import Compared, Outcome, compare, compare_all, label_values
from mrb_lib.stats.core.multiplicity import CORRECTIONS
from mrb_lib.stats.core.options import (
    BoolArray,
    FloatArray,
    IntArray,
    check_choice,
    divide,
    encode,
    join_reasons,
    mean_of_defined,
)
from mrb_lib.stats.core.panel import ABSENT
from mrb_lib.stats.resampling.distinct import clusters_counted, distinct_columns
from mrb_lib.stats.resampling.resample import block, cluster_codes, interval, interval_reason, n_clusters, replicates


def advantage_bounds(
    every: Sequence[Sequence[Compared]], tests: Sequence[Outcome], codes: IntArray, *, resamples: int, seed: int
) -> tuple[FloatArray, FloatArray]:
    """The intervals of the advantage probabilities, means over the annotators tested; shape (dimensions, judges)."""
    sums, pieces = [], []
    for compared, test in zip(every, tests, strict=True):
        won, counted = _won(compared, test, codes)
        same = (counted == counted[:, :, :1]) | ~test.tested
        people = np.ones(won.shape[1])
        if same.size and same.all():  # the mean over annotators is that of their sum, in which no thirds are rounded
            people = np.maximum(test.tested.sum(axis=1), 1.0)
            won, counted = won.sum(axis=2, keepdims=True), counted[:, :, :1]
        distinct, which = distinct_columns(counted.reshape(len(codes), -1))
        pieces.append((won.shape[1:], which, people))
        sums.append(np.hstack([won.reshape(len(codes), -1), distinct]))

    def statistic(drawn: FloatArray) -> FloatArray:
        out, start = [drawn[:, :0]], 0
        for (n_judges, n_people), which, people in pieces:
            width = n_judges * n_people
            rate = divide(drawn[:, start : start + width], drawn[:, start + width :][:, which])
            if not n_people:
                rate = np.full((len(drawn), n_judges), np.nan)
            elif n_people > 1:
                rate = np.hstack([mean_of_defined(rate[:, at : at + n_people]) for at in range(0, width, n_people)])
            out.append(rate / people)
            start += width + int(which.max(initial=-1)) + 1
        return np.hstack(out)

    blocks = [block(codes, np.hstack([np.zeros((len(codes), 0)), *sums]), statistic)]
    (found,) = replicates(blocks, n_clusters(codes), resamples=resamples, seed=seed)
    low, high = interval(found)
    n_judges = len(tests[0].p_value) if tests else 0
    return low.reshape(len(tests), n_judges), high.reshape(len(tests), n_judges)


def _won(compared: Sequence[Compared], test: Outcome, codes: IntArray) -> tuple[FloatArray, FloatArray]:
    """The advantages of the judges by case, and whether they count, shape (cases, judges, annotators)."""
    shape = (len(codes), *test.p_value.shape)
    won, counted = np.zeros(shape), np.zeros(shape)
    for who, item in enumerate(compared):
        used = item.used & test.tested[:, who][:, None]
        won[item.cases, :, who] = np.where(used, item.judge, 0.0).T
        counted[item.cases, :, who] = used.T
    return won, counted


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
COLUMNS = [
    "dimension",
    "part",
    "judge",
    "annotator",
    "n",
    "n_excluded",
    "winning_rate",
    "advantage_probability",
    "advantage_probability_low",
    "advantage_probability_high",
    "annotator_probability",
    "epsilon",
    "passes",
    "p_value",
    "p_adjusted",
    "correction",
    "n_annotators",
    "n_items",
    "reason",
]
_TEXT = ("dimension", "part", "judge", "annotator", "correction", "reason")


class Options(NamedTuple):
    """How the test is done; see `alternative_annotator`."""

    level: str = "nominal"
    epsilon: float = 0.15
    correction: str = "by"
    resamples: int = 2000
    seed: int = 0


def alternative_annotator(
    labels: pd.DataFrame,
    annotations: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    categories: Sequence[str] = CHOICES,
    dimensions: Sequence[str] | None = None,
    cluster: str | None = None,
    level: str = "nominal",
    epsilon: float = 0.15,
    correction: str = "by",
    resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Test whether judges' labels of any kind agree with people as well as a person's do.

    Preferences in both orders go through `mrb_lib.stats.ceiling.ceiling.ceiling`, which makes these rows too.

    Parameters
    ----------
    labels : `judge, case_id, dimension, choice`, one label a judge, case and dimension; a null choice agrees
        with nobody, a missing row leaves the case out
    annotations, cases, categories : as in `mrb_lib.stats.agreement.agreement`
    level : `nominal`: a label is aligned with the others by the share of them who gave the same; `ordinal`,
        `interval`: by minus the root mean squared distance to theirs, in ranks or in the numbers
        that the categories are
    epsilon : what a person's cost and effort is worth, as a difference of two probabilities;
        the paper advises .2 for experts, .15 for skilled annotators, .1 for crowds
    correction : of the tests of one judge on one dimension; the paper's is `by` (Benjamini-Yekutieli)
    dimensions, cluster, resamples, seed : as in `mrb_lib.stats.accuracy.accuracy`

    Returns
    -------
    DataFrame
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
    coded = encode_annotations(annotations, cases, categories, dimensions)
    judges = sorted(map(str, labels["judge"].unique()))
    kept = labels[labels["dimension"].isin(coded.dimensions)]
    given = np.full((len(judges), len(coded.dimensions), len(cases), 1), ABSENT, dtype=np.int64)
    given[
        encode(kept["judge"], judges, "judge"),
        encode(kept["dimension"], coded.dimensions, "dimension"),
        encode(kept["case_id"], list(cases["case_id"]), "case_id"),
        0,
    ] = encode(kept["choice"], categories, "choice")
    codes = cluster_codes(cases, cluster)
    options = Options(level, epsilon, correction, resamples, seed)
    return alt_test_rows(judges, given, given != ABSENT, coded, codes, categories, options)


def alt_test_rows(
    judges: Sequence[str],
    labels: NDArray[np.int64],
    present: BoolArray,
    coded: Annotations,
    codes: IntArray,
    categories: Sequence[str],
    options: Options,
) -> pd.DataFrame:
    """The rows of `alternative_annotator` from arrays.

    Parameters
    ----------
    labels, present : shape (judges, dimensions, cases, verdicts), see `labels_by_policy`
    codes : shape (cases,), see `mrb_lib.stats.resampling.resample.cluster_codes`
    """
    _check(options)
    values = label_values(categories, options.level)
    rows: list[dict[str, object]] = []
    beside: list[dict[str, object]] = []
    every = [
        compare(coded, dimension, labels[:, dimension], present[:, dimension], values)
        for dimension in range(len(coded.dimensions))
    ]
    tests = [compare_all(item, len(judges), codes, options.epsilon, options.correction, LEAST_ITEMS) for item in every]
    low, high = advantage_bounds(every, tests, codes, resamples=options.resamples, seed=options.seed)
    for dimension, (item, test) in enumerate(zip(every, tests, strict=True)):
        shared = {"dimension": coded.dimensions[dimension], "epsilon": options.epsilon}
        shared |= {"correction": options.correction}
        annotated = len(np.unique(coded.of(dimension)[0]))
        scored = np.zeros((len(codes), len(judges)), dtype=bool)
        for compared in item:
            scored[compared.cases] |= compared.used.T
        n, clusters = scored.sum(axis=0), clusters_counted(codes, scored)
        for judge, name in enumerate(judges):
            bounds = (float(low[dimension, judge]), float(high[dimension, judge]))
            counts = (int(n[judge]), int(clusters[judge]), options.resamples)
            summary = _summary(test, judge, any(len(compared.cases) for compared in item), counts, bounds)
            absence = coded.absence(dimension) if not annotated else ""
            summary["n_excluded"] = annotated - int(str(summary["n"]))
            summary["reason"] = join_reasons(absence) or summary["reason"]
            rows.append(shared | {"part": ALT_TEST, "judge": name} | summary)
            beside.extend(shared | {"judge": name} | row for row in _beside(coded.annotators, test, judge))
    return _typed([*rows, *beside])


def _check(options: Options) -> None:
    check_choice("level", options.level, LEVELS)
    check_choice("correction", options.correction, CORRECTIONS)
    if not 0 <= options.epsilon < 1:
        raise InputError(f"epsilon {options.epsilon}: must be 0 or more and less than 1; 0.15 is the default.")


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


def _typed(rows: list[dict[str, object]]) -> pd.DataFrame:
    types = dict.fromkeys(COLUMNS, "float64") | dict.fromkeys(_TEXT, "str") | {"passes": "boolean"}
    types |= dict.fromkeys(("n", "n_excluded", "n_annotators", "n_items"), "Int64")
    return pd.DataFrame(rows, columns=COLUMNS).astype(types)
