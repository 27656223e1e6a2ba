"""The pull of a property beyond quality: a judge compared with annotators who saw the same votes of the others."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit

from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.annotators import encode_annotations
from mrb_lib.stats.estimation import BoolArray, FloatArray, Sampling, by_influence, divide, estimate
from mrb_lib.stats.options import check_choice
from mrb_lib.tables.schema import CHOICES

ONE_CHOICE = "undefined: the same on every case"
COLLINEAR = "undefined: a predictor does not vary, or repeats the others"
SEPARATED = "undefined: a predictor decides the choice without exception, so that its log-odds are infinite"
ONE_ANNOTATOR = "association only: no case has two annotators, so that the error of the gold label is not known"
UNANIMOUS = "association only: annotators do not disagree enough to tell the error of the gold label"
WEAK = "association only: annotators agree too little to tell quality from chance"
FEWEST = 10
"""Clusters for each predictor, and cases that show a property, without which there is no error and no estimate."""
_SHARE = {"A": 1.0, "B": 0.0, "tie": 0.5}
_LEAST_F = 10.0
_STEPS, _CLOSE, _LARGEST_STEP, _SINGULAR = 30, 1e-7, 4.0, 1e-9


class Fits(NamedTuple):
    """Coefficients of m regressions on n cases; k of each, or one.

    Attributes
    ----------
    value : shape (m, k) or (m,); NaN where undefined
    moves : shape (m, n, k) or (m, n), how far each case moves them; 0 where it is not used or they are undefined
    used : shape (m, n), the cases of each regression
    flaw : shape (m,), why there is no estimate; empty where there is one
    """

    value: FloatArray
    moves: FloatArray
    used: BoolArray
    flaw: NDArray[np.str_]


def fit(predictors: list[FloatArray], y: FloatArray) -> Fits:
    """Regress shares on predictors, one regression per row.

    Parameters
    ----------
    predictors : k arrays of shape (m, n), the constant among them; a case with a NaN is not used
    y : shape (m, n), between 0 and 1, a half for a tie; NaN where a case is not in that regression

    Notes
    -----
    Maximum quasi-likelihood for a mean that is a share (Papke and Wooldridge 1996, Journal of Applied Econometrics
    11:619), by Newton's method on all rows together: a table needs thousands of regressions, and statsmodels, with
    which `tests/stats/tables/bias/test_logistic.py` compares them, fits one at a time.
    """
    x = np.stack([np.broadcast_to(each, y.shape) for each in predictors], axis=2)
    used = np.isfinite(y) & np.isfinite(x).all(axis=2)
    x, y = np.where(used[:, :, None], x, 0.0), np.where(used, y, 0.0)
    varies = (y.sum(axis=1) > 0) & (y.sum(axis=1) < used.sum(axis=1))
    spread = np.linalg.eigvalsh(np.swapaxes(x, 1, 2) @ x) if x.size else np.zeros((len(y), len(predictors)))
    identified = spread[:, 0] > _SINGULAR * np.maximum(spread[:, -1], 1e-300)
    value = np.full((len(y), len(predictors)), np.nan)
    moves = np.zeros(x.shape)
    rows = np.flatnonzero(varies & identified)
    beta, inverse, residual, converged = _newton(x[rows], y[rows], used[rows])
    value[rows[converged]] = beta[converged]
    moves[rows[converged]] = ((x[rows] * residual[:, :, None]) @ inverse)[converged]
    flaw = np.select([~varies, ~identified, np.isnan(value[:, 0])], [ONE_CHOICE, COLLINEAR, SEPARATED], "")
    return Fits(value, moves, used, np.asarray(flaw))


def _newton(x: FloatArray, y: FloatArray, used: BoolArray) -> tuple[FloatArray, FloatArray, FloatArray, BoolArray]:
    """Return the coefficients, the inverse information, the residuals, and whether it converged."""
    beta, k = np.zeros((len(x), x.shape[2])), x.shape[2]
    step = np.full(beta.shape, np.inf)
    for _ in range(_STEPS + 1):
        mean = expit((x @ beta[:, :, None])[:, :, 0])
        residual = (y - mean) * used
        information = np.swapaxes(x, 1, 2) @ (x * (mean * (1 - mean))[:, :, None])
        scale = np.trace(information, axis1=1, axis2=2)[:, None, None]
        inverse = np.linalg.inv(information + (scale * 1e-13 + 1e-200) * np.eye(k))
        converged = np.abs(step).max(axis=1, initial=0.0) < _CLOSE
        if converged.all():
            break
        step = (inverse @ (np.swapaxes(x, 1, 2) @ residual[:, :, None]))[:, :, 0]
        largest = np.abs(step).max(axis=1, keepdims=True)
        step *= np.minimum(1.0, _LARGEST_STEP / np.maximum(largest, _LARGEST_STEP))
        beta = beta + np.where(converged[:, None], 0.0, step)
    return beta, inverse, residual, converged


class Votes(NamedTuple):
    """The annotators' votes.

    Attributes
    ----------
    share : shape (dimensions, seats, cases), 1 for A, 0 for B, 1/2 for a tie; NaN without a vote
    others : shape (dimensions, seats, cases), the mean vote of the other annotators of the case, from -1 to 1
    tables : the seats that are regressed together: an annotator each, or all seats of a changing crowd
    """

    share: FloatArray
    others: FloatArray
    tables: list[list[int]]


def votes_of(analysis: Analysis) -> Votes:
    """Seat the annotators: a seat is one annotator where each labels half of the cases or more, otherwise anyone's.

    Raises
    ------
    InputError
        A category is not a preference.
    """
    categories, dimensions = analysis.categories, analysis.verdicts.dimensions
    for name in categories:
        check_choice("category", name, CHOICES)
    coded = encode_annotations(analysis.annotations, analysis.cases, categories, dimensions)
    votes = pd.DataFrame({"dimension": coded.dimension, "case": coded.case, "annotator": coded.annotator})
    of_case = votes.groupby(["dimension", "case"])["annotator"]
    per_case = of_case.size().median() if len(votes) else 0
    is_panel = len(coded.annotators) <= 2 * per_case
    seat = coded.annotator if is_panel else of_case.rank(method="first").to_numpy(np.int64) - 1
    n_seats = int(seat.max(initial=-1)) + 1
    share = np.full((len(dimensions), n_seats, len(analysis.cases)), np.nan)
    share[coded.dimension, seat, coded.case] = np.array([_SHARE[name] for name in categories])[coded.choice]
    n = np.isfinite(share).sum(axis=1, keepdims=True) - 1.0
    others = 2 * divide(np.nansum(share, axis=1, keepdims=True) - np.nan_to_num(share), n * np.ones(share.shape)) - 1
    seats = list(range(n_seats))
    tables = [[each] for each in seats] if is_panel and seats else [seats]
    return Votes(share, np.where(np.isfinite(share), others, np.nan), tables)


def beyond_quality(y: FloatArray, predictors: list[FloatArray], votes: Votes, sampling: Sampling) -> Fits:
    """Estimate the log odds of the last predictor beyond those that quality explains.

    Parameters
    ----------
    y : shape (m, n), the share of a judge's verdicts for response A; NaN where a case is not used
    predictors : arrays of shape (m, n), the constant first
    votes : of the dimension of each row, arrays of shape (m, seats, n)

    Notes
    -----
    Two regressions for each annotator, on the mean vote of the others and the predictors: of the judge's choice and of
    the annotator's. What both owe to quality alone moves both in the same proportion, that of their coefficients of the
    others' votes; what is left of the judge's is its own: b(judge) - b(annotator) a(judge) / a(annotator). In linear
    regressions this is two-stage least squares with the others as the instrument of the annotator (errors in variables
    with two measurements; Gillen, Snowberg and Yariv, doi:10.1086/701681, use every measurement in turn), in logistic
    ones its indirect form. The mean is over annotators without those whose others' votes have F < 10 (Staiger and
    Stock, doi:10.2307/2171753), over clusters, or over cases where clusters are few.

    Annotators must err independently of each other given quality. A pull that all share is taken for quality; an error
    that all share, such as a liking for one wording, is not, and convicts a judge that does not share it. Annotators
    that hardly disagree say which response is better and not by how much: where they err by .3 of the spread of
    quality, which correlates at .6 with the property, 11 to 16% of judges that go by how much are found at 5%, 3 to 8%
    where they err by .5. Where they err by 2.5, votes are too weak an instrument for a test in half of the benchmarks,
    and 12 to 14% of the tests find a pull (at a correlation of .3: in 11%, and 5%). Equal to statsmodels in
    `tests/stats/tables/bias/test_quality.py`; size and power: `tests/simulation/test_innocent_judges.py`.
    """
    pulls = [_pull(y, predictors, votes, table, sampling) for table in votes.tables]
    flaws = np.stack([pull.flaw for pull in pulls])
    sound = flaws == ""
    weight = divide(sound.astype(np.float64), sound.sum(axis=0) * np.ones(sound.shape))
    value = (weight * [np.nan_to_num(pull.value) for pull in pulls]).sum(axis=0)
    moves = (np.nan_to_num(weight)[:, :, None] * np.array([pull.moves for pull in pulls])).sum(axis=0)
    used = np.asarray((sound[:, :, None] & np.array([pull.used for pull in pulls])).any(axis=0))
    return Fits(value, moves, used, np.where(sound.any(axis=0), "", flaws[0]))


def _pull(y: FloatArray, predictors: list[FloatArray], votes: Votes, table: list[int], sampling: Sampling) -> Fits:
    """Estimate from the annotators of one table, their cases one after the other."""
    seats, (m, n) = len(table), y.shape
    vote, others = (values[:, table].reshape(m, seats * n) for values in (votes.share, votes.others))
    own = np.where(np.isfinite(vote) & np.isfinite(others), np.tile(y, seats), np.nan)
    x = [others, *(np.tile(np.broadcast_to(values, y.shape), seats) for values in predictors)]
    judge, human = fit(x, own), fit(x, np.where(np.isfinite(own), vote, np.nan))
    (a, b), (a_human, b_human) = (fits.value[:, [0, -1]].T for fits in (judge, human))
    used = np.asarray(judge.used.reshape(m, seats, n).any(axis=1))

    def over_seats(fits: Fits, at: int) -> FloatArray:
        return np.asarray(fits.moves[:, :, at].reshape(m, seats, n).sum(axis=1))

    of_votes = estimate(by_influence(a_human, over_seats(human, 0).T, np.asarray(used.T, dtype=np.float64)), sampling)
    over_cases = np.sqrt((human.moves[:, :, 0] ** 2).sum(axis=1))
    known = np.isfinite(of_votes.error) & (of_votes.clusters >= FEWEST * len(x))
    weak = ~((a_human > 0) & (a_human >= np.sqrt(_LEAST_F) * np.where(known, of_votes.error, over_cases)))
    unanimous = np.isin(human.flaw, (SEPARATED, ONE_CHOICE))
    flaw = np.select(
        [~used.any(axis=1), judge.flaw != "", unanimous, human.flaw != "", weak],
        [ONE_ANNOTATOR, judge.flaw, UNANIMOUS, human.flaw, WEAK],
        "",
    )
    ratio, slope = divide(a, a_human), divide(b_human, a_human)[:, None]
    of_judge, of_human = (over_seats(fits, -1) - slope * over_seats(fits, 0) for fits in (judge, human))
    moves = np.nan_to_num(of_judge - ratio[:, None] * of_human)
    return Fits(b - ratio * b_human, moves, used, flaw)
