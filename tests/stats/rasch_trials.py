"""Scores of simulated judges as the trials of the Rasch model."""

import numpy as np

from mrb_lib.stats.methods.rasch import Shown, Trials


def plain(score: np.ndarray) -> Trials:
    """One trial per judge and case, from scores of shape (J, N); NaN where there is none."""
    return Trials(np.nan_to_num(score).T, np.isfinite(score).astype(float).T, np.eye(len(score)), len(score))


def by_kind(score: np.ndarray, kind: np.ndarray) -> Shown:
    """One verdict per judge, order and case, from scores of shape (J, 2, N) and the kinds of trial, shape (2, N)."""
    member = np.stack([kind == each for each in range(3)])
    return Shown(np.einsum("jon,kon->jkn", score, member), np.einsum("jon,kon->jkn", np.ones(score.shape), member))
