"""Shares of right answers: of each model to each item, beside those of blind guessing."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd

from mrb_lib.stats.intervals import equivalent_size, wilson
from mrb_lib.stats.options import FloatArray

MEASURES: Final = ("n_models", "n_answers", "correct", "share_correct", "chance")


def chance_of(items: pd.DataFrame) -> FloatArray:
    """Return what blind guessing gets right: one of so many options, 1/2 for yes or no; NaN for open questions.

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


def right_shares(answers: pd.DataFrame, items: pd.DataFrame, models: Sequence[str]) -> pd.DataFrame:
    """Return the share of right answers by item, in the order of `items`, and model; null where none is marked.

    Parameters
    ----------
    answers : `item_id, model, correct`
    """
    shares = answers.pivot_table(index="item_id", columns="model", values="correct", aggfunc="mean")
    return shares.reindex(index=items["item_id"], columns=list(models)).astype("float64")


def item_measures(answers: pd.DataFrame, items: pd.DataFrame, models: Sequence[str]) -> pd.DataFrame:
    """Return how hard each item is.

    Parameters
    ----------
    answers : `item_id, model, correct`
    items : those to count, with `item_id, choices, reference`

    Returns
    -------
    DataFrame, like `items`
        `item_id`; `n_models` with a marked answer, `n_answers` marked; `correct`, how many models are right (on more
        than half of their answers); `share_correct`, the mean over models of the share of right answers; `chance`, what
        blind guessing gets right. Measures are null where no answer is marked.
    """
    shares = right_shares(answers, items, models)
    marked = answers[answers["correct"].notna() & answers["model"].isin(list(models))].groupby("item_id").size()
    n_models = shares.notna().sum(axis=1)
    table = pd.DataFrame(
        {
            "n_models": n_models,
            "n_answers": marked.reindex(shares.index, fill_value=0),
            "correct": (shares > 0.5).sum(axis=1).where(n_models > 0),
            "share_correct": shares.mean(axis=1),
            "chance": chance_of(items),
        }
    )
    return table.rename_axis("item_id").reset_index()


def model_measures(answers: pd.DataFrame, items: pd.DataFrame, models: Sequence[str]) -> pd.DataFrame:
    """Return how often each model is right, beside what guessing gets.

    Returns
    -------
    DataFrame, a row a model
        `model`, `n` items with a marked answer, `n_excluded` without one, `accuracy` (the mean over items) with its 95%
        interval `low`, `high` (Wilson's, of as many items as tell as much), `chance` the mean over the `n_chance` of
        these items where a guess has a share.
    """
    guessed = pd.Series(chance_of(items), index=pd.Index(items["item_id"]))
    rows = []
    for model, every in right_shares(answers, items, models).items():
        own = every.dropna()
        mean, chance = float(own.mean()), guessed[own.index].dropna()
        size = equivalent_size(np.array([mean]), np.array([own.var(ddof=0)]), np.array([float(len(own))]))
        low, high = (float(end[0]) for end in wilson(np.array([mean]), size))
        rows.append((model, len(own), len(every) - len(own), mean, low, high, chance.mean(), len(chance)))
    columns = ["model", "n", "n_excluded", "accuracy", "low", "high", "chance", "n_chance"]
    return pd.DataFrame(rows, columns=columns)
