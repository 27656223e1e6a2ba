"""The model of Dawid and Skene; its published example is in tests/published, its coverage in tests/simulation."""

import numpy as np

from mrb_lib.stats.dawid_skene import Fit, em, label_counts


def labels_of(seed: int, n: int, right: list[float], share: list[float]) -> np.ndarray:
    """Raters right with these probabilities, wrong evenly; shape (n, raters)."""
    generator = np.random.default_rng(seed)
    truth = generator.choice(len(share), n, p=share)
    wrong = (truth[:, None] + generator.integers(1, len(share), (n, len(right)))) % len(share)
    return np.where(generator.random((n, len(right))) < right, truth[:, None], wrong)


def log_likelihood(counts: np.ndarray, fit: Fit) -> float:
    """Of items of which each is once in the sample, by what the model estimates; labels without mass left out."""
    some = fit.prevalence[0] > 0
    logs = np.einsum("prl,rkl->pk", counts, np.log(np.maximum(fit.confusion[0][:, some], 1e-300)))
    return float(np.log((fit.prevalence[0][some] * np.exp(logs)).sum(axis=1)).sum())


def test_patterns_and_weights_say_what_items_say() -> None:
    labels = labels_of(0, 400, [0.9, 0.7, 0.8], [0.5, 0.3, 0.2])
    labels[::7, 1] = -1
    kinds, kind = np.unique(labels, axis=0, return_inverse=True)
    items = em(label_counts(labels, 3), tolerance=1e-12)
    fewer = em(label_counts(kinds, 3), np.bincount(kind).astype(float)[None], tolerance=1e-12)
    np.testing.assert_allclose(fewer.confusion, items.confusion, atol=1e-9)
    np.testing.assert_allclose(fewer.posterior[0][kind], items.posterior[0], atol=1e-9)


def test_the_likelihood_never_falls_and_too_few_iterations_are_told() -> None:
    counts = label_counts(labels_of(3, 100, [0.8, 0.6, 0.7], [0.5, 0.5]), 2)
    fits = [em(counts, iterations=steps, tolerance=0.0) for steps in range(0, 90, 3)]
    assert (np.diff([log_likelihood(counts, fit) for fit in fits]) > -1e-9).all()
    assert not fits[1].converged[0]


def test_renaming_the_labels_renames_the_answer() -> None:
    labels = labels_of(4, 150, [0.9, 0.7, 0.8], [0.5, 0.3, 0.2])
    fit, other = em(label_counts(labels, 3)), em(label_counts((labels + 1) % 3, 3))
    np.testing.assert_allclose(np.roll(fit.posterior, 1, axis=2), other.posterior, atol=1e-9)


def test_samples_at_once_are_the_samples_one_by_one_and_a_label_without_mass_is_null() -> None:
    labels = np.array([[0, 0, 0], [1, 1, 1], [2, 2, 2], [0, 1, 0]])
    weights = np.array([[4.0, 3.0, 2.0, 1.0], [4.0, 3.0, 0.0, 1.0]])
    whole, without = (em(label_counts(labels, 3), row[None]) for row in weights)
    both = em(label_counts(labels, 3), weights, start=whole.posterior[0])
    assert both.converged.all()
    np.testing.assert_allclose(both.prevalence, [whole.prevalence[0], without.prevalence[0]], atol=1e-6)
    np.testing.assert_allclose(both.confusion, [whole.confusion[0], without.confusion[0]], atol=1e-6)
    assert np.isnan(both.confusion).any(axis=(1, 3)).tolist() == [[False] * 3, [False, False, True]]


def test_a_label_nobody_gives_takes_no_share_of_the_errors() -> None:
    """With or without a third label that nobody gives, the model is that of two labels."""
    labels = labels_of(7, 300, [0.8, 0.8, 0.7], [0.5, 0.5])
    two, three = (em(label_counts(labels, k)) for k in (2, 3))
    np.testing.assert_allclose(three.confusion[0, :, :2, :2], two.confusion[0], atol=1e-9)
    np.testing.assert_allclose(three.posterior[0], np.hstack([two.posterior[0], np.zeros((300, 1))]), atol=1e-9)
    assert np.isnan(three.confusion[0, :, 2]).all()
