"""Risk against coverage: how often a judge is wrong on the verdicts it is surest of.

The judge answers where its confidence reaches a threshold. Coverage is the share it answers, risk the
share of those that are wrong. Equal confidences cannot be told apart: they are answered together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrb_lib.stats.confidence.forecasts import Grid, grid, weighted_count
from mrb_lib.stats.confidence.scores import Ranked, rank
from mrb_lib.stats.options import FloatArray, IntArray, divide
from mrb_lib.stats.resampling.robust import Estimate, Layout, by_group, ratio_of_sums, share_interval, standard_error

POINTS = 20


class RiskCurve(NamedTuple):
    """Points of risk-coverage curves, each of shape (m,), by column, then coverage.

    Attributes
    ----------
    column : the judge and dimension
    threshold : the confidence from which on the judge answers
    n : how many are answered
    coverage : their share
    risk : the share of them that is wrong
    low, high : 95% cluster-robust interval of the risk at that threshold
    """

    column: IntArray
    threshold: FloatArray
    n: IntArray
    coverage: FloatArray
    risk: FloatArray
    low: FloatArray
    high: FloatArray


class Aurc(NamedTuple):
    """Area under the risk-coverage curve, and the part of it that a better order would remove; shape (columns, G)."""

    area: Estimate
    excess: Estimate


def curve(
    column: IntArray, case: IntArray, confidence: FloatArray, wrong: FloatArray, columns: int, grouping: Layout
) -> RiskCurve:
    """The risk of each column where a share 1 / `POINTS`, 2 / `POINTS` ... of it is answered, or more if tied.

    Parameters
    ----------
    column, case, confidence, wrong : shape (n,), of each answer; wrong is 0 to 1
    grouping : the clusters, all in one group
    """
    places = grid(column, case, columns, grouping)
    ranked = confidence[rank(column, confidence).order]
    size = np.bincount(column, minlength=columns)
    some, end = np.flatnonzero(size), np.cumsum(size)
    points = []
    for point in range(1, POINTS + 1):
        wanted = np.ceil(point * size[some] / POINTS - 1e-9).astype(np.int64)
        threshold = np.full(columns, np.nan)
        threshold[some] = ranked[end[some] - np.maximum(wanted, 1)]
        answered = (confidence >= threshold[column]).astype(np.float64)
        answers = places.by_unit(answered)
        mistakes = ratio_of_sums(places.by_unit(answered * wrong), answers, grouping)
        ends = share_interval(mistakes)
        points.append((threshold, answers.sum(axis=1), *(each[:, 0] for each in (mistakes.value, *ends))))
    threshold, n, risk, low, high = (np.array(values).T for values in zip(*points, strict=True))
    new = np.diff(n, axis=1, prepend=0) > 0
    of_column = np.nonzero(new)[0]
    coverage = n[new] / size[of_column]
    return RiskCurve(of_column, threshold[new], n[new].astype(np.int64), coverage, risk[new], low[new], high[new])


def aurc(ranked: Ranked, wrong: FloatArray, places: Grid) -> Aurc:
    """The mean risk over all coverages, from the surest forecast to all, and its excess over the best order.

    Parameters
    ----------
    ranked : confidences within cells, see `mrb_lib.stats.confidence.scores.rank`
    wrong : in the order given to `rank`
    places : where each is counted, in the same order

    Notes
    -----
    Geifman and El-Yaniv 2017 (arXiv 1705.08500); the excess is that of Geifman, Uziel and El-Yaniv
    2019 (arXiv 1805.08206), against the order that puts every wrong forecast last. Equal confidences
    are in random order: each counts as wrong as they are on average. The variance is that of the
    jackknife's pseudo-values, summed by cluster. Coverage: `tests/simulation/test_selective.py`.
    """
    grouping, columns, place = places.grouping, places.columns, places.place
    groups, units = grouping.shape
    cells = columns * groups
    order, cell = ranked.order[::-1], ranked.cell[::-1]
    n = np.bincount(ranked.cell, minlength=cells)
    errors = weighted_count(ranked.cell, wrong[ranked.order], cells)
    spread = _tied_mean(ranked, wrong[ranked.order])[::-1]
    ahead = np.cumsum(n[::-1])[::-1] - n
    position = np.arange(1, len(cell) + 1) - ahead[cell]
    harmonic = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, n.max(initial=0) + 1))])
    weight = _tied_mean(ranked, (harmonic[n[cell]] - harmonic[position - 1])[::-1])[::-1]
    area = divide(weighted_count(cell, spread * weight, cells), n)
    rate = divide(errors, n)

    later = np.divide(spread, position - 1, out=np.zeros(len(spread)), where=position > 1)
    running = np.cumsum(later)
    last = np.cumsum(weighted_count(cell, later, cells)[::-1])[::-1]
    influence = wrong[order] * weight - (last[cell] - running) + (rate - area)[cell]
    slope = -np.log(np.where(rate < 1, 1 - rate, 1.0))
    excess_influence = influence - slope[cell] * (wrong[order] - rate[cell])
    best = divide(_best_order(n, errors, harmonic), n)

    clusters = by_group((_summed(np.ones(len(cell)), place[order], columns, units) > 0).astype(np.float64), grouping)
    share = np.nan_to_num(divide(np.ones(cells), n)).reshape(columns, groups)[:, grouping.of_unit]

    def estimate(value: FloatArray, each: FloatArray) -> Estimate:
        whole = _summed(each, place[order], columns, units) * share
        return Estimate(value.reshape(columns, groups), standard_error(whole, clusters, grouping), clusters)

    return Aurc(estimate(area, influence), estimate(area - best, excess_influence))


def _tied_mean(ranked: Ranked, values: FloatArray) -> FloatArray:
    """In sorted order, the mean over equal confidences."""
    if not len(values):
        return values
    sizes = np.diff(np.append(ranked.starts, len(values)))
    means: FloatArray = np.add.reduceat(values, ranked.starts) / sizes
    out: FloatArray = means[ranked.block]
    return out


def _best_order(n: IntArray, errors: FloatArray, harmonic: FloatArray) -> FloatArray:
    """The sum of risks where all wrong forecasts come last: sum over k > n - e of (k - (n - e)) / k."""
    whole = np.ceil(errors).astype(np.int64)
    out: FloatArray = whole - (n - errors) * (harmonic[n] - harmonic[n - whole])
    return out


def _summed(values: FloatArray, place: IntArray, columns: int, units: int) -> FloatArray:
    return weighted_count(place, values, columns * units).reshape(columns, units)
