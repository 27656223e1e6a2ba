"""The F of judges, as statsmodels and pingouin make it, and its p over flips of signs."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pingouin
import pytest
from statsmodels.stats.anova import AnovaRM

from mrb_lib.stats.estimation import Sampling
from mrb_lib.stats.flips import NO_FLIPS, flip_f, flip_p
from tests.stats.small_tables import cases_of, gold_of, significance, verdicts_of


def scores(n: int = 40, judges: int = 5) -> np.ndarray:
    generator = np.random.default_rng(8)
    hard = generator.random((n, 1))
    return ((generator.random((n, judges)) < 0.4 + 0.3 * hard + 0.05 * np.arange(judges)) + 0.0) * (
        1 - 0.5 * (generator.random((n, judges)) < 0.2)
    )


def f_test(table: np.ndarray, clusters: np.ndarray, resamples: int, seed: int) -> dict[str, object]:
    sampling = Sampling(clusters, np.empty((0, int(clusters.max()) + 1)))
    return flip_f(table, sampling, binary=False, resamples=resamples, seed=seed)[0]


def long(table: np.ndarray) -> pd.DataFrame:
    case, judge = (axis.ravel() for axis in np.indices(table.shape))
    return pd.DataFrame({"case": case, "judge": judge, "score": table.ravel()})


# pingouin 0.7 calls pandas by arguments that are going away.
@pytest.mark.filterwarnings("ignore::pandas.errors.Pandas4Warning")
@pytest.mark.parametrize(("n", "judges"), [(40, 5), (12, 3), (30, 2)])
def test_as_statsmodels_and_pingouin(n: int, judges: int) -> None:
    table = scores(n, judges)
    found = f_test(table, np.arange(n), resamples=0, seed=0)
    row = AnovaRM(long(table), "score", "case", within=["judge"]).fit().anova_table.iloc[0]
    assert tuple(found[name] for name in ("statistic", "df", "df_error")) == pytest.approx(
        (row["F Value"], row["Num DF"], row["Den DF"])
    )
    other = pingouin.rm_anova(long(table), dv="score", within="judge", subject="case", correction=True, detailed=True)
    assert found["statistic"] == pytest.approx(other.iloc[0]["F"])
    assert "p_value" not in found
    assert found["reason"] == NO_FLIPS


def test_of_equal_clusters_it_is_the_analysis_of_their_means() -> None:
    table, clusters = scores(60, 4), np.repeat(np.arange(20), 3)
    found = f_test(table, clusters, resamples=500, seed=1)
    means = table.reshape(20, 3, 4).mean(axis=1)
    row = AnovaRM(long(means), "score", "case", within=["judge"]).fit().anova_table.iloc[0]
    assert (found["statistic"], found["df_error"]) == pytest.approx((row["F Value"], row["Den DF"]))
    assert found["p_value"] == f_test(means, np.arange(20), resamples=500, seed=1)["p_value"]


def test_p_is_the_share_of_all_flips_whose_f_is_larger() -> None:
    """Ten clusters have 1,024 flips; each F is computed anew, and those that tie count half."""
    table = scores(10, 4)
    within = table - table.mean(axis=1, keepdims=True)
    signs = np.array(list(product([-1.0, 1.0], repeat=10)))[:, :, None]
    statistic = np.array([_f(sign * within) for sign in signs])
    observed = _f(within)
    expected = ((statistic > observed + 1e-9).mean() + (statistic > observed - 1e-9).mean()) / 2
    found = f_test(table, np.arange(10), resamples=20_000, seed=3)["p_value"]
    assert found == pytest.approx(expected, abs=4 * np.sqrt(expected * (1 - expected) / 20_000))


def _f(within: np.ndarray) -> float:
    """F but for its degrees of freedom, of scores less each case's mean."""
    means = within.mean(axis=0)
    return float(len(within) * (means**2).sum() / ((within - means) ** 2).sum())


def test_of_two_judges_it_is_the_pairs_own_test() -> None:
    table = scores(80, 2)
    pair = flip_p(np.rint(2 * (table[:, 0] - table[:, 1])).astype(np.int64)[:, None])[0]
    found = f_test(table, np.arange(80), resamples=20_000, seed=2)
    assert 0.02 < pair < 0.9
    assert found["p_value"] == pytest.approx(pair, abs=4 * np.sqrt(pair * (1 - pair) / 20_000))


def test_no_error_is_no_test() -> None:
    table = np.arange(4.0)[:, None] + np.array([0.0, 1.0, 0.0])
    assert f_test(table, np.arange(4), resamples=9, seed=0)["reason"].endswith("the same in every cluster")
    assert f_test(scores(8, 3), np.zeros(8, dtype=int), resamples=9, seed=0)["reason"].endswith(
        "the same in every cluster"
    )


def test_the_table_has_it_for_every_policy_and_beside_it_cochrans_q_where_that_holds() -> None:
    generator = np.random.default_rng(4)
    letters = ["".join(generator.choice(list("ABT"), 60)) for _ in range(5)]
    verdicts = verdicts_of({(f"j{i}", order): text for i, text in enumerate(letters[:4]) for order in ("AB", "BA")})
    gold, cases = gold_of(letters[4]), cases_of(60)
    graded, right, clustered = (
        significance(verdicts, gold, table, policy=name, resamples=200).query("part == 'omnibus'")
        for name, table in (
            ("balanced", cases), ("official", cases), ("official", cases.assign(cluster=np.arange(60) // 3)),
        )
    )  # fmt: skip
    assert graded["test"].tolist() == clustered["test"].tolist() == ["permutation_f"]
    assert right["test"].tolist() == ["cochran_q", "permutation_f"]
    f = right.iloc[1]
    assert (f["df"], f["df_error"]) == (3, 3 * (f["n"] - 1))
    assert f["p_value"] == pytest.approx(right.iloc[0]["p_value"], abs=0.1)
    assert clustered["df_error"].tolist() == [3 * 19]
    without = significance(verdicts, gold, cases, resamples=0).query("part == 'omnibus'")
    assert without["p_value"].isna().all() and without["reason"].tolist() == [NO_FLIPS]
    assert without["statistic"].tolist() == graded["statistic"].tolist()
