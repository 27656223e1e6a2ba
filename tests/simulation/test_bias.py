"""Planted biases are found again at their size, and none is found where none was planted. SIMULATED data."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm

from mrb_lib.stats.intervals import t
from mrb_lib.stats.tables.bias import at_equal_length, error_asymmetry, over_clusters, regression

from .panels import covers_as_claimed, inside, rejects_as_claimed, sampling


class Drawn(NamedTuple):
    """Judges that each met cases of their own; shape (rows, cases) throughout."""

    y: np.ndarray
    gold: np.ndarray
    longer: np.ndarray
    own: np.ndarray
    family: np.ndarray
    marker: np.ndarray
    codes: np.ndarray


SKILL, TIES = 1.0, 0.15


def judges(
    rows: int, n: int, seed: int, *, skill: float = SKILL, of_length: float = 0.0, of_own: float = 0.0, copies: int = 1
) -> Iterator[Drawn]:
    """By the very model of the log-odds, in two orders; copies of a case share the first verdict half of the time."""
    generator = np.random.default_rng(seed)
    step = max(1, 400_000 // n)
    for start in range(0, rows, step):
        shape = (min(step, rows - start), n)
        longer = generator.normal(size=shape)
        gold = np.where(generator.random(shape) < expit(longer), 1.0, -1.0)
        gold[generator.random(shape) < TIES] = 0.0
        own = np.array([-1.0, 0.0, 0.0, 0.0, 1.0])[generator.integers(0, 5, shape)]
        family = np.where(own == 0, generator.choice([-1.0, 1.0], shape), 0.0)
        marker = 0.5 * longer + generator.normal(size=shape)
        mean = expit(skill * gold + of_length * longer + of_own * own)
        y = [(generator.random((2, *shape)) < mean).mean(axis=0)]
        for _ in range(copies - 1):
            again = (generator.random((2, *shape)) < mean).mean(axis=0)
            y.append(np.where(generator.random(shape) < 0.5, y[0], again))
        values = (np.tile(each, copies) for each in (gold, longer, own, family, marker))
        yield Drawn(np.hstack(y), *values, codes=np.tile(np.arange(n), copies))


def measure(name: str, at: Drawn) -> tuple[np.ndarray, np.ndarray]:
    """Both ends of the intervals, shape (rows,)."""
    clusters, base = sampling(at.codes), [np.ones(at.y.shape), at.gold, at.longer]

    def log_odds(y: np.ndarray, predictors: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        return t(over_clusters(regression(predictors, y, -1), len(predictors), clusters), -np.inf, np.inf)[:2]

    match name:
        case "length":
            return log_odds(at.y, base)
        case "self_preference":
            return log_odds(at.y, [*base, at.own])
        case "family_preference":
            return log_odds(np.where(at.own == 0, at.y, np.nan), [*base, at.family])
        case "style":
            return log_odds(at.y, [*base, at.marker])
        case "excess_choice" | "equal_length_accuracy":
            score = np.where(at.gold > 0, at.y, 1 - at.y)
            columns = at_equal_length(at.y, at.longer, at.gold, score, clusters)
        case _:
            side = {"verbosity": np.sign(at.longer), "own errors": at.own, "family errors": at.family}[name]
            columns = error_asymmetry(at.y, at.gold, side, clusters)
            name = "error_asymmetry"
    return columns[f"{name}_low"], columns[f"{name}_high"]


NULLS = ("length", "verbosity", "self_preference", "family_preference", "style", "own errors", "family errors")


@pytest.mark.parametrize("skill", [SKILL, 0.0], ids=["knows gold", "guesses"])
def test_no_bias_is_found_as_often_as_claimed(skill: float) -> None:
    """Gold is the truth and prefers the longer, and the judge knows gold, or guesses: no interval must leave out zero.

    But for one in twenty, within three Monte-Carlo errors: 3.5 to 6.5% of 2,000. What errs at random chooses the longer
    less often than gold does, which is no liking for the short.
    """
    rows, missed = 2000, {name: [] for name in NULLS}
    for at in judges(rows, 100, seed=100, skill=skill):
        for name in NULLS:
            low, high = measure(name, at)
            missed[name].append(((low > 0) | (high < 0))[np.isfinite(low)])
    shares = {name: np.concatenate(each) for name, each in missed.items()}
    assert min(map(len, shares.values())) > 0.9 * rows
    means = {name: share.mean() for name, share in shares.items()}
    assert rejects_as_claimed(*means.values(), trials=rows), means


def truths(of_length: float) -> dict[str, float]:
    """What is planted, by a sum over the standard normal length difference."""
    at = np.linspace(0, 8, 8001)  # A is the longer; the other half is its mirror image
    weight = norm.pdf(at) / norm.pdf(at).sum()
    longer, shorter, tie = ((1 - TIES) * expit(at), (1 - TIES) * expit(-at), TIES)
    takes = {gold: expit(SKILL * gold + of_length * at) for gold in (1, 0, -1)}
    chosen = longer * takes[1] + shorter * takes[-1] + tie * takes[0]
    return {
        "length": of_length,
        "excess_choice": float(weight @ (chosen - longer - tie / 2)),
        "verbosity": float(weight @ (shorter * takes[-1]) / (weight @ shorter))
        - float(weight @ (longer * (1 - takes[1])) / (weight @ longer)),
        "equal_length_accuracy": float(expit(SKILL)),
    }


@pytest.mark.parametrize(("rows", "copies"), [(1500, 1), (1200, 3)])
def test_intervals_cover_what_is_planted(rows: int, copies: int) -> None:
    """Also where a case is there three times and its copies are judged alike; the intervals know its cluster."""
    for pull, planted in (("of_length", truths(0.6)), ("of_own", {"self_preference": 0.9})):
        held: dict[str, list[float]] = {name: [] for name in planted}
        for at in judges(rows, 100, seed=100 + copies, copies=copies, **{pull: 0.6 if pull == "of_length" else 0.9}):
            for name, truth in planted.items():
                held[name].append(inside(*measure(name, at), truth))
        shares = {name: np.mean(each) for name, each in held.items()}
        assert covers_as_claimed(*shares.values(), trials=rows), shares
