"""The figures of what a benchmark is made of draw every case once."""

import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.container import BarContainer

from mrb_lib.figures import composition
from mrb_lib.tables.errors import NotApplicable


def bars(axes: Axes) -> dict[str, float]:
    drawn = next(each for each in axes.containers if isinstance(each, BarContainer))
    names = [label.get_text() for label in axes.get_yticklabels()]
    return dict(zip(names, [bar.get_width() for bar in drawn], strict=True))


def table(rows: list[tuple[object, ...]]) -> pd.DataFrame:
    columns = ["organ", "department", "modality", "subfield", "by", "n_cases", "n_unassigned"]
    return pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(columns[:5], "str"))


COUNTS = table(
    [
        ("lung", None, "CT", None, None, 2, 0),
        ("lung", None, "X-ray", None, None, 1, 0),
        (None, None, "CT", None, None, 7, 0),
        ("brain", None, "CT", None, None, 5, 0),
        ("lung", None, "CT", "first", "dataset", 2, 4),
        ("brain", None, "CT", "second", "dataset", 4, 4),
        ("lung", None, "X-ray", "second", "dataset", 1, 4),
        ("lung", None, "CT", "x", "split", 3, 0),
    ]
)


def test_each_column_that_states_something_is_a_panel_of_its_own() -> None:
    figure = composition.kinds(COUNTS)
    assert [axes.get_title() for axes in figure.axes] == ["Organ", "Modality"]
    organs, modalities = figure.axes
    assert list(bars(organs).items()) == [("Brain", 5), ("Lung", 3), ("not stated", 7)]
    assert list(bars(modalities).items()) == [("CT", 14), ("X-ray", 1)]
    assert [bool(bar.get_hatch()) for bar in organs.patches] == [False, False, True]
    assert organs.get_xlim() == modalities.get_xlim()
    figure.png()
    marked = [names for names, _ in figure.boxes()]
    assert marked == [{"row": "cases", "subfield": name} for name in ("brain", "lung", "CT", "X-ray")]


def test_one_column_is_drawn_with_the_cases_that_do_not_state_it() -> None:
    (axes,) = composition.subfields(COUNTS, by="dataset").axes
    assert axes.get_title() == "Dataset"
    assert list(bars(axes).items()) == [("Second", 5), ("First", 2), ("not stated", 4)]


@pytest.mark.parametrize("unstated", [0, 3])
def test_of_many_kinds_the_most_frequent_are_drawn(flaws, unstated: int) -> None:
    many = table([(None, None, None, f"kind {i:03d}", "dataset", i + 1, unstated) for i in range(100)])
    figure = composition.subfields(many, by="dataset")
    drawn = list(bars(figure.axes[0]).items())
    assert (len(drawn), drawn[0]) == (composition.MOST_BARS, ("Kind 099", 100))
    assert (drawn[-1] == ("not stated", 3)) == bool(unstated)
    assert flaws(figure) == []


def test_cases_that_state_nothing_have_no_figure() -> None:
    with pytest.raises(NotApplicable, match="no organ, no department and no modality"):
        composition.kinds(COUNTS.assign(organ=None, modality=None))


@pytest.mark.parametrize(("words", "longest"), [(4, {"A": 10, "B": 4}), (0, {"A": 10}), (None, {"A": 10})])
def test_lengths_reach_one_at_the_longest_and_a_side_without_words_is_not_drawn(
    words: int | None, longest: dict[str, int]
) -> None:
    frame = pd.DataFrame({"side": ["response_a"] * 3 + ["response_b"], "words": [1, 5, 10, words]})
    lines = {str(line.get_label()): line for line in composition.lengths(frame).axes[0].lines}
    drawn = {name[-1]: line.get_xydata()[-1].tolist() for name, line in lines.items() if "response" in name}
    assert drawn == {side: [most, 1] for side, most in longest.items()}
