"""The figure of a comparison draws what the table says."""

import numpy as np
import pandas as pd
import pytest

from mrb_lib.figures.comparison import then_and_now
from tests.figures.read import marks, spans, texts


def table(judges: int) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    then, moved = rng.uniform(0.5, 0.8, judges), rng.normal(0, 0.02, judges)
    names = [f"judge $x_{i}$" for i in range(judges)]
    return pd.DataFrame({
        "judge": names, "judge_now": names, "accuracy_then": then, "accuracy_now": then + moved, "difference": moved,
        "low": moved - 0.02, "high": moved + 0.02, "p_adjusted": np.where(np.arange(judges) == 0, 0.01, 0.4),
    })  # fmt: skip


@pytest.mark.parametrize("judges", [1, 3, 40])
def test_both_accuracies_the_difference_and_its_interval_are_drawn(judges: int, flaws) -> None:
    rows = table(judges)
    figure = then_and_now(rows)
    left, right = figure.axes
    np.testing.assert_allclose(marks(left, "accuracy_then")[:, 0], rows["accuracy_then"])
    np.testing.assert_allclose(marks(left, "accuracy_now")[:, 0], rows["accuracy_now"])
    np.testing.assert_allclose(marks(right, "values")[:, 0], rows["difference"])
    ends = spans(right)
    np.testing.assert_allclose([(low[0], high[0]) for low, high in ends], rows[["low", "high"]])
    assert [text.get_position()[1] for text in right.texts if text.get_gid() == "significant"] == [0]
    assert flaws(figure) == []
    assert [names for names, _ in figure.boxes()] == [{"judge": name} for name in rows["judge_now"]]


def test_a_judge_whose_scores_did_not_change_has_a_point_and_no_interval() -> None:
    rows = table(3)
    rows.loc[1, ["difference", "low", "high", "p_adjusted"]] = [0.0, np.nan, np.nan, np.nan]
    rows.loc[2, ["accuracy_then", "accuracy_now", "difference", "low", "high", "p_adjusted"]] = np.nan
    right = then_and_now(rows).axes[1]
    assert len(marks(right, "values")) == 2
    assert len(spans(right)) == 1
    assert texts(right) == ["n/a"]
