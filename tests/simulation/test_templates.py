"""A prompt that changes nothing is found to change nothing, and what is planted is found. SIMULATED data.

A judge answers each case right with a probability of its own, in each order another one (the pull of the order), anew
in each repeat: order and repeat noise. A prompt may move these probabilities.
"""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy import special

from tests.stats.small_tables import prompts_of

from .panels import cases_of, covered, covers_as_claimed, frame_of, panel_of, rejects_as_claimed, rows_of

CASES, BENCHMARKS = 120, 2000
PROMPTS = prompts_of({"x@a": "x", "x@b": "x"})


@cache
def simulated(shift: float, apart: float, repeats: int) -> tuple[pd.DataFrame, dict[str, float]]:
    """The table over all benchmarks, each a dimension, and the truths; cases come in clusters of two.

    `shift` is what the second prompt adds to the log-odds of all cases, `apart` the spread of what it adds to each.
    """
    rng = np.random.default_rng([int(10 * shift), int(10 * apart), repeats])
    pair = np.arange(CASES) // 2
    of_case = 0.5 + rng.normal(0, 1.5, (BENCHMARKS, CASES)) + rng.normal(0, 0.5, (BENCHMARKS, CASES // 2))[:, pair]
    moved = of_case + shift + rng.normal(0, apart, of_case.shape)
    right = special.expit(np.stack([of_case, moved])[..., None] + np.array([0.8, -0.8]))
    choice = (rng.random((*right.shape, repeats)) > right[..., None]).astype(np.int8)
    panel, gold = panel_of(choice, judges=["x@a", "x@b"]), frame_of(np.zeros((BENCHMARKS, CASES), dtype=np.int64))
    options = {"prompts": PROMPTS, "cluster": "pair", "correction": "none", "resamples": 200}
    gap = right[0] - right[1]
    return rows_of("probes", panel, gold, cases_of(CASES, pair=pair), **options), {
        "accuracy_change": -gap.mean(),
        "changed_beyond_noise": (gap**2).mean(),
        "shared_flips": (gap[..., 0] * gap[..., 1]).mean(),
    }


def test_a_prompt_that_changes_nothing_is_found_to_change_nothing() -> None:
    table, truth = simulated(0.0, 0.0, 3)
    assert set(truth.values()) == {0.0}
    sizes = [(table[name] <= 0.05).mean() for name in ("p_value", "changed_p", "shared_p")]
    assert rejects_as_claimed(*sizes, trials=BENCHMARKS), sizes
    for name in ("changed_beyond_noise", "shared_flips"):
        assert covers_as_claimed(covered(table, 0.0, f"{name}_"), trials=BENCHMARKS, least=0.015), name
        assert table[name].mean() == pytest.approx(0, abs=0.002)
    assert table["changed"].mean() == pytest.approx(table["noise"].mean(), abs=0.002)
    assert table["noise"].mean() > 0.2, "there is noise to be told apart"
    assert table["order_flips"].mean() > table["noise"].mean() + 0.02, "and a pull of the order"


def test_without_repeats_orders_alone_tell_that_nothing_changed() -> None:
    table, _ = simulated(0.0, 0.0, 1)
    assert table["changed_beyond_noise"].isna().all()
    assert rejects_as_claimed((table["shared_p"] <= 0.05).mean(), trials=BENCHMARKS)
    assert table["changed"].mean() > 0.2, "raw flips would be taken for an effect of the prompt"


@pytest.mark.parametrize(("shift", "apart", "repeats"), [(0.0, 1.5, 3), (0.8, 0.0, 3), (0.8, 1.0, 2)])
def test_planted_changes_lie_in_their_intervals(shift: float, apart: float, repeats: int) -> None:
    """The truth of each benchmark is that of the law it is drawn from, estimated over all of them."""
    table, truth = simulated(shift, apart, repeats)
    for name, value in truth.items():
        assert (0.92 if name == "accuracy_change" else 0.935) <= covered(table, value, f"{name}_") <= 0.965, name
        assert table[name].mean() == pytest.approx(value, abs=0.004), name
    assert truth["changed_beyond_noise"] > 0.01
    assert (table["changed_p"] <= 0.05).mean() > 0.2
    if shift == 0:  # an effect case by case is seen in flips where accuracy hardly moves
        assert abs(truth["accuracy_change"]) < 0.05
        assert (table["changed_p"] <= 0.05).mean() > 0.8
        assert (table["p_value"] <= 0.05).mean() < 0.5
