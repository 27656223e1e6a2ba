"""The figures of a paper: readable for two judges and for thirty-two, and every number drawn is the frame's."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from mrb_lib.figures import paper
from mrb_lib.figures.lettering import percent
from mrb_lib.figures.style import PAGE, mark_simulated
from mrb_lib.tables.schema import DEPARTMENTS, DIMENSIONS, ORGANS

GROUPS = ("open", "proprietary", "medical", "critic")


def cells_of(n_judges: int, subfields: tuple[str, ...], dimensions: tuple[str, ...] = DIMENSIONS) -> pd.DataFrame:
    rng = np.random.default_rng(n_judges)
    rows = [
        (f"judge-with-a-name-{i}", GROUPS[4 * i // n_judges], dimension, subfield, 40)
        for i in range(n_judges)
        for dimension in (*dimensions, paper.AVERAGE)
        for subfield in subfields
    ]
    frame = pd.DataFrame(rows, columns=["judge", "group", "dimension", "subfield", "n"])
    value = rng.uniform(0.3, 0.9, len(frame))
    return frame.assign(accuracy=value, low=value - 0.1, high=value + 0.1)


@pytest.mark.parametrize("n_judges", [1, 2, 6, 32])
@pytest.mark.parametrize("draw", [paper.sheets, paper.profiles])
def test_text_is_inside_readable_and_apart(
    draw: Callable[..., Figure], n_judges: int, flaws: Callable[[Figure], list[str]]
) -> None:
    for subfields in (ORGANS, DEPARTMENTS) if n_judges > 2 else (ORGANS[:2],):
        cells = cells_of(n_judges, tuple(subfields))
        drawn = draw(cells, judges=cells["judge"].drop_duplicates().tolist())
        mark_simulated(drawn)
        assert flaws(drawn) == []
        assert drawn.get_figwidth() <= PAGE


def test_a_sheet_writes_every_value_and_hatches_what_is_missing() -> None:
    cells = cells_of(5, ("eye", "lung", "brain"))
    gone = (cells["judge"] == "judge-with-a-name-2") & (cells["subfield"] == "eye") & (cells["dimension"] == "overall")
    judges = cells["judge"].drop_duplicates().tolist()
    drawn = paper.sheets(cells[~gone], judges=judges)
    panels = [axes for axes in drawn.axes if axes.get_title(loc="left")]
    assert [axes.get_title(loc="left").lower() for axes in panels] == [*DIMENSIONS, paper.AVERAGE]
    for axes, name in zip(panels, [*DIMENSIONS, paper.AVERAGE], strict=True):
        part = cells[~gone & (cells["dimension"] == name)].set_index(["judge", "subfield"])["accuracy"]
        written = {
            (judges[int(t.get_position()[1])], ("brain", "eye", "lung")[int(t.get_position()[0])]): t.get_text()
            for t in axes.texts if t.get_gid() == "cell"
        }  # fmt: skip
        assert written == {key: percent(value) for key, value in part.items()}
        assert sum(patch.get_gid() == "not-available" for patch in axes.patches) == (name == "overall")


def test_a_profile_draws_the_average_and_breaks_where_it_is_missing() -> None:
    cells = cells_of(3, ("eye", "lung", "brain"))
    judges = cells["judge"].drop_duplicates().tolist()
    gone = (cells["judge"] == judges[1]) & (cells["subfield"] == "lung")
    drawn = paper.profiles(cells[~gone], judges=judges)
    for axes, judge in zip(drawn.axes, judges, strict=True):
        [line] = [line for line in axes.lines if line.get_gid() == "average"]
        part = cells[~gone & (cells["judge"] == judge) & (cells["dimension"] == paper.AVERAGE)]
        expected = part.set_index("subfield")["accuracy"].reindex(["brain", "eye", "lung"])
        np.testing.assert_array_equal(np.asarray(line.get_ydata()), expected.to_numpy())
        assert len(axes.lines) == 7


def test_kinds_draw_every_count_and_say_how_many_values_are_not_shown(flaws: Callable[[Figure], list[str]]) -> None:
    counts = pd.DataFrame(
        {
            "column": ["organ"] * 3 + ["dataset"] * 20,
            "value": ["eye", "lung", None, *(f"source_{i:02d}" for i in range(20))],
            "n_cases": [50, 20, 5, *range(40, 20, -1)],
        }
    )
    drawn = paper.kinds(counts)
    first, second = drawn.axes
    assert [label.get_text() for label in first.get_yticklabels()] == ["Eye", "Lung", "not stated"]
    assert [bar.get_width() for bar in first.patches] == [50, 20, 5]
    assert second.get_title(loc="left") == "Source (the first 14 of 20)"
    mark_simulated(drawn)
    assert flaws(drawn) == []
