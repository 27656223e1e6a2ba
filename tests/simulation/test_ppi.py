"""Prediction-powered intervals cover as often as they say and are no wider than the classical. SIMULATED data.

Intervals cover 93 to 97% of 2,000 benchmarks, with 100 and with 1,000 cases seen by annotators, whatever the judge.
"""

import numpy as np
import pytest

from mrb_lib.stats import intervals
from mrb_lib.stats.analyze import TABLES
from mrb_lib.stats.multiplicity import adjust_families
from mrb_lib.stats.tables.ppi import Powered, powered_mean

from .panels import cases_of, clustered, frame_of, inside, panel_of, rows_of, sampling

AGREE = {"good": 0.85, "fair": 0.7, "noise": 0.5, "contrary": 0.2}
RATE = 0.6
LOW, HIGH = 0.93, 0.97
BENCHMARKS = 2000
FIVES = np.concatenate([np.repeat(np.arange(100), 2), np.repeat(np.arange(100), 3)])


def chances(generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return generator.random(shape, dtype=np.float32)


def simulated(n: int, more: int, agree: float, seed: int, cluster: np.ndarray | None = None) -> Powered:
    """Benchmarks in which x beats y at RATE: n labelled cases, `more` without a label, and a judge on all.

    Labels of one cluster go together seven times in ten.
    """
    generator = np.random.default_rng(seed)
    codes = np.arange(n + more) if cluster is None else cluster
    label = clustered(generator, (BENCHMARKS,), codes, 0.7).T < RATE
    said = label ^ (chances(generator, label.shape) >= agree)
    return powered(label, said, is_first(n, label), is_first(n, label), codes)


def is_first(n: int, label: np.ndarray) -> np.ndarray:
    return np.broadcast_to((np.arange(len(label)) < n)[:, None], label.shape)


def powered(label: np.ndarray, said: np.ndarray, labelled: np.ndarray, seen: np.ndarray, codes: np.ndarray) -> Powered:
    """Estimates of benchmarks (columns), where all cases that were not seen help."""
    return powered_mean(label.astype(float), said.astype(float), labelled, seen, ~seen, sampling(codes))


def covers(found: Powered, truth: float = RATE, *, classical: bool = False) -> float:
    return inside(*intervals.t(found.classical if classical else found.helped, 0.0)[:2], truth)


@pytest.mark.parametrize("judge", list(AGREE))
def test_coverage_and_width(judge: str) -> None:
    n, more, agree = 100, 400, AGREE[judge]
    found = simulated(n, more, agree, n)
    assert LOW <= covers(found) <= HIGH
    assert LOW <= covers(found, classical=True) <= HIGH
    assert found.helped.value.mean() == pytest.approx(RATE, abs=0.005)
    said_x = RATE * agree + (1 - RATE) * (1 - agree)
    r = max((2 * agree - 1) * np.sqrt(RATE * (1 - RATE) / (said_x * (1 - said_x))), 0.0)
    ratio = np.sqrt(found.helped.error**2 / found.classical.error**2)
    assert np.median(ratio) == pytest.approx(np.sqrt(1 - r**2 * more / (n + more)), abs=0.02)
    assert np.median(ratio) <= 1
    assert ratio.max() <= 1.02
    assert found.helped.value.std() / found.classical.value.std() == pytest.approx(np.median(ratio), abs=0.05)


@pytest.mark.parametrize("rate", [0.5, 0.85])
@pytest.mark.parametrize(("n", "more"), [(100, 900), (1000, 2000)])
def test_cases_that_annotators_cannot_decide_do_not_bias_the_estimate(n: int, more: int, rate: float) -> None:
    """Of the cases seen, as of the others, 15% cannot be decided; there a judge that is right at 85% only guesses.

    Left out of the labelled side alone, they would put the estimate .01 too low, and the interval off it more often
    the more cases there are.
    """
    generator = np.random.default_rng(n)
    shape = (n + more, BENCHMARKS if n == 100 else 800)
    label, open_case = chances(generator, shape) < rate, chances(generator, shape) < 0.15
    said = label ^ (chances(generator, shape) < np.where(open_case, np.float32(0.5), np.float32(0.15)))
    seen = is_first(n, label)
    found = powered(label, said, seen & ~open_case, seen, np.arange(n + more))
    assert (seen & open_case).sum(axis=0).mean() == pytest.approx(0.15 * n, rel=0.05)
    assert found.helped.value.mean() == pytest.approx(rate, abs=0.004)
    assert LOW <= covers(found, rate) <= HIGH
    assert LOW <= covers(found, rate, classical=True) <= HIGH
    assert np.median(found.helped.error**2 / found.classical.error**2) < 0.9


def test_undecided_cases_in_clusters() -> None:
    """A hundred clusters of five cases, of which two were seen; whole clusters are harder to decide than others."""
    generator = np.random.default_rng(8)
    label = clustered(generator, (BENCHMARKS,), FIVES, 0.7).T < RATE
    open_case = chances(generator, label.shape) < 0.4 * chances(generator, (100, BENCHMARKS))[FIVES]
    said = label ^ (chances(generator, label.shape) < np.where(open_case, np.float32(0.5), np.float32(0.15)))
    seen = is_first(200, label)
    found = powered(label, said, seen & ~open_case, seen, FIVES)
    assert found.helped.value.mean() == pytest.approx(RATE, abs=0.005)
    assert LOW <= covers(found) <= HIGH


@pytest.mark.parametrize("judge", list(AGREE))
def test_coverage_with_clusters_that_hold_labelled_and_unlabelled_cases(judge: str) -> None:
    """A hundred clusters of five cases, of which two are labelled."""
    found = simulated(200, 300, AGREE[judge], 2, FIVES)
    assert LOW <= covers(found) <= HIGH
    assert (found.helped.error**2 <= found.classical.error**2 * (1 + 1e-9)).all()
    as_cases = simulated(200, 300, AGREE[judge], 2)
    assert (as_cases.classical.error**2).mean() < 0.8 * (found.classical.error**2).mean()


def test_a_judge_biased_towards_one_responder_does_not_bias_the_estimate() -> None:
    """Verdicts alone would put the win rate at .82; labels correct them."""
    generator = np.random.default_rng(6)
    label = chances(generator, (600, BENCHMARKS)) < RATE
    said = label | (chances(generator, label.shape) < 0.55)
    found = powered(label, said, is_first(100, label), is_first(100, label), np.arange(600))
    assert said.mean() == pytest.approx(0.82, abs=0.01)
    assert found.helped.value.mean() == pytest.approx(RATE, abs=0.005)
    assert LOW <= covers(found) <= HIGH


def test_coins_are_not_said_to_save_labels() -> None:
    """Five judges that toss coins: in 5% of benchmarks at most the sentence says that the best of them saves labels."""
    generator, n, runs = np.random.default_rng(17), 60, 150
    panel = panel_of(generator.integers(0, 2, (5 * runs, 1, n)), judges=[f"j{i:03d}" for i in range(5 * runs)])
    gold, cases = frame_of(generator.integers(0, 2, (1, n))), cases_of(n, model_a=["x"] * n, model_b=["y"] * n)
    rows = rows_of("ppi", panel, gold, cases, cluster="case_id", resamples=0)
    benchmark = rows["judge"].str[1:].astype(int) // 5
    rows["p_adjusted"] = adjust_families(rows["p_value"].to_numpy(), benchmark.to_numpy(), "holm")[0]
    said = [TABLES["ppi"].says(own) for _, own in rows.groupby(benchmark)]
    promised = np.mean(["save" in text.replace("cannot tell whether verdicts would save", "") for text in said])
    assert len(said) == runs
    assert promised <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / runs)
