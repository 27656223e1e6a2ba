"""How hard is an item, and does it tell able models from weak ones? From how often each model answers it rightly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd
from scipy.stats import binom

from mrb_lib.stats.estimation import divide
from mrb_lib.stats.intervals import equivalent_size, wilson
from mrb_lib.stats.methods import rasch
from mrb_lib.stats.options import BoolArray, FloatArray

MEASURES: Final = (
    "n_models", "n_answers", "correct", "share_correct", "chance", "p_chance", "difficulty", "discrimination",
)  # fmt: skip
_FEWEST_MODELS: Final = 2
_AT_ONCE: Final = 5_000  # items; a fit takes some kilobytes for each


@dataclass(frozen=True)
class Tally:
    """How often each model is right.

    Attributes
    ----------
    models : M names
    n_correct, n_marked : shape (N, M), of N items; an item without marked answers of a model has zeros
    chance : shape (N,), the share that blind guessing gets right; NaN where a guess has no share
    """

    models: tuple[str, ...]
    n_correct: FloatArray
    n_marked: FloatArray
    chance: FloatArray

    @classmethod
    def empty(cls, models: Sequence[str], chance: FloatArray) -> Tally:
        """A tally of nothing yet."""
        shape = (len(chance), len(models))
        return cls(tuple(models), np.zeros(shape), np.zeros(shape), chance)

    def add(self, position: np.ndarray, model: np.ndarray, correct: FloatArray) -> None:
        """Count answers: the row of the item, the place of the model, and 1, 0 or NaN for one that is not marked."""
        marked = np.isfinite(correct)
        np.add.at(self.n_marked, (position[marked], model[marked]), 1.0)
        np.add.at(self.n_correct, (position[marked], model[marked]), correct[marked])

    @property
    def share(self) -> FloatArray:
        """Of each model's answers to an item, the share that is right, shape (N, M); NaN where none is marked."""
        out: FloatArray = divide(self.n_correct, self.n_marked)
        return out

    @property
    def is_right(self) -> BoolArray:
        """Whether a model is right on an item: more than half of its marked answers are; shape (N, M)."""
        out: BoolArray = self.n_correct * 2 > self.n_marked
        return out


def chance_of(items: pd.DataFrame) -> FloatArray:
    """What blind guessing gets right: one of so many options, one half for yes or no; NaN for open questions.

    Parameters
    ----------
    items : `choices`, `reference`
    """
    out = np.full(len(items), np.nan)
    for row, (choices, reference) in enumerate(zip(items["choices"], items["reference"], strict=True)):
        if choices is not None and len(choices):
            out[row] = 1 / len(choices)
        elif isinstance(reference, str) and reference.strip().strip(".").casefold() in ("yes", "no"):
            out[row] = 0.5
    return out


def item_measures(tally: Tally) -> pd.DataFrame:
    """How hard each item is.

    Returns
    -------
    DataFrame, N rows
        `n_models` with a marked answer, `n_answers` marked; `correct`, how many models are right (on more than half of
        their answers); `share_correct`, the mean over models of the share of right answers; `chance`, what blind
        guessing gets right, and `p_chance`, how probably guessing gets at least as many right (binomial; null where
        `chance` is); `difficulty` in log odds, by the Rasch model: the ability of a model that is right half of the
        time, 0 being the average model; `discrimination`, the correlation over models of the share right on the item
        with that on the others: 1 tells able models from weak ones best. Measures are null where no answer is marked;
        difficulty also with fewer than two models and where models fail together no more than by chance,
        discrimination with fewer than three.

    Notes
    -----
    The models are those of the table `difficulty`, see `mrb_lib.stats.methods.rasch`. Several answers of a model to
    an item count as independent trials, which they are not quite: difficulties order items, and are spread somewhat too
    wide. Beyond 5,000 items each of several equal parts, drawn evenly from all, is fitted by itself, so that memory
    does not grow. Planted difficulties are recovered in
    tests/build/construct/test_difficulty.py.
    """
    share, answers = tally.share, tally.n_marked.sum(axis=1)
    seen = np.isfinite(share)
    n_models = seen.sum(axis=1)
    known = n_models > 0
    mean = divide(np.where(seen, share, 0.0).sum(axis=1), n_models.astype(np.float64))
    tail = binom.sf(tally.n_correct.sum(axis=1) - 1, answers, tally.chance)
    difficulty, discrimination = _item_response(tally)
    return pd.DataFrame(
        {
            "n_models": n_models,
            "n_answers": answers.astype(np.int64),
            "correct": np.where(known, (tally.is_right & seen).sum(axis=1), np.nan),
            "share_correct": mean,
            "chance": tally.chance,
            "p_chance": np.where(known, tail, np.nan),
            "difficulty": np.where(known, difficulty, np.nan),
            "discrimination": np.where(known, discrimination, np.nan),
        }
    )


def _item_response(tally: Tally) -> tuple[FloatArray, FloatArray]:
    """Return difficulty and discrimination of each item; NaN where there is no model of them."""
    nothing = np.full(len(tally.chance), np.nan)
    judged = tally.n_marked.sum(axis=0) > 0
    if judged.sum() < _FEWEST_MODELS:
        return nothing, nothing
    n = int(judged.sum())
    difficulty = nothing.copy()
    n_parts = max(1, -(-len(nothing) // _AT_ONCE))
    for part in range(n_parts):
        # Every so manieth item: each part is like the whole, in whatever order the items stand.
        rows = slice(part, None, n_parts)
        data = rasch.Trials(tally.n_correct[rows, judged], tally.n_marked[rows, judged], np.eye(n), n)
        first = rasch.fit(data)
        if not first.converged or first.spread <= rasch.LEAST_SPREAD:
            return nothing, nothing
        difficulty[rows] = first.difficulty.mean
    return difficulty, rasch.item_rest_correlation(tally.share[:, judged].T)


def model_measures(tally: Tally) -> pd.DataFrame:
    """How often each model is right, beside what guessing gets.

    Returns
    -------
    DataFrame, a row a model
        `model`, `n` items with a marked answer, `n_excluded` without one, `n_answers`, `accuracy` (the mean over items)
        with its 95% interval `low`, `high` (Wilson's, of as many items as tell as much), `chance` the mean over the
        `n_chance` of these items where a guess has a share.
    """
    share = tally.share
    rows = []
    for column, model in enumerate(tally.models):
        own = share[:, column]
        seen = np.isfinite(own)
        n, guessed = int(seen.sum()), seen & np.isfinite(tally.chance)
        mean = float(own[seen].mean()) if n else np.nan
        size = equivalent_size(np.array([mean]), np.array([own[seen].var() if n else np.nan]), np.array([float(n)]))
        low, high = (float(end[0]) for end in wilson(np.array([mean]), size))
        chance = float(tally.chance[guessed].mean()) if guessed.any() else np.nan
        answers = int(tally.n_marked[:, column].sum())
        rows.append((model, n, len(own) - n, answers, mean, low, high, chance, int(guessed.sum())))
    columns = ["model", "n", "n_excluded", "n_answers", "accuracy", "low", "high", "chance", "n_chance"]
    return pd.DataFrame(rows, columns=columns)
