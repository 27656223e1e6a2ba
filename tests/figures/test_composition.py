"""The figures of what a benchmark is made of draw every case once; those of its making, every number."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.container import BarContainer
from matplotlib.figure import Figure

from mrb_lib.figures import composition, construction
from mrb_lib.figures.style import mark_simulated
from mrb_lib.tables.errors import NotApplicable
from mrb_lib.tables.schema import ORGANS


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


@pytest.mark.parametrize(("longest", "other"), [(10, 4), (700, 0), (700, None)])
def test_lengths_reach_one_at_the_longest_and_a_side_without_words_is_not_drawn(
    flaws, longest: int, other: int | None
) -> None:
    frame = pd.DataFrame({"side": ["response_a"] * 3 + ["response_b"], "words": [1, 5, longest, other]})
    figure = composition.lengths(frame)
    lines = {str(line.get_label()): line for line in figure.axes[0].lines}
    drawn = {name[-1]: line.get_xydata()[-1].tolist() for name, line in lines.items() if "response" in name}
    assert drawn == {"A": [longest, 1]} | ({"B": [other, 1]} if other else {})
    assert flaws(figure) == []


Flaws = Callable[[Figure], list[str]]


def test_the_funnel_says_what_went_in_what_was_kept_and_why_not_the_rest(flaws: Flaws) -> None:
    reasons = {
        "duplicate": 150.0,
        "unreadable image": 30.0,
        "an image that shows more than one patient": 11.0,
        "other": 9,
    }
    start = [("start", 5000, 4800, reason, n) for reason, n in reasons.items()]
    rows = [*start, ("filter", 4800, 2000, "too easy", 2800.0), ("release", 2000, 2000, None, np.nan)]
    drawn = construction.funnel(pd.DataFrame(rows, columns=["step", "n_in", "n_out", "reason", "n_items"]))
    [axes] = drawn.axes
    texts = [text.get_text() for text in axes.texts]
    assert "5,000 \u2192 4,800" in texts
    assert "duplicate: 150; unreadable image: 30; 20 for other reasons" in texts
    assert [bar.get_width() for bar in axes.patches if bar.get_gid() == "n_out"] == [4800, 2000, 2000]
    mark_simulated(drawn)
    assert flaws(drawn) == []


def test_every_count_of_what_is_left_is_written(flaws: Flaws) -> None:
    steps = ("items", "start", "filter", "screen")
    rows = [(organ, step, 40 - 3 * i - j, (40 - 3 * i - j) / 40) for j, organ in enumerate(ORGANS)
            for i, step in enumerate(steps)]  # fmt: skip
    drawn = construction.items_left(pd.DataFrame(rows, columns=["value", "step", "n_items", "share"]))
    written = [int(text.get_text()) for text in drawn.axes[0].texts if text.get_gid() == "cell"]
    assert sorted(written) == sorted(n for _, _, n, _ in rows)
    mark_simulated(drawn)
    assert flaws(drawn) == []


def test_bars_of_difficulty_are_as_high_as_there_are_items_and_stand_on_each_other(flaws: Flaws) -> None:
    edges = np.linspace(0, 1, 11)
    bins = pd.DataFrame({"low": edges[:-1], "high": edges[1:], "kept": range(10), "left_out": range(10, 0, -1)})
    drawn = construction.difficulty(bins, chance=0.25)
    [axes] = drawn.axes
    kept = [bar.get_height() for bar in axes.patches if bar.get_gid() == "kept"]
    stacked = [(bar.get_y(), bar.get_height()) for bar in axes.patches if bar.get_gid() == "left_out"]
    assert kept == bins["kept"].tolist()
    assert stacked == list(zip(bins["kept"], bins["left_out"], strict=True))
    [line] = [line for line in axes.lines if line.get_gid() == "chance"]
    assert line.get_xdata()[0] == 0.25
    assert flaws(drawn) == []
    assert not construction.difficulty(bins).axes[0].lines, "nothing is known of guessing"
