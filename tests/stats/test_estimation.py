"""The bootstrap of clusters and its percentiles."""

import numpy as np
import pytest

from mrb_lib.stats.estimation import Sampling, averaged, drawn, estimate, mean
from mrb_lib.stats.intervals import effective_size, percentiles
from mrb_lib.tables.errors import InputError
from tests.stats.small_tables import cases_of


def sampling(codes: np.ndarray, resamples: int = 10) -> Sampling:
    return Sampling(codes, drawn(int(codes.max()) + 1, resamples, seed=8))


def test_replicates_equal_a_plain_bootstrap_of_the_rows_of_drawn_clusters() -> None:
    generator = np.random.default_rng(4)
    codes, values = generator.integers(0, 5, 30), generator.random(30)
    found = estimate(mean(values[:, None]), sampling(codes)).replicates
    plain = np.random.default_rng(8)
    for i in range(10):
        rows = np.concatenate([values[codes == cluster] for cluster in plain.integers(0, 5, 5)])
        assert found[i, 0] == pytest.approx(rows.mean())


def test_subfields_share_the_draws_of_the_benchmark() -> None:
    generator = np.random.default_rng(2)
    codes, values = generator.integers(0, 6, 40), generator.random((40, 1))
    whole, some = sampling(codes), np.flatnonzero(codes < 3)
    part = estimate(mean(values[some]), whole.take(some))
    masked = np.where((codes < 3)[:, None], values, np.nan)
    assert part.replicates == pytest.approx(estimate(mean(masked), whole).replicates, nan_ok=True)


def test_the_interval_is_the_percentiles_and_leaves_undefined_replicates_out_unless_they_are_most() -> None:
    codes, values = np.arange(20), np.random.default_rng(1).random((20, 2))
    values[1:, 1] = np.nan
    found = estimate(mean(values), sampling(codes, resamples=400))
    low, high = percentiles(found)
    assert [low[0], high[0]] == pytest.approx(np.quantile(found.replicates[:, 0], [0.025, 0.975]))
    assert low[1] == high[1] == values[0, 1], "drawn in 64% of the resamples"
    few = Sampling(codes, np.where(np.arange(400)[:, None] < 150, 1.0, 0.0) * (codes == 0) + (codes > 0))
    assert np.isnan(percentiles(estimate(mean(values), few))[0][1]), "drawn in 38%"


def test_an_average_that_lacks_labels_is_worth_as_many_cases_as_have_its_error() -> None:
    """Issue 42, fault 5: the variance behind the design effect is that of what each case adds to the average."""
    codes = np.arange(600) // 3
    values = (np.random.default_rng(5).random((200, 3)) < 0.7).astype(float)[codes]
    values[:400, 1], values[100:, 2] = np.nan, np.nan
    found = estimate(averaged(mean(values), np.array([[0, 1, 2]])), sampling(codes, resamples=4000))
    assert found.value[0] == pytest.approx(np.nanmean(values, axis=0).mean())
    assert found.error[0] == pytest.approx(found.replicates.std(), rel=0.05)
    independent = found.value * (1 - found.value) / found.error**2
    assert effective_size(found) == pytest.approx(independent, rel=0.05)


def test_resamples_must_not_be_negative() -> None:
    with pytest.raises(InputError, match="resamples -1: must not be negative"):
        Sampling.of(cases_of(4), None, -1, 0)
