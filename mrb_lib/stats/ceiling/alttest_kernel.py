"""The arithmetic of the Alternative Annotator Test: who is aligned with the others, and is it chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from mrb_lib.schema import CHOICES
from mrb_lib.stats.agreement.coefficients import votes_by_case
from mrb_lib.stats.agreement.labels import Annotations
from mrb_lib.stats.core.multiplicity import adjust
from mrb_lib.stats.core.options import BoolArray, FloatArray, IntArray, divide
from mrb_lib.stats.core.panel import ABSENT, NULL, TIE, Panel
from mrb_lib.stats.core.scoring import columns_used
from mrb_lib.stats.resampling.distinct import clusters_counted

ALPHA = 0.05
_EQUAL = 1e-9


def label_values(categories: Sequence[str], level: str) -> FloatArray | None:
    """The labels as numbers: none on the nominal level, ranks on the ordinal, what they say on the interval level."""
    if level == "nominal":
        return None
    ranks = np.arange(len(categories), dtype=np.float64)
    if level == "ordinal":
        return ranks
    try:
        numbers = np.array([float(name) for name in categories])
    except ValueError:
        return ranks
    return numbers if np.isfinite(numbers).all() else ranks


def labels_by_policy(panel: Panel, categories: Sequence[str], policy: str) -> tuple[NDArray[np.int64], BoolArray]:
    """The verdicts of each judge on each case that stand beside an annotator's label.

    `official`: the one in order AB, repeat 0. `balanced`: all of them, each compared on its own and
    then averaged, which is the probability for a verdict drawn at random (an order with more repeats has more weight);
    null agrees with nobody. `answered`:
    those with a choice. `strict`: one, the choice of them all, null where they differ. `net`: one, the response with
    more verdicts, a tie where there are more ties than other choices, else null. The last two need both orders.

    Returns
    -------
    Codes in `categories`, -1 for null, and which of them count; shape (judges, dimensions, cases, verdicts)
    """
    place = {name: i for i, name in enumerate(categories)}
    into = np.array([*(place.get(name, NULL) for name in CHOICES), NULL, NULL], dtype=np.int64)
    used = panel.choice[..., *columns_used(panel, policy)]
    flat = used.reshape(*panel.shape, -1)
    present = flat != ABSENT
    if policy == "answered":
        present = flat >= 0
    if policy in ("strict", "net"):
        both = (used != ABSENT).any(axis=4).all(axis=3)
        whole = _unanimous(flat) if policy == "strict" else _net(flat)
        return into[whole[..., None]], both[..., None]
    return into[flat.astype(np.int64)], present


def _unanimous(flat: NDArray[np.int8]) -> NDArray[np.int64]:
    """The choice of all verdicts, null where they differ; shape (..., verdicts) to (...)."""
    top = flat.max(axis=-1).astype(np.int64)
    same = ((flat == ABSENT) | (flat == top[..., None])).all(axis=-1)
    return np.where(same & (top >= 0), top, NULL)


def _net(flat: NDArray[np.int8]) -> NDArray[np.int64]:
    a, b, tie = ((flat == choice).sum(axis=-1) for choice in (0, 1, TIE))
    return np.select([a > b, b > a, tie > a + b], [0, 1, TIE], NULL).astype(np.int64)


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
        found: BoolArray = np.isfinite(self.judge)
        return found


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
    _, place = np.unique(codes, return_inverse=True)
    units = n
    if len(codes) and place.max() + 1 < len(codes):
        together = (place[:, None] == np.arange(place.max() + 1)).astype(np.float64)
        residual = residual @ together
        units = (used.astype(np.float64) @ together > 0).sum(axis=1)
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
        found: BoolArray = np.isfinite(self.p_value)
        return found


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
