"""The intervals of the regret of choosing by a judge. SIMULATED data."""

import numpy as np
import pandas as pd

from mrb_lib.stats.methods.item_orders import choose
from mrb_lib.stats.tables.best_of_n import estimates

from .panels import covers_as_claimed

RNG = np.random.default_rng(9)


def chosen_of_three(items: int) -> pd.DataFrame:
    utility, scores = drawn(items)
    return choose(utility, np.repeat(scores[:, :, None], 4, axis=2), 3, seed=0)


def drawn(items: int) -> tuple[np.ndarray, np.ndarray]:
    """The utilities of four responses to each item, from a noisy round robin, and a judge's noisy scores."""
    worth = RNG.normal(size=(items, 4))
    wins = worth[:, :, None] - worth[:, None, :] + RNG.normal(size=(items, 4, 4)) > 0
    wins = np.triu(wins, 1) | np.triu(~wins, 1).transpose(0, 2, 1)
    return wins.sum(axis=2) / 3, worth + RNG.normal(size=(items, 4))


def test_the_intervals_hold_what_many_items_would_show() -> None:
    chosen = chosen_of_three(200_000)
    gained, possible = chosen.utility - chosen.random, chosen.best - chosen.random
    truth = {
        "regret": (chosen.best - chosen.utility).mean(), "picked_best": chosen.hit.mean(),
        "gain_share": gained.mean() / possible.mean(),
    }  # fmt: skip
    draws = 600
    rows = [estimates(chosen_of_three(100), np.arange(100)) for _ in range(draws)]
    for name, value in truth.items():
        held = np.mean([row[f"{name}_low"] <= value <= row[f"{name}_high"] for row in rows])
        assert covers_as_claimed(held, trials=draws, least=0.015), name
