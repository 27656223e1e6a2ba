"""Dawid and Skene (1979), Applied Statistics 28(1), 20-28: their Table 1 and what they find in it.

Forty-five patients, graded 1 to 4 by five anaesthetists from the same forms; the first did so three times. The grades
are also in github.com/dallascard/dawid_skene.
"""

import numpy as np
import pytest

from mrb_lib.stats.dawid_skene import em

FORMS = """
111 1 1 1 1|333 4 3 3 4|112 2 1 2 2|222 3 1 2 1|222 3 2 2 2|222 3 3 2 2|122 2 1 1 1|333 3 4 3 3|222 2 2 2 3
232 2 2 2 3|444 4 4 4 4|222 3 3 4 3|111 1 1 1 1|222 3 2 1 2|121 1 1 1 1|111 2 1 1 1|111 1 1 1 1|111 1 1 1 1
222 2 2 2 1|222 1 3 2 2|222 2 2 2 2|222 2 2 2 1|222 3 2 2 2|221 2 2 2 2|111 1 1 1 1|111 1 1 1 1|232 2 2 2 2
111 1 1 1 1|111 1 1 1 1|112 1 1 2 1|111 1 1 1 1|333 3 2 3 3|111 1 1 1 1|222 2 2 2 2|222 3 2 3 2|433 4 3 4 3
221 2 2 3 2|232 3 2 3 3|333 3 4 3 2|111 1 1 1 1|111 1 1 1 1|121 2 1 1 1|232 2 2 2 2|121 1 1 1 1|222 2 2 2 2
"""


@pytest.fixture(scope="module")
def counts() -> np.ndarray:
    patients = [patient.split() for line in FORMS.split("\n") if line for patient in line.split("|")]
    out = np.zeros((45, 5, 4))
    for i, grades in enumerate(patients):
        for observer, given in enumerate(grades):
            for grade in given:
                out[i, observer, int(grade) - 1] += 1
    return out


def test_class_marginals_and_error_rates_of_table_2(counts: np.ndarray) -> None:
    """The paper prints two decimals."""
    fit = em(counts)
    assert fit.converged.all()
    np.testing.assert_allclose(fit.prevalence[0], [0.40, 0.42, 0.11, 0.07], atol=0.0051)
    first = [[0.89, 0.11, 0, 0], [0.07, 0.88, 0.05, 0], [0, 0.34, 0.66, 0], [0, 0, 0.56, 0.44]]
    np.testing.assert_allclose(fit.confusion[0, 0], first, atol=0.0051)


def test_a_plain_implementation_of_the_equations_gives_the_same(counts: np.ndarray) -> None:
    """Equations 2.3 to 2.5 from the start of equation 3.1, with patients i, observers k, true grades j and given m."""
    grade = counts.sum(axis=1) / counts.sum(axis=(1, 2))[:, None]
    for _ in range(25):
        share = grade.mean(axis=0)
        error = np.einsum("ij,ikm->kjm", grade, counts)
        error /= error.sum(axis=2, keepdims=True)
        joint = share * np.prod(error ** counts[:, :, None], axis=(1, 3))
        grade = joint / joint.sum(axis=1, keepdims=True)
    fit = em(counts, tolerance=1e-12)
    for found, expected in ((fit.prevalence, share), (fit.confusion, error), (fit.posterior, grade)):
        np.testing.assert_allclose(found[0], expected, atol=1e-6)
