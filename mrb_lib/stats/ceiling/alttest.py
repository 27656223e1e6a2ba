"""The Alternative Annotator Test: may a judge stand in for an annotator?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mrb_lib.stats.annotators import Annotations
from mrb_lib.stats.ceiling.advantage import (
    LEAST_WINNING_RATE,
    Comparisons,
    Outcome,
    advantage_bounds,
    compare,
    compare_all,
    least_epsilon,
)
from mrb_lib.stats.ceiling.judges import too_few
from mrb_lib.stats.multiplicity import CORRECTIONS
from mrb_lib.stats.options import BoolArray, IntArray, check_choice, join_reasons
from mrb_lib.stats.resampling.resample import clusters_counted, interval_reason
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import LEVELS, category_numbers

ALT_TEST, ALT_TEST_SWEEP, ALT_TEST_ANNOTATOR = "alt_test", "alt_test_sweep", "alt_test_annotator"
LEAST_ITEMS = 30
ENOUGH_UNITS = 100
EPSILONS = (0.05, 0.1, 0.15, 0.2)
EPSILON = 0.2
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
    """The rows "alt_test", "alt_test_sweep" and "alt_test_annotator" of `mrb_lib.stats.ceiling.ceiling`.

    Parameters
    ----------
    labels, present : shape (judges, dimensions, cases, verdicts), see `mrb_lib.stats.ceiling.judges.labels_by_policy`
    codes : shape (cases,), see `mrb_lib.stats.clusters.cluster_codes`
    level : `nominal`: a label is aligned with the others by the share of them who gave the same; `ordinal`,
        `interval`: by minus the root mean squared distance to theirs, in ranks or in the numbers
        that the categories are
    epsilon : what a person's cost and effort is worth, as a difference of two probabilities; the authors advise .2
        for experts such as clinicians, .15 for skilled annotators, .1 for crowds, and less where annotators
        agree little
    correction : of the tests of one judge on one dimension; the paper's is `by` (Benjamini-Yekutieli)

    Returns
    -------
    list
        Rows of `part` "alt_test", one a dimension and judge: `winning_rate` (omega, the share of the
        tested annotators whom the judge beats), `advantage_probability` (rho, the probability that the judge is aligned
        with the others at least as well as an annotator; the mean over annotators) with the 95% interval
        `advantage_probability_low`, `advantage_probability_high` of the cluster bootstrap, `epsilon`, `passes`
        (winning rate of 1/2 or more; null with two annotators, since the paper asks for three, and where under half of
        the annotated cases are used), `least_epsilon` the smallest hundredth at which the judge passes: it passes at
        every larger epsilon and at no smaller one, so that the smaller it is, the stricter the standard that the judge
        meets (null where it passes at none, or `passes` is null), `n` cases
        used, `n_excluded` annotated cases that are not, `n_annotators` tested, `n_items` the fewest cases of a tested
        annotator, `correction`, `reason`.
        Rows of `part` "alt_test_sweep", one a dimension, judge and epsilon of `EPSILONS`: `epsilon`, `winning_rate`
        and `passes` at it.
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
    probability falls short of the annotator's by epsilon or more. A pass therefore allows a judge to be worse than an
    annotator by less than epsilon; how much worse it is, is what the rows "judge" measure.
    Cases with one annotator are left out; so are
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
        raise InputError(f"epsilon {epsilon}: must be 0 or more and less than 1; {EPSILON} is the default.")
    ranks = np.arange(len(categories), dtype=np.float64)
    values = {"nominal": None, "ordinal": ranks, "interval": np.array(category_numbers(categories))}[level]
    every = [
        compare(coded, dimension, labels[:, dimension], present[:, dimension], values)
        for dimension in range(len(coded.dimensions))
    ]
    tests = [compare_all(item, len(judges), codes, LEAST_ITEMS) for item in every]
    low, high = advantage_bounds(every, tests, codes, resamples=resamples, seed=seed)
    rows: dict[str, list[dict[str, object]]] = {ALT_TEST: [], ALT_TEST_SWEEP: [], ALT_TEST_ANNOTATOR: []}
    for dimension, (item, test) in enumerate(zip(every, tests, strict=True)):
        shared = {"dimension": coded.dimensions[dimension], "correction": correction}
        annotated = len(np.unique(coded.of(dimension)[0]))
        scored = np.zeros((len(codes), len(judges)), dtype=bool)
        for compared in item:
            scored[compared.cases] |= compared.used.T
        n, clusters = scored.sum(axis=0), clusters_counted(codes, scored)
        outcome, least = test.at(epsilon, correction), least_epsilon(test, correction)
        sweep = {each: test.at(each, correction).winning_rate for each in EPSILONS}
        for judge, name in enumerate(judges):
            bounds = (float(low[dimension, judge]), float(high[dimension, judge]))
            counts = (int(n[judge]), int(clusters[judge]), resamples)
            few = too_few(counts[0], annotated)
            summary = _summary(test, judge, any(len(compared.cases) for compared in item), counts, bounds, few)
            can_pass = bool(summary.pop("can_pass"))
            absence = coded.absence(dimension) if not annotated else ""
            summary["n_excluded"] = annotated - counts[0]
            summary["reason"] = join_reasons(absence) or summary["reason"]
            mine = shared | {"judge": name}
            verdicts = {each: _verdict(rate[judge], can_pass) for each, rate in sweep.items()}
            own = _verdict(outcome.winning_rate[judge], can_pass)
            rows[ALT_TEST].append(
                mine | {"part": ALT_TEST, "epsilon": epsilon} | own | summary
                | {"least_epsilon": least[judge] if can_pass else np.nan}
            )  # fmt: skip
            kept = {key: summary.get(key) for key in ("n", "n_excluded", "n_annotators", "n_items", "reason")}
            rows[ALT_TEST_SWEEP] += [
                mine | {"part": ALT_TEST_SWEEP, "epsilon": each} | kept | verdict for each, verdict in verdicts.items()
            ]
            beside = _beside(coded.annotators, test, outcome, judge)
            rows[ALT_TEST_ANNOTATOR] += [mine | {"epsilon": epsilon} | row for row in beside]
    return [row for part in rows.values() for row in part]


