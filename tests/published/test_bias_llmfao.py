"""LLMFAO: two judges of the GPT family on 59 responders, among them GPT 4 itself (D. Ustalov); against statsmodels."""

import warnings

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.stats import t as student

from mrb_lib.benchmarks.formats import Imported
from mrb_lib.benchmarks.votes import gold
from mrb_lib.stats.methods.response_traits import family_of
from tests.stats.small_tables import bias


@pytest.fixture(scope="module")
def data(llmfao: Imported) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The table, and one row a judge and case made with pandas alone."""
    cases, verdicts, labels = llmfao.benchmark.cases, llmfao.verdicts, gold(llmfao.benchmark)
    table = bias(verdicts, labels, cases, policy="official", cluster="case_id")
    rows = verdicts.merge(labels[["case_id", "choice"]].rename(columns={"choice": "gold"}), on="case_id", how="left")
    rows = rows.merge(cases[["case_id", "response_a", "response_b", "model_a", "model_b"]], on="case_id")
    length = [np.log1p(cases[f"response_{side}"].str.strip().str.len()) for side in "ab"]
    scale = np.sqrt(((length[0] - length[1]) ** 2).mean())
    longer = pd.Series((length[0] - length[1]).to_numpy() / scale, index=cases["case_id"])
    rows["longer"] = rows["case_id"].map(longer)
    rows["y"] = rows["choice"].map({"A": 1.0, "tie": 0.5, "B": 0.0})
    rows["label"] = rows["gold"].map({"A": 1.0, "tie": 0.0, "B": -1.0})
    rows["own"] = (rows["model_a"] == "GPT 4").astype(float) - (rows["model_b"] == "GPT 4")
    return table, rows.dropna(subset=["y", "label"])


def pick(table: pd.DataFrame, judge: str, name: str) -> pd.Series:
    rows = table[(table["judge"] == judge) & (table["bias"] == name)]
    assert len(rows) == 1
    return rows.iloc[0]


@pytest.mark.parametrize("judge", ["gpt3", "gpt4"])
def test_the_pull_of_length_equals_statsmodels(data: tuple[pd.DataFrame, pd.DataFrame], judge: str) -> None:
    table, rows = data
    here = rows[rows["judge"] == judge]
    row = pick(table, judge, "length")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = sm.GLM(here["y"], sm.add_constant(here[["label", "longer"]]), family=sm.families.Binomial())
        expected = model.fit(cov_type="cluster", cov_kwds={"groups": np.arange(len(here))}, tol=1e-12)
    assert row["n_labelled"] == len(here)
    assert row["association"] == pytest.approx(expected.params["longer"], abs=1e-6)
    reach = student.ppf(0.975, len(here) - 1) * expected.bse["longer"]
    expected_ends = (row["association"] - reach, row["association"] + reach)
    assert (row["association_low"], row["association_high"]) == pytest.approx(expected_ends, abs=1e-6)


def test_gpt_4_meets_itself_and_gpt_3_does_not(data: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    table, rows = data
    here = rows[(rows["judge"] == "gpt4") & (rows["own"] != 0) & (rows["label"] != 0)]
    towards = here["y"].where(here["own"] > 0, 1 - here["y"])
    prefers_own = here["label"] * here["own"] > 0
    row = pick(table, "gpt4", "self_preference")
    assert row["n_decisive"] == len(here) > 10
    assert row["error_asymmetry"] == pytest.approx(towards[~prefers_own].mean() - (1 - towards[prefers_own]).mean())
    assert min(prefers_own.sum(), (~prefers_own).sum()) < 10
    assert np.isnan(row["error_asymmetry_low"])
    assert "fewer than ten cases on one of the two sides" in row["reason"]
    assert not len(table[(table["judge"] == "gpt3") & (table["bias"] == "self_preference")])


def test_the_family_of_gpt_among_the_59_responders(data: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    """GPT 3.5 Turbo, its 16k and GPT 4; GPT-NeoXT-Chat-Base is by Together, on EleutherAI's GPT-NeoX."""
    table, rows = data
    here = rows[rows["judge"] == "gpt3"]
    responders = sorted(set(here["model_a"]) | set(here["model_b"]))
    family = ["GPT 3.5 Turbo", "GPT 3.5 Turbo (16k)", "GPT 4"]
    assert [name for name in responders if family_of(name) == family_of("gpt3")] == family
    of_it = here["model_a"].isin(family).astype(int) - here["model_b"].isin(family)
    expected = int(((of_it != 0) & (here["label"] != 0)).sum())
    assert pick(table, "gpt3", "family_preference")["n_decisive"] == expected > 50
