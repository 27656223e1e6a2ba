from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from mrb_lib.errors import InputError
from mrb_lib.stats.dawid_skene import em, label_counts, patterns


def labels_of(generator: np.random.Generator, n: int, right: list[float], share: list[float]) -> np.ndarray:
    """Raters right with these probabilities, wrong evenly; shape (n, raters)."""
    truth = generator.choice(len(share), n, p=share)
    wrong = (truth[:, None] + generator.integers(1, len(share), (n, len(right)))) % len(share)
    return np.where(generator.random((n, len(right))) < right, truth[:, None], wrong)


def test_patterns_and_weights_say_what_items_say() -> None:
    labels = labels_of(np.random.default_rng(0), 400, [0.9, 0.7, 0.8], [0.5, 0.3, 0.2])
    labels[::7, 1] = -1
    kinds, kind = patterns(labels)
    items = em(label_counts(labels, 3))
    fewer = em(label_counts(kinds, 3), np.bincount(kind).astype(float)[None])
    np.testing.assert_allclose(fewer.confusion, items.confusion, atol=1e-9)
    np.testing.assert_allclose(fewer.posterior[0][kind], items.posterior[0], atol=1e-9)
    assert fewer.log_likelihood[0] == pytest.approx(items.log_likelihood[0])


@pytest.mark.parametrize("model", ["dawid_skene", "one_coin"])
def test_many_samples_at_once_are_the_samples_one_by_one(model: str) -> None:
    generator = np.random.default_rng(1)
    kinds, kind = patterns(labels_of(generator, 300, [0.9, 0.7, 0.8], [0.6, 0.4]))
    counts = label_counts(kinds, 2)
    weights = generator.multinomial(300, np.bincount(kind) / 300, 5).astype(float)
    together = em(counts, weights, model=model)  # type: ignore[arg-type]  # the parameter's values are its type
    for row, sample in enumerate(weights):
        alone = em(counts, sample[None], model=model)  # type: ignore[arg-type]  # as above
        np.testing.assert_allclose(together.confusion[row], alone.confusion[0], atol=1e-10)
        np.testing.assert_allclose(together.prevalence[row], alone.prevalence[0], atol=1e-10)


def test_the_one_coin_maximises_its_likelihood() -> None:
    labels = labels_of(np.random.default_rng(2), 200, [0.9, 0.7, 0.8, 0.6], [0.5, 0.3, 0.2])

    def deviance(parameters: np.ndarray) -> float:
        share = np.exp(np.append(parameters[:2], 0.0))
        right = 1 / (1 + np.exp(-parameters[2:]))
        same = labels[:, None, :] == np.arange(3)[None, :, None]
        return -np.log((share / share.sum() * np.where(same, right, (1 - right) / 2).prod(axis=2)).sum(axis=1)).sum()

    best = minimize(deviance, np.array([0.0, 0.0, 2.0, 1.0, 1.5, 0.5]), method="BFGS")
    fit = em(label_counts(labels, 3), model="one_coin", tolerance=1e-12)
    assert fit.log_likelihood[0] == pytest.approx(-best.fun, abs=1e-6)
    np.testing.assert_allclose(fit.confusion[0, :, 0, 0], 1 / (1 + np.exp(-best.x[2:])), atol=1e-4)


def test_the_likelihood_never_falls() -> None:
    counts = label_counts(labels_of(np.random.default_rng(3), 100, [0.8, 0.6, 0.7], [0.5, 0.5]), 2)
    found = [em(counts, iterations=steps, tolerance=0.0).log_likelihood[0] for steps in range(1, 30)]
    assert (np.diff(found) > -1e-9).all()


def test_renaming_the_labels_renames_the_answer() -> None:
    labels = labels_of(np.random.default_rng(4), 150, [0.9, 0.7, 0.8], [0.5, 0.3, 0.2])
    fit, other = em(label_counts(labels, 3)), em(label_counts((labels + 1) % 3, 3))
    np.testing.assert_allclose(np.roll(fit.posterior, 1, axis=2), other.posterior, atol=1e-9)


def test_a_label_nobody_gives_has_no_mass_and_no_confusion() -> None:
    fit = em(label_counts(labels_of(np.random.default_rng(5), 50, [0.9, 0.8, 0.9], [0.5, 0.5]), 3))
    assert fit.prevalence[0, 2] == 0.0
    assert np.isnan(fit.confusion[0, :, 2]).all()
    assert np.isfinite(fit.posterior).all()


def test_too_few_iterations_are_told() -> None:
    counts = label_counts(labels_of(np.random.default_rng(6), 50, [0.7, 0.6, 0.7], [0.5, 0.5]), 2)
    fit = em(counts, iterations=2)
    assert not fit.converged[0]
    assert fit.iterations[0] == 2


def test_unknown_models_and_flat_counts_are_refused() -> None:
    with pytest.raises(InputError, match="model 'coin' is unknown"):
        em(np.zeros((1, 1, 2)), model="coin")  # type: ignore[arg-type]  # what the test is about
    with pytest.raises(InputError, match="2 dimensions"):
        em(np.zeros((1, 2)))
