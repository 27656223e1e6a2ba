"""Intraclass correlations of scores: how much of their variance is the cases' own.

ICC(2,1) is the reliability of one annotator's score in absolute agreement, ICC(2,k) that of a case's mean
score; both take annotators as a random sample (Shrout & Fleiss 1979, doi:10.1037/0033-2909.86.2.420; ICC(A,1)
and ICC(A,k) of McGraw & Wong 1996, doi:10.1037/1082-989X.1.1.30). Annotations may be missing: the components
of variance come from Henderson's first method (Searle, Casella & McCulloch 1992, Variance Components, ch. 5),
which gives the mean squares' own where none is missing. Compared with pingouin in
`tests/stats/agreement/test_agreement_icc.py`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import fdtri

from mrb_lib.stats.agreement.intervals import Interval, bounded
from mrb_lib.stats.options import TINY, BoolArray, FloatArray, IntArray, divide
from mrb_lib.stats.resampling.resample import Resampled, Summands, cell_sums

COEFFICIENTS = ("icc_2_1", "icc_2_k")
GENERALIZED = tuple(f"{name}_generalized_{end}" for name in COEFFICIENTS for end in ("low", "high"))
INCOMPLETE = "no analytic interval for the ICC: not every annotator labelled every case"
CLUSTERED = "no analytic interval for the ICC: cases are in clusters"
NO_ERROR = "no analytic interval for the ICC: the annotators agree perfectly, so that there is no error variance"
COARSE = "few labels: the ICC's F and generalized intervals need normal scores, and cover less than 95% of these"
_CONTINUOUS = 7
_SCALARS = 6
_PIVOTS = 10_001
_TAILS = (0.025, 0.975)


def case_sums(position: IntArray, annotator: IntArray, score: FloatArray, n_cases: int) -> Summands:
    """What each case adds to the sums.

    Parameters
    ----------
    position, annotator, score : one entry an annotation; position is that of the case, 0 to n_cases - 1

    Returns
    -------
    shape (n_cases, 6 + 2J), dense or sparse, only cases with two scores or more being counted: scores, cases, squared
    scores, squared sum of scores divided by their number, squared number, 1 / number; scores by annotator; and
    sum of scores by annotator
    """
    number = np.bincount(position, minlength=n_cases).astype(np.float64)
    counts = number >= 2
    total = np.bincount(position, weights=score, minlength=n_cases)
    squares = np.bincount(position, weights=score**2, minlength=n_cases)
    inverse = 1 / np.maximum(number, 1)
    scalars = np.stack([number, np.ones(n_cases), squares, total**2 * inverse, number**2, inverse], axis=1)
    names, column = np.unique(annotator, return_inverse=True)
    kept = counts[position]
    case, each = np.flatnonzero(counts), position[kept]
    columns = [*(np.full(len(case), i) for i in range(_SCALARS)), _SCALARS + column[kept]]
    columns.append(columns[-1] + len(names))
    return cell_sums(
        np.concatenate([np.tile(case, _SCALARS), each, each]),
        np.concatenate(columns),
        np.concatenate([scalars[case].T.ravel(), np.ones(len(each)), score[kept]]),
        (n_cases, _SCALARS + 2 * len(names)),
    )


class Squares(NamedTuple):
    """The uncorrected sums of squares and the sizes of a design; every array has shape (...).

    Attributes
    ----------
    n, cases, annotators : scores, cases and annotators
    total, by_case, by_annotator, mean : squared scores; squared sums divided by their numbers of scores
    n_by_case, n_by_annotator : squared numbers of scores, summed and divided by `n`
    inverse : 1 / scores of a case, summed
    """

    n: FloatArray
    cases: FloatArray
    annotators: FloatArray
    total: FloatArray
    by_case: FloatArray
    by_annotator: FloatArray
    mean: FloatArray
    n_by_case: FloatArray
    n_by_annotator: FloatArray
    inverse: FloatArray

    @classmethod
    def of(cls, sums: FloatArray) -> Squares:
        """From weighted sums of `case_sums`, shape (b, 6 + 2J)."""
        n, cases, total, by_case, number, inverse = sums.T[:_SCALARS]
        each, score = np.split(sums.T[_SCALARS:], 2)
        by_annotator = np.nan_to_num(divide(score**2, each)).sum(axis=0)
        mean = divide(score.sum(axis=0) ** 2, n)
        n_by_annotator = divide((each**2).sum(axis=0), n)
        there = (each > TINY).sum(axis=0).astype(np.float64)
        return cls(n, cases, there, total, by_case, by_annotator, mean, divide(number, n), n_by_annotator, inverse)

    @property
    def per_case(self) -> FloatArray:
        """Scores a case, the harmonic mean."""
        return divide(self.cases, self.inverse)

    @property
    def complete(self) -> BoolArray:
        """Whether every annotator scored every case, and there are two of both at least."""
        n, k = self.cases, self.annotators
        return np.asarray((np.abs(self.n - n * k) < TINY) & (n >= 2) & (k >= 2))

    def mean_squares(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Between cases, between annotators and of the rest, for complete designs."""
        n, k = self.cases, self.annotators
        rest = np.maximum(self.total - self.by_case - self.by_annotator + self.mean, 0.0)
        return (
            divide(self.by_case - self.mean, n - 1),
            divide(self.by_annotator - self.mean, k - 1),
            divide(rest, (n - 1) * (k - 1)),
        )

    def coefficients(self) -> tuple[FloatArray, FloatArray]:
        """ICC(2,1) and ICC(2,k) for k = `per_case`; NaN where undefined."""
        within_case = divide(self.total - self.by_case, self.n - self.cases)
        within_annotator = divide(self.total - self.by_annotator, self.n - self.annotators)
        explained = (self.n - self.n_by_case) * within_annotator + (self.n - self.n_by_annotator) * within_case
        freedom = self.n + 1 - self.n_by_case - self.n_by_annotator
        error = divide(explained - (self.total - self.mean), freedom)
        between = within_annotator - error
        single = divide(between, between + within_case)
        return single, divide(between, between + divide(within_case, self.per_case))


