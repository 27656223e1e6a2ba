"""What a judge would answer on every case, and how often clinicians agree with such an answer.

Agreement is stated against a reference. The gold label, by default the annotators' majority: an answer agrees or not,
and where the panel is split and there is no label, nothing agrees with it. Or one clinician: the share of
the case's annotators who gave the answer, which is the probability that one of them, drawn at random, agrees.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from mrb_lib.stats.annotators import encode_annotations, votes_by_case
from mrb_lib.stats.confidence.forecasts import A, B, case_probabilities
from mrb_lib.stats.core.panel import ABSENT, TIE, Panel
from mrb_lib.stats.core.scoring import encode_gold
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, divide, encode
from mrb_lib.tables.schema import CHOICES

CLINICIAN = "clinician"


class Reference(NamedTuple):
    """What every answer to every case would be worth, 0 to 1; NaN where the case has no such label.

    Attributes
    ----------
    name : the gold rule, or "clinician"
    binary : whether an answer is worth 0 or 1 only
    worth : shape (dimensions, cases, choices), against the reference
    human : shape (dimensions, cases), what one of the case's annotators is worth against the others, in expectation
    beside : shape (dimensions, cases, choices), what the answer is worth against the same others
    """

    name: str
    binary: bool
    worth: FloatArray
    human: FloatArray
    beside: FloatArray


def references(
    gold: pd.DataFrame,
    annotations: pd.DataFrame,
    cases: pd.DataFrame,
    dimensions: list[str],
    rule: str,
    categories: Sequence[str] = CHOICES,
) -> list[Reference]:
    """The gold label by its rule, and one clinician.

    Notes
    -----
    A case counts where it has a row in `gold`, also one without a label, on dimensions where any case has a label.
    Against the majority of the others, of whom there must be two, an annotator disagrees where they are split.
    """
    votes = _votes(annotations, cases, dimensions, categories)
    total = votes.sum(axis=2, keepdims=True)
    share = divide(votes, total)
    labels = encode_gold(gold, cases["case_id"], dimensions, categories)
    seen = _labelled(gold, cases, dimensions) & (labels >= 0).any(axis=1, keepdims=True)
    worth = np.where(seen[:, :, None], labels[:, :, None] == np.arange(len(categories)), np.nan)
    held = _others_majority(votes)
    enough = total >= 3
    beside = np.where(enough, np.einsum("dcl,dclk->dck", np.nan_to_num(share), held), np.nan)
    own = np.einsum("dcl,dcll->dc", np.nan_to_num(share), held)
    pairs = total * (total - 1)
    return [
        Reference(rule, True, worth, np.where(enough[:, :, 0], own, np.nan), beside),
        Reference(
            CLINICIAN,
            False,
            share,
            divide((votes * (votes - 1)).sum(axis=2), pairs[:, :, 0]),
            np.where(total >= 2, share, np.nan),
        ),
    ]


def _votes(
    annotations: pd.DataFrame, cases: pd.DataFrame, dimensions: list[str], categories: Sequence[str]
) -> FloatArray:
    """How many annotators gave each label, shape (dimensions, cases, choices)."""
    coded = encode_annotations(annotations, cases, categories, dimensions)
    tables = []
    for i in range(len(dimensions)):
        case, _, choice = coded.of(i)
        tables.append(votes_by_case(case, choice, len(cases), len(categories)))
    return np.array(tables, dtype=np.float64).reshape(len(dimensions), len(cases), len(categories))


def _labelled(gold: pd.DataFrame, cases: pd.DataFrame, dimensions: list[str]) -> BoolArray:
    kept = gold[gold["dimension"].isin(dimensions)]
    out = np.zeros((len(dimensions), len(cases)), dtype=bool)
    out[encode(kept["dimension"], dimensions, "dimension"), encode(kept["case_id"], list(cases["case_id"]), "case")] = 1
    return out


def _others_majority(votes: FloatArray) -> FloatArray:
    """Whether the majority of the others is k for an annotator who gave l, shape (dimensions, cases, l, k)."""
    others = votes[:, :, None, :] - np.eye(votes.shape[2])
    top = others.max(axis=3, keepdims=True)
    is_top = others == top
    out: FloatArray = (is_top & (is_top.sum(axis=3, keepdims=True) == 1)).astype(np.float64)
    return out


class Answers(NamedTuple):
    """One answer a judge, dimension and case that has a probability and the reference; each of shape (n,).

    Attributes
    ----------
    column : judge * n_dimensions + dimension
    case : position in the cases table
    confidence : of the side that the mean probability leans to, 1/2 to 1; to twelve decimals, so that .58 for A and
        .42 for A are equally sure
    worth, human, beside : see `Reference`
    of_choice : whether these are ratings, of which the confidence is that in the category answered, 0 to 1
    """

    column: IntArray
    case: IntArray
    confidence: FloatArray
    worth: FloatArray
    human: FloatArray
    beside: FloatArray
    of_choice: bool = False

    def take(self, kept: BoolArray) -> Answers:
        """Some of them."""
        case, confidence = self.case[kept], self.confidence[kept]
        worth, human, beside = self.worth[kept], self.human[kept], self.beside[kept]
        return Answers(self.column[kept], case, confidence, worth, human, beside, self.of_choice)


def answers(panel: Panel, reference: Reference) -> Answers:
    """What each judge answers: the side that its mean probability leans to, a tie where it leans to neither.

    Of ratings, the category that it gave most probability to over its repeats, counting that of the category chosen
    only (the lowest of equals); the confidence is the mean over repeats, so that a judge that wavers is less sure.
    """
    if panel.categories != CHOICES:
        return _chosen(panel, reference)
    p = case_probabilities(panel)
    judge, dimension, case = np.nonzero(np.isfinite(p) & np.isfinite(reference.worth[:, :, 0]))
    mine: FloatArray = np.round(p[judge, dimension, case], 12)
    answer = np.select([mine > 0.5, mine < 0.5], [A, B], TIE)
    return Answers(
        judge * p.shape[1] + dimension,
        case,
        np.asarray(np.round(np.maximum(mine, 1 - mine), 12), dtype=np.float64),
        reference.worth[dimension, case, answer],
        reference.human[dimension, case],
        reference.beside[dimension, case, answer],
    )


def _chosen(panel: Panel, reference: Reference) -> Answers:
    p = np.where(panel.choice == ABSENT, np.nan, np.nan if panel.p_a is None else panel.p_a)
    stated = np.isfinite(p)
    sums = [np.where(stated & (panel.choice == code), p, 0.0).sum(axis=(3, 4)) for code in range(len(panel.categories))]
    mass = divide(np.stack(sums, axis=-1), stated.sum(axis=(3, 4))[..., None])
    judge, dimension, case = np.nonzero(np.isfinite(mass[..., 0]) & np.isfinite(reference.worth[:, :, 0]))
    mine = np.round(mass[judge, dimension, case], 12)
    answer = mine.argmax(axis=1)
    return Answers(
        judge * len(panel.dimensions) + dimension,
        case,
        np.asarray(mine.max(axis=1), dtype=np.float64),
        reference.worth[dimension, case, answer],
        reference.human[dimension, case],
        reference.beside[dimension, case, answer],
        of_choice=True,
    )
