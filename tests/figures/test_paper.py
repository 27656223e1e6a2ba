"""The figures of a paper: readable for two judges and for forty-five, and every number drawn is the frame's."""

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
    """The table `accuracy` by a column, with its dimension `average`, rows over all cases and a reference."""
    rng = np.random.default_rng(n_judges)
    rows = [
        (judge, kind, dimension, subfield, 40)
        for judge, kind in [*((f"an-owner/judge-with-a-long-name-{i}", "judge") for i in range(n_judges)),
                            ("always A", "reference")]
        for dimension in (*dimensions, paper.AVERAGE)
        for subfield in (None, *subfields)
    ]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["judge", "kind", "dimension", "subfield", "n"])
    value = rng.uniform(0.3, 0.9, len(frame))
    return frame.assign(accuracy=value, low=value - 0.1, high=value + 0.1).astype({"subfield": "str"})


def judges_in(cells: pd.DataFrame) -> list[str]:
    return cells.loc[cells["kind"] == "judge", "judge"].drop_duplicates().tolist()


@pytest.mark.parametrize("n_judges", [1, 2, 6, 45])
def test_text_is_inside_readable_and_apart_on_one_page(n_judges: int, flaws: Callable[[Figure], list[str]]) -> None:
    for subfields in (ORGANS, DEPARTMENTS) if n_judges > 2 else (ORGANS[:2],):
        cells = cells_of(n_judges, tuple(subfields))
        groups = {judge: GROUPS[4 * i // n_judges] for i, judge in enumerate(judges_in(cells))}
        drawn = paper.every_dimension(cells, judges=judges_in(cells), groups=groups)
        mark_simulated(drawn)
        assert flaws(drawn) == []
        assert drawn.get_figwidth() <= PAGE
        assert drawn.get_figheight() <= 9


def test_the_average_has_every_value_written_and_each_dimension_every_colour() -> None:
    subfields = ("brain", "eye", "lung")
    cells = cells_of(5, subfields)
    judges = judges_in(cells)
    gone = (cells["judge"] == judges[2]) & (cells["subfield"] == "eye") & (cells["dimension"] == paper.AVERAGE)
    drawn = paper.every_dimension(cells[~gone], judges=judges[::-1])
    panels = {axes.get_title(loc="left").lower(): axes for axes in drawn.axes if axes.get_title(loc="left")}
    assert [*panels] == [paper.AVERAGE, *DIMENSIONS]
    expected = cells[~gone & cells["subfield"].notna() & cells["kind"].eq("judge")]
    written = {
        (judges[::-1][int(t.get_position()[1])], subfields[int(t.get_position()[0])]): t.get_text()
        for t in panels[paper.AVERAGE].texts if t.get_gid() == "cell"
    }  # fmt: skip
    part = expected[expected["dimension"] == paper.AVERAGE].set_index(["judge", "subfield"])["accuracy"]
    assert written == {key: percent(value) for key, value in part.items()}
    for name, axes in panels.items():
        wide = expected[expected["dimension"] == name].pivot(index="judge", columns="subfield", values="accuracy")
        values = np.ma.filled(axes.collections[0].get_array(), np.nan).reshape(len(judges), -1)
        np.testing.assert_array_equal(values, wide.reindex(judges[::-1]).to_numpy())
        assert sum(patch.get_gid() == "not-available" for patch in axes.patches) == (name == paper.AVERAGE)
    [mark] = [line for axes in drawn.findobj() for line in getattr(axes, "lines", []) if line.get_gid() == "half"][:1]
    assert mark.get_xdata()[0] == 0.5


def test_rows_are_by_group_and_in_the_order_of_the_report_within_it() -> None:
    cells = cells_of(4, ("brain", "eye"))
    judges = judges_in(cells)
    groups = dict(
        zip([judges[3], judges[0], judges[1], judges[2]], ["open", "open", "medical", "medical"], strict=True)
    )
    drawn = paper.every_dimension(cells, judges=judges[::-1], groups=groups)
    shown = [text.get_text()[-1] for text in drawn.axes[0].get_yticklabels()]
    assert shown == ["3", "0", "2", "1"]
    assert [text.get_text() for text in drawn.axes[len(DIMENSIONS)].texts] == ["open", "medical"]
