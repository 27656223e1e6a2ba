"""Strengths against the golden files of evalica (Ustalov, COLING 2025 demos), and the package itself."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mrb_lib.stats.methods.comparisons import bradley_terry

DATA = ["simple", "food", "llmfao"]


def tables(frame: pd.DataFrame, names: list[str]) -> tuple[np.ndarray, np.ndarray]:
    at = {name: i for i, name in enumerate(names)}
    wins, ties = np.zeros((2, len(names), len(names)))
    for left, right, winner in zip(frame["left"].astype(str), frame["right"].astype(str), frame["winner"], strict=True):
        i, j = at[left], at[right]
        if winner == "tie":
            ties[i, j] += 1
            ties[j, i] += 1
        elif winner == "left":
            wins[i, j] += 1
        else:
            wins[j, i] += 1
    return wins, ties


def golden(folder: Path, name: str, algorithm: str) -> pd.Series:
    frame = pd.read_csv(folder / "evalica" / f"{name}-golden.csv")
    rows = frame[frame["algorithm"] == algorithm]
    scores = pd.Series(rows["score"].to_numpy(), index=rows["item"].astype(str))
    return scores / scores.sum()


def strengths(frame: pd.DataFrame, names: list[str]) -> np.ndarray:
    odds = np.exp(bradley_terry(*tables(frame, names)))
    return np.asarray(odds / odds.sum())


@pytest.mark.parametrize("name", DATA)
def test_golden_files(reference_data: Path, name: str) -> None:
    expected = golden(reference_data, name, "bradley_terry")
    frame = pd.read_csv(reference_data / "evalica" / f"{name}.csv")
    np.testing.assert_allclose(strengths(frame, list(expected.index)), expected, atol=1e-6)


@pytest.mark.parametrize("name", DATA)
def test_the_package_gives_the_same(reference_data: Path, name: str) -> None:
    evalica = pytest.importorskip("evalica")
    frame = pd.read_csv(reference_data / "evalica" / f"{name}.csv")
    winner = frame["winner"].map({"left": evalica.Winner.X, "right": evalica.Winner.Y, "tie": evalica.Winner.Draw})
    left, right = (frame[side].astype(str) for side in ("left", "right"))
    scores = evalica.bradley_terry(left, right, winner, tolerance=1e-12, limit=10_000).scores
    found = strengths(frame, [str(item) for item in scores.index])
    np.testing.assert_allclose(found, scores / scores.sum(), atol=1e-6)
