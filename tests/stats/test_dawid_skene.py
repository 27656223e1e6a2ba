import numpy as np

from mrb_lib.stats.dawid_skene import em, label_counts


def labels_of(generator: np.random.Generator, n: int, right: list[float], share: list[float]) -> np.ndarray:
    """Raters right with these probabilities, wrong evenly; shape (n, raters)."""
    truth = generator.choice(len(share), n, p=share)
    wrong = (truth[:, None] + generator.integers(1, len(share), (n, len(right)))) % len(share)
    return np.where(generator.random((n, len(right))) < right, truth[:, None], wrong)


def test_patterns_and_weights_say_what_items_say() -> None:
    labels = labels_of(np.random.default_rng(0), 400, [0.9, 0.7, 0.8], [0.5, 0.3, 0.2])
    labels[::7, 1] = -1
    kinds, kind = np.unique(labels, axis=0, return_inverse=True)
    items = em(label_counts(labels, 3), tolerance=1e-12)
    fewer = em(label_counts(kinds, 3), np.bincount(kind).astype(float)[None], tolerance=1e-12)
    np.testing.assert_allclose(fewer.confusion, items.confusion, atol=1e-9)
    np.testing.assert_allclose(fewer.posterior[0][kind], items.posterior[0], atol=1e-9)


def test_many_samples_at_once_are_the_samples_one_by_one() -> None:
    generator = np.random.default_rng(1)
    kinds, kind = np.unique(labels_of(generator, 300, [0.9, 0.7, 0.8], [0.6, 0.4]), axis=0, return_inverse=True)
    counts = label_counts(kinds, 2)
    weights = generator.multinomial(300, np.bincount(kind) / 300, 5).astype(float)
    together = em(counts, weights)
    for row, sample in enumerate(weights):
        alone = em(counts, sample[None])
        np.testing.assert_allclose(together.confusion[row], alone.confusion[0], atol=1e-10)
        np.testing.assert_allclose(together.prevalence[row], alone.prevalence[0], atol=1e-10)


def test_a_sample_without_a_label_says_nothing_of_it() -> None:
    """The parameters of a label that has no mass in a sample are null there, however its items began."""
    labels = np.array([[0, 0, 0], [1, 1, 1], [2, 2, 2], [0, 1, 0]])
    weights = np.array([[4.0, 3.0, 2.0, 1.0], [4.0, 3.0, 0.0, 1.0]])
    whole, without = (em(label_counts(labels, 3), row[None]) for row in weights)
    both = em(label_counts(labels, 3), weights, start=whole.posterior[0])
    assert both.converged.all()
    np.testing.assert_allclose(both.prevalence, [whole.prevalence[0], without.prevalence[0]], atol=1e-6)
    assert np.isnan(both.confusion[1, :, 2]).all()
    assert np.isfinite(both.confusion[1, :, :2]).all()
    assert np.isfinite(both.confusion[0]).all()


def test_too_few_iterations_are_told() -> None:
    counts = label_counts(labels_of(np.random.default_rng(6), 50, [0.7, 0.6, 0.7], [0.5, 0.5]), 2)
    assert not em(counts, iterations=3).converged[0]
