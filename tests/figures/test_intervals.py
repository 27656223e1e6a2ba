"""The figures of any estimates, and of two sides of a comparison, draw what the table says."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from mrb_lib.figures.comparison import then_and_now
from mrb_lib.figures.intervals import estimates
from mrb_lib.stats.bootstrap import bootstrap
from tests.figures.read import marks, spans, texts, ticks, titles


def scores() -> pd.DataFrame:
    """Scores of two judges on sixty cases of two organs."""
    rows = [(f"c{i}", ("eye", "chest")[i % 2], float(i % 3 > 0), float(i % 5 > 0)) for i in range(60)]
    return pd.DataFrame(rows, columns=["case_id", "organ", "careful", "hasty"])


def test_a_panel_per_subfield_has_a_row_per_quantity(flaws: Callable[[Figure], list[str]]) -> None:
    made = bootstrap(scores(), lambda rows: rows[["careful", "hasty"]].mean(), by="organ", resamples=50)
    drawn = estimates(made, what="accuracy (%)", judges=["hasty", "careful"], line_at=0.5)
    assert flaws(drawn) == []
    assert drawn.get_supxlabel() == "accuracy (%)"
    assert titles(drawn) == ["All cases", "Chest", "Eye"]
    assert ticks(drawn.axes[0]) == ["hasty", "careful"]
    for axes, (_, here) in zip(drawn.axes, made.groupby(made["subfield"].fillna(""), sort=True), strict=True):
        assert marks(axes)[:, 0] == pytest.approx(here["estimate"].to_numpy()[::-1])


def table(judges: int) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    then, moved = rng.uniform(0.5, 0.8, judges), rng.normal(0, 0.02, judges)
    names = [f"judge $x_{i}$" for i in range(judges)]
    return pd.DataFrame({
        "judge": names, "judge_now": names, "accuracy_then": then, "accuracy_now": then + moved, "difference": moved,
        "low": moved - 0.02, "high": moved + 0.02, "p_adjusted": np.where(np.arange(judges) == 0, 0.01, 0.4),
    })  # fmt: skip


DRAWN = ((0, "accuracy_then", "accuracy_then"), (0, "accuracy_now", "accuracy_now"), (1, "values", "difference"))


@pytest.mark.parametrize("judges", [1, 40])
def test_both_accuracies_the_difference_and_its_interval_are_drawn(judges: int, flaws) -> None:
    rows = table(judges)
    figure = then_and_now(rows)
    right = figure.axes[1]
    for panel, gid, column in DRAWN:
        np.testing.assert_allclose(marks(figure.axes[panel], gid)[:, 0], rows[column])
    np.testing.assert_allclose([(low[0], high[0]) for low, high in spans(right)], rows[["low", "high"]])
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
