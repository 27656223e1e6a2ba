"""LLMFAO: two judges of the GPT family on 59 responders, among them GPT 4 itself (D. Ustalov)."""

import numpy as np
import pandas as pd
import pytest

from mrb_lib.benchmarks.formats import Imported
from mrb_lib.benchmarks.votes import gold
from mrb_lib.stats.methods.response_traits import family_of
from tests.stats.small_tables import bias


@pytest.fixture(scope="module")
def data(llmfao: Imported) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The table, by judge and property, and one row a judge and case made with pandas alone."""
    cases, verdicts, labels = llmfao.benchmark.cases, llmfao.verdicts, gold(llmfao.benchmark)
    table = bias(verdicts, labels, cases, policy="official", cluster="case_id")
    rows = verdicts.merge(labels[["case_id", "choice"]].rename(columns={"choice": "gold"}), on="case_id", how="left")
    rows = rows.merge(cases[["case_id", "model_a", "model_b"]], on="case_id")
    rows["y"] = rows["choice"].map({"A": 1.0, "tie": 0.5, "B": 0.0})
    rows["label"] = rows["gold"].map({"A": 1.0, "tie": 0.0, "B": -1.0})
    rows["own"] = (rows["model_a"] == "GPT 4").astype(float) - (rows["model_b"] == "GPT 4")
    return table.set_index(["judge", "bias"]).sort_index(), rows.dropna(subset=["y", "label"])


def test_gpt_4_meets_itself_and_gpt_3_does_not(data: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    table, rows = data
    here = rows[(rows["judge"] == "gpt4") & (rows["own"] != 0) & (rows["label"] != 0)]
    towards = here["y"].where(here["own"] > 0, 1 - here["y"])
    prefers_own = here["label"] * here["own"] > 0
    [(_, row)] = table.loc[[("gpt4", "self_preference")]].iterrows()
    assert row["n_decisive"] == len(here) > 10
    assert row["error_asymmetry"] == pytest.approx(towards[~prefers_own].mean() - (1 - towards[prefers_own]).mean())
    assert min(prefers_own.sum(), (~prefers_own).sum()) < 10
    assert np.isnan(row["error_asymmetry_low"])
    assert "fewer than ten cases on one of the two sides" in row["reason"]
    assert ("gpt3", "self_preference") not in table.index


def test_the_family_of_gpt_among_the_59_responders(data: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    """GPT 3.5 Turbo, its 16k and GPT 4; GPT-NeoXT-Chat-Base is by Together, on EleutherAI's GPT-NeoX."""
    table, rows = data
    here = rows[rows["judge"] == "gpt3"]
    responders = sorted(set(here["model_a"]) | set(here["model_b"]))
    family = ["GPT 3.5 Turbo", "GPT 3.5 Turbo (16k)", "GPT 4"]
    assert [name for name in responders if family_of(name) == family_of("gpt3")] == family
    of_it = here["model_a"].isin(family).astype(int) - here["model_b"].isin(family)
    expected = int(((of_it != 0) & (here["label"] != 0)).sum())
    assert table.loc[("gpt3", "family_preference"), "n_decisive"].item() == expected > 50
