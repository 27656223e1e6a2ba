"""The figures of a benchmark's making: every number drawn is the frame's, and all of it can be read."""

from collections.abc import Callable

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from mrb_lib.figures import construction
from mrb_lib.figures.style import mark_simulated
from mrb_lib.tables.schema import ORGANS

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
