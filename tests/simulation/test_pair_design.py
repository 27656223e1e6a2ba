"""Intervals of the ranking come out as wide as the design of the pairs announced. SIMULATED data of known truth."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from mrb_lib.build.construct.pairing.balance import balanced_pairs
from mrb_lib.build.construct.pairing.design import Assumptions, design
from tests.stats.small_tables import rows_of

R, N, SEEDS = 12, 1026, 8
NAMES = np.array([f"m{i:02d}" for i in range(R)])
PAIRS = np.array(list(combinations(range(R), 2)))


@pytest.mark.parametrize("spread", [0.5, 1.5])
def test_ranking_intervals_are_as_wide_as_announced(spread: float) -> None:
    assumed = Assumptions(spread=spread)
    ratios = []
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        everything = np.ones((N, len(PAIRS)), bool)
        pair = balanced_pairs(everything, 1, rng.integers(0, 13, N), rng.integers(0, 3, everything.shape), rng)[:, 0]
        turned = rng.random(N) < 0.5
        a, b = (np.where(turned, PAIRS[pair, side], PAIRS[pair, 1 - side]) for side in (0, 1))
        cases = pd.DataFrame({"model_a": NAMES[a], "model_b": NAMES[b]})
        cases = cases.assign(case_id=[f"c{i}" for i in range(N)]).assign(item_id=lambda frame: frame["case_id"])
        log_strength = rng.normal(scale=spread, size=R)
        p = 1 / (1 + np.exp(log_strength[b] - log_strength[a]))
        tie = assumed.ties * 4 * p * (1 - p)
        drawn = rng.random(N)
        choice = np.where(drawn < tie, "tie", np.where(drawn < p + tie / 2, "A", "B")).astype(object)
        choice[rng.random(N) < assumed.undecided] = None
        gold = cases[["case_id"]].assign(dimension="overall", choice=choice)
        table = rows_of("ranking", cases, None, gold, resamples=0)
        found = table[(table["part"] == "strength") & (table["source"] == "gold")]
        announced = design(cases, assumed).set_index("quantity")["value"]
        widths = (found["high"] - found["low"]).mean(), 3.92 * found["standard_error"].mean()
        ratios.append(np.array(widths) / announced[["strength_width", "log_strength_width"]])
    assert np.mean(ratios, axis=0) == pytest.approx([1, 1], abs=0.08)
    assert np.abs(np.array(ratios) - 1).max() < 0.35, "one set of strengths is no mean of all"
