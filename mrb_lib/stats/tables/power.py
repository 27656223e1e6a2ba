"""What differences between judges can these cases show, and how many cases would others take?"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import special
from scipy.optimize import elementwise
from scipy.stats import binom

from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.columns import TESTED, Column, shared, table
from mrb_lib.stats.contrasts import ALPHA, BY_T, MCNEMAR, named_tests, pairs_of_cells
from mrb_lib.stats.estimation import FloatArray, IntArray, divide, mean
from mrb_lib.stats.flips import FEWEST_MID_P
from mrb_lib.stats.grid import Measure, grid
from mrb_lib.stats.multiplicity import single_level
from mrb_lib.stats.phrases import main_dimension, main_rows, opening

POWER = 0.8
LEAST = "minimum_detectable_difference"
SUMMARY, PAIR, CURVE = "summary", "pair", "curve"
OF_CURVE = np.arange(31) / 200
ONE_JUDGE = "a comparison takes two judges"
FEW_CLUSTERS = "fewer than two clusters of cases are scored for both"
NEVER_DIFFER = "the difference is the same on every case (or in every cluster), so that its variance is unknown"
NEVER_FOUND = "no difference is known to be found: clusters, or cases scored differently, are too few for the level"
TOO_LARGE = "the smallest difference exceeds the share of cases scored differently: at this variance none is as large"
NO_NUMBER = "no number of cases is known to find the difference"
IMPOSSIBLE = "the judges of a pair differ on too few cases for this difference"
_NO_SPREAD, _ROUNDING = 1e-9, 1e-12
_FARTHEST, _EXACT_FLIPS, _BITS, _WINDOW = 64.0, 40, 1.8, 6.0
_GROUP = ["dimension", "by", "subfield"]


def smallest(rows: pd.DataFrame) -> str:
    """Say the smallest difference between two judges that the cases can show."""
    where, known = opening(main_dimension(rows)), main_rows(rows, part=SUMMARY)
    known = known.dropna(subset=LEAST)
    if known.empty:
        return f"{where}, cannot tell what difference between two judges these cases can show."
    row = known.iloc[0]
    many = row["correction"] != "none" and row["family"] > 1
    corrected = f", corrected for {int(row['family']):,} tests" if many else ""
    return (
        f"{where}, {int(row['n']):,} cases detect a true difference of "
        f"{100 * row[LEAST]:.1f} points between two typical judges with {POWER:.0%} "
        f"probability{corrected}. Smaller differences are missed more often."
    )


@table(
    "power",
    question="what difference can these cases show, and how many would another take",
    columns=[
        Column("part", "summary, pair, or curve (of power and cases, by difference)", "text"),
        shared("judge_1", "judge_2", "dimension", "subfields", "policy", "n", "n_excluded", "clusters"),
        Column("difference", "difference of two accuracies, found or stated", "difference"),
        shared("standard_error"),
        Column(LEAST, "true difference that the test finds with the power", "difference", "Hoeffding 1952"),
        Column("discordance", "share of the cases that are scored differently", "share 0-1"),
        Column("test", "test that significance makes of the pair", "text"),
        shared("correction", "family", "family_scope"),
        Column("alpha_adjusted", "what p must not exceed if no other test is significant", "p 0-1", "Holm 1979"),
        Column("power", "probability that the test finds the difference", "share 0-1"),
        Column("n_needed", "cases that find it with power 0.8", "cases", null=NO_NUMBER, parts=(CURVE,)),
    ],
    sentence=smallest,
    headline=(LEAST, "power", "n_needed"),
    uses=tuple(name for name in TESTED if name not in ("resamples", "seed")),
    why_no_ratings="",
)
def power(analysis: Analysis) -> pd.DataFrame:
    """Say what the tests of `significance` can find at the variance found, and how many cases would find more.

    The summary and the curve are of the pair with the median standard error (the lower of two middle ones). The curve
    gives the power to find a difference d with these cases, and the cases that would find it with power .8: the n cases
    of the pair times (`minimum_detectable_difference` / d)^2, since standard errors fall with the root of n. That is
    close for as many cases as these or more; for very few it is too low.

    Notes
    -----
    The level is that of the worst case, that no other test of the family is significant (`single_level`). The variance
    is itself uncertain where clusters are few. Simulated in tests/simulation/test_power.py.
    """
    scores, of_dimension = analysis.scores.score, analysis.verdicts.cells.groupby("dimension", sort=False).indices
    pairs = [pair for members in of_dimension.values() for pair in combinations(members, 2)]
    found = _compared(analysis, pairs)
    whole, n = found[found["subfield"].isna()], np.isfinite(scores).sum(axis=0)
    cells = analysis.verdicts.cells[["dimension"]].assign(part=SUMMARY, n=n, n_excluded=len(scores) - n)
    lone = cells[~cells["dimension"].duplicated(keep=False)].assign(reason=ONE_JUDGE)
    summaries = [_typical(own) for _, own in found.groupby(_GROUP, dropna=False, sort=False)]
    drawn = [each for each in summaries if each["subfield"].isna().all() and each["standard_error"].notna().all()]
    frames = [lone, *summaries, whole, *map(_curve, drawn)]
    return pd.concat([frame for frame in frames if len(frame)], ignore_index=True)


def _compared(analysis: Analysis, pairs: list[tuple[int, int]]) -> pd.DataFrame:
    """The rows of every two judges, with the smallest difference that each finds, or why there is none."""
    contrast = pairs_of_cells(analysis, analysis.scores.score, pairs)
    gain = contrast.first - contrast.second
    differ = np.where(np.isnan(gain), np.nan, np.abs(gain) > _ROUNDING)
    measures = {"difference": Measure(mean(gain)), "discordance": Measure(mean(differ))}
    rows, made = grid(analysis, contrast.names, measures)
    tested, varies = rows["n_clusters"] >= 2, rows["standard_error"] > _NO_SPREAD
    within = [rows[name] for name in _GROUP]
    size = tested.groupby(within, dropna=False).transform("sum") if analysis.family == "dimension" else tested.sum()
    rows = rows.assign(part=PAIR, power=POWER, family=size)
    rows["test"] = np.concatenate([named_tests(e, analysis.policy) for e in made["difference"]])
    rows["alpha_adjusted"] = [single_level(n, analysis.correction or "holm", ALPHA) for n in rows["family"].tolist()]
    rows["standard_error"] = rows["standard_error"].where(varies)
    least = pd.Series(np.nan, rows.index)
    for _, own in rows[varies].groupby(["test", "alpha_adjusted"]):
        least[own.index] = detectable(_pairs(own), own["test"].iloc[0], own["alpha_adjusted"].iloc[0])
    whys = [~tested, ~varies, least.isna(), least > rows["discordance"] + _ROUNDING]
    reason = np.select(whys, [FEW_CLUSTERS, NEVER_DIFFER, NEVER_FOUND, TOO_LARGE], "")
    return rows.assign(minimum_detectable_difference=least, reason=reason)


def _pairs(rows: pd.DataFrame) -> Pairs:
    clusters = rows["n_clusters"].where(rows["test"] != BY_T, rows["df"] + 1)
    columns = rows.assign(clusters=clusters)[["n", "clusters", "standard_error", "discordance"]]
    return Pairs(*columns.to_numpy(np.float64).T)


def _typical(own: pd.DataFrame) -> pd.DataFrame:
    """The row of the median pair; of the pair with most cases, unnamed, where no standard error is known."""
    usable = own["standard_error"].dropna().round(12).sort_values(kind="stable")
    if usable.empty:
        return own.nlargest(1, "n").assign(part=SUMMARY, judge_1=None, judge_2=None, difference=np.nan)
    return own.loc[usable.index[[(len(usable) - 1) // 2]]].assign(part=SUMMARY)


def _curve(pair: pd.DataFrame) -> pd.DataFrame:
    """Return the power to find each difference between a pair of judges, and the cases that it takes."""
    n, test, level, least, discordance = pair[["n", "test", "alpha_adjusted", LEAST, "discordance"]].iloc[0]
    rows = pair.loc[pair.index.repeat(len(OF_CURVE))].assign(part=CURVE, difference=OF_CURVE)
    rows["power"] = power_at(OF_CURVE, _pairs(pair), test, level)[0]
    is_possible = rows["difference"] <= discordance + _ROUNDING
    rows["n_needed"] = np.where(is_possible, cases_needed(OF_CURVE, n, least), np.nan)
    return rows.assign(reason=rows["reason"].where(is_possible, IMPOSSIBLE))


class Pairs(NamedTuple):
    """Variation of paired differences; each array has shape (pairs,).

    Attributes
    ----------
    n, clusters : cases scored for both, and the clusters they are in; of a t test its degrees of freedom plus one
    error : standard error of the mean difference; NaN where it is unknown
    discordance : share of the cases on which the two scores differ
    """

    n: FloatArray
    clusters: FloatArray
    error: FloatArray
    discordance: FloatArray


def attainable(level: float, clusters: FloatArray | IntArray, test: str) -> FloatArray:
    """Return how often a test of so many clusters rejects at most, where nothing differs.

    Flips of G clusters have 2^G outcomes, so that p takes whole steps, the first of them half where a tie counts half
    (`mrb_lib.stats.flips`). 0 where the smallest p is above the level; NaN where G < 1.8 log2(1 / level), so few that
    the power is not that of a t test: .80 would be .61 to .77.
    """
    number = np.asarray(clusters, dtype=np.float64)
    if test == BY_T:
        return np.full(number.shape, level)
    flips = 2.0 ** np.minimum(number, _EXACT_FLIPS)
    steps = np.floor((level * flips + (number >= FEWEST_MID_P)) / 2 + 1e-9)
    known = np.where(number < -_BITS * np.log2(level), np.nan, 2 * steps / flips)
    return np.where(number >= _EXACT_FLIPS, level, np.where(steps > 0, known, 0.0))


def found(size: FloatArray, clusters: FloatArray | IntArray, level: FloatArray) -> FloatArray:
    """Return the power of a test of means at a true difference of `size` standard errors, both tails counted.

    Parameters
    ----------
    level : what `attainable` gives

    Notes
    -----
    Sign flips of sums over clusters reject where the t test of these sums does (Hoeffding 1952,
    doi:10.1214/aoms/1177729436), so that their power is that of the noncentral t.
    """
    df = np.maximum(np.asarray(clusters) - 1.0, 1.0)
    bar = special.stdtrit(df, 1 - np.where(level > 0, level, 0.5) / 2)
    missed = np.nan_to_num(special.nctdtr(df, size, bar))  # scipy has NaN for tails below 1e-9
    wrong_way = np.nan_to_num(1 - special.nctdtr(df, -size, bar))
    power = np.where(np.isfinite(size + level), 1 - missed + wrong_way, np.nan)
    return np.where(np.asarray(clusters) > 1, np.where(level == 0, 0.0, power), np.nan)


def multiplier(clusters: FloatArray | IntArray, level: FloatArray) -> FloatArray:
    """Return how many standard errors a difference must measure to be found with power .8; NaN where none is."""
    each = np.asarray(clusters, dtype=np.float64), level
    return np.asarray(elementwise.find_root(lambda *one: found(*one) - POWER, (0.0, _FARTHEST), args=each).x)


def detectable(pairs: Pairs, test: str, level: float) -> FloatArray:
    """Return the smallest true difference that a test finds with power .8, at this variance; NaN where none is."""
    error = np.where(pairs.error > 0, pairs.error, np.nan)
    if test == MCNEMAR:
        return np.where(error > 0, mcnemar_detectable(pairs.n, pairs.discordance, level), np.nan)
    return multiplier(pairs.clusters, attainable(level, pairs.clusters, test)) * error


def power_at(difference: FloatArray, pairs: Pairs, test: str, level: float) -> FloatArray:
    """Return the power at true differences of shape (d,), of shape (pairs, d); NaN where a pair differs on too few."""
    n, clusters, error, discordance = (column[:, None] for column in pairs)
    if test == MCNEMAR:
        return mcnemar_power(n, discordance, difference, level)
    power = found(divide(difference[None], error), clusters, attainable(level, clusters, test))
    return np.where(difference <= discordance + _ROUNDING, power, np.nan)


def cases_needed(difference: FloatArray, n: float, least: float) -> FloatArray:
    """Return the cases that find differences with power .8, where n cases so find the difference `least`."""
    return np.ceil(n * divide(np.full(difference.shape, least), difference) ** 2 - 1e-9)


def mcnemar_power(n: ArrayLike, discordance: ArrayLike, difference: ArrayLike, level: float) -> FloatArray:
    """Return the power of McNemar's exact test, by element; NaN where the difference cannot be.

    The number of discordant cases is binomial; given it, the test is of a coin. The power is the mean over that number,
    within six standard deviations.
    """
    cases, differ, wanted = (np.asarray(each)[..., None] for each in (n, discordance, difference))
    middle, spread = cases * differ, np.sqrt(cases * differ * (1 - differ))
    width = int(np.ceil(2 * _WINDOW * spread.max(initial=0.0))) + 2
    number = np.maximum(middle - _WINDOW * spread, 0.0).astype(np.int64) + np.arange(width)
    counts, place = np.unique(number, return_inverse=True)
    most = np.asarray(binom.ppf(level / 2, counts, 0.5))
    most = (most - (binom.cdf(most, counts, 0.5) > level / 2 * (1 + _ROUNDING)))[place.reshape(number.shape)]
    share = (1 + divide(wanted, differ)) / 2
    tails = [special.bdtr(np.maximum(most, 0), number, chance) for chance in (share, 1 - share)]
    rejects = np.where(most >= 0, tails[0] + tails[1], 0.0)
    weight = np.asarray(binom.pmf(number, cases, differ))
    power = divide((weight * rejects).sum(axis=-1), weight.sum(axis=-1))
    return np.where((wanted <= differ)[..., 0], power, np.nan)


def mcnemar_detectable(n: FloatArray, discordance: FloatArray, level: float) -> FloatArray:
    """Return the smallest difference that McNemar's exact test finds with power .8, shape (m,); NaN where none is."""

    def surplus(difference: FloatArray, cases: FloatArray, share: FloatArray) -> FloatArray:
        return np.nan_to_num(mcnemar_power(cases, share, np.minimum(difference, share), level)) - POWER

    ends = np.zeros(n.shape), discordance
    return np.asarray(elementwise.find_root(surplus, ends, args=(n, discordance), tolerances={"xatol": 1e-6}).x)
