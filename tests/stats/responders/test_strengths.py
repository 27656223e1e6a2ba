"""The bootstrap by influence against full refits, its standard errors against statsmodels, and what is undefined."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm

from mrb_lib.stats.resampling.resample import draws
from mrb_lib.stats.responders.bradley_terry import absence, bradley_terry, davidson, rao_kupper
from mrb_lib.stats.responders.comparisons import Responders, tally
from mrb_lib.stats.responders.strengths import Fitted, fit

R = 5


def benchmark(n: int, seed: int) -> tuple[np.ndarray, Responders]:
    """Comparisons of one source, shape (1, n, 3), and who was compared."""
    generator = np.random.default_rng(seed)
    a = generator.integers(0, R, n)
    b = (a + generator.integers(1, R, n)) % R
    skill = np.linspace(-1, 1, R)
    chance = generator.random(n)
    wins = 0.85 / (1 + np.exp(skill[b] - skill[a]))
    choice = np.where(chance < wins, 0, np.where(chance < 0.85, 1, 2))
    who = Responders([f"r{i}" for i in range(R)], a, b, np.ones(n, dtype=bool))
    return np.eye(3)[choice][None], who


def fitted(outcomes: np.ndarray, who: Responders, codes: np.ndarray, resamples: int = 300) -> Fitted:
    return fit(outcomes, who, codes, resamples=resamples, seed=3)


@pytest.mark.parametrize("model", [bradley_terry, davidson, rao_kupper], ids=lambda model: model.__name__)
def test_intervals_agree_with_those_of_full_refits(model) -> None:
    n, resamples = 1000, 300
    outcomes, who = benchmark(n, 1)
    found = fitted(outcomes, who, np.arange(n), resamples)
    bounds = found.models[model.__name__].bounds
    refits = []
    for counts in draws(n, resamples, 3):
        weights = counts if counts.shape[1] == n else counts.T
        tables = [tally(outcomes * row[None, :, None], who) for row in weights]
        refits.append(model(*(np.concatenate([table[k] for table in tables]) for k in (0, 1))))
    low, high = np.quantile(np.concatenate([item.strength for item in refits]), [0.025, 0.975], axis=0)
    width = high - low
    np.testing.assert_allclose(bounds.low[0], low, atol=0.08 * width.max())
    np.testing.assert_allclose(bounds.high[0], high, atol=0.08 * width.max())
    np.testing.assert_allclose(bounds.high[0] - bounds.low[0], width, rtol=0.06)
    if model is bradley_terry:
        assert np.isnan(bounds.tie_low[0])
        return
    low, high = np.quantile(np.concatenate([item.tie for item in refits]), [0.025, 0.975])
    assert (bounds.tie_low[0], bounds.tie_high[0]) == pytest.approx((low, high), abs=0.08 * (high - low))


@pytest.mark.parametrize("clustered", [False, True])
def test_standard_errors_are_the_sandwich_of_statsmodels(clustered: bool) -> None:
    n = 300
    outcomes, who = benchmark(n, 2)
    codes = np.arange(n) // 5 if clustered else np.arange(n)
    found = fitted(outcomes, who, codes, 0)
    rows = np.zeros((n, R))
    rows[np.arange(n), who.a] += 1
    rows[np.arange(n), who.b] -= 1
    score = outcomes[0, :, 0] + outcomes[0, :, 2] / 2
    how = (
        {"cov_type": "cluster", "cov_kwds": {"groups": codes, "use_correction": False}}
        if clustered
        else {"cov_type": "HC0"}
    )
    expected = sm.GLM(score, rows[:, 1:], family=sm.families.Binomial()).fit(**how).cov_params()
    covariance = found.covariance[0]
    from_first = covariance[1:, 1:] - covariance[:1, 1:] - covariance[1:, :1] + covariance[0, 0]
    clusters = len(np.unique(codes))
    np.testing.assert_allclose(from_first, expected * clusters / (clusters - R + 1), rtol=1e-6)
    assert found.df[0] == clusters - R + 1


def test_strengths_sum_to_one_and_lie_in_their_intervals() -> None:
    outcomes, who = benchmark(200, 4)
    found = fitted(outcomes, who, np.arange(200))
    for model in found.models.values():
        assert model.fit.strength.sum() == pytest.approx(1)
        assert (model.bounds.low < model.fit.strength).all()
        assert (model.fit.strength < model.bounds.high).all()
    assert found.reasons == [None]


def test_too_few_clusters_and_no_resamples_give_no_interval() -> None:
    outcomes, who = benchmark(200, 6)
    for codes, resamples, reason in (
        (np.arange(200), 0, "no resamples"),
        (np.zeros(200, dtype=np.int64), 50, "one cluster"),
        (np.arange(200) % 3, 50, "not more clusters than responders"),
    ):
        found = fitted(outcomes, who, codes, resamples)
        plain = found.models["bradley_terry"]
        assert np.isnan(plain.bounds.low).all()
        assert np.isfinite(plain.fit.strength).all()
        assert reason in str(found.reasons[0])


def test_the_reason_names_those_who_make_the_strengths_infinite() -> None:
    names = ["w", "x", "y", "z"]
    ties = np.zeros((4, 4))
    circle = np.zeros((4, 4))
    circle[0, 1] = circle[1, 2] = circle[2, 0] = 1
    assert "z were never compared" not in absence(circle, ties, names)
    assert absence(circle, ties, names) == ""
    best = circle.copy()
    best[3, 0] = 2
    assert absence(best, ties, names) == "no finite strengths: z won every comparison with the others"
    worst = circle.copy()
    worst[0, 3] = 2
    assert absence(worst, ties, names) == "no finite strengths: z lost every comparison with the others"
    apart = np.zeros((4, 4))
    apart[0, 1] = apart[1, 0] = 1
    apart[2, 3] = apart[3, 2] = 1
    assert "were never compared with the others" in absence(apart, ties, names)
    assert absence(np.zeros((4, 4)), ties, names) == "no comparison of two responders"
    tied = ties.copy()
    tied[3, 0] = tied[0, 3] = 1
    assert absence(best, tied, names) == ""