def coefficients(sums: FloatArray) -> FloatArray:
    """ICC(2,1) and ICC(2,k), shape (b, 2), of weighted sums of `case_sums`."""
    return np.stack(Squares.of(sums).coefficients()).T


def f_intervals(squares: Squares) -> tuple[FloatArray, FloatArray]:
    """Limits of ICC(2,1) from the F distribution, for complete designs of independent cases.

    Returns
    -------
    low, high : shape (...); NaN where the design is not complete, or where there is no error

    Notes
    -----
    Satterthwaite's approximation, Shrout & Fleiss (1979, p. 424), McGraw & Wong (1996, table 7).
    The limits of ICC(2,k) are these by Spearman and Brown's formula, see `stepped_up`. Where cases are many,
    annotators few and far apart, the approximation is poor and the interval too narrow: it covers 76%
    with 1,000 cases and three annotators whose variance is a fifth of that of cases; see `generalized_intervals`.
    """
    n, k = squares.cases, squares.annotators
    rows, columns, error = squares.mean_squares()
    single = squares.coefficients()[0]
    ratio = divide(k * single, n * (1 - single))
    between, rest = ratio * columns, (1 + ratio * (n - 1)) * error
    freedom = divide((between + rest) ** 2, divide(between**2, k - 1) + divide(rest**2, (n - 1) * (k - 1)))
    usable = squares.complete & np.isfinite(freedom) & (error > TINY)
    freedom = np.where(usable, freedom, 1.0)
    lower = fdtri(np.where(usable, n - 1, 1.0), freedom, _TAILS[1])
    upper = fdtri(freedom, np.where(usable, n - 1, 1.0), _TAILS[1])
    spread = k * columns + (k * n - k - n) * error
    low = divide(n * (rows - lower * error), lower * spread + n * rows)
    high = divide(n * (upper * rows - error), spread + n * upper * rows)
    return np.where(usable, low, np.nan), np.where(usable, high, np.nan)


