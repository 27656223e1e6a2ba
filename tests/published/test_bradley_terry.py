"""Strengths against the golden files of evalica (Ustalov, COLING 2025 demos), the package itself, and Davidson's paper.

Newman's algorithm (2023, JMLR 24(238)) with ties maximises the likelihood of Davidson's model, so that its
golden scores test that too; they are scaled to sum to 1 here.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mrb_lib.stats.responders.bradley_terry import bradley_terry, davidson, information

DATA = ["simple", "food", "llmfao"]


def tables(frame: pd.DataFrame, names: list[str]) -> tuple[np.ndarray, np.ndarray]:
    at = {name: i for i, name in enumerate(names)}
    wins, ties = np.zeros((2, 1, len(names), len(names)))
    for left, right, winner in zip(frame["left"].astype(str), frame["right"].astype(str), frame["winner"], strict=True):
        i, j = at[left], at[right]
        if winner == "tie":
            ties[0, i, j] += 1
            ties[0, j, i] += 1
        elif winner == "left":
            wins[0, i, j] += 1
        else:
            wins[0, j, i] += 1
    return wins, ties


def golden(folder: Path, name: str, algorithm: str) -> pd.Series:
    frame = pd.read_csv(folder / "evalica" / f"{name}-golden.csv")
    rows = frame[frame["algorithm"] == algorithm]
    scores = pd.Series(rows["score"].to_numpy(), index=rows["item"].astype(str))
    return scores / scores.sum()


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize(("algorithm", "model"), [("bradley_terry", bradley_terry), ("newman", davidson)])
def test_golden_files(reference_data: Path, name: str, algorithm: str, model) -> None:
    expected = golden(reference_data, name, algorithm)
    found = model(*tables(pd.read_csv(reference_data / "evalica" / f"{name}.csv"), list(expected.index)))
    np.testing.assert_allclose(found.strength[0], expected, atol=1e-6)


@pytest.mark.parametrize("name", DATA)
def test_the_package_gives_the_same(reference_data: Path, name: str) -> None:
    evalica = pytest.importorskip("evalica")
    frame = pd.read_csv(reference_data / "evalica" / f"{name}.csv")
    winner = frame["winner"].map({"left": evalica.Winner.X, "right": evalica.Winner.Y, "tie": evalica.Winner.Draw})
    left, right = (frame[side].astype(str) for side in ("left", "right"))
    scores = evalica.bradley_terry(left, right, winner, tolerance=1e-12, limit=10_000).scores
    found = bradley_terry(*tables(frame, [str(item) for item in scores.index]))
    np.testing.assert_allclose(found.strength[0], scores / scores.sum(), atol=1e-6)


PUDDINGS = (
    (0, 1, 19, 22, 16), (0, 2, 16, 19, 12), (1, 2, 19, 19, 10), (0, 3, 18, 23, 13), (1, 3, 23, 19, 9),
    (2, 3, 19, 20, 15), (0, 4, 13, 19, 18), (1, 4, 16, 20, 12), (2, 4, 16, 15, 17), (3, 4, 17, 14, 16),
    (0, 5, 18, 21, 12), (1, 5, 22, 20, 12), (2, 5, 13, 18, 10), (3, 5, 14, 19, 18), (4, 5, 11, 21, 12),
)  # fmt: skip


def test_chocolate_puddings() -> None:
    """Davidson (1970), JASA 65, 317, the unbalanced example: six brands, 15 pairs, preferences of both and of neither.

    The data, as in the R packages PlackettLuce (`pudding`) and GPL of D. Henderson (`puddings.txt`); the strengths and
    nu as PlackettLuce's vignette prints them after the seven iterations that reproduce the paper, and the standard
    errors of log strengths less that of the first brand, from the same vignette.
    """
    wins, ties = np.zeros((2, 1, 6, 6))
    for i, j, first, second, neither in PUDDINGS:
        wins[0, i, j], wins[0, j, i] = first, second
        ties[0, i, j] = ties[0, j, i] = neither
    found = davidson(wins, ties)
    published = [0.1388005, 0.1729985, 0.1617420, 0.1653930, 0.1586805, 0.2023855]
    np.testing.assert_allclose(found.strength[0], published, atol=5e-5)
    assert found.tie[0] == pytest.approx(0.7468147, abs=5e-5)
    matrix = information("davidson", wins, ties, found)[0][1:, 1:]
    errors = np.sqrt(np.linalg.inv(matrix).diagonal())
    np.testing.assert_allclose(errors, [0.1872, 0.1935, 0.1882, 0.1927, 0.1924, 0.0825], atol=1e-4)
