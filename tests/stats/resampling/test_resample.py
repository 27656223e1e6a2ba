from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from mrb_lib.stats.resampling import draws as drawing
from mrb_lib.stats.resampling import resample
from mrb_lib.stats.resampling.resample import (
    block,
    cluster_codes,
    draws,
    interval,
    n_clusters,
    quantiles,
    ratio,
    ratios,
    resampled,
)
from mrb_lib.tables.errors import InputError
from tests.stats.small_tables import cases_of


def test_a_resample_draws_as_many_clusters_as_there_are() -> None:
    counts = np.hstack(list(draws(7, 50, seed=3)))
    assert counts.shape == (7, 50)
    assert (counts.sum(axis=0) == 7).all()
    assert counts.mean(axis=1) == pytest.approx(np.ones(7), abs=0.5)


def test_draws_depend_on_the_seed_and_not_on_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = np.hstack(list(draws(11, 20, seed=1)))
    monkeypatch.setattr(drawing, "_KEPT", 0)
    monkeypatch.setattr(drawing, "_DRAWN_AT_ONCE", 33)
    chunks = list(draws(11, 20, seed=1))
    assert len(chunks) == 7
    assert (np.hstack(chunks) == whole).all()
    assert (np.hstack(list(draws(11, 20, seed=2))) != whole).any()


def test_estimates_do_not_depend_on_chunks_or_on_sparse_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(0)
    codes, values = generator.integers(0, 9, 40), generator.random((40, 6))
    dense = block(codes, values, ratio)
    loose = block(codes, sparse.csr_array(values), ratio)
    first = [item.replicates for item in resampled([dense, loose], 9, resamples=25, seed=0)]
    monkeypatch.setattr(resample, "_ESTIMATED_AT_ONCE", 12)
    second = [item.replicates for item in resampled([dense, loose], 9, resamples=25, seed=0)]
    for other in (first[1], *second):
        assert other == pytest.approx(first[0], rel=1e-12)


def test_replicates_equal_a_plain_bootstrap_of_the_rows_of_drawn_clusters() -> None:
    generator = np.random.default_rng(4)
    codes, values = generator.integers(0, 5, 30), generator.random(30)
    blocks = [block(codes, np.stack([values, np.ones(30)], axis=1), ratio)]
    found = next(resampled(blocks, 5, resamples=10, seed=8)).replicates
    plain = np.random.default_rng(8)
    for i in range(10):
        drawn = plain.integers(0, 5, 5)
        rows = np.concatenate([values[codes == cluster] for cluster in drawn])
        assert found[i, 0] == pytest.approx(rows.mean())


def test_subfields_share_the_draws_of_the_benchmark() -> None:
    generator = np.random.default_rng(2)
    codes, values = np.arange(50), generator.random((50, 1))
    ones, half = np.ones((50, 1)), np.arange(25)
    options = {"resamples": 300, "seed": 0}
    alone = ratios([(half, values[half], ones[half])], codes, **options)[0]
    beside = ratios([(np.arange(50), values, ones), (half, values[half], ones[half])], codes, **options)[1]
    assert (alone.low, alone.high) == (beside.low, beside.high)


def test_equal_columns_have_equal_intervals_and_no_difference() -> None:
    values = np.random.default_rng(1).random((30, 1))
    pair = np.hstack([values, values, values - values])
    found = ratios([(np.arange(30), pair, np.ones_like(pair))], np.arange(30), resamples=200, seed=0)[0]
    assert found.low[0] == found.low[1]
    assert (found.low[2], found.high[2]) == (0, 0)
    assert "not certainty" in found.reason[2]


def test_an_interval_needs_two_cases_in_two_clusters_and_resamples() -> None:
    value, ones = np.array([[0.0], [1.0], [1.0]]), np.ones((3, 1))
    every = np.arange(3)
    for cases, codes, resamples, reason in [
        (every[:1], every, 100, "fewer than two cases"),
        (every, np.zeros(3, dtype=np.int64), 100, "one cluster"),
        (every, every, 0, "no resamples"),
    ]:
        found = ratios([(cases, value[cases], ones[cases])], codes, resamples=resamples, seed=0)[0]
        assert np.isnan(found.low[0])
        assert np.isnan(found.high[0])
        assert not np.isnan(found.value[0])
        assert reason in found.reason[0]
    empty = ratios([(every, value, np.zeros((3, 1)))], every, resamples=10, seed=0)[0]
    assert (empty.n[0], np.isnan(empty.value[0])) == (0, True)


