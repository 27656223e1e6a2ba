"""Probabilities in the two orders: every point where the frame says, each panel on its own square."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mrb_lib.figures.consistency import order_probabilities
from mrb_lib.figures.style import PAGE, mark_simulated
from mrb_lib.tables.schema import DIMENSIONS


def pairs(judges: list[str], dimensions: tuple[str, ...], n: int = 12, seed: int = 0) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    rows = [(judge, dimension) for judge in judges for dimension in dimensions for _ in range(n)]
    frame = pd.DataFrame(rows, columns=["judge", "dimension"])
    return frame.assign(p_ab=generator.uniform(size=len(frame)), p_ba=generator.uniform(size=len(frame)))


def points(axes: Axes, name: str) -> np.ndarray:
    line = next(line for line in axes.lines if line.get_gid() == f"values {name}")
    return np.column_stack([line.get_xdata(), line.get_ydata()]).astype(float)


def test_every_point_is_drawn_in_the_panel_of_its_judge() -> None:
    frame = pairs(["x+packed", "x+rating"], DIMENSIONS)
    drawn = order_probabilities(frame, dimensions=DIMENSIONS)
    for judge in ("x+packed", "x+rating"):
        axes = next(axes for axes in drawn.axes if axes.get_title() == judge)
        for dimension in DIMENSIONS:
            expected = frame[(frame["judge"] == judge) & (frame["dimension"] == dimension)]
            np.testing.assert_array_equal(points(axes, dimension), expected[["p_ab", "p_ba"]])


def test_each_panel_is_a_square_about_one_half_that_holds_its_points() -> None:
    frame = pd.DataFrame(
        {
            "judge": ["sure", "unsure", "even"],
            "dimension": "overall",
            "p_ab": [0.98, 0.503, 0.5],
            "p_ba": [0.4, 0.499, 0.5],
        }
    )
    for axes in order_probabilities(frame, dimensions=["overall"]).axes[:3]:
        assert axes.get_xlim() == axes.get_ylim()
        low, high = axes.get_xlim()
        assert low + high == pytest.approx(1)
        assert low < high
        drawn = points(axes, "overall")
        assert ((low < drawn) & (drawn < high)).all()
    sure, unsure = order_probabilities(frame, dimensions=["overall"]).axes[:2]
    assert np.ptp(unsure.get_xlim()) < 0.01 < np.ptp(sure.get_xlim())


def test_the_diagonals_say_what_lying_on_them_means() -> None:
    axes = order_probabilities(pairs(["x"], ("overall",)), dimensions=["overall"]).axes[0]
    lines = {line.get_gid(): np.column_stack([line.get_xdata(), line.get_ydata()]) for line in axes.lines}
    np.testing.assert_allclose(lines["diagonal"][:, 0], lines["diagonal"][:, 1])
    np.testing.assert_allclose(lines["antidiagonal"].sum(axis=1), 1)


def test_more_dimensions_than_colours_look_alike_instead_of_being_confused() -> None:
    many = tuple(f"dimension {i}" for i in range(9))
    drawn = order_probabilities(pairs(["x"], many), dimensions=many)
    assert len(points(drawn.axes[0], "all")) == 9 * 12
    assert len(drawn.legends[0].get_texts()) == 2


def test_no_point_is_no_figure() -> None:
    with pytest.raises(ValueError, match="no case has a probability"):
        order_probabilities(pairs([], ()), dimensions=["overall"])


@pytest.mark.parametrize("judges", [1, 2, 3, 7])
@pytest.mark.parametrize("dimensions", [("overall",), DIMENSIONS])
@pytest.mark.parametrize("mark", ["", "RANDOM WEIGHTS"])
def test_text_is_inside_readable_and_apart(
    flaws: Callable[[Figure], list[str]], judges: int, dimensions: tuple[str, ...], mark: str
) -> None:
    names = [f"Qwen2.5-VL-7B-Instruct-{i}+generative" for i in range(judges)]
    drawn = order_probabilities(pairs(names, dimensions), dimensions=dimensions, mark=mark)
    mark_simulated(drawn)
    assert flaws(drawn) == []
    assert drawn.get_figwidth() <= PAGE
    assert drawn.get_suptitle() == mark


def test_hostile_names_are_drawn_as_text(flaws: Callable[[Figure], list[str]]) -> None:
    names = ["$x_1^2$", "<script>alert(1)</script>", "\u202eevil", "x" * 300]
    drawn = order_probabilities(pairs(names, ("$d$", "נ")), dimensions=["$d$", "נ"], mark="$m$")
    assert drawn.svg()
    assert b"\0" not in drawn.svg()
    assert not [flaw for flaw in flaws(drawn) if "leaves the canvas" in flaw]


def test_many_points_keep_the_file_small() -> None:
    drawn = order_probabilities(pairs(["a", "b"], DIMENSIONS, n=1026), dimensions=DIMENSIONS)
    assert len(drawn.png()) < 500_000
    assert len(drawn.svg()) < 1_500_000
