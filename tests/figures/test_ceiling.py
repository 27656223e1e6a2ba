"""The figures of the human level draw what the table says."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from mrb_lib.figures import ceiling
from mrb_lib.figures.lettering import labels
from mrb_lib.figures.style import PAGE, Paper
from mrb_lib.tables.schema import DIMENSIONS

HOSTILE = ["$x_1^2$", "<b>", "nul\0l", "x" * 300, "", "模型 😀"]
VALUES = {ceiling.distances: "difference", ceiling.alternative: "advantage_probability"}


def judged(judges: list[str], dimensions: tuple[str, ...] = DIMENSIONS) -> pd.DataFrame:
    generator = np.random.default_rng(0)
    rows = pd.MultiIndex.from_product([judges, dimensions], names=["judge", "dimension"]).to_frame(index=False)
    for name in VALUES.values():
        rows[name] = generator.uniform(0.2, 0.9, len(rows))
        rows[f"{name}_low"], rows[f"{name}_high"] = rows[name] - 0.05, rows[name] + 0.05
    rows["passes"] = (rows["advantage_probability"] > 0.5).astype("boolean")
    rows["verdict"] = np.where(rows["difference"] > 0.5, "above", "cannot tell")
    return rows.assign(subfield=None)


def drawn(axes, gid: str) -> np.ndarray:
    lines = [line for line in axes.get_lines() if line.get_gid() == gid]
    points = np.concatenate([line.get_xydata() for line in lines]) if lines else np.empty((0, 2))
    return points[~np.isnan(points[:, 0])]


@pytest.mark.parametrize("plot", VALUES)
@pytest.mark.parametrize("judges", [["a", "b"], [f"judge-{i}" for i in range(32)], HOSTILE], ids=["2", "32", "hostile"])
def test_figures_of_any_size_name_and_draw_every_judge(plot: Callable[..., Paper], judges: list[str]) -> None:
    frame, value = judged(judges), VALUES[plot]
    order = judges[::-1]
    parts = frame[frame["dimension"] == "overall"].assign(subfield="lung", **{value: 0.1})
    figure = plot(pd.concat([frame, parts]), dimension="overall", judges=order)
    assert figure.get_size_inches()[0] <= PAGE
    assert [axes.get_title() for axes in figure.axes] == [name.title() for name in DIMENSIONS]
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == labels(order, 28)
    for axes, dimension in zip(figure.axes, DIMENSIONS, strict=True):
        expected = frame[frame["dimension"] == dimension].set_index("judge")[value].loc[order]
        np.testing.assert_array_equal(drawn(axes, "values"), np.column_stack([expected, range(len(judges))]))
    assert figure.png().startswith(b"\x89PNG")


@pytest.mark.parametrize("plot", VALUES)
def test_judges_without_an_order_of_the_report_stand_from_the_best(plot: Callable[..., Paper]) -> None:
    frame = judged(["a", "b", "c"])
    figure = plot(frame, dimension="overall")
    best_first = frame[frame["dimension"] == "overall"].sort_values(VALUES[plot], ascending=False)["judge"]
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == best_first.tolist()


def test_marked_points_are_those_that_pass() -> None:
    frame = judged(["a", "b", "c"])
    frame.loc[0, ["passes", "advantage_probability"]] = [pd.NA, np.nan]
    figure = ceiling.alternative(frame)
    for axes, name in zip(figure.axes, DIMENSIONS, strict=False):
        part = frame[(frame["dimension"] == name) & frame["passes"].fillna(False)]
        assert sorted(drawn(axes, "beside")[:, 0]) == sorted(part["advantage_probability"])
        points = {tuple(point) for point in drawn(axes, "values").round(9)}
        assert {tuple(point) for point in drawn(axes, "beside").round(9)} <= points


def test_marked_distances_are_those_of_which_nobody_can_tell() -> None:
    frame = judged(["a", "b", "c"])
    frame.loc[0, ["verdict", "difference"]] = [None, np.nan]
    figure = ceiling.distances(frame)
    for axes, name in zip(figure.axes, DIMENSIONS, strict=False):
        part = frame[(frame["dimension"] == name) & (frame["verdict"] == "cannot tell")]
        assert sorted(drawn(axes, "beside")[:, 0]) == sorted(part["difference"])
    assert not figure.axes[0].get_legend()
    assert len(figure.legends) == 1
    assert not ceiling.distances(frame.assign(verdict="below")).legends


def test_distances_have_a_line_at_the_annotators_level() -> None:
    frame = judged(["a", "b"], ("overall",))
    axes = ceiling.distances(frame).axes[0]
    assert sorted(drawn(axes, "values")[:, 0]) == pytest.approx(sorted(frame["difference"]))
    assert any(set(line.get_xdata()) == {0.0} for line in axes.get_lines() if len(line.get_xdata()))


def people(names: list[str]) -> pd.DataFrame:
    accuracy = np.linspace(0.9, 0.8, len(names))
    frame = pd.DataFrame({"annotator": names, "dimension": "overall", "n": range(100, 100 - len(names), -1)})
    return frame.assign(accuracy=accuracy, low=0.7, high=0.95, subfield=None)


def test_the_average_annotator_is_a_line(flaws: Callable[[Paper], list[str]]) -> None:
    frame = people(["a", "b", "mean"])
    figure = ceiling.annotators(frame)
    axes = figure.axes[0]
    assert sorted(drawn(axes, "values")[:, 0]) == sorted(frame["accuracy"][:2])
    assert drawn(axes, "reference")[:, 0].tolist() == [0.8, 0.8]
    assert flaws(figure) == []


def test_of_many_annotators_those_with_the_most_cases_are_drawn() -> None:
    axes = ceiling.annotators(people([f"p{i:02d}" for i in range(15)])).axes[0]
    assert [text.get_text() for text in axes.get_yticklabels()] == [f"p{i:02d}" for i in range(10)]
