"""Probabilities of verdicts as forecasts of the gold label, and the risk of answering only the surest ones.

The probability `p_a` that A is better is a forecast of gold. It favours A above one half and B below; its confidence is
the probability of that side, and it is correct where gold is that side. At exactly one half its confidence is 1/2 and
it is half correct. The choice of the verdict plays no part. Of a rating the forecast is that the chosen category is
gold, with the probability that the judge gave it, so that its confidence is from 0 to 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pandas as pd

from mrb_lib.stats.estimation import BoolArray, Estimate, FloatArray, IntArray, Quantity, Sampling, divide, estimate
from mrb_lib.stats.intervals import proportion
from mrb_lib.stats.verdicts import Codes, Verdicts

BINS: Final = 10
FOLDS: Final = 5
POINTS: Final = 20
HIGH_CONFIDENCE: Final = 0.9
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Forecasts:
    """Forecasts, one entry each, in order of their cells (judge x dimension).

    Attributes
    ----------
    case, cell : positions of the case and of the cell
    shape : the number of cases and of cells
    confidence : to twelve decimals, so that .58 for A and .42 for A are equally sure
    correct : 0 to 1
    least : the least confidence that there can be
    """

    case: Codes
    cell: Codes
    shape: tuple[int, int]
    confidence: FloatArray
    correct: FloatArray
    least: float

    def total(self, of: FloatArray | BoolArray | None = None) -> FloatArray:
        """Sum something over the forecasts of each case and cell, shape (cases, cells); without it, count them."""
        place = self.case.astype(np.int64) * self.shape[1] + self.cell
        return np.bincount(place, of, self.shape[0] * self.shape[1]).reshape(self.shape).astype(np.float64)

    def mean(self, values: FloatArray, counted: FloatArray | BoolArray | None = None) -> Quantity:
        """Return the mean of values over forecasts, those that are `counted` or all; cases are what varies."""
        of = values if counted is None else np.where(counted, values, 0.0)
        return Quantity(np.stack([self.total(of), self.total(counted)], axis=2))

    def cells(self) -> list[slice]:
        """Return where the forecasts of each cell are."""
        return [slice(a, b) for a, b in pairwise(np.searchsorted(self.cell, np.arange(self.shape[1] + 1)).tolist())]


def forecasts(verdicts: Verdicts, labels: IntArray) -> tuple[Verdicts, FloatArray, Forecasts]:
    """Return the verdicts that are forecasts, whether the event of each happened (1 or 0), and the forecasts.

    They have a probability, and are on cases whose gold label is A or B; of ratings, any label.
    """
    gold = verdicts.gold(labels)
    kept = np.isfinite(verdicts.p_a) & (gold >= 0) & (gold != verdicts.tie)
    own = verdicts.where(kept)
    outcome = (gold[kept] == (0 if verdicts.tie >= 0 else own.choice)).astype(np.float64)
    return own, outcome, of_probabilities(own, own.p_a, outcome)


def of_probabilities(verdicts: Verdicts, p: FloatArray, outcome: FloatArray) -> Forecasts:
    """Return forecasts of verdicts from the probabilities of their events, and whether these happened (1 or 0)."""
    of_choice = verdicts.tie < 0
    confidence = np.round(p if of_choice else np.maximum(p, 1 - p), 12)
    correct = outcome if of_choice else 0.5 + np.sign(p - 0.5) * (outcome - 0.5)
    shape = verdicts.n_cases, len(verdicts.cells)
    return Forecasts(verdicts.case, verdicts.cell, shape, confidence, correct, 0.0 if of_choice else 0.5)


def bin_of(f: Forecasts) -> IntArray:
    """Return the bin of each confidence, of equal width, each closed at its upper end, the first at both."""
    place = (f.confidence - f.least) / (1 - f.least) * BINS
    return np.clip(np.ceil(place - _ROUNDING).astype(np.int64) - 1, 0, BINS - 1)


def folds(sampling: Sampling, seed: int) -> IntArray:
    """Return the fold of each case, from 0; clusters are assigned whole, equally many to each."""
    order = np.random.default_rng(seed).permutation(int(sampling.codes.max(initial=-1)) + 1)
    return np.asarray(order[sampling.codes] % FOLDS, dtype=np.int64)


def points(cells: pd.DataFrame, e: Estimate, name: str, low: str, high: str, **columns: Any) -> pd.DataFrame:
    """Return rows of a share over forecasts in each cell, with its interval; none for cells without a forecast."""
    ends, n = proportion(e), e.quantity.adds[..., 1].sum(axis=0)
    columns |= {name: e.value, low: ends.low, high: ends.high}
    rows: pd.DataFrame = cells.assign(n=n, n_clusters=e.clusters, largest=e.largest, **columns)[n > 0]
    return rows


def reliability(f: Forecasts, cells: pd.DataFrame, sampling: Sampling) -> pd.DataFrame:
    """Return the mean confidence and the accuracy of each cell in bins of confidence.

    Returns
    -------
    `cells`, `n`, `bin`, `confidence`, `accuracy` with `low` and `high`, `n_clusters`
    """
    frames, bins = [], bin_of(f)
    for i in range(BINS):
        confidence = estimate(f.mean(f.confidence, bins == i), sampling).value
        right = estimate(f.mean(f.correct, bins == i), sampling)
        frames.append(points(cells, right, "accuracy", "low", "high", bin=i, confidence=confidence))
    return pd.concat(frames, ignore_index=True)


def risk_coverage(f: Forecasts, cells: pd.DataFrame, sampling: Sampling) -> pd.DataFrame:
    """Return how often each cell is wrong where only the surest 5%, 10% ... 100% of its forecasts are answered.

    Equal confidences are answered together (El-Yaniv and Wiener 2010).

    Returns
    -------
    `cells`, `n` answered, `threshold` of confidence, `coverage`, `risk` with `risk_low` and `risk_high`, `n_clusters`
    """
    ranked = f.confidence[np.lexsort((f.confidence, f.cell))]
    size = np.bincount(f.cell, minlength=f.shape[1])
    some, end, frames = size > 0, np.cumsum(size), []
    for point in range(1, POINTS + 1):
        threshold = np.full(len(size), np.nan)
        wanted = np.ceil(point * size / POINTS - _ROUNDING).astype(np.int64)
        threshold[some] = ranked[(end - np.maximum(wanted, 1))[some]]
        answered = f.confidence >= threshold[f.cell]
        e = estimate(f.mean(1 - f.correct, answered), sampling)
        coverage = divide(f.total(answered).sum(axis=0), size)
        columns = {"threshold": threshold, "coverage": coverage, "cell": np.arange(len(size))}
        frames.append(points(cells, e, "risk", "risk_low", "risk_high", **columns))
    curve = pd.concat(frames, ignore_index=True).drop_duplicates(["cell", "n"])
    return curve.sort_values(["cell", "coverage"]).drop(columns="cell").reset_index(drop=True)


def answers(verdicts: Verdicts) -> tuple[IntArray, FloatArray]:
    """Return the answer to each case, as a code, and its confidence, both of shape (cases, cells).

    The answer is the side that the mean probability over orders and repeats favours, a tie where it favours neither.
    Of ratings it is the category that was chosen with the most probability over repeats, the lowest of equals; its
    confidence is the mean over repeats, so that a judge that wavers is less sure. Confidences have twelve decimals, so
    that .58 for A and .42 for A are equally sure; they are NaN where no verdict has a probability, and the answer -1.
    """
    v = verdicts.where(np.isfinite(verdicts.p_a))
    kinds = [v.p_a] if v.tie >= 0 else [v.p_a * (v.choice == kind) for kind in range(len(v.categories))]
    mass = np.stack([np.round(divide(v.total(each), v.total()), 12) for each in kinds])
    if v.tie >= 0:
        mass = np.round(np.concatenate([mass, 1 - mass]), 12)
    answer = np.where((v.tie >= 0) & (mass[0] == 0.5), v.tie, mass.argmax(axis=0))
    return np.where(np.isnan(mass[0]), -1, answer), mass.max(axis=0)


def labelled(gold: pd.DataFrame, case_ids: pd.Series, dimensions: Sequence[str]) -> BoolArray:
    """Return the cases with a row in `gold`, shape (cases, dimensions), in dimensions with any label.

    A row without a choice is of a case on which annotators are split.
    """
    rows = gold.assign(there=1).pivot(index="case_id", columns="dimension", values="there")
    there = rows.reindex(index=case_ids, columns=list(dimensions)).notna().to_numpy()
    return np.asarray(there & np.isin(list(dimensions), gold.dropna(subset="choice")["dimension"].unique()))
