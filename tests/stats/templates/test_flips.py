"""Flip rates of two prompts are what a loop over pairs of verdicts counts."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from mrb_lib.stats.core.panel import ABSENT, NULL
from mrb_lib.stats.templates.flips import flips


def share(pairs: list[tuple[int, int]]) -> float:
    """The share of pairs of choices that differ; pairs without both choices do not count."""
    made = [one != other for one, other in pairs if one >= 0 and other >= 0]
    return float(np.mean(made)) if made else np.nan


def by_loop(first: np.ndarray, second: np.ndarray) -> dict[str, float]:
    """The rates of one case, from shape (2 orders, repeats)."""
    repeats = range(first.shape[1])
    crossed, again = [], []
    for order in range(2):
        one, other = first[order], second[order]
        different = share([(one[r], other[s]) for r, s in product(repeats, repeats) if r != s])
        same = share([(one[r], other[r]) for r in repeats])
        crossed.append(same if np.isnan(different) else different)
        again.append(
            np.mean([share([(x[r], x[s]) for r, s in product(repeats, repeats) if r != s]) for x in (one, other)])
        )
    orders = np.mean([share(list(product(x[0], x[1]))) for x in (first, second)])
    swapped = np.mean([share(list(product(first[o], second[1 - o]))) for o in range(2)])
    excess = np.array(crossed) - np.array(again)

    def mean(values: list[float] | np.ndarray) -> float:
        kept = np.asarray(values)[np.isfinite(values)]
        return float(kept.mean()) if len(kept) else np.nan

    return {
        "between": mean(crossed), "repeats": mean(again), "excess": mean(excess), "orders": float(orders),
        "shared": float(swapped - orders),
    }  # fmt: skip


@pytest.mark.parametrize("repeats", [1, 2, 3])
def test_the_rates_are_those_of_a_loop(repeats: int) -> None:
    rng = np.random.default_rng(repeats)
    both = rng.choice([0, 1, 2, NULL, ABSENT], (2, 300, 2, repeats), p=[0.35, 0.25, 0.2, 0.1, 0.1]).astype(np.int8)
    made = flips(*both)
    expected = [by_loop(first, second) for first, second in zip(*both, strict=True)]
    for name, values in made._asdict().items():
        np.testing.assert_allclose(values, [row[name] for row in expected], atol=1e-12, err_msg=name)
    assert np.isfinite(made.excess).any() == (repeats > 1)


def test_what_is_called_a_and_what_b_changes_nothing() -> None:
    rng = np.random.default_rng(5)
    both = rng.choice([0, 1, 2, NULL], (2, 50, 2, 2)).astype(np.int8)
    swapped = np.array([1, 0, 2, NULL], dtype=np.int8)[both]
    for mine, theirs in zip(flips(*both), flips(*swapped), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_a_prompt_that_turns_the_pull_of_the_order_round_is_told_from_one_that_changes_its_mind() -> None:
    first, second = np.array([[[0, 0], [1, 1]]], dtype=np.int8), np.array([[[1, 1], [0, 0]]], dtype=np.int8)
    turned = flips(first, second)
    assert (turned.between[0], turned.excess[0], turned.orders[0], turned.shared[0]) == (1, 1, 1, -1)
    steady, other = np.zeros((1, 2, 2), dtype=np.int8), np.ones((1, 2, 2), dtype=np.int8)
    changed = flips(steady, other)
    assert (changed.between[0], changed.excess[0], changed.orders[0], changed.shared[0]) == (1, 1, 0, 1)


def test_repeats_that_share_a_seed_do_not_hide_the_noise() -> None:
    """Both prompts give the same noisy verdicts, repeat by repeat: the excess is 0, not below."""
    choice = np.random.default_rng(2).choice([0, 1], (4000, 2, 3)).astype(np.int8)
    made = flips(choice, choice)
    assert made.repeats.mean() == pytest.approx(0.5, abs=0.02)
    assert made.between.mean() == pytest.approx(made.repeats.mean(), abs=1e-12)
    assert made.shared.mean() == pytest.approx(0, abs=1e-12)
