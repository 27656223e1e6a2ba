"""A prompt that changes nothing is found to change nothing, and what is planted is found. SIMULATED data.

A judge answers each case right with a probability of its own, in each order another one (the pull of the order), anew
in each repeat: order and repeat noise. A prompt may move these probabilities.
"""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy import special

from mrb_lib.stats.panel import Panel
from tests.stats.small_tables import prompts_of, rows_of

from .rows import each_case

CASES, BENCHMARKS, IN_CLUSTER = 120, 2000, 2
PROMPTS = prompts_of({"x@a": "x", "x@b": "x"})
PULL, NOISE_OF_CASE = 0.8, 1.5


def probabilities(shift: float, apart: float, rng: np.random.Generator) -> np.ndarray:
    """The probability of a right choice, shape (2 prompts, benchmarks, cases, 2 orders).

    `shift` is what the second prompt adds to the log-odds of all cases, `apart` the spread of what it adds to each.
    """
    clusters = CASES // IN_CLUSTER
    of_case = 0.5 + rng.normal(0, NOISE_OF_CASE, (BENCHMARKS, CASES))
    of_case = of_case + np.repeat(rng.normal(0, 0.5, (BENCHMARKS, clusters)), IN_CLUSTER, axis=1)
    moved = of_case + shift + rng.normal(0, apart, of_case.shape)
    felt = np.stack([of_case, moved])[..., None] + np.array([PULL, -PULL])
    return np.asarray(special.expit(felt))


@cache
def simulated(shift: float, apart: float, repeats: int) -> tuple[pd.DataFrame, dict[str, float]]:
    """The table over all benchmarks, each a dimension, and the truths."""
    rng = np.random.default_rng([int(10 * shift), int(10 * apart), repeats])
    right = probabilities(shift, apart, rng)
    choice = (rng.random((*right.shape, repeats)) > right[..., None]).astype(np.int8)
    names = [f"d{i:04d}" for i in range(BENCHMARKS)]
    ids = [f"c{i}" for i in range(CASES)]
    gold = pd.DataFrame({**each_case(names, ids), "choice": "A"})
    cases = pd.DataFrame({"case_id": ids, "pair": np.arange(CASES) // IN_CLUSTER})
    panel = Panel(["x@a", "x@b"], names, list(range(repeats)), choice, None, pd.DataFrame())
    options = {"prompts": PROMPTS, "cluster": "pair", "correction": "none", "resamples": 200}
    table = rows_of("probes", cases, panel, gold, **options)
    gap = right[0] - right[1]
    return table, {
        "accuracy_change": -gap.mean(),
        "changed_beyond_noise": (gap**2).mean(),
        "shared_flips": (gap[..., 0] * gap[..., 1]).mean(),
    }


def test_a_prompt_that_changes_nothing_is_found_to_change_nothing() -> None:
    table, truth = simulated(0.0, 0.0, 3)
    assert set(truth.values()) == {0.0}
    for p_value in ("p_value", "changed_p", "shared_p"):
        assert 0.035 <= (table[p_value] <= 0.05).mean() <= 0.065, p_value
    for name in ("changed_beyond_noise", "shared_flips"):
        holds = (table[f"{name}_low"] <= 0) & (table[f"{name}_high"] >= 0)
        assert 0.935 <= holds.mean() <= 0.965, name
        assert table[name].mean() == pytest.approx(0, abs=0.002)
    assert table["changed"].mean() == pytest.approx(table["noise"].mean(), abs=0.002)
    assert table["noise"].mean() > 0.2, "there is noise to be told apart"
    assert table["order_flips"].mean() > table["noise"].mean() + 0.02, "and a pull of the order"


def test_without_repeats_orders_alone_tell_that_nothing_changed() -> None:
    table, _ = simulated(0.0, 0.0, 1)
    assert table["changed_beyond_noise"].isna().all()
    assert 0.03 <= (table["shared_p"] <= 0.05).mean() <= 0.065
    assert table["changed"].mean() > 0.2, "raw flips would be taken for an effect of the prompt"


@pytest.mark.parametrize(("shift", "apart", "repeats"), [(0.0, 1.5, 3), (0.8, 0.0, 3), (0.8, 1.0, 2)])
def test_planted_changes_lie_in_their_intervals(shift: float, apart: float, repeats: int) -> None:
    """The truth of each benchmark is that of the law it is drawn from, estimated over all of them."""
    table, truth = simulated(shift, apart, repeats)
    for name, ends in (
        ("accuracy_change", ("accuracy_change_low", "accuracy_change_high")),
        ("changed_beyond_noise", ("changed_beyond_noise_low", "changed_beyond_noise_high")),
        ("shared_flips", ("shared_flips_low", "shared_flips_high")),
    ):
        holds = (table[ends[0]] <= truth[name]) & (table[ends[1]] >= truth[name])
        assert (0.92 if name == "accuracy_change" else 0.935) <= holds.mean() <= 0.965, name
        assert table[name].mean() == pytest.approx(truth[name], abs=0.004), name
    assert truth["changed_beyond_noise"] > 0.01
    assert (table["changed_p"] <= 0.05).mean() > 0.2


def test_an_effect_case_by_case_is_seen_in_flips_where_accuracy_hardly_moves() -> None:
    table, truth = simulated(0.0, 1.5, 3)
    assert abs(truth["accuracy_change"]) < 0.05
    assert (table["changed_p"] <= 0.05).mean() > 0.8
    assert (table["p_value"] <= 0.05).mean() < 0.5
