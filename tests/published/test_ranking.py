"""Rankings of responders in PandaLM (Wang et al., ICLR 2024) and LLMFAO (D. Ustalov), from the tables of the workbench.

The literals are the recomputed values of the reference folder's truths: exact maximum likelihood, a tie is half a win,
strengths sum to 1. LLMFAO's published rank correlations are the same to six digits.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import mrb_lib
from mrb_lib.benchmarks.formats.base import Imported
from mrb_lib.stats.methods.comparisons import bradley_terry

EXACT = 1e-6
PANDALM = {
    "human": (0.375791, 0.196042, 0.178845, 0.142841, 0.106481),
    "gpt-3.5-turbo": (0.360291, 0.186486, 0.197488, 0.149347, 0.106388),
    "pandalm-7b": (0.285562, 0.203721, 0.216942, 0.166859, 0.126916),
}
RESPONDERS = ["llama-7b", "pythia-6.9b", "bloom-7b", "opt-7b", "cerebras-gpt-6.7B"]
LLMFAO = {
    "human": {
        "GPT 4": 0.041218, "Platypus-2 Instruct (70B)": 0.029233, "command": 0.028852, "ReMM SLERP L2 13B": 0.02715,
        "LLaMA-2-Chat (70B)": 0.026384,
    },
    "gpt4": {
        "GPT 3.5 Turbo": 0.200231, "GPT 3.5 Turbo (16k)": 0.18848, "Airoboros L2 70B": 0.113549,
        "Claude v1.2": 0.099582, "LLaMA-2-Chat (7B)": 0.046911,
    },
    "gpt3": {
        "command": 0.045341, "GPT 3.5 Turbo (16k)": 0.041944, "GPT 3.5 Turbo": 0.037131,
        "LLaMA-2-Chat (7B)": 0.036827, "LLaMA-2-Chat (70B)": 0.03397,
    },
}  # fmt: skip


def table(imported: Imported) -> pd.DataFrame:
    options = {"cluster": "case_id", "resamples": 200}
    return mrb_lib.analyze(imported.benchmark, imported.verdicts, "ranking", **options)


def of(frame: pd.DataFrame, source: str, judge: str) -> pd.DataFrame:
    rows = frame[(frame["part"] == "strength") & (frame["source"] == (source if judge == "human" else "judge"))]
    return (rows if judge == "human" else rows[rows["judge"] == judge]).set_index("responder")


@pytest.fixture(scope="module")
def responders_of_pandalm(pandalm_as_tie: Imported) -> pd.DataFrame:
    return table(pandalm_as_tie)


@pytest.fixture(scope="module")
def responders_of_llmfao(llmfao: Imported) -> pd.DataFrame:
    return table(llmfao)


@pytest.mark.parametrize("judge", list(PANDALM))
def test_pandalm(responders_of_pandalm: pd.DataFrame, judge: str) -> None:
    rows = of(responders_of_pandalm, "gold", judge).loc[RESPONDERS]
    np.testing.assert_allclose(rows["strength"], PANDALM[judge], atol=EXACT)
    assert ((rows["low"] < rows["strength"]) & (rows["strength"] < rows["high"])).all()
    assert rows["n"].sum() == 2 * 999
    assert rows["n_excluded"].eq(0).all()


@pytest.mark.parametrize("judge", list(LLMFAO))
def test_llmfao(responders_of_llmfao: pd.DataFrame, judge: str) -> None:
    rows = of(responders_of_llmfao, "annotations", judge)
    assert len(rows) == 59
    first = rows.sort_values("rank").head(5)
    assert first["rank"].tolist() == [1, 2, 3, 4, 5]
    assert list(first.index) == list(LLMFAO[judge])
    np.testing.assert_allclose(first["strength"], list(LLMFAO[judge].values()), atol=EXACT)
    assert rows["n"].sum() == 2 * (8931 if judge == "human" else 2139)
    assert rows["reason"].isna().all()


@pytest.mark.parametrize(("judge", "pearson", "kendall"), [("gpt4", 0.730918, 0.537113), ("gpt3", 0.716610, 0.540193)])
def test_rank_correlations_of_llmfao(
    responders_of_llmfao: pd.DataFrame, judge: str, pearson: float, kendall: float
) -> None:
    is_it = responders_of_llmfao[["part", "source", "judge"]].eq(["agreement", "annotations", judge]).all(axis=1)
    row = responders_of_llmfao[is_it].iloc[0]
    assert (row["pearson_of_ranks"], row["kendall"]) == pytest.approx((pearson, kendall), abs=EXACT)
    assert row["n_responders"] == 59


def test_rank_correlation_of_the_two_judges_of_llmfao(responders_of_llmfao: pd.DataFrame) -> None:
    first, second = (of(responders_of_llmfao, "", judge)["rank"].astype(float) for judge in ("gpt4", "gpt3"))
    assert first.corr(second) == pytest.approx(0.717136, abs=EXACT)


@pytest.mark.parametrize("name", ["simple", "food", "llmfao"])
def test_golden_files(reference_data: Path, name: str) -> None:
    golden = pd.read_csv(reference_data / "evalica" / f"{name}-golden.csv").query("algorithm == 'bradley_terry'")
    frame = pd.read_csv(reference_data / "evalica" / f"{name}.csv")
    at = {str(item): i for i, item in enumerate(golden["item"])}
    left, right = (frame[side].astype(str).map(at) for side in ("left", "right"))
    wins, ties = np.zeros((2, len(at), len(at)))
    for table, winner, pair in ((wins, "left", (left, right)), (wins, "right", (right, left)),
                                (ties, "tie", (left, right)), (ties, "tie", (right, left))):  # fmt: skip
        np.add.at(table, tuple(side[frame["winner"] == winner] for side in pair), 1)
    odds = np.exp(bradley_terry(wins, ties))
    np.testing.assert_allclose(odds / odds.sum(), golden["score"] / golden["score"].sum(), atol=1e-6)
