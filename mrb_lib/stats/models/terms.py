"""The terms of the correctness models: what each covariate is, and what each row of the table contrasts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mrb_lib.stats.models.effects import Average, Response, slope, standardised, with_cells_of
from mrb_lib.stats.models.observations import Design
from mrb_lib.stats.options import BoolArray, FloatArray

# Verdicts are shown in order AB, then BA, see `mrb_lib.tables.schema.ORDERS`.
_IS_BA = np.array([-0.5, 0.5])
_ENDS = np.array([[0.5], [-0.5]])
FACTORS = ("judge", "subfield")
NUMBERS = ("order", "gold_first", "length_difference")
_LEVEL = {"order": "BA", "gold_first": "yes", "length_difference": None}


@dataclass(frozen=True)
class Covariates:
    """What the models read of the N cases of one dimension.

    Attributes
    ----------
    subfield : shape (N, K), one-hot; K = 0 where there are no subfields, and a row of zeros for a case in none
    gold_is_a : shape (N,), +1 where the gold label is A, -1 where it is B, 0 elsewhere; None of ratings, which have no
        order of responses either
    longer : shape (N,), by how much the response with the gold label is longer; None without lengths
    """

    subfields: Sequence[str]
    subfield: FloatArray
    gold_is_a: FloatArray | None
    longer: FloatArray | None


@dataclass(frozen=True)
class Terms:
    """The covariates of a model, and where each term is among them.

    Attributes
    ----------
    levels : the levels of each factor, one-hot, as columns in that order
    numbers : the column of each numeric term
    """

    design: Design
    levels: dict[str, tuple[slice, list[str]]]
    numbers: dict[str, int]


class NumericTerm(NamedTuple):
    """A numeric term in all F fits: its contrast of the coefficients, shape (p,), and the same in probability."""

    term: str
    level: str | None
    contrast: FloatArray
    effect: Average


def pooled(judges: Sequence[str], covariates: Covariates) -> Terms:
    """The model of all judges: a cell is a judge and an order."""
    n_judges, n_cases = len(judges), len(covariates.subfield)
    cell = np.repeat(np.eye(n_judges), len(_IS_BA), axis=0)
    return _terms(cell, np.ones((n_cases, n_judges)), np.tile(_IS_BA, n_judges), {"judge": list(judges)}, covariates)


def single(covariates: Covariates) -> Terms:
    """The model of one judge: a cell is an order; without subfields there is an intercept instead."""
    if covariates.subfields:
        return _terms(np.empty((2, 0)), np.empty((len(covariates.subfield), 0)), _IS_BA, {}, covariates)
    return _terms(np.ones((2, 1)), np.ones((len(covariates.subfield), 1)), _IS_BA, {"intercept": [""]}, covariates)


def _terms(
    cell: FloatArray, case: FloatArray, is_ba: FloatArray, first: dict[str, list[str]], covariates: Covariates
) -> Terms:
    n_cells, n_cases, k = len(cell), len(case), len(covariates.subfields)
    cells, cases = [cell, np.ones((n_cells, k))], [case, covariates.subfield]
    levels = {name: (slice(0, cell.shape[1]), values) for name, values in first.items()}
    if k:
        levels["subfield"] = (slice(cell.shape[1], cell.shape[1] + k), list(covariates.subfields))
    one = np.ones(n_cases)
    columns: dict[str, tuple[FloatArray, FloatArray]] = {}
    if covariates.gold_is_a is not None:
        columns = {"order": (is_ba, one), "gold_first": (-is_ba, covariates.gold_is_a)}
    if covariates.longer is not None:
        columns["length_difference"] = (np.ones(n_cells), covariates.longer)
    start = cell.shape[1] + k
    for by_cell, by_case in columns.values():
        cells.append(by_cell[:, None])
        cases.append(by_case[:, None])
    numbers = {name: start + i for i, name in enumerate(columns)}
    return Terms(Design(np.hstack(cells), np.hstack(cases)), levels, numbers)


def numeric_terms(terms: Terms, beta: FloatArray, n_trials: FloatArray, response: Response) -> list[NumericTerm]:
    """The numeric terms with their marginal effects in all F fits.

    Order and position are changes from -1/2 to 1/2, the length difference a derivative.
    """
    out = []
    for name, column in terms.numbers.items():
        contrast = np.zeros(beta.shape[1])
        contrast[column] = 1.0
        if name == "length_difference":
            effect = slope(terms.design, beta, n_trials, response, column)
        else:
            ends = standardised(terms.design, beta, n_trials, response, slice(column, column + 1), _ENDS)
            effect = Average(*(values[:, 0] - values[:, 1] for values in ends))
        out.append(NumericTerm(name, _LEVEL[name], contrast, effect))
    return out


def level_averages(terms: Terms, factor: str, beta: FloatArray, n_trials: FloatArray, response: Response) -> Average:
    """The average probabilities if every observation had each level of a factor, in all F fits."""
    columns, names = terms.levels[factor]
    if factor == "judge":
        return with_cells_of(terms.design, beta, n_trials, response, len(names))
    return standardised(terms.design, beta, n_trials, response, columns, np.eye(len(names)))


def deviations(usable: BoolArray, reference: BoolArray) -> FloatArray:
    """The contrasts of each usable level with the mean of the reference levels, from (F, L) twice to (F, L, L).

    Zero for a level that is not usable, and for one that is its own only reference.
    """
    share = reference / np.maximum(reference.sum(axis=1, keepdims=True), 1)
    out: FloatArray = (np.eye(usable.shape[1]) - share[:, None, :]) * usable[:, :, None]
    return out
