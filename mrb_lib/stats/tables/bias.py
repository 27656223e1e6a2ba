"""Does length, style or authorship of a response sway a judge, beyond what quality explains?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit

from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.annotators import encode_annotations
from mrb_lib.stats.columns import Column, estimated, shared, table
from mrb_lib.stats.contrasts import ALPHA, t_test
from mrb_lib.stats.estimation import Estimate, Sampling, average, by_influence, divide, estimate, mean
from mrb_lib.stats.intervals import Interval, t
from mrb_lib.stats.methods.marginal import MOST_LOG_ODDS
from mrb_lib.stats.methods.response_traits import MARKERS, kinship, length_difference, marker_differences, standardised
from mrb_lib.stats.methods.welch import unpaired
from mrb_lib.stats.multiplicity import adjust_rows
from mrb_lib.stats.options import BoolArray, FloatArray, check_choice
from mrb_lib.stats.phrases import main_dimension, main_rows, opening
from mrb_lib.stats.scoring import read_by
from mrb_lib.stats.verdicts import TIE
from mrb_lib.tables.schema import CHOICES

BIAS, ASSOCIATION = "bias", "association"
LENGTH, STYLE, SELF, FAMILY = "length", "style", "self_preference", "family_preference"
NO_TEXTS: Final = "the cases lack the texts of the responses"
NO_GOLD: Final = "no case with a verdict has a gold label"
FEW_SHOW_IT: Final = "undefined: fewer than ten cases with a verdict show it"
FEW: Final = "fewer clusters than ten for each predictor, or fewer than ten cases on one of the two sides"
ONE_SIDE: Final = "error_asymmetry is undefined: gold does not prefer each of the two kinds of response in some case"
LENGTH_DECIDES: Final = "equal_length_accuracy is undefined: verdicts are all right or wrong, or length alone decides"
ONLY_ASSOCIATED: Final = "An association with length is no bias: longer responses may just be better."
ASSUMPTION: Final = (
    "This assumes that annotators err independently: an error that they share looks like a bias of the judge."
)
ONE_CHOICE = "undefined: the same on every case"
COLLINEAR = "undefined: a predictor does not vary, or repeats the others"
SEPARATED = "undefined: a predictor decides all or nearly all choices, so that its log odds are infinite or too large"
ONE_ANNOTATOR = "association only: no case has two annotators, so that the error of the gold label is not known"
UNANIMOUS = "association only: annotators do not disagree enough to tell the error of the gold label"
WEAK = "association only: annotators agree too little to tell quality from chance"
FEWEST = 10
"""Clusters for each predictor, and cases that show a property, without which there is no error and no estimate."""
_SHARE = {"A": 1.0, "B": 0.0, "tie": 0.5}
_LEAST_F = 10.0
_STEPS, _CLOSE, _LARGEST_STEP, _SINGULAR = 30, 1e-7, 4.0, 1e-9
_NO_SPREAD = 1e-9


class Property(NamedTuple):
    """Something besides quality that may sway a judge.

    Attributes
    ----------
    bias, marker : its names
    more : shape (m, n), how much more of it response A has than B
    judged : shape (m, n), the verdicts that tell of it: the share for response A, NaN where there is none
    """

    bias: str
    marker: str | None
    more: FloatArray
    judged: FloatArray


def who_favours_length(rows: pd.DataFrame) -> str:
    """Say how many judges favour longer or shorter responses beyond quality, and on which assumption."""
    where, length = opening(main_dimension(rows)), main_rows(rows, bias=LENGTH)
    tested = length.dropna(subset=["estimate", "p_adjusted"])
    found = tested[tested["p_adjusted"] <= ALPHA]
    decided = int(length["reason"].where(length["estimate"].isna(), "").str.contains(SEPARATED, regex=False).sum())
    end = f"Length decides nearly every choice of {decided:,} more, which have no estimate. " if decided else ""
    count = f"{len(tested):,} judge{'s' if len(tested) > 1 else ''}"
    if tested.empty:
        said = "cannot tell whether judges favour longer responses beyond their quality"
        return f"{where}, {said}. {end}{ONLY_ASSOCIATED}"
    if found.empty:
        return f"{where}, no significant bias towards longer or shorter responses in {count}. {end}{ASSUMPTION}"
    most = found.iloc[int(found["estimate"].abs().to_numpy().argmax())]
    sides = found["estimate"].gt(0).map({True: "longer", False: "shorter"}).value_counts().sort_index()
    favour = " and ".join(f"{n:,} favour{'s' if n == 1 else ''} {side} responses" for side, n in sides.items())
    who = f"of {count}, {favour} beyond what quality explains. The strongest pull is on {most['judge']}"
    if len(tested) == 1:
        who = f"the only judge tested favours {sides.index[0]} responses beyond what quality explains"
    ends = f" [{most['low']:.2f}, {most['high']:.2f}]" if pd.notna(most["low"]) else ""
    which = "longer" if most["estimate"] > 0 else "shorter"
    return f"{where}, {who}: log odds {most['estimate']:+.2f}{ends} towards {which} ones. {end}{ASSUMPTION}"


@table(
    "bias",
    question="does length, style or its own family sway a judge, beyond what quality explains",
    columns=[
        shared("judge", "dimension", "subfields"),
        Column("bias", "length, self_preference, family_preference or style", "text"),
        Column("marker", "the mark of style, such as headings or bold", "text"),
        Column("claim", "bias: beyond quality; association: such responses may just be better", "text"),
        shared("policy", "n", "n_excluded", "clusters"),
        Column("estimate", "log odds of choosing it beyond quality; 0: no pull", ends=("low", "high")),
        shared("p_value", "p_adjusted", "correction", "family"),
        Column("n_labelled", "cases with a verdict and a gold label", "cases"),
        estimated("association", "log odds of choosing it, given a fallible gold label", "number"),
        Column("n_decisive", "cases that show it and have a decisive gold label", "cases"),
        estimated("error_asymmetry", "errors towards it minus errors away", "difference", "Wataoka et al. 2024"),
        estimated("excess_choice", "share choosing the longer response minus gold's share", "difference"),
        Column("n_scored", "scored cases with a decisive gold label and two texts", "cases"),
        Column("accuracy", "accuracy on these cases", "share 0-1"),
        estimated("equal_length_accuracy", "the same if both responses were equally long"),
    ],
    sentence=who_favours_length,
    headline=("estimate", "low", "high", "p_adjusted", "association"),
    uses=("policy", "by", "dimension", "gold", "cluster", "correction", "level"),
)
def bias(analysis: Analysis) -> pd.DataFrame:
    """Estimate how much length, style and authorship sway each judge: a row per judge, dimension and property.

    Notes
    -----
    `estimate` is the log odds of choosing a response for its property beyond what quality explains, by the annotators'
    spread, and the only column that is tested: `beyond_quality`. The others compare with a
    fallible gold label, so that a judge without any bias has an association where, say, longer responses are better.
    Log odds are of one standard deviation of the difference of log length, or of log(1 + count) of a mark of style; of
    authorship they are of the judge's own response against another (and of its family's, where its own is not shown).
    Those of style and authorship are at equal length.

    `error_asymmetry`: share choosing the longer response where gold prefers the shorter, minus share choosing the
    shorter where gold prefers the longer. `equal_length_accuracy`: a logistic regression of the score on how much
    longer the response is that gold prefers (the length term of Dubois et al. 2024, arXiv 2404.04475). A property that
    no response has gets no row. A tie, or verdicts that differ between orders, is half a choice of each. p values are
    corrected over all tests of the table, those about subfields apart.
    """
    verdicts, cases = analysis.verdicts, analysis.cases
    cells = verdicts.cells[["judge", "dimension"]]
    gold = np.array([1.0, -1.0, 0.0, np.nan])[analysis.labels[:, verdicts.dimension].T]
    read = read_by(verdicts, analysis.policy)
    for_a = (read.choice == 0) + 0.5 * (read.choice == TIE)
    preferred = divide(read.total(for_a), read.total(read.choice >= 0)).T
    votes, score, longer = votes_of(analysis), analysis.scores.score.T, standardised(length_difference(cases))
    properties = list(_properties(analysis, longer, preferred))
    frames = []
    for part in analysis.parts:
        at, sampling = part.cases, analysis.sampling.take(part.cases)
        own = Votes(votes.share[:, :, at][verdicts.dimension], votes.others[:, :, at][verdicts.dimension], votes.tables)
        for each in properties:
            here = each._replace(more=each.more[:, at], judged=each.judged[:, at])
            shows = (np.nan_to_num(here.more) != 0).any(axis=1) | (each.bias == LENGTH)
            if shows.any():
                columns = _columns(here, longer[at], gold[:, at], score[:, at], own, sampling)
                columns |= {"marker": each.marker, "n_excluded": len(at) - columns["n"], **part.label()}
                frames.append(cells.assign(bias=each.bias, **columns)[shows])
    rows: pd.DataFrame = pd.concat(frames, ignore_index=True)
    rows = adjust_rows(rows, analysis, (), "by")
    claim = np.select([rows["estimate"].notna(), rows["association"].notna()], [BIAS, ASSOCIATION], "")
    return rows.assign(claim=pd.Series(claim).replace("", None))


def _properties(analysis: Analysis, longer: FloatArray, preferred: FloatArray) -> Iterable[Property]:
    y = np.where(np.isfinite(longer), preferred, np.nan)
    yield Property(LENGTH, None, np.broadcast_to(longer, y.shape), y)
    own, family = kinship(list(analysis.verdicts.cells["judge"]), analysis.cases)
    yield Property(SELF, None, own, y)
    yield Property(FAMILY, None, family, np.where(own == 0, y, np.nan))
    for marker, more in zip(MARKERS, standardised(marker_differences(analysis.cases)), strict=True):
        yield Property(STYLE, marker, np.broadcast_to(more, y.shape), y)


def _columns(
    of: Property, longer: FloatArray, gold: FloatArray, score: FloatArray, votes: Votes, sampling: Sampling
) -> dict[str, Any]:
    """Estimate the pull of a property beyond quality, and its associations with the verdicts and their errors."""
    predictors = [np.ones(gold.shape), np.broadcast_to(longer, gold.shape), *([of.more] if of.bias != LENGTH else [])]
    judged = np.isfinite(of.judged)
    labelled, shown = judged & np.isfinite(gold), judged & (np.nan_to_num(of.more) != 0)
    enough, told = (each.sum(axis=1) >= FEWEST for each in (shown, shown & labelled))
    pull = beyond_quality(np.where(enough[:, None], of.judged, np.nan), predictors, votes, sampling)
    known = np.where(told[:, None] & labelled, of.judged, np.nan)
    given = regression([predictors[0], gold, *predictors[1:]], known, -1)
    e, association = (over_clusters(each, 1 + len(predictors), sampling) for each in (pull, given))
    ends, has = t(e, -np.inf, np.inf), np.isfinite(e.value)
    columns: dict[str, Any] = {
        "n": np.where(has, pull.used.sum(axis=1), labelled.sum(axis=1)),
        "n_clusters": np.where(has, e.clusters, association.clusters),
        "estimate": e.value,
        "low": ends.low,
        "high": ends.high,
        "p_value": t_test(e),
        "n_labelled": labelled.sum(axis=1),
        **_with_ends("association", association.value, t(association, -np.inf, np.inf)),
    }
    no_texts = np.full(len(gold), np.isnan(longer).all())
    reasons = [
        np.select([~labelled.any(axis=1), ~told], [NO_GOLD, FEW_SHOW_IT], given.flaw),
        np.select([no_texts, ~enough], [NO_TEXTS, FEW_SHOW_IT], pull.flaw),
    ]
    if of.bias != STYLE:
        columns |= error_asymmetry(of.judged, gold, np.sign(of.more), sampling)
        reasons.append(np.where(labelled.any(axis=1) & np.isnan(columns["error_asymmetry"]), ONE_SIDE, ""))
    if of.bias == LENGTH:
        columns |= at_equal_length(of.judged, of.more, gold, score, sampling)
        unknown = (columns["n_scored"] > 0) & np.isnan(columns["equal_length_accuracy"])
        reasons.append(np.where(unknown, LENGTH_DECIDES, ""))
    columns["reason"] = ["; ".join(dict.fromkeys(filter(None, texts))) for texts in zip(*reasons, strict=True)]
    return columns | {"lacks": FEW}


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
    which `tests/stats/tables/test_bias.py` compares them, fits one at a time.
    """
    x = np.stack([np.broadcast_to(each, y.shape) for each in predictors], axis=2)
    used = np.isfinite(y) & np.isfinite(x).all(axis=2)
    x, y = np.where(used[:, :, None], x, 0.0), np.where(used, y, 0.0)
    varies = (y.sum(axis=1) > 0) & (y.sum(axis=1) < used.sum(axis=1))
    rank = np.linalg.matrix_rank(np.swapaxes(x, 1, 2) @ x, rtol=_SINGULAR, hermitian=True)
    identified = rank == len(predictors)
    x = np.where((varies & identified)[:, None, None], x, 0.0)  # the others converge at once
    beta = np.zeros((len(y), len(predictors)))
    step = np.full(beta.shape, np.inf)
    for _ in range(_STEPS + 1):
        mean = expit((x @ beta[:, :, None])[:, :, 0])
        residual = (y - mean) * used
        information = np.swapaxes(x, 1, 2) @ (x * (mean * (1 - mean))[:, :, None])
        scale = np.trace(information, axis1=1, axis2=2)[:, None, None]
        inverse = np.linalg.inv(information + (scale * 1e-13 + 1e-200) * np.eye(len(predictors)))
        converged = np.abs(step).max(axis=1, initial=0.0) < _CLOSE
        if converged.all():
            break
        step = (inverse @ (np.swapaxes(x, 1, 2) @ residual[:, :, None]))[:, :, 0]
        largest = np.abs(step).max(axis=1, keepdims=True)
        step *= np.minimum(1.0, _LARGEST_STEP / np.maximum(largest, _LARGEST_STEP))
        beta = beta + np.where(converged[:, None], 0.0, step)
    finite = converged & (np.abs(beta).max(axis=1, initial=0.0) < MOST_LOG_ODDS)
    flaw = np.select([~varies, ~identified, ~finite], [ONE_CHOICE, COLLINEAR, SEPARATED], "")
    found = flaw == ""
    moves = np.where(found[:, None, None], (x * residual[:, :, None]) @ inverse, 0.0)
    return Fits(np.where(found[:, None], beta, np.nan), moves, used, flaw)


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
    case, dimension, who = np.nonzero(coded.labels >= 0)
    votes = pd.DataFrame({"dimension": dimension, "case": case, "annotator": who})
    of_case = votes.groupby(["dimension", "case"])["annotator"]
    per_case = of_case.size().median() if len(votes) else 0
    is_panel = len(coded.annotators) <= 2 * per_case
    seat = who if is_panel else of_case.rank(method="first").to_numpy(np.int64) - 1
    n_seats = int(seat.max(initial=-1)) + 1
    share = np.full((len(dimensions), n_seats, len(analysis.cases)), np.nan)
    share[dimension, seat, case] = np.array([_SHARE[name] for name in categories])[coded.labels[case, dimension, who]]
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
    `tests/stats/tables/test_bias.py`; size and power: `tests/simulation/test_innocent_judges.py`.
    """
    pulls = [_pull(y, predictors, votes, table, sampling) for table in votes.tables]
    sound = np.stack([pull.flaw == "" for pull in pulls])
    value = average(np.where(sound, [pull.value for pull in pulls], np.nan))
    moves = np.where(sound[:, :, None], [pull.moves for pull in pulls], 0.0).sum(axis=0)
    moves /= np.maximum(sound.sum(axis=0), 1)[:, None]
    used = np.asarray((sound[:, :, None] & np.array([pull.used for pull in pulls])).any(axis=0))
    return Fits(value, moves, used, np.where(sound.any(axis=0), "", pulls[0].flaw))


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


def regression(predictors: list[FloatArray], y: FloatArray, which: int) -> Fits:
    """Estimate a coefficient; errors allow for the number of coefficients as those of statsmodels do."""
    fits = fit(predictors, y)
    n = fits.used.sum(axis=1)
    free = np.sqrt(np.nan_to_num(divide(n - 1.0, n - float(len(predictors)))))
    return Fits(fits.value[:, which], fits.moves[:, :, which] * free[:, None], fits.used, fits.flaw)


def over_clusters(fits: Fits, predictors: int, sampling: Sampling) -> Estimate:
    """Return the estimate over clusters, without an error where they are few for so many predictors."""
    e = estimate(by_influence(fits.value, fits.moves.T, fits.used.T.astype(np.float64)), sampling)
    known = (e.clusters >= FEWEST * predictors) & np.isfinite(fits.value)
    return replace(e, value=fits.value, error=np.where(known & (e.error > _NO_SPREAD), e.error, np.nan))


def error_asymmetry(judged: FloatArray, gold: FloatArray, side: FloatArray, sampling: Sampling) -> dict[str, Any]:
    """Compare errors towards a kind of response with errors away from it."""
    towards = np.where(side > 0, judged, 1 - judged)
    against, along = (np.where(gold * side == sign, each, np.nan) for sign, each in ((-1, towards), (1, 1 - towards)))
    e = unpaired(against.T, along.T, sampling)
    fewest = np.minimum(np.isfinite(against).sum(axis=1), np.isfinite(along).sum(axis=1))
    few = (np.minimum(fewest, e.clusters) < FEWEST) | ~(e.error > _NO_SPREAD)
    ends = t(replace(e, error=np.where(few, np.nan, e.error)))
    n = (np.isfinite(against) | np.isfinite(along)).sum(axis=1)
    return {"n_decisive": n, **_with_ends("error_asymmetry", e.value, ends)}


def at_equal_length(
    judged: FloatArray, more: FloatArray, gold: FloatArray, score: FloatArray, sampling: Sampling
) -> dict[str, Any]:
    """Compare choices of the longer response with gold's, and accuracy with that at equal length."""
    excess = estimate(mean((np.where(more != 0, np.sign(more), np.nan) * (judged - (gold + 1) / 2)).T), sampling)
    advantage = np.where(gold != 0, gold, np.nan) * more
    scored = np.where(np.isfinite(advantage), score, np.nan)
    at_equal = over_clusters(regression([np.ones(gold.shape), advantage], scored, 0), 2, sampling)
    low, high, method = t(at_equal, -np.inf, np.inf)
    return {
        **_with_ends("excess_choice", excess.value, t(excess)),
        "n_scored": np.isfinite(scored).sum(axis=1),
        "accuracy": estimate(mean(scored.T), sampling).value,
        **_with_ends("equal_length_accuracy", expit(at_equal.value), Interval(expit(low), expit(high), method)),
    }


def _with_ends(name: str, value: FloatArray, ends: Interval) -> dict[str, FloatArray]:
    return {name: value, f"{name}_low": ends.low, f"{name}_high": ends.high}