def generalized_intervals(squares: Squares, seed: int) -> tuple[FloatArray, FloatArray]:
    """Limits of ICC(2,1) of complete designs by generalized pivotal quantities, drawn from a seed.

    Parameters
    ----------
    squares : arrays of shape (g,)

    Returns
    -------
    low, high : shape (g,)

    Notes
    -----
    Weerahandi (1993, doi:10.1080/01621459.1993.10476355); for this coefficient Ionan, Polley, McShane & Dobbin
    (2014, doi:10.1186/1471-2288-14-121). Mean squares divided by chi squares stand for their expectations;
    coverage stays near 95% where that of `f_intervals` does not: `tests/simulation/test_agreement.py`.
    """
    sizes = zip(squares.cases.tolist(), squares.annotators.tolist(), strict=True)
    ends = (np.array(_TAILS) * (_PIVOTS - 1)).astype(np.int64)
    out = np.empty((2, len(squares.cases)))
    for i, ((n, k), each) in enumerate(zip(sizes, np.stack(squares.mean_squares(), axis=1), strict=True)):
        rows, columns, rest = each[:, None] * _pivots(n, k, seed)
        between = (rows - rest) / k
        pivots = between / (between + np.maximum((columns - rest) / n, 0.0) + rest)
        pivots.partition(ends)
        out[:, i] = pivots[ends]
    return out[0], out[1]


@lru_cache(maxsize=4)
def _pivots(n: float, k: float, seed: int) -> FloatArray:
    """Degrees of freedom over chi squares, shape (3, pivots), of mean squares between cases, annotators, the rest."""
    generator = np.random.default_rng(seed)
    freedom = np.array([n - 1, k - 1, (n - 1) * (k - 1)])[:, None]
    return np.asarray(freedom / generator.chisquare(freedom, (3, _PIVOTS)))


def stepped_up(single: FloatArray, k: FloatArray) -> FloatArray:
    """The reliability of a mean of k scores from that of one, by Spearman and Brown's formula."""
    return divide(k * single, 1 + (k - 1) * single)


class Scores(NamedTuple):
    """The intraclass correlations of a measure.

    Attributes
    ----------
    intervals : in the order of `COEFFICIENTS`
    generalized : columns with the ends of the generalized intervals
    reason : why there is no analytic interval; empty if there is
    """

    intervals: list[Interval]
    generalized: dict[str, float]
    reason: str


def icc_intervals(drawn: Resampled, independent: bool, seed: int) -> Scores:
    """ICC(2,1) and ICC(2,k) of a measure with their intervals; `independent`: no cluster has several cases."""
    squares = Squares.of(drawn.total)
    value = np.stack(squares.coefficients(), axis=1)
    by_f = np.stack(f_intervals(squares)) if independent else np.full((2, 1), np.nan)
    low, high = np.stack([by_f, stepped_up(by_f, squares.per_case)], axis=2)
    clusters = np.full(value.shape, np.count_nonzero(drawn.sums @ np.ones(drawn.sums.shape[1])))
    (row,) = bounded([drawn], value, (low, high), clusters)
    has_f = bool(np.isfinite(by_f).all())
    generalized: dict[str, float] = {}
    if has_f:
        single = np.concatenate(generalized_intervals(squares, seed))
        ends = [*single, *stepped_up(single, squares.per_case)]
        generalized = dict(zip(GENERALIZED, ends, strict=True))
    return Scores(row, generalized, no_f_interval(row[0].value, independent, bool(squares.complete[0]), has_f))


def no_f_interval(value: float, independent: bool, complete: bool, has_f: bool) -> str:
    """Why an ICC has no interval by the F distribution; empty if it has, or if the ICC is undefined itself."""
    if has_f or np.isnan(value):
        return ""
    return (
        "; ".join(text for text, holds in ((INCOMPLETE, not complete), (CLUSTERED, not independent)) if holds)
        or NO_ERROR
    )


def is_coarse(used: BoolArray) -> bool:
    """Whether the labels in use are too few for scores to be taken for normal."""
    return int(used.sum()) < _CONTINUOUS
