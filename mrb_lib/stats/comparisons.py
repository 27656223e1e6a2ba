"""Who beat whom: every label, annotation and verdict on a case as a comparison of its two responders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from mrb_lib.stats.annotators import encode_annotations
from mrb_lib.stats.estimation import divide
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, check_policy
from mrb_lib.stats.panel import ABSENT, TIE, Panel, columns_used
from mrb_lib.tables.schema import CHOICES

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


class Source(NamedTuple):
    """Somebody whose choices compare responders: the gold labels, all annotations, or one judge (named)."""

    kind: str
    judge: str | None


def responders(cases: pd.DataFrame) -> Responders:
    """Who wrote the responses; nobody, where the cases lack the columns `model_a` and `model_b`."""
    n = len(cases)
    if not {"model_a", "model_b"} <= set(cases.columns):
        return Responders([], np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, dtype=bool))
    both = pd.concat([cases["model_a"], cases["model_b"]], ignore_index=True)
    codes, names = pd.factorize(both.astype("str").where(both.notna()), sort=True)
    a, b = codes[:n].astype(np.int64), codes[n:].astype(np.int64)
    paired = (a >= 0) & (b >= 0) & (a != b)
    return Responders([str(name) for name in names], np.where(paired, a, 0), np.where(paired, b, 0), paired)


def from_labels(labels: IntArray) -> FloatArray:
    """Gold labels as comparisons, from shape (dimensions, cases) with -1 for none to (dimensions, cases, 3).

    The last axis counts choices of A, of B, and ties, here and below.
    """
    out: FloatArray = (labels[:, :, None] == np.arange(len(CHOICES))).astype(np.float64)
    return out


def from_annotations(annotations: pd.DataFrame, cases: pd.DataFrame, dimensions: Sequence[str]) -> FloatArray:
    """Every annotation by a person as a comparison, shape (dimensions, cases, 3)."""
    coded = encode_annotations(annotations, cases, CHOICES, list(dimensions))
    shape = (len(dimensions), len(cases), len(CHOICES))
    cell = np.ravel_multi_index((coded.dimension, coded.case, coded.choice), shape)
    return np.bincount(cell, minlength=int(np.prod(shape))).astype(np.float64).reshape(shape)


def from_verdicts(panel: Panel, policy: str) -> FloatArray:
    """Every case that a judge answered as one comparison, shape (judges, dimensions, cases, 3).

    `balanced`, `answered`: it is shared evenly by the verdicts with a choice, whatever their order. `official`:
    by the verdict in order AB, repeat 0. `strict`: the choice that all verdicts share, else a tie. `net`: the
    response with more verdicts, else a tie. The last two need both orders. Verdicts without a choice compare nothing.
    """
    check_policy(policy)
    used = panel.choice[..., *columns_used(panel, policy)]
    counts = np.stack([(used == code).sum(axis=(3, 4)) for code in range(len(CHOICES))], axis=-1).astype(np.float64)
    answers = counts.sum(axis=-1, keepdims=True)
    if policy not in ("strict", "net"):
        return np.asarray(np.nan_to_num(divide(counts, answers)))
    if policy == "strict":
        rows = (used != ABSENT).sum(axis=(3, 4))[..., None]
        winner = np.where((counts == rows).any(axis=-1), counts.argmax(axis=-1), TIE)
    else:
        lead = counts[..., A] - counts[..., B]
        winner = np.where(lead > 0, A, np.where(lead < 0, B, TIE))
    both = (used != ABSENT).any(axis=4).all(axis=3)
    return from_labels(np.where(both & (answers[..., 0] > 0), winner, -1).reshape(-1, used.shape[2])).reshape(
        counts.shape
    )


def tally(outcomes: FloatArray, who: Responders) -> tuple[FloatArray, FloatArray]:
    """How often each responder beat and tied with each other one.

    Parameters
    ----------
    outcomes : shape (m, cases, 3), comparisons of m sources

    Returns
    -------
    tuple
        Wins of the row over the column, and ties, which are symmetric; each of shape (m, responders, responders).
    """
    r = len(who.names)
    cases = np.flatnonzero(who.paired)
    a, b, column = who.a[cases], who.b[cases], np.arange(len(cases))
    shape = (r * r, len(cases))
    forward = sparse.csr_array((np.ones(len(cases)), (a * r + b, column)), shape=shape)
    back = sparse.csr_array((np.ones(len(cases)), (b * r + a, column)), shape=shape)
    chosen = outcomes[:, cases]
    wins = np.asarray(forward @ chosen[:, :, A].T + back @ chosen[:, :, B].T, dtype=np.float64)
    ties = np.asarray((forward + back) @ chosen[:, :, TIE].T, dtype=np.float64)
    return wins.T.reshape(-1, r, r), ties.T.reshape(-1, r, r)
