"""Planted biases are found again at their size, and none is found where none was planted. SIMULATED data."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from scipy.stats import norm

from mrb_lib.stats.estimation import Sampling
from mrb_lib.stats.intervals import t
from mrb_lib.stats.methods.response_traits import length_difference, standardised
from mrb_lib.stats.panel import Panel
from mrb_lib.stats.tables.bias import at_equal_length, error_asymmetry, over_clusters, regression
from tests.stats.small_tables import bias

from .panels import covers_as_claimed, rejects_as_claimed


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
    rows: int, n: int, seed: int, *, of_length: float = 0.0, of_own: float = 0.0, copies: int = 1
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
        mean = expit(SKILL * gold + of_length * longer + of_own * own)
        y = [(generator.random((2, *shape)) < mean).mean(axis=0)]
        for _ in range(copies - 1):
            again = (generator.random((2, *shape)) < mean).mean(axis=0)
            y.append(np.where(generator.random(shape) < 0.5, y[0], again))
        values = (np.tile(each, copies) for each in (gold, longer, own, family, marker))
        yield Drawn(np.hstack(y), *values, codes=np.tile(np.arange(n), copies))


class Ends(NamedTuple):
    """Both ends of the intervals, shape (rows,)."""

    low: np.ndarray
    high: np.ndarray


def measure(name: str, at: Drawn) -> Ends:
    sampling = Sampling(at.codes, np.empty((0, at.codes.max() + 1)))
    base = [np.ones(at.y.shape), at.gold, at.longer]

    def log_odds(y: np.ndarray, predictors: list[np.ndarray]) -> Ends:
        of_rows = over_clusters(regression(predictors, y, -1), len(predictors), sampling)
        return Ends(*t(of_rows, -np.inf, np.inf)[:2])

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
            columns = at_equal_length(at.y, at.longer, at.gold, score, sampling)
        case _:
            side = {"verbosity": np.sign(at.longer), "own errors": at.own, "family errors": at.family}[name]
            columns = error_asymmetry(at.y, at.gold, side, sampling)
            name = "error_asymmetry"
    return Ends(columns[f"{name}_low"], columns[f"{name}_high"])


NULLS = ("length", "verbosity", "self_preference", "family_preference", "style", "own errors", "family errors")


def test_no_bias_is_found_as_often_as_claimed() -> None:
    """Gold is the truth and prefers the longer, and the judge knows gold: no interval must leave out zero.

    But for one in twenty, within three Monte-Carlo errors: 3.5 to 6.5% of 2,000.
    """
    rows, found = 2000, {name: [] for name in NULLS}
    for at in judges(rows, 100, seed=100):
        for name in NULLS:
            of_rows = measure(name, at)
            known = np.isfinite(of_rows.low)
            found[name].append(((of_rows.low > 0) | (of_rows.high < 0))[known])
    shares = {name: np.concatenate(excluded) for name, excluded in found.items()}
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
    planted = {**truths(0.6), "self_preference": 0.9}
    covered: dict[str, list[np.ndarray]] = {name: [] for name in planted}
    for at in judges(rows, 100, seed=100 + copies, of_length=0.6, copies=copies):
        for name in ("length", "excess_choice", "verbosity", "equal_length_accuracy"):
            covered[name].append(_covers(measure(name, at), planted[name]))
    for at in judges(rows, 100, seed=100 + copies, of_own=0.9, copies=copies):
        covered["self_preference"].append(_covers(measure("self_preference", at), 0.9))
    shares = {name: np.concatenate(hits).mean() for name, hits in covered.items()}
    assert covers_as_claimed(*shares.values(), trials=rows), shares


def _covers(found: Ends, truth: float) -> np.ndarray:
    known = np.isfinite(found.low)
    assert known.mean() > 0.99
    return (found.low[known] <= truth) & (truth <= found.high[known])


GOLD = ("A", "B", "tie")


def benchmark(n: int, generator: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame, np.ndarray]:
    """Cases of responses of many lengths, by four responders, gold that often prefers the longer, and its sign."""
    responders = np.array(
        [generator.choice(["gpt-4o", "gpt-5", "Other-1B", "Other-2B"], 2, replace=False) for _ in range(n)]
    )
    cases = pd.DataFrame(
        {
            "case_id": [f"c{i}" for i in range(n)],
            "question": "q",
            "response_a": ["x" * size for size in np.exp(generator.normal(6, 0.5, n)).astype(int)],
            "response_b": ["y" * size for size in np.exp(generator.normal(6, 0.5, n)).astype(int)],
            "model_a": responders[:, 0],
            "model_b": responders[:, 1],
        }
    )
    longer = standardised(length_difference(cases))
    code = np.where(generator.random(n) < 0.15, 2, generator.random(n) > expit(longer))
    gold = pd.DataFrame({"case_id": cases["case_id"], "dimension": "overall", "choice": np.array(GOLD)[code]})
    return cases, gold, np.array([1.0, -1.0, 0.0])[code]


def verdicts(mean: np.ndarray, names: Sequence[str], generator: np.random.Generator) -> Panel:
    """Judges that choose A with the given probabilities, shape (judges, cases), independently in two orders."""
    choice = (generator.random((2, *mean.shape)) > mean).astype(np.int8)
    return Panel(list(names), ["overall"], [0], np.moveaxis(choice, 0, -1)[:, None, :, :, None], None, pd.DataFrame())


def rows_of(table: pd.DataFrame, name: str) -> pd.DataFrame:
    return table[table["bias"] == name]


@pytest.fixture(params=[100, 1000])
def drawn(request: pytest.FixtureRequest) -> tuple[int, pd.DataFrame, pd.DataFrame, np.ndarray, np.random.Generator]:
    generator = np.random.default_rng(request.param)
    return request.param, *benchmark(request.param, generator), generator


def simulate(drawn, of_length: float, of_own: float, judges: int) -> pd.DataFrame:
    """Judges by the very model of the log-odds: skill 1, a planted pull of length and of their own responses."""
    _, cases, gold, sign, generator = drawn
    longer = standardised(length_difference(cases))
    own = (cases["model_a"] == "gpt-4o").to_numpy(dtype=float) - (cases["model_b"] == "gpt-4o")
    mean = np.tile(expit(sign + of_length * longer + of_own * own), (judges, 1))
    names = [f"path:{i:05d}/gpt-4o" for i in range(judges)]
    return bias(verdicts(mean, names, generator), gold, cases)


def test_planted_pulls_are_recovered(drawn) -> None:
    n, *_ = drawn
    table = simulate(drawn, 0.6, 0.9, 150)
    own, length = (rows_of(table, name) for name in ("self_preference", "length"))
    assert own["association"].mean() == pytest.approx(0.9, abs=0.9 * (10 / n + 0.04))
    assert (own["error_asymmetry"] > 0).mean() > 0.9
    assert (length["error_asymmetry"] > 0).mean() > 0.9
    assert length["association"].mean() == pytest.approx(0.6, abs=0.6 * (10 / n + 0.04))


def test_a_judge_that_guesses_has_no_bias_though_gold_prefers_the_longer(drawn) -> None:
    """What errs at random chooses the longer less often than gold does; that is no liking for the short."""
    _, cases, gold, sign, generator = drawn
    guesses = verdicts(np.full((200, len(cases)), 0.5), [f"j{i:04d}" for i in range(200)], generator)
    rows = rows_of(bias(guesses, gold, cases), "length")
    assert abs(rows["error_asymmetry"].mean()) < 0.015
    assert abs(rows["association"].mean()) < 0.03
    longer = length_difference(cases)
    excess = 0.5 - ((np.sign(longer) * sign + 1) / 2).mean()
    assert rows["excess_choice"].mean() == pytest.approx(excess, abs=0.01)


def test_accuracy_at_equal_length(drawn) -> None:
    _, cases, gold, sign, generator = drawn
    longer = standardised(length_difference(cases))
    judges = 200
    names = [f"j{i:04d}" for i in range(judges)]
    skill = np.tile(expit(sign + 0.8 * longer), (judges, 1))
    rows = rows_of(bias(verdicts(skill, names, generator), gold, cases), "length")
    assert rows["equal_length_accuracy"].mean() == pytest.approx(expit(1), abs=0.01)
    assert rows["accuracy"].mean() != pytest.approx(expit(1), abs=0.01)
