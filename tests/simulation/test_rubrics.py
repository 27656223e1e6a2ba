"""Rubrics with planted weights and planted errors are recovered, and a bad criterion is found. SIMULATED data."""

import json

import numpy as np
import pandas as pd
import pytest

from mrb_lib.judges.makers import put_points
from mrb_lib.tables.rubrics import Criterion
from mrb_lib.verdicts.orders import to_case_frame
from mrb_lib.verdicts.protocol import VerdictRows
from tests.stats.small_tables import Tables, rows_of

from .panels import covered

WEIGHTS = np.array([8.0, 5.0, 3.0, 2.0, -4.0, 6.0])
ERRORS = np.array([0.05, 0.10, 0.05, 0.20, 0.05, 0.80])
BAD = 5
RUBRIC = [Criterion(f"criterion {i}", weight) for i, weight in enumerate(WEIGHTS)]
DATASETS, CASES = 40, 200


def decided(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """What two responses meet, and what a judge says they do, shape (n, 2, criteria)."""
    true = rng.random((n, 2, len(WEIGHTS))) < 0.5
    return true, true ^ (rng.random(true.shape) < ERRORS)


def sign(met: np.ndarray, weights: np.ndarray = WEIGHTS) -> np.ndarray:
    return np.sign((met[:, 0].astype(int) - met[:, 1]) @ weights)


def credit(choice: np.ndarray, gold: np.ndarray) -> np.ndarray:
    return np.where(choice == gold, 1.0, np.where(choice * gold == 0, 0.5, 0.0))


@pytest.fixture(scope="module")
def truth() -> dict[str, np.ndarray]:
    """What many cases give, without this library."""
    true, said = decided(400_000, np.random.default_rng(99))
    gold, choice = sign(true), sign(said)
    pull = WEIGHTS * (said[:, 0].astype(int) - said[:, 1]) * gold[:, None]
    without = [credit(sign(said, np.where(np.arange(6) == k, 0, WEIGHTS)), gold).mean() for k in range(6)]
    return {
        "agreement": np.maximum(pull, 0).sum(axis=0) / np.abs(pull).sum(axis=0),
        "difference": np.array(without) - credit(choice, gold).mean(),
        "met_share": said.mean(axis=(0, 1)),
    }


@pytest.fixture(scope="module")
def simulated() -> Tables:
    """Verdicts as a rubric judge writes them, gold by the planted weights, and the cases; a dataset is a dimension."""
    rng = np.random.default_rng(7)
    ids = [f"c{i}" for i in range(CASES)]
    cases = pd.DataFrame(
        {"case_id": ids, "rubric": json.dumps([{"criterion": c.text, "weight": c.weight} for c in RUBRIC])}
    )
    verdicts, gold = [], []
    for name in (f"d{i:02d}" for i in range(DATASETS)):
        true, said = decided(CASES, rng)
        shown = pd.DataFrame({"case_id": ids, "dimension": name, "order": "AB", "repeat": 0, "probe": "none"})
        rows = VerdictRows(shown)
        for position, met in enumerate(said.astype(float).tolist()):
            put_points(rows, position, name, RUBRIC, met, ("A", "B", "tie"))
        verdicts.append(to_case_frame(rows.frame()))
        labels = np.array(["tie", "A", "B"])[sign(true).astype(int)]
        gold.append(pd.DataFrame({"case_id": ids, "dimension": name, "choice": labels}))
    return pd.concat(verdicts, ignore_index=True).assign(judge="j"), pd.concat(gold, ignore_index=True), cases


@pytest.fixture(scope="module")
def table(simulated: Tables) -> pd.DataFrame:
    verdicts, gold, cases = simulated
    return rows_of("criteria", cases, verdicts, gold).assign(place=lambda rows: rows["criterion"].str[-1].astype(int))


@pytest.mark.parametrize("name", ["agreement", "difference", "met_share"])
def test_intervals_of_criteria_cover_what_was_planted(
    table: pd.DataFrame, truth: dict[str, np.ndarray], name: str
) -> None:
    assert np.abs(table.groupby("place")[name].mean() - truth[name]).max() < 0.015
    held = covered(table, truth[name][table["place"]], "" if name == "difference" else f"{name}_")
    assert 0.92 <= held <= 0.98  # of 240, whose standard error is 0.014 if they were independent


def test_the_planted_bad_criterion_is_found_and_no_other(table: pd.DataFrame) -> None:
    harmful = table[table["low"] > 0]
    found = harmful[harmful["place"] == BAD]
    assert found["dimension"].nunique() >= 0.95 * DATASETS
    assert len(harmful) - len(found) <= 0.02 * len(table)
    worst = table.loc[table.groupby("dimension")["difference"].idxmax(), "place"]
    assert (worst == BAD).mean() >= 0.98
    assert (table.loc[table["place"] == BAD, "agreement_high"] < 0.5).mean() >= 0.8
    most = table.loc[table.groupby("dimension")["decisive_share"].idxmax(), "place"]
    assert (most == BAD).mean() >= 0.9