def _verdict(rate: float, can_pass: bool) -> dict[str, object]:
    return {"winning_rate": rate, "passes": bool(rate >= LEAST_WINNING_RATE) if can_pass else None}


def _summary(
    test: Comparisons, judge: int, shared: bool, counts: tuple[int, int, int], bounds: tuple[float, float], few: str
) -> dict[str, object]:
    """The columns of one judge on one dimension that do not hang on epsilon, and whether it `can_pass`.

    Parameters
    ----------
    shared : whether any case has two annotators
    counts : the cases that the judge is compared on, their clusters, and the resamples
    few : why there is no verdict, see `mrb_lib.stats.ceiling.judges.too_few`
    """
    tested, n = test.tested[judge], counts[0]
    n_tested, people = int(tested.sum()), int((test.items[judge] > 0).sum())
    out: dict[str, object] = {"n": n, "n_annotators": n_tested, "can_pass": bool(n_tested) and people > 2 and not few}
    if not n_tested:
        return out | {"reason": FEW_ITEMS if n else NOT_JUDGED if shared else ONE_ANNOTATOR}
    remarks = (
        TWO_ANNOTATORS if people == 2 else "",
        f"{people - n_tested} of {people} annotators are not tested: {FEW_SHARED}" if n_tested < people else "",
        FEW_UNITS if test.units[judge][tested].min() < ENOUGH_UNITS else "",
        few,
    )
    return out | {
        "advantage_probability": float(test.judge[judge][tested].mean()),
        "advantage_probability_low": bounds[0],
        "advantage_probability_high": bounds[1],
        "n_items": int(test.items[judge][tested].min()),
        "reason": join_reasons(*remarks, interval_reason(*counts, *bounds)),
    }


def _beside(annotators: Sequence[str], test: Comparisons, outcome: Outcome, judge: int) -> list[dict[str, object]]:
    """The columns of one judge beside each annotator."""
    return [
        {
            "part": ALT_TEST_ANNOTATOR,
            "annotator": name,
            "n": int(test.items[judge, who]),
            "n_items": int(test.items[judge, who]),
            "advantage_probability": test.judge[judge, who],
            "annotator_probability": test.annotator[judge, who],
            "p_value": outcome.p_value[judge, who],
            "p_adjusted": outcome.p_adjusted[judge, who],
            "passes": bool(outcome.rejected[judge, who]) if test.tested[judge, who] else None,
            "reason": None if test.tested[judge, who] else FEW_SHARED,
        }
        for who, name in enumerate(annotators)
        if test.items[judge, who]
    ]
