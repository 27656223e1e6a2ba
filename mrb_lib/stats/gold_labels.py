"""Gold labels that annotators' votes give: by each rule, a label or a probability for every label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from mrb_lib.stats.annotators import Annotations
from mrb_lib.stats.dawid_skene import FEW_ANNOTATORS, Fitted, fit_dimension
from mrb_lib.stats.estimation import FloatArray, IntArray, divide

MAJORITY: Final = "majority"
RULES: Final = (MAJORITY, "unanimous", "posterior", "leave_one_out", "soft_votes", "soft_posterior")
NEED_MODEL: Final = ("posterior", "soft_posterior")
_SAME = 1e-9


@dataclass(frozen=True)
class People:
    """The annotations as codes, and what rules make of them.

    Attributes
    ----------
    labels : shape (cases, dimensions, annotators), -1 where there is none
    categories : the K labels
    """

    coded: Annotations
    labels: IntArray
    categories: Sequence[str]

    @cached_property
    def votes(self) -> FloatArray:
        """Count the annotators who give each label, shape (cases, dimensions, K)."""
        return np.asarray(self.one_hot(self.labels).sum(axis=2), dtype=np.float64)

    @cached_property
    def fits(self) -> list[Fitted | None]:
        """The model of Dawid and Skene of each dimension; None with fewer than three annotators."""
        return [fit_dimension(self.coded, d, len(self.categories)) for d in range(self.votes.shape[1])]

    @cached_property
    def posterior(self) -> FloatArray:
        """The probability of each label by the model, shape (cases, dimensions, K); NaN without a model."""
        out = np.full(self.votes.shape, np.nan)
        for dimension, fit in enumerate(self.fits):
            if fit is not None:
                out[fit.cases, dimension] = fit.posterior()
        return out

    def one_hot(self, labels: IntArray, none: float = 0.0) -> FloatArray:
        """Return codes as 0 and 1 for each label; `none` where there is no label."""
        shares = np.asarray(labels[..., None] == np.arange(len(self.categories)), dtype=np.float64)
        return np.where(labels[..., None] >= 0, shares, none)

    def absence(self, dimension: int, rule: str = "") -> str:
        """Say why a dimension has no labels, by a rule; empty where it may have some."""
        none = "" if self.votes[:, dimension].any() else self.coded.absence(dimension)
        return none or (FEW_ANNOTATORS if rule in NEED_MODEL and self.fits[dimension] is None else "")

    def weights(self) -> dict[str, FloatArray]:
        """Return the probability of each label by each rule, (cases, dimensions, K); NaN where there is no label."""
        votes, k = self.votes, len(self.categories)
        total, best = votes.sum(axis=2, keepdims=True), plurality(votes)
        probable = np.nan_to_num(self.posterior)
        clear = np.where(probable >= probable.max(axis=2, keepdims=True) - _SAME, 1.0, 0.0)
        others = self.one_hot(leave_one_out(self.labels, k)).sum(axis=2)
        all_alike = (votes.max(axis=2, keepdims=True) == total) & (total >= 2)
        made = (
            best, np.where(all_alike, best, np.nan), np.where(np.isnan(self.posterior), np.nan, plurality(clear)),
            np.where(others.any(axis=2, keepdims=True), others, np.nan), divide(votes, total), self.posterior,
        )  # fmt: skip
        return dict(zip(RULES, made, strict=True))


def plurality(votes: FloatArray) -> FloatArray:
    """Return the label with the most votes as shares of 0 and 1, over the last axis; NaN where two share the most."""
    top = votes == votes.max(axis=-1, keepdims=True)
    return np.where(top.sum(axis=-1, keepdims=True) == 1, top.astype(np.float64), np.nan)


def leave_one_out(labels: IntArray, k: int) -> IntArray:
    """Return for each annotator the majority of at least two others; -1 where they have none.

    Parameters
    ----------
    labels : shape (cases, dimensions, annotators), codes of k categories, -1 for none; the result has the same shape
    """
    given = labels[..., None] == np.arange(k)
    votes = given.sum(axis=2, keepdims=True) - given
    top = votes.max(axis=-1, initial=0)
    single = (votes == top[..., None]).sum(axis=-1) == 1
    return np.where((labels >= 0) & single & (votes.sum(axis=-1) >= 2), votes.argmax(axis=-1), -1)
