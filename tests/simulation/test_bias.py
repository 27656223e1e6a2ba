"""Planted biases are found again at their size, and none is found where none was planted. SIMULATED data."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from mrb_lib.stats.bias import bias
from mrb_lib.stats.panel import Panel
from mrb_lib.stats.style_markers import length_difference, standardised

JUDGES = {100: 4000, 1000: 1500}
RESPONDERS = ("gpt-4o", "gpt-5", "Other-1B", "Other-2B")
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


def rows_of(table: pd.DataFrame, name: str, measure: str) -> pd.DataFrame:
    return table[(table["bias"] == name) & (table["measure"] == measure) & (table["part"] == "bias")]


def share_within(hits: pd.Series, centre: float, slack: float = 0.0) -> bool:
    error = 3 * np.sqrt(centre * (1 - centre) / len(hits))
    return bool(abs(hits.mean() - centre) <= error + slack)


@pytest.fixture(scope="module", params=[100, 1000])
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


@pytest.fixture(scope="module")
def swayed(drawn) -> pd.DataFrame:
    """Judges that length sways, and nothing else."""
    return simulate(drawn, 0.6, 0.0, 400)


def test_no_bias_is_found_as_often_as_claimed(drawn) -> None:
    judges = JUDGES[drawn[0]]
    table = simulate(drawn, 0.0, 0.0, judges)
    for name, measure in (
        ("length", "log_odds"),
        ("verbosity", "error_asymmetry"),
        ("self_preference", "log_odds"),
        ("family_preference", "log_odds"),
        ("self_preference", "error_asymmetry"),
    ):
        rows = rows_of(table, name, measure)
        assert len(rows) == judges
        size = (rows["p_value"].dropna() < 0.05).mean()
        assert 0.04 <= size <= 0.06, (name, measure, size)


def test_planted_pulls_are_recovered_and_covered(drawn, swayed) -> None:
    n, *_ = drawn
    table = simulate(drawn, 0.6, 0.9, 400)
    own = rows_of(table, "self_preference", "log_odds")
    covered = (own["low"] <= 0.9) & (own["high"] >= 0.9)
    assert share_within(covered, 0.95)
    assert own["estimate"].mean() == pytest.approx(0.9, abs=0.9 * (10 / n + 0.02))
    assert (rows_of(table, "self_preference", "error_asymmetry")["estimate"] > 0).mean() > 0.9
    assert (rows_of(table, "verbosity", "error_asymmetry")["estimate"] > 0).mean() > 0.9
    length = rows_of(swayed, "length", "log_odds")
    covered = (length["low"] <= 0.6) & (length["high"] >= 0.6)
    assert share_within(covered, 0.95)
    assert length["estimate"].mean() == pytest.approx(0.6, abs=0.6 * (10 / n + 0.02))


def test_coverage_of_shares(drawn, swayed) -> None:
    """The truth is a mean over the gold labels and lengths at hand, which the simulated judges share."""
    _, cases, _, sign, _ = drawn
    longer = standardised(length_difference(cases))
    mean = expit(sign + 0.6 * longer)
    towards = np.where(longer > 0, mean, 1 - mean)
    against, along = sign * longer < 0, sign * longer > 0
    truth = towards[against].mean() - (1 - towards[along]).mean()
    rows = rows_of(swayed, "verbosity", "error_asymmetry")
    assert rows["estimate"].mean() == pytest.approx(truth, abs=0.01)
    assert ((rows["low"] <= truth) & (rows["high"] >= truth)).mean() > 0.94


def test_a_judge_that_guesses_has_no_bias_though_gold_prefers_the_longer(drawn) -> None:
    """What errs at random chooses the longer less often than gold does; that is no liking for the short."""
    _, cases, gold, sign, generator = drawn
    guesses = verdicts(np.full((400, len(cases)), 0.5), [f"j{i:04d}" for i in range(400)], generator)
    table = bias(guesses, gold, cases)
    assert abs(rows_of(table, "verbosity", "error_asymmetry")["estimate"].mean()) < 0.01
    assert abs(rows_of(table, "length", "log_odds")["estimate"].mean()) < 0.01
    longer = length_difference(cases)
    excess = 0.5 - ((np.sign(longer) * sign + 1) / 2).mean()
    assert rows_of(table, "length", "excess_choice")["estimate"].mean() == pytest.approx(excess, abs=0.01)


def test_accuracy_and_win_rates_at_equal_length(drawn) -> None:
    _, cases, gold, sign, generator = drawn
    longer = standardised(length_difference(cases))
    judges = 400
    names = [f"j{i:04d}" for i in range(judges)]
    skill = np.tile(expit(sign + 0.8 * longer), (judges, 1))
    rows = bias(verdicts(skill, names, generator), gold, cases)
    rows = rows[rows["part"] == "accuracy"]
    assert rows["estimate"].mean() == pytest.approx(expit(1), abs=0.01)
    assert share_within((rows["low"] <= expit(1)) & (rows["high"] >= expit(1)), 0.95, slack=0.01)
    assert rows["uncontrolled"].mean() != pytest.approx(expit(1), abs=0.01)

    strength = {"gpt-4o": 0.8, "gpt-5": 0.3, "Other-1B": -0.2, "Other-2B": -0.5}
    gap = (cases["model_a"].map(strength) - cases["model_b"].map(strength)).to_numpy()
    pull = np.tanh(standardised(length_difference(cases, log=False)))
    won = bias(verdicts(np.tile(expit(gap + pull), (judges, 1)), names, generator), gold, cases)
    won = won[won["part"] == "win_rate"]
    truth = expit(won["model_1"].map(strength) - won["model_2"].map(strength))
    error = (won["estimate"] - truth).groupby([won["model_1"], won["model_2"]]).mean()
    assert error.abs().max() < 0.02
    known = won["low"].notna()
    covered = ((won["low"] <= truth) & (won["high"] >= truth))[known]
    assert 0.93 <= covered.mean() <= 0.97
