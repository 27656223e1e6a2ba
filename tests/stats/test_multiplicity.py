"""Every correction is the one that statsmodels and the papers have."""

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from mrb_lib.stats.multiplicity import CORRECTIONS, adjust

# Benjamini and Hochberg (1995), section 4.
INFARCTION = np.array(
    [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1]
)


@pytest.mark.parametrize(
    ("correction", "method"),
    [("bonferroni",) * 2, ("holm",) * 2, ("hochberg", "simes-hochberg"), ("bh", "fdr_bh"), ("by", "fdr_by")],
)
def test_corrections_are_those_of_statsmodels(correction: str, method: str) -> None:
    generator = np.random.default_rng(2)
    for m in (1, 2, 3, 10, 60):
        for p_values in (generator.random(m), generator.random(m) ** 4, generator.integers(0, 5, m) / 4):
            expected = multipletests(p_values, method=method)[1]
            assert adjust(p_values, correction) == pytest.approx(expected, abs=1e-14)


def test_rejections_of_benjamini_and_hochberg() -> None:
    """Bonferroni and Hochberg reject three of the fifteen, their procedure four; BY, for any dependence, three."""
    rejected = {name: int((adjust(INFARCTION, name) <= 0.05).sum()) for name in CORRECTIONS}
    assert rejected == {"none": 9, "bonferroni": 3, "holm": 3, "hochberg": 3, "bh": 4, "by": 3}


def test_tests_that_were_not_made_do_not_count() -> None:
    p_values = np.array([0.01, np.nan, 0.04, np.nan])
    for name in CORRECTIONS:
        found = adjust(p_values, name)
        assert np.isnan(found[[1, 3]]).all()
        assert found[[0, 2]] == pytest.approx(adjust(p_values[[0, 2]], name))
    assert np.isnan(adjust(np.full(3, np.nan), "holm")).all()
    assert len(adjust(np.empty(0), "holm")) == 0
