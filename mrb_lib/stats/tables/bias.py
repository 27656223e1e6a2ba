"""Does length, style or authorship of a response sway a judge, beyond what quality explains?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit

from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.beyond_quality import FEWEST, Fits, Votes, beyond_quality, fit, votes_of
from mrb_lib.stats.columns import Column, estimated, shared, table
from mrb_lib.stats.contrasts import ALPHA, t_test
from mrb_lib.stats.estimation import Estimate, FloatArray, Sampling, by_influence, divide, estimate, mean
from mrb_lib.stats.intervals import Interval, t
from mrb_lib.stats.multiplicity import adjust_families
from mrb_lib.stats.phrases import main_dimension, main_rows, opening
from mrb_lib.stats.response_traits import MARKERS, kinship, length_difference, marker_differences, standardised
from mrb_lib.stats.scoring import read_by
from mrb_lib.stats.verdicts import TIE
from mrb_lib.stats.welch import unpaired

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
    count = f"{len(tested):,} judge{'s' if len(tested) > 1 else ''}"
    if tested.empty:
        return f"{where}, cannot tell whether judges favour longer responses beyond their quality. {ONLY_ASSOCIATED}"
    if found.empty:
        return f"{where}, no significant bias towards longer or shorter responses in {count}. {ASSUMPTION}"
    most = found.iloc[int(found["estimate"].abs().to_numpy().argmax())]
    sides = found["estimate"].gt(0).map({True: "longer", False: "shorter"}).value_counts().sort_index()
    favour = " and ".join(f"{n:,} favour{'s' if n == 1 else ''} {side} responses" for side, n in sides.items())
    ends = f" [{most['low']:.2f}, {most['high']:.2f}]" if pd.notna(most["low"]) else ""
    return (
        f"{where}, of {count} {favour} beyond what quality explains. {most['judge']} does most: log odds "
        f"{most['estimate']:+.2f}{ends} towards {'longer' if most['estimate'] > 0 else 'shorter'} ones. {ASSUMPTION}"
    )


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
    spread, and the only column that is tested: `mrb_lib.stats.beyond_quality.beyond_quality`. The others compare with a
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
                columns |= {
                    "bias": each.bias,
                    "marker": each.marker,
                    "n_excluded": len(at) - columns["n"],
                    **part.label(),
                }
                frames.append(cells.assign(**columns)[shows])
    rows: pd.DataFrame = pd.concat(frames, ignore_index=True)
    families = np.asarray(rows.groupby("by", dropna=False).ngroup(), dtype=np.int64)
    p_adjusted, family = adjust_families(rows["p_value"].to_numpy(), families, analysis.correction or "holm")
    claim = np.select([rows["estimate"].notna(), rows["association"].notna()], [BIAS, ASSOCIATION], "")
    return rows.assign(p_adjusted=p_adjusted, family=family, claim=pd.Series(claim).replace("", None))


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
    e = unpaired(against.T, along.T, sampling).difference
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
