"""Juries of planted judges reach the accuracies that theory gives them. SIMULATED data."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from mrb_lib.stats.jury import jury
from mrb_lib.stats.jury_rows import means
from mrb_lib.stats.jury_votes import majority, without_each
from mrb_lib.stats.panel import ABSENT, Panel
from mrb_lib.stats.scoring import encode_gold, score

N = 20_000


def tables(right: np.ndarray) -> tuple[Panel, pd.DataFrame, pd.DataFrame]:
    """Who is right on what, shape (judges, benchmarks, cases), in order AB; labels are A and B at random."""
    judges, benchmarks, n = right.shape
    label = np.random.default_rng(99).integers(0, 2, (benchmarks, n))
    choice = np.full((*right.shape, 2, 1), ABSENT, dtype=np.int8)
    choice[..., 0, 0] = np.where(right, label, 1 - label)
    ids, names = np.array([f"c{i}" for i in range(n)]), [f"d{i:03d}" for i in range(benchmarks)]
    gold = pd.DataFrame({"case_id": np.tile(ids, benchmarks), "dimension": np.repeat(names, n)})
    gold["choice"] = np.array(["A", "B"])[label.ravel()]
    who = [f"j{i}" for i in range(judges)]
    costs = pd.DataFrame({"judge": who, "n_cases": n})
    return Panel(who, names, [0], choice, None, costs), gold, pd.DataFrame({"case_id": ids})


def accuracies(rows: pd.DataFrame) -> pd.Series:
    return rows[rows["part"] == "jury"].set_index("kind")["accuracy"]


def test_independent_judges_reach_condorcets_accuracy() -> None:
    """Of 5 judges of accuracy .7 three are right with probability .83692."""
    right = np.random.default_rng(0).random((5, 1, N)) < 0.7
    rows = jury(*tables(right), resamples=0)
    expected = stats.binom.sf(2, 5, 0.7)
    assert expected == pytest.approx(0.83692)
    error = 4 * np.sqrt(expected * (1 - expected) / N)
    for kind in ("majority", "weighted", "dawid_skene"):
        assert accuracies(rows)[kind] == pytest.approx(expected, abs=error), kind
    curve = rows[rows["order"] == "random"].set_index("size")["accuracy"]
    assert curve[3] == pytest.approx(stats.binom.sf(1, 3, 0.7), abs=error)
    members = rows[rows["part"] == "member"]
    assert members["shapley"].to_numpy() == pytest.approx(np.full(5, expected / 5), abs=0.01)
    assert members["leave_one_out"].between(0.0, 0.06).all()


def test_weights_reach_the_best_accuracy_there_is() -> None:
    """Nitzan and Paroush: the vote weighted by log odds is right wherever the likelihood is on its side."""
    skill = np.array([0.9, 0.75, 0.6, 0.6, 0.55])
    right = np.random.default_rng(1).random((5, 1, N)) < skill[:, None, None]
    best, plain = 0.0, 0.0
    log_odds = np.log(skill / (1 - skill))
    for pattern in itertools.product([False, True], repeat=5):
        some = np.array(pattern)
        chance = np.where(some, skill, 1 - skill).prod()
        best += chance * (log_odds @ (2 * some - 1) > 0)
        plain += chance * (some.sum() > 2)
    found = accuracies(jury(*tables(right), resamples=0))
    error = 4 * np.sqrt(best * (1 - best) / N)
    assert found["weighted"] == pytest.approx(best, abs=error)
    assert found["dawid_skene"] == pytest.approx(best, abs=error)
    assert found["majority"] == pytest.approx(plain, abs=error)
    assert found["best_single"] == pytest.approx(0.9, abs=error)


def test_judges_that_err_together_are_worth_one() -> None:
    generator = np.random.default_rng(2)
    right = np.repeat(generator.random((1, 1, N)) < 0.7, 5, axis=0)
    assert accuracies(jury(*tables(right), resamples=0))["majority"] == pytest.approx(0.7, abs=0.015)


@pytest.mark.parametrize("n", [100, 1000])
def test_coverage_of_the_paired_difference_and_of_what_a_member_adds(n: int) -> None:
    """Three judges of .75, .65, .65, whose majority has an accuracy that can be counted out."""
    skill = np.array([0.75, 0.65, 0.65])
    whole = sum(
        np.where(np.array(some), skill, 1 - skill).prod()
        for some in itertools.product([False, True], repeat=3)
        if sum(some) > 1
    )
    # Two judges who disagree give a tie, worth 1/2.
    without_first = skill[1] * skill[2] + 0.5 * 2 * skill[1] * (1 - skill[1])
    panel, gold, cases = tables(np.random.default_rng(n).random((3, 400, n)) < skill[:, None, None])
    juries = np.stack([majority(panel.choice), without_each(panel.choice)[0]])
    labels = encode_gold(gold, cases["case_id"], panel.dimensions)
    score_of = score(replace(panel, judges=["all", "without"], choice=juries), labels, "balanced").score
    slack = 3 * np.sqrt(0.05 * 0.95 / 400)
    for value, truth in ((score_of[0], whole), (score_of[0] - score_of[1], whole - without_first)):
        found = means(value.T, np.arange(n), resamples=400, seed=1)
        covered = ((found.low <= truth) & (found.high >= truth)).mean()
        assert 0.94 - slack <= covered <= 0.96 + slack, covered
