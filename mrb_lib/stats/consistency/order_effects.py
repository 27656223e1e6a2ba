"""What each case says about a judge's consistency: between the two orders of presentation, and between repeats."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mrb_lib.stats.core.panel import TIE
from mrb_lib.stats.options import BoolArray, FloatArray, divide
from mrb_lib.tables.schema import CHOICES

SHARES = (
    "consistency",
    "consistency_decisive",
    "consistency_half",
    "tie_rate",
    "tie_rate_ab",
    "tie_rate_ba",
    "repeat_agreement",
    "position_noise",
)
SIGNED = ("first_rate", "position_bias", "position_preference")
_A, _B = CHOICES.index("A"), CHOICES.index("B")


def case_values(
    choice: NDArray[np.int8], categories: Sequence[str] = CHOICES
) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Numerators and denominators of `SHARES` and `SIGNED` by case, each of shape (cells,).

    A measure is the sum of its numerators over that of its denominators;
    the table `consistency` says what they are. That of `first_rate` is the share choosing
    the first minus the share choosing the second.

    Parameters
    ----------
    choice : shape (cells, 2 orders, repeats), as in `mrb_lib.stats.core.panel.Panel.choice`
    categories : what a verdict chooses; of ratings only `repeat_agreement` counts anything
    """
    ab, ba = choice[:, 0], choice[:, 1]
    votes = np.stack([over_repeats(choice == code) for code in range(len(categories))])
    if tuple(categories) != CHOICES:
        nothing = np.zeros(len(choice))
        return dict.fromkeys((*SHARES, *SIGNED), (nothing, nothing)) | {"repeat_agreement": _again(votes)[:2]}
    first = votes[_A, :, 0] + votes[_B, :, 1]
    second = votes[_B, :, 0] + votes[_A, :, 1]
    ties, choices = votes[TIE], votes.sum(axis=0)
    return {
        "first_rate": (first - second, first + second),
        "tie_rate": (ties.sum(axis=1), choices.sum(axis=1)),
        "tie_rate_ab": (ties[:, 0], choices[:, 0]),
        "tie_rate_ba": (ties[:, 1], choices[:, 1]),
        **_between_orders(ab, ba),
        **_between_repeats(votes),
    }


def _between_orders(ab: NDArray[np.int8], ba: NDArray[np.int8]) -> dict[str, tuple[FloatArray, FloatArray]]:
    """The measures over the pairs of verdicts of one repeat, a mean over the case's repeats first."""
    both = (ab >= 0) & (ba >= 0)
    same = both & (ab == ba)
    decisive = both & (ab != TIE) & (ba != TIE)
    pairs = over_repeats(both)
    counted, divisor = (pairs > 0).astype(np.float64), np.maximum(pairs, 1)
    half = over_repeats(same) + 0.5 * over_repeats(both & ((ab == TIE) != (ba == TIE)))
    leaning = (
        over_repeats(both & (ab == _A))
        - over_repeats(both & (ba == _A))
        + over_repeats(both & (ba == _B))
        - over_repeats(both & (ab == _B))
    )
    clear = over_repeats(decisive)
    return {
        "consistency": (over_repeats(same) / divisor, counted),
        "consistency_half": (half / divisor, counted),
        "consistency_decisive": (over_repeats(same & decisive) / np.maximum(clear, 1), (clear > 0).astype(np.float64)),
        "position_bias": (leaning / 2 / divisor, counted),
    }


def over_repeats(holds: BoolArray) -> FloatArray:
    """How often something holds, shape (..., repeats) to (...)."""
    return np.asarray(holds.sum(axis=-1), dtype=np.float64)


def _between_repeats(votes: FloatArray) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Agreement of repeats, and what they tell apart: the pull of the order and the noise.

    Parameters
    ----------
    votes : shape (choices, cells, 2 orders), how often each choice was made
    """
    again, counted, orders = _again(votes)
    n = votes.sum(axis=0)
    both = (orders == 2).astype(np.float64)
    across = divide((votes[:, :, 0] * votes[:, :, 1]).sum(axis=0), n[:, 0] * n[:, 1])
    noise = (1 - again) * both
    preference = np.where(both > 0, again - np.nan_to_num(across), 0.0)
    return {
        "repeat_agreement": (again, counted),
        "position_preference": (preference, both),
        "position_noise": (noise, both),
    }


def _again(votes: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The share of agreeing pairs of repeats, a mean over orders, whether there is one, and in how many orders."""
    n = votes.sum(axis=0)
    agreement = divide((votes * (votes - 1)).sum(axis=0), n * (n - 1))
    orders = np.isfinite(agreement).sum(axis=1).astype(np.float64)
    return np.nan_to_num(agreement).sum(axis=1) / np.maximum(orders, 1), (orders > 0).astype(np.float64), orders