def test_undefined_replicates_are_left_out_unless_they_are_most() -> None:
    some = np.array([[1.0], [np.nan], [3.0]])
    most = np.array([[1.0], [np.nan], [np.nan]])
    assert interval(some)[0] == pytest.approx([1.05])
    assert np.isnan(interval(most)[0]).all()


def test_the_interval_is_the_percentile_interval() -> None:
    found = np.random.default_rng(0).random((1000, 2))
    low, high = interval(found)
    assert low == pytest.approx(np.percentile(found, 2.5, axis=0))
    assert high == pytest.approx(np.percentile(found, 97.5, axis=0))


def test_intervals_of_ratios_are_those_of_their_replicates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where cases are missing, and where a resample draws no case that counts."""
    generator = np.random.default_rng(6)
    codes, value = generator.integers(0, 9, 60), generator.random((60, 7))
    counted = (generator.random((60, 7)) < 0.8).astype(float)
    counted[1:, 3] = 0.0
    counted[:, 5] = counted[:, 4]
    parts = [(np.arange(60), value * counted, counted), (np.arange(20), (value * counted)[:20], counted[:20])]
    quick = ratios(parts, codes, resamples=200, seed=3)
    monkeypatch.setattr(drawing, "_KEPT", 0)
    plain = ratios(parts, codes, resamples=200, seed=3)
    for one, other in zip(quick, plain, strict=True):
        assert one.low == pytest.approx(other.low, rel=1e-12, nan_ok=True)
        assert one.high == pytest.approx(other.high, rel=1e-12, nan_ok=True)
        assert one.reason == other.reason
    assert np.isnan(quick[0].low[3])
    assert np.isfinite(quick[0].low[[0, 4, 5]]).all()


def test_quantiles_may_be_asked_for_at_levels_of_each_column() -> None:
    found = np.random.default_rng(1).random((500, 3))
    found[::5, 1] = np.nan
    levels = np.array([[0.1, 0.2, np.nan], [0.9, 0.5, 0.5]])
    out = quantiles(found, levels)
    assert out[:, 0] == pytest.approx(np.quantile(found[:, 0], [0.1, 0.9]))
    assert out[:, 1] == pytest.approx(np.nanquantile(found[:, 1], [0.2, 0.5]))
    assert np.isnan(out[0, 2])
    assert out[1, 2] == pytest.approx(np.median(found[:, 2]))


def test_clusters_are_the_column_or_the_cases_themselves() -> None:
    plain = cases_of(4)
    assert cluster_codes(plain).tolist() == [0, 1, 2, 3]
    named = cases_of(4, cluster=["x", None, "x", None])
    codes = cluster_codes(named)
    assert codes[0] == codes[2]
    assert n_clusters(codes) == 3
    assert cluster_codes(named, "case_id").tolist() == [0, 1, 2, 3]
    assert n_clusters(cluster_codes(named, "question")) == 1


def test_bad_options_are_refused() -> None:
    with pytest.raises(InputError, match="no such column"):
        cluster_codes(cases_of(2), "patient")
    with pytest.raises(InputError, match="empty in every case"):
        cluster_codes(cases_of(2, cluster=[None, None]), "cluster")
    with pytest.raises(InputError, match="must not be negative"):
        list(draws(3, -1, 0))


@pytest.mark.parametrize("unit", [1.0, 12.0, np.pi], ids=["whole", "twelfths", "neither"])
def test_sums_are_those_of_double_precision_and_of_each_group_alone(unit: float) -> None:
    generator = np.random.default_rng(5)
    codes = [np.arange(60), np.arange(60), generator.permutation(60)[:30], generator.integers(0, 9, 60)]
    groups = [resample.cluster_sums(each, generator.integers(0, 13, (len(each), 5)) / unit) for each in codes]
    (counts,) = (part.astype(np.float64) for part in draws(60, 40, seed=2))
    together = list(resample.resampled_sums(groups, 60, resamples=40, seed=2))
    for group, sums in zip(groups, together, strict=True):
        assert sums.dtype == np.float64
        assert sums == pytest.approx(group.values.T @ counts[group.clusters], rel=1e-14)


def test_sums_too_large_for_single_precision_keep_their_last_digit() -> None:
    values = np.array([[2.0**24 + 1], [1.0]])
    (sums,) = resample.resampled_sums([resample.Sums(np.arange(2), values)], 2, resamples=60, seed=0)
    assert set(sums.ravel()) == {2.0, 2.0**24 + 2, 2 * (2.0**24 + 1)}
