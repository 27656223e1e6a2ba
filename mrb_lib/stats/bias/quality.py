"""The pull of a property beyond quality: a judge compared with annotators who saw the same votes of the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mrb_lib.stats.annotators import encode_annotations
from mrb_lib.stats.bias import logistic
from mrb_lib.stats.bias.measures import FEW_SHOW_IT, FEWEST, BiasMeasure
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, check_choice, divide
from mrb_lib.stats.resampling.robust import Estimate, t_interval, t_test
from mrb_lib.tables.schema import CHOICES

ONE_ANNOTATOR = "association only: no case has two annotators, so that the error of the gold label is not known"
UNANIMOUS = "association only: annotators do not disagree enough to tell the error of the gold label"
WEAK = "association only: annotators agree too little to tell quality from chance"
_SHARE = {"A": 1.0, "B": 0.0, "tie": 0.5}
_LEAST_F = 10.0


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


def votes_of(
    annotations: pd.DataFrame | None, cases: pd.DataFrame, categories: Sequence[str], dimensions: Sequence[str]
) -> Votes:
    """Seat the annotators: a seat is one annotator where each labels half of the cases or more, otherwise anyone's.

    Raises
    ------
    InputError
        A category is not a preference.
    """
    for name in categories:
        check_choice("category", name, CHOICES)
    if annotations is None:
        nobody = np.empty((len(dimensions), 0, len(cases)))
        return Votes(nobody, nobody, [])
    coded = encode_annotations(annotations, cases, categories, dimensions)
    votes = pd.DataFrame({"dimension": coded.dimension, "case": coded.case, "annotator": coded.annotator})
    turn = votes.groupby(["dimension", "case"])["annotator"].rank(method="first").to_numpy(dtype=np.int64) - 1
    per_case = votes.groupby(["dimension", "case"]).size().median() if len(votes) else 0
    panel = len(coded.annotators) <= 2 * per_case
    seat = coded.annotator if panel else turn
    n_seats = int(seat.max(initial=-1)) + 1
    share = np.full((len(dimensions), n_seats, len(cases)), np.nan)
    share[coded.dimension, seat, coded.case] = np.array([_SHARE[name] for name in categories])[coded.choice]
    n = np.isfinite(share).sum(axis=1, keepdims=True) - 1
    others = 2 * divide(np.nansum(share, axis=1, keepdims=True) - np.nan_to_num(share), n * np.ones(share.shape)) - 1
    seats = list(range(n_seats))
    return Votes(share, np.where(np.isfinite(share), others, np.nan), [[i] for i in seats] if panel else [seats])


class _Pull(NamedTuple):
    """What one table says of each row.

    Attributes
    ----------
    value : shape (rows,)
    influence : shape (rows, cases), what each case adds to the error of the value; 0 where there is none
    used : shape (rows, cases)
    reason : shape (rows,), why there is no value, or no interval; empty where there are both
    """

    value: FloatArray
    influence: FloatArray
    used: BoolArray
    reason: NDArray[np.object_]


def beyond_quality(
    name: str,
    marker: str | None,
    y: FloatArray,
    predictors: Sequence[FloatArray],
    votes: Votes,
    codes: IntArray,
    none: str,
) -> BiasMeasure:
    """The log-odds of the last predictor beyond those that quality explains.

    Parameters
    ----------
    y : shape (rows, cases), the share of a judge's verdicts for response A; NaN where a case is not used
    predictors : each of shape (rows, cases), the constant first
    votes : of the row's dimension, each array of shape (rows, seats, cases)
    codes : shape (cases,), the cluster of each case
    none : why the last predictor is 0 in all cases

    Notes
    -----
    Two regressions for each annotator, on the mean vote of the others and the predictors: of the judge's choice and of
    the annotator's. What both owe to quality alone moves both in the same proportion, that of their coefficients of the
    others' votes; what is left of the judge's is its own: b(judge) - b(annotator) a(judge) / a(annotator). In linear
    regressions this is two-stage least squares with the others as the instrument of the annotator (errors in variables
    with two measurements; Gillen, Snowberg and Yariv, doi:10.1086/701681, use every measurement in turn), in logistic
    ones its indirect form. Averaged over annotators; those whose others' votes have F < 10 (Staiger and Stock,
    doi:10.2307/2171753) are left out; F is over clusters, and over cases where clusters are too few for a standard
    error. The standard error is the sandwich of all regressions together, summed over clusters. Annotators must err
    independently of each other given quality; a pull that they share is taken for quality, so that the estimate is what
    the judge has beyond theirs. Annotators that hardly disagree say which response is better and not by how much: where
    they err by .3 of the spread of quality, which correlates at .6 with the property, 11 to 16% of judges that go by
    how much are found at 5%, 3 to 8% where they err by .5. Where they err by 2.5, votes are too weak an instrument for
    a test in half of the benchmarks, and 12 to 14% of the tests find a pull (at a correlation of .3: in 11%, and 5%).
    Equal to statsmodels in `tests/stats/bias/test_quality.py`; size and power:
    `tests/simulation/test_innocent_judges.py`.
    """
    last = np.broadcast_to(predictors[-1], y.shape)
    shows: BoolArray = np.isfinite(last) & (last != 0)
    y = np.where(np.isfinite(last), y, np.nan)
    enough = (np.isfinite(y) & shows).sum(axis=1) >= FEWEST
    n = (np.isfinite(y) & np.isfinite(votes.others).any(axis=1)).sum(axis=1)
    value, low, high, p_value = every = np.full((4, len(y)), np.nan)
    seen = np.isfinite(y).any(axis=1)
    reason = np.where(seen, np.where(shows.any(axis=1), FEW_SHOW_IT, none), logistic.NO_CASES).astype(object)
    if enough.any() and votes.tables:
        of_rows = [np.broadcast_to(values, y.shape)[enough] for values in predictors]
        own = votes._replace(share=votes.share[enough], others=votes.others[enough])
        pulls = [_pull(y[enough], of_rows, own, table, codes) for table in votes.tables]
        n[enough], every[:, enough], reason[enough] = _mean(pulls, codes)
    elif enough.any():
        reason[enough] = ONE_ANNOTATOR
    nothing = np.full(len(y), np.nan)
    return BiasMeasure("bias", name, "beyond_quality", marker, n, value, low, high, p_value, nothing, nothing, reason)


def _pull(y: FloatArray, predictors: Sequence[FloatArray], votes: Votes, table: list[int], codes: IntArray) -> _Pull:
    """The estimate from the annotators of one table, their cases one after the other."""
    seats, (rows, cases) = len(table), y.shape
    vote, others = (values[:, table].reshape(rows, -1) for values in (votes.share, votes.others))
    used: BoolArray = np.isfinite(vote) & np.isfinite(others) & np.isfinite(np.tile(y, seats))
    x = np.stack([np.nan_to_num(others), *(np.tile(values, seats) for values in predictors)], axis=2)
    x = np.where(used[:, :, None], x, 0.0)
    both = [np.where(used, each, np.nan) for each in (np.tile(y, seats), vote)]
    judge, human = (logistic.fit(x, each, np.tile(codes, seats)) for each in both)
    (a, b), (a_human, b_human) = (fits.coefficient[:, [0, -1]].T for fits in (judge, human))
    fitted = np.isfinite(a) & np.isfinite(a_human)
    own, theirs = np.zeros((2, *used.shape, 2))
    for out, each, fits in ((own, both[0], judge), (theirs, both[1], human)):
        of_rows = x[fitted], np.nan_to_num(each[fitted]), fits.coefficient[fitted]
        out[fitted] = logistic.influence(*of_rows)[:, :, [0, -1]]
    over_cases = (theirs[:, :, 0] ** 2).sum(axis=1)
    variance = np.where(np.isfinite(human.error[:, 0]), human.error[:, 0] ** 2, over_cases)
    weak = ~((a_human > 0) & (a_human**2 >= _LEAST_F * variance))
    reason = [_reason(*row) for row in zip(np.asarray(used.any(axis=1)), judge.reason, human.reason, weak, strict=True)]
    ratio, slope = divide(a, a_human)[:, None], divide(b_human, a_human)[:, None]
    influence = np.where(fitted[:, None], _less(own, slope) - ratio * _less(theirs, slope), 0.0)
    shape = rows, seats, cases
    return _Pull(
        b - ratio[:, 0] * b_human,
        influence.reshape(shape).sum(axis=1),
        np.asarray(used.reshape(shape).any(axis=1)),
        np.array(reason, dtype=object),
    )


def _less(each: FloatArray, slope: FloatArray) -> FloatArray:
    """What cases add to the last coefficient less the slope times the first."""
    out: FloatArray = each[:, :, 1] - slope * each[:, :, 0]
    return out


def _reason(used: bool, judge: str, human: str, weak: bool) -> str:
    """Why there is no value, before why there is no interval."""
    if not used:
        return ONE_ANNOTATOR
    human = UNANIMOUS if human in (logistic.SEPARATED, logistic.ONE_CHOICE) else human
    undefined = [why for why in (judge, human, WEAK if weak else "") if why not in ("", *logistic.NO_INTERVAL)]
    return undefined[0] if undefined else judge or human


def _mean(pulls: Sequence[_Pull], codes: IntArray) -> tuple[IntArray, FloatArray, NDArray[np.object_]]:
    """Cases, the estimate with its interval and p-value, shape (4, rows), and why there is none.

    The mean is over the tables that have an interval, or, where none has, over those that have a value.
    """
    reasons = np.array([pull.reason for pull in pulls])
    bounded = reasons == ""
    any_bounded = bounded.any(axis=0)
    sound = np.where(any_bounded, bounded, np.isin(reasons, logistic.NO_INTERVAL))
    weight = divide(sound.astype(np.float64), sound.sum(axis=0))
    value = (weight * np.array([np.nan_to_num(pull.value) for pull in pulls])).sum(axis=0)
    influence = (np.nan_to_num(weight)[:, :, None] * np.array([pull.influence for pull in pulls])).sum(axis=0)
    used = (sound[:, :, None] & np.array([pull.used for pull in pulls])).any(axis=0)
    member = logistic.members(codes)
    clusters = ((used @ member) > 0).sum(axis=1).astype(np.int64)
    error = np.sqrt(((influence @ member) ** 2).sum(axis=1) * divide(clusters, clusters - 1.0))
    error[~any_bounded] = np.nan
    estimate = Estimate(value, error, clusters.astype(np.float64))
    numbers = np.array([value, *t_interval(estimate), t_test(estimate)])
    reason = reasons[sound.argmax(axis=0), np.arange(sound.shape[1])]
    reason[any_bounded] = None
    return used.sum(axis=1), numbers, reason
