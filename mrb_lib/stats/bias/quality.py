"""The pull of a property beyond quality: a judge compared with annotators who saw the same votes of the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mrb_lib.stats.agreement.labels import encode_annotations
from mrb_lib.stats.bias import logistic
from mrb_lib.stats.bias.measures import FEW_SHOW_IT, FEWEST, BiasMeasure
from mrb_lib.stats.core.options import BoolArray, FloatArray, IntArray, divide

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
    """Seat the annotators: a seat is one annotator where each labels half of the cases or more, otherwise anyone's."""
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
    reason : shape (rows,), why there is no value; empty where there is one
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
    the annotator's. What both owe to quality alone moves both in the same proportion, that of their coefficients of
    the others' votes; what is left of the judge's is its own: b(judge) - b(annotator) a(judge) / a(annotator). In
    linear regressions this is two-stage least squares with the others as the instrument of the annotator (errors in
    variables with two measurements; Gillen, Snowberg and Yariv, doi:10.1086/701681, use every measurement in turn), in
    logistic ones its indirect form. Averaged over annotators; those whose others' votes have F < 10 (Staiger and
    Stock, doi:10.2307/2171753) are left out. The standard error is the sandwich of all regressions together, summed
    over clusters. Annotators must err independently of each other given quality; a pull that they share is taken for
    quality, so that the estimate is what the judge has beyond theirs. Annotators that hardly disagree say which
    response is better and not by how much: where they err by .3 of the spread of quality, which correlates at .6 with
    the property, 11 to 16% of judges that go by how much are found at 5%, 3 to 8% where they err by .5. Equal to
    statsmodels in `tests/stats/bias/test_quality.py`; size and power: `tests/simulation/test_innocent_judges.py`.
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
    weak = ~((a_human > 0) & (a_human**2 >= _LEAST_F * human.error[:, 0] ** 2))
    reason = [_reason(*row) for row in zip(np.asarray(used.any(axis=1)), judge.reason, human.reason, weak, strict=True)]
    sound = np.array([not why for why in reason])
    ratio, slope = divide(a, a_human)[:, None], divide(b_human, a_human)[:, None]
    influence = np.zeros(used.shape)
    own, theirs = (
        logistic.influence(x[sound], np.nan_to_num(each[sound]), fits.coefficient[sound])[:, :, [0, -1]]
        for each, fits in zip(both, (judge, human), strict=True)
    )
    influence[sound] = _less(own, slope[sound]) - ratio[sound] * _less(theirs, slope[sound])
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
    if not used:
        return ONE_ANNOTATOR
    if judge:
        return judge
    if human:
        return UNANIMOUS if human in (logistic.SEPARATED, logistic.ONE_CHOICE) else human
    return WEAK if weak else ""


def _mean(pulls: Sequence[_Pull], codes: IntArray) -> tuple[IntArray, FloatArray, NDArray[np.object_]]:
    """Cases, the estimate with its interval and p-value, shape (4, rows), and why there is none.

    The mean is over the tables that have a value.
    """
    sound = np.array([pull.reason == "" for pull in pulls])
    weight = divide(sound.astype(np.float64), sound.sum(axis=0))
    value = (weight * np.array([np.nan_to_num(pull.value) for pull in pulls])).sum(axis=0)
    influence = (np.nan_to_num(weight)[:, :, None] * np.array([pull.influence for pull in pulls])).sum(axis=0)
    used = (sound[:, :, None] & np.array([pull.used for pull in pulls])).any(axis=0)
    member = logistic.indicator(codes)
    clusters = ((used @ member) > 0).sum(axis=1).astype(np.int64)
    error = np.sqrt(((influence @ member) ** 2).sum(axis=1) * divide(clusters, clusters - 1.0))
    reach = error * logistic.quantile(clusters)
    numbers = np.array([value, value - reach, value + reach, logistic.two_sided(value, error, clusters)])
    reason = pulls[0].reason.copy()
    reason[sound.any(axis=0)] = None
    return used.sum(axis=1), numbers, reason
