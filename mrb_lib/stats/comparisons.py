"""Who beat whom: every label, annotation and verdict on a case as a comparison of its two responders.

Comparisons have the shape (..., cases, 3): how much of each case is a choice of A, of B, and a tie.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from mrb_lib.stats.annotators import encode_annotations
from mrb_lib.stats.estimation import BoolArray, FloatArray, IntArray, divide
from mrb_lib.stats.options import check_choice
from mrb_lib.stats.scoring import BOTH_ORDERS, read_by
from mrb_lib.stats.verdicts import TIE, Verdicts
from mrb_lib.tables.schema import CHOICES, POLICIES

GOLD, ANNOTATIONS, JUDGE = "gold", "annotations", "judge"
NO_RESPONDERS = "the cases do not name two responders (columns model_a and model_b)"
A, B = CHOICES.index("A"), CHOICES.index("B")


class Responders(NamedTuple):
    """Who wrote the two responses of each case.

    Attributes
    ----------
    names : the responders, by name
    a, b : shape (cases,), positions among the names; 0 where `paired` is False
    paired : shape (cases,), both are known and they differ
    """

    names: list[str]
    a: IntArray
    b: IntArray
    paired: BoolArray


def responders(cases: pd.DataFrame) -> Responders:
    """Return who wrote the responses; nobody, where the cases lack the columns `model_a` and `model_b`."""
    both = cases.reindex(columns=["model_a", "model_b"]).astype("str")
    codes, names = pd.factorize(pd.concat([both["model_a"], both["model_b"]]), sort=True)
    a, b = codes.astype(np.int64).reshape(2, -1)
    paired = (a >= 0) & (b >= 0) & (a != b)
    return Responders([str(name) for name in names], np.where(paired, a, 0), np.where(paired, b, 0), paired)


def from_labels(labels: IntArray) -> FloatArray:
    """Return labels, which are -1 where there is none, as comparisons, from shape (...) to (..., 3)."""
    return np.asarray(labels[..., None] == np.arange(len(CHOICES)), dtype=np.float64)


def from_annotations(annotations: pd.DataFrame, cases: pd.DataFrame, dimensions: Sequence[str]) -> FloatArray:
    """Return annotations by people as comparisons, one each, shape (dimensions, cases, 3)."""
    coded = encode_annotations(annotations, cases, CHOICES, list(dimensions))
    out = np.zeros((len(dimensions), len(cases), len(CHOICES)))
    np.add.at(out, (coded.dimension, coded.case, coded.choice), 1.0)
    return out


def from_verdicts(verdicts: Verdicts, policy: str) -> FloatArray:
    """Return every case that a judge answered as one comparison, shape (cells, cases, 3).

    `balanced`, `answered`: it is shared evenly by the verdicts with a choice, whatever their order. `official`:
    by the verdict in order AB, repeat 0. `strict`: the choice that all verdicts share, else a tie. `net`: the
    response with more verdicts, else a tie. The last two need both orders. Verdicts without a choice compare nothing.
    """
    check_choice("policy", policy, POLICIES)
    read = read_by(verdicts, policy)
    votes = np.stack([read.total(read.choice == choice).T for choice in range(len(CHOICES))], axis=2)
    if policy not in BOTH_ORDERS:
        return np.asarray(np.nan_to_num(divide(votes, votes.sum(axis=2, keepdims=True))))
    if policy == "strict":
        winner = np.where(votes.max(axis=2) == read.total().T, votes.argmax(axis=2), TIE)
    else:
        winner = np.select([votes[..., A] > votes[..., B], votes[..., A] < votes[..., B]], [A, B], TIE)
    in_both = (read.total(read.order == 0) > 0) & (read.total(read.order == 1) > 0)
    return from_labels(np.where(in_both.T & votes.any(axis=2), winner, -1))


def shares(outcomes: FloatArray) -> FloatArray:
    """Return what A and B of each case win, a tie being half a win: shape (..., cases, 2), NaN where undecided."""
    won = outcomes[..., [A, B]] + outcomes[..., [TIE]] / 2
    return divide(won, outcomes.sum(axis=-1, keepdims=True))


def tally(outcomes: FloatArray, who: Responders) -> tuple[FloatArray, FloatArray]:
    """Return how often each responder beat and tied with each other one.

    Parameters
    ----------
    outcomes : shape (m, cases, 3), comparisons of m sources

    Returns
    -------
    tuple
        Wins of the row over the column, and ties, which are symmetric; each of shape (m, responders, responders).
    """
    wins, ties = np.zeros((2, len(who.names), len(who.names), len(outcomes)))
    chosen = outcomes[:, who.paired].T
    for one, other, choice in ((who.a, who.b, A), (who.b, who.a, B)):
        pair = one[who.paired], other[who.paired]
        np.add.at(wins, pair, chosen[choice])
        np.add.at(ties, pair, chosen[TIE])
    return np.moveaxis(wins, 2, 0), np.moveaxis(ties, 2, 0)
