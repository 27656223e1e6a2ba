"""Intervals over nine unequal clusters, as many and as large as the demo's modalities. SIMULATED data.

Issue 42, fault 1: with clusters - 1 degrees of freedom, intervals of 95% covered 90 to 91%.
"""

import numpy as np
import pytest
from scipy.special import ndtr

from .panels import panel_of, rows_of

MODALITIES = [304, 220, 147, 118, 88, 48, 42, 37, 22]
"""The cases of each imaging modality in the demo benchmark."""
SETS = 1000
ERROR = np.sqrt(0.05 * 0.95 / SETS)


def happens(generator: np.random.Generator, chance: float, rho: float) -> np.ndarray:
    """Whether something happens on each case, shape (SETS, cases), as often as `chance`, alike within clusters."""
    cluster = np.repeat(np.arange(len(MODALITIES)), MODALITIES)
    shared = generator.normal(0, 1, (SETS, len(MODALITIES)))[:, cluster]
    own = generator.normal(0, 1, shared.shape)
    return np.asarray(ndtr(np.sqrt(rho) * shared + np.sqrt(1 - rho) * own) < chance)


def coverage(table: str, right: np.ndarray, ends: tuple[str, str], true: float, **options: object) -> float:
    """The share of the rows of a table whose interval, by modality, includes the true value."""
    panel, gold, cases = panel_of(right)
    cases["modality"] = np.repeat(np.arange(len(MODALITIES)), MODALITIES).astype("str")
    rows = rows_of(table, panel, gold, cases, cluster="modality", resamples=40, **options)
    low, high = rows[ends[0]], rows[ends[1]]
    assert len(rows) == SETS and low.notna().all()
    return float(((low <= true) & (true <= high)).mean())


@pytest.mark.parametrize("rho", [0.02, 0.1])
def test_consistency_covers(rho: float) -> None:
    alike = happens(np.random.default_rng(44), 0.8, rho)
    right = np.stack([np.ones_like(alike), alike], axis=-1)[None]
    covered = coverage("consistency", right, ("consistency_low", "consistency_high"), 0.8)
    assert 0.93 - ERROR <= covered <= 0.97 + ERROR, covered


@pytest.mark.parametrize("rho", [0.02, 0.1])
def test_gains_cover(rho: float) -> None:
    generator = np.random.default_rng(45)
    right = np.stack([happens(generator, chance, rho) for chance in (0.6, 0.7)])
    covered = coverage("gains", right, ("low", "high"), 0.1, pairs=[("j0", "j1")])
    assert 0.93 - ERROR <= covered <= 0.97 + ERROR, covered
