"""The interval of the advantage probability: the cluster bootstrap of a mean over annotators."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mrb_lib.stats.alttest_kernel import Compared, Outcome
from mrb_lib.stats.counted import distinct_columns
from mrb_lib.stats.options import FloatArray, IntArray, divide, mean_of_defined
from mrb_lib.stats.resample import block, interval, n_clusters, replicates


def advantage_bounds(
    every: Sequence[Sequence[Compared]], tests: Sequence[Outcome], codes: IntArray, *, resamples: int, seed: int
) -> tuple[FloatArray, FloatArray]:
    """The intervals of the advantage probabilities, means over the annotators tested; shape (dimensions, judges)."""
    sums, pieces = [], []
    for compared, test in zip(every, tests, strict=True):
        won, counted = _won(compared, test, codes)
        same = (counted == counted[:, :, :1]) | ~test.tested
        people = np.ones(won.shape[1])
        if same.size and same.all():  # the mean over annotators is that of their sum, in which no thirds are rounded
            people = np.maximum(test.tested.sum(axis=1), 1.0)
            won, counted = won.sum(axis=2, keepdims=True), counted[:, :, :1]
        distinct, which = distinct_columns(counted.reshape(len(codes), -1))
        pieces.append((won.shape[1:], which, people))
        sums.append(np.hstack([won.reshape(len(codes), -1), distinct]))

    def statistic(drawn: FloatArray) -> FloatArray:
        out, start = [drawn[:, :0]], 0
        for (n_judges, n_people), which, people in pieces:
            width = n_judges * n_people
            rate = divide(drawn[:, start : start + width], drawn[:, start + width :][:, which])
            if not n_people:
                rate = np.full((len(drawn), n_judges), np.nan)
            elif n_people > 1:
                rate = np.hstack([mean_of_defined(rate[:, at : at + n_people]) for at in range(0, width, n_people)])
            out.append(rate / people)
            start += width + int(which.max(initial=-1)) + 1
        return np.hstack(out)

    blocks = [block(codes, np.hstack([np.zeros((len(codes), 0)), *sums]), statistic)]
    (found,) = replicates(blocks, n_clusters(codes), resamples=resamples, seed=seed)
    low, high = interval(found)
    n_judges = len(tests[0].p_value) if tests else 0
    return low.reshape(len(tests), n_judges), high.reshape(len(tests), n_judges)


def _won(compared: Sequence[Compared], test: Outcome, codes: IntArray) -> tuple[FloatArray, FloatArray]:
    """The advantages of the judges by case, and whether they count, shape (cases, judges, annotators)."""
    shape = (len(codes), *test.p_value.shape)
    won, counted = np.zeros(shape), np.zeros(shape)
    for who, item in enumerate(compared):
        used = item.used & test.tested[:, who][:, None]
        won[item.cases, :, who] = np.where(used, item.judge, 0.0).T
        counted[item.cases, :, who] = used.T
    return won, counted
