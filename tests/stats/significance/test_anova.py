"""Repeated-measures analysis of variance, as statsmodels and pingouin make it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pingouin
import pytest
from statsmodels.stats.anova import AnovaRM

from mrb_lib.stats.significance import significance
from mrb_lib.stats.significance.omnibus import FEW_CLUSTERS, NO_ERROR, _small_sample, hotelling, repeated_measures
from tests.stats.small_tables import cases_of, gold_of, random_verdicts


def scores(n: int = 40, judges: int = 5) -> np.ndarray:
    generator = np.random.default_rng(8)
    hard = generator.random((n, 1))
    return ((generator.random((n, judges)) < 0.4 + 0.3 * hard + 0.05 * np.arange(judges)) + 0.0) * (
        1 - 0.5 * (generator.random((n, judges)) < 0.2)
    )


def long(table: np.ndarray) -> pd.DataFrame:
    case, judge = (axis.ravel() for axis in np.indices(table.shape))
    return pd.DataFrame({"case": case, "judge": judge, "score": table.ravel()})


# pingouin 0.7 calls pandas by arguments that are going away.
@pytest.mark.filterwarnings("ignore::pandas.errors.Pandas4Warning")
@pytest.mark.parametrize(("n", "judges"), [(40, 5), (12, 3), (30, 2)])
def test_as_statsmodels_and_pingouin(n: int, judges: int) -> None:
    table = scores(n, judges)
    found = repeated_measures(table)
    row = AnovaRM(long(table), "score", "case", within=["judge"]).fit().anova_table.iloc[0]
    assert (found.statistic, found.df, found.df_error) == pytest.approx((row["F Value"], row["Num DF"], row["Den DF"]))
    assert found.p_value == pytest.approx(row["Pr > F"], abs=1e-10)
    other = pingouin.rm_anova(long(table), dv="score", within="judge", subject="case", correction=True, detailed=True)
    row = other.iloc[0]
    assert found.statistic == pytest.approx(row["F"])
    assert found.epsilon == pytest.approx(pingouin.epsilon(pd.DataFrame(table), correction="gg"), abs=1e-9)
    assert 1 / (judges - 1) <= found.epsilon <= 1 + 1e-12
    if judges > 2:
        assert found.p_gg == pytest.approx(row[next(name for name in other.columns if "GG" in name)], abs=1e-9)


def test_no_error_is_no_test() -> None:
    table = np.arange(4.0)[:, None] + np.array([0.0, 1.0, 0.0])
    assert repeated_measures(table).reason == NO_ERROR


def test_the_table_has_it_beside_the_rank_test() -> None:
    generator = np.random.default_rng(4)
    verdicts, gold = random_verdicts(generator, 60, judges=4), gold_of("".join(generator.choice(list("ABT"), 60)))
    graded, right = (
        significance(verdicts, gold, cases_of(60), policy=name, resamples=0).query("part == 'omnibus'")
        for name in ("balanced", "official")
    )
    assert graded["test"].tolist() == ["friedman", "rm_anova"]
    assert right["test"].tolist() == ["cochran_q", "rm_anova"]
    anova = right.iloc[1]
    assert (anova["df"], anova["df_error"]) == (3, 3 * (anova["n"] - 1))
    assert anova["p_gg"] >= anova["p_value"] - 1e-12 or anova["statistic"] < 1


def test_of_equal_clusters_it_is_the_analysis_of_their_means() -> None:
    table, clusters = scores(60, 4), np.repeat(np.arange(20), 3)
    found = repeated_measures(table, clusters)
    means = table.reshape(20, 3, 4).mean(axis=1)
    assert found[1:-1] == pytest.approx(repeated_measures(means)[1:-1])
    row = AnovaRM(long(means), "score", "case", within=["judge"]).fit().anova_table.iloc[0]
    assert (found.statistic, found.df_error) == pytest.approx((row["F Value"], row["Den DF"]))


def test_hotelling_is_pingouins_of_the_differences() -> None:
    table, clusters = scores(60, 4), np.repeat(np.arange(20), 3)
    means = table.reshape(20, 3, 4).mean(axis=1)
    expected = pingouin.multivariate_ttest(means[:, 1:] - means[:, :1]).iloc[0]
    found = hotelling(table, clusters)
    numbers = (found.statistic, found.df, found.df_error, found.p_value)
    assert numbers == pytest.approx((expected["F"], expected["df1"], expected["df2"], expected["pval"]))


def test_clusters_of_unequal_size_leave_fewer_degrees_of_freedom() -> None:
    """The variance and its degrees of freedom by their definitions, as matrices over clusters."""
    size = np.array([1.0, 2, 3, 8, 8, 12, 1])
    variance = size * (1 + 0.3 * (size - 1))
    scale, freedom = _small_sample(size, variance)
    residual = np.eye(7) - np.outer(size / size.sum(), np.ones(7))
    covariance = residual @ np.diag(variance) @ residual.T
    root = np.sqrt(scale)
    weighted = root[:, None] * covariance * root
    assert np.trace(weighted) == pytest.approx(variance.sum())
    assert freedom == pytest.approx(np.trace(weighted) ** 2 / (weighted**2).sum())
    assert freedom < 6
    assert _small_sample(np.full(9, 4.0), np.full(9, 4.0))[1] == pytest.approx(8)


def test_hotelling_leaves_out_judges_that_always_agree_and_says_where_it_has_no_answer() -> None:
    table, clusters = scores(60, 3), np.repeat(np.arange(20), 3)
    again = hotelling(np.hstack([table, table[:, :1]]), clusters)
    assert (again.df, again.df_error) == pytest.approx((2.0, 18.0))
    assert hotelling(scores(8, 4), np.arange(8) // 2).reason == FEW_CLUSTERS
    assert hotelling(np.tile([1.0, 0.0], (8, 1)), np.arange(8) // 2).reason == NO_ERROR
