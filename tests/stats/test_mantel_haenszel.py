"""Discriminations of judges: as by other implementations, and 1 where they cannot be told."""

from __future__ import annotations

import numpy as np
import pytest

from mrb_lib.stats.methods import mantel_haenszel
from mrb_lib.stats.methods.mantel_haenszel import discriminations


def drawn(n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    slope = np.array([0, 0.5, 1, 1, 1.5, 2.0])[:, None]
    eta = np.linspace(-0.5, 0.5, 6)[:, None] + slope * rng.normal(size=n)
    return (rng.random((6, n)) < 1 / (1 + np.exp(-eta))).astype(float)


def test_discriminations_are_those_of_other_packages() -> None:
    """girth 0.8.0 `twopl_mml(y[1:])["Discrimination"]`, which knows none below .2, and R 4.2.2, lavaan 0.6.14,
    `l = lavInspect(cfa("e =~ j0+...+j5", d, ordered = names(d), std.lv = TRUE, estimator = "DWLS"), "std")$lambda`,
    `l / sqrt(1 - l^2)`: a normal ogive from pairs of judges. Either over its mean.
    """
    value = drawn(1500, 5)
    girth = np.array([0.45035445, 1.01319289, 1.01241073, 1.72337916, 2.20762184])
    assert discriminations(value[1:]) == pytest.approx(girth / girth.mean(), abs=0.05)
    lavaan = np.array([0.0458, 0.4420, 0.9629, 0.9533, 1.5804, 2.0156])
    assert discriminations(value) == pytest.approx(lavaan, abs=0.08)


def test_they_do_not_depend_on_how_often_the_cases_are_there_and_skip_missing_scores() -> None:
    value = drawn(400, 6)
    expected = discriminations(value)
    assert discriminations(np.hstack([value, value])) == pytest.approx(expected, abs=1e-9)
    assert discriminations(np.hstack([value, np.full((6, 50), np.nan)])) == pytest.approx(expected, abs=1e-9)
    absent = np.vstack([value, np.full((1, 400), np.nan)])
    assert discriminations(absent) == pytest.approx(np.append(expected, 0.0), abs=1e-9)


def test_an_algorithm_that_has_not_converged_gives_no_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    value = drawn(500, 7)
    assert discriminations(value) is not None
    monkeypatch.setattr(mantel_haenszel, "_STEPS", 1)
    assert discriminations(value) is None


def test_two_judges_have_no_weights_and_a_contrary_judge_counts_for_nothing() -> None:
    value = drawn(500, 7)
    assert discriminations(value[4:]) is None
    contrary = np.vstack([value[2:], 1 - value[5]])
    assert discriminations(contrary)[-1] == 0.0
    perfect = np.vstack([value, np.ones(500)])
    assert np.isfinite(discriminations(perfect)).all()
