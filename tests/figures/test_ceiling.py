from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mrb_lib.figures import ceiling
from mrb_lib.figures.lettering import labels
from mrb_lib.figures.style import PAGE
from mrb_lib.tables.schema import DIMENSIONS

HOSTILE = ["$x_1^2$", "<b>", "nul\0l", "x" * 300, "", "模型 😀"]


def judged(judges: list[str], dimensions: tuple[str, ...] = DIMENSIONS) -> pd.DataFrame:
    generator = np.random.default_rng(0)
    rows = pd.MultiIndex.from_product([judges, dimensions], names=["judge", "dimension"]).to_frame(index=False)
    for name in ("difference", "advantage_probability"):
        rows[name] = generator.uniform(0.2, 0.9, len(rows))
        rows[f"{name}_low"], rows[f"{name}_high"] = rows[name] - 0.05, rows[name] + 0.05
    rows["passes"] = (rows["advantage_probability"] > 0.5).astype("boolean")
    return rows


def drawn(axes, gid: str) -> np.ndarray:
    lines = [line for line in axes.get_lines() if line.get_gid() == gid]
    return np.concatenate([line.get_xydata() for line in lines]) if lines else np.empty((0, 2))


@pytest.mark.parametrize("plot", [ceiling.distances, ceiling.alternative])
@pytest.mark.parametrize("judges", [["a", "b"], [f"judge-{i}" for i in range(32)], HOSTILE], ids=["2", "32", "hostile"])
def test_figures_of_any_size_name_and_draw_every_judge(plot, judges: list[str]) -> None:
    frame = judged(judges)
    value = "difference" if plot is ceiling.distances else "advantage_probability"
    figure = plot(frame)
    assert figure.get_size_inches()[0] <= PAGE
    assert [axes.get_title() for axes in figure.axes] == [name.title() for name in DIMENSIONS]
    best_first = frame[frame["dimension"] == "overall"].sort_values(value, ascending=False)["judge"]
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == labels(best_first, 28)
    for axes, dimension in zip(figure.axes, DIMENSIONS, strict=True):
        expected = frame[frame["dimension"] == dimension].set_index("judge")[value].loc[best_first]
        np.testing.assert_array_equal(drawn(axes, "values"), np.column_stack([expected, range(len(judges))]))
    assert figure.png().startswith(b"\x89PNG")


def test_marked_points_are_those_that_pass() -> None:
    frame = judged(["a", "b", "c"])
    frame.loc[0, ["passes", "advantage_probability"]] = [pd.NA, np.nan]
    figure = ceiling.alternative(frame)
    for axes, name in zip(figure.axes, DIMENSIONS, strict=False):
        part = frame[(frame["dimension"] == name) & frame["passes"].fillna(False)]
        assert sorted(drawn(axes, "passes")[:, 0]) == sorted(part["advantage_probability"])
        points = {tuple(point) for point in drawn(axes, "values").round(9)}
        assert {tuple(point) for point in drawn(axes, "passes").round(9)} <= points


def test_distances_have_a_line_at_the_annotators_level() -> None:
    frame = judged(["a", "b"], ("overall",))
    axes = ceiling.distances(frame).axes[0]
    assert sorted(drawn(axes, "values")[:, 0]) == pytest.approx(sorted(frame["difference"]))
    assert any(set(line.get_xdata()) == {0.0} for line in axes.get_lines() if len(line.get_xdata()))


def test_the_mean_annotator_is_a_line() -> None:
    frame = pd.DataFrame(
        {
            "annotator": ["a", "b", "mean"],
            "dimension": "overall",
            "n": 100,
            "accuracy": [0.8, 0.9, 0.85],
            "low": 0.7,
            "high": 0.95,
        }
    )
    axes = ceiling.annotators(frame).axes[0]
    assert sorted(drawn(axes, "values")[:, 0]) == [0.8, 0.9]
    assert drawn(axes, "reference")[:, 0].tolist() == [0.85, 0.85]
