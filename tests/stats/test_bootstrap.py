"""The bootstrap of clusters: of any number of a frame, and as tables use it."""

import numpy as np
import pandas as pd
import pytest

import mrb_lib
from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.stats.estimation import Sampling, averaged, drawn, estimate, mean
from mrb_lib.stats.intervals import effective_size, percentiles
from mrb_lib.stats.scoring import correctness
from mrb_lib.tables.errors import InputError
from tests.stats.small_tables import annotations_of, cases_of, verdicts_of


def judged(n: int = 165) -> tuple[Benchmark, pd.DataFrame]:
    """Two judges on cases of patients with two or three cases each."""
    rng = np.random.default_rng(3)
    letters = rng.choice(list("ABT"), n)
    cases = cases_of(n, organ=list(rng.choice(["eye", "lung"], n)), cluster=[f"p{i // 3}" for i in range(n)])
    shown = {("j1", "AB"): "".join(letters), ("j2", "AB"): "".join(rng.permutation(letters))}
    meta = BenchmarkMeta("small", "general", ("overall",))
    return Benchmark(meta, cases, annotations_of({"a": "".join(rng.choice(list("AB"), n))})), verdicts_of(shown)


def scores(benchmark: Benchmark, verdicts: pd.DataFrame) -> pd.DataFrame:
    rows = correctness(verdicts, mrb_lib.gold(benchmark))
    return rows.merge(benchmark.cases[["case_id", "organ", "cluster"]], on="case_id")


def test_a_mean_has_the_interval_of_the_table() -> None:
    benchmark, verdicts = judged()
    options = {"resamples": 300, "seed": 5}
    table = mrb_lib.analyze(benchmark, verdicts, "accuracy", by="organ", **options)
    rows = scores(benchmark, verdicts)
    for judge in ("j1", "j2"):
        ours = mrb_lib.bootstrap(
            rows[rows["judge"] == judge],
            lambda part: part["score"].mean(),
            by="organ",
            cluster=benchmark.cases,
            **options,
        )
        theirs = table[table["judge"] == judge].fillna({"subfield": "all"}).set_index("subfield")
        for row in ours.itertuples():
            expected = theirs.loc["all" if pd.isna(row.subfield) else row.subfield]
            made = [row.n, row.n_clusters, row.estimate, row.interval]
            assert made == expected[["n", "n_clusters", "accuracy", "interval"]].tolist()
            drawn = 1e-12 if row.interval == "percentile" else 0.03
            assert [row.low, row.high] == pytest.approx(expected[["low", "high"]].tolist(), abs=drawn)
            assert row.standard_error == pytest.approx(expected["standard_error"], rel=0.1)
        assert set(ours["interval"]) == {"t", "percentile"}


def test_a_difference_within_the_frame_is_paired() -> None:
    benchmark, verdicts = judged()
    copy = verdicts[verdicts["judge"] == "j1"].assign(judge="j3")
    rows = scores(benchmark, pd.concat([verdicts, copy]))

    def differences(part: pd.DataFrame) -> pd.Series:
        means = part.groupby("judge")["score"].mean()
        return pd.Series({"copy": means["j1"] - means["j3"], "other": means["j1"] - means["j2"]})

    found = mrb_lib.bootstrap(rows, differences, resamples=200).set_index("quantity")
    assert found.loc["copy", ["estimate", "low", "high"]].tolist() == [0.0, 0.0, 0.0]
    assert "no width" in found.loc["copy", "reason"]
    assert found.loc["other", "low"] < found.loc["other", "estimate"] < found.loc["other", "high"]


def test_what_repeats_is_drawn_where_no_cluster_is_named() -> None:
    """Rows of two judges share their case, which shares its question with others."""
    case = [f"c{i}" for i in range(60)]
    frame = pd.DataFrame({"case_id": case * 2, "question": [f"q{i % 12}" for i in range(60)] * 2, "value": range(120)})
    for given, named, unit in (
        (frame, None, ("question", 12)), (frame, "case_id", ("case_id", 60)), (frame[["value"]], None, ("row", 120)),
    ):  # fmt: skip
        [row] = mrb_lib.bootstrap(given, lambda part: part["value"].mean(), resamples=50, cluster=named).itertuples()
        assert ((row.cluster, row.n_clusters), row.n) == (unit, 120)


def test_what_is_undefined_has_a_reason() -> None:
    frame = pd.DataFrame({"value": [1.0, 2.0, 3.0], "group": ["a", "a", "b"]})
    found = mrb_lib.bootstrap(frame, lambda part: part["value"].std(), by="group", resamples=50)
    assert found["subfield"].tolist()[1:] == ["a", "b"]
    assert np.isnan(found["estimate"].iloc[2])
    assert found["reason"].iloc[2] == "undefined on these rows"
    none = mrb_lib.bootstrap(frame, lambda part: part["value"].mean(), resamples=0)
    assert none["low"].isna().all()
    assert none["reason"].tolist() == ["no interval: no resamples were asked for"]


def test_wrong_columns_are_named() -> None:
    frame = pd.DataFrame({"value": [1.0, 2.0], "case_id": ["x", "y"]})
    with pytest.raises(InputError, match="by 'organ': the frame has no such column"):
        mrb_lib.bootstrap(frame, len, by="organ")
    with pytest.raises(InputError, match="cluster 'patient'"):
        mrb_lib.bootstrap(frame, len, cluster="patient")
    with pytest.raises(InputError, match="case 'y': is in the frame and not in the cases table"):
        mrb_lib.bootstrap(frame, len, cluster=pd.DataFrame({"case_id": ["x"]}))


def sampling(codes: np.ndarray, resamples: int = 10) -> Sampling:
    return Sampling(codes, drawn(int(codes.max()) + 1, resamples, seed=8))


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
