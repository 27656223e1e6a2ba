"""The simulated judges have the faults they are given. SIMULATED data."""

import numpy as np
import pandas as pd
import pytest

from mrb_lib.demo.judges import JUDGES, REPEATS, simulated_verdicts
from mrb_lib.tables.validation import conform

N = 4000


@pytest.fixture(scope="module")
def cases() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "case_id": [f"c{i}" for i in range(N)],
            "department": rng.choice(["Ophthalmology", "Neurology"], N),
            "response_a": ["x" * n for n in rng.integers(20, 80, N)],
            "response_b": ["x" * n for n in rng.integers(20, 80, N)],
            "model_a": rng.choice(["Fictor-72B", "Dummy-Ward-3B"], N),
            "model_b": rng.choice(["Fictor-72B", "Dummy-Ward-3B"], N),
        }
    )


@pytest.fixture(scope="module")
def verdicts(cases: pd.DataFrame) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    truth = pd.DataFrame({"case_id": cases["case_id"], "dimension": "overall"})
    return simulated_verdicts(truth.assign(quality_a=rng.normal(size=N), quality_b=rng.normal(size=N)), cases)


def test_they_are_a_verdicts_table_in_both_orders_twice(verdicts: pd.DataFrame, cases: pd.DataFrame) -> None:
    assert len(conform(verdicts, "verdicts", "simulated")) == len(JUDGES) * N * 2 * REPEATS
    assert (verdicts.loc[verdicts["choice"].isna(), "status"] == "unparsed").all()
    assert verdicts["choice"].isna().mean() == pytest.approx(0.01, abs=0.003)
    truth = pd.DataFrame({"case_id": cases["case_id"], "dimension": "overall", "quality_a": 0.0, "quality_b": 0.0})
    first, second, other = (simulated_verdicts(truth, cases, seed=seed) for seed in (3, 3, 4))
    pd.testing.assert_frame_equal(first, second)
    assert (first["p_a"].fillna(0) != other["p_a"].fillna(0)).any()


def test_only_the_hasty_one_looks_at_the_position(verdicts: pd.DataFrame) -> None:
    by_order = verdicts.groupby(["judge", "order"])["p_a"].mean().unstack()
    shift = by_order["AB"] - by_order["BA"]
    assert shift["simulated-hasty"] > 0.1
    assert shift.drop("simulated-hasty").abs().max() < 0.02


def test_the_wordy_one_follows_length_and_the_own_responder_is_preferred(
    verdicts: pd.DataFrame, cases: pd.DataFrame
) -> None:
    known = verdicts.merge(cases, on="case_id")
    longer = known["response_a"].str.len() > known["response_b"].str.len()
    for name, expected in (("simulated-wordy", True), ("simulated-careful", False)):
        mine = known["judge"] == name
        gap = known.loc[mine & longer, "p_a"].mean() - known.loc[mine & ~longer, "p_a"].mean()
        assert (gap > 0.1) == expected
    own = known[(known["model_a"] == "Fictor-72B") & (known["model_b"] != "Fictor-72B")]
    means = own.groupby("judge")["p_a"].mean()
    assert means["Fictor-72B"] > 0.65
    assert means["simulated-careful"] == pytest.approx(0.5, abs=0.05)
